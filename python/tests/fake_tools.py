#!/usr/bin/env python3
"""Stands for readmill, samtools, Picard, GATK and bwa in tests of `readmill.validate`: it depends on the name of the file.

A file of reads is SAM text. FAKE_FAIL names a command that fails with FAKE_CODE and FAKE_MESSAGE, such as
"picard MarkDuplicates", FAKE_CHANGE one whose output differs, FAKE_WAIT one that waits for FAKE_SECONDS.
"""

import os
import sys
import time
from pathlib import Path

NAME, WORDS = Path(sys.argv[0]).name, sys.argv[1:]
COMMAND = f"{NAME} {WORDS[0] if WORDS else ''}"
HEADER = "@HD\tVN:1.6\tSO:coordinate\n@SQ\tSN:c\tLN:900\n@PG\tID:aligner\n"


def option(name: str, default: str = "") -> str:
    """The value of an option such as -o FILE or I=FILE."""
    for word, after in zip(WORDS, [*WORDS[1:], ""], strict=True):
        if word == name:
            return after
        if name.endswith("=") and word.startswith(name):
            return word[len(name) :]
    return default


def is_changed(what: str = "") -> bool:
    return f"{COMMAND} {what}".strip() in os.environ.get("FAKE_CHANGE", "").split(",")


def reads(file: str) -> list[str]:
    return [line for line in Path(file).read_text().splitlines() if not line.startswith("@")]


def write_reads(file: str, records: list[str], source: str = "") -> None:
    """Writes reads below the header of another file, and a @PG line."""
    if is_changed():
        records = [records[0].replace("\t60\t", "\t59\t"), *records[1:]]
    if is_changed("order"):
        records = ["\t".join(line.split("\t")[:11] + line.split("\t")[11:][::-1]) for line in records]
    header = Path(source).read_text() if source else HEADER
    kept = [line for line in header.splitlines() if line.startswith("@")]
    Path(file).write_text("\n".join([*kept, f"@PG\tID:{NAME}", *records]) + "\n")


def by_position(file: str) -> list[str]:
    return sorted(reads(file), key=lambda line: int(line.split("\t")[3]))


def marked(file: str) -> list[str]:
    return [line.replace("\t99\t", "\t1123\t") for line in by_position(file)]


def recalibrated(records: list[str]) -> list[str]:
    return [line.replace("IIII", "HHHH") for line in records]


def write_index(*suffixes: str) -> None:
    """Writes the index of a reference, in existing files if there are some."""
    for suffix in suffixes:
        Path(f"{WORDS[1]}{suffix}").write_text(NAME)


def write_metrics(file: str, name: str) -> None:
    if is_changed(f"empty {name}"):
        Path(file).write_text(f"## comment\n# {NAME}\n\n")
        return
    value = "2" if is_changed(name) else "1"
    Path(file).write_text(f"## comment\n# {NAME}\n\n## METRICS CLASS\t{name}\nCOLUMN\tOTHER\n{value}\t5\n")


def write_statistics(file: str | None, name: str) -> None:
    text = f"# {NAME}\n{name}\t{'4' if is_changed(name) else '3'}\n" if name == "stats" else f"{name} 3\n"
    if file is None:
        print(text, end="")
    else:
        Path(file).write_text(text)


def compare() -> int:
    """Imitates the messages and exit codes of `readmill compare`."""
    files = WORDS[1:3]
    texts = [[line.split("\t") for line in reads(file)] for file in files]
    if "--ignore-tag" in WORDS:
        texts = [[[field for field in line if not field.startswith("PG:")] for line in text] for text in texts]
    ordered = [[line[:11] + sorted(line[11:]) for line in text] for text in texts]
    level = "L0" if texts[0] == texts[1] else "L1" if ordered[0] == ordered[1] else ""
    differing = sum(a != b for a, b in zip(*ordered, strict=False))
    print(f"level: {level}, the same" if level else "level: different")
    print(f"records: {len(texts[0])} in {files[0]}, {len(texts[1])} in {files[1]}")
    if level != "L0":
        only_order = sum(a != b for a, b in zip(*texts, strict=False)) - differing
        what = "MAPQ" if not level else ""
        if "--ignore-tag" not in WORDS and any(field.startswith("PG:") for line in ordered[0] for field in line):
            what = "PG"
        parts = [f"{what} {differing}"] * (differing > 0) + [f"only the order of tags {only_order}"] * (only_order > 0)
        total = differing + only_order
        print(f"{total} records differ from the record at the same position in the other file: {', '.join(parts)}")
    allowed = {"L0"} | ({"L1"} if option("--level") == "L1" else set())
    return 0 if level in allowed else 4


