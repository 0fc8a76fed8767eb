"""How programs are run and ended, without a cluster."""

import io
import resource
import subprocess
import sys
import time

import pytest

from readmill import program
from readmill.program import Cancelled, end_group, last_text, peak_bytes, run

#: A program that says that it runs, ignores SIGTERM, and waits.
STUBBORN = ["sh", "-c", "trap '' TERM; echo ready; sleep 600 & wait"]


def started(*commands: list[str]) -> list[subprocess.Popen]:
    """Programs in process groups of their own, each of which has printed a line."""
    children = [subprocess.Popen(words, stdout=subprocess.PIPE, start_new_session=True) for words in commands]
    for child in children:
        assert child.stdout is not None and child.stdout.readline()
    return children


def test_programs_that_ignore_sigterm_are_killed_together(monkeypatch):
    monkeypatch.setattr(program, "_GRACE", 0.5)
    children = started(STUBBORN, STUBBORN, ["sh", "-c", "echo ready; exec sleep 600"])
    began = time.monotonic()
    end_group(*children)
    assert [child.returncode for child in children] == [-9, -9, -15]
    assert time.monotonic() - began < 5
    # A process that still ran in a group would hold the pipe open.
    assert [child.communicate()[0] for child in children] == [b""] * 3


def test_a_cancelled_program_is_ended(tmp_path):
    begun = tmp_path / "begun"
    command = ["sh", "-c", f"echo $$ >{begun}; exec sleep 600"]
    with pytest.raises(Cancelled):
        run(command, is_cancelled=lambda: begun.exists() and begun.read_text() != "")
    assert subprocess.run(["kill", "-0", begun.read_text().strip()], stderr=subprocess.DEVNULL).returncode != 0


def test_only_the_last_bytes_of_long_messages_are_kept():
    file = io.BytesIO(b"first\nlast\n")
    assert last_text(file) == "first\nlast\n"
    assert last_text(file, 5) == "last\n"
    assert last_text(file, 100) == "first\nlast\n"


def test_the_peak_of_memory_is_in_bytes():
    ended = run([sys.executable, "-c", "len(bytes(b'x' * (96 << 20)))"])
    assert ended.code == 0 and 96 << 20 < ended.peak_memory_bytes < 1 << 30
    assert peak_bytes(resource.getrusage(resource.RUSAGE_SELF)) > 1 << 20
