"""Runs a readmill program through its main commands, by default in an empty chroot, and lists the SHA-256 of each output.

With --compare-with, also runs a second program, and fails if any output differs. With --under, another program such as
`qemu-aarch64` runs it, in a plain folder.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import shlex
import shutil
import stat
import subprocess
import sys
import tempfile
import time
from pathlib import Path

READ_GROUP = r"@RG\tID:g1\tSM:s1\tLB:lib1\tPL:ILLUMINA\tPU:u1"
COMMANDS = [
    ["--version"],
    ["demo", "--fastq", "--pairs", "{pairs}", "-o", "demo"],
    ["align", "demo/ref.fa", "demo/reads_1.fq", "demo/reads_2.fq", "-R", READ_GROUP, "-o", "aligned.bam"],
    ["sort", "aligned.bam", "-o", "sorted.bam", "-m", "200M", "--report", "sort.html"],
    ["sort", "-n", "aligned.bam", "-o", "names.bam", "-m", "200M"],
    ["markdup", "sorted.bam", "-o", "marked.bam", "--metrics", "duplicates.txt"],
    ["bqsr", "table", "marked.bam", "--reference", "demo/ref.fa", "--known-sites", "sites.bed", "-o", "errors.table"],
    ["bqsr", "apply", "--bqsr-table", "errors.table", "marked.bam", "-o", "recalibrated.bam"],
    ["view", "-h", "marked.bam", "-o", "marked.sam"],
    ["view", "-C", "-T", "demo/ref.fa", "marked.bam", "-o", "marked.cram"],
    ["qc", "marked.bam", "--reference", "demo/ref.fa", "-o", "qc", "--fastqc", "fastqc", "--coverage", "--report", "qc.html"],
    ["flagstat", "marked.bam"],
]
# They name times and the processor.
NOT_COMPARED = {"sort.html", "qc.html", "0.out", "1.out", "readmill"}


def run_commands(program: Path, under: list[str], pairs: int, folder: Path) -> float:
    """Runs all commands in a new folder. Returns the seconds that they took."""
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "tmp").mkdir(parents=True)
    (folder / "dev").mkdir()
    shutil.copy(program, folder / "readmill")
    in_chroot = not under
    if under:
        # The commands run without a PATH, so this program would be looked for only in /bin and /usr/bin.
        found = shutil.which(under[0]) or sys.exit(f"{under[0]} is not an executable file, and not on the PATH")
        under = [os.path.abspath(found), *under[1:]]
    if in_chroot:
        os.mknod(folder / "dev" / "null", 0o666 | stat.S_IFCHR, os.makedev(1, 3))
    began = time.monotonic()
    for at, words in enumerate(COMMANDS):
        command = [it.replace("{pairs}", str(pairs)) for it in words]
        if "sites.bed" in command:
            contig = (folder / "demo/ref.fa").open().readline()[1:].split()[0]
            (folder / "sites.bed").write_text("".join(f"{contig}\t{at}\t{at + 1}\n" for at in range(1000, 100000, 97)))
        start = ["/readmill"] if in_chroot else [*under, str(folder / "readmill")]
        # Inside the chroot there is no /proc and no file of the system but /dev/null, where `qc` writes the reads.
        enter = (lambda: (os.chroot(folder), os.chdir("/"))) if in_chroot else None
        with (folder / f"{at}.out").open("wb") as text:
            done = subprocess.run(
                [*start, *command], cwd=folder, env={"TMPDIR": "tmp"}, stdin=subprocess.DEVNULL, stdout=text,
                stderr=subprocess.PIPE, preexec_fn=enter, text=False,
            )
        if done.returncode != 0:
            sys.exit(f"{shlex.join(command)}: exit code {done.returncode}\n{done.stderr.decode(errors='replace')}")
    return time.monotonic() - began


def digests(folder: Path) -> dict[str, str]:
    """Returns the SHA-256 of each file that does not depend on the time or the machine."""
    found = sorted(it for it in folder.rglob("*") if it.is_file() and it.relative_to(folder).as_posix() not in NOT_COMPARED)
    return {it.relative_to(folder).as_posix(): hashlib.sha256(it.read_bytes()).hexdigest() for it in found}


def main() -> None:
    """Reads the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", type=Path)
    parser.add_argument("--under", default="", metavar="WORDS", help="command that runs it, such as 'qemu-x86_64 -cpu Nehalem'")
    parser.add_argument("--compare-with", type=Path, metavar="PROGRAM", help="native program that must write the same bytes")
    parser.add_argument("--pairs", type=int, default=20000, metavar="N", help="read pairs to simulate [default: 20000]")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        first = Path(scratch) / "first"
        seconds = run_commands(args.program.resolve(), shlex.split(args.under), args.pairs, first)
        mine = digests(first)
        for name, digest in mine.items():
            print(f"{digest}  {name}")
        print(f"{len(COMMANDS)} commands, {len(mine)} files, {seconds:.1f} s")
        if args.compare_with:
            # With words before it, so that it runs outside a chroot: it may need libraries.
            second = Path(scratch) / "second"
            seconds = run_commands(args.compare_with.resolve(), ["env"], args.pairs, second)
            theirs = digests(second)
            differing = sorted(name for name in mine.keys() | theirs.keys() if mine.get(name) != theirs.get(name))
            print(f"{args.compare_with}: {seconds:.1f} s; {len(differing)} files differ {' '.join(differing)}")
            sys.exit(bool(differing))


if __name__ == "__main__":
    main()
