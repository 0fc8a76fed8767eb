"""The scripts in packaging, without a build of readmill."""

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

PACKAGING = Path(__file__).parents[2] / "packaging"

if not PACKAGING.exists():
    pytest.skip("this is not a checkout of readmill", allow_module_level=True)


def load(name: str) -> ModuleType:
    """The script as a module."""
    specification = importlib.util.spec_from_file_location(name, PACKAGING / f"{name}.py")
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


def script(path: Path, text: str) -> Path:
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


def test_the_program_that_runs_readmill_is_found_on_the_path(tmp_path, monkeypatch):
    check = load("check")
    monkeypatch.setattr(check, "COMMANDS", [["--version"]])
    runner = script(tmp_path / "programs" / "imitate", 'echo "imitated by $1"; shift; exec "$@"')
    program = script(tmp_path / "readmill", "echo readmill $1")
    monkeypatch.setenv("PATH", str(runner.parent))
    check.run_commands(program, ["imitate", "this-cpu"], 1, tmp_path / "first")
    assert (tmp_path / "first/0.out").read_text() == "imitated by this-cpu\nreadmill --version\n"
    with pytest.raises(SystemExit, match="imitated is not an executable file"):
        check.run_commands(program, ["imitated"], 1, tmp_path / "second")


def test_a_program_must_not_name_a_folder_of_this_machine(tmp_path, monkeypatch):
    release = load("release")
    cargo, target = tmp_path / "cargo-elsewhere", tmp_path / "target-elsewhere"
    monkeypatch.setenv("CARGO_HOME", str(cargo))
    build = release.Build.__new__(release.Build)
    build.target, build.target_dir = "x86_64-unknown-linux-gnu", target
    build.program.parent.mkdir(parents=True)
    build.program.write_bytes(b"\0/cargo/registry/src/a.rs\0/readmill/src/main.rs\0")
    release.check_program(build)
    for folder in (cargo, target, Path.home(), PACKAGING.parent):
        build.program.write_bytes(f"\0{folder}/a.rs\0".encode())
        with pytest.raises(SystemExit):
            release.check_program(build)
