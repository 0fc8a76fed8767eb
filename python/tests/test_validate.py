"""`readmill.validate`: its verdicts, its document, and what happens if a program is missing or fails.

Programs that print prepared results stand for all tools, so these tests are fast. The last test runs the real tools.
"""

import os
import re
import resource
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import READMILL, environment, wait_until

from readmill.validate import chains, programs
from readmill.validate.chains import STEPS
from readmill.validate.comparisons import (
    DIFFERENT,
    EXPLAINED,
    SAME,
    Comparison,
    compare_bytes,
    compare_dictionaries,
    compare_program_lines,
    compare_texts,
    explain_library_size,
    explain_statistics,
    is_left_out,
    is_long_read,
    is_no_comment,
)
from readmill.validate.programs import Run, find_program, run_measured
from readmill.validate.rows import ROWS, row_of_error

DOCS = Path(__file__).parents[2] / "docs"

HEADER = "@HD\tVN:1.6\n@SQ\tSN:c\tLN:900\n@PG\tID:aligner\n"
READS = [f"{name}\t99\tc\t{5 - n}\t60\t4M\t*\t0\t0\tACGT\tIIII\tNM:i:0\tMD:Z:4" for n, name in enumerate("abc")]


class Laboratory:
    """A directory with a sample, and programs that stand for the tools."""

    def __init__(self, home: Path):
        self.home = home
        (home / "programs").mkdir()
        for name in ("readmill", "samtools", "picard", "gatk", "bwa"):
            program = home / "programs" / name
            program.write_text(f"#!{sys.executable}\n{Path(__file__).with_name('fake_tools.py').read_text()}")
            program.chmod(0o755)
        (home / "in.sam").write_text(HEADER + "\n".join(READS) + "\n")
        (home / "in.cram").write_bytes(b"CRAM\3\0")
        (home / "ref.fa").write_text(">c\nACGT\n")
        (home / "known.vcf").write_text("##fileformat=VCFv4.2\n")
        (home / "targets.bed").write_text("c\t1\t5\n")
        for name in ("1.fq", "2.fq"):
            (home / name).write_text("@a\nACGT\n+\nIIII\n")

    def remove(self, program: str) -> None:
        (self.home / "programs" / program).unlink()

    def command(self, *words: str) -> list[str]:
        return [sys.executable, "-m", "readmill.validate", "--work", "work", *words]

    def variables(self, **more: str) -> dict[str, str]:
        variables = environment() | {"PATH": f"{self.home / 'programs'}:/usr/bin:/bin"} | more
        variables.pop("READMILL", None)
        return variables

    def validate(self, *words: str, **variables: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            self.command(*words), cwd=self.home, env=self.variables(**variables), capture_output=True, text=True, timeout=120
        )

    @property
    def text(self) -> str:
        return (self.home / "work/validation.txt").read_text()

    @property
    def html(self) -> str:
        return (self.home / "work/validation.html").read_text()

    def results(self) -> dict[str, str]:
        """The result of each comparison, by step and what was compared."""
        part = self.text.partition("\nWhat was compared\n")[2].partition("\n\nwhat must be equal")[0]
        rows = [re.split(r" {2,}", line.strip()) for line in part.splitlines() if re.match(r" *\d+ ", line)]
        return {f"{row[1]}: {row[2]}": row[-1] for row in rows}


@pytest.fixture
def laboratory(tmp_path) -> Laboratory:
    return Laboratory(tmp_path)


ALL = ("--reference", "ref.fa", "--known-sites", "known.vcf")