def readmill() -> int:
    output = option("-o")
    match WORDS[0]:
        case "--version":
            print("readmill 0.2.0")
        case "compare":
            return compare()
        case "view":
            file = next(word for word in WORDS[1:] if not word.startswith("-"))
            print("\n".join(line for line in Path(file).read_text().splitlines() if line.startswith("@")))
        case "index":
            write_index(".amb", ".ann", ".pac", ".bwt.2bit.64")
        case "align":
            write_reads(output, [f"{name}\t99\tc\t{5 - n}\t60\t4M\t*\t0\t0\tACGT\tIIII\tNM:i:0" for n, name in enumerate("ab")])
        case "sort":
            write_reads(output, by_position(WORDS[1]), WORDS[1])
            Path(f"{output}.bai").write_text("index")
        case "prep":
            print("readmill: duplicate mode template: every record of a duplicate template is flagged", file=sys.stderr)
            records = marked(WORDS[1])
            if "--gatk-drop-malformed" in WORDS:
                records = [line for line in records if "malformed" not in line]
            write_reads(output, recalibrated(records) if "--bqsr" in WORDS else records, WORDS[1])
            write_metrics(option("--metrics"), "duplicates")
            if table := option("--bqsr-table"):
                Path(table).write_text("table without malformed reads\n" if "--gatk-drop-malformed" in WORDS else "table\n")
            for name in ("flagstat", "idxstats", "stats"):
                if file := option(f"--{name}"):
                    write_statistics(file, name)
            for program in filter(None, option("--qc-metrics").split(",")):
                for extension in FILES[program]:
                    write_metrics(f"{option('--qc')}.{extension}", extension)
    return 0


FILES = {
    "CollectAlignmentSummaryMetrics": ["alignment_summary_metrics"],
    "CollectBaseDistributionByCycle": ["base_distribution_by_cycle_metrics"],
    "CollectInsertSizeMetrics": ["insert_size_metrics"],
    "MeanQualityByCycle": ["quality_by_cycle_metrics"],
    "QualityScoreDistribution": ["quality_distribution_metrics"],
    "CollectQualityYieldMetrics": ["quality_yield_metrics"],
    "CollectGcBiasMetrics": ["gc_bias.detail_metrics", "gc_bias.summary_metrics"],
    "CollectSequencingArtifactMetrics": [
        "pre_adapter_detail_metrics",
        "pre_adapter_summary_metrics",
        "bait_bias_detail_metrics",
        "bait_bias_summary_metrics",
        "error_summary_metrics",
    ],
    "CollectWgsMetrics": ["wgs_metrics"],
    "CollectHsMetrics": ["hs_metrics"],
}


def samtools() -> int:
    match WORDS[0]:
        case "--version":
            print("samtools 1.24\nUsing htslib 1.24")
        case "sort":
            write_reads(option("-o"), by_position(WORDS[-1]), WORDS[-1])
        case "view":
            Path(option("-o")).write_text(sys.stdin.read())
        case "index":
            Path(WORDS[-1] if len(WORDS) > 2 else f"{WORDS[1]}.bai").write_text("index")
        case "faidx":
            write_index(".fai")
        case "dict":
            Path(option("-o")).touch()
        case "flagstat" | "idxstats" | "stats":
            write_statistics(None, WORDS[0])
    return 0


def picard() -> int:
    if "--version" in WORDS:
        print("Version:3.4.0", file=sys.stderr)
        return 1
    output = option("O=")
    match WORDS[0]:
        case "MarkDuplicates":
            records = [f"{line}\tPG:Z:MarkDuplicates" for line in marked(option("I="))]
            write_reads(
                output, ["\t".join(line.split("\t")[:11] + line.split("\t")[11:][::-1]) for line in records], option("I=")
            )
            write_metrics(option("M="), "duplicates")
        case "CollectMultipleMetrics":
            programs = [word[len("PROGRAM=") :] for word in WORDS if word.startswith("PROGRAM=") and word != "PROGRAM=null"]
            if (failing := os.environ.get("FAKE_COLLECTOR")) in programs:
                print(f"Exception: {failing} fails here", file=sys.stderr)
                return 1
            for program in programs:
                for extension in FILES[program]:
                    if os.environ.get("FAKE_NO_FILE") != program:
                        write_metrics(f"{output}.{extension}", extension)
        case "BedToIntervalList":
            Path(output).write_text("intervals\n")
        case collector:
            write_metrics(output, FILES[collector][0])
    return 0


def gatk() -> int:
    match WORDS[0]:
        case "--version":
            print("The Genome Analysis Toolkit (GATK) v4.6.2.0")
        case "IndexFeatureFile":
            Path(f"{option('-I')}.idx").touch()
        case "BaseRecalibrator":
            Path(option("-O")).write_text("table\n")
        case "ApplyBQSR":
            records = [line for line in recalibrated(reads(option("-I"))) if "malformed" not in line]
            write_reads(option("-O"), records, option("-I"))
    return 0


def bwa() -> int:
    if not WORDS:
        print("Version: 0.7.17-r1188", file=sys.stderr)
        return 1
    if WORDS[0] == "index":
        write_index(".amb", ".ann", ".bwt", ".pac", ".sa")
    else:
        print(f"{HEADER}@PG\tID:bwa")
        for n, name in enumerate("ab"):
            print(f"{name}\t99\tc\t{5 - n}\t60\t4M\t*\t0\t0\tACGT\tIIII\tNM:i:0")
    return 0


if os.environ.get("FAKE_WAIT") == COMMAND:
    Path(os.environ["FAKE_WAITING"]).touch()
    time.sleep(float(os.environ.get("FAKE_SECONDS", "600")))
if os.environ.get("FAKE_FAIL") == COMMAND and "--version" not in WORDS:
    print(os.environ.get("FAKE_MESSAGE", f"{COMMAND}: No space left on device"), file=sys.stderr)
    sys.exit(int(os.environ.get("FAKE_CODE", "3")))
sys.exit({"readmill": readmill, "samtools": samtools, "picard": picard, "gatk": gatk, "bwa": bwa}[NAME]())
