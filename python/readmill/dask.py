"""Runs one sample on a Dask cluster: each stage of ``readmill shard`` is a task.

::

    from dask.distributed import Client
    from readmill.dask import prep

    client = Client("tcp://scheduler:8786")
    result = prep(client, "in.bam", output="out.bam", work="stages", shards=16, sort="coordinate", mark_duplicates=True)
    print(result)

``align`` begins with FASTQ; ``run_line`` takes a command line as it is given to the program.

The tasks carry names of files, never reads. All machines need the program, this package and the same directories. The
output is, byte for byte, that of the command without a cluster.

Each worker must be started with the resource ``readmill``, which says how many stages it runs at a time. A stage uses all
threads of its worker, so one is right: ``dask worker ADDRESS --nworkers 1 --nthreads 16 --resources readmill=1``.
``python -m readmill.cluster`` starts such workers on this machine, or on SLURM.
"""

from __future__ import annotations

import contextlib
import json
import os
import queue
import socket
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from distributed import Client, Future, get_worker
from distributed.comm import CommClosedError
from distributed.scheduler import KilledWorker

from . import program
from .job import Job, Stage, output_of, words
from .progress import Forecast, Progress, Shown, printer

__all__ = [
    "Lost",
    "Progress",
    "Result",
    "StageFailed",
    "StageRun",
    "align",
    "markdup",
    "merge",
    "prep",
    "run",
    "run_line",
    "sort",
]

#: The name of the resource of workers.
RESOURCE = "readmill"

#: Seconds that a scheduler may be out of reach.
_PATIENCE = 30.0

_LOST = "the scheduler of the cluster was lost; when there is one again, the same call goes on where the job was"


class StageFailed(RuntimeError):
    """A stage failed in a way that another run does not heal, or too often. The text has its messages."""

    def __init__(self, text: str, code: int = 1) -> None:
        super().__init__(text)
        #: The exit code of the program, or 128 and the number of the signal that ended it.
        self.code = code


class Lost(RuntimeError):
    """The scheduler was lost. The same call goes on where the job was."""


@dataclass(frozen=True)
class StageRun:
    """How a stage ran."""

    name: str
    #: Host of the worker.
    host: str
    seconds: float
    cpu_seconds: float
    peak_memory_bytes: int
    #: Bytes of the file that it wrote.
    bytes: int
    #: How often it was started.
    attempts: int


@dataclass(frozen=True)
class Result:
    """What a job did."""

    #: The absolute path of the output.
    output: str
    #: Wall-clock seconds, from the call to the end.
    seconds: float
    #: The stages that this call ran or found finished, in the order in which they ended.
    stages: tuple[StageRun, ...]
    #: The program's messages about the whole run, from its last stage.
    messages: str

    @property
    def cpu_seconds(self) -> float:
        """Seconds of CPU of all stages."""
        return sum(stage.cpu_seconds for stage in self.stages)

    @property
    def peak_memory_bytes(self) -> int:
        """Peak resident memory of the stage that took most."""
        return max((stage.peak_memory_bytes for stage in self.stages), default=0)

    def __str__(self) -> str:
        hosts = len({stage.host for stage in self.stages})
        return (
            f"{self.output}: {len(self.stages)} stages on {hosts} {'host' if hosts == 1 else 'hosts'}, "
            f"{self.seconds:.1f} s, {self.cpu_seconds:.1f} s of CPU, peak memory of a stage "
            f"{self.peak_memory_bytes / 2**20:.0f} MiB"
        )


def align(client: Client, reference: str, reads: str | Sequence[str], **options: Any) -> Result:
    """Runs ``readmill align`` in stages on a cluster; see `run` for the options.

    ``reference`` is the FASTA, whose index must be beside it. ``reads`` is a file or a list of files of FASTQ: R1 and R2,
    and R1 and R2 of further lanes, as on the command line.
    """
    files = [reads] if isinstance(reads, str | os.PathLike) else list(reads)
    return run(client, "align", [reference, *files], **options)


def prep(client: Client, inputs: str | Sequence[str], **options: Any) -> Result:
    """Runs ``readmill prep`` in stages on a cluster; see `run` for the options."""
    return run(client, "prep", inputs, **options)


def sort(client: Client, inputs: str | Sequence[str], **options: Any) -> Result:
    """Runs ``readmill sort`` in stages on a cluster; see `run` for the options."""
    return run(client, "sort", inputs, **options)


