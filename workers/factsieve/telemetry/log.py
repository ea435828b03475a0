"""The log: structlog, one line per event on one stream, as JSON or for people; secrets and texts of facts never in it.

Events are named noun, then past verb (`worker_stopped`). Nothing happens at import; `configure` is called once by a process.
"""

import logging
import re
import sys
from collections.abc import MutableMapping, Sequence
from typing import Any, Final, Literal, TextIO

import structlog
from structlog.types import EventDict, Processor, WrappedLogger

Format = Literal["json", "console"]
Level = Literal["debug", "info", "warning", "error"]

MASK: Final = "***"
_SECRET_NAME: Final = re.compile(
    r"(?:^|_)(?:password|passwd|secret|token|api_?key|authorization|credentials?|signature|private_key|key_password)$",
    re.IGNORECASE,
)
_TEXT_NAMES: Final = frozenset({"text", "matched_text", "texts", "value", "body", "prompt"})
_USERINFO: Final = re.compile(r"(?P<scheme>[a-zA-Z][a-zA-Z0-9+.-]*://)(?P<user>[^\s/:@]*):[^\s/@]*@")
_BEARER: Final = re.compile(r"\b(?P<kind>Bearer|Basic) [A-Za-z0-9._~+/=-]+", re.IGNORECASE)
_MAX_DEPTH: Final = 6
_NOISY: Final = ("aiokafka", "faust", "mode", "httpx", "httpx2", "httpcore", "openai", "urllib3", "asyncio")
"""Loggers of libraries, whose entries below a warning say nothing to our operators."""


def configure(*, format: Format = "json", level: Level = "info", stream: TextIO | None = None) -> None:  # noqa: A002 - the setting's name
    """Send structlog's and the standard library's entries of at least `level` to `stream` (default: standard error)."""
    target = stream or sys.stderr
    shared: list[Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.StackInfoRenderer(),
    ]
    handler = logging.StreamHandler(target)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=shared,
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, *_rendering(format, target)],
        )
    )
    root = logging.getLogger()
    root.handlers = [handler]
    root.setLevel(level.upper())
    for name in _NOISY:
        logging.getLogger(name).setLevel(max(logging.WARNING, root.level))
    structlog.configure(
        processors=[
            structlog.stdlib.filter_by_level,
            *shared,
            structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
        ],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=False,
    )


def _rendering(format_: Format, target: TextIO) -> Sequence[Processor]:
    renderer: Processor = structlog.processors.JSONRenderer(ensure_ascii=False)
    if format_ == "console":
        renderer = structlog.dev.ConsoleRenderer(
            colors=target.isatty(), exception_formatter=structlog.dev.plain_traceback
        )
    return (structlog.processors.format_exc_info, mask, renderer)


def mask(_logger: WrappedLogger, _method: str, event: EventDict) -> EventDict:
    """Return an entry with secrets replaced, and texts of facts (personal data) by their length."""
    masked: EventDict = {name: _masked(str(name), value, 0) for name, value in event.items()}
    return masked


def _masked(name: str, value: Any, depth: int) -> Any:  # noqa: ANN401 - entries hold anything
    if _SECRET_NAME.search(name) and value is not None:
        return MASK
    if name in _TEXT_NAMES and isinstance(value, (str, bytes)):
        return f"({len(value)} {'characters' if isinstance(value, str) else 'bytes'})"
    if isinstance(value, str):
        return _BEARER.sub(rf"\g<kind> {MASK}", _USERINFO.sub(rf"\g<scheme>\g<user>:{MASK}@", value))
    if value is None or isinstance(value, (int, float)):
        return value
    if depth >= _MAX_DEPTH:
        return f"({type(value).__name__})"
    if isinstance(value, MutableMapping):
        return {key: _masked(str(key), item, depth + 1) for key, item in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [_masked(name, item, depth + 1) for item in value]
    return _masked(name, repr(value), depth)
