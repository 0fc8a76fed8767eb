"""Writes the result of a validation as HTML and as text, from one list of blocks."""

from __future__ import annotations

import getpass
import html
import importlib.resources
import os
import platform
import shlex
import socket
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timezone

from . import chains, comparisons
from .chains import WITH_MARKS, Validation
from .comparisons import Comparison
from .programs import CLAIMED, Run
from .rows import DOCS_URL, ROWS

#: Width of the text document.
_WIDTH = 110

#: The steps of the tools that one pass of readmill replaces, for the table of times. The sort is part of both chains.
_MARK_STEPS = ("duplicates", *WITH_MARKS)


@dataclass
class Table:
    """A table of text cells."""

    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    #: Indexes of columns with numbers.
    numbers: Sequence[int] = ()
    #: Class of the table in HTML.
    class_name: str = ""


@dataclass
class Code:
    """Text that keeps its lines, such as commands and messages."""

    text: str


@dataclass
class Section:
    """A part of the document with a heading."""

    title: str
    blocks: list[str | Table | Code] = field(default_factory=list)
    name: str = ""


@dataclass(frozen=True)
class Verdict:
    """The verdict of a validation."""

    #: ``good``, ``incomplete`` or ``bad``.
    grade: str
    title: str
    details: tuple[str, ...]
    exit_code: int


#: Exit codes.
COMPLETE, USAGE, INCOMPLETE, UNEXPLAINED = 0, 1, 3, 4


def judge(validation: Validation) -> Verdict:
    """Returns the verdict: it names unexplained differences first, then comparisons that were not made."""
    counts = dict(chains.count_verdicts(validation.comparisons))
    same, explained = counts[comparisons.SAME], counts[comparisons.EXPLAINED]
    bad, missing = counts[comparisons.DIFFERENT], counts[comparisons.NOT_COMPARED]
    made = same + explained + bad
    rows = sorted({row for it in validation.comparisons if it.verdict == comparisons.EXPLAINED for row in it.rows})
    named = f"{'row' if len(rows) == 1 else 'rows'} {_and(map(str, rows))}"
    were = "was" if missing == 1 else "were"
    details = [f"{same} of {made} comparisons show no difference."] if made else []
    if explained:
        details.append(f"In {explained}, the differences are explained by {named} of the documentation.")
    if missing:
        details.append(f"{missing} {were} not made: see “Not compared”.")
    if bad:
        title = f"UNEXPLAINED differences: {bad} of {made} comparisons"
        return Verdict("bad", title, (*details, "See “Unexplained differences”, which shows the first ones."), UNEXPLAINED)
    if not made:
        return Verdict("incomplete", "Nothing was compared", tuple(details), INCOMPLETE)
    if missing:
        title = f"INCOMPLETE: {missing} of {missing + made} comparisons {were} not made"
        return Verdict("incomplete", title, (*details, "No unexplained difference was found in the others."), INCOMPLETE)
    if explained:
        return Verdict("good", f"Differences explained by {named}; no others", tuple(details), COMPLETE)
    return Verdict("good", "No difference", tuple(details), COMPLETE)


def make_sections(validation: Validation, command: Sequence[str], operator: str) -> list[Section]:
    """Returns all parts of the document after the verdict."""
    sections = [
        _unexplained(validation),
        _identity(validation, command, operator),
        _summary(validation),
        _explanations(validation),
        _not_compared(validation),
        _programs(validation),
        _inputs(validation),
        _resources(validation),
        _commands(validation),
        _limits(),
        _signature(),
    ]
    return [section for section in sections if section.blocks]


def _identity(validation: Validation, command: Sequence[str], operator: str) -> Section:
    user = f"{operator or _user()} on {socket.gethostname()}"
    rows = [
        ["Run by", user],
        ["Started", _time(validation.began)],
        ["Ended", f"{_time(validation.ended)}, after {_duration(validation.ended - validation.began)}"],
        ["Machine", _machine()],
        ["System", f"{platform.platform()}, Python {platform.python_version()}"],
        ["Threads", f"{validation.threads} for each program that has threads"],
        ["Steps", ", ".join(validation.steps)],
        ["Command", shlex.join(command)],
    ]
    return Section("Who, when, where", [Table(("", ""), rows, class_name="facts")], "identity")


