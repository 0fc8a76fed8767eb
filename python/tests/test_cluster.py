"""`readmill cluster`: its scripts run, and its exit codes are those of readmill.

SLURM is a script here; `./dev integrations slurm` has the real one.
"""

import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import SLOW, environment, is_running, processes_of, wait_until
from distributed import Security

from readmill.cluster import main, temporary_security


def command(*words) -> list[str]:
    return [sys.executable, "-m", "readmill.cluster", *map(str, words)]


@pytest.fixture
def call(readmill, tmp_path):
    """Runs `readmill cluster` in a directory of its own."""

    def run(*words, **variables) -> subprocess.CompletedProcess[str]:
        variables = environment() | {"READMILL": readmill} | variables
        return subprocess.run(command(*words), cwd=tmp_path, env=variables, capture_output=True, text=True, timeout=120)

    return run


#: The options of jobs of SLURM, but for their number.
JOB = ("--cores", "1", "--memory", "1100M", "--time", "10")


@pytest.fixture
def slurm(tmp_path, monkeypatch) -> Path:
    """Puts programs that stand for SLURM in front of the PATH; returns the directory of their jobs."""
    programs, jobs = tmp_path / "programs", tmp_path / "jobs"
    programs.mkdir()
    jobs.mkdir()
    for name in ("sbatch", "squeue", "scancel"):
        (programs / name).symlink_to(Path(__file__).with_name("fake_slurm.sh"))
    monkeypatch.setenv("PATH", f"{programs}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("FAKE_SLURM", str(jobs))
    monkeypatch.setenv("DASK_DISTRIBUTED__DEPLOY__LOST_WORKER_TIMEOUT", "1s")
    return jobs


def groups(jobs: Path) -> list[int]:
    """The process groups of all jobs."""
    return [int(file.read_text()) for file in sorted(jobs.glob("*/group"))]


def test_a_script_does_what_it_is_printed_for(bam, call, readmill, tmp_path):
    printed = call("local", "--workers", "2", "--cores", "1", "--", *bam.line(tmp_path / "out.bam"))
    assert printed.returncode == 0 and not (tmp_path / "out.bam").exists()
    (tmp_path / "job.py").write_text(printed.stdout)
    ran = subprocess.run([sys.executable, "job.py"], cwd=tmp_path, env=environment(), capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    assert bam.is_that_of(tmp_path / "out.bam")
    assert f"files of the stages are in {tmp_path}/out.bam.stages" in ran.stderr and "records read" in ran.stderr
    assert not (tmp_path / "out.bam.stages").exists()


def test_a_job_from_either_source_runs_at_once(sample, call, tmp_path):
    ran = call("local", "--run", "--workers", "2", *sample.line(tmp_path / "out.bam"))  # without --
    assert ran.returncode == 0, ran.stderr
    assert sample.is_that_of(tmp_path / "out.bam")


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("", "no command is given"),
        ("-- sort in.bam", "name the output by -o FILE"),
        ("-- sort in.bam -o -", "name a file by -o FILE"),
        ("-- sort in.bam -o x.bam -m4G", "each stage gets what --memory gives"),
        ("-- sort in.bam -o x.bam --threads=8", "each stage gets what --cores gives"),
        ("--memory much -- sort in.bam -o x.bam", "--memory much is not a size such as 64G"),
        ("--workers 0 -- sort in.bam -o x.bam", "0 is not a positive number"),
    ],
)
def test_what_cannot_be_is_said_before_anything_starts(capsys, line, said):
    try:
        code = main(["local", *line.split()])
    except SystemExit as error:
        code = error.code
    assert code == 1
    printed = capsys.readouterr()
    assert said in printed.err and not printed.out


def test_exit_codes_are_those_of_readmill(call, bam, tmp_path):
    ran = call("local", "--run", "--", "sort", "no-such.bam", "-o", "x.bam")
    assert ran.returncode == 3 and "no-such.bam cannot be read" in ran.stderr and "Traceback" not in ran.stderr
    ran = call("local", "--run", "--", "sort", bam.inputs[0], "-o", "x.bam", "--no-such-flag")
    assert ran.returncode == 1 and "--no-such-flag" in ran.stderr
    half = tmp_path / "half.bam"
    half.write_bytes(Path(bam.inputs[0]).read_bytes()[:-500])
    ran = call("local", "--run", "--", "sort", half, "-o", "x.bam")
    assert ran.returncode == 2 and "half.bam" in ran.stderr
    assert not (tmp_path / "x.bam").exists()