def test_equal_results_have_a_document_and_exit_code_0(laboratory):
    ended = laboratory.validate("in.sam", *ALL, "--operator", "Ada <Lab>", "--threads", "3")
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.startswith("Differences explained by rows 5, 6 and 60; no others\n")
    results = laboratory.results()
    assert len(results) == 26
    assert results["sort: sorted reads"] == "no difference"
    assert results["duplicates: sorted reads with duplicate marks"] == "explained: rows 5, 6"
    assert results["recalibration: recalibrated reads"] == "explained: rows 5, 6, 60"
    assert results["metrics: Picard gc_bias.summary_metrics"] == "no difference"
    assert results["depths: Picard wgs_metrics"] == "no difference"
    digest = subprocess.run(["sha256sum", laboratory.home / "in.sam"], capture_output=True, text=True).stdout.split()[0]
    for document in (" ".join(laboratory.text.split()), laboratory.html):
        assert "samtools" in document and "1.24" in document and "4.6.2.0" in document and "3 for each program" in document
        assert digest in document and ROWS[5].theirs in document
        assert "MarkDuplicates I=" in document and "--duplicate-mode auto" in document
    assert "Ada &lt;Lab&gt; on " in laboratory.html and "Ada <Lab>" not in laboratory.html
    assert not (laboratory.home / "work/files").exists()
    assert sorted(file.name for file in (laboratory.home / "work").iterdir()) == ["validation.html", "validation.txt"]


def test_fastq_is_aligned_by_both_sides(laboratory):
    ended = laboratory.validate("--fastq", "1.fq", "2.fq", "--reference", "ref.fa", "--targets", "targets.bed")
    assert ended.returncode == 0, ended.stdout + ended.stderr
    results = laboratory.results()
    assert results["align: aligned reads"] == "no difference"
    assert results["targets: Picard hs_metrics"] == "no difference"
    assert not any(result.startswith("depths") for result in results)
    assert re.search(r"bwa mem .* \| .*samtools view -b -o tools/aligned.bam -", " ".join(laboratory.text.split()))


@pytest.mark.parametrize("user_has", [(".amb", ".ann", ".pac", ".bwt.2bit.64"), (".amb", ".ann", ".bwt", ".pac", ".sa")])
def test_an_index_of_the_user_is_not_changed(laboratory, user_has):
    for suffix in user_has:
        (laboratory.home / f"ref.fa{suffix}").write_text("user")
    ended = laboratory.validate("--fastq", "1.fq", "2.fq", "--reference", "ref.fa", "--steps", "align", "--keep")
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert {(laboratory.home / f"ref.fa{suffix}").read_text() for suffix in user_has} == {"user"}
    used = {suffix: (laboratory.home / f"work/files/inputs/ref.fa{suffix}").read_text() for suffix in (".bwt", ".bwt.2bit.64")}
    assert used == {".bwt": "bwa", ".bwt.2bit.64": "readmill"} | {suffix: "user" for suffix in used if suffix in user_has}


@pytest.mark.parametrize("side", ["readmill prep", "picard MarkDuplicates"])
def test_an_unexplained_difference_comes_first_in_the_document(laboratory, side):
    ended = laboratory.validate("in.sam", "--steps", "sort,duplicates", FAKE_CHANGE=side)
    assert ended.returncode == 4
    assert "VERDICT: UNEXPLAINED differences: 1 of 6 comparisons" in laboratory.text
    assert laboratory.results()["duplicates: sorted reads with duplicate marks"] == "UNEXPLAINED"
    shown = laboratory.text.partition("Unexplained differences\n----")[2].partition("What was compared")[0]
    assert "1 record." in shown and "MAPQ 1" in shown and "#report-a-difference" in shown
    assert '<td class="bad">UNEXPLAINED</td>' in laboratory.html


def test_another_order_of_fields_is_explained_after_picard_only(laboratory):
    ended = laboratory.validate("in.sam", "--steps", "sort,duplicates", FAKE_CHANGE="samtools sort order")
    assert ended.returncode == 4
    assert laboratory.results()["sort: sorted reads"] == "UNEXPLAINED"
    assert laboratory.results()["duplicates: sorted reads with duplicate marks"] == "explained: row 5"


def test_a_difference_in_a_text_shows_both_lines(laboratory):
    ended = laboratory.validate("in.sam", "--steps", "statistics", FAKE_CHANGE="samtools stats stats")
    assert ended.returncode == 4
    assert "tools, line 2: stats\t4\n    readmill, line 2: stats\t3" in laboratory.text


