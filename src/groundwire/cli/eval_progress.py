"""How far a run is: a line for each trial, and a bar that stays below them where somebody watches."""

import shutil
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TextIO

import msgspec

from groundwire.cli.output import clean, one_line

if TYPE_CHECKING:
    from groundwire.evals.records import CallTrace, TrialRecord
    from groundwire.evals.running import Progress

_BAR = 24
_MARKS = {"passed": "✓", "failed": "✗", "invalid": "?"}


class Meter:
    """`verbose` 0 tells of no trial, 1 of its calls and its end, 2 of sizes too. A terminal has the bar as well."""

    def __init__(
        self,
        *,
        verbose: int = 1,
        quiet: bool = False,
        stream: TextIO | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._stream = stream or sys.stderr
        self._verbose = 0 if quiet else verbose
        self._has_bar = not quiet and self._stream is not None and self._stream.isatty()
        self._clock = clock
        self._began = clock()
        self._fresh = 0
        self._ends: dict[str, list[bool]] = defaultdict(list)

    def __call__(self, progress: "Progress") -> None:
        self._fresh += 1
        if progress.record.is_scored:
            self._ends[progress.record.trial.model].append(progress.record.passed)
        if self._verbose:
            self._write(trial_line(progress.record, progress.done, progress.total, with_sizes=self._verbose > 1) + "\n")
        if self._has_bar:
            self._write(self._bar(progress))

    def close(self) -> None:
        if self._has_bar:
            self._write("")

    def _bar(self, progress: "Progress") -> str:
        model = progress.record.trial.model
        line = bar_line(progress, self._clock() - self._began, self._fresh, self._ends[model])
        return clean(line)[: max(shutil.get_terminal_size().columns - 1, 20)]

    def _write(self, text: str) -> None:
        start = "\r\x1b[K" if self._has_bar else ""
        try:
            self._stream.write(start + text)
        except UnicodeEncodeError:
            self._stream.write(start + text.encode("ascii", "backslashreplace").decode())
        self._stream.flush()


def bar_line(progress: "Progress", seconds: float, fresh: int, ends: Sequence[bool]) -> str:
    """`fresh` are the trials that these seconds were spent on, `ends` those of the model that was tried last."""
    filled = _BAR * progress.done // max(progress.total, 1)
    scored = progress.passed + progress.failed
    parts = [
        f"[{'#' * filled}{'-' * (_BAR - filled)}] {progress.done}/{progress.total}",
        f"{100 * progress.passed / scored:.0f} % pass" if scored else "nothing scored",
        f"{progress.record.trial.model} {100 * sum(ends) / len(ends):.0f} %" if ends else "",
        f"{progress.invalid} invalid" if progress.invalid else "",
        f"${progress.cost:.4f}" if progress.cost else "",
    ]
    if progress.done < progress.total and fresh:
        parts.append(f"{_duration(seconds / fresh * (progress.total - progress.done))} left")
    return "  ".join(part for part in parts if part)


def trial_line(record: "TrialRecord", done: int, total: int, *, with_sizes: bool) -> str:
    """What happened in one trial, turn by turn, on one line."""
    trial = record.trial
    turns = [_call(call, with_sizes=with_sizes) for call in record.calls]
    if record.text:
        turns.append(one_line(record.text)[:40])
    why = f"  {record.blame.value}: {record.code}" if record.blame is not None else ""
    sizes = f"  {record.tokens.input} tokens in, {record.tokens.output} out" if with_sizes else ""
    head = f"{_MARKS[record.status.value]} {done}/{total} {trial.model} {trial.profile} {trial.strategy} {trial.scenario} {trial.number}"
    return clean(f"{head}: {' → '.join(turns) or '-'}  {record.steps} steps {record.latency_ms:.0f} ms{sizes}{why}")


def _call(call: "CallTrace", *, with_sizes: bool) -> str:
    end = "ok" if call.ok else call.error or "failed"
    if not with_sizes:
        return f"{call.name} {end}"
    return f"{call.name} {end} ({_bytes(call.arguments)} B in, {_bytes(call.data)} B out)"


def _bytes(value: object) -> int:
    return len(value.encode()) if isinstance(value, str) else len(msgspec.json.encode(value))


def _duration(seconds: float) -> str:
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    return f"{whole // 60} min {whole % 60} s" if whole < 3600 else f"{whole // 3600} h {whole % 3600 // 60} min"
