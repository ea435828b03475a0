"""The rules of `decide` as the table in ARCHITECTURE.md: `python -m factsieve.core.decide_docs` prints it."""

from factsieve.core.decide import RULES


def render() -> str:
    """Return the table: one row per rule, in order, from the first line of its docstring."""
    rows = ["| # | rule | case and what happens |", "|---|---|---|"]
    for number, rule in enumerate(RULES, start=1):
        summary = (rule.__doc__ or "").split("\n", 1)[0]
        rows.append(f"| {number} | `{rule.__name__}` | {summary} |")
    return "\n".join(rows)


if __name__ == "__main__":
    print(render())  # noqa: T201 - this is what it is for
