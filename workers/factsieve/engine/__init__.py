"""Lanes, waves and the overlay: drives the ports, knows nothing of Faust or any vendor."""
