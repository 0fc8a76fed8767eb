"""Simulates the stages of a job on many nodes, event by event: stragglers, lost nodes, shared storage, one scheduler.

    python experiments/cluster/simulate.py --readmill target/release/readmill
    python experiments/cluster/simulate.py --readmill … --page docs/cluster-cost.md     # puts the tables into the page
    python experiments/cluster/simulate.py --graph stages.json --source BAM --workers 1,16

The stages and their order are those that the program plans (`readmill shard graph --format json`); how long each takes
comes from the inputs of the cost model. The same inputs and the same seed give the same numbers.
"""

from __future__ import annotations

import argparse
import heapq
import math
import random
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import simpy

import inputs as given
import page
from graph import Graph, planned
from inputs import Inputs
from model import SOURCES, Shape, Work, divided, one_run, works

WORKERS = (1, 4, 16, 64, 256, 1024)


class Storage:
    """Storage whose bytes a second are shared equally; a transfer gets no more than the network card of its node."""

    def __init__(self, env: simpy.Environment, rate: float, each: float):
        self.env, self.rate, self.each = env, rate, each
        #: Bytes that a transfer would have got that has been here from the beginning, and when that was.
        self.served, self.at = 0.0, 0.0
        #: Transfers, by what is served when they end.
        self.ends: list[tuple[float, int, simpy.Event]] = []
        self.left: set[simpy.Event] = set()
        self.number = 0

    def speed(self) -> float:
        return min(self.each, self.rate / len(self.left)) if self.left else 0.0

    def advance(self) -> None:
        self.served += self.speed() * (self.env.now - self.at)
        self.at = self.env.now

    def transfer(self, size: float) -> simpy.Event:
        """An event that is there when so many bytes have been moved."""
        self.advance()
        self.number += 1
        done = self.env.event()
        heapq.heappush(self.ends, (self.served + size, self.number, done))
        self.left.add(done)
        self.wait()
        return done

    def cancel(self, done: simpy.Event) -> None:
        """Ends a transfer whose node is lost."""
        if done in self.left:
            self.advance()
            self.left.remove(done)
            self.wait()

    def wait(self) -> None:
        """Comes back when the next transfer ends, unless another begins or ends before."""
        while self.ends and self.ends[0][2] not in self.left:
            heapq.heappop(self.ends)
        if self.ends:
            self.number += 1
            self.next = self.number
            self.env.process(self.finish(self.number, max(0.0, (self.ends[0][0] - self.served) / self.speed())))

    def finish(self, number: int, delay: float):
        yield self.env.timeout(delay)
        if number != self.next:
            return
        self.advance()
        self.served = max(self.served, self.ends[0][0])
        # Transfers of the same size that began together end together, though sums of floats differ in the last digits.
        while self.ends and (self.ends[0][0] <= self.served * (1 + 1e-12) or self.ends[0][2] not in self.left):
            done = heapq.heappop(self.ends)[2]
            if done in self.left:
                self.left.remove(done)
                done.succeed()
        self.wait()


@dataclass
class Record:
    """When a stage was ready, began and ended, and what it waited for."""

    kind: str
    ready: float = 0.0
    #: When a node first took it, and when the one did that finished it.
    taken: float = 0.0
    began: float = 0.0
    end: float = 0.0
    #: The stage that ended last of those that it needs, and the one that its node ran before; none is -1.
    needed: int = -1
    before: int = -1
    #: Seconds until it worked, and what ended last in it then: computing or moving bytes.
    start: float = 0.0
    limit: str = "CPU"


@dataclass
class Result:
    """What came out."""

    wall: float
    busy: float
    workers: int
    lost: int
    records: list[Record] = field(repr=False)

    def path(self) -> Counter:
        """Seconds of the wall time by what the job waited for: a kind of stage and its limit, attempts that were lost with
        their nodes, or the scheduler."""
        seconds: Counter = Counter()
        stage = max(range(len(self.records)), key=lambda index: self.records[index].end)
        while stage >= 0:
            record = self.records[stage]
            seconds[f"`{record.kind}` start"] += record.start
            seconds[f"`{record.kind}` {record.limit}"] += record.end - record.began - record.start
            before = [index for index in (record.needed, record.before) if index >= 0]
            stage = max(before, key=lambda index: self.records[index].end, default=-1)
            now = self.records[stage].end if stage >= 0 else 0.0
            taken = min(max(record.taken, now), record.began)
            seconds[f"`{record.kind}` lost"] += record.began - taken
            seconds["scheduler"] += taken - now
        return seconds


