"""Many callers, few calls: who is answered with what, and what one caller's trouble does to the others."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence

import pytest

from factsieve.core.errors import Transient
from factsieve.engine.batcher import Batcher


class Service:
    """Doubles numbers, as many at a time as come, and keeps account; `gate` holds its answers back."""

    def __init__(self) -> None:
        self.calls: list[list[int]] = []
        self.at_once = 0
        self.most_at_once = 0
        self.gate = asyncio.Event()
        self.gate.set()
        self.trouble: Callable[[list[int]], Exception | None] = lambda _items: None

    async def __call__(self, items: list[int]) -> Sequence[int]:
        self.calls.append(items)
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        try:
            await self.gate.wait()
            trouble = self.trouble(items)
            if trouble is not None:
                raise trouble
            return [2 * item for item in items]
        finally:
            self.at_once -= 1


def run(body: Callable[[Service], Awaitable[None]]) -> Service:
    async def main() -> Service:
        service = Service()
        async with asyncio.timeout(60):
            await body(service)
        return service

    return asyncio.run(main())


async def ask(batcher: Batcher[int, int], *requests: Sequence[int]) -> list[list[int] | BaseException]:
    return await asyncio.gather(*(batcher.many(one) for one in requests), return_exceptions=True)


async def until(condition: Callable[[], bool]) -> None:
    for _ in range(10_000):
        if condition():
            return
        await asyncio.sleep(0)
    pytest.fail("it never came to that")


def test_callers_share_a_call_and_get_their_own() -> None:
    """What is asked at the same time travels as one call, in order of asking, and each caller gets the results of its items."""

    async def body(service: Service) -> None:
        batcher = Batcher(service, max_items=10)
        assert await ask(batcher, [1, 2], [3], [4, 5, 6]) == [[2, 4], [6], [8, 10, 12]]
        assert service.calls == [[1, 2, 3, 4, 5, 6]]

    run(body)


def test_nothing_is_not_asked() -> None:
    """An empty request is answered without a call."""

    async def body(service: Service) -> None:
        assert await Batcher(service, max_items=10).many([]) == []
        assert service.calls == []

    run(body)


@pytest.mark.parametrize(
    ("sizes", "calls"),
    [([2, 2], [4]), ([2, 3], [2, 3]), ([1, 1, 1, 1, 1], [4, 1]), ([9], [9]), ([1, 9, 1], [1, 9, 1]), ([4, 1], [4, 1])],
)
def test_a_call_holds_so_many_items(sizes: list[int], calls: list[int]) -> None:
    """Up to the bound requests are gathered; none is split, also where it alone is larger."""

    async def body(service: Service) -> None:
        await ask(Batcher(service, max_items=4), *([7] * size for size in sizes))
        assert [len(call) for call in service.calls] == calls

    run(body)


@pytest.mark.parametrize("concurrency", [1, 2, 3])
def test_so_many_calls_at_once(concurrency: int) -> None:
    """While calls are under way the next one gathers; as many run beside each other as are allowed, and all of those."""

    async def body(service: Service) -> None:
        batcher = Batcher(service, max_items=1, concurrency=concurrency)
        service.gate.clear()
        asked = [asyncio.create_task(batcher.many([n])) for n in range(7)]
        await until(lambda: service.at_once == concurrency)
        for _ in range(20):
            await asyncio.sleep(0)
        assert len(service.calls) == concurrency
        service.gate.set()
        assert await asyncio.gather(*asked) == [[2 * n] for n in range(7)]
        assert service.calls == [[n] for n in range(7)]  # first come, first served

    assert run(body).most_at_once == concurrency


def test_no_more_at_once_after_a_pause() -> None:
    """Calls that came to their end leave as many free as they took."""

    async def body(service: Service) -> None:
        batcher = Batcher(service, max_items=1, concurrency=2)
        for _ in range(3):
            service.gate.clear()
            asked = [asyncio.create_task(batcher.many([n])) for n in range(6)]
            for _ in range(50):
                await asyncio.sleep(0)
            service.gate.set()
            await asyncio.gather(*asked)

    assert run(body).most_at_once == 2


def test_one_at_a_time_unless_told_otherwise() -> None:
    """Without a word about it there is one call at once."""

    async def body(service: Service) -> None:
        await ask(Batcher(service, max_items=1), [1], [2], [3])

    assert run(body).most_at_once == 1


def test_a_call_is_free_again_at_once() -> None:
    """Who asks in the very moment in which another is answered is answered too, time and again, also after trouble."""

    async def body(service: Service) -> None:
        batcher = Batcher(service, max_items=2)
        for number in range(5):
            assert await batcher.many([number]) == [2 * number]
        service.trouble = lambda _items: Transient("redis", "gone")
        for _ in range(3):
            with pytest.raises(Transient):
                await batcher.many([1])
        service.trouble = lambda _items: None
        assert await ask(batcher, [1], [2]) == [[2], [4]]

    run(body)


def test_an_outage_is_told_to_all() -> None:
    """A service that does not answer is asked once for a batch, and everyone in it hears of that."""

    async def body(service: Service) -> None:
        service.trouble = lambda _items: Transient("redis", "gone")
        told = await ask(Batcher(service, max_items=10), [1], [2, 3])
        assert [type(one) for one in told] == [Transient, Transient]
        assert service.calls == [[1, 2, 3]]

    run(body)


def test_one_bad_item_fails_its_own_caller_alone() -> None:
    """A call that fails for what is in it is made again for each caller; who is alone is not asked twice."""

    async def body(service: Service) -> None:
        service.trouble = lambda items: ValueError("bad") if 13 in items else None
        batcher = Batcher(service, max_items=10)
        first, bad, last = await ask(batcher, [1, 2], [13], [3])
        assert (first, last) == ([2, 4], [6])
        assert isinstance(bad, ValueError)
        assert service.calls == [[1, 2, 13, 3], [1, 2], [13], [3]]
        service.calls.clear()
        with pytest.raises(ValueError, match="bad"):
            await batcher.many([13])
        assert service.calls == [[13]]

    run(body)


def test_who_gives_up_takes_nothing_with_it() -> None:
    """A caller that is cancelled while it waits is not asked for; one that is cancelled meanwhile leaves the others their answers."""

    async def body(service: Service) -> None:
        batcher = Batcher(service, max_items=2)
        service.gate.clear()
        under_way = [asyncio.create_task(batcher.many([n])) for n in (1, 2)]
        await until(lambda: service.at_once == 1)
        waiting = [asyncio.create_task(batcher.many([n])) for n in (3, 4, 5)]
        for _ in range(3):
            await asyncio.sleep(0)
        under_way[0].cancel()
        waiting[0].cancel()
        service.gate.set()
        told = await asyncio.gather(*under_way, *waiting, return_exceptions=True)
        assert [type(one) if isinstance(one, BaseException) else one for one in told] == [
            asyncio.CancelledError, [4], asyncio.CancelledError, [8], [10],
        ]  # fmt: skip
        assert service.calls == [[1, 2], [4, 5]]

    run(body)


@pytest.mark.parametrize("error", [Transient("redis", "gone"), ValueError("bad")])
def test_who_gave_up_is_not_told_of_trouble(error: Exception) -> None:
    """Trouble reaches those that still wait, whoever left meanwhile."""

    async def body(service: Service) -> None:
        batcher = Batcher(service, max_items=2)
        service.gate.clear()
        service.trouble = lambda _items: error
        asked = [asyncio.create_task(batcher.many([n])) for n in (1, 2)]
        await until(lambda: service.at_once == 1)
        asked[0].cancel()
        service.gate.set()
        told = await asyncio.gather(*asked, return_exceptions=True)
        assert isinstance(told[0], asyncio.CancelledError)
        assert told[1] is error
        service.trouble = lambda _items: None
        assert await batcher.many([9]) == [18]

    run(body)


def test_who_is_ready_a_moment_later_joins_the_first_call() -> None:
    """What lanes ask when they wake together travels together, though one of them is the first to ask."""

    async def body(service: Service) -> None:
        batcher = Batcher(service, max_items=10)

        async def later() -> list[int]:
            await asyncio.sleep(0)
            return await batcher.many([2])

        assert await asyncio.gather(batcher.many([1]), later()) == [[2], [4]]

    assert run(body).calls == [[1, 2]]
