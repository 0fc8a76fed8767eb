"""The inputs of the cost model: their values, their units, and whether they were measured or assumed."""

from __future__ import annotations

import argparse
import json
from dataclasses import dataclass
from pathlib import Path

#: What measure.py wrote.
MEASURED = Path(__file__).with_name("measured.json")

#: Every input: its name, the value that is assumed where none was measured, its unit, and what it is.
KNOWN = {
    # The sample.
    "reads": (900e6, "reads", "number of reads: a human genome at 30×, 150 bases each"),
    "lanes": (1, "lanes", "number of FASTQ lanes; one `scan` reads each lane"),
    "bqsr": (1, "0 or 1", "1 if base qualities are recalibrated"),
    "bases": (3.1e9, "bases", "size of the reference genome"),
    "sites": (60e6, "sites", "number of known sites: dbSNP 138 from GATK's bundle"),
    "samples": (1000, "samples", "number of samples in the cohort"),
    # The nodes, what connects them, and their price.
    "cores": (16, "cores", "cores of a node"),
    "core_use": (0.9, "share", "share of its cores that a stage with many threads keeps busy"),
    "slice_memory": (32e9, "bytes", "maximum size of the reads of a slice, so that `map` does not spill"),
    "network": (1.1e9, "bytes/s", "network of a node, reading and writing together (10 Gb/s)"),
    "disk": (2e9, "bytes/s", "local disk to which a run without stages spills"),
    "price": (1.0, "$/h", "price of a node; with 1, costs are node hours"),
    "preemption": (0.1, "1/h", "how often a spot node is taken away"),
    "replacement": (120.0, "s", "time until a lost node is replaced"),
    # CPU time in microseconds for each read.
    "one_cpu": (4.6, "µs/read", "one run without stages: sort and duplicates"),
    "one_bqsr_cpu": (7.0, "µs/read", "recalibration in this run, in addition"),
    "map_cpu": (1.8, "µs/read", "`map` from BAM"),
    "align_cpu": (100.0, "µs/read", "alignment to a human genome, in addition to `map`"),
    "align_small_cpu": (35.0, "µs/read", "the same for the simulated genome of 20 Mb; not used in the model"),
    "scan_bgzf_cpu": (0.6, "µs/read", "`scan` of FASTQ in BGZF"),
    "scan_gzip_cpu": (0.6, "µs/read", "`scan` of FASTQ in plain gzip"),
    "cut_cpu": (0.01, "µs/read", "`cut`"),
    "judge_cpu": (0.1, "µs/read", "`judge`"),
    "count_cpu": (3.0, "µs/read", "`count`"),
    "site_cpu": (0.5, "µs/site", "reading the known sites, which each `count` does"),
    "table_cpu": (0.05, "s", "`table`, for each file of `count`"),
    "write_cpu": (2.7, "µs/read", "`write`"),
    "write_bqsr_cpu": (3.0, "µs/read", "recalibration, in addition to `write`"),
    "join_cpu": (0.1, "µs/read", "`join`"),
    # How many cores a stage uses, however many there are.
    "scan_bgzf_cores": (16, "cores", "maximum number of cores that `scan` of BGZF keeps busy"),
    "scan_gzip_cores": (2, "cores", "cores that `scan` of plain gzip keeps busy: one for each file"),
    "judge_cores": (1, "cores", "cores that `judge` keeps busy"),
    "join_cores": (1, "cores", "cores that `join` keeps busy"),
    # Bytes of files for each read.
    "bam_bytes": (105, "bytes/read", "size of the input as BAM"),
    "fastq_bytes": (83, "bytes/read", "size of the input as compressed FASTQ"),
    "raw_bytes": (358, "bytes/read", "size of a read in memory"),
    "run_bytes": (137, "bytes/read", "size of the files of `map`"),
    "ends_bytes": (15, "bytes/read", "the part of these files that `judge` reads"),
    "judge_bytes": (0.25, "bytes/read", "size of the file of `judge`, which each `count` and `write` reads"),
    "count_bytes": (2e6, "bytes", "size of a file of `count`"),
    "out_bytes": (78, "bytes/read", "size of the files of `write`, and of the output"),
    "index_bytes": (3.5, "bytes/base", "size of the aligner's index, which each node reads once"),
    "join_moved": (2, "outputs", "bytes that `join` reads and writes, in sizes of the output: it copies all parts"),
    "frame_entry": (32, "bytes", "index entry of each frame in a file of `map`, which each later stage reads"),
    # What a stage costs beside its work.
    "start": (0.03, "s", "start of a stage"),
    "open": (0.002, "s", "opening a slice over a network, in a stage that reads all slices"),
    "open_local": (0.0001, "s", "the same on a local disk; not used in the model"),
    "plan": (0.008, "s", "`shard plan`, for each slice"),
    "task": (0.0065, "s", "Dask's scheduler, for each task, one after another"),
    "engine": (20.0, "s", "time until the engine and its workers run"),
    # How unequal stages are.
    "skew": (1.15, "ratio", "time of the slowest worker divided by the mean, in the formulas"),
    "spread": (0.2, "ln", "standard deviation of the logarithm of a stage's time, in the simulation"),
    "spread_measured": (0.02, "ln", "the same for the CPU time of equal slices on one machine; not used in the model"),
    "tasks": (4, "stages", "number of stages of one kind for each node"),
    "slices_most": (1024, "slices", "maximum number of slices, and of ranges"),
}


