"""Tests of the cost model and of the simulation. READMILL is the program, for those that plan jobs."""

import gzip
import json
import os
import shutil
from pathlib import Path

import pytest
import simpy

import cost
import measure
import page
import simulate
from graph import Graph, planned
from inputs import KNOWN, Inputs, number
from model import SOURCES, Shape, Work, counts, divided, frame_bytes, works
from simulate import Cluster, Storage

PAGE = Path(__file__).resolve().parents[2] / "docs/cluster-cost.md"

#: Nothing but the work: no stragglers, no lost nodes, nothing beside the stages.
BARE = Inputs.model().but(spread=0, preemption=0, skew=1, engine=0, plan=0, task=0)


def small(maps: int, writes: int) -> Graph:
    """maps, then cut, then writes, then join."""
    kinds = ["map"] * maps + ["cut"] + ["write"] * writes + ["join"]
    numbers = {kind: [index for index, one in enumerate(kinds) if one == kind] for kind in kinds}
    needs = {"cut": ["map"], "write": ["map", "cut"], "join": ["write"]}
    names = {number: f"{kinds[number]} {number}" for number in range(len(kinds))}
    rows = [
        {"name": names[index], "stage": kind, "needs": [names[n] for before in needs.get(kind, []) for n in numbers[before]]}
        for index, kind in enumerate(kinds)
    ]
    return Graph.read(json.dumps(rows))


#: Seconds: map 10, cut 1, write 20, join 4.
SMALL = {"map": Work(1, 9, 0), "cut": Work(0, 1, 0), "write": Work(0, 20, 0), "join": Work(1, 3, 0)}


def simulated(graph, work, workers, it=BARE, storage=1e12, seed=1):
    return Cluster(graph, work, it, workers, storage, seed).run()


def test_one_worker_takes_the_sum_of_all_stages():
    result = simulated(small(3, 5), SMALL, 1)
    assert result.wall == pytest.approx(3 * 10 + 1 + 5 * 20 + 4)
    assert result.busy == pytest.approx(1)


def test_workers_without_end_take_the_critical_path():
    result = simulated(small(3, 5), SMALL, 1000)
    assert result.wall == pytest.approx(10 + 1 + 20 + 4)
    assert result.busy == pytest.approx(135 / 35 / 1000)
    path = {"`map` start": 1, "`map` CPU": 9, "`cut` CPU": 1, "`write` CPU": 20, "`join` start": 1, "`join` CPU": 3}
    assert +result.path() == pytest.approx(path)


def test_two_workers_take_rounds():
    # 3 maps: 2 rounds; 5 writes: 3 rounds.
    assert simulated(small(3, 5), SMALL, 2).wall == pytest.approx(2 * 10 + 1 + 3 * 20 + 4)


def test_a_stage_takes_what_is_longer_of_computing_and_moving():
    it = BARE.but(network=10)
    work = {"map": Work(1, 9, 200), "cut": Work(0, 1, 0), "write": Work(0, 20, 100), "join": Work(0, 4, 0)}
    result = simulated(small(1, 1), work, 1, it)
    assert result.wall == pytest.approx(1 + 20 + 1 + 20 + 4)
    assert result.path()["`map` storage"] == pytest.approx(20)


def test_a_node_reads_the_index_once():
    it = BARE.but(network=10)
    work = SMALL | {"map": Work(0, 0, 0, first=100)}
    # Four maps on two nodes: each reads it before its first one.
    assert simulated(small(4, 1), work, 2, it).wall == pytest.approx(10 + 1 + 20 + 4)


def test_transfers_share_storage_equally():
    env = simpy.Environment()
    storage = Storage(env, rate=10, each=8)
    ends = {}

    def transfer(name, begins, size):
        yield env.timeout(begins)
        yield storage.transfer(size)
        ends[name] = env.now

    env.process(transfer("first", 0, 10))
    env.process(transfer("second", 1, 10))
    env.run()
    # The first alone gets 8 a second, by its card: 2 are left after a second. Then each gets 5. Then the second gets 8.
    assert ends == pytest.approx({"first": 1.4, "second": 1 + 0.4 + 8 / 8})


