"""Jobs on a Dask cluster: the bytes are those of one run, whatever is killed."""

import os
import subprocess
import threading
from collections import Counter
from pathlib import Path

import pytest
from conftest import FLAGS, HAS_HOSTS, SLOW, Cluster, driver, environment, is_running, processes_of, wait_until
from distributed import Client, LocalCluster

from readmill.dask import Lost, StageFailed, align, run, sort


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


def test_the_output_is_that_of_one_run(sample, local, tmp_path):
    shown = []
    work = tmp_path / "work"
    result = sample.job(local, output=tmp_path / "out.bam", work=str(work), shards=3, ranges=4, progress=shown.append)
    assert sample.is_that_of(tmp_path / "out.bam")
    assert not work.exists() or not any(work.iterdir()), "the files of the stages are still there"
    assert [stage.attempts for stage in result.stages] == [1] * len(result.stages)
    assert shown[0].finished == 0 and shown[-1].finished == shown[-1].stages == len(result.stages)
    kinds = Counter(stage.name.split()[0] for stage in result.stages)
    expected = {"cut": 1, "judge": 1, "write": 4, "join": 1} | ({"count": 4, "table": 1} if "bqsr" in sample.flags else {})
    if sample.command == "align":
        assert kinds.pop("scan") == (len(sample.inputs) - 1) // 2
        assert kinds.pop("map") >= 3
    else:
        expected["map"] = 3
    assert kinds == expected
    reads = [progress.bytes_read for progress in shown]
    assert reads == sorted(reads) and reads[0] == 0 and reads[-1] == shown[-1].input_bytes
    assert shown[-1].input_bytes >= sum(os.stat(file).st_size for file in sample.inputs if not file.endswith(".fa"))
    assert shown[-1].bytes_written > (tmp_path / "out.bam").stat().st_size
    assert shown[0].seconds_left is None and shown[-1].seconds_left == 0.0
    assert 0 < result.peak_memory_bytes < 2 << 30 and result.cpu_seconds > 0
    assert "records read" in result.messages


def test_a_second_call_finds_all_stages_finished(local, bam, tmp_path):
    options = {"output": tmp_path / "out.bam", "work": str(tmp_path / "work"), "shards": 2, "keep": True}
    first = bam.job(local, **options)
    made = os.stat(tmp_path / "out.bam").st_mtime_ns
    second = bam.job(local, **options)
    assert os.stat(tmp_path / "out.bam").st_mtime_ns == made
    assert second.cpu_seconds < first.cpu_seconds
    assert bam.is_that_of(tmp_path / "out.bam")


def test_a_damaged_file_is_made_again(local, bam, tmp_path):
    options = {"output": tmp_path / "out.bam", "work": str(tmp_path / "work"), "shards": 2, "keep": True}
    bam.job(local, **options)
    (tmp_path / "out.bam").unlink()
    piece = tmp_path / "work" / "write-0001"
    data = bytearray(piece.read_bytes())
    data[len(data) // 3] ^= 0x41
    piece.write_bytes(data)
    result = bam.job(local, **options)
    assert bam.is_that_of(tmp_path / "out.bam")
    assert [stage.attempts for stage in result.stages if stage.name == "write 1"] == [2]


def test_what_cannot_be_done_is_said(local, bam, tmp_path):
    work = str(tmp_path / "work")
    with pytest.raises(StageFailed, match="no/such.bam"):
        sort(local, "no/such.bam", output=tmp_path / "out.bam", work=work)
    with pytest.raises(StageFailed, match="has no program .*nowhere"):
        sort(local, bam.inputs, output=tmp_path / "out.bam", work=work, program="/nowhere/readmill")
    with pytest.raises(StageFailed, match="--no-such-flag"):
        run(local, "sort", bam.inputs, output=tmp_path / "out.bam", work=work, no_such_flag=True)
    with pytest.raises(StageFailed, match="this command needs at least -m"):
        sort(local, bam.inputs, output=tmp_path / "out.bam", work=work, memory="2M")
    assert not (tmp_path / "out.bam").exists()


def test_a_stage_that_always_fails_ends_the_job(local, bam, tmp_path, readmill):
    program = tmp_path / "program"
    program.write_text(f'#!/bin/sh\n[ "$2" != write ] || {{ echo "the disk is full" >&2; exit 75; }}\nexec {readmill} "$@"\n')
    program.chmod(0o755)
    with pytest.raises(StageFailed, match=r"write \d failed 3 times.*\n.*the disk is full"):
        bam.job(
            local, output=tmp_path / "out.bam", work=str(tmp_path / "work"), shards=2, retries=2, program=str(program)
        )
    assert not (tmp_path / "out.bam").exists()


def test_workers_need_the_resource(bam, tmp_path):
    with LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=None) as cluster, Client(cluster) as client:
        with pytest.raises(ValueError, match="--resources readmill=1"):
            sort(client, bam.inputs, output=tmp_path / "out.bam", work=str(tmp_path / "work"))


