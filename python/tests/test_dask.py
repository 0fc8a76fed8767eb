"""Jobs on a Dask cluster: the bytes are those of one run, whatever is killed."""

import json
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from conftest import DRIVER, FLAGS, HAS_HOSTS, SLOW, Cluster, processes_of, same, wait_until
from distributed import Client, LocalCluster

from readmill.dask import Lost, StageFailed, prep, run, sort

@pytest.fixture
def local(readmill, monkeypatch):
    """A client of two workers of this process."""
    monkeypatch.setenv("READMILL", readmill)
    with LocalCluster(n_workers=2, threads_per_worker=1, resources={"readmill": 1}, dashboard_address=None) as cluster:
        with Client(cluster) as client:
            yield client


@pytest.fixture
def cluster(slow, tmp_path, readmill):
    """A scheduler and three workers, for slow stages."""
    cluster = Cluster(tmp_path, readmill, 3)
    yield cluster
    cluster.close()


def test_the_output_is_that_of_one_run(local, sample, tmp_path):
    shown = []
    work = tmp_path / "work"
    result = prep(
        local, sample / "in.bam", output=tmp_path / "out.bam", work=str(work), shards=3, ranges=4, progress=shown.append, **FLAGS
    )
    assert same(sample, tmp_path / "out.bam")
    assert not work.exists() or not any(work.iterdir()), "the files of the stages are still there"
    assert [stage.attempts for stage in result.stages] == [1] * len(result.stages)
    assert shown[0].finished == 0 and shown[-1].finished == shown[-1].stages == len(result.stages)
    stages = {"map": 3, "cut": 1, "judge": 1, "write": 4, "join": 1} | ({"count": 4, "table": 1} if "bqsr" in FLAGS else {})
    assert len(result.stages) == sum(stages.values())
    assert shown[-1].bytes > (tmp_path / "out.bam").stat().st_size
    assert 0 < result.peak_memory_bytes < 2 << 30 and result.cpu_seconds > 0
    assert "records read" in result.messages


def test_a_second_call_finds_all_stages_finished(local, sample, tmp_path):
    options = {"output": tmp_path / "out.bam", "work": str(tmp_path / "work"), "shards": 2, "keep": True, **FLAGS}
    first = prep(local, [sample / "in.bam"], **options)
    made = os.stat(tmp_path / "out.bam").st_mtime_ns
    second = prep(local, [sample / "in.bam"], **options)
    assert os.stat(tmp_path / "out.bam").st_mtime_ns == made
    assert second.cpu_seconds < first.cpu_seconds
    assert same(sample, tmp_path / "out.bam")


def test_a_damaged_file_is_made_again(local, sample, tmp_path):
    options = {"output": tmp_path / "out.bam", "work": str(tmp_path / "work"), "shards": 2, "keep": True, **FLAGS}
    prep(local, sample / "in.bam", **options)
    (tmp_path / "out.bam").unlink()
    piece = tmp_path / "work" / "write-0001"
    data = bytearray(piece.read_bytes())
    data[len(data) // 3] ^= 0x41
    piece.write_bytes(data)
    result = prep(local, sample / "in.bam", **options)
    assert same(sample, tmp_path / "out.bam")
    assert [stage.attempts for stage in result.stages if stage.name == "write 1"] == [2]


def test_what_cannot_be_done_is_said(local, sample, tmp_path):
    work = str(tmp_path / "work")
    with pytest.raises(StageFailed, match="no/such.bam"):
        sort(local, "no/such.bam", output=tmp_path / "out.bam", work=work)
    with pytest.raises(StageFailed, match="has no program .*nowhere"):
        sort(local, sample / "in.bam", output=tmp_path / "out.bam", work=work, program="/nowhere/readmill")
    with pytest.raises(StageFailed, match="--no-such-flag"):
        run(local, "sort", sample / "in.bam", output=tmp_path / "out.bam", work=work, no_such_flag=True)
    with pytest.raises(StageFailed, match="this plan needs at least -m"):
        sort(local, sample / "in.bam", output=tmp_path / "out.bam", work=work, memory="2M")
    assert not (tmp_path / "out.bam").exists()


def test_a_stage_that_always_fails_ends_the_job(local, sample, tmp_path, readmill):
    program = tmp_path / "program"
    program.write_text(f'#!/bin/sh\n[ "$2" != write ] || {{ echo "the disk is full" >&2; exit 75; }}\nexec {readmill} "$@"\n')
    program.chmod(0o755)
    with pytest.raises(StageFailed, match=r"write \d failed 3 times.*\n.*the disk is full"):
        prep(
            local, sample / "in.bam", output=tmp_path / "out.bam", work=str(tmp_path / "work"), shards=2, retries=2,
            program=str(program), **FLAGS,
        )
    assert not (tmp_path / "out.bam").exists()


def test_workers_need_the_resource(sample, tmp_path):
    with LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=None) as cluster, Client(cluster) as client:
        with pytest.raises(ValueError, match="--resources readmill=1"):
            sort(client, sample / "in.bam", output=tmp_path / "out.bam", work=str(tmp_path / "work"))


def is_running(pid: int) -> bool:
    try:
        return "Z" not in Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False


