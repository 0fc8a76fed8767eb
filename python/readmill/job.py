"""A job in stages, as ``readmill shard`` plans it: which stages there are, and which can run now."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
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
    #: Bytes of all inputs.
    input_bytes: int = 0

    @classmethod
    def read(cls, plan: str, graph: str) -> Job:
        """Reads the plan (``job.json``) and the list of ``readmill shard graph --format json``."""
        stages = (
            Stage(row["name"], row["stage"], frozenset(row["needs"]), tuple(row["command"]), row["file"])
            for row in json.loads(graph)
        )
        job = json.loads(plan)
        return cls(job["checksum"], tuple(stages), sum(file["size"] for file in job["inputs"]))

    def ready(self, finished: Collection[str], started: Collection[str]) -> list[Stage]:
        """The stages that can start now, in the order of the job."""
        done = set(finished)
        return [stage for stage in self.stages if stage.name not in started and stage.needs <= done]

    def bytes_read(self, finished: Collection[str]) -> int:
        """Bytes of the input that the finished ``map`` stages have sorted, or aligned, about: slices are of about one size."""
        slices = [stage.name for stage in self.stages if stage.kind == "map"]
        return self.input_bytes * sum(name in finished for name in slices) // max(len(slices), 1)


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


def output_of(line: Sequence[str]) -> str:
    """The output that a command line names by ``-o``."""
    for word, after in zip(line, [*line[1:], ""], strict=True):
        if word in ("-o", "--output") and after:
            return after
        for start in ("--output=", "-o=", "-o"):
            if word.startswith(start) and len(word) > len(start):
                return word[len(start) :]
    raise ValueError(f"name the output by -o FILE: {' '.join(line)}")
