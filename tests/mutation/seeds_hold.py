"""A few seeds of the simulator, for mutants of the engine. Not named as a test: it runs where it is asked for."""

import os

import pytest

from tests.simulation.simulator import simulate

SEEDS = range(3_000_000, 3_000_000 + int(os.environ.get("FACTSIEVE_MUTATION_SEEDS", "40")))


@pytest.mark.parametrize("seed", SEEDS)
def test_a_seed_holds(seed: int) -> None:
    """Nothing is lost, doubled or out of order in this run."""
    simulate(seed)
