"""A small sample, what one run of readmill makes of it, and a Dask cluster of processes that can be killed."""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import pytest
from distributed import Client

from readmill.dask import Result, align, prep
from readmill.job import words

READMILL = os.environ.get("READMILL") or shutil.which("readmill")

#: A directory with unsorted.bam, ref.fa and its index, FASTQ of two lanes, and known.vcf. Without it samples are simulated, and
#: not recalibrated.
COHORT = os.environ.get("READMILL_COHORT")

#: What is done to the reads of BAM, as arguments of Python.
FLAGS = {"sort": "coordinate", "mark_duplicates": True, "no_PG": True}
if COHORT:
    FLAGS |= {"reference": f"{COHORT}/ref.fa", "bqsr": True, "known_sites": f"{COHORT}/known.vcf"}

#: What is done to those of FASTQ. The reference is in front of them.
FASTQ_FLAGS = {name: value for name, value in FLAGS.items() if name != "reference"}


@pytest.fixture(scope="session")
def readmill() -> str:
    assert READMILL, "build readmill and set READMILL to its path"
    return str(Path(READMILL).resolve())


@dataclass(frozen=True)
class Sample:
    """Reads, what is done to them, and what one run makes of them: one.bam in ``home``."""

    home: Path
    command: str
    inputs: tuple[str, ...]
    flags: dict[str, object]

    def job(self, client: Client, **options) -> Result:
        """Runs the command on a cluster, as users do."""
        if self.command == "align":
            return align(client, self.inputs[0], self.inputs[1:], **self.flags, **options)
        return prep(client, self.inputs[0], **self.flags, **options)

    def line(self, output: Path) -> list[str]:
        """The command line."""
        return [self.command, *self.inputs, "-o", str(output), *words(self.flags)]

    def is_that_of(self, output: Path) -> bool:
        """Whether an output and its index are those of one run."""
        pairs = [(self.home / "one.bam", output), (self.home / "one.bam.bai", Path(f"{output}.bai"))]
        return all(expected.read_bytes() == found.read_bytes() for expected, found in pairs)


def made_sample(readmill: str, home: Path, command: str) -> Sample:
    demo = home / "demo"
    if command == "align":
        if COHORT:
            demo = Path(COHORT)
            files, lanes = ("ref.fa", "one_1.fq", "one_2.fq", "two_1.fq", "two_2.fq"), ("L1", "L10")
        else:
            subprocess.run([readmill, "demo", "--fastq", "--pairs", "6000", "-o", demo], check=True, capture_output=True)
            files, lanes = ("ref.fa", "reads_1.fq", "reads_2.fq"), ("L1",)
        groups = [f"@RG\\tID:{lane}\\tSM:s\\tLB:l\\tPL:ILLUMINA" for lane in lanes]
        sample = Sample(home, command, tuple(str(demo / name) for name in files), FASTQ_FLAGS | {"rg": groups})
    else:
        if COHORT:
            shutil.copy(f"{COHORT}/unsorted.bam", home / "in.bam")
        else:
            subprocess.run([readmill, "demo", "--pairs", "20000", "-o", demo], check=True, capture_output=True)
            shutil.move(demo / "reads.bam", home / "in.bam")
        sample = Sample(home, command, (str(home / "in.bam"),), FLAGS)
    subprocess.run([readmill, *sample.line(home / "one.bam"), "-q"], check=True, cwd=home)
    return sample


@pytest.fixture(scope="session")
def bam(readmill, tmp_path_factory) -> Sample:
    """Unsorted reads of BAM, and `prep`."""
    return made_sample(readmill, tmp_path_factory.mktemp("prep"), "prep")


@pytest.fixture(scope="session")
def fastq(readmill, tmp_path_factory) -> Sample:
    """Reads of FASTQ, and `align`."""
    return made_sample(readmill, tmp_path_factory.mktemp("align"), "align")


@pytest.fixture(params=["bam", "fastq"])
def sample(request) -> Sample:
    """Each of the samples."""
    return request.getfixturevalue(request.param)


#: Whether the workers can be in network namespaces, as if they were hosts.
HAS_HOSTS = os.geteuid() == 0 and shutil.which("ip") is not None and shutil.which("unshare") is not None


