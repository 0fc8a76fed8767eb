"""Finds the programs of both sides, and runs them with a measurement of time and memory."""

from __future__ import annotations

import hashlib
import os
import re
import resource
import shlex
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO

from ..program import end_group, last_text, peak_bytes, reap_child

#: Maximum number of bytes of a program's messages that are kept: the last ones.
_MAX_LOG_BYTES = 1 << 20

#: Maximum number of lines of a program's messages in the document, and of characters in a line.
_MAX_MESSAGE_LINES = 15
_MAX_MESSAGE_WIDTH = 300

#: The signals that stop a validation in order.
STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)

#: Exit code of a command that cannot be started, as in a shell.
_CANNOT_RUN = 126

#: Arguments that make a program print its version, and the regular expression that finds it.
_VERSIONS = {
    "readmill": (["--version"], r"readmill (\S+)"),
    "samtools": (["--version"], r"samtools (\S+)"),
    # The version is a whole line: a message of Java about a class file contains numbers as well.
    "Picard": (["MarkDuplicates", "--version"], r"(?m)^(?:Version:)?v?(\d+\.\d+[\w.-]*)(?:\(.*\))?\s*$"),
    "GATK": (["--version"], r"\(GATK\) v(\S+)"),
    "bwa": ([], r"Version: (\S+)"),
    "Java": (["-version"], r'version "([^"]+)"'),
}

#: The versions that readmill claims to agree with, as docs/parity.md states them.
CLAIMED = {"samtools": "1.24", "Picard": "3.4.0", "GATK": "4.6.2.0", "bwa": "0.7.17"}


@dataclass
class Program:
    """A program of one side: how it is called, and its version."""

    name: str
    words: list[str]
    #: Path of the executable or the Java archive.
    path: str = ""
    version: str = ""
    #: SHA-256 of the executable or the Java archive.
    sha256: str = ""
    #: Why the program cannot be run; empty if it can.
    problem: str = ""

    @property
    def is_usable(self) -> bool:
        """Whether the program can be run."""
        return not self.problem

    @property
    def is_claimed_version(self) -> bool:
        """Whether readmill claims the same results as this version."""
        return self.name not in CLAIMED or re.split(r"[-+]", self.version)[0] == CLAIMED[self.name]


def find_program(name: str, given: str | None) -> Program:
    """Finds a program and its version.

    ``given`` is the user's command: a path, several words, or a ``.jar``. Without it, the program of this name on the
    PATH is taken.
    """
    try:
        words = shlex.split(given or name.lower())
    except ValueError as error:
        return Program(name, [given or ""], problem=f"{given} is not a command: {error}")
    if words and words[0].endswith(".jar"):
        words = ["java", "-jar", *words]
    if not words or (found := shutil.which(words[0])) is None:
        where = f"{words[0] if words else name} is not an executable file" if given else f"{name.lower()} is not on the PATH"
        return Program(name, words, problem=where)
    words[0] = os.path.abspath(found)
    # The programs run in another directory. An option such as -Dpath=a.jar stays as the user gives it.
    jars = [at for at, word in enumerate(words) if word.endswith(".jar") and not word.startswith("-")]
    for at in jars:
        words[at] = os.path.abspath(words[at])
    program = Program(name, words, words[jars[0]] if jars else os.path.realpath(found))
    arguments, pattern = _VERSIONS[name]
    try:
        asked = subprocess.run([*words, *arguments], capture_output=True, text=True, errors="replace", stdin=subprocess.DEVNULL)
        program.sha256 = sha256_of_file(Path(program.path))
    except OSError as error:
        program.problem = f"{program.path} cannot be run: {error.strerror}"
        return program
    stated = re.search(pattern, asked.stdout + asked.stderr)
    if stated is None:
        last = (asked.stderr or asked.stdout).strip().splitlines()[-1:] or ["no message"]
        program.problem = f"{shlex.join(words)} does not state a version of {name}: {last[0]}"
    else:
        program.version = stated[1]
    return program


def sha256_of_file(path: Path) -> str:
    """Returns the SHA-256 of a file, in hexadecimal."""
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