def markdup(client: Client, inputs: str | Sequence[str], **options: Any) -> Result:
    """Runs ``readmill markdup`` in stages on a cluster; see `run` for the options."""
    return run(client, "markdup", inputs, **options)


def merge(client: Client, inputs: str | Sequence[str], **options: Any) -> Result:
    """Runs ``readmill merge`` in stages on a cluster; see `run` for the options."""
    return run(client, "merge", inputs, **options)


def run(
    client: Client,
    command: str,
    inputs: str | Sequence[str],
    *,
    output: str,
    work: str,
    shards: int | None = None,
    ranges: int | None = None,
    threads: int | None = None,
    memory: str | None = None,
    temp_dir: str | None = None,
    program: str | None = None,
    retries: int = 10,
    progress: bool | Callable[[Progress], None] | None = None,
    keep: bool = False,
    **flags: object,
) -> Result:
    """Runs a command of readmill in stages on a Dask cluster, and waits for its end.

    :param command: ``align``, ``prep``, ``sort``, ``markdup`` or ``merge``.
    :param inputs: a file, or several. Relative paths start in the current directory, also on the workers.
    :param output: the file to write.
    :param flags: flags of the command: ``mark_duplicates=True`` is ``--mark-duplicates``.

    The other parameters, and what is raised, are those of `run_line`.
    """
    files = [inputs] if isinstance(inputs, str | os.PathLike) else list(inputs)
    line = [command, *map(os.fspath, files), "-o", os.fspath(output), *words(flags)]
    return run_line(
        client, line, work=work, shards=shards, ranges=ranges, threads=threads, memory=memory, temp_dir=temp_dir,
        program=program, retries=retries, progress=progress, keep=keep,
    )  # fmt: skip


def run_line(
    client: Client,
    line: Sequence[str],
    *,
    work: str,
    shards: int | None = None,
    ranges: int | None = None,
    threads: int | None = None,
    memory: str | None = None,
    temp_dir: str | None = None,
    program: str | None = None,
    retries: int = 10,
    progress: bool | Callable[[Progress], None] | None = None,
    keep: bool = False,
) -> Result:
    """Runs a command line of readmill in stages on a Dask cluster, and waits for its end.

    :param line: the words behind ``readmill``, such as ``["sort", "in.bam", "-o", "out.bam"]``.
    :param work: a directory for the files of the stages, which all workers share. If a job was ended in whatever way,
        the same call goes on where it was.
    :param shards: slices of the input, each sorted by itself; by default readmill chooses.
    :param ranges: ranges of the output, each written by itself; by default as many as slices.
    :param threads: threads of a stage; by default those of its worker.
    :param memory: memory of a stage in all, such as ``"16G"``; by default that of the command.
    :param temp_dir: where stages spill to; by default as the command does.
    :param program: the program on the workers; by default what their variable READMILL names, else ``readmill``.
    :param retries: how often a stage may fail in a way that another run may heal.
    :param progress: False for none, or a function that gets each `Progress`; by default a line on a terminal.
    :param keep: keep the files of the stages at the end.
    :raises StageFailed: a stage failed; no output was written.
    :raises Lost: the scheduler was lost.
    :raises ValueError: no worker has the resource ``readmill``, or the line names no output.
    """
    started = time.monotonic()
    output = output_of(line)
    work = os.path.abspath(work)
    _check_workers(client)
    with _Tasks(client) as tasks:
        division = [word for name, n in (("shards", shards), ("ranges", ranges)) if n for word in (f"--{name}", str(n))]
        request = ["shard", "plan", "--work", work, *division, *line]
        planned = tasks.one("plan", _plan, request, program, work, os.getcwd())
        job = Job.read(planned["plan"], planned["graph"])
        options = {"threads": threads, "memory": memory, "temp_dir": temp_dir, "program": program}
        shown = printer(progress)
        stages, messages = _Driver(tasks, job, options, work, retries, shown, started).drive()
        if not keep:
            tasks.one("clean", _call, ["shard", "clean", "--work", work], program)
    return Result(os.path.abspath(output), time.monotonic() - started, tuple(stages), messages)


def _check_workers(client: Client) -> None:
    workers = client.scheduler_info(n_workers=-1)["workers"].values()
    if workers and not any(worker["resources"].get(RESOURCE) for worker in workers):
        raise ValueError(
            "no worker of this cluster has the resource readmill, so no stage can run. Start the workers with it: "
            "dask worker ADDRESS --resources readmill=1, or LocalCluster(resources={'readmill': 1})"
        )


