"""Measures the inputs of the cost model on this machine, with a program readmill, and writes them to a file.

    python experiments/cluster/measure.py target/release/readmill

Takes about three minutes. CPU time counts, so other work on the machine matters little.
"""

from __future__ import annotations

import argparse
import datetime
import gzip
import json
import math
import os
import platform
import random
import re
import shlex
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from inputs import MEASURED
from model import frame_bytes

#: Threads of each run.
THREADS = 2

#: Bytes of the number that each read in memory has.
STAMP = 8


@dataclass(frozen=True)
class Run:
    """A process that has ended."""

    wall: float
    cpu: float
    said: str

    def reads(self) -> int:
        """Reads that it says it has read."""
        return int(re.search(r"(\d+) records read", self.said)[1])


def run(program: Path, *words: object, cwd: Path, may_fail: bool = False) -> Run | None:
    """Runs the program to its end; None if it fails and may."""
    with tempfile.TemporaryFile() as log:
        began = time.monotonic()
        process = subprocess.Popen([program, *map(str, words)], cwd=cwd, stdout=log, stderr=log)
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.monotonic() - began
        process.returncode = os.waitstatus_to_exitcode(status)
        log.seek(0)
        said = log.read().decode()
    if process.returncode:
        if may_fail:
            return None
        sys.exit(f"{shlex.join(map(str, words))} failed:\n{said}")
    return Run(wall, usage.ru_utime + usage.ru_stime, said)


def footer_bytes(file: Path) -> int:
    """Bytes of the footer of a stage file."""
    with file.open("rb") as stage:
        stage.seek(-16, os.SEEK_END)
        return int.from_bytes(stage.read(8), "little")


class Job:
    """A command in stages, which are run one by one."""

    def __init__(self, program: Path, home: Path, name: str, slices: int, ranges: int, command: Sequence[object]):
        self.program, self.home, self.work = program, home, home / name
        words = ["shard", "plan", "--work", self.work, "--shards", slices, "--ranges", ranges, *command]
        self.planned = run(program, *words, "-@", THREADS, cwd=home, may_fail=True)
        if self.planned:
            self.graph = json.loads(run(program, "shard", "graph", "--work", self.work, "--format", "json", cwd=home).said)
            self.runs: dict[str, Run] = {}

    def stage(self, row: dict) -> Run:
        number = [] if row["number"] is None else [row["number"]]
        return run(self.program, "shard", row["stage"], "--work", self.work, *number, "-@", THREADS, cwd=self.home)

    def execute(self) -> Job:
        for row in self.graph:
            print(f"  {row['name']}", file=sys.stderr)
            self.runs[row["name"]] = self.stage(row) if row["number"] else self.least(row)
        # A stage that finds its file does nothing but start.
        self.found = min((self.stage(self.of("map")[0]) for _ in range(9)), key=lambda run: run.wall)
        return self

    def least(self, row: dict) -> Run:
        """The run of least CPU time of three of a stage; those of which there is one are short."""
        runs = []
        for _ in range(3):
            Path(row["file"]).unlink(missing_ok=True)
            runs.append(self.stage(row))
        return min(runs, key=lambda run: run.cpu)

    def of(self, kind: str) -> list[dict]:
        return [row for row in self.graph if row["stage"] == kind]

    def cpu(self, kind: str) -> float:
        """CPU seconds of all stages of a kind, without those of their starts."""
        return sum(max(0.0, self.runs[row["name"]].cpu - self.found.cpu) for row in self.of(kind))

    def busy(self, kind: str) -> float:
        """Cores that it kept busy."""
        runs = [self.runs[row["name"]] for row in self.of(kind)]
        return sum(run.cpu for run in runs) / sum(run.wall for run in runs)

    def bytes(self, kind: str) -> int:
        return sum(os.path.getsize(row["file"]) for row in self.of(kind))

    def footers(self, kind: str) -> int:
        """Bytes of the footers of a kind's files (their format: src/shard/stage_file.rs)."""
        return sum(footer_bytes(Path(row["file"])) for row in self.of(kind))


