"""What a model's text may not bring in, and the exact rule."""

from factsieve.core.guard import introduces, same_statement_text


def test_numbers_names_and_identifiers_of_no_source_are_reported() -> None:
    """Each is returned as it stands in the text; what a source has in another notation is not."""
    sources = ["The lease of Vera Holm ends on 4 May 2026.", "Rent is 1,200 euros."]
    assert introduces("Vera Holm's lease ends on 2026-05-04; rent is 1200 euros.", sources) == ()
    found = introduces("Vera Holm and Ivo Brandt pay 1,300 euros under QX-7.", sources)
    assert "1,300 euros" in found
    assert "QX-7" in found
    assert {"ivo", "brandt"} <= set(found)


def test_the_exact_rule_is_canonical_equality() -> None:
    """NFC only: a composed and a decomposed accent are equal; case, spacing and compatibility forms are not."""
    assert same_statement_text("Café", "Cafe\u0301")
    assert not same_statement_text("Café", "café")
    assert not same_statement_text("ﬁle", "file")
    assert not same_statement_text("a b", "a  b")