class _Tasks:
    """Tasks on the cluster. At the end all that are left are cancelled, which ends their programs."""

    def __init__(self, client: Client) -> None:
        self.client = client
        #: A part of the keys of this call. A client that lost its scheduler cancels its tasks when it finds another one; so
        #: would a call beside this one, at its end.
        self.call = os.urandom(4).hex()
        self.ended: queue.Queue[Future] = queue.Queue()
        self.futures: dict[str, Future] = {}

    def __enter__(self) -> _Tasks:
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(Exception):  # a scheduler that is lost has no tasks
            self.client.cancel(list(self.futures.values()), force=True)

    def start(self, key: str, function: Callable, *arguments: Any, first: bool = False) -> Future:
        future = self.client.submit(
            _guarded, function, *arguments, key=key, pure=False, resources={RESOURCE: 1}, priority=int(first)
        )
        self.futures[key] = future
        future.add_done_callback(self.ended.put)
        return future

    def drop(self, future: Future) -> None:
        self.futures.pop(future.key, None)
        future.release()

    def one(self, name: str, function: Callable, *arguments: Any) -> Any:
        """Runs one task, and returns its result."""
        future = self.start(f"readmill-{name}-{os.urandom(8).hex()}", function, *arguments, first=True)
        others = []
        while (ended := self.wait(1.0)) is not future:
            others += [ended] if ended else []
        for other in others:  # they are taken later
            self.ended.put(other)
        try:
            return _result(future)
        finally:
            self.drop(future)

    def wait(self, seconds: float) -> Future | None:
        """The next task that has ended; None after so many seconds."""
        out_of_reach = time.monotonic()
        while True:
            try:
                return self.ended.get(timeout=seconds)
            except queue.Empty:
                if self.client.status == "running" and self.client.scheduler_comm is not None:
                    return None
                if time.monotonic() - out_of_reach > _PATIENCE:
                    raise Lost(_LOST) from None


def _result(future: Future) -> Any:
    """The result of a task that has ended."""
    if future.status in ("cancelled", "lost"):
        raise Lost(_LOST)
    try:
        result = future.result()
    except CommClosedError:  # the scheduler went away while it handed the result over
        raise Lost(_LOST) from None
    except (ModuleNotFoundError, RuntimeError) as error:
        causes = [error, error.__cause__]
        if not any(isinstance(cause, ModuleNotFoundError) and cause.name == "readmill" for cause in causes):
            raise
        raise ModuleNotFoundError(
            "the Python package readmill is not installed where the scheduler and the workers run; install it there, too",
            name="readmill",
        ) from None
    if isinstance(result, StageFailed):
        raise result
    return result


class _Driver:
    """Hands stages to the cluster as soon as they can run.

    The cluster keeps no results that matter: what is finished is what has its file in the directory of the job.
    """

    def __init__(self, tasks: _Tasks, job: Job, options: dict, work: str, retries: int, shown: Shown, started: float) -> None:
        self.tasks, self.job, self.options, self.work = tasks, job, options, work
        self.retries, self.shown, self.started = retries, shown, started
        self.finished: dict[str, StageRun] = {}
        self.attempts: dict[str, int] = {}
        self.under_way: dict[str, Stage] = {}
        self.messages = ""
        self.forecast = Forecast(job)
        self.places = 1

    def drive(self) -> tuple[list[StageRun], str]:
        with self.shown() as show:
            while len(self.finished) < len(self.job.stages):
                self._start()
                show(self._progress())
                future = self.tasks.wait(1.0)
                if future is not None and future.key in self.under_way:
                    self._take(self.under_way.pop(future.key), future)
            show(self._progress())
        return list(self.finished.values()), self.messages

    def _start(self) -> None:
        started = {stage.name for stage in self.under_way.values()} | self.finished.keys()
        for stage in self.job.ready(self.finished.keys(), started):
            attempt = self.attempts[stage.name] = self.attempts.get(stage.name, 0) + 1
            key = f"readmill-{stage.name.replace(' ', '-')}-{self.job.hash}-{attempt}-{self.tasks.call}"
            self.under_way[key] = stage
            self.tasks.start(key, _stage, list(stage.command), stage.file, self.options)

    def _take(self, stage: Stage, future: Future) -> None:
        try:
            ended = _result(future)
        except KilledWorker as error:
            self._again(stage, f"its workers died: {error}")
            return
        finally:
            self.tasks.drop(future)
        if ended["code"] == 0:
            del ended["code"]
            messages = ended.pop("messages")
            self.messages = messages if stage.kind == "join" else self.messages
            self.finished[stage.name] = StageRun(stage.name, attempts=self.attempts[stage.name], **ended)
        elif ended["code"] == program.MAY_HEAL or ended["code"] < 0:
            self._again(stage, ended["messages"], ended["code"])
        else:
            text = f"stage {stage.name} failed with exit code {ended['code']}:\n{ended['messages']}"
            raise StageFailed(text, ended["code"])

    def _again(self, stage: Stage, why: str, code: int = program.MAY_HEAL) -> None:
        """Has a stage run again, and those before it whose files are no longer there."""
        if self.attempts[stage.name] > self.retries:
            text = f"stage {stage.name} failed {self.attempts[stage.name]} times, the last time so:\n{why}"
            raise StageFailed(text, code if code > 0 else 128 - code)
        names = set(self.tasks.one("status", _finished, self.work, self.options["program"]))
        self.finished = {name: run for name, run in self.finished.items() if name in names}

    def _progress(self) -> Progress:
        with contextlib.suppress(OSError):  # a scheduler out of reach: the last number is as good
            workers = self.tasks.client.scheduler_info(n_workers=-1)["workers"].values()
            self.places = sum(int(worker["resources"].get(RESOURCE, 0)) for worker in workers)
        runs = self.finished.values()
        now = time.monotonic() - self.started
        return Progress(
            finished=len(runs),
            stages=len(self.job.stages),
            under_way=len(self.under_way),
            input_bytes=self.job.input_bytes,
            bytes_read=self.job.bytes_read(self.finished.keys()),
            bytes_written=sum(run.bytes for run in runs),
            seconds=now,
            seconds_left=self.forecast.seconds_left({run.name: run.seconds for run in runs}, self.places, now),
        )


