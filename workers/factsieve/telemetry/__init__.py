"""One registry of metrics and log events."""
