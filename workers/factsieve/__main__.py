"""`python -m factsieve` is the command `factsieve`."""

from factsieve.cli.main import run

if __name__ == "__main__":
    run()
