"""The ports' implementations, one vendor a file."""