@dataclass
class Run:
    """One command, or several commands that are joined by pipes, and what it needed."""

    #: ``readmill``, or ``tools`` for the other side.
    side: str
    step: str
    #: The programs and their subcommands, such as ``samtools sort``.
    name: str
    commands: list[list[str]]
    #: File that receives standard output, relative to the directory of the run.
    output: str | None = None
    #: Exit code of the last command that failed; -N after signal N; 0 if all succeeded.
    code: int = 0
    seconds: float = 0.0
    cpu_seconds: float = 0.0
    #: Peak resident memory; the sum if several commands ran at the same time.
    peak_bytes: int = 0
    #: Whether ``peak_bytes`` is only an upper bound, because this process itself uses more memory.
    is_upper_bound: bool = False
    #: What was written to standard error.
    log: str = ""

    @property
    def succeeded(self) -> bool:
        """Whether all commands ended with exit code 0."""
        return self.code == 0

    @property
    def messages(self) -> str:
        """The last lines of standard error."""
        lines = self.log.splitlines()[-_MAX_MESSAGE_LINES:]
        return "\n".join(shorten(line.rstrip(), _MAX_MESSAGE_WIDTH) for line in lines)

    @property
    def line(self) -> str:
        """The command as a line of the shell."""
        line = " | ".join(shlex.join(words) for words in self.commands)
        return f"{line} > {shlex.quote(self.output)}" if self.output else line

    @property
    def ending(self) -> str:
        """How the command ended, as words."""
        if self.code < 0:
            return f"was ended by signal {-self.code} ({signal.Signals(-self.code).name})"
        return f"ended with exit code {self.code}"


def run_measured(run: Run, directory: Path, environment: Mapping[str, str]) -> Run:
    """Runs the commands of ``run`` in a directory, and adds how they ended and what they needed.

    If this process is interrupted, the commands are ended first.
    """
    begun = time.monotonic()
    own_peak = peak_bytes(resource.getrusage(resource.RUSAGE_SELF))
    children: list[subprocess.Popen[bytes]] = []
    with _open_log() as messages:
        try:
            output = open(directory / run.output, "wb") if run.output else messages
            try:
                _start(run.commands, directory, environment, output, messages, children)
            finally:
                if output is not messages:
                    output.close()
            for child in children:
                usage = reap_child(child)
                run.code = child.returncode or run.code
                run.cpu_seconds += usage.ru_utime + usage.ru_stime
                run.peak_bytes += peak_bytes(usage)
                # A child starts as a copy of this process, so no smaller peak can be measured.
                run.is_upper_bound |= peak_bytes(usage) <= own_peak
        except OSError as error:
            run.code = run.code or _CANNOT_RUN
            messages.write(f"{run.name} cannot be run: {error}\n".encode())
        finally:
            end_group(*children)
            run.seconds = time.monotonic() - begun
        run.log = last_text(messages, _MAX_LOG_BYTES)
    return run


def _open_log() -> IO[bytes]:
    """A file for messages. It is in memory if the system allows this, because the disk may be full."""
    if hasattr(os, "memfd_create"):
        return open(os.memfd_create("messages"), "w+b", buffering=0)
    return tempfile.TemporaryFile(buffering=0)


def _start(
    commands: Sequence[Sequence[str]],
    directory: Path,
    environment: Mapping[str, str],
    output: IO[bytes],
    messages: IO[bytes],
    children: list[subprocess.Popen[bytes]],
) -> None:
    """Starts all commands of a pipe, and adds them to ``children``."""
    before = None
    for number, words in enumerate(commands, 1):
        is_last = number == len(commands)
        # A signal that raises an exception between these two lines would leave a child that nobody ends.
        mask = signal.pthread_sigmask(signal.SIG_BLOCK, STOP_SIGNALS)
        try:
            child = subprocess.Popen(
                words,
                cwd=directory,
                env={**os.environ, **environment},
                stdin=before or subprocess.DEVNULL,
                stdout=output if is_last else subprocess.PIPE,
                stderr=messages,
                start_new_session=True,
                # The child would inherit the mask, and could then not be ended by SIGTERM.
                preexec_fn=partial(signal.pthread_sigmask, signal.SIG_SETMASK, mask),
            )
            children.append(child)
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        if before is not None:
            before.close()
        before = child.stdout


def shorten(text: str, max_characters: int) -> str:
    """Returns a text, or its start if it is too long."""
    return text if len(text) <= max_characters else text[: max_characters - 1] + "…"
