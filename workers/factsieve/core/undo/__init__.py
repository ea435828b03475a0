"""Operators' commands as plans: undo, withdraw, decide anew, erase. Pure; repeating a command changes nothing more (DESIGN section 4)."""

from factsieve.core.undo.erase import AGAIN, SCRUBBED_HASH, Story, erase, resting_on, scrub, since_revision, whole
from factsieve.core.undo.retract import retract
from factsieve.core.undo.revert import revert, stored_id
from factsieve.core.undo.review import chosen, review
from factsieve.core.undo.rows import ERASED, Held, Outcome, written_rows

__all__ = [
    "AGAIN",
    "ERASED",
    "SCRUBBED_HASH",
    "Held",
    "Outcome",
    "Story",
    "chosen",
    "erase",
    "resting_on",
    "retract",
    "revert",
    "review",
    "scrub",
    "since_revision",
    "stored_id",
    "whole",
    "written_rows",
]
