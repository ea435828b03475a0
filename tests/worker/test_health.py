import asyncio
import json

import aiohttp
import pytest
from prometheus_client import CollectorRegistry, Counter

from factsieve.worker.health import HealthServer, run_check


async def fine():
    return {"points": 3}


async def silent():
    return None


async def refused():
    return False


async def broken():
    raise RuntimeError("connection refused")


async def hanging():
    await asyncio.Event().wait()


def serve(body, **server):
    async def main():
        registry = server.pop("registry", CollectorRegistry())
        made = HealthServer(**{"alive": {}, "ready": {}, "registry": registry, "timeout_s": 0.2, **server})
        await made.start()
        try:
            async with aiohttp.ClientSession(f"http://{made.host}:{made.port}") as session:
                await body(session, made)
        finally:
            await made.stop()

    asyncio.run(main())


async def ask(session, path):
    async with session.get(path) as answer:
        return answer.status, json.loads(await answer.read())


def test_ready_only_if_every_check_passes_and_each_is_named():
    """A check that raises, says no or does not answer in time is shown as such; the others keep their details."""

    async def body(session, _server):
        status, answer = await ask(session, "/readyz")
        checks = answer["checks"]
        assert (status, answer["status"]) == (503, "unavailable")
        assert {name: check["ok"] for name, check in checks.items()} == {
            "fine": True, "silent": True, "refused": False, "broken": False, "hanging": False,
        }  # fmt: skip
        assert checks["fine"]["detail"] == {"points": 3}
        assert checks["broken"]["error"] == "connection refused"
        assert checks["hanging"]["error"] == "no answer within 0.2 s"
        assert (await ask(session, "/healthz"))[0] == 200

    serve(body, ready={"fine": fine, "silent": silent, "refused": refused, "broken": broken, "hanging": hanging})


def test_checks_run_at_once():
    """Ten that hang cost the time of one, so a probe's own time-out is not passed."""

    async def body(session, _server):
        async with asyncio.timeout(1.5):
            assert (await ask(session, "/readyz"))[0] == 503

    serve(body, ready={str(number): hanging for number in range(10)})


def test_healthz_fails_with_its_own_checks():
    async def body(session, _server):
        assert (await ask(session, "/healthz"))[0] == 503
        assert (await ask(session, "/readyz"))[0] == 200

    serve(body, alive={"loop": broken}, ready={"fine": fine})


def test_metrics_come_from_the_registry():
    registry = CollectorRegistry()
    Counter("factsieve_events", "Events.", registry=registry).inc(3)

    async def body(session, _server):
        async with session.get("/metrics") as answer:
            assert answer.status == 200
            assert answer.headers["Content-Type"].startswith("text/plain")
            assert "factsieve_events_total 3.0" in await answer.text()

    serve(body, registry=registry)


def test_other_paths_do_not_exist():
    async def body(session, _server):
        for path in ("/", "/router", "/tables"):
            async with session.get(path) as answer:
                assert answer.status == 404

    serve(body)


def test_it_listens_on_loopback_unless_told_otherwise():
    async def body(_session, server):
        assert server.host == "127.0.0.1"

    serve(body)


def test_a_taken_port_is_told():
    async def body(_session, server):
        second = HealthServer(port=server.port, alive={}, ready={}, registry=CollectorRegistry())
        with pytest.raises(OSError, match="address already in use"):
            await second.start()

    serve(body)


def test_a_check_never_raises():
    result = asyncio.run(run_check(broken, 1.0))
    assert (result.ok, result.error) == (False, "connection refused")