class Cluster:
    """Nodes that take stages in the order of the job, each one at a time."""

    def __init__(self, graph: Graph, work: dict[str, Work], it: Inputs, workers: int, storage: float, seed: int):
        unknown = {stage.kind for stage in graph.stages} - set(work)
        if unknown:
            raise ValueError(f"the model does not know how long these stages take: {', '.join(sorted(unknown))}")
        self.env = simpy.Environment()
        self.graph, self.work, self.it, self.workers, self.seed = graph, work, it, workers, seed
        self.storage = Storage(self.env, storage, it.network)
        self.scheduler = simpy.Resource(self.env)
        self.queue = simpy.PriorityStore(self.env)
        self.records = [Record(stage.kind) for stage in graph.stages]
        #: Stages of each group that have not ended, the stages that wait for it, and groups that a stage waits for.
        self.open = [len(group) for group in graph.groups]
        self.waiting: list[list[int]] = [[] for _ in graph.groups]
        self.closed_by: list[list[int]] = [[] for _ in graph.stages]
        self.missing = [len(stage.needs) for stage in graph.stages]
        self.left, self.lost, self.busy = len(graph.stages), 0, 0.0
        self.attempts: Counter = Counter()
        self.done = self.env.event()
        for number, group in enumerate(graph.groups):
            for stage in group:
                self.closed_by[stage].append(number)
        for index, stage in enumerate(graph.stages):
            for group in stage.needs:
                self.waiting[group].append(index)
            if not stage.needs:
                self.queue.put(index)

    def run(self) -> Result:
        for _ in range(self.workers):
            self.env.process(self.worker())
        self.env.run(self.done)
        return Result(self.env.now, self.busy / self.env.now / self.workers, self.workers, self.lost, self.records)

    def worker(self):
        """One node: it may be lost, and is replaced."""
        it, env = self.it, self.env
        before, seen = -1, set()
        while True:
            index = yield self.queue.get()
            record = self.records[index]
            with self.scheduler.request() as turn:
                yield turn
                yield env.timeout(it.task)
            began = env.now
            if not self.attempts[index]:
                record.taken = began
            # What happens to a stage does not depend on the number of workers.
            chance = random.Random(f"{self.seed} {index} {self.attempts[index]}")
            self.attempts[index] += 1
            slower = chance.lognormvariate(-it.spread**2 / 2, it.spread) if it.spread else 1.0
            end = chance.expovariate(it.preemption / 3600) if it.preemption else math.inf
            work = self.work[record.kind]
            moved = work.moved + (0 if record.kind in seen else work.first)
            running = env.process(self.stage(record, work, moved, slower))
            yield running | (env.timeout(end) if end < math.inf else env.event())
            self.busy += env.now - began
            if running.is_alive:
                running.interrupt()
                self.lost += 1
                self.queue.put(index)
                before, seen = -1, set()
                yield env.timeout(it.replacement)
                continue
            seen.add(record.kind)
            record.began, record.end, record.before, before = began, env.now, before, index
            self.ended(index)

    def stage(self, record: Record, work: Work, size: float, slower: float):
        """Computes and moves bytes at the same time."""
        moved = None
        try:
            record.start = work.start * slower
            yield self.env.timeout(record.start)
            moved = self.storage.transfer(size)
            computed = self.env.timeout(work.compute * slower)
            yield moved | computed
            record.limit = "CPU" if moved.processed else "storage"
            yield moved & computed
        except simpy.Interrupt:
            if moved is not None:
                self.storage.cancel(moved)

    def ended(self, index: int) -> None:
        self.left -= 1
        if not self.left:
            self.done.succeed()
        for group in self.closed_by[index]:
            self.open[group] -= 1
            if self.open[group]:
                continue
            for stage in self.waiting[group]:
                self.missing[stage] -= 1
                if not self.missing[stage]:
                    self.records[stage].ready, self.records[stage].needed = self.env.now, index
                    self.queue.put(stage)