def known_sites(reference: Path, into: Path, every: int = 1000) -> int:
    """Writes a VCF with a site at one of so many bases, with lines as long as those of dbSNP; returns how many."""
    info = "RS={0};RSPOS={0};dbSNPBuildID=138;SSR=0;SAO=0;VP=0x050000000005000002000100;WGT=1;VC=SNV;ASP;KGPhase1;CAF=0.9,0.1;COMMON=1"
    sites = 0
    chance = random.Random(1)
    with into.open("w") as vcf:
        print("##fileformat=VCFv4.2\n#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO", file=vcf)
        for contig in reference.read_text().split(">")[1:]:
            title, *lines = contig.splitlines()
            bases = "".join(lines)
            for place in range(chance.randrange(1, every), len(bases), every):
                base, other = bases[place].upper(), "C" if bases[place] in "aA" else "A"
                if base in "ACGT":
                    sites += 1
                    line = [title.split()[0], place + 1, f"rs{place}", base, other, ".", ".", info.format(place)]
                    print(*line, sep="\t", file=vcf)
    return sites


def bgzf(source: Path, into: Path) -> None:
    """Compresses a file as bgzip does: gzip members of at most 64 KiB that say how long they are."""
    with source.open("rb") as plain, into.open("wb") as packed:
        while True:
            piece = plain.read(0xFF00)
            packer = zlib.compressobj(6, zlib.DEFLATED, -15)
            data = packer.compress(piece) + packer.flush()
            packed.write(b"\x1f\x8b\x08\x04\0\0\0\0\0\xff\x06\0BC\x02\0" + (len(data) + 25).to_bytes(2, "little"))
            packed.write(data + zlib.crc32(piece).to_bytes(4, "little") + len(piece).to_bytes(4, "little"))
            if not piece:
                return


class Measurements:
    """What was measured so far."""

    def __init__(self):
        self.values: dict[str, dict[str, object]] = {}

    def add(self, name: str, value: float, how: str) -> None:
        self.values[name] = {"value": float(f"{value:.4g}"), "from": how}
        print(f"{name} = {value:.4g} ({how})", file=sys.stderr)