def test_another_version_is_named_as_a_cause(laboratory):
    samtools = laboratory.home / "programs/samtools"
    samtools.write_text(samtools.read_text().replace("samtools 1.24", "samtools 1.16.1"))
    assert laboratory.validate("in.sam", "--steps", "sort").returncode == 0
    assert "1.16.1 (another version)" in laboratory.text
    shutil.rmtree(laboratory.home / "work")
    laboratory.validate("in.sam", "--steps", "statistics", FAKE_CHANGE="samtools stats stats")
    assert "version of samtools 1.16.1: readmill claims the results of samtools 1.24." in " ".join(laboratory.text.split())


def test_a_missing_program_is_named(laboratory):
    laboratory.remove("gatk")
    ended = laboratory.validate("in.sam", *ALL)
    assert ended.returncode == 3
    assert "INCOMPLETE: 3 of 26 comparisons were not made" in ended.stdout
    assert laboratory.results()["recalibration: recalibrated reads"] == "not compared"
    assert laboratory.results()["sort: sorted reads"] == "no difference"
    assert "gatk is not on the PATH." in laboratory.text.partition("Not compared")[2]


def test_steps_without_inputs_are_listed(laboratory):
    assert laboratory.validate("in.sam").returncode == 0
    assert "Step “recalibration”: not requested (it needs --reference and --known-sites)." in laboratory.text
    assert set(re.findall(r"Step “(\w+)”", laboratory.text)) == {"align", "depths", "targets", "recalibration"}


def test_the_message_of_a_failed_program_is_in_the_document(laboratory):
    ended = laboratory.validate("in.sam", *ALL, FAKE_FAIL="picard MarkDuplicates")
    assert ended.returncode == 3
    assert "Picard MarkDuplicates ended with exit code 3." in laboratory.text
    assert "picard MarkDuplicates: No space left on device" in laboratory.text
    assert laboratory.results()["sort: sorted reads"] == "no difference"
    assert laboratory.results()["metrics: Picard insert_size_metrics"] == "not compared"


def test_one_failing_collector_hides_no_other(laboratory):
    ended = laboratory.validate("in.sam", "--steps", "metrics", FAKE_COLLECTOR="MeanQualityByCycle")
    assert ended.returncode == 3
    results = laboratory.results()
    assert results.pop("metrics: Picard quality_by_cycle_metrics") == "not compared"
    assert "not compared" not in results.values() and "metrics: Picard insert_size_metrics" in results
    assert "MeanQualityByCycle fails here" in laboratory.text


@pytest.mark.parametrize(
    ("program", "extension", "verdict"),
    [
        ("CollectInsertSizeMetrics", "insert_size_metrics", "explained: row 177"),
        ("MeanQualityByCycle", "quality_by_cycle_metrics", "UNEXPLAINED"),
    ],
)
def test_only_a_missing_file_of_insert_sizes_is_row_177(laboratory, program, extension, verdict):
    changed = f"readmill prep empty {extension}"
    laboratory.validate("in.sam", "--steps", "metrics", FAKE_NO_FILE=program, FAKE_CHANGE=changed)
    assert laboratory.results()[f"metrics: Picard {extension}"] == verdict


def test_it_is_a_difference_if_only_readmill_fails(laboratory):
    ended = laboratory.validate("in.sam", "--steps", "sort", FAKE_FAIL="readmill sort", FAKE_CODE="2")
    assert ended.returncode == 4
    assert "Only readmill failed. readmill sort ended with exit code 2." in laboratory.text


def test_a_full_disk_is_no_difference(laboratory):
    ended = laboratory.validate("in.sam", "--steps", "sort", FAKE_FAIL="readmill sort", FAKE_CODE="3")
    assert ended.returncode == 3
    assert "readmill sort: No space left on device" in laboratory.text.partition("Not compared")[2]


TOO_SMALL = "readmill: error: this command needs at least -m 59M with 2 threads, but -m is 10M; raise -m, or use fewer threads"