@pytest.mark.parametrize("sign", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_stages_and_the_same_command_goes_on(bam, slow, call, tmp_path, sign):
    (tmp_path / "begun.seconds").write_text("600")
    words = ["local", "--run", "--workers", "1", "--shards", "2", "--", *bam.line(tmp_path / "out.bam")]
    variables = environment() | {"READMILL": SLOW}
    # What a shell starts in the background ignores Ctrl-C, and so would its children.
    started = subprocess.Popen(
        command(*words), cwd=tmp_path, env=variables, stderr=subprocess.PIPE, text=True, start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )  # fmt: skip
    wait_until(lambda: processes_of(slow, "map"))
    # A terminal sends Ctrl-C to all processes of its job; SIGTERM goes to one.
    (os.killpg if sign == signal.SIGINT else os.kill)(started.pid, sign)
    said = started.communicate(timeout=60)[1]
    assert "run the same command again to continue" in said and "KeyboardInterrupt" not in said
    assert started.returncode == 128 + sign
    wait_until(lambda: not any(is_running(pid) for pid in processes_of(slow, "map")))
    (tmp_path / "begun.seconds").write_text("0")
    assert call(*words, READMILL=SLOW).returncode == 0
    assert bam.is_that_of(tmp_path / "out.bam")


def test_jobs_of_slurm_that_end_are_replaced(bam, slow, slurm, tmp_path):
    words = ["slurm", "--workers", "1", *JOB, "--shards", "3", "--run", "--", *bam.line(tmp_path / "out.bam")]
    variables = environment() | {"READMILL": SLOW}
    started = subprocess.Popen(command(*words), cwd=tmp_path, env=variables, stderr=subprocess.PIPE, text=True)
    wait_until(lambda: processes_of(slow, "map"))
    os.killpg(groups(slurm)[0], signal.SIGKILL)
    said = started.communicate(timeout=120)[1]
    assert started.returncode == 0, said
    assert bam.is_that_of(tmp_path / "out.bam")
    assert len(groups(slurm)) > 1, "no job was started in place of the one that was killed"
    wait_until(lambda: not any(is_running(group) for group in groups(slurm)))
    assert not (tmp_path / "out.bam.stages").exists()


def test_jobs_that_slurm_refuses_or_that_end_at_once_end_the_command(bam, call, slurm, tmp_path, readmill):
    line = bam.line(tmp_path / "out.bam")
    ran = call("slurm", "--workers", "2", *JOB, "--partition", "none", "--run", "--", *line)
    assert ran.returncode == 1 and "SLURM does not take the jobs: sbatch: error: invalid partition" in ran.stderr
    script = call("slurm", "--workers", "2", *JOB, "--", *line).stdout
    script = script.replace("processes=1,", "processes=1, python='/nowhere/python',")
    ran = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, env=environment(), capture_output=True, text=True)
    assert ran.returncode == 1 and "the jobs of SLURM ended before they reached tls://" in ran.stderr, ran.stderr
    assert not list((tmp_path / "out.bam.stages" / "slurm").glob("*.pem")), "keys are still there"


def test_the_script_of_slurm_says_what_was_asked_for(call, bam):
    options = ["--partition", "long", "--account", "a1", "--interface", "ib0", "--sbatch=--qos=high", "--sbatch=--exclusive"]
    words = ["--workers", "8", "--cores", "16", "--memory", "64G", "--time", "2:00:00", *options, "--ranges", "40"]
    script = call("slurm", *words, "--", "sort", "it's.bam", "-o", "x.bam").stdout
    compile(script, "job.py", "exec")
    for text in (
        '''COMMAND = ['sort', "it's.bam", '-o', 'x.bam']''',
        "cores=16,",
        "processes=1,",
        "memory='65536MiB',",
        "job_mem='65536M',",
        "walltime='2:00:00',",
        "queue='long',",
        "account='a1',",
        "interface='ib0',",
        "job_extra_directives=['--qos=high', '--exclusive'],",
        "adapt(minimum_jobs=8, maximum_jobs=8)",
        "work=WORK, ranges=40, memory='65024M', program=",
    ):
        assert text in script, script


def test_a_path_that_jobs_of_slurm_cannot_have_is_refused(call):
    ran = call("slurm", "--workers", "2", *JOB, "--work", "of mine", "--", "sort", "in.bam", "-o", "x.bam")
    assert ran.returncode == 1 and "must not have spaces" in ran.stderr and not ran.stdout


def test_keys_are_for_this_user_alone(tmp_path):
    (tmp_path / "key.pem").write_text("of somebody else")
    (tmp_path / "key.pem").chmod(0o666)
    security = temporary_security(str(tmp_path))
    assert isinstance(security, Security) and security.require_encryption
    for file in tmp_path.iterdir():
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        assert "-----BEGIN" in file.read_text()
    assert security.get_tls_config_for_role("worker")["key"] == str(tmp_path / "key.pem")
