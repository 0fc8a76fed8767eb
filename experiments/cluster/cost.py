"""What one run costs, and what it costs to divide a sample over many nodes, by closed formulas.

    python experiments/cluster/cost.py                                 # prints the tables
    python experiments/cluster/cost.py --align-cpu 60 --price 0.8      # with other inputs
    python experiments/cluster/cost.py --page docs/cluster-cost.md     # puts them into the page
"""

from __future__ import annotations

import argparse
import math
from pathlib import Path

import inputs as given
import page
from inputs import Inputs
from model import SOURCES, Shape, divided, one_run, works

NODES = (4, 16, 64)

#: Of all storage, bytes a second.
STORAGES = (20e9, 5e9)

#: Preemptions an hour.
RATES = (0.1, 0.5)

NAMES = {"BAM": "BAM", "BGZF": "FASTQ, BGZF", "gzip": "FASTQ, gzip"}


def seconds(it: Inputs, source: str, nodes: int, storage: float) -> float:
    """Seconds for one sample; on one node it is one run without stages."""
    return one_run(it, source) if nodes == 1 else sum(divided(it, source, nodes, storage).values())


def expected(time: float, rate: float) -> float:
    """The expected time until work of so long ends that begins anew after each preemption; hours and 1/hours."""
    return time if rate == 0 else math.expm1(rate * time) / rate


def in_tasks(time: float, task: float, rate: float) -> float:
    """The same, where only the task that was running begins anew."""
    return time / task * expected(task, rate)


def wall(it: Inputs) -> str:
    """Minutes, dollars and efficiency for one sample."""
    lines = []
    for storage in STORAGES:
        for source in SOURCES:
            one = one_run(it, source)
            line = [f"{NAMES[source]}, {storage / 1e9:.0f} GB/s", f"{one / 60:.1f}", f"{one / 3600 * it.price:.2f}"]
            for nodes in NODES:
                time = seconds(it, source, nodes, storage)
                line += [f"{time / 60:.1f}", f"{time / 3600 * nodes * it.price:.2f}", f"{one / time / nodes:.2f}"]
            lines.append(line)
    head = ["one sample", "1 node: min", "$"]
    for nodes in NODES:
        head += [f"{nodes} nodes: min", "$", "efficiency"]
    return page.rows(head, lines)


def kinds(it: Inputs) -> str:
    """Seconds of each kind of stage on 64 nodes."""
    most = NODES[-1]
    parts = {(source, storage): divided(it, source, most, storage) for source in SOURCES for storage in STORAGES}
    head = [f"{most} nodes, s", *(f"{NAMES[source]}, {storage / 1e9:.0f} GB/s" for source, storage in parts)]
    names = list(max(parts.values(), key=len))
    return page.rows(head, [[f"`{name}`" if name != "engine" else "start of the engine"]
                            + [f"{part[name]:.1f}" if name in part else "–" for part in parts.values()] for name in names])


#: What would take less if the program did it in another way.
LEVERS = {
    "no change": {},
    "parts are written at their final offsets; `join` does not copy them": {"join_moved": 0, "join_cpu": 0},
    "known sites are read once instead of by each `count`": {"site_cpu": 0},
    "`judge` uses all cores of its node": {"judge_cores": 1e9},
}


def levers(it: Inputs) -> str:
    """Minutes on 64 nodes if the program did something in another way."""
    most, sources = NODES[-1], ("BAM", "BGZF")
    all = {name: value for values in LEVERS.values() for name, value in values.items()}
    lines = [
        [what, *(f"{seconds(it.but(**values), source, most, STORAGES[0]) / 60:.1f}" for source in sources)]
        for what, values in (LEVERS | {"all three changes": all}).items()
    ]
    return page.rows([f"{most} nodes, 20 GB/s, min", *(NAMES[source] for source in sources)], lines)


def cohort(it: Inputs) -> str:
    """Hours of a cohort: a sample on each node, or each sample over all nodes."""
    lines = []
    for source in SOURCES:
        one = one_run(it, source)
        apart = [f"{math.ceil(it.samples / nodes) * one / 3600:.1f}" for nodes in NODES]
        over = [f"{it.samples * seconds(it, source, nodes, STORAGES[0]) / 3600:.1f}" for nodes in NODES]
        lines.append([f"{NAMES[source]}: one sample on each node", *apart])
        lines.append([f"{NAMES[source]}: each sample divided over all nodes", *over])
        even = [f"{one / seconds(it, source, nodes, STORAGES[0]):.1f}" for nodes in NODES]
        lines.append([f"{NAMES[source]}: break-even, samples", *even])
    return page.rows([f"{it.samples:,.0f} samples, h", *(f"{nodes} nodes" for nodes in NODES)], lines)


def staged(it: Inputs, source: str) -> tuple[float, float]:
    """Seconds of all stages on one node, and of the longest one; without an engine."""
    shape, all = Shape.of(it, 1), divided(it.but(engine=0, task=0), source, 1, it.network)
    longest = max(work.start + max(work.compute, work.moved / it.network) for work in works(it, source, shape).values())
    return sum(all.values()), longest


def spot(it: Inputs) -> str:
    """Expected minutes on one node that may be taken away."""
    lines = []
    for source in SOURCES:
        one = one_run(it, source) / 3600
        all, task = (time / 3600 for time in staged(it, source))
        line = [NAMES[source], f"{one * 60:.1f}", f"{all * 60:.1f}", f"{task * 60:.1f}"]
        for rate in RATES:
            line += [f"{expected(one, rate) * 60:.1f}", f"{in_tasks(all, task, rate) * 60:.1f}"]
        low, high = 0.0, 20.0
        for _ in range(60):
            rate = (low + high) / 2
            low, high = (rate, high) if expected(one, rate) < in_tasks(all, task, rate) else (low, rate)
        lines.append([*line, f"{high:.2f}"])
    head = ["one node, expected min", "one run", "stages", "longest stage"]
    for rate in RATES:
        head += [f"one run, {rate}/h", f"stages, {rate}/h"]
    return page.rows([*head, "break-even, 1/h"], lines)


def tables(it: Inputs) -> dict[str, str]:
    """All tables, by the names that they have in the page."""
    return {"wall": wall(it), "kinds": kinds(it), "levers": levers(it), "cohort": cohort(it), "spot": spot(it), "inputs": given.table(it)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--page", type=Path, metavar="FILE", help="put the tables into this page")
    given.add_arguments(parser)
    arguments = parser.parse_args()
    page.show(tables(given.from_arguments(arguments)), arguments.page)


if __name__ == "__main__":
    main()