# ---- What runs on the workers ----


def _guarded(function: Callable, *arguments: Any) -> Any:
    """Calls a function of these. A failure of the program is a result, since Dask logs errors as if tasks were defective."""
    try:
        return function(*arguments)
    except StageFailed as failure:
        return failure


def _plan(request: list[str], given: str | None, work: str, directory: str) -> dict:
    """Plans the job, or finds it planned; returns the plan and the list of stages."""
    if not os.path.isdir(directory):
        host = socket.gethostname()
        raise StageFailed(f"{host} has no directory {directory}, where the job is started: all machines need the same")
    _call(request, given, directory)
    graph = _call(["shard", "graph", "--work", work, "--format", "json"], given)
    with open(os.path.join(work, "job.json"), encoding="utf-8") as file:
        return {"plan": file.read(), "graph": graph}


def _call(arguments: list[str], given: str | None, directory: str | None = None) -> str:
    """Runs the program; returns what it writes."""
    ended = _run([program.find(given), *arguments], directory)
    if ended.code != 0:
        text = f"readmill {' '.join(arguments[:2])} failed with exit code {ended.code}:\n{ended.messages}"
        raise StageFailed(text, ended.code if ended.code > 0 else 128 - ended.code)
    return ended.output


def _finished(work: str, given: str | None) -> list[str]:
    """The names of the stages whose files are there."""
    rows = json.loads(_call(["shard", "status", "--work", work, "--format", "json"], given))
    return [row["name"] for row in rows if row["finished"]]


def _stage(command: list[str], file: str, options: dict) -> dict:
    """Runs a stage; returns how it ended."""
    threads = options["threads"] or get_worker().state.nthreads
    command = [program.find(options["program"]), *command[1:], "-@", str(threads), "--end-with", str(os.getpid())]
    if options["memory"]:
        command += ["-m", str(options["memory"])]
    if options["temp_dir"]:
        command += ["-T", options["temp_dir"]]
    ended = asdict(_run(command))
    del ended["output"]
    with contextlib.suppress(FileNotFoundError):
        ended["bytes"] = os.stat(file).st_size
    return {"bytes": 0, **ended, "host": socket.gethostname()}


def _run(command: list[str], directory: str | None = None) -> program.Ended:
    """Runs a command, and ends it when its task is cancelled or its worker stops."""
    worker = get_worker()
    key = worker.get_current_task()

    def is_cancelled() -> bool:
        task = worker.state.tasks.get(key)
        return task is None or task.state not in ("executing", "long-running") or worker.status.name != "running"

    try:
        return program.run(command, directory=directory, is_cancelled=is_cancelled)
    except FileNotFoundError as error:
        raise StageFailed(
            f"{socket.gethostname()} has no program {error.filename}. Install readmill there, or set READMILL to its path"
        ) from None