@pytest.mark.parametrize(
    ("memory", "message", "code"),
    [
        (["--memory", "10M"], TOO_SMALL, 3),
        (["--memory", "10M"], f'{{"level":"error","message":"{TOO_SMALL[17:]}"}}', 3),
        (["--memory", "foo"], "error: invalid value 'foo' for '--memory <SIZE>': \"foo\" has no known unit", 3),
        (["--memory", "10M"], "readmill: warning: -m allows 10 MiB\nerror: unexpected argument '--bogus' found", 4),
        (["--memory", "10M"], "readmill: error: give --max-mismatches or --stop-at-m", 4),
        ([], TOO_SMALL, 4),
    ],
)
def test_too_little_memory_from_the_user_is_no_difference(laboratory, memory, message, code):
    failing = {"FAKE_FAIL": "readmill prep", "FAKE_CODE": "1", "FAKE_MESSAGE": message}
    ended = laboratory.validate("in.sam", "--steps", "sort,duplicates", *memory, **failing)
    assert ended.returncode == code
    results = laboratory.results()
    assert results["sort: sorted reads"] == "no difference"
    assert results["duplicates: sorted reads with duplicate marks"] == ("not compared" if code == 3 else "UNEXPLAINED")
    if code == 3:
        missing = " ".join(laboratory.text.partition("\nNot compared\n")[2].split())
        assert f"readmill prep ended with exit code 1. The cause is --memory {memory[1]}." in missing and message in missing


def test_the_message_of_a_failed_index_is_in_the_document(laboratory):
    failing = {"FAKE_FAIL": "readmill index", "FAKE_CODE": "1", "FAKE_MESSAGE": TOO_SMALL}
    words = ["--fastq", "1.fq", "2.fq", "--reference", "ref.fa", "--steps", "align", "--memory", "10M"]
    assert laboratory.validate(*words, **failing).returncode == 3
    assert "readmill index ended with exit code 1. The cause is --memory 10M." in " ".join(laboratory.text.split())
    assert TOO_SMALL in " ".join(laboratory.text.split())


def test_nothing_is_compared_if_both_sides_fail(laboratory):
    (laboratory.home / "in.sam").write_text("a\n")
    ended = laboratory.validate("in.sam", "--steps", "sort")
    assert ended.returncode == 3 and ended.stdout.startswith("Nothing was compared")


def test_reads_that_gatk_drops_are_row_50(laboratory):
    malformed = READS[1].replace("NM:i:0", "XX:Z:malformed")
    (laboratory.home / "in.sam").write_text(HEADER + "\n".join([*READS, malformed]) + "\n")
    ended = laboratory.validate("in.sam", *ALL, "--steps", "recalibration", "--keep")
    assert ended.returncode == 0, ended.stdout
    assert laboratory.results()["recalibration: recalibrated reads"] == "explained: rows 5, 6, 50, 60"
    assert "The tools wrote 3 records, readmill wrote 4." in laboratory.text
    kept = laboratory.home / "work/files/readmill"
    assert (kept / "bqsr.table").read_text() == "table\n"
    outputs = ["bqsr.table", "duplicates.bqsr.txt", "recalibrated.bam"]
    outputs += ["bqsr.dropped.table", "duplicates.bqsr.dropped.txt", "recalibrated.dropped.bam"]
    assert {*outputs} <= {file.name for file in kept.iterdir()}


def test_a_signal_ends_the_programs_and_removes_the_files(laboratory):
    waiting = laboratory.home / "waiting"
    variables = laboratory.variables(FAKE_WAIT="samtools sort", FAKE_WAITING=str(waiting))
    with subprocess.Popen(laboratory.command("in.sam"), cwd=laboratory.home, env=variables, stderr=subprocess.PIPE) as running:
        wait_until(waiting.exists)
        running.send_signal(signal.SIGTERM)
        assert running.wait(60) == 128 + signal.SIGTERM
    assert list((laboratory.home / "work").iterdir()) == []
    processes = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True).stdout
    assert str(laboratory.home / "programs") not in processes


def test_a_hangup_that_nohup_ignores_does_not_stop_it(laboratory):
    waiting = laboratory.home / "waiting"
    command = ["sh", "-c", "trap '' HUP; exec \"$@\"", "sh", *laboratory.command("in.sam", "--steps", "sort")]
    variables = laboratory.variables(FAKE_WAIT="samtools sort", FAKE_WAITING=str(waiting), FAKE_SECONDS="1")
    with subprocess.Popen(command, cwd=laboratory.home, env=variables, stdout=subprocess.DEVNULL) as running:
        wait_until(waiting.exists)
        running.send_signal(signal.SIGHUP)
        assert running.wait(60) == 0


