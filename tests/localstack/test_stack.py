"""The stack as a whole: everything is started, addressed, found again and stopped; nothing is left running."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest
import redis as redis_client

from factsieve.localstack import LocalStack, LocalStackError, StackConfig, StackState, read_state, stop_running
from factsieve.localstack.process import free_port, process_identity
from factsieve.localstack.stack import LOCK_FILE, STATE_FILE

pytestmark = pytest.mark.stack

OWNER = """
import os, signal, sys
from pathlib import Path
from factsieve.localstack import LocalStack, StackConfig
signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))  # an exception: to set an event here would wait for its own lock
woken, wake = os.pipe()  # signal.pause() sleeps on where another thread takes the signal, as happens after a SIGCONT
os.set_blocking(wake, False)
signal.set_wakeup_fd(wake)
with LocalStack(StackConfig(state_dir=Path(sys.argv[1]))):
    print("ready", flush=True)
    while True:
        os.read(woken, 1)
"""


def until(true: Callable[[], bool], timeout_s: float = 20.0) -> None:
    deadline = time.monotonic() + timeout_s
    while not true():
        assert time.monotonic() < deadline, "the condition did not come true"
        time.sleep(0.02)


def pids(state: StackState) -> list[int]:
    return [one.pid for one in state.services]


def gone(found: list[int]) -> bool:
    return all(process_identity(pid) is None for pid in found)


@pytest.fixture
def owner(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """Another process that runs a stack in `tmp_path`."""
    process = subprocess.Popen([sys.executable, "-c", OWNER, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    yield process
    process.kill()
    process.wait(10)
    process.stdout.close()


def test_stack_starts_serves_and_leaves_nothing(tmp_path: Path) -> None:
    """All three answer at their addresses, each can be killed and started alone, and after the block no process is left."""
    stack = LocalStack(StackConfig(state_dir=tmp_path))
    with stack:
        state = read_state(tmp_path)
        assert state is not None
        assert (state.kafka_bootstrap, state.redis_url, state.qdrant_url) == (
            stack.kafka_bootstrap,
            stack.redis_url,
            stack.qdrant_url,
        )
        assert pids(state) == [stack.broker.pid, stack.redis.pid, stack.qdrant.pid]
        assert state.owner.pid == os.getpid()
        url, first = stack.redis_url, stack.redis.pid
        stack.redis.kill()
        with pytest.raises(redis_client.ConnectionError), redis_client.Redis.from_url(url) as client:
            client.ping()
        assert httpx.get(f"{stack.qdrant_url}/readyz").status_code == 200
        stack.redis.start()
        with redis_client.Redis.from_url(url) as client:
            assert client.ping()
        again = read_state(tmp_path)
        assert again is not None
        assert pids(again)[1] == stack.redis.pid != first
        started = pids(again)
        with pytest.raises(LocalStackError, match="already started"):
            stack.start()
        with pytest.raises(LocalStackError, match=rf"already runs in .*process id {os.getpid()}.*factsieve down"):
            LocalStack(StackConfig(state_dir=tmp_path)).start()
    assert gone(started)
    assert read_state(tmp_path) is None
    assert {one.name for one in tmp_path.iterdir()} == {"broker", "redis", "qdrant", "logs", LOCK_FILE}


def test_stack_is_stopped_when_the_block_fails(tmp_path: Path) -> None:
    """An error inside the block, also of the event loop, leaves nothing running; the stack works from asyncio."""
    started: list[int] = []

    async def run() -> None:
        async with LocalStack(StackConfig(state_dir=tmp_path)) as stack:
            started.extend(service.pid or 0 for service in stack.services)
            async with httpx.AsyncClient() as client:
                assert (await client.get(f"{stack.qdrant_url}/healthz")).status_code == 200
            raise RuntimeError("inside")

    with pytest.raises(RuntimeError, match="inside"):
        asyncio.run(run())
    assert len(started) == 3
    assert gone(started)


def test_ports_that_are_given_are_used_and_a_failed_start_leaves_nothing(tmp_path: Path) -> None:
    """A stack of which one service can not start is stopped whole."""
    port = free_port()
    taken = LocalStack(StackConfig(state_dir=tmp_path / "a", kafka_port=port))
    taken.broker.start()
    stack = LocalStack(StackConfig(state_dir=tmp_path / "b", redis_port=port))
    with pytest.raises(LocalStackError, match=f"port {port} for redis is in use"):
        stack.start()
    assert [service.pid for service in stack.services] == [None, None, None]
    assert read_state(tmp_path / "b") is None
    assert taken.kafka_bootstrap == f"127.0.0.1:{port}"
    taken.stop()


def test_services_end_with_the_process_that_started_them(tmp_path: Path, owner: subprocess.Popen[str]) -> None:
    """The owner is killed and can do nothing any more: the kernel ends its services, and the folder is free again."""
    state = read_state(tmp_path)
    assert state is not None
    assert len(pids(state)) == 3
    owner.send_signal(signal.SIGKILL)
    owner.wait(10)
    until(lambda: gone(pids(state)))
    assert stop_running(tmp_path) == []
    assert read_state(tmp_path) is None


def test_stop_running_stops_another_process_s_stack(tmp_path: Path, owner: subprocess.Popen[str]) -> None:
    """`stop_running` ends owner and services by the state file, and says what it stopped; a second call finds nothing."""
    state = read_state(tmp_path)
    assert state is not None
    assert state.owner.pid == owner.pid
    assert stop_running(tmp_path) == ["owner", "broker", "redis", "qdrant"]
    assert owner.wait(10) == 0
    assert gone(pids(state))
    assert stop_running(tmp_path) == []


def test_stop_running_waits_for_the_owner_within_a_bound(tmp_path: Path, owner: subprocess.Popen[str]) -> None:
    """An owner that does not end is named, and is not killed behind its back."""
    owner.send_signal(signal.SIGSTOP)
    with pytest.raises(LocalStackError, match=rf"process id {owner.pid}\) did not end within 0.3 s"):
        stop_running(tmp_path, timeout_s=0.3)
    owner.send_signal(signal.SIGCONT)
    assert owner.wait(60) == 0


def test_a_reused_process_id_is_not_signalled(tmp_path: Path) -> None:
    """The state file of a long gone stack names ids that others have now: they are left alone."""
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as stranger:
        process = {"name": "redis", "pid": stranger.pid, "identity": "1", "port": 1}
        state = {"kafka_bootstrap": "", "redis_url": "", "qdrant_url": "", "owner": process, "services": [process]}
        (tmp_path / STATE_FILE).write_text(json.dumps(state))
        assert stop_running(tmp_path) == []
        assert stranger.poll() is None
        assert not (tmp_path / STATE_FILE).exists()
        stranger.communicate(b"\n", timeout=10)


def test_an_unreadable_state_file_is_named(tmp_path: Path) -> None:
    """A state file that is none is an error that names it, not a traceback and not a silent nothing."""
    for content in (b"", b"{}", b"\xff", b'{"owner": 1}'):
        (tmp_path / STATE_FILE).write_bytes(content)
        with pytest.raises(LocalStackError, match=STATE_FILE):
            read_state(tmp_path)
    assert read_state(tmp_path / "nowhere") is None
