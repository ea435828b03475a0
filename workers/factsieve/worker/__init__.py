"""The production process: Faust app, safe consumer, health."""