def _summary(validation: Validation) -> Section:
    rows, rules = [], {}
    for number, it in enumerate(validation.comparisons, 1):
        found = it.verdict if it.verdict != comparisons.EXPLAINED else _rows_named(it.rows)
        rows.append([str(number), it.step, it.what, it.amount or "–", found])
        rules.setdefault(it.how, []).append(number)
    intro = (
        "Each line compares a file that readmill wrote with the file that the other tools wrote for the same sample. "
        "“Explained” means that only the differences that the named rows describe were found."
    )
    table = Table(("no.", "step", "what was compared", "how much", "result"), rows, (0,), "results")
    how = Table(("what must be equal", "in comparison"), [[rule, _ranges(numbers)] for rule, numbers in rules.items()])
    return Section("What was compared", [intro, table, how], "results")


def _ranges(numbers: Sequence[int]) -> str:
    """Numbers as text: 1, 2, 3 and 5 are ``1–3, 5``."""
    parts: list[list[int]] = []
    for number in numbers:
        if parts and parts[-1][-1] == number - 1:
            parts[-1].append(number)
        else:
            parts.append([number])
    return ", ".join(f"{part[0]}–{part[-1]}" if len(part) > 1 else str(part[0]) for part in parts)


def _rows_named(rows: Sequence[int]) -> str:
    return f"explained: {'row' if len(rows) == 1 else 'rows'} {', '.join(map(str, sorted(rows)))}"


def _unexplained(validation: Validation) -> Section:
    section = Section("Unexplained differences", name="unexplained")
    for numbers, group in _grouped(validation, comparisons.DIFFERENT):
        for number, it in zip(numbers, group, strict=True):
            count = comparisons.format_count(it.differences, it.unit) if it.differences else "the header"
            section.blocks.append(f"Comparison {number}, {it.what}: {count}.")
        section.blocks += group[0].notes
        section.blocks += [Code(group[0].shown)] if group[0].shown else []
    others = [f"{it.name} {it.version}" for it in validation.programs.values() if it.is_usable and not it.is_claimed_version]
    if section.blocks and others:
        section.blocks.append(
            f"The cause may be the version of {_and(others)}: readmill claims the results of {_claimed(others)}. Repeat the "
            "validation with the claimed version."
        )
    if section.blocks:
        section.blocks.append(
            "No row of the documentation explains these differences. Please keep the files (--keep), and report the difference: "
            f"{DOCS_URL}validation.md#report-a-difference"
        )
    return section


def _claimed(others: Sequence[str]) -> str:
    return _and(f"{name} {version}" for name, version in CLAIMED.items() if any(other.startswith(f"{name} ") for other in others))


def _grouped(validation: Validation, verdict: str) -> Iterator[tuple[list[int], list[Comparison]]]:
    """Comparisons with a verdict, with their numbers. Those that have the same notes and messages are one group."""
    groups: dict[tuple[str, ...], list[tuple[int, Comparison]]] = {}
    for number, it in enumerate(validation.comparisons, 1):
        if it.verdict == verdict:
            same = (it.shown, *it.notes[:1]) if it.shown or it.notes else (str(number),)
            groups.setdefault(same, []).append((number, it))
    for group in groups.values():
        yield [number for number, _ in group], [it for _, it in group]


def _explanations(validation: Validation) -> Section:
    section = Section("Explained differences", name="explained")
    used: dict[int, list[int]] = {}
    for number, it in enumerate(validation.comparisons, 1):
        for row in [*it.rows, *(it.excluded if it.verdict != comparisons.NOT_COMPARED else ())]:
            used.setdefault(row, []).append(number)
    rows = [[str(row), _ranges(used[row]), *_cells(row)] for row in sorted(used)]
    if rows:
        section.blocks.append(
            "These differences are intended. The numbers are row numbers of readmill's documentation, "
            f"{DOCS_URL}parity.md#accepted-differences. The texts are copied from there. Rows about lines that are not compared "
            "are listed as well."
        )
        section.blocks.append(Table(("row", "in comparison", "case", "the other tool", "readmill", "why"), rows, (0,), "rows"))
    for number, it in enumerate(validation.comparisons, 1):
        if it.verdict == comparisons.EXPLAINED and 50 in it.rows:
            section.blocks.append(f"Comparison {number}: {' '.join(it.notes)}")
    return section


