"""Runs the steps of a validation on both sides, and compares their outputs step by step.

readmill makes sorted, marked and recalibrated reads, statistics and metrics in one pass over the input. The tools need a
chain of commands for the same files. Each side reads the sample itself; no side reads a file of the other one.
"""

from __future__ import annotations

import re
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from . import comparisons
from .comparisons import Comparison
from .programs import Run
from .rows import row_of_error
from .workspace import BWA_INDEX, OUR_INDEX, Workspace, has_parts, remove_links

#: All steps, in the order in which they run, and what they need besides the sample.
STEPS = {
    "align": "--fastq and --reference",
    "sort": "",
    "duplicates": "",
    "statistics": "",
    "metrics": "",
    "depths": "--reference",
    "targets": "--targets and --reference",
    "recalibration": "--reference and --known-sites",
}

#: The steps whose files are made together with the marks, in one pass of readmill.
WITH_MARKS = ("statistics", "metrics", "depths", "targets")

#: The programs of the other side that each step needs.
NEEDED = {
    "align": ("bwa", "samtools"),
    "sort": ("samtools",),
    "duplicates": ("samtools", "Picard"),
    "statistics": ("samtools", "Picard"),
    "metrics": ("samtools", "Picard"),
    "depths": ("samtools", "Picard"),
    "targets": ("samtools", "Picard"),
    "recalibration": ("samtools", "Picard", "GATK"),
}

#: The Picard programs of CollectMultipleMetrics that are compared, with the extensions of their files. The programs of
#: the second table need a reference.
_COLLECTORS = {
    "CollectAlignmentSummaryMetrics": ("alignment_summary_metrics",),
    "CollectBaseDistributionByCycle": ("base_distribution_by_cycle_metrics",),
    "CollectInsertSizeMetrics": ("insert_size_metrics",),
    "MeanQualityByCycle": ("quality_by_cycle_metrics",),
    "QualityScoreDistribution": ("quality_distribution_metrics",),
    "CollectQualityYieldMetrics": ("quality_yield_metrics",),
}
_COLLECTORS_WITH_REFERENCE = {
    "CollectGcBiasMetrics": ("gc_bias.detail_metrics", "gc_bias.summary_metrics"),
    "CollectSequencingArtifactMetrics": (
        "pre_adapter_detail_metrics",
        "pre_adapter_summary_metrics",
        "bait_bias_detail_metrics",
        "bait_bias_summary_metrics",
        "error_summary_metrics",
    ),
}

#: Bases that bwa and readmill align as one batch. The pairing statistics depend on it, so both get the same number.
_BATCH_BASES = "100000000"

_AFTER_COMMENTS = "All lines, except the comments with command and date (row 37)."
_KEPT_LINES = "The @PG and @CO lines of the input. The lines that the programs add are not compared (rows 5 and 7)."

#: The rows that these rules exclude.
_EXCLUDED = {_AFTER_COMMENTS: (37,), _KEPT_LINES: (5, 7)}