@dataclass(frozen=True)
class Input:
    """The value of an input, and where it comes from: ``measured``, ``model``, or ``given``."""

    value: float
    source: str
    #: How it was measured.
    how: str = ""


class Inputs:
    """All inputs; ``inputs.reads`` is the value of ``reads``."""

    def __init__(self, all: dict[str, Input]):
        self.all = all

    def __getattr__(self, name: str) -> float:
        try:
            return self.all[name].value
        except KeyError:
            raise AttributeError(name) from None

    def but(self, **values: float) -> Inputs:
        """The same with other values."""
        unknown = set(values) - set(KNOWN)
        if unknown:
            raise ValueError(f"no input is called {', '.join(sorted(unknown))}")
        return Inputs(self.all | {name: Input(value, "given") for name, value in values.items()})

    @classmethod
    def model(cls) -> Inputs:
        """What is assumed."""
        return cls({name: Input(value, "model") for name, (value, _, _) in KNOWN.items()})

    @classmethod
    def read(cls, measured: Path | None = MEASURED) -> Inputs:
        """What was measured, and what is assumed of the rest."""
        all = dict(cls.model().all)
        if measured and measured.exists():
            for name, row in json.loads(measured.read_text())["values"].items():
                if name not in KNOWN:
                    raise ValueError(f"{measured}: no input is called {name}")
                all[name] = Input(row["value"], "measured", row["from"])
        return cls(all)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds a flag for each input, and one for a file of them."""
    parser.add_argument("--measured", type=Path, default=MEASURED, metavar="FILE", help="what measure.py wrote")
    parser.add_argument("--inputs", type=Path, metavar="FILE", help="a JSON object of inputs and their values")
    group = parser.add_argument_group("inputs")
    for name, (value, unit, what) in KNOWN.items():
        flag = "--" + name.replace("_", "-")
        group.add_argument(flag, dest=f"input_{name}", type=float, metavar="X", help=f"{what}, {unit} [model: {value:g}]")


def from_arguments(arguments: argparse.Namespace) -> Inputs:
    """The inputs of a command line."""
    given = json.loads(arguments.inputs.read_text()) if arguments.inputs else {}
    flags = {name: getattr(arguments, f"input_{name}") for name in KNOWN}
    return Inputs.read(arguments.measured).but(**given, **{name: value for name, value in flags.items() if value is not None})


def table(inputs: Inputs) -> str:
    """All inputs, as a table in Markdown."""
    rows = ["| input | value | unit | what it is | source |", "|---|--:|---|---|---|"]
    for name, (_, unit, what) in KNOWN.items():
        it = inputs.all[name]
        rows.append(f"| `{name}` | {number(it.value)} | {unit} | {what} | {it.source}{': ' + it.how if it.how else ''} |")
    return "\n".join(rows)


def number(value: float) -> str:
    """A number as people write it: three digits, or all of a whole number below a million."""
    if abs(value) >= 1e6:
        return f"{value:.3g}".replace("e+0", "e").replace("e+", "e")
    return f"{value:,.0f}" if value == int(value) else f"{float(f'{value:.3g}'):,.10g}"
