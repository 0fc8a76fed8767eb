"""The commands of docs/cluster.md, word for word, in the environment that the page has users make."""

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from conftest import wait_until
from distributed import Client, Security

CHECKOUT = Path(__file__).parents[2]
PAGE = (CHECKOUT / "docs" / "cluster.md").read_text()

#: All blocks: their language, and their text.
BLOCKS = re.findall(r"^```(\w*)\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)

#: How the blocks begin that a test of this file runs.
RUN = [
    "readmill cluster local --run",
    "python3 -m venv readmill-python",
    "from dask.distributed import Client, LocalCluster",
    "readmill cluster slurm",
    "readmill shard plan",
    "openssl req",
    "from dask.distributed import Client, Security",
]

#: And those that none can run on one machine; the page says so.
NOT_RUN = ["apiVersion: kubernetes.dask.org/v1"]

#: What most blocks do.
COMMAND = "prep readmill-demo/reads.bam -o prepared.bam --sort coordinate --mark-duplicates"


def block(start: str) -> str:
    return next(text for _, text in BLOCKS if text.startswith(start))


class Home:
    """A directory like that of a user, with a checkout of readmill beside it."""

    def __init__(self, directory: Path, readmill: str):
        self.directory = directory
        (directory / "bin").mkdir(parents=True)
        (directory / "bin" / "readmill").symlink_to(readmill)
        (directory / "python").symlink_to(CHECKOUT / "python")
        path = [directory / "bin", directory / "readmill-python" / "bin", os.environ["PATH"]]
        left_out = ("PYTHONPATH", "READMILL", "VIRTUAL_ENV")
        self.environment = {name: value for name, value in os.environ.items() if name not in left_out}
        self.environment["PATH"] = os.pathsep.join(map(str, path))

    def sh(self, text: str, **options) -> None:
        options = {"cwd": self.directory, "timeout": 300, "check": True} | options
        subprocess.run(["bash", "-euc", text], env=self.environment, **options)

    def python(self, text: str) -> None:
        (self.directory / "example.py").write_text(text)
        self.sh("python3 example.py")

    def check_and_remove(self, *flags: str) -> None:
        """Compares prepared.bam with what one run makes."""
        made = self.directory / "prepared.bam"
        found = made.read_bytes()
        for file in (made, self.directory / "prepared.bam.bai"):
            file.unlink()
        self.sh(f"readmill {' '.join(flags) or COMMAND} -q")
        assert made.read_bytes() == found
        made.unlink()
        assert not (self.directory / "prepared.bam.stages").exists()


@pytest.fixture(scope="module")
def home(readmill, tmp_path_factory) -> Home:
    home = Home(tmp_path_factory.mktemp("home") / "user", readmill)
    home.sh(block("python3 -m venv readmill-python"))
    home.check_and_remove()
    return home


def test_every_block_is_run_or_said_not_to_be():
    starts = [next(start for start in [*RUN, *NOT_RUN] if text.startswith(start)) for _, text in BLOCKS]
    assert sorted(starts) == sorted([*RUN, *NOT_RUN])
    for start in NOT_RUN:
        paragraph = PAGE.partition(start)[0].rpartition("\n#")[2]
        assert "We have not run this manifest" in paragraph


def test_the_command_at_the_top(home):
    home.sh(block("readmill cluster local --run"))
    home.check_and_remove()


def test_the_python_example(home):
    home.python(block("from dask.distributed import Client, LocalCluster"))
    assert (home.directory / "metrics.txt").stat().st_size > 0
    home.check_and_remove(COMMAND, "--metrics metrics.txt")


def test_the_command_of_slurm(home, tmp_path, monkeypatch):
    for name in ("sbatch", "squeue", "scancel"):
        shutil.copy(Path(__file__).with_name("fake_slurm.sh"), home.directory / "bin" / name)
    monkeypatch.setitem(home.environment, "FAKE_SLURM", str(tmp_path))
    try:
        home.sh(block("readmill cluster slurm"))
    finally:
        for name in ("sbatch", "squeue", "scancel"):
            (home.directory / "bin" / name).unlink()
    scripts = [file.read_text() for file in tmp_path.glob("*/script")]
    assert len(scripts) == 8
    assert all("--cpus-per-task=16\n#SBATCH --mem=65536M\n#SBATCH -t 2:00:00" in script for script in scripts)
    home.check_and_remove()


def test_workflows_go_to_their_engines(home, tmp_path):
    """The engines are programs that note down what they get; `./dev integrations` has the real ones."""
    for name in ("nextflow", "snakemake", "sbatch"):
        program = home.directory / "bin" / name
        program.write_text(f'#!/bin/sh\necho {name} "$@" >>{tmp_path}/calls\necho 1\n')
        program.chmod(0o755)
    home.sh(block("readmill shard plan"))
    calls = (tmp_path / "calls").read_text().splitlines()
    assert calls[:2] == ["nextflow run main.nf", "snakemake --cores 16"]
    assert len(calls) > 4 and all(call.startswith("sbatch ") and "-c 16 --mem 64G" in call for call in calls[2:])
    for name in ("main.nf", "Snakefile", "stages.sh"):
        assert "shard" in (home.directory / name).read_text()
    home.sh("readmill shard run --work stages -q; readmill shard clean --work stages")
    home.check_and_remove()


def is_open(port: int) -> bool:
    with socket.socket() as connection:
        return connection.connect_ex(("127.0.0.1", port)) == 0


def test_tls(home):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    started = subprocess.Popen(
        ["bash", "-euc", block("openssl req").replace("8786", port) + "wait\n"],
        cwd=home.directory, env=home.environment, start_new_session=True,
    )  # fmt: skip
    try:
        wait_until(lambda: is_open(int(port)))
        home.python(block("from dask.distributed import Client, Security").replace("8786", port))
        with pytest.raises(OSError):
            Client(f"tcp://127.0.0.1:{port}", timeout=3)
        home.sh("openssl req -x509 -newkey rsa:2048 -nodes -subj /CN=other -keyout k.pem -out c.pem")
        own = {"tls_ca_file": "cert.pem", "tls_client_cert": "c.pem", "tls_client_key": "k.pem"}
        other = Security(require_encryption=True, **{name: str(home.directory / file) for name, file in own.items()})
        with pytest.raises(OSError):
            Client(f"tls://127.0.0.1:{port}", security=other, timeout=3)
    finally:
        os.killpg(started.pid, signal.SIGTERM)
        started.wait(30)
    home.check_and_remove("sort readmill-demo/reads.bam -o prepared.bam".replace("sort", "prep"), "--sort coordinate")


def test_the_manifest_of_kubernetes_is_one_of_dask(readmill):
    manifest = yaml.safe_load(block("apiVersion: kubernetes.dask.org/v1"))
    assert manifest["kind"] == "DaskCluster"
    worker, scheduler = (manifest["spec"][part]["spec"] for part in ("worker", "scheduler"))
    words = worker["containers"][0]["args"]
    assert words[:2] == ["dask", "worker"] and scheduler["containers"][0]["args"] == ["dask", "scheduler"]
    assert words[words.index("--resources") + 1] == "readmill=1" and words[words.index("--nworkers") + 1] == "1"
    known = subprocess.run([sys.executable, "-m", "dask", "worker", "--help"], capture_output=True, text=True, check=True).stdout
    assert all(word in known for word in words if word.startswith("--"))
    mounts = {mount["name"] for mount in worker["containers"][0]["volumeMounts"]}
    assert mounts == {volume["name"] for volume in worker["volumes"]}
    ports = {port["name"] for port in scheduler["containers"][0]["ports"]}
    assert {port["targetPort"] for port in manifest["spec"]["scheduler"]["service"]["ports"]} == ports
