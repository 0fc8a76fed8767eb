"""How far a job is, how long it still takes, and how that is shown."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from .job import Job

#: About how long all stages of a kind take, in units of what all ``map`` stages take: for a forecast before the first of
#: the kind has ended. Measured on one sample; later a forecast goes by the stages that have ended.
_SHARES = {
    "map": 1.0,
    "cut": 0.02,
    "judge": 0.1,
    "compare": 0.6,
    "sites": 0.02,
    "count": 0.8,
    "table": 0.01,
    "write": 1.4,
    "join": 0.05,
}

#: What aligning the reads of a slice takes, in units of what sorting them takes.
_ALIGNING = 20.0

#: What all ``scan`` stages take, in units of what all ``map`` stages that align take. Only FASTQ is scanned.
_SCANNING = 0.05


@dataclass(frozen=True)
class Progress:
    """How far a job is."""

    #: Stages that have ended, and all.
    finished: int
    stages: int
    #: Stages that have been handed to the cluster and have not ended.
    under_way: int
    #: Bytes of the input, and of these about how many are read, sorted and, from FASTQ, aligned.
    input_bytes: int
    bytes_read: int
    #: Bytes in the files of finished stages, those of the output among them.
    bytes_written: int
    #: Seconds since the start.
    seconds: float
    #: About how many seconds are left; None before the first stage has ended.
    seconds_left: float | None

    def __str__(self) -> str:
        left = "" if self.seconds_left is None else f", about {_clock(self.seconds_left)} left"
        return (
            f"readmill: {self.finished} of {self.stages} stages finished, {self.bytes_read / 1e9:.2f} of "
            f"{self.input_bytes / 1e9:.2f} GB read, {self.bytes_written / 1e9:.2f} GB written, "
            f"{_clock(self.seconds)} so far{left}"
        )


def seconds_left(job: Job, seconds: dict[str, float], places: int) -> float | None:
    """Forecasts how long the rest takes on so many places; ``seconds`` are those of the stages that have ended."""
    ended: dict[str, list[float]] = {}
    for stage in job.stages:
        if stage.name in seconds:
            ended.setdefault(stage.kind, []).append(seconds[stage.name])
    known = {kind: sum(times) / len(times) for kind, times in ended.items()}
    if not known:
        return None
    count = _counts(stage.kind for stage in job.stages)
    shares = _shares(is_aligned="scan" in count)
    # What a share of 1 takes, by the longest of the kinds that are known: short stages tell little.
    longest = max(known, key=lambda kind: shares.get(kind, 1.0))
    unit = known[longest] * count[longest] / shares.get(longest, 1.0)
    left = 0.0
    for kind, number in _counts(stage.kind for stage in job.stages if stage.name not in seconds).items():
        each = known.get(kind, unit * shares.get(kind, 1.0) / count[kind])
        left += each * -(-number // min(max(places, 1), number))
    return left


def _shares(is_aligned: bool) -> dict[str, float]:
    """The shares of the stages of a job; ``map`` is 1."""
    if not is_aligned:
        return _SHARES
    return {kind: share / _ALIGNING for kind, share in _SHARES.items()} | {"map": 1.0, "scan": _SCANNING}


class Forecast:
    """How long a job still takes. It counts down between the ends of two stages."""

    def __init__(self, job: Job) -> None:
        self._job = job
        self._known: tuple[int, int] = (0, 0)
        self._end: float | None = None

    def seconds_left(self, seconds: dict[str, float], places: int, now: float) -> float | None:
        """Seconds from ``now``, in seconds since the start; None before the first stage has ended."""
        if (known := (len(seconds), places)) != self._known:
            left = seconds_left(self._job, seconds, places)
            self._known, self._end = known, None if left is None else now + left
        return None if self._end is None else max(0.0, self._end - now)


def _counts(kinds: Iterable[str]) -> dict[str, int]:
    count: dict[str, int] = {}
    for kind in kinds:
        count[kind] = count.get(kind, 0) + 1
    return count


def _clock(seconds: float) -> str:
    """A time as people write it: ``1:05:09`` or ``5:09``."""
    hours, rest = divmod(round(seconds), 3600)
    minutes, rest = divmod(rest, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


#: What gives a function that shows progress, until it is left.
Shown = Callable[[], contextlib.AbstractContextManager[Callable[[Progress], None]]]


def printer(progress: bool | Callable[[Progress], None] | None) -> Shown:
    """What shows progress: a line on a terminal unless something else is asked for."""

    @contextlib.contextmanager
    def shown() -> Iterator[Callable[[Progress], None]]:
        if callable(progress):
            yield progress
        elif progress is False or not (progress or sys.stderr.isatty()):
            yield lambda _: None
        elif sys.stderr.isatty():
            yield lambda progress: print(f"\r\033[K{progress}", end="", file=sys.stderr, flush=True)
            print(file=sys.stderr)
        else:
            yield _Log().show

    return shown


class _Log:
    """Lines in a log: one for each minute, and the last."""

    def __init__(self) -> None:
        self.last = -60.0

    def show(self, progress: Progress) -> None:
        if progress.seconds - self.last >= 60 or progress.finished == progress.stages:
            self.last = progress.seconds
            print(progress, file=sys.stderr, flush=True)