def in_background(function):
    """Runs a function in a thread; returns the thread and where its result or error goes."""
    ended = {}

    def body():
        try:
            ended["result"] = function()
        except BaseException as error:
            ended["error"] = error

    thread = threading.Thread(target=body, daemon=True)
    thread.start()
    return thread, ended


@pytest.mark.parametrize("stage", ["map", "judge", *(["count"] if "bqsr" in FLAGS else []), "write"])
def test_when_a_worker_is_killed_others_go_on(cluster, sample, tmp_path, slow, stage):
    client = cluster.client(3)
    options = {"output": tmp_path / "out.bam", "work": str(tmp_path / "work"), "shards": 4, "program": SLOW, **FLAGS}
    thread, ended = in_background(lambda: prep(client, sample / "in.bam", **options))
    pid = wait_until(lambda: processes_of(slow, stage))[0]
    parents = {number: process.pid for number, process in cluster.workers.items()}
    cluster.kill(cluster.workers[next(number for number, parent in parents.items() if is_descendant(pid, parent))])
    thread.join(120)
    assert "result" in ended, ended
    if HAS_HOSTS:
        assert {"host0", "host1", "host2"} >= {stage.host for stage in ended["result"].stages}
    assert same(sample, tmp_path / "out.bam")


def is_descendant(pid: int, ancestor: int) -> bool:
    while pid > 1 and pid != ancestor:
        try:
            pid = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
        except FileNotFoundError:
            return False
    return pid == ancestor


def test_cancelling_ends_the_programs(slow, local, sample, tmp_path):
    (tmp_path / "begun.seconds").write_text("600")
    options = {"output": tmp_path / "out.bam", "work": str(tmp_path / "work"), "shards": 2, "program": SLOW, **FLAGS}

    def interrupt(progress):
        if processes_of(slow, "map"):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        prep(local, sample / "in.bam", progress=interrupt, **options)
    pids = processes_of(slow, "map")
    wait_until(lambda: not any(is_running(pid) for pid in pids), 30)


def test_a_driver_that_is_killed_goes_on_when_it_is_started_again(cluster, sample, tmp_path, slow):
    cluster.client(3).close()
    files = [str(sample / "in.bam"), str(tmp_path / "out.bam"), str(tmp_path / "work"), SLOW, json.dumps(FLAGS)]
    command = [sys.executable, "-c", DRIVER, cluster.address, *files]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    driver = subprocess.Popen(command, env=environment)
    pids = wait_until(lambda: processes_of(slow, "judge"))
    driver.kill()
    driver.wait()
    wait_until(lambda: not any(is_running(pid) for pid in pids), 60)
    subprocess.run(command, env=environment, check=True, timeout=120)
    assert same(sample, tmp_path / "out.bam")


def test_a_scheduler_that_is_killed_goes_on_when_it_is_started_again(cluster, sample, tmp_path, slow, monkeypatch):
    monkeypatch.setattr("readmill.dask._PATIENCE", 3.0)
    options = {"output": tmp_path / "out.bam", "work": str(tmp_path / "work"), "shards": 4, "program": SLOW, **FLAGS}
    client = cluster.client(3)
    thread, ended = in_background(lambda: prep(client, sample / "in.bam", **options))
    wait_until(lambda: processes_of(slow, "map"))
    cluster.kill(cluster.scheduler)
    thread.join(120)
    assert isinstance(ended.get("error"), Lost), ended
    # Workers of Dask end without a scheduler.
    wait_until(lambda: all(worker.poll() is not None for worker in cluster.workers.values()))
    cluster.start_scheduler()
    for number in range(3):
        cluster.start_worker(number)
    with cluster.client(3) as client:
        prep(client, sample / "in.bam", **options)
    assert same(sample, tmp_path / "out.bam")


def test_the_example_of_the_documentation_runs(sample, tmp_path, readmill):
    """The Python example of docs/cluster.md, word for word, on the sample of these tests."""
    page = Path(__file__).parents[2] / "docs" / "cluster.md"
    example = page.read_text().partition("```python\n")[2].partition("```")[0]
    (tmp_path / "readmill-demo").mkdir()
    (tmp_path / "readmill-demo" / "reads.bam").symlink_to(sample / "in.bam")
    (tmp_path / "example.py").write_text(example)
    environment = {**os.environ, "READMILL": readmill, "PYTHONPATH": os.pathsep.join(sys.path)}
    subprocess.run([sys.executable, "example.py"], cwd=tmp_path, env=environment, check=True, timeout=120)
    plain = [readmill, "prep", "readmill-demo/reads.bam", "-o", "prepared.bam", "--sort", "coordinate", "--mark-duplicates"]
    (tmp_path / "plain").mkdir()
    (tmp_path / "plain" / "readmill-demo").symlink_to(tmp_path / "readmill-demo")
    subprocess.run([*plain, "--metrics", "metrics.txt", "-q"], cwd=tmp_path / "plain", check=True)
    assert (tmp_path / "prepared.bam").read_bytes() == (tmp_path / "plain" / "prepared.bam").read_bytes()
    assert (tmp_path / "metrics.txt").exists()