def _cells(row: int) -> tuple[str, str, str, str]:
    it = ROWS[row]
    return it.case, it.theirs, it.ours, it.why


def _not_compared(validation: Validation) -> Section:
    section = Section("Not compared", name="missing")
    for numbers, group in _grouped(validation, comparisons.NOT_COMPARED):
        named = f"{'Comparison' if len(numbers) == 1 else 'Comparisons'} {_and(map(str, numbers))}"
        section.blocks.append(f"{named}, {_and(dict.fromkeys(it.what for it in group))}: {' '.join(group[0].notes)}")
        section.blocks += [Code(group[0].shown)] if group[0].shown else []
    for step, needs in chains.STEPS.items():
        if step not in validation.steps:
            section.blocks.append(f"Step “{step}”: not requested" + (f" (it needs {needs})." if needs else "."))
    return section


def _programs(validation: Validation) -> Section:
    rows = []
    for program in validation.programs.values():
        claimed = CLAIMED.get(program.name, "–")
        if not program.is_usable:
            rows.append([program.name, "missing", claimed, program.problem, ""])
            continue
        version = program.version if program.is_claimed_version else f"{program.version} (another version)"
        rows.append([program.name, version, claimed, program.path, program.sha256])
    intro = (
        "readmill claims the results of the versions in the third column. Other versions may give other results; then this "
        "document shows what differs."
    )
    return Section(
        "Programs",
        [intro, Table(("program", "version", "claimed", "path", "SHA-256"), rows, class_name="sums programs")],
        "programs",
    )


def _inputs(validation: Validation) -> Section:
    rows = [[role, str(path), f"{size:,}", digest] for role, path, size, digest in validation.inputs]
    return Section("Inputs", [Table(("role", "file", "bytes", "SHA-256"), rows, (2,), "sums")], "inputs")


def _resources(validation: Validation) -> Section:
    rows = []
    steps = [("align", ("align",), ("align",)), ("sort", ("sort",), ("sort",))]
    marking = ("sort", *_MARK_STEPS) if _sorts_for_marks(validation) else _MARK_STEPS
    steps.append((f"sort, {', '.join(step for step in _MARK_STEPS if step in validation.steps)}", marking, ("duplicates",)))
    recalibrating = ("sort", "duplicates", "recalibration") if _sorts_for_marks(validation) else ("duplicates", "recalibration")
    steps.append(("sort, duplicates, recalibration", recalibrating, ("recalibration",)))
    for title, theirs, ours in steps:
        sides = [
            [run for run in validation.runs if run.side == side and run.step in names]
            for side, names in (("tools", theirs), ("readmill", ours))
        ]
        sides[0] = [run for run in sides[0] if "index" not in run.commands[0] or run.step != "sort"]
        if sides[1]:
            rows.append([title, *_sum(sides[0]), *_sum(sides[1][:1])])
    head = ("steps", "tools time", "tools CPU", "tools memory", "readmill time", "readmill CPU", "readmill memory")
    notes = (
        "Each row adds up the commands of the tools that readmill replaces by one command. Memory is the largest resident "
        "memory of a command; for commands that are joined by a pipe, it is the sum. The sign ≤ means that a program needs less "
        "memory than this validation itself, so its memory cannot be measured. All commands ran once, one after the other. The "
        "numbers describe this run; they are no benchmark."
    )
    return Section("Time and memory", [Table(head, rows, (1, 2, 3, 4, 5, 6), "times"), notes] if rows else [], "times")


def _sorts_for_marks(validation: Validation) -> bool:
    """Whether Picard read the file that the step “sort” of the tools wrote."""
    return any("I=tools/sorted.bam" in words for run in validation.runs for words in run.commands)


