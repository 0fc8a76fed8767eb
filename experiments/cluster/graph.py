"""The stages of a job: what each waits for, as `readmill shard graph` says."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from inputs import Inputs
from model import Shape, counts


@dataclass(frozen=True)
class Stage:
    """A stage, and which groups of stages it waits for."""

    kind: str
    #: Numbers of groups of `Graph.groups`.
    needs: tuple[int, ...]


@dataclass(frozen=True)
class Graph:
    """All stages in the order of the job. Stages that others wait for together are a group, so that thousands which wait
    for thousands take little memory."""

    stages: list[Stage]
    groups: list[list[int]]

    def counts(self) -> dict[str, int]:
        """How many stages of each kind there are."""
        return dict(Counter(stage.kind for stage in self.stages))

    @classmethod
    def read(cls, text: str) -> Graph:
        """Reads the list of `readmill shard graph --format json`."""
        rows = json.loads(text)
        number = {row["name"]: index for index, row in enumerate(rows)}
        groups: dict[tuple[int, ...], int] = {}
        stages = []
        for row in rows:
            needs = tuple(number[name] for name in row["needs"])
            stages.append(Stage(row["stage"], (groups.setdefault(needs, len(groups)),) if needs else ()))
        return cls(stages, [list(group) for group in groups])

    @classmethod
    def like(cls, inputs: Inputs, source: str, shape: Shape) -> Graph:
        """The stages that the program would plan. A test compares them with those that it plans."""
        number = counts(inputs, source, shape)
        waits = {
            "map": ["scan"],
            "cut": ["map"],
            "judge": ["map", "cut"],
            "count": ["map", "cut", "judge"],
            "table": ["count"],
            "write": ["map", "cut", "judge", "table"],
            "join": ["cut", "judge", "table", "write"],
        }
        kinds = list(number)
        stages, groups = [], []
        for kind, many in number.items():
            groups.append(list(range(len(stages), len(stages) + many)))
            needs = tuple(kinds.index(before) for before in waits.get(kind, []) if before in number)
            stages += [Stage(kind, needs)] * many
        return cls(stages, groups)


def planned(program: Path, inputs: Inputs, source: str, shape: Shape) -> Graph:
    """Has the program plan a job with so many slices and ranges over a small file, and reads its stages.

    Raises `subprocess.CalledProcessError` if the program cannot plan it: FASTQ in older versions.
    """

    def run(*words: object) -> str:
        done = subprocess.run([program, *map(str, words)], cwd=home, check=True, capture_output=True, text=True)
        return done.stdout

    with tempfile.TemporaryDirectory() as directory:
        home = Path(directory)
        flags = ["--sort", "coordinate", "--mark-duplicates", "-o", "out.bam"]
        reads = max(2 * shape.slices, 20) * 60
        if source == "BAM":
            # Slices are whole blocks of BGZF, so that a file of many slices must not be too small.
            run("demo", "--pairs", reads, "-o", ".")
            command = ["prep", "reads.bam", *flags]
            if inputs.bqsr:
                contigs = dictionary(run("view", "-H", "reads.bam"))
                reference(home / "ref.fa", contigs)
                run("faidx", "ref.fa")
                run("dict", "ref.fa", "-o", "ref.dict")
                first = next(iter(contigs))
                (home / "known.bed").write_text(f"{first}\t10\t11\n")
                command += ["--reference", "ref.fa", "--bqsr", "--known-sites", "known.bed"]
        else:
            run("demo", "--fastq", "--pairs", min(reads, 20000), "-o", ".")
            os.unlink(home / "prepared.bam")
            # Slices are whole batches (-K), here of ten pairs.
            command = ["align", "ref.fa", "reads_1.fq", "reads_2.fq", "-K", 3000, "-R", r"@RG\tID:a\tSM:b", *flags]
            if inputs.bqsr:
                (home / "known.bed").write_text("chr1\t10\t11\n")
                command += ["--bqsr", "--known-sites", "known.bed"]
        work = home / "work"
        run("shard", "plan", "--work", work, "--shards", shape.slices, "--ranges", shape.ranges, *command)
        return Graph.read(run("shard", "graph", "--work", work, "--format", "json"))


def dictionary(header: str) -> dict[str, int]:
    """Names and lengths of the sequences of a SAM header."""
    lines = [dict(field.split(":", 1) for field in line.split("\t")[1:]) for line in header.splitlines() if line.startswith("@SQ")]
    return {line["SN"]: int(line["LN"]) for line in lines}


def reference(path: Path, contigs: dict[str, int]) -> None:
    """Writes a FASTA of these sequences; nobody reads its bases."""
    with path.open("w") as fasta:
        for name, length in contigs.items():
            print(f">{name}", file=fasta)
            for start in range(0, length, 100_000):
                print("A" * min(100_000, length - start), file=fasta)