def test_a_cancelled_transfer_leaves_its_share_to_others():
    env = simpy.Environment()
    storage = Storage(env, rate=10, each=100)
    ended = []

    def cancelled():
        done = storage.transfer(100)
        yield env.timeout(1)
        storage.cancel(done)

    def other():
        yield storage.transfer(15)
        ended.append(env.now)

    env.process(cancelled())
    env.process(other())
    env.run()
    assert ended == pytest.approx([1 + 1])


def test_the_scheduler_takes_one_task_after_another():
    nothing = dict.fromkeys(SMALL, Work(0, 0, 0))
    result = simulated(small(10, 10), nothing, 100, BARE.but(task=0.1))
    assert result.wall == pytest.approx(22 * 0.1)


def test_lost_nodes_cost_what_the_formula_expects():
    # 4000 stages of an hour on one node that is lost once an hour: e - 1 hours each.
    work = SMALL | {"map": Work(0, 3600, 0), "write": Work(0, 0, 0)}
    it = BARE.but(preemption=1, replacement=0)
    hours = simulated(small(4000, 1), work, 1, it).wall / 3600
    assert hours / 4000 == pytest.approx(cost.expected(1, 1), rel=0.03)
    assert cost.expected(1, 1) == pytest.approx(1.718281828)


def test_a_lost_node_is_replaced_and_its_stage_is_done():
    it = BARE.but(preemption=60, replacement=10)
    result = simulated(small(20, 20), SMALL, 3, it)
    assert result.lost > 0
    assert all(record.end > 0 for record in result.records)
    assert sum(result.path().values()) == pytest.approx(result.wall)


def test_the_seed_decides_and_nothing_else():
    it = BARE.but(spread=0.3, preemption=5)
    walls = [simulated(small(20, 20), SMALL, 4, it, seed=seed).wall for seed in (1, 1, 2)]
    assert walls[0] == walls[1] != walls[2]


def test_stragglers_keep_the_mean():
    work = SMALL | {"map": Work(0, 10, 0)}
    wall = simulated(small(4000, 1), work, 1, BARE.but(spread=0.2)).wall
    assert wall / 4000 == pytest.approx(10, rel=0.01)


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("nodes", [1, 4, 16, 64, 256])
@pytest.mark.parametrize("storage", [5e9, 20e9])
def test_the_simulation_is_the_formula_without_stragglers(source, nodes, storage):
    it = Inputs.read().but(spread=0, preemption=0, skew=1, engine=0, plan=0, task=0)
    shape = Shape.of(it, nodes)
    result = simulated(Graph.like(it, source, shape), works(it, source, shape), nodes, it, storage)
    assert result.wall == pytest.approx(sum(divided(it, source, nodes, storage).values()), rel=1e-9)


def test_expected_time_on_nodes_that_are_taken_away():
    # 107 minutes in one run: 9 and 61 % more; in tasks of 5 minutes 0.4 and 2 % more.
    hours = 107 / 60
    assert cost.expected(hours, 0.1) / hours == pytest.approx(1.09, abs=0.005)
    assert cost.expected(hours, 0.5) / hours == pytest.approx(1.61, abs=0.005)
    assert cost.in_tasks(hours, 5 / 60, 0.1) / hours == pytest.approx(1.004, abs=0.0005)
    assert cost.in_tasks(hours, 5 / 60, 0.5) / hours == pytest.approx(1.021, abs=0.0005)
    assert cost.expected(hours, 0) == hours


