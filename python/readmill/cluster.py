"""Starts a Dask cluster on this machine or on SLURM, and has it run a command of readmill in stages.

::

    python -m readmill.cluster local -- sort in.bam -o out.bam
    python -m readmill.cluster slurm --workers 8 --cores 16 --memory 64G --time 2:00:00 -- sort in.bam -o out.bam

prints a Python script that does so; ``--run`` runs that script. ``readmill cluster`` is the same command. The exit codes
are those of readmill.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib.util
import os
import pprint
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from .job import output_of
from .program import MAY_HEAL, find

if TYPE_CHECKING:  # it takes a while, and may not be installed
    from distributed import Client, Security
    from distributed.deploy import Cluster

__all__ = ["complete", "main", "script", "temporary_security", "uninterrupted"]

#: The exit code of wrong usage, as of readmill.
_USAGE = 1

#: Bytes that the worker itself takes beside its stage.
_WORKER = 512 << 20

#: Seconds without a worker after which the wait is explained.
_LONG = 30.0

#: Threads of a worker on this machine, if that is not said: a stage keeps so many busy.
_THREADS = 8

#: Flags that each stage gets from its worker, by what says them here.
_FROM_WORKERS = {"-@": "--cores", "--threads": "--cores", "-m": "--memory", "--memory": "--memory"}

_LOCAL = '''\
#!/usr/bin/env python3
"""Runs a command of readmill on this machine, in stages. Made by `readmill cluster local`."""

import sys

from distributed import LocalCluster
from readmill.cluster import complete, uninterrupted

COMMAND = {command}
WORK = {work}  # for the files of the stages

if __name__ == "__main__":
    with uninterrupted():  # Ctrl-C reaches this script, which ends the workers
        cluster = LocalCluster(
            n_workers={workers},
            threads_per_worker={cores},
            resources={{"readmill": 1}},  # a worker runs one stage at a time
            security=True,  # TLS: other users of this machine cannot reach the workers
            dashboard_address="127.0.0.1:0",
        )
    sys.exit(complete(cluster, COMMAND, {options}))
'''

_SLURM = '''\
#!/usr/bin/env python3
"""Runs a command of readmill on SLURM, in stages. Made by `readmill cluster slurm`.

Each worker is a job of SLURM. This script runs until the output is complete; it takes little time and memory. Start it
again if it was ended: it goes on where it was.
"""

import os
import sys

from dask_jobqueue import SLURMCluster
from readmill.cluster import complete, temporary_security

COMMAND = {command}
WORK = {work}  # for the files of the stages
JOBS = os.path.join(WORK, "slurm")  # for the messages and the keys of the workers

if __name__ == "__main__":
    cluster = SLURMCluster(
        job_name="readmill",
        cores={cores},
        processes=1,
        memory={memory},
        job_mem={memory_of_job},
        walltime={time},
{more}\
        worker_extra_args=["--resources", "readmill=1", "--no-dashboard"],  # one stage at a time
        log_directory=JOBS,
        security=temporary_security(JOBS),  # TLS: other users of the network cannot reach the workers
        scheduler_options={{"dashboard_address": "127.0.0.1:0"}},
    )
    cluster.adapt(minimum_jobs={workers}, maximum_jobs={workers})  # a job that ends early is replaced
    sys.exit(complete(cluster, COMMAND, {options}))
'''


# ---- What the scripts call ----


def complete(
    cluster: Cluster,
    command: Sequence[str],
    *,
    work: str,
    shards: int | None = None,
    ranges: int | None = None,
    memory: str | None = None,
    program: str | None = None,
) -> int:
    """Runs a command of readmill on a cluster in stages, closes the cluster, and returns the exit code of readmill.

    The parameters are those of `readmill.dask.run_line`. Messages go to standard error. SIGTERM ends all stages, and the
    cluster, before this process ends.
    """
    from distributed import Client

    from .dask import Lost, StageFailed, run_line

    try:
        with _ending_on_sigterm(), cluster, Client(cluster) as client:
            _say(f"files of the stages are in {work}")
            _wait_for_a_worker(client, cluster)
            result = run_line(client, command, work=work, shards=shards, ranges=ranges, memory=memory, program=program)
    except StageFailed as error:
        _say(f"error: {error}")
        return error.code
    except Lost as error:
        _say(f"error: {error}")
        return MAY_HEAL
    except (ValueError, _NoWorker) as error:
        _say(f"error: {error}")
        return _USAGE
    except KeyboardInterrupt:
        _say("stopped; run the same command again to continue")
        return 128 + signal.SIGINT
    except _Terminated:
        _say("stopped; run the same command again to continue")
        return 128 + signal.SIGTERM
    finally:
        _remove_keys(work)
    _remove(work)
    print(result.messages, end="", file=sys.stderr)
    _say(str(result))
    return 0


@contextlib.contextmanager
def uninterrupted() -> Iterator[None]:
    """Has processes that are started meanwhile ignore Ctrl-C: a terminal sends it to them, too."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


