"""Runs the program as a child process that never outlives its task."""

from __future__ import annotations

import contextlib
import os
import resource
import select
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import IO

#: Exit code of a failure that another run may heal, such as a full disk or a damaged file that was removed.
MAY_HEAL = 75

#: Seconds between two looks at whether a task was cancelled.
_LOOK = 0.2

#: Seconds that a program has to remove its temporary files before it is killed.
_GRACE = 10.0

#: Maximum number of bytes of messages that are kept: the last ones.
_MAX_MESSAGE_BYTES = 64 << 10

#: Bytes of a unit of ``ru_maxrss``.
_RSS_UNIT = 1 if sys.platform == "darwin" else 1024


class Cancelled(Exception):
    """The task was cancelled while its program ran. The program has been ended."""


@dataclass(frozen=True)
class Ended:
    """How a run of the program ended."""

    #: The exit code; -N after signal N.
    code: int
    #: What it wrote to standard output.
    output: str
    #: Its last messages, from standard error.
    messages: str
    #: Wall-clock seconds.
    seconds: float
    #: Seconds of CPU, in the program and in the system.
    cpu_seconds: float
    #: Peak resident memory in bytes.
    peak_memory_bytes: int


def find(program: str | None = None) -> str:
    """The program to run: the one that is given, else what READMILL names, else ``readmill`` on the PATH."""
    return program or os.environ.get("READMILL") or "readmill"


def run(
    command: Sequence[str],
    *,
    directory: str | None = None,
    environment: Mapping[str, str] | None = None,
    is_cancelled: Callable[[], bool] = lambda: False,
) -> Ended:
    """Runs a command to its end and returns how it ended.

    The program gets a process group of its own. When ``is_cancelled`` becomes true, the group is sent SIGTERM, and after
    ten seconds SIGKILL.

    Raises FileNotFoundError if there is no such program, and Cancelled.
    """
    started = time.monotonic()
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as messages:
        child = subprocess.Popen(
            command,
            cwd=directory,
            env={**os.environ, **(environment or {})},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=messages,
            start_new_session=True,
        )
        try:
            usage = _wait(child, is_cancelled)
        except BaseException:
            end_group(child)
            raise
        return Ended(
            code=child.returncode,
            output=last_text(output),
            messages=last_text(messages, _MAX_MESSAGE_BYTES),
            seconds=time.monotonic() - started,
            cpu_seconds=usage.ru_utime + usage.ru_stime,
            peak_memory_bytes=peak_bytes(usage),
        )


def _wait(child: subprocess.Popen[bytes], is_cancelled: Callable[[], bool]) -> resource.struct_rusage:
    """Waits for the end of a child; returns what it used."""
    ended = select.poll()
    descriptor = os.pidfd_open(child.pid)
    try:
        ended.register(descriptor, select.POLLIN)
        while not ended.poll(_LOOK * 1000):
            if is_cancelled():
                raise Cancelled(f"{child.args[0]} was ended, because its task was cancelled")
    finally:
        os.close(descriptor)
    return reap_child(child)


def reap_child(child: subprocess.Popen[bytes]) -> resource.struct_rusage:
    """Waits for the end of a child, sets its return code, and returns what it used."""
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    return usage


def peak_bytes(usage: resource.struct_rusage) -> int:
    """Returns the peak resident memory in bytes."""
    return usage.ru_maxrss * _RSS_UNIT


def end_group(*children: subprocess.Popen[bytes]) -> None:
    """Ends the process groups of children that still run: by SIGTERM, and after ten seconds by SIGKILL.

    Several children, such as the programs of a pipe, have these ten seconds at the same time.
    """
    for sign in (signal.SIGTERM, signal.SIGKILL):
        running = [child for child in children if child.returncode is None]
        for child in running:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(child.pid, sign)
        deadline = time.monotonic() + _GRACE
        for child in running:
            with contextlib.suppress(subprocess.TimeoutExpired):
                child.wait(max(0.0, deadline - time.monotonic()))


def last_text(file: IO[bytes], max_bytes: int | None = None) -> str:
    """Returns the text of a file: the whole text, or only its last bytes."""
    size = file.seek(0, os.SEEK_END)
    file.seek(0 if max_bytes is None else max(0, size - max_bytes))
    return file.read().decode(errors="replace")
