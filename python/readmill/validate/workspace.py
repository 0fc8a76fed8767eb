"""The directory of a validation: the sample, and the programs that run there."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from .programs import Program, Run, run_measured, sha256_of_file

#: The read group of FASTQ reads, if the user gives none.
READ_GROUP = r"@RG\tID:1\tSM:sample\tLB:library\tPL:ILLUMINA\tPU:unit"

#: The files of the indexes of `bwa` and of `readmill align`.
BWA_INDEX = (".amb", ".ann", ".bwt", ".pac", ".sa")
OUR_INDEX = (".amb", ".ann", ".pac", ".bwt.2bit.64")


@dataclass(frozen=True)
class Sample:
    """What the user gives: the reads, and the files that some steps need."""

    reads: Path | None
    fastq: tuple[Path, ...] = ()
    reference: Path | None = None
    known_sites: tuple[Path, ...] = ()
    targets: Path | None = None
    baits: Path | None = None
    read_group: str = READ_GROUP

    def files(self) -> list[tuple[str, Path]]:
        """All files with their role."""
        roles = [("reads", self.reads), *(("FASTQ", file) for file in self.fastq), ("reference", self.reference)]
        roles += [*(("known sites", file) for file in self.known_sites), ("targets", self.targets), ("baits", self.baits)]
        return [(role, file) for role, file in roles if file is not None]


@dataclass
class Workspace:
    """The sample and the programs of a validation, its directory, and what ran in it."""

    sample: Sample
    steps: tuple[str, ...]
    programs: Mapping[str, Program]
    #: The directory of all temporary files.
    directory: Path
    threads: int
    memory: str | None = None
    runs: list[Run] = field(default_factory=list)
    inputs: list[tuple[str, Path, int, str]] = field(default_factory=list)

    def _prepare(self) -> None:
        """Makes the folders, computes the checksums of the inputs, and links the inputs that need an index."""
        for folder in ("readmill", "tools", "inputs", "tmp", "bin"):
            (self.directory / folder).mkdir()
        script = self.directory / "bin/Rscript"
        script.write_text("#!/bin/sh\nexit 0\n")  # Picard starts R for charts, which are not compared.
        script.chmod(0o755)
        for role, path in self.sample.files():
            _say(f"checksum of {path}")
            self.inputs.append((role, path, path.stat().st_size, sha256_of_file(path)))
        self._link_inputs()

    # ---- Running ----

    def _run(self, side: str, step: str, *commands: Sequence[str | Path], output: str | None = None) -> Run:
        """Runs a command, or a pipe, and keeps the result."""
        run = Run(side, step, " | ".join(map(self._name, commands)), [list(map(str, words)) for words in commands], output)
        _say(f"{step}: {run.name} …")
        environment = {"TMPDIR": str(self.directory / "tmp")}
        if side == "tools":
            environment["PATH"] = f"{self.directory / 'bin'}{os.pathsep}{os.environ.get('PATH', os.defpath)}"
        self.runs.append(run_measured(run, self.directory, environment))
        _say(f"{step}: {run.name}: {run.seconds:.1f} s" if run.succeeded else f"{step}: {run.name} {run.ending}")
        return run

    def _name(self, words: Sequence[str | Path]) -> str:
        """The program of a command, and its subcommand."""
        for program in self.programs.values():
            if list(words[: len(program.words)]) == program.words:
                return f"{program.name} {words[len(program.words)]}"
        return Path(words[0]).name

    def _run_readmill(self, step: str, *words: str | Path) -> Run:
        memory = ["-m", self.memory] if self.memory else []
        return self._run("readmill", step, [*self.programs["readmill"].words, *words, "-@", str(self.threads), *memory])

    def _run_samtools(self, step: str, *words: str | Path, output: str | None = None) -> Run:
        return self._run("tools", step, [*self.programs["samtools"].words, *words], output=output)

    def _run_picard(self, step: str, program: str, *words: str) -> Run:
        common = ["VALIDATION_STRINGENCY=SILENT", "TMP_DIR=tmp"]
        return self._run("tools", step, [*self.programs["Picard"].words, program, *words, *common])

    def _run_gatk(self, step: str, *words: str | Path) -> Run:
        return self._run("tools", step, [*self.programs["GATK"].words, *words, "--tmp-dir", "tmp"])

    def _ask_readmill(self, words: Sequence[str]) -> tuple[int, str, str]:
        """Runs a command of readmill that is no part of either side, such as `compare`."""
        command = [*self.programs["readmill"].words, *words]
        ended = subprocess.run(
            command, cwd=self.directory, capture_output=True, text=True, errors="replace", stdin=subprocess.DEVNULL
        )
        return ended.returncode, ended.stdout, ended.stderr

    # ---- Inputs ----

    def _link_inputs(self) -> None:
        """Links the reference and the known sites into the directory, with their indexes, and makes missing indexes.

        The tools read indexes that are next to a file. The user's directory may not be writable, and must not change.
        """
        reference, samtools = self.sample.reference, self.programs["samtools"]
        if reference is not None:
            local = self._link(reference, (".fai", ".gzi", ".alt", *BWA_INDEX, ".bwt.2bit.64"))
            dictionary = self.directory / self._dictionary()
            if (theirs := Path(f"{_without_fasta(reference)}.dict")).exists():
                dictionary.symlink_to(theirs)
            if samtools.is_usable:
                needed = (".fai", ".gzi") if reference.suffix == ".gz" else (".fai",)
                if not has_parts(local, needed):
                    remove_links(local, needed)
                    self._run_samtools("preparation", "faidx", self._reference())
                if not dictionary.exists():
                    self._run_samtools("preparation", "dict", "-o", self._dictionary(), self._reference())
        for sites in self.sample.known_sites:
            local = self._link(sites, (".tbi", ".idx", ".csi"))
            has_index = any(Path(f"{local}{suffix}").exists() for suffix in (".tbi", ".idx"))
            if "recalibration" in self.steps and not has_index and self.programs["GATK"].is_usable:
                self._run_gatk("preparation", "IndexFeatureFile", "-I", self._local(sites))

    def _link(self, path: Path, suffixes: Sequence[str]) -> Path:
        local = self.directory / self._local(path)
        if not local.exists():
            local.symlink_to(path)
            for suffix in suffixes:
                if (index := Path(f"{path}{suffix}")).exists():
                    Path(f"{local}{suffix}").symlink_to(index)
        return local

    @staticmethod
    def _local(path: Path) -> str:
        return f"inputs/{path.name}"

    def _reference(self) -> str:
        assert self.sample.reference is not None
        return self._local(self.sample.reference)

    def _dictionary(self) -> str:
        assert self.sample.reference is not None
        return f"inputs/{_without_fasta(self.sample.reference).name}.dict"

    def _is_cram(self) -> bool:
        return self.sample.reads is not None and is_cram(self.sample.reads)

    def _cram_options(self) -> list[str]:
        return ["--reference", self._reference()] if self._is_cram() and self.sample.reference else []


def is_cram(path: Path) -> bool:
    """Whether a file begins as a CRAM file."""
    with open(path, "rb") as file:
        return file.read(4) == b"CRAM"


def has_parts(file: Path, suffixes: Sequence[str]) -> bool:
    """Whether all parts of an index of a file exist."""
    return all(Path(f"{file}{suffix}").exists() for suffix in suffixes)


def remove_links(file: Path, suffixes: Sequence[str]) -> None:
    """Removes links to parts of an index. A program that makes the index would write through them into the user's files."""
    for suffix in suffixes:
        if (link := Path(f"{file}{suffix}")).is_symlink():
            link.unlink()


def _without_fasta(path: Path) -> Path:
    """A FASTA path without its extensions, as the tools name its dictionary."""
    return (path.with_suffix("") if path.suffix == ".gz" else path).with_suffix("")


def _say(text: str) -> None:
    print(f"readmill validate: {text}", file=sys.stderr, flush=True)


def remove_files(directory: Path) -> None:
    """Removes the temporary files of a validation."""
    shutil.rmtree(directory, ignore_errors=True)
