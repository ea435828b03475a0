"""A chat loop that remembers: what the user states becomes candidates, and each turn ends with what became of them.

    python deploy/examples/chat_loop.py                          # talk; an empty line ends it
    printf 'I moved to Utrecht.\nI live in Utrecht.\n' | python deploy/examples/chat_loop.py --user ada

It needs nothing of factsieve but its topics, and is meant to be copied. What is worth copying:

- **The key is the namespace**, and so is the field in the value: one user's statements stay in order.
- **An event has a name of its own** (`ce_source` and `ce_id`, here conversation and place in it). Sending it again, after a time-out or
  a restart, is then no new statement: the same decision comes back. The value must be the same, which is why the time is in `ce_time`.
- **Nobody has to wait.** The answer is for the user's eyes. A loop that does not care sends and goes on.

Which of a user's sentences are statements is your model's job; here, whatever is no question and no greeting.
"""

import argparse
import asyncio
import json
import re
import sys
import uuid
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition

CANDIDATES: Final = "candidate-facts"
DECISIONS: Final = "fact-decisions"
CE_SOURCE: Final = "example/chat"
SMALL_TALK: Final = re.compile(r"(?:hi|hello|hey|thanks|thank you|ok|okay|yes|no|bye)\b[\s.!,]*$", re.IGNORECASE)
SAYS: Final = {
    "add": "remembered",
    "update": "remembered, in place of a former wording",
    "merge": "remembered, together with what was known",
    "supersede": "remembered, in place of what was true before",
    "skip": "known already",
}


def statements_in(said: str) -> list[str]:
    """Return what a turn states, sentence by sentence: no questions, no greetings."""
    sentences = [sentence.strip() for sentence in re.findall(r"[^.!?。！？\n]+[.!?。！？]*", said)]
    return [one for one in sentences if one and not one.endswith(("?", "？")) and not SMALL_TALK.match(one)]


def candidate(namespace: str, text: str, event_id: str, now: datetime) -> dict[str, Any]:
    """Return the Kafka record of one statement, as keyword arguments of a producer's `send`."""
    at = now.isoformat().replace("+00:00", "Z")
    value = {"namespace": namespace, "text": text, "source": "stop_hook"}  # made at `ce_time`
    headers = {
        "ce_specversion": "1.0",
        "ce_type": "fact.candidate.v1",
        "ce_source": CE_SOURCE,
        "ce_id": event_id,
        "ce_time": at,
        "content-type": "application/json",
    }
    return {
        "topic": CANDIDATES,
        "key": namespace.encode(),
        "value": json.dumps(value, ensure_ascii=False).encode(),
        "headers": [(name, text.encode()) for name, text in headers.items()],
    }


def sentence_about(decision: Mapping[str, Any]) -> str:
    """Return what to tell the user about one decision."""
    if decision.get("error") is not None:
        return f"not taken: {decision['error']['message']}"
    said = SAYS[decision["decision"]]
    other = decision["matched_text"]
    if other is not None and decision["decision"] != "add":
        said += f" ({other})"
    if decision["review"] is not None:
        said += "; somebody should look at it"
    return said


class Memory:
    """Sends statements and follows the decisions about them."""

    def __init__(self, kafka: str, namespace: str, conversation: str) -> None:
        self._kafka = kafka
        self._namespace = namespace
        self._conversation = conversation
        self._turn = 0

    async def __aenter__(self) -> "Memory":
        self._producer = AIOKafkaProducer(bootstrap_servers=self._kafka, acks="all")
        self._consumer = AIOKafkaConsumer(bootstrap_servers=self._kafka, enable_auto_commit=False)
        await self._producer.start()
        await self._consumer.start()
        await self._consumer.topics()
        numbers = self._consumer.partitions_for_topic(DECISIONS)
        if not numbers:
            sys.exit(f"there is no topic {DECISIONS} on {self._kafka}: `factsieve topics create` makes it")
        partitions = [TopicPartition(DECISIONS, number) for number in numbers]
        self._consumer.assign(partitions)
        await self._consumer.seek_to_end(*partitions)
        for partition in partitions:
            await self._consumer.position(partition)  # so that the place is fixed before anything is sent
        return self

    async def __aexit__(self, *_raised: object) -> None:
        await self._producer.stop()
        await self._consumer.stop()

    async def tell(self, texts: Sequence[str], timeout_s: float) -> dict[str, Mapping[str, Any]]:
        """Return the decision of each statement; those that did not come within the time are missing."""
        names = {}
        for text in texts:
            name = f"{self._conversation}/{self._turn}"
            self._turn += 1
            names[name] = text
            await self._producer.send_and_wait(**candidate(self._namespace, text, name, datetime.now(UTC)))
        found: dict[str, Mapping[str, Any]] = {}
        try:
            async with asyncio.timeout(timeout_s):
                while len(found) < len(names):
                    fetched = await self._consumer.getmany(timeout_ms=200)
                    for records in fetched.values():
                        for record in records:
                            decision = json.loads(record.value)
                            if decision["ce_source"] == CE_SOURCE and decision["ce_id"] in names:
                                found[names[decision["ce_id"]]] = decision
        except TimeoutError:
            pass
        return found


async def run(given: argparse.Namespace) -> None:
    """Talk until the input ends."""
    async with Memory(given.kafka, given.user, given.conversation) as memory:
        while True:
            if sys.stdin.isatty():
                print("> ", end="", flush=True)  # noqa: T201 - talking to a person
            line = await asyncio.to_thread(sys.stdin.readline)
            if not line.strip():
                return
            texts = statements_in(line)
            decisions = await memory.tell(texts, given.timeout)
            for text in texts:
                decision = decisions.get(text)
                became = "no answer yet" if decision is None else sentence_about(decision)
                print(f"  {text} -> {became}", flush=True)  # noqa: T201 - as above


def parse(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """Return the command line; the address that is not given is that of `factsieve up` in this folder."""
    parser = argparse.ArgumentParser(
        description=(__doc__ or "").partition("\n")[0], epilog="example: chat_loop.py --user ada"
    )
    parser.add_argument("--kafka", help="bootstrap servers")
    parser.add_argument("--state-dir", type=Path, default=Path(".factsieve"), help="folder of `factsieve up`")
    parser.add_argument("--user", default="default", help="whose statements these are: the namespace")
    parser.add_argument("--conversation", default=str(uuid.uuid4()), help="name of the conversation; again: told again")
    parser.add_argument("--timeout", type=float, default=30.0, help="seconds to wait for decisions")
    given = parser.parse_args(arguments)
    state = given.state_dir / "stack.json"
    if given.kafka is None and not state.exists():
        parser.error(f"there is no {state}: start `factsieve up` in this folder, or give --kafka")
    given.kafka = given.kafka or json.loads(state.read_text())["kafka_bootstrap"]
    return given


if __name__ == "__main__":
    asyncio.run(run(parse()))
