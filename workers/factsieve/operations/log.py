"""The decision log, as it stands on `fact-decisions`."""

from typing import Any, Final

import msgspec

from factsieve.operations.conversation import Reader

_SCAN_LIMIT: Final = 20_000
"""So many records back, per partition, are read at most to find the latest that match."""


async def latest(reader: Reader, limit: int, namespace: str | None) -> list[dict[str, Any]]:
    """Return the latest decisions, oldest first. Without a namespace the last `limit` of each partition hold them all."""
    depth = _SCAN_LIMIT if namespace is not None else limit
    starts = {part: max(reader.begins[part], end - depth) for part, end in reader.ends.items()}
    if not limit:
        return []
    reader.seek(starts)
    found: list[tuple[str, dict[str, Any]]] = []
    while not await reader.reached(reader.ends):
        for part, offset, value in await reader.poll():
            decision = msgspec.json.decode(value)
            if offset < reader.ends[part] and namespace in (None, decision.get("namespace")):
                found.append((decision["decided_at"], decision))
    found.sort(key=lambda seen: seen[0])
    return [decision for _, decision in found[-limit:]]