@dataclass
class Validation(Workspace):
    """A validation: its settings, and then its runs and comparisons."""

    duplicate_mode: str = "auto"
    #: Number of lines that are shown of two texts that differ.
    first: int = 5
    comparisons: list[Comparison] = field(default_factory=list)
    began: float = field(default_factory=time.time)
    ended: float = 0.0

    def run_all(self) -> None:
        """Runs all steps on both sides and compares their outputs."""
        self._prepare()
        reads = self._align() if self.sample.fastq else (str(self.sample.reads), str(self.sample.reads))
        if "sort" in self.steps:
            self._sort(*reads)
        is_marked = False
        if {"duplicates", *WITH_MARKS, "recalibration"} & set(self.steps):
            is_marked = self._mark(*reads)
        if "recalibration" in self.steps:
            self._recalibrate(*reads, is_marked)
        self.ended = time.time()

    # ---- Steps ----

    def _align(self) -> tuple[str, str]:
        """Aligns FASTQ on both sides, and returns the two files of aligned reads."""
        theirs, ours, reference = "tools/aligned.bam", "readmill/aligned.bam", self._reference()
        local = self.directory / reference
        own = []
        if not has_parts(local, OUR_INDEX):
            remove_links(local, OUR_INDEX)
            own.append(self._run_readmill("preparation", "index", reference))
        fastq = [str(file) for file in self.sample.fastq]
        arguments = ["-K", _BATCH_BASES, "-R", self.sample.read_group]
        own.append(self._run_readmill("align", "align", reference, *fastq, *arguments, "-o", ours))
        it = self._compare("align", "aligned reads", "All fields of all records, in their order.", theirs, ours)
        bwa, samtools = self.programs["bwa"], self.programs["samtools"]
        run = None
        if bwa.is_usable and samtools.is_usable:
            if not has_parts(local, BWA_INDEX):
                remove_links(local, BWA_INDEX)
                self._run("tools", "preparation", [*bwa.words, "index", reference])
            mem = [*bwa.words, "mem", *arguments, "-t", str(self.threads), reference, *fastq]
            run = self._run("tools", "align", mem, [*samtools.words, "view", "-b", "-o", theirs, "-"])
        if self._are_ready(it, [run], own, ("bwa", "samtools")):
            version = re.match(r"0\.7\.(\d+)", bwa.version)
            has_new_mq = version is not None and int(version[1]) >= 18
            rows = {"MQ": 103} if has_new_mq else None
            comparisons.compare_records(it, self._ask_readmill, ["--ignore-header"], rows_of_tags=rows)
        it = self._compare("align", "header: contigs, read groups", "The @SQ and @RG lines.", theirs, ours)
        if self._are_ready(it, [run], own, ("bwa", "samtools")) and (headers := self._read_headers(it, theirs, ours)):
            comparisons.compare_dictionaries(it, *headers)
        return theirs, ours

    def _sort(self, their_reads: str, our_reads: str) -> None:
        theirs, ours = "tools/sorted.bam", "readmill/sorted.bam"
        mine = self._run_readmill("sort", "sort", our_reads, "-o", ours, *self._cram_options())
        run = self._sort_with_samtools("sort", their_reads, theirs)
        it = self._compare("sort", "sorted reads", "All fields of all records, in their order.", theirs, ours)
        if self._are_ready(it, [run], [mine], ("samtools",)):
            comparisons.compare_records(it, self._ask_readmill)
        self._compare_header("sort", (their_reads, our_reads), theirs, ours, [run], [mine])
        kind = "csi" if (self.directory / f"{ours}.csi").exists() else "bai"
        it = self._compare(
            "sort",
            "index of the sorted reads",
            "All bytes. samtools indexes the file of readmill.",
            f"tools/sorted.{kind}",
            f"{ours}.{kind}",
        )
        run = None
        if mine.succeeded and self.programs["samtools"].is_usable:
            run = self._run_samtools("sort", "index", *(["-c"] if kind == "csi" else []), ours, it.theirs)
        if self._are_ready(it, [run], [mine], ("samtools",)):
            comparisons.compare_bytes(it, self.directory / it.theirs, self.directory / it.ours)

    def _sort_with_samtools(self, step: str, reads: str, output: str) -> Run | None:
        if not self.programs["samtools"].is_usable:
            return None
        more = ["-@", str(self.threads - 1), *self._cram_options()]
        return self._run_samtools(step, "sort", *more, "-T", "tmp/sort", "-o", output, reads)

    def _mark(self, their_reads: str, our_reads: str) -> bool:
        """Marks duplicates on both sides, and compares marks, statistics and metrics.

        Returns whether the tools wrote the marked reads.
        """
        ours, theirs = "readmill/marked.bam", "tools/marked.bam"
        asked = [step for step in WITH_MARKS if step in self.steps]
        mine = self._run_readmill(
            "duplicates", *self._mark_command(our_reads, ours, "readmill/duplicates.txt"), *self._report_options(asked)
        )
        mode = self._duplicate_mode(mine)
        runs = self._mark_with_picard(their_reads, theirs, mode)
        marked = self._compare(
            "duplicates",
            "sorted reads with duplicate marks",
            f"All fields of all records, in their order. Picard marks with ASSUME_SORT_ORDER={_PICARD_ORDER[mode]}, readmill in "
            f"{mode} mode.",
            theirs,
            ours,
        )
        if self._are_ready(marked, runs, [mine], ("samtools", "Picard")):
            comparisons.compare_records(marked, self._ask_readmill, rows_of_tags={"PG": 5}, rows_of_order=(6,))
        elif failed := [run for run in runs if run is not None and not run.succeeded]:
            self._name_row_of_error(marked, "MarkDuplicates", failed[-1])
        self._compare_header("duplicates", (their_reads, our_reads), theirs, ours, runs, [mine])
        it = self._compare(
            "duplicates", "Picard duplicate metrics", _AFTER_COMMENTS, "tools/duplicates.txt", "readmill/duplicates.txt"
        )
        if self._are_ready(it, runs, [mine], ("samtools", "Picard")):
            self._compare_metrics(it)
            comparisons.explain_library_size(it, self.directory / it.theirs, self.directory / it.ours)
        is_marked = bool(runs) and all(run is not None and run.succeeded for run in runs)
        if "statistics" in asked:
            self._compare_statistics(mine, is_marked)
        if "metrics" in asked:
            self._compare_collectors(mine, is_marked)
        if "depths" in asked:
            words = ["CollectWgsMetrics", f"R={self._reference()}"]
            self._compare_one_collector("depths", "Picard wgs_metrics", "wgs_metrics", words, mine, is_marked)
        if "targets" in asked:
            self._compare_targets(mine, is_marked)
        if marked.verdict == comparisons.DIFFERENT:
            for it in self.comparisons:
                if it.step in WITH_MARKS and it.verdict == comparisons.DIFFERENT:
                    it.notes.append("The marked reads already differ, which may be the cause.")
        return is_marked

    def _mark_command(self, reads: str, output: str, metrics: str) -> list[str]:
        mode = ["--duplicate-mode", self.duplicate_mode]
        return ["prep", reads, "-o", output, "--sort", "coordinate", "--mark-duplicates", *mode, "--metrics", metrics]

    def _report_options(self, asked: Sequence[str]) -> list[str]:
        """The options of readmill for what is counted in the pass that marks."""
        options = []
        if "statistics" in asked:
            options += [word for name in _STATISTICS for word in (f"--{name}", f"readmill/{name}.txt")]
        collectors = list(self._collectors()) if "metrics" in asked else []
        collectors += ["CollectWgsMetrics"] if "depths" in asked else []
        collectors += ["CollectHsMetrics"] if "targets" in asked else []
        if collectors:
            options += ["--qc", "readmill/metrics", "--qc-metrics", ",".join(collectors)]
        if self.sample.reference and (collectors or self._is_cram()):
            options += ["--reference", self._reference()]
        if "targets" in asked:
            targets, baits = self.sample.targets, self.sample.baits or self.sample.targets
            options += ["--target-intervals", str(targets), "--bait-intervals", str(baits), "--bait-set-name", "baits"]
        return options

    def _duplicate_mode(self, run: Run) -> str:
        """The mode that the user gives, or the mode that readmill chose."""
        if self.duplicate_mode != "auto":
            return self.duplicate_mode
        stated = re.search(r"duplicate mode (template|coordinate)", run.log)
        return stated[1] if stated else "coordinate"

    def _mark_with_picard(self, reads: str, output: str, mode: str) -> list[Run | None]:
        """Sorts and marks, in the order in which a laboratory would: marking is first if templates are adjacent."""
        if not (self.programs["samtools"].is_usable and self.programs["Picard"].is_usable):
            return []
        runs: list[Run | None] = []
        first = "tools/marked.grouped.bam" if mode == "template" else output
        source = reads if mode == "template" else "tools/sorted.bam"
        if mode == "template" and self._is_cram():
            source = "tools/reads.bam"
            runs.append(self._run_samtools("duplicates", "view", "-b", "-o", source, *self._cram_options(), reads))
        if mode == "coordinate" and "sort" not in self.steps:
            runs.append(self._sort_with_samtools("duplicates", reads, source))
        elif mode == "coordinate":
            runs += [run for run in self.runs if run.step == "sort" and "sort" in run.commands[0] and run.side == "tools"]
        if all(run is not None and run.succeeded for run in runs):
            files = [f"I={source}", f"O={first}", "M=tools/duplicates.txt", f"ASSUME_SORT_ORDER={_PICARD_ORDER[mode]}"]
            runs.append(self._run_picard("duplicates", "MarkDuplicates", *files))
        if mode == "template" and runs[-1] is not None and runs[-1].succeeded:
            runs.append(self._sort_with_samtools("duplicates", first, output))
        return runs

    def _compare_statistics(self, mine: Run, is_marked: bool) -> None:
        theirs = "tools/marked.bam"
        if is_marked:
            self._run_samtools("statistics", "index", theirs)
        for name in _STATISTICS:
            how = "All lines." if name != "stats" else "All rows, and the titles of the sections on coverage and GC depth."
            it = self._compare("statistics", f"samtools {name}", how, f"tools/{name}.txt", f"readmill/{name}.txt")
            run = self._run_samtools("statistics", name, theirs, output=it.theirs) if is_marked else None
            if not self._are_ready(it, [run], [mine], ("samtools", "Picard")):
                continue
            is_compared = comparisons.is_no_comment if name == "stats" else comparisons.every_line
            paths = self.directory / it.theirs, self.directory / it.ours
            comparisons.compare_texts(it, *paths, is_compared, self.first)
            if name == "stats":
                comparisons.explain_statistics(it, *paths, self._has_long_reads)

    def _collectors(self) -> dict[str, tuple[str, ...]]:
        return _COLLECTORS | (_COLLECTORS_WITH_REFERENCE if self.sample.reference else {})

    def _compare_collectors(self, mine: Run, is_marked: bool) -> None:
        """Compares the files of CollectMultipleMetrics. If it fails, its programs run one by one: one error hides no other."""
        collectors = self._collectors()
        run = self._collect(collectors) if is_marked else None
        runs = dict.fromkeys(collectors, run)
        if run is not None and not run.succeeded:
            runs = {name: self._collect([name]) for name in collectors}
        for name, extensions in collectors.items():
            for extension in extensions:
                it = self._compare(
                    "metrics",
                    f"Picard {extension}",
                    _AFTER_COMMENTS,
                    f"tools/metrics.{extension}",
                    f"readmill/metrics.{extension}",
                )
                self._compare_collected(it, name, runs[name], mine)

    def _collect(self, names: Sequence[str] | Mapping[str, object]) -> Run:
        words = ["I=tools/marked.bam", "O=tools/metrics", "PROGRAM=null", *(f"PROGRAM={name}" for name in names)]
        words += [f"R={self._reference()}"] if self.sample.reference else []
        return self._run_picard("metrics", "CollectMultipleMetrics", *words)

    def _compare_one_collector(
        self, step: str, what: str, extension: str, words: Sequence[str], mine: Run, is_marked: bool
    ) -> None:
        it = self._compare(step, what, _AFTER_COMMENTS, f"tools/metrics.{extension}", f"readmill/metrics.{extension}")
        run = None
        if is_marked:
            run = self._run_picard(step, words[0], "I=tools/marked.bam", f"O={it.theirs}", *words[1:])
        self._compare_collected(it, words[0], run, mine)

    def _compare_collected(self, it: Comparison, name: str, run: Run | None, mine: Run) -> None:
        if not self._are_ready(it, [run], [mine], ("samtools", "Picard")):
            if run is not None and not run.succeeded:
                self._name_row_of_error(it, name, run)
            return
        ours, theirs = self.directory / it.ours, self.directory / it.theirs
        lacks_insert_sizes = name == "CollectInsertSizeMetrics" and not theirs.exists() and ours.exists()
        if lacks_insert_sizes and not any(comparisons.read_compared_lines(ours)):
            it.verdict, it.rows = comparisons.EXPLAINED, [177]
            it.notes.append("Picard writes no file. The file of readmill has no table.")
            return
        self._compare_metrics(it)

    @staticmethod
    def _name_row_of_error(it: Comparison, program: str, run: Run) -> None:
        if row := row_of_error(program, run.log):
            it.rows.append(row)
            it.notes.append(f"Row {row} describes an error like this one.")

    def _compare_metrics(self, it: Comparison) -> None:
        paths = self.directory / it.theirs, self.directory / it.ours
        missing = [path.parent.name for path in paths if not path.exists()]
        if missing:
            it.verdict, it.differences, it.unit = comparisons.DIFFERENT, 1, "files"
            it.notes.append(f"Only one side wrote this file: {' and '.join(missing)} has none.")
            return
        comparisons.compare_texts(it, *paths, comparisons.is_no_comment, self.first)

    def _compare_targets(self, mine: Run, is_marked: bool) -> None:
        lists = {}
        for role, path in (("targets", self.sample.targets), ("baits", self.sample.baits or self.sample.targets)):
            assert path is not None
            lists[role] = str(path)
            if is_marked and not path.name.endswith(".interval_list"):
                lists[role] = f"tools/{role}.interval_list"
                self._run_picard("targets", "BedToIntervalList", f"I={path}", f"O={lists[role]}", f"SD={self._dictionary()}")
        intervals = [f"TARGET_INTERVALS={lists['targets']}", f"BAIT_INTERVALS={lists['baits']}", "BAIT_SET_NAME=baits"]
        words = ["CollectHsMetrics", *intervals, f"R={self._reference()}"]
        self._compare_one_collector("targets", "Picard hs_metrics", "hs_metrics", words, mine, is_marked)

    def _recalibrate(self, their_reads: str, our_reads: str, is_marked: bool) -> None:
        """Recalibrates on both sides: readmill sorts, marks and recalibrates in one pass over the input."""
        ours, theirs = "readmill/recalibrated.bam", "tools/recalibrated.bam"
        mine = self._run_readmill("recalibration", *self._recalibration_command(our_reads))
        counted = applied = None
        needed = NEEDED["recalibration"]
        if is_marked and self.programs["GATK"].is_usable:
            sites = [word for file in self.sample.known_sites for word in ("--known-sites", self._local(file))]
            common = ["-I", "tools/marked.bam", "-R", self._reference()]
            counted = self._run_gatk("recalibration", "BaseRecalibrator", *common, *sites, "-O", "tools/bqsr.table")
            if counted.succeeded:
                applied = self._run_gatk(
                    "recalibration", "ApplyBQSR", *common, "--bqsr-recal-file", "tools/bqsr.table", "-O", theirs
                )
        it = self._compare("recalibration", "GATK recalibration table", "All lines.", "tools/bqsr.table", "readmill/bqsr.table")
        if self._are_ready(it, [counted], [mine], needed):
            comparisons.compare_texts(
                it, self.directory / it.theirs, self.directory / it.ours, comparisons.every_line, self.first
            )
        it = self._compare("recalibration", "recalibrated reads", "All fields of all records, in their order.", theirs, ours)
        if self._are_ready(it, [counted, applied], [mine], needed):
            comparisons.compare_records(it, self._ask_readmill, rows_of_tags={"PG": 5}, rows_of_order=(6, 60))
            if it.verdict == comparisons.DIFFERENT:
                self._explain_dropped_reads(it, our_reads)
        self._compare_header("recalibration", (their_reads, our_reads), theirs, ours, [counted, applied], [mine])

    def _recalibration_command(self, reads: str, infix: str = "") -> list[str]:
        """The command that sorts, marks and recalibrates. The names of all outputs contain ``infix``."""
        output, metrics = f"readmill/recalibrated{infix}.bam", f"readmill/duplicates.bqsr{infix}.txt"
        files = ["--reference", self._reference(), "--bqsr-table", f"readmill/bqsr{infix}.table"]
        files += [word for sites in self.sample.known_sites for word in ("--known-sites", self._local(sites))]
        return [*self._mark_command(reads, output, metrics), "--bqsr", *files]

    def _explain_dropped_reads(self, it: Comparison, reads: str) -> None:
        """Explains missing reads by row 50: with --gatk-drop-malformed, readmill drops the reads that ApplyBQSR drops.

        The outputs have other names than those of the first run, so that --keep keeps the files that were compared.
        """
        command = self._recalibration_command(reads, ".dropped")
        if not self._run_readmill("recalibration", *command, "--gatk-drop-malformed").succeeded:
            return
        again = "readmill/recalibrated.dropped.bam"
        second = Comparison(it.step, it.what, it.how, it.theirs, again)
        comparisons.compare_records(second, self._ask_readmill, rows_of_tags={"PG": 5}, rows_of_order=(6, 60))
        if second.verdict in (comparisons.SAME, comparisons.EXPLAINED):
            it.notes = [
                *it.notes,
                "ApplyBQSR drops reads that readmill keeps. With --gatk-drop-malformed, readmill drops them as well; these two "
                "files then agree.",
            ]
            it.verdict, it.rows, it.differences, it.shown = comparisons.EXPLAINED, [50, *second.rows], 0, ""

    # ---- Comparing ----

    def _compare(self, step: str, what: str, how: str, theirs: str, ours: str) -> Comparison:
        """Adds a comparison, which is not made yet."""
        self.comparisons.append(Comparison(step, what, how, theirs, ours, excluded=_EXCLUDED.get(how, ())))
        return self.comparisons[-1]

    def _are_ready(self, it: Comparison, theirs: Sequence[Run | None], ours: Sequence[Run], needed: Sequence[str]) -> bool:
        """Whether both sides wrote what is compared. If not, notes why it is not compared.

        It is a difference if only readmill fails, unless the disk was full, it was killed, or --memory is too small.
        """
        missing = [self.programs[name].problem for name in needed if not self.programs[name].is_usable]
        failed = [run for run in theirs if run is not None and not run.succeeded]
        own = [run for run in ours if not run.succeeded]
        has_no_excuse = [run for run in own if run.code not in _EXCUSES and not self._is_memory_refused(run)]
        if has_no_excuse and not missing and not failed and theirs and None not in theirs:
            it.verdict, it.differences, it.unit = comparisons.DIFFERENT, 1, "runs"
            it.notes.append(f"Only readmill failed. {comparisons.name_failures(own)}")
            it.shown = own[0].messages
            return False
        if own:
            cause = f" The cause is --memory {self.memory}." if self._is_memory_refused(own[0]) else ""
            it.leave_out(f"{comparisons.name_failures(own)}{cause}", own[0].messages)
        if missing:
            it.leave_out(f"{'; '.join(missing)}.", it.shown)
        elif failed:
            it.leave_out(comparisons.name_failures(failed), "\n".join(filter(None, [failed[0].messages, it.shown])))
        elif None in theirs or not theirs:
            it.leave_out("An earlier step of the tools did not write the file that this step reads.", it.shown)
        return not it.notes

    def _is_memory_refused(self, run: Run) -> bool:
        """Whether readmill refused the user's --memory. Its error then names -m or --memory."""
        return self.memory is not None and run.code == _USAGE and _MEMORY_ERROR.search(run.log) is not None

    def _compare_header(
        self, step: str, reads: tuple[str, str], theirs: str, ours: str, runs: Sequence[Run | None], own: Sequence[Run]
    ) -> None:
        it = self._compare(step, "header: program lines, comments", _KEPT_LINES, theirs, ours)
        if self._are_ready(it, runs, own, NEEDED[step]) and (headers := self._read_headers(it, *reads, theirs, ours)):
            comparisons.compare_program_lines(it, headers[:2], headers[2:])

    def _read_headers(self, it: Comparison, *files: str) -> list[list[str]]:
        """Returns the lines of all headers. If one cannot be read, notes this and returns none."""
        headers = []
        for file in files:
            code, text, messages = self._ask_readmill(["view", "-H", "--no-PG", file, *self._cram_options()])
            if code != 0:
                it.leave_out(f"readmill view cannot read {file}.", messages)
                return []
            headers.append(text.splitlines())
        return headers

    def _has_long_reads(self) -> bool:
        """Whether a marked read is so long that row 247 applies."""
        command = [*self.programs["readmill"].words, "view", "readmill/marked.bam"]
        with subprocess.Popen(
            command, cwd=self.directory, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL, text=True
        ) as view:
            assert view.stdout is not None
            found = any(map(comparisons.is_long_read, view.stdout))
            view.kill()
        return found


_STATISTICS = ("flagstat", "idxstats", "stats")

#: How readmill ends if the disk is full, and if another program kills it.
_EXCUSES = (3, -signal.SIGKILL)

#: How readmill ends if an option is wrong, and an error about the option -m. Warnings may name -m as well.
_USAGE = 1
_MEMORY_ERROR = re.compile(r"\berror\b.*(?<![\w-])(-m|--memory)\b")

_PICARD_ORDER = {"template": "queryname", "coordinate": "coordinate"}


def count_verdicts(all_of_them: Sequence[Comparison]) -> Iterator[tuple[str, int]]:
    """The number of comparisons with each verdict."""
    for verdict in (comparisons.SAME, comparisons.EXPLAINED, comparisons.DIFFERENT, comparisons.NOT_COMPARED):
        yield verdict, sum(it.verdict == verdict for it in all_of_them)


__all__ = ["NEEDED", "STEPS", "WITH_MARKS", "Validation", "count_verdicts"]
