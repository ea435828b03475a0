"""Decisions as they happen, as server-sent events: the same stream for programs and for the page, each written in its own way."""

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any, Final

from fastapi.responses import StreamingResponse

from factsieve.api.context import ApiContext
from factsieve.operations.log import DecisionFilter

Value = dict[str, Any]

HEARTBEAT_S: Final = 15.0
"""So often a silent stream says that it lives."""


def live_response(
    context: ApiContext, wanted: DecisionFilter, after: str | None, *, opening: bytes, written: Callable[[Value], bytes]
) -> StreamingResponse:
    """Return a live stream of the decisions that match, until the client goes away or the process ends.

    `opening` comes first, `written` makes an event of each decision (or of the log's word that some were missed); what came after the
    decision `after` is told before what is yet to come.
    """
    return StreamingResponse(
        _events(context, wanted, after, opening, written),
        media_type="text/event-stream",
        headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"},
    )


async def _events(
    context: ApiContext, wanted: DecisionFilter, after: str | None, opening: bytes, written: Callable[[Value], bytes]
) -> AsyncIterator[bytes]:
    following = context.log.follow(wanted, after=after)
    closing = asyncio.ensure_future(context.closing.wait())
    coming: asyncio.Future[Value] | None = None
    try:
        yield opening
        while not context.closing.is_set():
            coming = coming or asyncio.ensure_future(anext(following))
            waited: set[asyncio.Future[Any]] = {coming, closing}
            done, _ = await asyncio.wait(waited, timeout=HEARTBEAT_S, return_when=asyncio.FIRST_COMPLETED)
            if coming in done:
                try:
                    yield written(coming.result())
                except StopAsyncIteration:
                    return
                coming = None
            elif not done:
                yield b": still here\n\n"
    finally:
        closing.cancel()
        if coming is not None:
            coming.cancel()
        context.log.unfollow(following)