def test_one_file_of_the_module_has_the_same_exit_code(laboratory):
    page = (DOCS / "validation.md").read_text()
    commands = page[page.index("mkdir app") :].partition("\n```")[0]
    commands = commands.replace("python/readmill", str(Path(chains.__file__).parents[1]))
    commands = commands.replace("./readmill-validate --help", './readmill-validate "$@"')
    ended = subprocess.run(
        ["bash", "-e", "-c", commands, "bash", *laboratory.command("in.sam", "--steps", "sort")[3:]],
        cwd=laboratory.home,
        env=laboratory.variables(FAKE_CHANGE="readmill sort") | {"PYTHONPATH": ""},
        capture_output=True,
        text=True,
    )
    assert ended.returncode == 4, ended.stderr
    assert "UNEXPLAINED differences: 1 of 3" in ended.stdout


def test_a_document_that_cannot_be_written_is_printed(laboratory):
    ended = subprocess.run(
        laboratory.command("in.sam", "--steps", "sort"),
        cwd=laboratory.home,
        env=laboratory.variables(),
        capture_output=True,
        text=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000)),
        timeout=120,
    )
    assert ended.returncode == 3
    assert "VERDICT:" in ended.stdout and "the document cannot be written" in ended.stderr
    assert list((laboratory.home / "work").iterdir()) == []


def test_files_are_kept_on_request(laboratory):
    assert laboratory.validate("in.sam", "--steps", "sort", "--keep").returncode == 0
    assert "VERDICT: No difference" in laboratory.text and "CL of the added @PG" in laboratory.text
    assert (laboratory.home / "work/files/readmill/sorted.bam").exists()
    ended = laboratory.validate("in.sam", "--steps", "sort")
    assert ended.returncode == 1 and "files exists: remove it" in ended.stderr


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "give either READS or --fastq"),
        (["in.sam", "--fastq", "1.fq"], "give either READS or --fastq"),
        (["no.bam"], "no.bam cannot be read: No such file or directory"),
        (["in.sam", "--steps", "sort,call"], "call is not a step"),
        (["in.sam", "--steps", "recalibration"], "the step recalibration needs --reference and --known-sites"),
        (["in.sam", "--threads", "0"], "0 is not a positive number"),
        (["--fastq", "1.fq"], "--fastq needs one or two files, and --reference"),
        (["in.sam", "--reference", "ref.fa", "--known-sites", "ref.fa"], "two files have the name ref.fa"),
        (["in.sam", "--baits", "targets.bed"], "--baits needs --targets"),
        (["in.cram"], "in.cram is a CRAM file, which needs --reference"),
        (["in.sam", "--readmill", "/nowhere/readmill"], "/nowhere/readmill is not an executable file"),
    ],
)
def test_wrong_usage_ends_with_1_and_writes_nothing(laboratory, words, message):
    ended = laboratory.validate(*words)
    assert ended.returncode == 1 and message in ended.stderr
    assert not (laboratory.home / "work").exists()


def test_the_help_names_all_steps(laboratory):
    shown = " ".join(laboratory.validate("--help").stdout.split())
    assert ", ".join(STEPS) in shown and "4 unexplained differences" in shown


# ---- Parts ----


def plain(cell: str) -> str:
    """A cell of a table of the documentation as plain text."""
    return re.sub(r"\[([^\]]+)\]\([^)]+\)", r"\1", cell).replace("`", "").replace("*Goes on.*", "The run goes on.")


@pytest.mark.parametrize("number", ROWS)
def test_rows_have_the_text_of_the_documentation(number):
    row = ROWS[number]
    lines = (DOCS / f"{row.page}.md").read_text().splitlines()
    line = next(line for line in lines if line.startswith(f'| <a id="row-{number}"></a>{number} | '))
    assert [plain(cell) for cell in line.strip("| ").split(" | ")[1:]] == [row.case, row.theirs, row.ours, row.why]


