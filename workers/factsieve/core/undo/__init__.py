"""Operators' commands as plans: undo, withdraw, decide anew, erase. Pure; repeating a command changes nothing more (DESIGN section 4)."""

from factsieve.core.undo.retract import retract
from factsieve.core.undo.revert import revert, stored_id
from factsieve.core.undo.review import chosen, review
from factsieve.core.undo.rows import Held, Outcome, written_rows

__all__ = ["Held", "Outcome", "chosen", "retract", "revert", "review", "stored_id", "written_rows"]
