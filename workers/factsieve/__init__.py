"""factsieve: decides for every candidate fact whether it is new, and lets only new information through."""

__version__ = "0.1.0"
