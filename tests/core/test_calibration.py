"""The sweep: what is counted, and what is picked."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from factsieve.core.calibration import GATES, Cuts, Trial, grid, is_skipped, measure, pick, sweep

SCORES = st.floats(0, 1)
TRIALS = st.lists(
    st.builds(
        Trial,
        group=st.sampled_from("abc"),
        duplicate=st.booleans(),
        similarity=st.floats(-1, 1),
        clear=st.booleans(),
        contradiction=st.none() | SCORES,
        entailment=st.none() | SCORES,
    ),
    max_size=40,
)


def trial(similarity, *, duplicate=False, clear=True, contradiction=None, entailment=None, group="g"):
    return Trial(group, duplicate, similarity, clear, contradiction, entailment)


KNOWN = [
    trial(0.95, duplicate=True, contradiction=0.1),
    trial(0.90, duplicate=True, contradiction=0.9),
    trial(0.85, duplicate=True, clear=False),
    trial(0.80, duplicate=True),
    trial(0.93, contradiction=0.99, group="negation"),
    trial(0.91, clear=False, group="number"),
    trial(0.70, group="number"),
    trial(0.92, contradiction=0.2, group="scope"),
]


def test_each_gate_counts_what_passes_it():
    """At 0.88 the number skips two of four duplicates and three others; the guard keeps one of those back, the model one more."""
    number, guard, judge = (measure(KNOWN, Cuts(0.88, veto=0.95), gate) for gate in GATES)
    assert [(p.true_skips, p.false_skips) for p in (number, guard, judge)] == [(2, 3), (2, 2), (2, 1)]
    assert (number.duplicates, number.others) == (4, 4)
    assert number.precision == pytest.approx(0.4)
    assert number.recall == 0.5
    assert number.f1 == pytest.approx(2 * 0.4 * 0.5 / 0.9)
    assert number.false_skip_rate == 0.75
    assert number.groups == {"negation": (1, 1), "number": (1, 2), "scope": (1, 1)}
    assert judge.groups == {"negation": (0, 1), "number": (0, 2), "scope": (1, 1)}


def test_a_threshold_belongs_to_the_skips():
    """A similarity that equals the threshold is skipped, one just below is not; a contradiction that equals the veto refuses nothing."""
    assert is_skipped(trial(0.88), Cuts(0.88), "number")
    assert not is_skipped(trial(0.87999), Cuts(0.88), "number")
    assert is_skipped(trial(0.9, contradiction=0.8), Cuts(0.88, veto=0.8), "judge")
    assert not is_skipped(trial(0.9, contradiction=0.81), Cuts(0.88, veto=0.8), "judge")


def test_a_three_way_model_must_see_entailment():
    """A pair whose weaker entailment is below the cut is kept from a skip, however little contradiction there is."""
    assert not is_skipped(trial(0.9, contradiction=0.0, entailment=0.4), Cuts(0.88, entailment=0.5), "judge")
    assert is_skipped(trial(0.9, contradiction=0.0, entailment=0.5), Cuts(0.88, entailment=0.5), "judge")


@given(TRIALS)
def test_a_higher_threshold_or_a_further_gate_skips_no_more(trials):
    """Recall and false skips only fall from threshold to threshold and from gate to gate: a budget can be kept by raising either."""
    points = sweep(trials, grid(0.5, 1.0, 0.1), GATES)
    by = {(point.gate, point.cuts.threshold): point for point in points}
    for (gate, threshold), point in by.items():
        higher = by.get((gate, round(threshold + 0.1, 6)), point)
        later = GATES[min(GATES.index(gate) + 1, 2)]
        for other in (higher, by[later, threshold]):
            assert other.false_skips <= point.false_skips
            assert other.true_skips <= point.true_skips
        assert sum(false for false, _ in point.groups.values()) == point.false_skips
        assert 0 <= point.f1 <= 1
        assert min(point.precision, point.recall) - 1e-9 <= point.f1 <= max(point.precision, point.recall) + 1e-9


@given(TRIALS, st.floats(0, 1))
def test_a_budget_is_kept_and_used(trials, budget):
    """What is picked within a budget keeps it, no other point that keeps it has more recall; None means that no point keeps it."""
    points = sweep(trials, grid(0.6, 1.0, 0.1), ("guard",))
    chosen = pick(points, "false-skip", budget)
    fit = [point for point in points if point.false_skip_rate <= budget]
    assert (chosen is None) == (not fit)
    if chosen is not None:
        assert chosen in fit
        assert chosen.recall == max(point.recall for point in fit)


@given(TRIALS, st.floats(0, 1))
def test_a_recall_is_reached_at_the_lowest_price(trials, wanted):
    """What is picked for a recall reaches it, and none that reaches it has fewer false skips."""
    points = sweep(trials, grid(0.6, 1.0, 0.1), ("number",))
    chosen = pick(points, "recall", wanted)
    fit = [point for point in points if point.recall >= wanted]
    assert (chosen is None) == (not fit)
    if chosen is not None:
        assert chosen.false_skip_rate == min(point.false_skip_rate for point in fit)


def test_f1_prefers_the_careful_of_equals():
    """Of thresholds that skip the same pairs the highest is taken, and of vetoes the lowest."""
    points = sweep(KNOWN[:2] + KNOWN[4:5], grid(0.80, 0.90, 0.01), ("judge",), vetoes=(0.92, 0.95, 1.0))
    chosen = pick(points, "f1")
    assert (chosen.cuts.threshold, chosen.cuts.veto) == (0.9, 0.92)
    assert (chosen.precision, chosen.recall) == (1.0, 1.0)


def test_what_a_model_must_see_is_swept_too():
    """Behind the judge there is a point for every veto and entailment; before it cut-offs of a model change nothing."""
    seen = [
        trial(0.9, duplicate=True, contradiction=0.0, entailment=0.6),
        trial(0.9, contradiction=0.0, entailment=0.4),
    ]
    points = sweep(seen, (0.8, 0.88), GATES, vetoes=(0.5, 0.9), entailments=(0.3, 0.5, 0.7))
    assert [sum(point.gate == gate for point in points) for gate in GATES] == [2, 2, 12]
    assert {(p.cuts.entailment, p.true_skips, p.false_skips) for p in points if p.gate == "judge"} == {
        (0.3, 1, 1),
        (0.5, 1, 0),
        (0.7, 0, 0),
    }
    assert pick([p for p in points if p.gate == "judge"], "f1").cuts == Cuts(0.88, 0.5, 0.5)


@given(TRIALS)
def test_a_sweep_measures_what_measuring_alone_does(trials):
    """Every point of a sweep is the point of its own cut-offs over all trials."""
    for point in sweep(trials, (0.5, 0.9), GATES, vetoes=(0.4, 0.9), entailments=(0.2, 0.8)):
        assert point == measure(trials, point.cuts, point.gate)


def test_a_recall_or_budget_must_be_given():
    """Picking by recall or budget without saying how much is refused."""
    with pytest.raises(ValueError, match="how much"):
        pick([], "recall")


def test_a_grid_holds_both_ends_and_no_drift():
    """0.80 to 0.95 by 0.01 are sixteen thresholds, each as it is written."""
    assert grid(0.80, 0.95, 0.01) == [
        0.8,
        0.81,
        0.82,
        0.83,
        0.84,
        0.85,
        0.86,
        0.87,
        0.88,
        0.89,
        0.9,
        0.91,
        0.92,
        0.93,
        0.94,
        0.95,
    ]
    assert grid(0.9, 0.9, 0.5) == [0.9]


@pytest.mark.parametrize("bad", [(0.9, 0.8, 0.01), (0.8, 0.9, 0), (0.8, 0.9, -0.1), (0.8, 1.2, 0.1), (-1.1, 0, 0.1)])
def test_a_range_that_is_none_is_refused(bad):
    """An empty, endless or impossible range raises."""
    with pytest.raises(ValueError, match="no range"):
        grid(*bad)


def test_a_group_of_a_few_is_not_the_worst():
    """The worst group is looked for among groups of ten pairs or more, as long as there are such."""
    large = [trial(0.9 if index < 3 else 0.1, group="large") for index in range(10)]
    assert measure([*large, trial(0.95, group="small")], Cuts(0.88), "number").worst_group == ("large", 0.3)
    assert measure([trial(0.95, group="small")], Cuts(0.88), "number").worst_group == ("small", 1.0)
    assert measure([trial(0.95, duplicate=True)], Cuts(0.88), "number").worst_group is None
