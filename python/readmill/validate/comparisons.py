"""Compares the outputs of both sides: records by `readmill compare`, texts line by line, indexes byte by byte."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from pathlib import Path
from typing import Protocol

from .programs import Run, shorten

SAME = "no difference"
EXPLAINED = "explained"
DIFFERENT = "UNEXPLAINED"
NOT_COMPARED = "not compared"

#: Exit code of `readmill compare` if the files differ.
_DIFFER = 4

#: Maximum number of characters of a line that is shown.
_MAX_SHOWN = 300

#: Rows of `samtools stats` that readmill leaves out: cycles above 1,000, and barcodes.
_CYCLE_SECTIONS = {"FFQ", "LFQ", "MPC", "GCC", "GCT", "FBC", "LBC", "IC"}
_BARCODE_SECTIONS = {"BCC", "CRC", "OXC", "RXC", "QTQ", "CYQ", "BZQ", "QXQ"}
_MAX_CYCLE = 1_000

#: A read of this span or length can mix up the depths of `samtools stats`.
_MIN_MIXED_SPAN = 1_500
_MIN_MIXED_LENGTH = 300

#: The largest relative difference that the row of ESTIMATED_LIBRARY_SIZE explains: the eighth digit.
_MAX_SIZE_DIFFERENCE = 1e-6


@dataclass
class Comparison:
    """One comparison of an output of readmill with an output of the other tools."""

    step: str
    #: What is compared, such as ``marked reads``.
    what: str
    #: How it is compared, and what is left out.
    how: str
    theirs: str
    ours: str
    verdict: str = NOT_COMPARED
    #: How much was compared, such as ``10,026 records``.
    amount: str = ""
    #: Number of records, lines or bytes that differ.
    differences: int = 0
    #: Unit of ``differences``.
    unit: str = "lines"
    #: The accepted differences that explain what differs.
    rows: list[int] = field(default_factory=list)
    #: The accepted differences that ``how`` excludes from the comparison.
    excluded: tuple[int, ...] = ()
    #: What was found, one sentence per item.
    notes: list[str] = field(default_factory=list)
    #: The first differences, or the messages of a program that failed.
    shown: str = ""

    def leave_out(self, reason: str, messages: str = "") -> Comparison:
        """Notes that this comparison is not made, and why."""
        self.verdict, self.shown = NOT_COMPARED, messages
        self.notes.append(reason)
        return self


def format_count(count: int, unit: str) -> str:
    """Returns a count with its unit, which is given as a plural: ``1 line``, ``2,000 lines``."""
    return f"{count:,} {unit.removesuffix('s') if count == 1 else unit}"


class Runner(Protocol):
    """Runs a command of readmill that compares files."""

    def __call__(self, words: Sequence[str]) -> tuple[int, str, str]:
        """Returns the exit code, standard output and standard error."""


# ---- Records ----


def compare_records(
    it: Comparison,
    readmill: Runner,
    options: Sequence[str] = (),
    *,
    rows_of_tags: Mapping[str, int] | None = None,
    rows_of_order: Sequence[int] = (),
) -> None:
    """Compares two files of reads by `readmill compare`.

    If the text of the records differs, the comparison is repeated without the fields of ``rows_of_tags`` and, if there are
    ``rows_of_order``, in any order of the fields. The rows explain the difference if the files then agree.
    """
    it.unit = "records"
    command = ["compare", it.theirs, it.ours, *options]
    code, printed, messages = readmill(command)
    if code == _DIFFER and (rows_of_tags or rows_of_order):
        tags = [word for tag in rows_of_tags or () for word in ("--ignore-tag", tag)]
        code, again, messages = readmill([*command, *tags, "--level", "L1" if rows_of_order else "L0"])
        if code == 0:
            it.verdict = EXPLAINED
            it.rows = _rows_of_records(printed, again, rows_of_tags or {}, rows_of_order)
        printed = again or printed
    if code not in (0, _DIFFER):
        it.leave_out("readmill compare cannot read a file.", messages)
        return
    counts = re.search(r"^records: (\d+) in .*, (\d+) in [^,]*$", printed, re.MULTILINE)
    theirs, ours = (int(counts[1]), int(counts[2])) if counts else (0, 0)
    it.amount = format_count(max(theirs, ours), it.unit)
    if code == 0:
        it.verdict = EXPLAINED if it.rows else SAME
        return
    it.verdict = DIFFERENT
    tally = re.search(r"^(\d+) records differ from the record at the same position", printed, re.MULTILINE)
    in_order = re.search(r"only the order of tags (\d+)", printed) if rows_of_order else None
    it.differences = int(tally[1]) - int(in_order[1] if in_order else 0) if tally else 0
    it.differences = max(it.differences, abs(theirs - ours))
    if theirs != ours:
        it.notes.append(f"The tools wrote {format_count(theirs, it.unit)}, readmill wrote {ours:,}.")
    if not it.differences:
        it.notes.append("The headers differ.")
    elif "level: L2" in printed:
        it.notes.append("Only the order of records with the same position and strand differs.")
    elif "level: L3" in printed:
        it.notes.append(
            "The reads and the duplicate sets are the same. Order, representatives of duplicates, or optional fields differ."
        )
    it.shown = printed.strip()


def _rows_of_records(plain: str, again: str, rows_of_tags: Mapping[str, int], rows_of_order: Sequence[int]) -> list[int]:
    """Returns the rows that explain why records differ, from the two outputs of `readmill compare`."""
    tally = next((line for line in plain.splitlines() if " records differ from the record" in line), "")
    rows = [row for tag, row in rows_of_tags.items() if re.search(rf"[:,] {tag} \d+", tally)]
    return [*rows, *(rows_of_order if "level: L0" not in again else ())]


def compare_program_lines(it: Comparison, before: Sequence[Sequence[str]], after: Sequence[Sequence[str]]) -> None:
    """Compares what both sides keep of the @PG and @CO lines: ``before`` are the headers of their inputs, the tools first.

    The lines that the programs add are not compared: they name the programs, so they always differ (rows 5 and 7).
    """
    it.unit = "lines"
    kept = [[line for line in header if line.startswith(("@PG", "@CO"))] for header in before]
    it.amount = f"{format_count(len(kept[1]), it.unit)} of the input"
    lost = []
    for lines, header in zip(kept, after, strict=True):
        found = set(map(_sorted_tags, header))
        lost.append([line for line in lines if _sorted_tags(line) not in found])
    if lost[0] != lost[1]:
        it.verdict, it.differences = DIFFERENT, max(map(len, lost))
        named = zip(("the tools", "readmill"), lost, strict=True)
        it.shown = "\n".join(_shorten(f"{side} lost: {line}") for side, lines in named for line in lines[:3])
        return
    it.verdict = SAME


def compare_dictionaries(it: Comparison, theirs: Sequence[str], ours: Sequence[str]) -> None:
    """Compares the @SQ lines of two headers, and their @RG lines."""
    it.unit = "lines"
    chosen = [
        [_sorted_tags(line) for kind in ("@SQ", "@RG") for line in header if line.startswith(kind)] for header in (theirs, ours)
    ]
    it.amount = format_count(len(chosen[1]), it.unit)
    pairs = [(one, other) for one, other in zip_longest(*chosen, fillvalue=("(no line here)",)) if one != other]
    it.verdict, it.differences = (DIFFERENT, len(pairs)) if pairs else (SAME, 0)
    it.shown = "\n".join(
        _shorten(f"{side}: {' '.join(line)}")
        for pair in pairs[:3]
        for side, line in zip(("tools", "readmill"), pair, strict=True)
    )


def _sorted_tags(line: str) -> tuple[str, ...]:
    return tuple(sorted(line.split("\t")))


# ---- Texts ----


def compare_texts(it: Comparison, theirs: Path, ours: Path, is_compared: Callable[[str], bool], first: int) -> None:
    """Compares two texts line by line; ``is_compared`` chooses the lines, and ``first`` differences are shown."""
    with open(theirs, encoding="utf-8", errors="replace") as a, open(ours, encoding="utf-8", errors="replace") as b:
        pairs = zip_longest(_numbered(a, is_compared), _numbered(b, is_compared))
        lines, shown = 0, []
        for one, other in pairs:
            lines += 1
            if one and other and one[1] == other[1]:
                continue
            it.differences += 1
            if it.differences <= first:
                shown += [_shown("tools", one), _shown("readmill", other)]
    it.amount = format_count(lines, it.unit)
    it.verdict = DIFFERENT if it.differences else SAME
    it.shown = "\n".join(shown)


def _numbered(lines: Iterable[str], is_compared: Callable[[str], bool]) -> Iterator[tuple[int, str]]:
    for number, line in enumerate(lines, 1):
        if is_compared(text := line.rstrip("\n")):
            yield number, text


def _shown(side: str, line: tuple[int, str] | None) -> str:
    return _shorten(f"{side}, line {line[0]}: {line[1]}" if line else f"{side}: (no line here)")


def _shorten(text: str) -> str:
    return shorten(text, _MAX_SHOWN)


def every_line(_: str) -> bool:
    """Chooses every line."""
    return True


def is_no_comment(line: str) -> bool:
    """Chooses the lines of a metrics file or of `samtools stats` that are not comments with a command or a date."""
    return not line.startswith("#") or line.startswith(
        ("## METRICS", "## HISTOGRAM", "# Coverage distribution. Use", "# GC-depth. Use")
    )


def read_compared_lines(path: Path) -> list[str]:
    """Returns the lines of a metrics file or of `samtools stats` without comments."""
    return list(filter(is_no_comment, path.read_text(encoding="utf-8", errors="replace").splitlines()))


def explain_library_size(it: Comparison, theirs: Path, ours: Path) -> None:
    """Explains a difference of MarkDuplicates metrics by row 36, if only ESTIMATED_LIBRARY_SIZE differs in late digits."""
    if it.verdict != DIFFERENT or it.unit != "lines":
        return
    pairs = list(zip_longest(*map(read_compared_lines, (theirs, ours))))
    column = None
    for one, other in pairs:
        if one is None or other is None:
            return
        fields = one.split("\t")
        if "ESTIMATED_LIBRARY_SIZE" in fields:
            column = fields.index("ESTIMATED_LIBRARY_SIZE")
        if one != other and not _is_near(fields, other.split("\t"), column):
            return
    it.verdict, it.rows = EXPLAINED, [36]


def _is_near(one: list[str], other: list[str], column: int | None) -> bool:
    """Whether two rows differ only in one column, in the eighth digit or later."""
    if column is None or len(one) != len(other) or column >= len(one):
        return False
    try:
        a, b = float(one[column]), float(other[column])
    except ValueError:
        return False
    same = one[:column] + one[column + 1 :] == other[:column] + other[column + 1 :]
    return same and abs(a - b) <= _MAX_SIZE_DIFFERENCE * max(a, b)


def explain_statistics(it: Comparison, theirs: Path, ours: Path, has_long_reads: Callable[[], bool]) -> None:
    """Explains a difference of `stats` by row 93 (left-out rows) and row 247 (COV of long reads)."""
    if it.verdict != DIFFERENT:
        return
    texts = [read_compared_lines(path) for path in (theirs, ours)]

    def agree(is_compared: Callable[[str], bool]) -> bool:
        return list(filter(is_compared, texts[0])) == list(filter(is_compared, texts[1]))

    if agree(lambda line: not is_left_out(line)):
        it.verdict, it.rows = EXPLAINED, [93]
    elif agree(lambda line: not line.startswith("COV\t")) and has_long_reads():
        it.verdict, it.rows = EXPLAINED, [247]
    elif agree(lambda line: not is_left_out(line) and not line.startswith("COV\t")) and has_long_reads():
        it.verdict, it.rows = EXPLAINED, [93, 247]


def is_left_out(line: str) -> bool:
    """Whether a row of `samtools stats` is about barcodes or about a cycle above 1,000."""
    section, _, rest = line.partition("\t")
    cycle = rest.partition("\t")[0]
    is_late = section in _CYCLE_SECTIONS and cycle.isdecimal() and int(cycle) > _MAX_CYCLE
    return is_late or section.rstrip("0123456789") in _BARCODE_SECTIONS


def is_long_read(record: str) -> bool:
    """Whether a SAM record is one to which row 247 applies: it is long, or spans many bases of the reference."""
    fields = record.split("\t")
    if len(fields) < 11:
        return False
    span = sum(int(length) for length, operator in re.findall(r"(\d+)([MDN=X])", fields[5]))
    return span > _MIN_MIXED_SPAN or len(fields[9]) >= _MIN_MIXED_LENGTH


# ---- Bytes ----


def compare_bytes(it: Comparison, theirs: Path, ours: Path) -> None:
    """Compares two files byte by byte."""
    it.unit = "bytes"
    one, other = theirs.read_bytes(), ours.read_bytes()
    it.amount = format_count(max(len(one), len(other)), it.unit)
    if one == other:
        it.verdict = SAME
        return
    it.verdict = DIFFERENT
    differing = [at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b]
    it.differences = len(differing) + abs(len(one) - len(other))
    at = differing[0] if differing else min(len(one), len(other))
    written = format_count(len(one), it.unit)
    it.shown = f"The first difference is at byte {at + 1:,}. The tools wrote {written}, readmill {len(other):,}."


def name_failures(runs: Iterable[Run]) -> str:
    """Returns one sentence about the runs that failed."""
    return " ".join(f"{run.name} {run.ending}." for run in runs)
