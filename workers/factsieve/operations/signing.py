"""With which key orders are signed, and whether one was refused."""

from typing import TYPE_CHECKING

from factsieve.core.errors import BadSettings
from factsieve.operations.conversation import Decision

if TYPE_CHECKING:
    from factsieve.assembly.settings import Settings


class NoKey(BadSettings):
    """There is no operator key to sign with, or none to choose."""


def signing_key(settings: "Settings") -> tuple[str, bytes]:
    """Return id and bytes of the key that this process signs with. Raises NoKey where there is none to choose."""
    keys = settings.command_keys()
    key_id = settings.commands.key_id
    if key_id is None and len(keys) == 1:
        [key_id] = keys
    if key_id is None:
        raise NoKey(
            "commands have to be signed: set commands.keys.NAME to an operator key that the workers know too "
            "(`openssl rand -hex 32` makes one), and commands.key_id to NAME"
        )
    return key_id, keys[key_id]


def was_refused(outcome: Decision) -> bool:
    """Return whether an order was refused, by the rules of undoing or because it could not be accepted at all."""
    return outcome.get("error") is not None or outcome.get("outcome") == "refused"