def _sum(runs: Sequence[Run]) -> tuple[str, str, str]:
    if not runs:
        return "–", "–", "–"
    failed = "" if all(run.succeeded for run in runs) else " (failed)"
    return (
        _duration(sum(run.seconds for run in runs)) + failed,
        _duration(sum(run.cpu_seconds for run in runs)),
        _memory(max(runs, key=lambda run: run.peak_bytes)),
    )


def _commands(validation: Validation) -> Section:
    rows = []
    for run in validation.runs:
        rows.append(
            [run.side, run.step, run.line, str(run.code), _duration(run.seconds), _duration(run.cpu_seconds), _memory(run)]
        )
    intro = (
        "The commands ran in this order, in the directory of the temporary files. In it, the directories readmill and tools "
        "have the outputs of the two sides, and inputs has links to the reference and the known sites."
    )
    head = ("side", "step", "command", "exit code", "time", "CPU", "memory")
    return Section("Commands", [intro, Table(head, rows, (3, 4, 5, 6), "commands")], "commands")


def _limits() -> Section:
    return Section(
        "What this document does not prove",
        [
            "It describes this sample, these versions and these options. Another sample can contain cases that this one lacks.",
            "It shows that readmill gives the results of the other tools. It does not show that these results are right.",
            "It does not cover steps after these, such as variant calling, and options that were not used here.",
        ],
        "limits",
    )


def _signature() -> Section:
    return Section(
        "Review",
        [Code("Reviewed by: ______________________    Date: ______________    Signature: ______________________")],
        "review",
    )


# ---- Values as text ----


def _and(words: Iterable[str]) -> str:
    all_of_them = list(words)
    return " and ".join([", ".join(all_of_them[:-1]), all_of_them[-1]] if len(all_of_them) > 1 else all_of_them)


def _time(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, timezone.utc).strftime("%Y-%m-%d %H:%M:%S UTC")


def _duration(seconds: float) -> str:
    if seconds < 100:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02} min" if hours else f"{minutes} min {rest:02} s"


def _memory(run: Run) -> str:
    """The memory of a run. A value that cannot be measured more exactly has the sign ≤."""
    return f"{'≤ ' if run.is_upper_bound else ''}{run.peak_bytes / (1 << 20):,.0f} MiB"


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return f"user {os.getuid()}"


def _machine() -> str:
    processor = platform.machine()
    memory = ""
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
            processor = next((line.split(":", 1)[1].strip() for line in file if line.startswith("model name")), processor)
        memory = f", {os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES') / (1 << 30):.0f} GiB of memory"
    except (OSError, ValueError):
        pass
    return f"{processor}, {os.cpu_count()} processors{memory}"


# ---- Text ----


def render_text(title: str, verdict: Verdict, sections: Sequence[Section]) -> str:
    """Returns the document as plain text."""
    lines = [title, "=" * len(title), "", f"VERDICT: {verdict.title}", *(f"  {line}" for line in verdict.details)]
    for section in sections:
        lines += ["", section.title, "-" * len(section.title)]
        for block in section.blocks:
            lines.append("")
            if isinstance(block, Table):
                lines += _text_table(block)
            elif isinstance(block, Code):
                lines += [f"    {line}" for line in block.text.splitlines()]
            else:
                lines += textwrap.wrap(block, _WIDTH, break_long_words=False, break_on_hyphens=False)
    return "\n".join(line.rstrip() for line in lines) + "\n"


