"""The command ``python -m readmill.validate``."""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import shutil
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from . import document
from .chains import NEEDED, STEPS, Validation
from .programs import STOP_SIGNALS, find_program
from .workspace import READ_GROUP, Sample, is_cram, remove_files

_DESCRIPTION = """\
Run a sample through readmill and through samtools, Picard, GATK and bwa, compare the results, and write the evidence to
WORK/validation.html and WORK/validation.txt."""

_EPILOG = """\
exit codes: 0 no unexplained difference; 1 wrong usage; 3 a comparison could not be made (a program is missing or failed, the
disk is full); 4 unexplained differences; 128 + n stopped by signal n. docs/validation.md explains the document."""

#: A validation needs about this many times the bytes of its reads on disk.
_DISK_FACTOR = 8


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        """Prints the error, and ends with the exit code of readmill for wrong usage."""
        self.print_usage(sys.stderr)
        print(f"readmill validate: error: {message}", file=sys.stderr)
        sys.exit(document.USAGE)


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="python3 -m readmill.validate", description=_DESCRIPTION, epilog=_EPILOG, allow_abbrev=False)
    parser.add_argument("reads", nargs="?", type=_input_file, metavar="READS", help="the sample: a BAM, SAM or CRAM file")
    parser.add_argument("--work", required=True, type=Path, metavar="DIR", help="directory for the document and temporary files")
    inputs = parser.add_argument_group("inputs")
    inputs.add_argument(
        "--fastq", nargs="+", type=_input_file, metavar="FASTQ", help="one or two FASTQ files to align, instead of READS"
    )
    inputs.add_argument("--read-group", metavar="LINE", default=READ_GROUP, help="@RG line for --fastq [default: %(default)s]")
    inputs.add_argument("--reference", type=_input_file, metavar="FASTA", help="reference, plain or compressed by bgzip")
    inputs.add_argument(
        "--known-sites", action="append", type=_input_file, default=[], metavar="VCF", help="known variants; may be repeated"
    )
    inputs.add_argument("--targets", type=_input_file, metavar="FILE", help="targets, as BED or interval list")
    inputs.add_argument("--baits", type=_input_file, metavar="FILE", help="baits, as BED or interval list [default: the targets]")
    run = parser.add_argument_group("run")
    run.add_argument(
        "--steps",
        type=_steps,
        metavar="LIST",
        help=f"steps, separated by commas: {', '.join(STEPS)} [default: all that the inputs allow; with targets, no depths]",
    )
    run.add_argument(
        "--duplicate-mode",
        choices=("auto", "coordinate", "template"),
        default="auto",
        help="order in which duplicates are marked [default: the mode that readmill chooses]",
    )
    run.add_argument("--threads", type=_number, default=_processors(), metavar="N", help="threads of each program [default: all]")
    run.add_argument("--memory", metavar="SIZE", help="memory limit of readmill, such as 8G [default: readmill's own default]")
    run.add_argument("--first", type=_number, default=5, metavar="N", help="differing lines to show per text [default: 5]")
    run.add_argument("--keep", action="store_true", help="keep the temporary files in WORK/files")
    run.add_argument("--operator", default="", metavar="NAME", help="name for the document [default: the user's login name]")
    programs = parser.add_argument_group("programs", "a path, a .jar, or a command with its options [default: on the PATH]")
    for name in ("readmill", "samtools", "picard", "gatk", "bwa"):
        environment = " or in $READMILL" if name == "readmill" else ""
        programs.add_argument(f"--{name}", metavar="COMMAND", help=f"{name}{environment}")
    return parser


def _input_file(text: str) -> Path:
    path = Path(text).absolute()
    try:
        with open(path, "rb"):
            return path
    except OSError as error:
        raise argparse.ArgumentTypeError(f"{text} cannot be read: {error.strerror}") from None


def _number(text: str) -> int:
    if not text.isdecimal() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"{text} is not a positive number")
    return int(text)


def _steps(text: str) -> tuple[str, ...]:
    named = text.split(",")
    if unknown := [name for name in named if name not in STEPS]:
        raise argparse.ArgumentTypeError(f"{unknown[0]} is not a step: the steps are {', '.join(STEPS)}")
    return tuple(step for step in STEPS if step in named)


def _processors() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _choose_steps(given: argparse.Namespace) -> tuple[str, ...]:
    """Returns the steps that the user names, or all steps for which the inputs are given.

    :raises ValueError: a named step lacks an input.
    """
    has_reference = given.reference is not None
    has_inputs = {
        "align": bool(given.fastq) and has_reference,
        "depths": has_reference,
        "targets": given.targets is not None and has_reference,
        "recalibration": bool(given.known_sites) and has_reference,
    }
    if given.steps is None:
        chosen = [step for step in STEPS if has_inputs.get(step, True)]
        if "targets" in chosen:
            chosen.remove("depths")
        return tuple(chosen)
    for step in given.steps:
        if not has_inputs.get(step, True):
            raise ValueError(f"the step {step} needs {STEPS[step]}")
    implied = {"duplicates"} if {"statistics", "metrics", "depths", "targets", "recalibration"} & set(given.steps) else set()
    return tuple(step for step in STEPS if step in {*given.steps, *implied} or (step == "align" and given.fastq))


