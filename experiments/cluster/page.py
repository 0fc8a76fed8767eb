"""Tables in a page of documentation, between the lines `<!-- NAME -->` and `<!-- end of NAME -->`."""

from __future__ import annotations

import sys
from pathlib import Path


def between(page: str, name: str) -> tuple[int, int]:
    """Where the table of this name begins and ends in a page."""
    first, last = f"<!-- {name} -->\n", f"<!-- end of {name} -->"
    if first not in page or last not in page:
        sys.exit(f"the page has no lines {first.strip()} and {last}")
    return page.index(first) + len(first), page.index(last)


def show(tables: dict[str, str], path: Path | None) -> None:
    """Prints tables, or puts them into a page."""
    if path is None:
        print("\n\n".join(tables.values()))
        return
    page = path.read_text()
    for name, text in tables.items():
        first, last = between(page, name)
        page = page[:first] + text + "\n" + page[last:]
    path.write_text(page)


def rows(head: list[str], lines: list[list[str]]) -> str:
    """A table in Markdown, whose first column is text and whose others are numbers."""
    table = [head, ["---"] + ["--:"] * (len(head) - 1), *lines]
    return "\n".join("| " + " | ".join(line) + " |" for line in table)