def comparison(tmp_path: Path, theirs: str, ours: str) -> tuple[Comparison, Path, Path]:
    paths = tmp_path / "theirs", tmp_path / "ours"
    for path, text in zip(paths, (theirs, ours), strict=True):
        path.write_text(text)
    it = Comparison("step", "what", "how", "theirs", "ours")
    compare_texts(it, *paths, is_no_comment, 5)
    return it, *paths


METRICS = "## METRICS CLASS\tx\nLIBRARY\tESTIMATED_LIBRARY_SIZE\nlib\t{}\n"


@pytest.mark.parametrize(("size", "verdict"), [(123456790, EXPLAINED), (123456999, DIFFERENT), ("", DIFFERENT)])
def test_only_late_digits_of_the_library_size_are_row_36(tmp_path, size, verdict):
    it, *paths = comparison(tmp_path, METRICS.format(123456789), METRICS.format(size))
    explain_library_size(it, *paths)
    assert (it.verdict, it.rows) == (verdict, [36] if verdict == EXPLAINED else [])


@pytest.mark.parametrize(
    ("theirs", "rows"),
    [("FFQ\t1001\t3\n", [93]), ("BCC1\t1\t50\n", [93]), ("COV\t[1-1]\t1\t8\n", [247]), ("FFQ\t1000\t3\n", [])],
)
def test_rows_of_statistics_that_are_left_out(tmp_path, theirs, rows):
    it, *paths = comparison(tmp_path, f"SN\tx\t1\n{theirs}", "SN\tx\t1\n")
    explain_statistics(it, *paths, lambda: True)
    assert it.rows == rows
    assert is_left_out("QTQ2\t1\t0") and not is_left_out("RL\t2000\t1")


def test_long_reads_have_many_bases_or_a_long_span():
    def record(cigar, bases):
        return f"r\t0\tc\t1\t60\t{cigar}\t*\t0\t0\t{bases}\t*"

    assert is_long_read(record("10M1500N10M", "A" * 20)) and is_long_read(record("300M", "A" * 300))
    assert not is_long_read(record("10M1400N10M9I", "A" * 29))


def test_bytes_and_header_lines(tmp_path):
    (tmp_path / "a").write_bytes(b"abc")
    (tmp_path / "b").write_bytes(b"axcd")
    it = Comparison("step", "what", "how", "a", "b")
    compare_bytes(it, tmp_path / "a", tmp_path / "b")
    assert (it.verdict, it.differences, it.amount) == (DIFFERENT, 2, "4 bytes")
    before = ["@SQ\tSN:c", "@PG\tID:a\tPN:b", "@CO\tx"]
    for ours, verdict in ((["@PG\tPN:b\tID:a", "@CO\tx", "@PG\tID:own"], SAME), (["@PG\tID:a\tPN:b"], DIFFERENT)):
        it = Comparison("step", "what", "how", "a", "b")
        compare_program_lines(it, [before, before], [before, ours])
        assert it.verdict == verdict


def test_one_line_is_no_plural(tmp_path):
    assert comparison(tmp_path, "SN\n", "SN\n")[0].amount == "1 line"
    assert comparison(tmp_path, "SN\n" * 2000, "")[0].amount == "2,000 lines"
    for compare in (compare_dictionaries, lambda it, a, b: compare_program_lines(it, [a, b], [a, b])):
        amounts = []
        for header in (["@SQ\tSN:c", "@PG\tID:a"], ["@SQ\tSN:c", "@SQ\tSN:d", "@PG\tID:a", "@PG\tID:b"]):
            it = Comparison("step", "what", "how", "theirs", "ours")
            compare(it, header, header)
            amounts.append(it.amount.removesuffix(" of the input"))
        assert amounts == ["1 line", "2 lines"]


def test_a_message_of_java_is_no_version_of_picard(laboratory):
    picard = laboratory.home / "programs/picard"
    message = "UnsupportedClassVersionError: PicardCommandLine (class file version 61.0)"
    picard.write_text(f"#!/bin/sh\necho '{message}' >&2\nexit 1\n")
    assert laboratory.validate("in.sam", "--steps", "duplicates").returncode == 3
    assert "does not state a version of Picard" in " ".join(laboratory.text.split())


