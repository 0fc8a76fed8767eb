"""A small sample, what one run of readmill makes of it, and a Dask cluster of processes that can be killed."""

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
from distributed import Client

from readmill.job import words

READMILL = os.environ.get("READMILL") or shutil.which("readmill")

#: A directory with unsorted.bam, ref.fa and known.vcf. Without it a sample is simulated, and not recalibrated.
COHORT = os.environ.get("READMILL_COHORT")

#: What is done to the sample, as arguments of Python.
FLAGS = {"sort": "coordinate", "mark_duplicates": True, "no_PG": True}
if COHORT:
    FLAGS |= {"reference": f"{COHORT}/ref.fa", "bqsr": True, "known_sites": f"{COHORT}/known.vcf"}


@pytest.fixture(scope="session")
def readmill() -> str:
    assert READMILL, "build readmill and set READMILL to its path"
    return str(Path(READMILL).resolve())


@pytest.fixture(scope="session")
def sample(readmill, tmp_path_factory) -> Path:
    """A directory with unsorted reads, in.bam, and what one run makes of them, one.bam."""
    home = tmp_path_factory.mktemp("sample")
    if COHORT:
        shutil.copy(f"{COHORT}/unsorted.bam", home / "in.bam")
    else:
        subprocess.run([readmill, "demo", "--pairs", "20000", "-o", home / "demo"], check=True, capture_output=True)
        shutil.move(home / "demo" / "reads.bam", home / "in.bam")
    subprocess.run([readmill, "prep", "in.bam", "-o", "one.bam", *words(FLAGS), "-q"], check=True, cwd=home)
    return home


#: Whether the workers can be in network namespaces, as if they were hosts.
HAS_HOSTS = os.geteuid() == 0 and shutil.which("ip") is not None and shutil.which("unshare") is not None


class Hosts:
    """Network namespaces with names of hosts, which reach each other over a bridge."""

    def __init__(self, number: int):
        self.tag = f"rm{os.getpid() % 100000}"
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
        environment = {**os.environ, "READMILL": self.readmill, "PYTHONPATH": os.pathsep.join(sys.path)}
        command = [sys.executable, "-m", "dask", *words]
        if self.hosts and host is not None:
            command = [*self.hosts.enter(host), *command]
        return subprocess.Popen(command, stdout=log, stderr=log, cwd=self.home, env=environment, start_new_session=True)

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
from readmill.dask import prep
address, source, output, work, program, flags = sys.argv[1:]
with Client(address) as client:
    prep(client, source, output=output, work=work, shards=4, program=program, **json.loads(flags))
"""


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


def same(sample: Path, output: Path) -> bool:
    pairs = [(sample / "one.bam", output), (sample / "one.bam.bai", Path(f"{output}.bai"))]
    return all(expected.read_bytes() == found.read_bytes() for expected, found in pairs)