def _check(given: argparse.Namespace) -> None:
    """Checks what argparse cannot check.

    :raises ValueError: the text says what is wrong.
    """
    if bool(given.reads) == bool(given.fastq):
        raise ValueError("give either READS or --fastq")
    if given.fastq and (len(given.fastq) > 2 or given.reference is None):
        raise ValueError("--fastq needs one or two files, and --reference")
    if given.reads and given.reference is None and is_cram(given.reads):
        raise ValueError(f"{given.reads} is a CRAM file, which needs --reference")
    if given.baits and not given.targets:
        raise ValueError("--baits needs --targets")
    names = [path.name for path in [given.reference, *given.known_sites] if path]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise ValueError(f"two files have the name {twice}: rename one of them")
    if given.work.exists() and not given.work.is_dir():
        raise ValueError(f"--work {given.work} is not a directory")
    if (given.work / "files").exists():
        raise ValueError(f"{given.work / 'files'} exists: remove it, or give another directory to --work")


class _Stopped(BaseException):
    """A signal asks this program to stop."""


def _stop(number: int, _: object) -> NoReturn:
    raise _Stopped(number)


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs a validation, writes its document, and returns the exit code."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # an older locale lacks the quotes of the verdict
    words = list(sys.argv[1:] if arguments is None else arguments)
    parser = _parser()
    given = parser.parse_args(words)
    try:
        _check(given)
        steps = _choose_steps(given)
    except ValueError as error:
        parser.error(str(error))
    named = {"readmill": given.readmill or os.environ.get("READMILL")}
    named |= {"samtools": given.samtools, "Picard": given.picard, "GATK": given.gatk, "bwa": given.bwa}
    wanted = {"readmill", *(name for step in steps for name in NEEDED[step])}
    programs = {name: find_program(name, command) for name, command in named.items() if name in wanted}
    if not programs["readmill"].is_usable:
        parser.error(f"{programs['readmill'].problem}; name the program by --readmill")
    if {"Picard", "GATK"} & wanted:
        programs["Java"] = find_program("Java", None)
    sample = Sample(
        given.reads,
        tuple(given.fastq or ()),
        given.reference,
        tuple(given.known_sites),
        given.targets,
        given.baits,
        given.read_group,
    )
    files = given.work.absolute() / "files"
    validation = Validation(
        sample=sample,
        steps=steps,
        programs=programs,
        directory=files,
        threads=given.threads,
        memory=given.memory,
        duplicate_mode=given.duplicate_mode,
        first=given.first,
    )
    _catch_signals()
    try:
        # Another validation may have made this directory since the check, so it must not be removed if it exists now.
        files.mkdir(parents=True)
    except OSError as error:
        print(f"readmill validate: error: {files} cannot be made: {error.strerror}", file=sys.stderr)
        return document.INCOMPLETE
    try:
        _warn_of_space(sample, given.work)
        validation.run_all()
        if not given.keep:
            remove_files(files)  # first, because the disk may be too full for the document
        return _write(validation, given, ["python3", "-m", "readmill.validate", *words])
    except _Stopped as stopped:
        print("readmill validate: stopped", file=sys.stderr)
        return 128 + stopped.args[0]
    except OSError as error:
        print(f"readmill validate: error: {error}", file=sys.stderr)
        return document.INCOMPLETE
    finally:
        if not given.keep:
            remove_files(files)


def _catch_signals() -> None:
    """Makes signals stop the validation in order. `nohup` ignores SIGHUP, and this keeps it ignored."""
    for number in STOP_SIGNALS:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _stop)


def _warn_of_space(sample: Sample, work: Path) -> None:
    reads = sum(path.stat().st_size for role, path in sample.files() if role in ("reads", "FASTQ"))
    free = shutil.disk_usage(work).free
    if free < _DISK_FACTOR * reads:
        need = f"{_DISK_FACTOR * reads >> 20:,} MiB are needed, {free >> 20:,} MiB are free"
        print(f"readmill validate: warning: {work} may be too small: about {need}", file=sys.stderr)


def _write(validation: Validation, given: argparse.Namespace, command: Sequence[str]) -> int:
    """Writes the document, prints the verdict, and returns the exit code."""
    verdict = document.judge(validation)
    sections = document.make_sections(validation, command, given.operator)
    name = validation.sample.reads or validation.sample.fastq[0]
    title = f"Validation of readmill {validation.programs['readmill'].version} on {name.name}"
    text = document.render_text(title, verdict, sections)
    contents = {"validation.html": document.render_html(title, verdict, sections), "validation.txt": text}
    unfinished = {given.work / file: given.work / f".{file}.unfinished" for file in contents}
    try:
        for path, content in zip(unfinished.values(), contents.values(), strict=True):
            path.write_text(content, encoding="utf-8", errors="replace")
        for file, path in unfinished.items():
            path.replace(file)
    except OSError as error:
        print(text)
        print(f"readmill validate: error: the document cannot be written: {error}", file=sys.stderr)
        return max(verdict.exit_code, document.INCOMPLETE)
    finally:
        for path in unfinished.values():
            with contextlib.suppress(OSError):
                path.unlink(missing_ok=True)
    print("\n".join([verdict.title, *verdict.details]))
    print(f"The document is {given.work / 'validation.html'}, and as text {given.work / 'validation.txt'}.")
    return verdict.exit_code


if __name__ == "__main__":
    sys.exit(main())
