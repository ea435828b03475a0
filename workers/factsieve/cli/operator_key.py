"""The local stack's operator key and API token: made when it is first started, kept in its folder, for this user's eyes alone."""

import hashlib
import os
import secrets
from pathlib import Path
from typing import Final

KEY_FILE: Final = "operator.key"
KEY_ID: Final = "local"
TOKEN_FILE: Final = "api.token"  # noqa: S105 - the name of a file
TOKEN_NAME: Final = "local"  # noqa: S105 - the name of a token


def read_key(state_dir: Path, name: str = KEY_FILE) -> str | None:
    """Return the key (or token) kept in a local stack's folder, or None if there is none."""
    try:
        return (state_dir / name).read_text("ascii").strip() or None
    except FileNotFoundError:
        return None


def make_key(state_dir: Path, name: str = KEY_FILE) -> str:
    """Return the key (or token) kept in a folder; one is made where there is none. Only this user may read the file."""
    key = read_key(state_dir, name)
    if key is None:
        key = secrets.token_hex(32)
        state_dir.mkdir(parents=True, exist_ok=True)
        fresh = state_dir / f"{name}.new"
        fresh.unlink(missing_ok=True)
        with open(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="ascii") as file:
            file.write(key + "\n")
        fresh.replace(state_dir / name)
    return key


def key_overrides(key: str | None) -> dict[str, object]:
    """Return the settings that make a key the one that commands are signed and checked with; none for no key."""
    return {} if key is None else {"commands.keys": {KEY_ID: key}, "commands.key_id": KEY_ID}


def token_overrides(token: str) -> dict[str, object]:
    """Return the settings that let a token do everything over HTTP."""
    digest = hashlib.sha256(token.encode()).hexdigest()
    return {"api.tokens": {TOKEN_NAME: {"sha256": digest, "namespaces": ["*"], "scopes": ["read", "write"]}}}