class _Terminated(BaseException):
    """SIGTERM came."""


class _NoWorker(RuntimeError):
    """There will be no worker."""


def _wait_for_a_worker(client: Client, cluster: Cluster) -> None:
    """Waits for the first worker, as long as SLURM may start one."""
    is_slurm = isinstance(getattr(cluster, "workers", None), dict) and hasattr(cluster, "job_script")
    if is_slurm:
        tested = _client_of_slurm(["sbatch", "--test-only"], cluster.job_script())
        if tested.returncode != 0:
            raise _NoWorker(f"SLURM does not take the jobs: {tested.stderr.strip()}")
    begun, was_said = time.monotonic(), False
    while not client.scheduler_info(n_workers=-1)["workers"]:
        jobs = [job.job_id for job in cluster.workers.values() if job.job_id] if is_slurm else []
        if jobs:
            listed = _client_of_slurm(["squeue", "--noheader", "--jobs", ",".join(jobs)])
            if not listed.stdout.strip() and (listed.returncode == 0 or "Invalid job id" in listed.stderr):
                logs = cluster.job_script().partition("#SBATCH -e ")[2].partition("\n")[0]
                raise _NoWorker(
                    f"the jobs of SLURM ended before they reached {cluster.scheduler_address}. Their messages are in "
                    f"{os.path.dirname(logs)}. Perhaps Python is not where this machine has it, or the nodes reach this "
                    f"machine by another network (--interface)"
                )
        if not was_said and time.monotonic() - begun > _LONG:
            _say("no worker has started yet; squeue shows what the jobs wait for")
            was_said = True
        time.sleep(1)


def _client_of_slurm(command: list[str], text: str | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, input=text, capture_output=True, text=True, check=False)