class Hosts:
    """Network namespaces with names of hosts, which reach each other over a bridge."""

    #: How many there were. The system may remove a namespace, and the links into it, after `ip` has ended: names are used once.
    made = 0

    def __init__(self, number: int):
        Hosts.made += 1
        self.tag = f"rm{os.getpid() % 100000}x{Hosts.made}"
        self.net = f"10.{64 + os.getpid() % 128}.7"
        self.number = number
        self._ip(f"link add {self.tag} type bridge")
        self._ip(f"addr add {self.net}.1/24 dev {self.tag}")
        self._ip(f"link set {self.tag} up")
        for n in range(number):
            space, outer = f"{self.tag}-{n}", f"{self.tag}v{n}"
            self._ip(f"netns add {space}")
            self._ip(f"link add {outer} type veth peer name eth0 netns {space}")
            self._ip(f"link set {outer} master {self.tag} up")
            self._ip(f"-n {space} addr add {self.net}.{10 + n}/24 dev eth0")
            self._ip(f"-n {space} link set eth0 up")
            self._ip(f"-n {space} link set lo up")

    @staticmethod
    def _ip(line: str) -> None:
        subprocess.run(["ip", *line.split()], check=True)

    def enter(self, n: int) -> list[str]:
        """The words before a command that runs it on a host."""
        named = f'hostname host{n}; exec "$@"'
        return ["ip", "netns", "exec", f"{self.tag}-{n}", "unshare", "--uts", "sh", "-c", named, "sh"]

    def close(self) -> None:
        for n in range(self.number):
            self._ip(f"netns del {self.tag}-{n}")
        self._ip(f"link del {self.tag}")


class Cluster:
    """A scheduler and workers, each a process group of its own; the workers are on hosts of their own if that can be."""

    def __init__(self, home: Path, readmill: str, workers: int):
        self.home, self.readmill = home, readmill
        self.hosts = Hosts(workers) if HAS_HOSTS else None
        self.host = f"{self.hosts.net}.1" if self.hosts else "127.0.0.1"
        with socket.socket() as free:
            free.bind((self.host, 0))
            self.port = free.getsockname()[1]
        self.scheduler = None
        self.workers = {}
        self.start_scheduler()
        for number in range(workers):
            self.start_worker(number)

    @property
    def address(self) -> str:
        return f"tcp://{self.host}:{self.port}"

    def _start(self, name: str, *words: str, host: int | None = None) -> subprocess.Popen:
        log = open(self.home / f"{name}.log", "ab")
        command = [sys.executable, "-m", "dask", *words]
        if self.hosts and host is not None:
            command = [*self.hosts.enter(host), *command]
        own = environment() | {"READMILL": self.readmill}
        return subprocess.Popen(command, stdout=log, stderr=log, cwd=self.home, env=own, start_new_session=True)

    def start_scheduler(self) -> None:
        self.scheduler = self._start("scheduler", "scheduler", "--host", self.host, "--port", str(self.port), "--no-dashboard")

    def start_worker(self, number: int) -> None:
        words = ["worker", self.address, "--nworkers", "1", "--nthreads", "1", "--no-dashboard", "--resources", "readmill=1"]
        self.workers[number] = self._start(f"worker-{number}", *words, "--name", str(number), host=number)

    @staticmethod
    def kill(process: subprocess.Popen) -> None:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()

    def client(self, workers: int = 1) -> Client:
        client = Client(self.address, timeout=60)
        client.wait_for_workers(workers, timeout=60)
        return client

    def close(self) -> None:
        for process in [self.scheduler, *self.workers.values()]:
            if process.poll() is None:
                self.kill(process)
        if self.hosts:
            self.hosts.close()


def wait_until(condition, seconds: float = 60.0):
    """Waits until a condition holds; returns its value."""
    end = time.monotonic() + seconds
    while not (value := condition()):
        assert time.monotonic() < end, "it did not come in time"
        time.sleep(0.01)
    return value


#: The program that stands for readmill in tests which kill its stages.
SLOW = str(Path(__file__).with_name("slow_readmill.sh"))

#: A driver: a program that runs one job.
DRIVER = """
import json, sys
from distributed import Client
from readmill.dask import run_line
address, work, program, line = sys.argv[1:]
with Client(address) as client:
    run_line(client, json.loads(line), work=work, shards=4, program=program)
"""


def driver(cluster: Cluster, sample: Sample, output: Path, work: Path) -> list[str]:
    """The command of a driver, for slow stages."""
    return [sys.executable, "-c", DRIVER, cluster.address, str(work), SLOW, json.dumps(sample.line(output))]


def environment() -> dict[str, str]:
    """The environment of programs that import what these tests import."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}


@pytest.fixture
def slow(readmill, tmp_path, monkeypatch) -> Path:
    """Has each stage wait for a second and note down that it begins; returns the notes."""
    state = tmp_path / "begun"
    state.touch()
    (tmp_path / "begun.seconds").write_text("1")
    monkeypatch.setenv("REAL_READMILL", readmill)
    monkeypatch.setenv("SLOW_READMILL_STATE", str(state))
    return state


def processes_of(state: Path, stage: str) -> list[int]:
    """The processes of a kind of stage that have begun."""
    lines = [line.split() for line in state.read_text().splitlines()]
    return [int(words[-1]) for words in lines if words[0] == stage]


def is_running(pid: int) -> bool:
    try:
        return "Z" not in Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
