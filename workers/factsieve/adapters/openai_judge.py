"""The judge that is a language model behind the OpenAI API.

Whatever goes wrong, between here and the model or inside its reply, ends as a verdict without a choice: never as an exception, never as
a skip or a retirement that the model did not clearly give.
"""

import asyncio
import random
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

import msgspec
import structlog

from factsieve.adapters import judge_prompt
from factsieve.adapters.call_limits import Breaker, Limits, Monotonic, Sleep
from factsieve.adapters.judge_prompt import Answer, Fault
from factsieve.adapters.openai_endpoint import (
    Endpoint,
    Trouble,
    find_key,
    open_client,
    parse_judge_name,
    retry_delay_s,
    trouble_of,
)
from factsieve.core.errors import BadSettings
from factsieve.core.judging import Question, Verdict

if TYPE_CHECKING:
    from openai.types.chat import ChatCompletion

log = structlog.get_logger(__name__)

_FORMATS: Final = ("json_schema", "json_object", "plain")
_LENGTH_FIELDS: Final = ("max_tokens", "max_completion_tokens")
_UNSUPPORTED: Final = frozenset({400, 404, 415, 422, 501})
_LEFT_ALONE: Final = Trouble("breaker_open", "the endpoint failed repeatedly and is left alone for a while", False)


class Dialect(msgspec.Struct, frozen=True):
    """Which parts of the API an endpoint takes: learnt from its refusals, then kept."""

    format: str
    length_field: str | None
    temperature: bool = True

    def without(self, complaint: str) -> "Dialect | None":
        """Return the dialect without what an endpoint's error complains of, None where nothing is left to leave out."""
        said = complaint.lower()
        if self.temperature and "temperature" in said:
            return msgspec.structs.replace(self, temperature=False)
        if self.length_field is not None and self.length_field in said:
            other = next((f for f in _LENGTH_FIELDS if f != self.length_field and f in said), None)
            return msgspec.structs.replace(self, length_field=other)
        at = _FORMATS.index(self.format)
        return msgspec.structs.replace(self, format=_FORMATS[at + 1]) if at + 1 < len(_FORMATS) else None


class _Spent(msgspec.Struct):
    """What a question has cost so far."""

    prompt_tokens: int = 0
    completion_tokens: int = 0
    calls: int = 0
    under_way: bool = False


class _Text(msgspec.Struct, frozen=True):
    """What a model said; `fault` says why it is not a whole reply."""

    content: str
    fault: str | None


