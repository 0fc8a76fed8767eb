"""Random disturbance of jobs from BAM and from FASTQ in turn: stages, workers, the scheduler and the driver are killed,
stages are held up, the disk of the job's directory is full for a while (as root), and clocks step (with faketime).

READMILL_CHAOS_SECONDS says for how long; READMILL_CHAOS_SEED repeats a run's choices, though not its moments.
"""

import contextlib
import os
import random
import shutil
import signal
import subprocess
import time
from collections import Counter

import pytest
from conftest import Cluster, Sample, driver, environment, processes_of

#: Seconds of disturbance in all.
SECONDS = float(os.environ.get("READMILL_CHAOS_SECONDS", "30"))

#: Seconds in which a job is disturbed; then it must end.
OF_A_JOB = 20.0

#: What is done, and how often in comparison.
DISTURBANCES = {"kill a stage": 4, "hold up a stage": 3, "kill a worker": 3, "kill the driver": 2, "kill the scheduler": 1}
if os.geteuid() == 0:
    DISTURBANCES["fill the disk"] = 1
if shutil.which("faketime"):
    DISTURBANCES["step the clock"] = 1

#: Size of the disk of the job's directory: more than the files of a job take.
DISK = "120M"


class Chaos:
    """Disturbs one job."""

    def __init__(self, cluster: Cluster, command: list[str], begun, disk, choose: random.Random):
        self.cluster, self.command, self.begun, self.disk, self.choose = cluster, command, begun, disk, choose
        self.driver = self.start_driver()
        self.done = Counter()

    def start_driver(self) -> subprocess.Popen:
        log = open(self.cluster.home / "driver.log", "ab")
        return subprocess.Popen(self.command, env=environment(), stdout=log, stderr=log)

    def mend(self) -> None:
        """Starts what has ended, as an operator would; a driver that lost its scheduler, too."""
        if self.cluster.scheduler.poll() is not None:
            self.cluster.start_scheduler()
        for number, worker in self.cluster.workers.items():
            if worker.poll() is not None:
                self.cluster.start_worker(number)
        if self.driver.poll() not in (None, 0):
            self.driver = self.start_driver()

    def disturb(self) -> None:
        what = self.choose.choices(list(DISTURBANCES), list(DISTURBANCES.values()))[0]
        stages = [int(line.split()[-1]) for line in self.begun.read_text().splitlines()][-4:]
        match what:
            case "kill a stage":
                self.signal(stages, signal.SIGKILL)
            case "hold up a stage":
                self.signal(stages, signal.SIGSTOP)
                time.sleep(self.choose.uniform(0.0, 1.0))
                self.signal(stages, signal.SIGCONT)
            case "kill a worker":
                worker = self.cluster.workers[self.choose.randrange(len(self.cluster.workers))]
                if worker.poll() is None:
                    self.cluster.kill(worker)
            case "kill the driver":
                self.driver.kill()
                self.driver.wait()
            case "kill the scheduler":
                if self.cluster.scheduler.poll() is None:
                    self.cluster.kill(self.cluster.scheduler)
            case "fill the disk":
                filler = self.disk / "filler"
                with contextlib.suppress(OSError), open(filler, "wb") as file:
                    while True:
                        file.write(bytes(1 << 20))
                time.sleep(self.choose.uniform(0.0, 2.0))
                filler.unlink()
            case "step the clock":
                step = f"{self.choose.choice('+-')}{self.choose.randrange(1, 400)}{self.choose.choice('hd')}"
                self.begun.with_suffix(".clock").write_text(self.choose.choice(["", step]))
        self.done[what] += 1

    def signal(self, processes: list[int], sign: signal.Signals) -> None:
        """Signals a process, or all for one that goes on."""
        if sign == signal.SIGKILL and processes:
            processes = [self.choose.choice(processes)]
        for process in processes:
            try:
                os.killpg(process, sign)  # each stage leads a group
            except ProcessLookupError:
                pass


@pytest.fixture
def samples(bam, fastq) -> list[Sample]:
    """All samples."""
    return [bam, fastq]


@pytest.fixture
def disk(tmp_path):
    """A small disk, if this is root: else a directory."""
    directory = tmp_path / "disk"
    directory.mkdir()
    if "fill the disk" not in DISTURBANCES:
        yield directory
        return
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={DISK}", "readmill-chaos", directory], check=True)
    yield directory
    subprocess.run(["umount", "-l", directory], check=True)


def test_whatever_is_killed_the_bytes_are_the_same(slow, samples, disk, tmp_path, readmill):
    seed = int(os.environ.get("READMILL_CHAOS_SEED") or time.time())
    print(f"READMILL_CHAOS_SEED={seed}")
    choose = random.Random(seed)
    (tmp_path / "begun.seconds").write_text("0.3")
    cluster = Cluster(tmp_path, readmill, 3)
    done, jobs, end = Counter(), 0, time.monotonic() + SECONDS
    try:
        while time.monotonic() < end:
            sample = samples[jobs % len(samples)]
            jobs += 1
            output, work = tmp_path / f"out{jobs}.bam", disk / f"work{jobs}"
            chaos = Chaos(cluster, driver(cluster, sample, output, work), slow, disk, choose)
            calm = time.monotonic() + min(OF_A_JOB, max(1.0, end - time.monotonic()))
            while chaos.driver.poll() != 0:
                time.sleep(choose.uniform(0.2, 1.5))
                assert time.monotonic() < calm + 240, f"job {jobs} does not end; disturbances: {chaos.done}"
                if time.monotonic() < calm and chaos.driver.poll() != 0:
                    chaos.disturb()
                assert not output.exists() or output.read_bytes() == (sample.home / "one.bam").read_bytes()
                chaos.mend()
            assert sample.is_that_of(output), f"job {jobs} wrote other bytes; disturbances: {chaos.done}"
            assert processes_of(slow, "join"), "no job has come to its end"
            done += chaos.done
            slow.write_text("")
            output.unlink()
    finally:
        cluster.close()
    print(f"{jobs} jobs of {', '.join(sample.command for sample in samples)}; {sum(done.values())} disturbances: {dict(done)}")
