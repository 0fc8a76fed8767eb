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

READMILL = os.environ.get("READMILL") or shutil.which("readmill")

#: What is done to the sample, as flags of Python and of the command line.
FLAGS = {"sort": "coordinate", "mark_duplicates": True, "no_PG": True}
LINE = ["--sort", "coordinate", "--mark-duplicates", "--no-PG"]


@pytest.fixture(scope="session")
def readmill() -> str:
    assert READMILL, "build readmill and set READMILL to its path"
    return str(Path(READMILL).resolve())


@pytest.fixture(scope="session")
def sample(readmill, tmp_path_factory) -> Path:
    """A directory with unsorted reads, in.bam, and what one run makes of them, one.bam."""
    home = tmp_path_factory.mktemp("sample")
    subprocess.run([readmill, "demo", "--pairs", "20000", "-o", home / "demo"], check=True, capture_output=True)
    shutil.move(home / "demo" / "reads.bam", home / "in.bam")
    subprocess.run([readmill, "prep", "in.bam", "-o", "one.bam", *LINE, "-q"], check=True, cwd=home)
    return home


class Cluster:
    """A scheduler and workers, each a process group of its own on this machine."""

    def __init__(self, home: Path, readmill: str, workers: int):
        self.home, self.readmill = home, readmill
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.scheduler = None
        self.workers = {}
        self.start_scheduler()
        for number in range(workers):
            self.start_worker(number)

    @property
    def address(self) -> str:
        return f"tcp://127.0.0.1:{self.port}"

    def _start(self, name: str, *words: str) -> subprocess.Popen:
        log = open(self.home / f"{name}.log", "ab")
        environment = {**os.environ, "READMILL": self.readmill, "PYTHONPATH": os.pathsep.join(sys.path)}
        command = [sys.executable, "-m", "dask", *words]
        return subprocess.Popen(command, stdout=log, stderr=log, cwd=self.home, env=environment, start_new_session=True)

    def start_scheduler(self) -> None:
        self.scheduler = self._start("scheduler", "scheduler", "--host", "127.0.0.1", "--port", str(self.port), "--no-dashboard")

    def start_worker(self, number: int) -> None:
        words = ["worker", self.address, "--nworkers", "1", "--nthreads", "1", "--no-dashboard", "--resources", "readmill=1"]
        self.workers[number] = self._start(f"worker-{number}", *words, "--name", str(number))

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


def wait_until(condition, seconds: float = 60.0):
    """Waits until a condition holds; returns its value."""
    end = time.monotonic() + seconds
    while not (value := condition()):
        assert time.monotonic() < end, "it did not come in time"
        time.sleep(0.01)
    return value
