"""The `factsieve` command."""