def temporary_security(directory: str) -> Security:
    """A security of Dask for this run alone: TLS with a new key, in files that only this user can read.

    The files are in ``directory``, where the jobs of SLURM find them. `complete` removes them.
    """
    from distributed import Security

    os.makedirs(directory, exist_ok=True)
    made = Security.temporary()
    files = {}
    for name, text in (("ca_file", made.tls_ca_file), ("cert", made.tls_worker_cert), ("key", made.tls_worker_key)):
        files[name] = os.path.join(directory, f"{name}.pem")
        with contextlib.suppress(FileNotFoundError):
            os.unlink(files[name])
        with open(os.open(files[name], os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="ascii") as file:
            file.write(text)
    roles = ("client", "scheduler", "worker")
    own = {f"tls_{role}_{part}": files[part] for role in roles for part in ("cert", "key")}
    return Security(require_encryption=True, tls_ca_file=files["ca_file"], **own)


def _remove_keys(work: str) -> None:
    for file in Path(work, "slurm").glob("*.pem"):
        file.unlink(missing_ok=True)


@contextlib.contextmanager
def _ending_on_sigterm() -> Iterator[None]:
    def end(*_: object) -> NoReturn:
        raise _Terminated

    before = signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _remove(work: str) -> None:
    """Removes the messages of workers of a job that succeeded, and the directory of the job if nothing else is in it."""
    shutil.rmtree(os.path.join(work, "slurm"), ignore_errors=True)
    with contextlib.suppress(OSError):
        os.rmdir(work)


def _say(text: str) -> None:
    print(f"readmill cluster: {text}", file=sys.stderr, flush=True)


# ---- The command ----


def main(arguments: Sequence[str] | None = None) -> int:
    """Carries out a command line, and returns the exit code."""
    own, command = _divided(sys.argv[1:] if arguments is None else arguments)
    parser = _parser()
    given = parser.parse_args(own)
    given.command += command
    try:
        text = script(given)
    except ValueError as error:
        _say(f"error: {error}")
        return _USAGE
    if not given.run:
        print(text, end="")
        return 0
    if missing := [name for name in _PACKAGES[given.where] if importlib.util.find_spec(name) is None]:
        _say(
            f"error: {sys.executable} has no package {' and no package '.join(missing)}; in the checkout of readmill: "
            f"{sys.executable} -m pip install './python[{'slurm' if given.where == 'slurm' else 'dask'}]'"
        )
        return _USAGE
    if given.where == "slurm" and shutil.which("sbatch") is None:
        _say("error: this machine has no sbatch; run this where jobs of SLURM are submitted")
        return _USAGE
    exec(compile(text, "<readmill cluster>", "exec"), {"__name__": "__main__"})  # it ends by sys.exit
    raise AssertionError("the script did not end")


#: What the scripts import.
_PACKAGES = {"local": ("distributed", "cryptography"), "slurm": ("distributed", "dask_jobqueue", "cryptography")}


def _divided(arguments: Sequence[str]) -> tuple[list[str], list[str]]:
    """The arguments before the first ``--``, and those behind it."""
    words = list(arguments)
    if "--" not in words:
        return words, []
    at = words.index("--")
    return words[:at], words[at + 1 :]


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        """Says what is wrong, and ends as readmill does."""
        self.print_usage(sys.stderr)
        _say(f"error: {message}")
        sys.exit(_USAGE)


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="readmill cluster",
        description="Runs a command of readmill in stages on several workers: prints a Python script that does this, or runs "
        "it (--run). The output has the same bytes as without workers.",
        epilog="If a run stops for any reason, the same command continues it. "
        "docs/cluster.md describes the details.",
    )
    places = parser.add_subparsers(dest="where", metavar="WHERE", required=True)
    local = places.add_parser(
        "local", help="workers on this machine", description="Runs a command of readmill on workers on this machine."
    )
    local.add_argument("--workers", type=_number, metavar="N", help="number of workers [default: one per 8 processors]")
    local.add_argument("--cores", type=_number, metavar="N", help="threads per worker [default: all, divided equally]")
    local.add_argument(
        "--memory", metavar="SIZE", help="memory per worker, such as 8G [default: three quarters, divided equally]"
    )
    slurm = places.add_parser(
        "slurm",
        help="workers as SLURM jobs",
        description="Runs a command of readmill on workers that are SLURM jobs.",
    )
    slurm.add_argument("--workers", type=_number, metavar="N", required=True, help="number of SLURM jobs")
    slurm.add_argument("--cores", type=_number, metavar="N", required=True, help="processors per job")
    slurm.add_argument("--memory", metavar="SIZE", required=True, help="memory per job, such as 64G")
    slurm.add_argument("--time", metavar="TIME", required=True, help="time limit per job, such as 2:00:00")
    slurm.add_argument("--partition", metavar="NAME", help="partition of the jobs")
    slurm.add_argument("--account", metavar="NAME", help="account of the jobs")
    slurm.add_argument("--interface", metavar="NAME", help="network between this machine and the nodes, such as ib0")
    slurm.add_argument(
        "--sbatch",
        metavar="OPTION",
        action="append",
        help="another option for sbatch, such as --sbatch=--qos=long; may be repeated",
    )
    for place in (local, slurm):
        place.add_argument("--run", action="store_true", help="run the script instead of printing it")
        place.add_argument("--work", metavar="DIR", help="directory for the files of the stages [default: OUTPUT.stages]")
        place.add_argument(
            "--shards", type=_number, metavar="N", help="number of slices of the input [default: chosen by readmill]"
        )
        place.add_argument(
            "--ranges", type=_number, metavar="N", help="number of ranges of the output [default: number of slices]"
        )
        place.add_argument(
            "command", nargs=argparse.REMAINDER, metavar="-- COMMAND", help="align, prep, sort, markdup or merge, with its flags"
        )
    return parser