def measure_bam(program: Path, home: Path, pairs: int, found: Measurements) -> None:
    """One run and stages from BAM, without and with recalibration."""
    run(program, "demo", "--pairs", pairs, "-o", "bam", cwd=home)
    reference, reads = home / "fastq/ref.fa", home / "bam/reads.bam"
    run(program, "dict", reference, "-o", home / "fastq/ref.dict", cwd=home)
    known_sites(reference, home / "known.vcf")
    sort = ["prep", reads, "--sort", "coordinate", "--mark-duplicates", "-m", "1G"]
    recalibrated = [*sort, "--reference", reference, "--bqsr", "--known-sites", home / "known.vcf"]
    one = run(program, *sort, "-o", "one.bam", "-@", THREADS, cwd=home)
    bqsr = run(program, *recalibrated, "-o", "one.bqsr.bam", "-@", THREADS, cwd=home)
    count = one.reads()
    how = f"{count:,} reads"

    def each(seconds: float) -> float:
        return seconds / count * 1e6

    found.add("one_cpu", each(one.cpu), how)
    found.add("one_bqsr_cpu", each(bqsr.cpu - one.cpu), how)
    found.add("bam_bytes", reads.stat().st_size / count, how)
    found.add("out_bytes", (home / "one.bam").stat().st_size / count, how)

    job = Job(program, home, "stages", 8, 8, [*sort, "-o", "stages.bam"]).execute()
    how = f"{how}, {len(job.of('map'))} slices, {len(job.of('write'))} ranges"
    for kind in ("map", "cut", "judge", "write", "join"):
        found.add(f"{kind}_cpu", each(job.cpu(kind)), how)
    for kind in ("map", "write"):
        print(f"{kind}: {job.busy(kind):.2f} of {THREADS} cores busy", file=sys.stderr)
    run(program, "view", "-u", reads, "-o", "raw.bam", cwd=home)
    raw = (home / "raw.bam").stat().st_size + STAMP * count
    found.add("raw_bytes", raw / count, "`view -u`, and the number of the read")
    found.add("judge_bytes", job.bytes("judge") / count, how)
    cpus = [job.runs[row["name"]].cpu for row in job.of("map")]
    found.add("spread_measured", statistics.stdev(math.log(cpu) for cpu in cpus), f"CPU time of {len(cpus)} slices")
    found.add("start", job.found.wall, "a stage that finds its file, minimum of 9")
    plain = Job(program, home, "unmarked", 8, 8, ["sort", reads, "-o", "unmarked.bam", "-m", "1G"]).execute()
    frames = raw / frame_bytes(len(plain.of("map")))
    found.add("frame_entry", plain.footers("map") / frames, "footers of the files of `map`")
    found.add("run_bytes", plain.bytes("map") / count, "without `--mark-duplicates`")
    found.add("ends_bytes", (job.bytes("map") - plain.bytes("map")) / count, "increase with `--mark-duplicates`")

    again = Job(program, home, "recalibrated", 8, 8, [*recalibrated, "-o", "recalibrated.bam"]).execute()
    found.add("count_cpu", each(again.cpu("count")), how)
    tables = len(again.of("count"))
    found.add("table_cpu", again.cpu("table") / tables, f"{tables} files of `count`")
    found.add("count_bytes", again.bytes("count") / tables, "mean of the files of `count`")
    found.add("write_bqsr_cpu", each(again.cpu("write") - job.cpu("write")), how)
    for mine, whole in (("stages.bam", "one.bam"), ("recalibrated.bam", "one.bqsr.bam")):
        if (home / mine).read_bytes()[-4096:] != (home / whole).read_bytes()[-4096:]:
            sys.exit(f"{mine} and {whole} differ")

    # Many slices of a small file: what each slice costs beside its reads.
    many = Job(program, home, "many", 512, 512, [*sort, "-o", "many.bam"])
    slices = len(many.of("map"))
    found.add("plan", many.planned.wall / slices, f"`shard plan` of {slices} slices")
    run(program, "shard", "map", "--work", many.work, f"1..{slices}", "-@", THREADS, "-q", cwd=home)
    for name in ("cut", "judge"):
        run(program, "shard", name, "--work", many.work, "-q", cwd=home)
    opened = min(run(program, "shard", "write", "--work", many.work, 1 + n, "-q", cwd=home).wall for n in range(5))
    found.add("open_local", max(0.0, opened - found.values["start"]["value"]) / slices, f"`write` over {slices} slices")


def measure_sites(program: Path, home: Path, found: Measurements) -> None:
    """What each known site costs each `count`, which reads all of them."""
    reference = home / "fastq/ref.fa"
    sites, cpu = [], []
    for name, every in (("few", 10_000), ("many", 20)):
        text, packed = home / f"{name}.vcf", home / f"{name}.vcf.gz"
        sites.append(known_sites(reference, text, every))
        bgzf(text, packed)
        command = ["prep", home / "fastq/prepared.bam", "-o", f"{name}.bam", "--sort", "coordinate"]
        command += ["--reference", reference, "--bqsr", "--known-sites", packed]
        job = Job(program, home, f"sites-{name}", 2, 2, command)
        for row in [*job.of("map"), *job.of("cut")]:
            job.stage(row)
        cpu.append(job.least(job.of("count")[0]).cpu)
    how = f"`count`, {sites[1]:,} sites in compressed VCF, compared with {sites[0]:,} sites"
    found.add("site_cpu", (cpu[1] - cpu[0]) / (sites[1] - sites[0]) * 1e6, how)


def make_fastq(program: Path, home: Path, pairs: int) -> None:
    """Simulates a genome with its index, and FASTQ in BGZF and in plain gzip."""
    run(program, "demo", "--fastq", "--pairs", pairs, "-o", "fastq", cwd=home)
    for name in ("reads_1", "reads_2"):
        file = home / "fastq" / f"{name}.fq"
        bgzf(file, home / f"{name}.bgzf.fq.gz")
        with file.open("rb") as plain, gzip.open(home / f"{name}.gzip.fq.gz", "wb", compresslevel=6) as packed:
            shutil.copyfileobj(plain, packed)