def test_align_is_a_command_line_with_the_reference_in_front(monkeypatch):
    lines = []
    monkeypatch.setattr("readmill.dask.run_line", lambda client, line, **options: lines.append((line, options["shards"])))
    reads = ["a_1.fq", "a_2.fq", "b_1.fq", "b_2.fq"]
    align(None, "ref.fa", reads, output="x.bam", work="w", shards=5, rg=["@RG1", "@RG2"], bqsr=True)
    align(None, Path("ref.fa"), Path("a.fq"), output=Path("x.bam"), work="w")
    assert lines == [
        (["align", "ref.fa", *reads, "-o", "x.bam", "--rg=@RG1", "--rg=@RG2", "--bqsr"], 5),
        (["align", "ref.fa", "a.fq", "-o", "x.bam"], None),
    ]


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


#: In which stages of each sample a worker is killed.
KILLED = [(name, stage) for name in ("bam", "fastq") for stage in ("scan", "map", "judge", "count", "write")]
KILLED = [it for it in KILLED if it != ("bam", "scan") and (it[1] != "count" or "bqsr" in FLAGS)]


@pytest.mark.parametrize(("sample", "stage"), KILLED, indirect=["sample"])
def test_when_a_worker_is_killed_others_go_on(sample, cluster, tmp_path, slow, stage):
    client = cluster.client(3)
    options = {"output": tmp_path / "out.bam", "work": str(tmp_path / "work"), "shards": 4, "program": SLOW}
    thread, ended = in_background(lambda: sample.job(client, **options))
    pid = wait_until(lambda: processes_of(slow, stage))[0]
    parents = {number: process.pid for number, process in cluster.workers.items()}
    cluster.kill(cluster.workers[next(number for number, parent in parents.items() if is_descendant(pid, parent))])
    thread.join(120)
    assert "result" in ended, ended
    if HAS_HOSTS:
        assert {"host0", "host1", "host2"} >= {stage.host for stage in ended["result"].stages}
    assert sample.is_that_of(tmp_path / "out.bam")


def is_descendant(pid: int, ancestor: int) -> bool:
    while pid > 1 and pid != ancestor:
        try:
            pid = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
        except FileNotFoundError:
            return False
    return pid == ancestor


def test_cancelling_ends_the_programs(slow, local, bam, tmp_path):
    (tmp_path / "begun.seconds").write_text("600")
    options = {"output": tmp_path / "out.bam", "work": str(tmp_path / "work"), "shards": 2, "program": SLOW}

    def interrupt(progress):
        if processes_of(slow, "map"):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        bam.job(local, progress=interrupt, **options)
    pids = processes_of(slow, "map")
    wait_until(lambda: not any(is_running(pid) for pid in pids), 30)


def test_a_call_that_is_stopped_leaves_the_same_call_beside_it_alone(slow, local, bam, tmp_path):
    options = {"output": tmp_path / "out.bam", "work": str(tmp_path / "work"), "shards": 1, "program": SLOW, "keep": True}
    (tmp_path / "begun.seconds").write_text("6")  # the other worker plans meanwhile
    thread, ended = in_background(lambda: bam.job(local, **options))
    wait_until(lambda: processes_of(slow, "map"))

    def interrupt(progress):
        if progress.under_way:
            raise KeyboardInterrupt

    with Client(local.scheduler.address) as other, pytest.raises(KeyboardInterrupt):
        bam.job(other, progress=interrupt, **options)
    (tmp_path / "begun.seconds").write_text("0")
    thread.join(120)
    assert "result" in ended, ended
    assert bam.is_that_of(tmp_path / "out.bam")


def test_a_driver_that_is_killed_goes_on_when_it_is_started_again(sample, cluster, tmp_path, slow):
    cluster.client(3).close()
    command = driver(cluster, sample, tmp_path / "out.bam", tmp_path / "work")
    started = subprocess.Popen(command, env=environment())
    pids = wait_until(lambda: processes_of(slow, "judge"))
    started.kill()
    started.wait()
    wait_until(lambda: not any(is_running(pid) for pid in pids), 60)
    subprocess.run(command, env=environment(), check=True, timeout=120)
    assert sample.is_that_of(tmp_path / "out.bam")


def test_a_scheduler_that_is_killed_goes_on_when_it_is_started_again(sample, cluster, tmp_path, slow, monkeypatch):
    monkeypatch.setattr("readmill.dask._PATIENCE", 3.0)
    options = {"output": tmp_path / "out.bam", "work": str(tmp_path / "work"), "shards": 4, "program": SLOW}
    client = cluster.client(3)
    thread, ended = in_background(lambda: sample.job(client, **options))
    wait_until(lambda: processes_of(slow, "map"))
    cluster.kill(cluster.scheduler)
    thread.join(120)
    assert isinstance(ended.get("error"), Lost), ended
    # Workers of Dask end without a scheduler.
    wait_until(lambda: all(worker.poll() is not None for worker in cluster.workers.values()))
    cluster.start_scheduler()
    for number in range(3):
        cluster.start_worker(number)
    with cluster.client(3) as again:
        sample.job(again, **options)
    assert sample.is_that_of(tmp_path / "out.bam")