def _number(text: str) -> int:
    if not text.isdecimal() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"{text} is not a positive number")
    return int(text)


def script(given: argparse.Namespace) -> str:
    """The script for a parsed command line.

    :raises ValueError: something cannot be as it is given; the text says what.
    """
    command = list(given.command)
    if not command:
        raise ValueError(f"no command is given: readmill cluster {given.where} … -- prep in.bam -o out.bam --sort coordinate")
    for word in command:
        for flag, instead in _FROM_WORKERS.items():
            if word == flag or word.startswith(flag if len(flag) == 2 else f"{flag}="):
                raise ValueError(f"leave {flag} out of the command: each stage gets what {instead} gives to its worker")
    output = output_of(command)
    if output == "-":
        raise ValueError("stages cannot write to standard output: name a file by -o FILE")
    work = os.path.abspath(given.work or f"{output}.stages")
    return (_local if given.where == "local" else _slurm)(given, command, work)


def _local(given: argparse.Namespace, command: list[str], work: str) -> str:
    processors = _processors()
    workers = given.workers or max(1, processors // _THREADS)
    memory = _bytes(given.memory) if given.memory else _machine_memory() * 3 // 4 // workers
    return _LOCAL.format(
        command=_listed(command), work=repr(work), workers=workers, cores=given.cores or max(1, processors // workers),
        options=_options(given, memory),
    )  # fmt: skip


def _slurm(given: argparse.Namespace, command: list[str], work: str) -> str:
    memory = _bytes(given.memory)
    for what, path in (("the directory of the stages", work), ("Python", sys.executable)):
        if shlex.quote(path) != path:  # dask-jobqueue writes them into a script as they are
            raise ValueError(f"{what} must not have spaces or other signs of the shell in its path, for SLURM: {path}")
    if memory < 2 * _WORKER:
        raise ValueError(f"--memory {given.memory} is too little: a worker needs {2 * _WORKER >> 20}M at least")
    if re.fullmatch(r"(\d+-)?\d+(:\d+){0,2}", given.time) is None:
        raise ValueError(f"--time {given.time} is not a time of SLURM, such as 2:00:00 (hours, minutes, seconds)")
    more = {
        "queue": given.partition,
        "account": given.account,
        "interface": given.interface,
        "job_extra_directives": given.sbatch,
    }
    return _SLURM.format(
        command=_listed(command), work=repr(work), cores=given.cores, memory=repr(f"{memory >> 20}MiB"),
        memory_of_job=repr(f"{memory >> 20}M"),
        time=repr(given.time), more="".join(f"        {name}={value!r},\n" for name, value in more.items() if value),
        workers=given.workers, options=_options(given, memory - _WORKER),
    )  # fmt: skip


def _options(given: argparse.Namespace, memory: int) -> str:
    """The arguments of `complete` behind the command."""
    program = shutil.which(find())
    options = {
        "shards": given.shards,
        "ranges": given.ranges,
        "memory": f"{memory >> 20}M",
        "program": program and str(Path(program).absolute()),
    }
    return ", ".join(["work=WORK", *(f"{name}={value!r}" for name, value in options.items() if value)])


def _listed(command: list[str]) -> str:
    """The words of a command as a list of Python."""
    return pprint.pformat(command, width=100, compact=True)


#: Bytes of the units of memory, as readmill and SLURM count them.
_UNITS = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}


def _bytes(size: str) -> int:
    """A size such as ``64G`` in bytes."""
    parts = re.fullmatch(r"(\d+(?:\.\d+)?)([KMGT])(?:i?B)?", size, re.IGNORECASE)
    if parts is None:
        raise ValueError(f"--memory {size} is not a size such as 64G")
    return int(float(parts[1]) * _UNITS[parts[2].upper()])


def _processors() -> int:
    """Processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _machine_memory() -> int:
    """Bytes of memory of this machine, or of the control group of this process if that is less."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    for file in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):
        with contextlib.suppress(OSError, ValueError):
            memory = min(memory, int(Path(file).read_text()))
    return memory


if __name__ == "__main__":
    sys.exit(main())
