"""Settings, and from settings to running parts."""
