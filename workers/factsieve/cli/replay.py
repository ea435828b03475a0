"""`factsieve replay`: past candidates again."""

import asyncio
import re
import shlex
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

import msgspec
import typer

from factsieve.cli.connect import ConfigFile, StateDir, connect
from factsieve.cli.progress import Steps
from factsieve.cli.render import err, out
from factsieve.cli.times import instant
from factsieve.core.errors import BadSettings, Transient
from factsieve.operations.connected import Connected

if TYPE_CHECKING:
    from factsieve.operations.replay import Reported, Sent

_RANGE: Final = re.compile(r"([0-9]+):([0-9]*)-([0-9]*)")
EXIT_STOPPED: Final = 130
MAX_NAMESPACES: Final = 10
Range = tuple[int | None, int | None]


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """One run of the command; `offsets` are filled in when the topic is known."""

    namespaces: tuple[str, ...]
    since: str | None
    until: str | None
    by: Literal["event", "record"]
    offsets: dict[int, Range]
    emit: bool
    replay_id: str
    resume: bool
    wait: bool
    timeout_s: float

    def how_to_go_on(self, state_dir: StateDir, config: ConfigFile) -> str:
        """Return the command that goes on where this one stopped, over the same records."""
        words = ["factsieve", "replay", "--resume", self.replay_id]
        for name, value in (("--since", self.since), ("--until", self.until)):
            words += [name, value] if value is not None else []
        words += ["--by", self.by] if self.by != "event" else []
        for namespace in self.namespaces:
            words += ["--namespace", namespace]
        for number, (start, end) in sorted(self.offsets.items()):
            words += ["--offsets", f"{number}:{'' if start is None else start}-{'' if end is None else end}"]
        words += ["--emit"] * self.emit + ["--no-wait"] * (not self.wait)
        words += ["--state-dir", str(state_dir)] if state_dir is not None else []
        words += ["--config", str(config)] if config is not None else []
        return shlex.join(words)


def replay(
    *,
    since: Annotated[
        str | None, typer.Option(help="From this time on: 2026-03-04 or 2026-03-04T09:30:00Z.", show_default=False)
    ] = None,
    until: Annotated[str | None, typer.Option(help="To before this time.", show_default=False)] = None,
    by: Annotated[
        str, typer.Option(help="Which time: event (when it was stated), or record (the record's own).")
    ] = "event",
    offsets: Annotated[
        list[str] | None,
        typer.Option(
            help="Offsets of one partition, PARTITION:FROM-TO without TO itself; may be repeated.", show_default=False
        ),
    ] = None,
    namespace: Annotated[
        list[str] | None,
        typer.Option("--namespace", "-n", help="Of this namespace alone; may be repeated.", show_default=False),
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="Everything that the topic still holds.")] = False,
    emit: Annotated[
        bool, typer.Option("--emit", help="Tell new-facts all changes again, not only what had not taken effect.")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Count what would be sent, and send nothing.")] = False,
    resume: Annotated[
        str | None,
        typer.Option(help="Go on with the replay of this id; give the other options as before.", show_default=False),
    ] = None,
    wait: Annotated[bool, typer.Option(help="Wait for the outcomes.")] = True,
    timeout: Annotated[
        float, typer.Option("--timeout", min=0.1, help="Give up waiting when no outcome has come for so many seconds.")
    ] = 60.0,
    as_json: Annotated[bool, typer.Option("--json", help="What was done, as JSON.")] = False,
    state_dir: StateDir = None,
    config: ConfigFile = None,
) -> None:
    """Send past candidates in again. What was decided stays decided and is told again on `fact-decisions`; what was not is decided now.

    Consumers of `new-facts` hear only of what had not taken effect, unless --emit. Commands, and records that a replay sent, are passed
    over. A replay that is stopped says how to go on. Exit code 3 if outcomes did not come in time.

    Example: factsieve replay --since 2026-03-04 --namespace team --dry-run
    """
    from factsieve.operations.replay import new_id

    ranges = dict(_range(text) for text in offsets or ())
    if not (everything or since or until or ranges or namespace):
        raise BadSettings("say what to replay: --since, --until, --offsets, --namespace, or --all")
    if by not in ("event", "record"):
        raise BadSettings(f"--by {by!r} is neither event nor record")
    plan = Plan(
        namespaces=tuple(namespace or ()),
        since=since,
        until=until,
        by="record" if by == "record" else "event",
        offsets=ranges,
        emit=emit,
        replay_id=resume or new_id(datetime.now(UTC)),
        resume=resume is not None,
        wait=wait,
        timeout_s=timeout,
    )
    _selection(plan)  # complains of a time that is none, before anything is opened
    connected = connect(state_dir, config)
    if dry_run:
        _show_preview(asyncio.run(_preview(connected, plan)), as_json=as_json)
        return
    running = _Running(plan)
    try:
        sent, reported, missing = asyncio.run(running.replay(connected))
    except KeyboardInterrupt:
        err().print(
            f"Stopped. Go on with: {running.plan.how_to_go_on(state_dir, config)}", markup=False, soft_wrap=True
        )
        raise typer.Exit(EXIT_STOPPED) from None
    except Transient:
        if running.begun:
            go_on = running.plan.how_to_go_on(state_dir, config)
            err().print(f"Not done. Go on with: {go_on}", markup=False, soft_wrap=True)
        raise
    _show(plan, sent, reported, as_json=as_json)
    if missing:
        raise Transient(
            "worker",
            f"no outcome within {timeout:g} s for {missing} of the events: they are on the topic; does a worker run?",
        )