def row(graph: Graph, it: Inputs, source: str, workers: int, storage: float, seed: int) -> list[str]:
    """A line of the table."""
    number = graph.counts()
    shape = Shape(number["map"], number["write"])
    result = Cluster(graph, works(it, source, shape), it, workers, storage, seed).run()
    wall = it.engine + it.plan * shape.slices + result.wall
    speedup = one_run(it, source) / wall
    formula = sum(divided(it, source, workers, storage, shape).values())
    path = result.path() + Counter({"engine, `plan`": wall - result.wall})
    shares = [f"{name} {seconds / wall:.0%}" for name, seconds in path.most_common(4)]
    return [
        f"{workers:,}", f"{len(graph.stages):,}", f"{wall / 60:.1f}", f"{formula / 60:.1f}", f"{speedup:.2f}",
        f"{speedup / workers:.3f}", f"{result.busy:.0%}", f"{result.lost}", ", ".join(shares),
    ]


HEAD = ["workers", "stages", "min", "by the formulas, min", "speedup", "efficiency", "busy", "lost stages", "critical path"]


def table(graphs: dict[int, Graph], it: Inputs, source: str, storage: float, seed: int) -> str:
    """A line for each number of workers, with the graph for it."""
    lines = [row(graph, it, source, workers, storage, seed) for workers, graph in graphs.items()]
    return page.rows(HEAD, lines).replace(" --: |\n", " --- |\n", 1)


def plans(program: Path | None, it: Inputs, source: str, workers: list[int]) -> dict[int, Graph]:
    """The stages of a job for each number of workers, as the program plans them."""
    graphs: dict[Shape, Graph] = {}
    for nodes in workers:
        shape = Shape.of(it, nodes)
        if shape in graphs:
            continue
        graphs[shape] = Graph.like(it, source, shape)
        if program is None:
            continue
        try:
            graph = planned(program, it, source, shape)
        except subprocess.CalledProcessError as error:
            if source == "BAM":
                sys.exit(f"{error}\n{error.stderr}")
            print(f"{program} does not plan FASTQ, so these stages are a model:\n{error.stderr}", file=sys.stderr)
            program = None
            continue
        if graph.counts() != graphs[shape].counts():
            print(f"planned {graph.counts()}, not {graphs[shape].counts()}", file=sys.stderr)
        graphs[shape] = graph
    return {nodes: graphs[Shape.of(it, nodes)] for nodes in workers}


def numbers(text: str) -> list[int]:
    return [int(word) for word in text.split(",")]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    where = parser.add_mutually_exclusive_group(required=True)
    where.add_argument("--readmill", type=Path, metavar="PROGRAM", help="plan a job for each number of workers")
    where.add_argument("--graph", type=Path, metavar="FILE", help="the stages of a job, of readmill shard graph --format json")
    where.add_argument("--like", action="store_true", help="the stages that the program would plan; needs no program")
    parser.add_argument("--source", choices=SOURCES, action="append", help="[default: BAM and BGZF]")
    parser.add_argument("--workers", type=numbers, default=list(WORKERS), metavar="N,…", help="[default: 1,4,16,64,256,1024]")
    parser.add_argument("--storage", type=float, default=20e9, metavar="X", help="bytes/s of all storage [default: 20e9]")
    parser.add_argument("--seed", type=int, default=1, help="[default: 1]")
    parser.add_argument("--page", type=Path, metavar="FILE", help="put the tables into this page")
    given.add_arguments(parser)
    arguments = parser.parse_args()
    it = given.from_arguments(arguments)
    program = arguments.readmill.resolve() if arguments.readmill else None
    tables = {}
    for source in arguments.source or ["BAM", "BGZF"]:
        if arguments.graph:
            graphs = dict.fromkeys(arguments.workers, Graph.read(arguments.graph.read_text()))
        else:
            graphs = plans(program, it, source, arguments.workers)
        tables[f"simulated {source}"] = table(graphs, it, source, arguments.storage, arguments.seed)
    page.show(tables, arguments.page)


if __name__ == "__main__":
    main()