def measure_fastq(program: Path, home: Path, pairs: int, found: Measurements) -> None:
    """The aligner, and stages from FASTQ if the program has them."""
    reference, count = home / "fastq/ref.fa", 2 * pairs
    bases = sum(len(line) for line in reference.read_text().splitlines() if not line.startswith(">"))
    how = f"{count:,} reads, a genome of {bases / 1e6:.0f} million bases"
    index = sum(file.stat().st_size for file in home.glob("fastq/ref.fa.[abps]*"))
    found.add("index_bytes", index / bases, f"a genome of {bases / 1e6:.0f} million bases")
    packed = {name: sorted(home.glob(f"reads_*.{name}.fq.gz")) for name in ("bgzf", "gzip")}
    found.add("fastq_bytes", sum(file.stat().st_size for file in packed["gzip"]) / count, f"{count:,} reads, gzip -6")
    for name, files in packed.items():
        command = ["align", reference, *files, "-o", f"{name}.bam", "--sort", "coordinate", "--mark-duplicates"]
        job = Job(program, home, name, 4, 4, command)
        if job.planned is None:
            break
        job.execute()
        if not job.of("scan"):
            sys.exit(f"{program} plans FASTQ without `scan`, which the model expects")
        found.add(f"scan_{name}_cpu", job.cpu("scan") / count * 1e6, f"{count:,} reads")
        print(f"scan of {name}: {job.busy('scan'):.2f} of {THREADS} cores busy", file=sys.stderr)
        mapped = job.cpu("map") / count * 1e6
        found.add("align_small_cpu", mapped - found.values["map_cpu"]["value"], f"difference between `map` from FASTQ and `map` from BAM, {how}")
    else:
        return
    print("this program cannot plan `align`: stages of FASTQ stay a model", file=sys.stderr)
    one = run(program, "align", reference, *packed["gzip"], "-o", "aligned.bam", "-@", THREADS, cwd=home)
    view = run(program, "view", "-b", "aligned.bam", "-o", "viewed.bam", "-@", THREADS, cwd=home)
    found.add("align_small_cpu", (one.cpu - view.cpu) / count * 1e6, f"`align` less `view -b`, {how}")


def machine() -> dict[str, object]:
    """What this machine is."""
    models = re.findall(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text())
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    cores = os.cpu_count()
    return {
        "processor": models[0] if models else platform.machine(),
        "cores": cores,
        "memory_gb": round(memory / 1e9, 1),
        "system": platform.release().split("-")[0],
        "load": round(os.getloadavg()[0], 1),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", type=Path, help="readmill, a release build")
    parser.add_argument("-o", "--output", type=Path, default=MEASURED, metavar="FILE", help="[default: measured.json]")
    parser.add_argument("--pairs", type=int, default=1_000_000, help="of BAM [default: 1000000]")
    parser.add_argument("--fastq-pairs", type=int, default=100_000, help="of FASTQ, which are aligned [default: 100000]")
    parser.add_argument("--directory", type=Path, help="where to work [default: that of temporary files]")
    arguments = parser.parse_args()
    program = arguments.program.resolve()
    version = subprocess.run([program, "--version"], check=True, capture_output=True, text=True).stdout.strip()
    here, found = machine(), Measurements()
    with tempfile.TemporaryDirectory(dir=arguments.directory) as home:
        make_fastq(program, Path(home), arguments.fastq_pairs)
        measure_bam(program, Path(home), arguments.pairs, found)
        measure_sites(program, Path(home), found)
        measure_fastq(program, Path(home), arguments.fastq_pairs, found)
    # Dask is measured by a program of its own, since it needs a cluster: the middle of what docs/cluster.md says.
    found.add("task", 0.0065, "`python/tests/overhead.py`: 4 to 9 ms")
    result = {
        "date": datetime.date.today().isoformat(),
        "program": version,
        "machine": here,
        "threads": THREADS,
        "values": dict(sorted(found.values.items())),
    }
    arguments.output.write_text(json.dumps(result, indent=2) + "\n")
    print(f"wrote {arguments.output}", file=sys.stderr)


if __name__ == "__main__":
    main()
