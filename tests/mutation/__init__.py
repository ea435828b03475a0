"""Mutation testing of the code that must not lose or double an event: one line is broken at a time, and some test has to notice."""
