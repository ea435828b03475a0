"""Progress of long work: a bar on a terminal, a line now and then anywhere else."""

from types import TracebackType
from typing import Final, Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

_LINES: Final = 5
"""How many lines are written where there is no terminal."""


class Steps:
    """Counts towards a total. A context manager.

    Args:
        console: where to show it, usually standard error.
        label: what is counted.
        total: how many there will be.
        quiet: show nothing.
    """

    def __init__(self, console: Console, label: str, total: int, *, quiet: bool = False) -> None:
        self._console = console
        self._label = label
        self._total = total
        self._done = 0
        self._plain = not quiet and not console.is_terminal
        self._bar: Progress | None = None
        if not quiet and console.is_terminal:
            columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
            self._bar = Progress(*columns, console=console, transient=False)
            self._task = self._bar.add_task(label, total=total)

    def __enter__(self) -> Self:
        if self._bar is not None:
            self._bar.start()
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def advance(self, count: int = 1) -> None:
        """Count further steps."""
        before, self._done = self._done, self._done + count
        if self._bar is not None:
            self._bar.update(self._task, completed=self._done)
        elif self._plain and self._share(before) != self._share(self._done):
            self._console.print(f"{self._label}: {self._done} of {self._total}", markup=False)

    def _share(self, done: int) -> int:
        return done * _LINES // max(1, self._total)
