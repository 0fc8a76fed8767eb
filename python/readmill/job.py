"""A job in stages, as ``readmill shard`` plans it: which stages there are, and which can run now."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Stage:
    """A stage of a job. It writes one file, and ends at once if that file is there."""

    #: A name that no other stage of the job has, such as ``write 2``.
    name: str
    #: The kind, such as ``write``.
    kind: str
    #: The names of the stages that must be finished before.
    needs: frozenset[str]
    #: The program and its arguments.
    command: tuple[str, ...]
    #: The absolute path of the file that it writes.
    file: str


@dataclass(frozen=True)
class Job:
    """All stages of a job."""

    #: Hash of everything that decides the output: the same command over the same input has the same hash.
    hash: str
    stages: tuple[Stage, ...]

    @classmethod
    def read(cls, plan: str, graph: str) -> Job:
        """Reads the plan (``job.json``) and the list of ``readmill shard graph --format json``."""
        stages = (
            Stage(row["name"], row["stage"], frozenset(row["needs"]), tuple(row["command"]), row["file"])
            for row in json.loads(graph)
        )
        return cls(json.loads(plan)["checksum"], tuple(stages))

    def ready(self, finished: Collection[str], started: Collection[str]) -> list[Stage]:
        """The stages that can start now, in the order of the job."""
        done = set(finished)
        return [stage for stage in self.stages if stage.name not in started and stage.needs <= done]


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


@dataclass(frozen=True)
class Progress:
    """How far a job is."""

    #: Stages that have ended, and all.
    finished: int
    stages: int
    #: Stages that have been handed to the cluster and have not ended.
    under_way: int
    #: Bytes in the files of finished stages.
    bytes: int
    #: Seconds since the start.
    seconds: float
    #: About how many seconds are left; None before the first stage has ended.
    seconds_left: float | None

    def __str__(self) -> str:
        left = "" if self.seconds_left is None else f", about {_clock(self.seconds_left)} left"
        return (
            f"readmill: {self.finished} of {self.stages} stages finished, {self.bytes / 1e9:.2f} GB written, "
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
    units = [known[kind] * count[kind] / _SHARES.get(kind, 1.0) for kind in known if kind in ("map", "write")]
    unit = sum(units) / len(units) if units else 0.0
    left = 0.0
    for kind, number in _counts(stage.kind for stage in job.stages if stage.name not in seconds).items():
        each = known.get(kind, unit * _SHARES.get(kind, 1.0) / count[kind])
        left += each * -(-number // min(max(places, 1), number))
    return left


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


def words(flags: dict[str, object]) -> list[str]:
    """Flags of the program as words of its command line.

    ``mark_duplicates=True`` becomes ``--mark-duplicates``, ``sort="coordinate"`` becomes ``--sort coordinate``, and a
    list gives a flag several times. ``None`` and ``False`` give none.
    """
    line: list[str] = []
    for name, value in flags.items():
        flag = "--" + name.replace("_", "-")
        for one in value if isinstance(value, list | tuple) else [value]:
            if one is True:
                line.append(flag)
            elif one is not None and one is not False:
                line.append(f"{flag}={one}")
    return line