def test_work_by_hand():
    it = BARE.but(
        reads=1e6, bqsr=0, cores=10, core_use=0.5, map_cpu=2, bam_bytes=100, run_bytes=100, start=1, align_cpu=50,
        write_cpu=3, raw_bytes=256, frame_entry=0, judge_bytes=0, out_bytes=50, open=0.1, fastq_bytes=80,
        index_bytes=2, bases=1000,
    )
    shape = Shape(10, 5)
    bam, fastq = works(it, "BAM", shape), works(it, "BGZF", shape)
    # 2 s of CPU on 5 cores that are busy, a tenth of it; 100 + 100 MB, a tenth of it.
    assert bam["map"] == Work(1, pytest.approx(0.04), pytest.approx(20e6))
    assert fastq["map"] == Work(1, pytest.approx(1.04), pytest.approx(18e6), pytest.approx(2000))
    # A fifth of all runs and of the output, and a frame of each slice: 2^18 bytes in memory, 100/256 of that in files.
    assert bam["write"] == Work(2, pytest.approx(0.12), pytest.approx(20e6 + 10e6 + 10 * 2**18 * 100 / 256))
    assert counts(it, "BAM", shape) == {"map": 10, "cut": 1, "judge": 1, "write": 5, "join": 1}


def test_frames_are_those_of_the_program():
    assert [frame_bytes(slices) for slices in (1, 64, 102, 103, 1024, 4096)] == [1 << 18, 1 << 18, 1 << 18, 1 << 17, 1 << 14, 1 << 14]


def test_slices_are_whole_rounds_that_fit_into_memory():
    it = BARE.but(reads=900e6, raw_bytes=358, slice_memory=32e9, tasks=4, slices_most=1024)
    assert [Shape.of(it, nodes).slices for nodes in (1, 4, 16, 256, 1024)] == [11, 16, 64, 1024, 1024]


def test_inputs_that_nobody_knows_are_refused():
    with pytest.raises(ValueError, match="no input is called reeds"):
        BARE.but(reeds=1)
    assert Inputs.model().all["reads"].source == "model"
    assert BARE.all["spread"].source == "given"
    assert Inputs.read().all["map_cpu"].source == "measured"
    assert set(Inputs.read().all) == set(KNOWN)


def test_stages_that_the_model_does_not_know_are_refused():
    with pytest.raises(ValueError, match="does not know how long these stages take: cut"):
        simulated(small(1, 1), {kind: work for kind, work in SMALL.items() if kind != "cut"}, 1)


def test_numbers_have_three_digits_unless_they_count():
    assert [number(it) for it in (9e8, 1024, 0.0065, 35.44, 2)] == ["9e8", "1,024", "0.0065", "35.4", "2"]


def test_bgzf_is_gzip_in_blocks(tmp_path):
    text = os.urandom(200_000)
    (tmp_path / "plain").write_bytes(text)
    measure.bgzf(tmp_path / "plain", tmp_path / "packed.gz")
    assert gzip.decompress((tmp_path / "packed.gz").read_bytes()) == text
    # The empty block at the end, as the SAM specification has it.
    end = bytes.fromhex("1f8b08040000000000ff0600424302001b0003000000000000000000")
    assert (tmp_path / "packed.gz").read_bytes().endswith(end)


def in_page(name: str) -> str:
    text = PAGE.read_text()
    first, last = page.between(text, name)
    return text[first:last].rstrip("\n")


@pytest.mark.parametrize("name", ["wall", "kinds", "levers", "cohort", "spot", "inputs"])
def test_the_page_has_the_tables_of_the_formulas(name):
    assert in_page(name) == cost.tables(Inputs.read())[name]


@pytest.mark.parametrize("source", ["BAM", "BGZF"])
def test_the_page_has_the_tables_of_the_simulation(source):
    it = Inputs.read()
    graphs = simulate.plans(None, it, source, list(simulate.WORKERS))
    assert in_page(f"simulated {source}") == simulate.table(graphs, it, source, 20e9, 1)


@pytest.mark.parametrize("bqsr", [0, 1])
@pytest.mark.parametrize("source", ["BAM", "BGZF"])
def test_the_program_plans_these_stages(source, bqsr):
    program = os.environ.get("READMILL") or shutil.which("readmill")
    assert program, "build readmill and set READMILL to its path"
    it, shape = BARE.but(bqsr=bqsr), Shape(7, 5)
    graph, like = planned(Path(program).resolve(), it, source, shape), Graph.like(it, source, shape)
    assert [stage.kind for stage in graph.stages] == [stage.kind for stage in like.stages]

    def needs(graph):
        return [sorted(index for group in stage.needs for index in graph.groups[group]) for stage in graph.stages]

    assert needs(graph) == needs(like)
