"""What each stage of a job has to do: seconds of its cores, and bytes that it moves."""

from __future__ import annotations

import math
from dataclasses import dataclass

from inputs import Inputs

#: What the reads are read from.
SOURCES = ("BAM", "BGZF", "gzip")

#: The kinds of stages of which there are many, and that read all slices.
RANGES = ("count", "write")


@dataclass(frozen=True)
class Work:
    """What one stage does. It starts, and then computes and moves bytes at the same time."""

    #: Seconds before it works.
    start: float
    #: Seconds that it computes, with the cores of one node.
    compute: float
    #: Bytes that it reads and writes, which other nodes share the storage for.
    moved: float
    #: Further bytes, if it is the first of its kind on its node.
    first: float = 0.0


@dataclass(frozen=True)
class Shape:
    """How many stages a job has."""

    slices: int
    ranges: int

    @classmethod
    def of(cls, inputs: Inputs, nodes: int) -> Shape:
        """So many for each node; no slice is larger than the memory, and nobody waits while the last ones run."""
        least = inputs.reads * inputs.raw_bytes / inputs.slice_memory
        each = max(1, min(inputs.tasks, inputs.slices_most // nodes))
        count = nodes * math.ceil(max(each * nodes, least) / nodes)
        return cls(count, count)


def frame_bytes(slices: int) -> int:
    """Bytes of records in a frame of a file of `map`, as src/run/stages/mod.rs chooses them."""
    each = min(max((2 * (64 << 20) // 5) // max(slices, 1), 1 << 14), 1 << 18)
    return 1 << (each.bit_length() - 1)


def works(inputs: Inputs, source: str, shape: Shape) -> dict[str, Work]:
    """Returns the kinds of stages of a job in their order, and what one stage of each does."""
    it, reads = inputs, inputs.reads
    many = it.cores * it.core_use

    def seconds(cpu: float, cores: float = many) -> float:
        return reads * cpu * 1e-6 / min(cores, many)

    slices, ranges = shape.slices, shape.ranges
    footers = reads * it.raw_bytes / frame_bytes(slices) * it.frame_entry
    opened = it.start + slices * it.open
    run, out = reads * it.run_bytes, reads * it.out_bytes
    # A range begins and ends within a frame of each slice, on the average.
    borders = slices * frame_bytes(slices) * it.run_bytes / it.raw_bytes
    merged = run / ranges + borders + footers + reads * it.judge_bytes
    fastq = source != "BAM"
    kinds: dict[str, Work] = {}
    if fastq:
        cpu, cores = (it.scan_bgzf_cpu, it.scan_bgzf_cores) if source == "BGZF" else (it.scan_gzip_cpu, it.scan_gzip_cores)
        kinds["scan"] = Work(it.start, seconds(cpu, cores) / it.lanes, reads * it.fastq_bytes / it.lanes)
    read = it.fastq_bytes if fastq else it.bam_bytes
    kinds["map"] = Work(
        it.start,
        seconds(it.map_cpu + (it.align_cpu if fastq else 0)) / slices,
        (reads * read + run) / slices,
        it.index_bytes * it.bases if fastq else 0.0,
    )
    kinds["cut"] = Work(opened, seconds(it.cut_cpu, 1), footers)
    kinds["judge"] = Work(opened, seconds(it.judge_cpu, it.judge_cores), reads * (it.ends_bytes + it.judge_bytes))
    if it.bqsr:
        kinds["count"] = Work(opened + it.sites * it.site_cpu * 1e-6, seconds(it.count_cpu) / ranges, merged + it.count_bytes)
        kinds["table"] = Work(it.start + ranges * it.open, ranges * it.table_cpu, ranges * it.count_bytes)
    write = it.write_cpu + (it.write_bqsr_cpu if it.bqsr else 0)
    kinds["write"] = Work(opened, seconds(write) / ranges, merged + out / ranges)
    kinds["join"] = Work(it.start + ranges * it.open, seconds(it.join_cpu, it.join_cores), it.join_moved * out)
    return kinds


def counts(inputs: Inputs, source: str, shape: Shape) -> dict[str, int]:
    """How many stages of each kind there are."""
    number = {"scan": int(inputs.lanes), "map": shape.slices} | dict.fromkeys(RANGES, shape.ranges)
    return {kind: number.get(kind, 1) for kind in works(inputs, source, shape)}


def one_run(inputs: Inputs, source: str) -> float:
    """Seconds of a run without stages on one node. Each pass over the reads takes as long as what limits it."""
    it, reads = inputs, inputs.reads
    many = it.cores * it.core_use
    # The passes of a run are stages without files: they share its CPU time as those do.
    shares = {"map": it.map_cpu, "judge": it.judge_cpu, "write": it.write_cpu}
    scale = it.one_cpu / sum(shares.values())
    cpu = {kind: share * scale for kind, share in shares.items()}
    if it.bqsr:
        added = {"count": it.count_cpu, "write": it.write_bqsr_cpu}
        scale = it.one_bqsr_cpu / sum(added.values())
        for kind, share in added.items():
            cpu[kind] = cpu.get(kind, 0) + share * scale
    fastq = source != "BAM"
    index, parsed = 0.0, 0.0
    if fastq:
        cpu["map"] += it.align_cpu
        index = it.index_bytes * it.bases / it.network
        if source == "gzip":
            parsed = reads * it.scan_gzip_cpu * 1e-6 / it.scan_gzip_cores
    spilled = reads * it.run_bytes / it.disk
    read = reads * (it.fastq_bytes if fastq else it.bam_bytes) / it.network
    total = index + max(reads * cpu["map"] * 1e-6 / many, read, spilled, parsed)
    total += reads * cpu["judge"] * 1e-6 / it.judge_cores
    if it.bqsr:
        total += it.sites * it.site_cpu * 1e-6
        total += max(reads * cpu["count"] * 1e-6 / many, spilled)
    return total + max(reads * cpu["write"] * 1e-6 / many, spilled, reads * it.out_bytes / it.network)


def divided(inputs: Inputs, source: str, nodes: int, storage: float, shape: Shape | None = None) -> dict[str, float]:
    """Seconds of each kind of stage, of planning and of the engine, where one sample is divided over so many nodes.

    The nodes go from one kind to the next together: all kinds but the first wait for all stages before.
    """
    shape = shape or Shape.of(inputs, nodes)
    number = counts(inputs, source, shape)
    seconds = {"engine": inputs.engine, "plan": inputs.plan * shape.slices}
    for kind, work in works(inputs, source, shape).items():
        busy = min(number[kind], nodes)
        rate = min(inputs.network, storage / busy)
        rounds = math.ceil(number[kind] / nodes)
        once = work.start + max(work.compute, work.moved / rate)
        later = (rounds - 1) * once
        once = max(once, work.start + max(work.compute, (work.moved + work.first) / rate))
        skew = inputs.skew if busy > 1 else 1.0
        seconds[kind] = max(skew * (once + later), number[kind] * inputs.task)
    return seconds
