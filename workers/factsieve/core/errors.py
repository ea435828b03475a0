"""The three families of errors, and the bounded vocabulary of codes of the first.

Bad input goes to the dead letter topic, transient errors are retried and waited for, bugs crash the process. A *skip* is a decision,
a value, and never an exception.
"""

from typing import Final, Literal, get_args

RejectCode = Literal[
    "not_json",
    "not_utf8",
    "not_an_object",
    "missing_field",
    "wrong_type",
    "empty_text",
    "text_too_long",
    "record_too_large",
    "bad_namespace",
    "namespace_mismatch",
    "null_key",
    "null_value",
    "wrong_partition",
    "unknown_source",
    "unknown_type",
    "bad_time",
    "future_time",
    "bad_embedding",
    "bad_threshold",
    "bad_slot",
    "attributes_too_large",
    "event_id_conflict",
    "command_unauthorised",
    "decision_too_large",
    "unprocessable",
]
"""Why an input was refused; the codes of `candidate-facts-dlt` and of rejects on `fact-decisions`."""

REJECT_CODES: Final[tuple[str, ...]] = get_args(RejectCode)


class FactsieveError(Exception):
    """Base of every error that factsieve raises itself."""


class BadInput(FactsieveError):
    """The input can not be used as it is; it is kept in the dead letter topic with `code`.

    `field` names the offending field (or is None), the message names the offending value and the fix.
    """

    def __init__(self, code: RejectCode, message: str, *, field: str | None = None) -> None:
        super().__init__(message)
        self.code: RejectCode = code
        self.field = field


class BadSettings(FactsieveError):
    """Settings that contradict each other, the stored data or a model; the process does not start."""


class Transient(FactsieveError):
    """A service did not answer, or not in time; the same call may succeed later. `service` names it."""

    def __init__(self, service: str, message: str) -> None:
        super().__init__(f"{service}: {message}")
        self.service = service


class Bug(FactsieveError):
    """Something that can not happen did: the process must stop before it does harm."""
