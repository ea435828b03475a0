"""What keeps the stores out of reach is told of the service that it is."""

import pytest

from factsieve.assembly.settings import load_settings
from factsieve.core.errors import Transient
from factsieve.operations.stores import naming_qdrant


def test_a_qdrant_that_does_not_answer_is_named_with_its_address() -> None:
    """Who reads the message knows where to look."""
    settings = load_settings({"qdrant.url": "http://qdrant.example:6333"})
    said = r"^qdrant: http://qdrant\.example:6333 does not answer \(ConnectError: no\)"
    with pytest.raises(Transient, match=said), naming_qdrant(settings):
        raise Transient("qdrant", "ConnectError: no")


def test_what_another_service_did_is_not_laid_to_qdrant() -> None:
    """A worker that does not answer, or a broker, while the stores are open: the very error is passed on, with all that it holds."""
    error = Transient("worker", "no outcome within 60 s")
    with pytest.raises(Transient) as raised, naming_qdrant(load_settings({})):
        raise error
    assert raised.value is error
