"""Runs the program as a child process that never outlives its task."""

from __future__ import annotations

import os
import resource
import select
import signal
import subprocess
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

#: Bytes of messages that are kept: the last ones.
_MOST_TEXT = 64 << 10


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
            _end(child)
            raise
        return Ended(
            code=child.returncode,
            output=_text(output, None),
            messages=_text(messages, _MOST_TEXT),
            seconds=time.monotonic() - started,
            cpu_seconds=usage.ru_utime + usage.ru_stime,
            peak_memory_bytes=usage.ru_maxrss << 10,
        )


def _wait(child: subprocess.Popen, is_cancelled: Callable[[], bool]) -> resource.struct_rusage:
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
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    return usage


def _end(child: subprocess.Popen) -> None:
    """Ends the process group of a child: politely first."""
    for sign in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(child.pid, sign)
        except ProcessLookupError:
            pass
        try:
            child.wait(_GRACE)
            return
        except subprocess.TimeoutExpired:
            continue


def _text(file: IO[bytes], most: int | None) -> str:
    """The text in a file; with ``most``, only so many last bytes."""
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - most) if most else 0)
    return file.read().decode(errors="replace")