class _Running:
    """A replay under way; `plan` has its offsets, `begun` is true once it can be taken up again."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.begun = False

    async def replay(self, connected: Connected) -> "tuple[Sent, Reported | None, int]":
        """Return what was sent, what became of it, and how many outcomes are missing."""
        from contextlib import AsyncExitStack

        from factsieve.operations import replay as replaying
        from factsieve.operations.scan import Scan, read_length

        plan = self.plan
        group = replaying.group_of(connected, plan.replay_id)
        async with AsyncExitStack() as opened:
            scan = await opened.enter_async_context(Scan(connected.kafka, connected.topics.candidates, group=group))
            starts, ends = replaying.ranges(scan, plan.offsets)
            self.plan = msgspec.structs.replace(plan, offsets={n: (starts[n], ends[n]) for n in starts})
            if plan.resume:
                starts = await replaying.resumed(scan, starts, plan.replay_id)
            outcomes = None
            if plan.wait:
                outcomes = replaying.Outcomes(connected, plan.replay_id, idle_timeout_s=plan.timeout_s)
                await opened.enter_async_context(outcomes)
            self.begun = True
            with Steps(err(), "Replaying", read_length(starts, ends)) as steps:
                sent = await replaying.replay(
                    connected,
                    scan,
                    starts,
                    ends,
                    _selection(plan),
                    connected.settings.input_limits(None, None),
                    replay_id=plan.replay_id,
                    emit=plan.emit,
                    outcomes=outcomes,
                    on_steps=steps.advance,
                )
            if outcomes is None:
                return sent, None, 0
            with Steps(err(), "Outcomes", sent.chosen) as steps:
                missing = await outcomes.rest(steps.advance)
            return sent, outcomes.reported, missing


async def _preview(connected: Connected, plan: Plan) -> "Sent":
    from factsieve.operations import replay as replaying
    from factsieve.operations.scan import Scan, read_length
    from factsieve.operations.stores import reading

    async with Scan(connected.kafka, connected.topics.candidates) as scan, reading(connected.settings) as stores:
        starts, ends = replaying.ranges(scan, plan.offsets)
        with Steps(err(), "Counting", read_length(starts, ends)) as steps:
            limits = connected.settings.input_limits(None, None)
            return await replaying.preview(scan, starts, ends, _selection(plan), limits, stores.ledger, steps.advance)


def _selection(plan: Plan) -> Any:  # noqa: ANN401 - imported late, so that --help is quick
    from factsieve.wire.replaying import Selection

    return Selection(
        namespaces=frozenset(plan.namespaces) or None,
        since=instant(plan.since, "--since"),
        until=instant(plan.until, "--until"),
        by_record=plan.by == "record",
    )


def _range(text: str) -> tuple[int, Range]:
    found = _RANGE.fullmatch(text)
    if found is None:
        raise BadSettings(
            f"--offsets {text!r} is no range: write PARTITION:FROM-TO, for example 0:100-200, 0:100- or 0:-200"
        )
    return int(found[1]), (int(found[2]) if found[2] else None, int(found[3]) if found[3] else None)


def _show_preview(would: "Sent", *, as_json: bool) -> None:
    if as_json:
        typer.echo(msgspec.json.encode({**msgspec.to_builtins(would), "chosen": would.chosen}).decode())
        return
    console = out()
    known = would.known or 0
    console.print(
        f"{would.chosen} events would be sent again: {known} are in the ledger and would be told again, "
        f"{would.chosen - known} are not and would be decided.",
        markup=False,
        soft_wrap=True,
    )
    for name, count in would.namespaces.most_common(MAX_NAMESPACES):
        console.print(f"  {count:8} {name}", markup=False, soft_wrap=True)
    if len(would.namespaces) > MAX_NAMESPACES:
        console.print(f"  ... and {len(would.namespaces) - MAX_NAMESPACES} namespaces more")
    console.print(_passed_over(would), markup=False, soft_wrap=True)


def _show(plan: Plan, sent: "Sent", reported: "Reported | None", *, as_json: bool) -> None:
    if as_json:
        whole = {"replay_id": plan.replay_id, "sent": sent.chosen, "fates": sent.fates, "namespaces": sent.namespaces}
        if reported is not None:
            whole |= msgspec.to_builtins(reported)
        typer.echo(msgspec.json.encode(whole).decode())
        return
    console = out()
    said = f"Replay {plan.replay_id}: {sent.chosen} events sent"
    if reported is not None:
        decided = ", ".join(f"{count} {kind}" for kind, count in sorted(reported.decided.items()))
        refused = ", ".join(f"{count} {code}" for code, count in sorted(reported.refused.items()))
        said += f"; {reported.told_again} told again, {reported.decided.total()} decided now"
        said += f" ({decided})" if decided else ""
        said += f", {reported.refused.total()} refused" + (f" ({refused})" if refused else "")
    console.print(f"{said}.", markup=False, soft_wrap=True)
    console.print(_passed_over(sent), markup=False, soft_wrap=True)


def _passed_over(sent: "Sent") -> str:
    from factsieve.wire.replaying import Fate

    names = {
        Fate.OTHER_TIME: "of other times",
        Fate.OTHER_NAMESPACE: "of other namespaces",
        Fate.COMMAND: "commands",
        Fate.REPLAYED: "sent by replays",
        Fate.UNUSABLE: "without key or value",
    }
    parts = [f"{sent.fates[fate]} {name}" for fate, name in names.items() if sent.fates[fate]]
    return f"Passed over: {', '.join(parts) or 'none'}."