class OpenAIJudge:
    """A language model as judge (`ports.Judge`), through the official `openai` client.

    `name` is a model name as `parse_judge_name` takes it; the key is `api_key`, or the provider's usual environment variable.
    A call may take `timeout_s`; refused and failed calls (408, 409, 425, 429, 5xx, no connection) are tried `retries` times more,
    after a random delay that doubles, or after the server's Retry-After where that is at most `retry_delay_limit_s`; a whole
    answer takes at most `timeout_s` x (1 + `retries`), waiting for a turn included. After `breaker_failures` failed calls in a row the
    endpoint is left alone for `breaker_pause_s`, then tried with a single call. `concurrency` and `calls_per_minute` bound the
    calls, each also per namespace. A reply of `max_output_tokens` at most is asked for.

    Raises BadSettings for a name that is not understood, a missing key or a missing library.
    """

    def __init__(
        self,
        name: str,
        *,
        api_key: str | None = None,
        base_url: str | None = None,
        timeout_s: float = 20.0,
        retries: int = 2,
        retry_delay_limit_s: float = 10.0,
        concurrency: int = 8,
        namespace_concurrency: int = 2,
        calls_per_minute: int = 600,
        namespace_calls_per_minute: int = 120,
        breaker_failures: int = 5,
        breaker_pause_s: float = 30.0,
        max_output_tokens: int = 2000,
        monotonic: Monotonic = time.monotonic,
        sleep: Sleep = asyncio.sleep,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        bounds = {
            "timeout_s": timeout_s, "concurrency": concurrency, "namespace_concurrency": namespace_concurrency,
            "calls_per_minute": calls_per_minute, "namespace_calls_per_minute": namespace_calls_per_minute,
            "breaker_failures": breaker_failures, "max_output_tokens": max_output_tokens,
        }  # fmt: skip
        for field, value in bounds.items():
            if value <= 0:
                raise BadSettings(f"judge: {field} must be above 0, got {value}")
        if retries < 0 or breaker_pause_s < 0 or retry_delay_limit_s < 0:
            raise BadSettings("judge: retries, breaker_pause_s and retry_delay_limit_s must not be negative")
        self._endpoint = parse_judge_name(name, base_url=base_url)
        self._key = find_key(self._endpoint, api_key)
        self._client = open_client(self._endpoint, self._key, timeout_s=timeout_s)
        self._timeout_s = timeout_s
        self._budget_s = timeout_s * (1 + retries)
        self._retries = retries
        self._delay_limit_s = retry_delay_limit_s
        self._max_output_tokens = max_output_tokens
        self._sleep = sleep
        self._jitter = jitter
        self._breaker = Breaker(breaker_failures, breaker_pause_s, monotonic)
        self._limits = Limits(
            concurrency=concurrency,
            namespace_concurrency=namespace_concurrency,
            per_minute=calls_per_minute,
            namespace_per_minute=namespace_calls_per_minute,
            monotonic=monotonic,
            sleep=sleep,
        )
        newer = self._endpoint.provider == "openai"
        self._dialect = Dialect("json_schema", _LENGTH_FIELDS[1] if newer else _LENGTH_FIELDS[0])

    def __repr__(self) -> str:
        return f"OpenAIJudge({self.name!r})"

    @property
    def name(self) -> str:
        """Return the model's name as it is written in settings."""
        return self._endpoint.name

    @property
    def endpoint(self) -> Endpoint:
        """Return where the model is served."""
        return self._endpoint

    @property
    def is_remote(self) -> bool:
        """Return True: an answer takes as long as it takes."""
        return True

    @property
    def confirms_skips(self) -> bool:
        """Return False: asking a language model before every skip would cost what the skips save."""
        return False

    @property
    def breaker_state(self) -> str:
        """Return `closed`, `open` (the endpoint is left alone) or `half_open`."""
        return self._breaker.state

    async def answer(self, question: Question) -> Verdict:
        """Return the verdict; without a usable answer `choice` is None and `failure` says why, starting with a code."""
        started = time.perf_counter()
        spent = _Spent()
        model = self._endpoint.model
        try:
            async with asyncio.timeout(self._budget_s):
                found = await self._converse(question, spent)
        except TimeoutError:
            if spent.under_way:
                self._breaker.failed()
            found = Trouble("time_out", f"no answer within {self._budget_s:g} s", True)
        except Exception as error:  # the promise of the port: a failure is an answer too
            log.exception("judge_failed", judge=self.name)
            found = Trouble("failed", type(error).__name__, False)
        verdict = Verdict(
            choice=None,
            judge=self.name,
            model=model,
            latency_ms=round((time.perf_counter() - started) * 1000, 3),
            prompt_tokens=spent.prompt_tokens,
            completion_tokens=spent.completion_tokens,
        )
        if isinstance(found, Trouble):
            log.warning("judge_unanswered", judge=self.name, code=found.code, calls=spent.calls)
            return msgspec.structs.replace(verdict, failure=str(found))
        return msgspec.structs.replace(
            verdict, choice=found.choice, targets=found.targets, text=found.text, reason=found.reason
        )

    async def close(self) -> None:
        """Close the connections."""
        await self._client.close()

    async def _converse(self, question: Question, spent: _Spent) -> Answer | Trouble:
        """Return the answer to a question, asking once more where the first reply is none."""
        messages: list[dict[str, str]] = judge_prompt.messages(question)
        why = ""
        for last in (False, True):
            said = await self._say(question, messages, spent)
            if isinstance(said, Trouble):
                return said
            read = Fault(said.fault) if said.fault is not None else judge_prompt.read(said.content, question)
            if isinstance(read, Answer):
                return read
            why = read.why
            if not last:
                messages = [*messages, *judge_prompt.repair(question, said.content, read)]
        return Trouble("unusable_reply", why, True)

    async def _say(self, question: Question, messages: list[dict[str, str]], spent: _Spent) -> _Text | Trouble:
        """Return what the model says to messages, after as many tries as are allowed."""
        tries = 0
        while True:
            outcome = await self._try(question, messages, spent)
            if not isinstance(outcome, Trouble):
                return outcome
            delay_s = (
                retry_delay_s(outcome, tries, self._delay_limit_s, self._jitter) if tries < self._retries else None
            )
            if delay_s is None:
                return outcome
            tries += 1
            await self._sleep(delay_s)

    async def _try(self, question: Question, messages: list[dict[str, str]], spent: _Spent) -> _Text | Trouble:
        """Return what one call gives, in the richest dialect that the endpoint takes."""
        dialect = known = self._dialect
        while True:
            outcome = await self._call(question, messages, dialect, spent)
            if not isinstance(outcome, Trouble):
                if dialect is not known:
                    self._dialect = dialect
                    log.info("judge_dialect_learnt", judge=self.name, format=dialect.format)
                return outcome
            if outcome.status not in _UNSUPPORTED:
                return outcome
            poorer = dialect.without(outcome.detail)
            if poorer is None:
                return outcome
            dialect = poorer

    async def _call(
        self, question: Question, messages: list[dict[str, str]], dialect: Dialect, spent: _Spent
    ) -> _Text | Trouble:
        """Return what one HTTP call gives, and tell the breaker."""
        if self._breaker.state == "open":
            return _LEFT_ALONE  # at once, without waiting for a turn
        async with self._limits.call(question.namespace):
            if not self._breaker.admits():
                return _LEFT_ALONE
            spent.calls += 1
            spent.under_way = True
            try:
                async with asyncio.timeout(self._timeout_s):
                    completion = await self._client.chat.completions.create(
                        **self._request(question, messages, dialect)
                    )
                outcome = _text_of(completion, spent)
            except asyncio.CancelledError:
                self._breaker.abandoned()
                raise
            except Exception as error:
                outcome = trouble_of(error, self._key)
            if isinstance(outcome, Trouble) and outcome.status not in _UNSUPPORTED:
                self._breaker.failed()
            else:
                self._breaker.succeeded()  # a refusal of this request is an answer of a living service
            spent.under_way = False
            return outcome

    def _request(self, question: Question, messages: list[dict[str, str]], dialect: Dialect) -> dict[str, Any]:
        request: dict[str, Any] = {"model": self._endpoint.model, "messages": messages}
        if dialect.temperature:
            request["temperature"] = 0
        if dialect.length_field is not None:
            request[dialect.length_field] = self._max_output_tokens
        if dialect.format == "json_schema":
            described = {"name": "decision", "strict": True, "schema": judge_prompt.schema(question)}
            request["response_format"] = {"type": "json_schema", "json_schema": described}
        elif dialect.format == "json_object":
            request["response_format"] = {"type": "json_object"}
        return request


def _text_of(completion: "ChatCompletion", spent: _Spent) -> _Text | Trouble:
    """Return what a completion says, counting its tokens; some services report their own failures with status 200."""
    usage = getattr(completion, "usage", None)
    if usage is not None:
        spent.prompt_tokens += _count(usage, "prompt_tokens")
        spent.completion_tokens += _count(usage, "completion_tokens")
    choices = getattr(completion, "choices", None)
    if not choices:
        return Trouble("unreadable", "a completion without choices", True)
    message = choices[0].message
    finish = choices[0].finish_reason
    content = message.content if isinstance(message.content, str) else ""
    if getattr(message, "refusal", None) or finish == "content_filter":
        return _Text(content, "it is a refusal")
    if finish == "length":
        return _Text(content, "it is cut off")
    return _Text(content, None)


def _count(usage: object, field: str) -> int:
    value = getattr(usage, field, 0)
    return value if isinstance(value, int) and value > 0 else 0