def test_only_archives_become_absolute_paths(laboratory, monkeypatch):
    java = laboratory.home / "programs/java"
    java.write_text("#!/bin/sh\necho Version:3.4.0\n")
    java.chmod(0o755)
    (laboratory.home / "picard.jar").write_text("archive")
    monkeypatch.setenv("PATH", str(java.parent), prepend=os.pathsep)
    monkeypatch.chdir(laboratory.home)
    archive = str(laboratory.home / "picard.jar")
    found = find_program("Picard", "java -Dagent=a.jar --path=b.jar -jar picard.jar")
    assert found.words == [str(java), "-Dagent=a.jar", "--path=b.jar", "-jar", archive]
    assert found.is_usable and found.path == archive
    assert find_program("Picard", "picard.jar").words == [str(java), "-jar", archive]


def test_a_signal_just_after_the_start_leaves_no_child(tmp_path, monkeypatch):
    class Stopped(BaseException):
        pass

    def stop(*_):
        raise Stopped

    class Signalled(subprocess.Popen):
        def __init__(self, *words, **options):
            super().__init__(*words, **options)
            begun.append(self)
            os.kill(os.getpid(), signal.SIGTERM)

    begun = []
    monkeypatch.setattr(programs.subprocess, "Popen", Signalled)
    before = signal.signal(signal.SIGTERM, stop)
    try:
        with pytest.raises(Stopped):
            run_measured(Run("tools", "sort", "sleep", [["sleep", "600"]]), tmp_path, {})
    finally:
        signal.signal(signal.SIGTERM, before)
        for child in begun:
            if child.returncode is None:
                child.kill()
                child.wait()
    assert [child.returncode for child in begun] == [-signal.SIGTERM]


def test_programs_start_with_no_blocked_signal(tmp_path):
    run_measured(Run("tools", "sort", "grep", [["grep", "SigBlk", "/proc/self/status"]], "out"), tmp_path, {})
    assert int((tmp_path / "out").read_text().split()[1], 16) == 0


def test_errors_of_picard_have_rows():
    assert row_of_error("CollectAlignmentSummaryMetrics", "PicardException: Input file contains no PF_READS.") == 178
    assert row_of_error("MeanQualityByCycle", "Input file contains no PF_READS.") is None


# ---- The real tools ----

#: Commands of samtools 1.24, Picard and GATK. `./dev integrations dask` sets them.
REAL = {name: os.environ.get(f"READMILL_TEST_{name.upper()}") for name in ("samtools", "picard", "gatk")}


@pytest.mark.skipif(
    not all(REAL.values()) or not READMILL, reason="READMILL_TEST_SAMTOOLS, _PICARD, _GATK and READMILL are not set"
)
def test_the_real_tools_agree(readmill, tmp_path):
    subprocess.run([readmill, "demo", "--fastq", "--pairs", "3000", "-o", tmp_path / "demo"], check=True, capture_output=True)
    contig, *_ = (tmp_path / "demo/ref.fa").read_text().split("\n", 1)
    sites = (
        f"##fileformat=VCFv4.2\n#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\n{contig[1:].split()[0]}\t100\t.\tN\tA\t.\t.\t.\n"
    )
    (tmp_path / "known.vcf").write_text(sites)
    tools = [word for name, command in REAL.items() for word in (f"--{name}", command)]
    steps = [step for step in STEPS if step != "targets" and (step != "align" or shutil.which("bwa"))]
    fastq = [str(tmp_path / f"demo/reads_{end}.fq") for end in (1, 2)]
    inputs = ["--fastq", *fastq] if "align" in steps else [str(tmp_path / "demo/prepared.bam")]
    command = [sys.executable, "-m", "readmill.validate", *inputs, "--work", str(tmp_path / "work"), "--steps", ",".join(steps)]
    command += [
        "--reference",
        str(tmp_path / "demo/ref.fa"),
        "--known-sites",
        str(tmp_path / "known.vcf"),
        "--readmill",
        readmill,
    ]
    ended = subprocess.run([*command, *tools], env=environment(), capture_output=True, text=True, timeout=1200)
    text = (tmp_path / "work/validation.txt").read_text()
    assert ended.returncode == 0, text
    assert "VERDICT: Differences explained by rows 5, 6 and 60; no others" in text