def _text_table(table: Table) -> list[str]:
    """Returns a table as columns or, if it is too wide, one cell per line with the name of its column."""
    cells = [list(table.head), *map(list, table.rows)] if any(table.head) else [list(row) for row in table.rows]
    widths = [max(len(row[column]) for row in cells) for column in range(len(table.head))]
    if sum(widths) + 2 * len(widths) <= _WIDTH:
        lines = ["  ".join(_aligned(cell, widths[i], i in table.numbers) for i, cell in enumerate(row)) for row in cells]
        return [lines[0], "  ".join("-" * width for width in widths), *lines[1:]] if any(table.head) else lines
    if not any(table.head):
        return [line for name, cell in table.rows for line in _wrap(f"{name + ':':<{widths[0] + 2}}{cell}", widths[0] + 2)]
    lines = []
    for row in table.rows:
        if "command" in table.head:
            at = table.head.index("command")
            lines += ["  ".join(row[:at]) + ":", *_wrap(f"    {row[at]}", 8)]
            lines.append(
                "    " + ", ".join(f"{name} {cell}" for name, cell in zip(table.head[at + 1 :], row[at + 1 :], strict=True))
            )
        else:
            named = zip(table.head, row, strict=True)
            lines += [line for n, (name, cell) in enumerate(named) for line in _wrap(f"{'    ' if n else ''}{name}: {cell}", 8)]
        lines.append("")
    return lines[:-1]


def _wrap(text: str, indent: int) -> list[str]:
    return textwrap.wrap(
        text, _WIDTH, subsequent_indent=" " * indent, break_long_words=False, break_on_hyphens=False, drop_whitespace=True
    )


def _aligned(cell: str, width: int, is_number: bool) -> str:
    return cell.rjust(width) if is_number else cell.ljust(width)


# ---- HTML ----


def render_html(title: str, verdict: Verdict, sections: Sequence[Section]) -> str:
    """Returns the document as one HTML file without scripts and without links to other files."""
    body = [
        f"<h1>{_text(title)}</h1>",
        f'<div class="verdict {verdict.grade}">',
        f"<p><strong>{_text(verdict.title)}</strong></p>",
    ]
    body += [f"<p>{_text(line)}</p>" for line in verdict.details] + ["</div>"]
    for section in sections:
        body.append(f'<section id="{section.name}"><h2>{_text(section.title)}</h2>')
        for block in section.blocks:
            if isinstance(block, Table):
                body += _html_table(block)
            elif isinstance(block, Code):
                body.append(f"<pre>{html.escape(block.text)}</pre>")
            else:
                body.append(f"<p>{_text(block)}</p>")
        body.append("</section>")
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{html.escape(title)}</title>\n<style>\n{_style()}</style>\n</head>\n<body>\n<main>\n"
        + "\n".join(body)
        + "\n</main>\n</body>\n</html>\n"
    )


def _html_table(table: Table) -> list[str]:
    lines = [f'<div class="scroll"><table class="{table.class_name}">']
    if any(table.head):
        lines.append("<thead><tr>" + "".join(f'<th scope="col">{_text(name)}</th>' for name in table.head) + "</tr></thead>")
    lines.append("<tbody>")
    for row in table.rows:
        lines.append("<tr>" + "".join(_html_cell(table, column, cell) for column, cell in enumerate(row)) + "</tr>")
    return [*lines, "</tbody></table></div>"]


def _html_cell(table: Table, column: int, cell: str) -> str:
    if not any(table.head) and column == 0:
        return f'<th scope="row">{_text(cell)}</th>'
    kind = "number" if column in table.numbers else ""
    text = _text(cell)
    name = table.head[column]
    if name == "result":
        kind = _grade_of(cell)
    elif name in ("command", "SHA-256", "path", "file"):
        text = f"<code>{text}</code>"
    elif name == "row":
        text = f'<a href="{ROWS[int(cell)].url}">{text}</a>'
    return f'<td class="{kind}">{text}</td>' if kind else f"<td>{text}</td>"


def _grade_of(result: str) -> str:
    grades = {comparisons.SAME: "good", comparisons.DIFFERENT: "bad", comparisons.NOT_COMPARED: "incomplete"}
    return grades.get(result, "explained")


def _text(text: str) -> str:
    """Escapes text, and makes its addresses links."""
    words = []
    for word in html.escape(text).split(" "):
        address = word.rstrip(".,")
        words.append(f'<a href="{address}">{address}</a>{word[len(address) :]}' if word.startswith("https://") else word)
    return " ".join(words)


def _style() -> str:
    return importlib.resources.files(__package__).joinpath("style.css").read_text(encoding="utf-8")
