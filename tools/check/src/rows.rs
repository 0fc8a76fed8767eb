//! Accepted differences from other tools: numbered rows on the pages of docs, with an index in
//! docs/parity.md.
//!
//! A row is on the page of its command, below a heading "Differences …", in a table or a list:
//!
//! ```text
//! | <a id="row-5"></a>5 | Subject | what the tool does | what readmill does | why |
//! - <a id="row-5"></a>5 **Subject.** What the tool does, what readmill does, and why.
//! ```
//!
//! Code, tests and documents cite a row by its number ("row 5", "rows 5 to 7 and 12") or link to
//! its anchor. So a number is used once, keeps its meaning, and must exist if it is cited.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::drawn::DrawnPart;
use crate::files;

const INDEX: DrawnPart = DrawnPart {
    document: "docs/parity.md",
    begin: "<!-- rows: written by `./dev picture` -->\n",
    end: "<!-- end of the rows -->",
};

const ANCHOR: &str = "<a id=\"row-";

/// File name extensions of files that may cite rows.
const CITING: [&str; 5] = ["rs", "md", "txt", "tsv", "py"];

/// An accepted difference.
#[derive(Debug, PartialEq)]
struct Row {
    number: u32,
    /// The case in which the tools differ, in one line.
    subject: String,
    /// Name of the page without directory and extension.
    page: String,
    /// The heading above the row, without "Differences" and "from" or "in".
    tool: String,
}

/// Returns a finding for each duplicate or incomplete row, for each citation of a row that does not
/// exist, and for an outdated index.
pub fn check(root: &Path) -> Result<Vec<String>> {
    let (rows, mut findings) = read_rows(root)?;
    findings.extend(INDEX.check(root, &draw_index(&rows))?);
    let pages: BTreeMap<u32, &str> = rows.iter().map(|row| (row.number, row.page.as_str())).collect();
    let mut citing = ["README.md", "CONTRIBUTING.md"].map(|name| root.join(name)).to_vec();
    for directory in files::SOURCE_DIRECTORIES.iter().chain(&["docs", "python", "integrations"]) {
        collect_citing(&root.join(directory), &mut citing)?;
    }
    citing.sort();
    for file in &citing {
        let Ok(text) = fs::read_to_string(file) else { continue };
        for (line, what) in find_wrong_citations(file, &text, &pages) {
            findings.push(format!("{}:{line}: {what}", file.display()));
        }
    }
    Ok(findings)
}

/// Writes the index of all rows into its document.
pub fn write(root: &Path) -> Result<()> {
    INDEX.write(root, &draw_index(&read_rows(root)?.0))
}

/// Returns the rows of all pages by number, and the findings about them.
fn read_rows(root: &Path) -> Result<(Vec<Row>, Vec<String>)> {
    let mut pages: Vec<PathBuf> = Vec::new();
    for entry in fs::read_dir(root.join("docs"))? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "md") {
            pages.push(path);
        }
    }
    pages.sort();
    let mut rows = Vec::new();
    let mut findings = Vec::new();
    for path in &pages {
        let page = path.file_stem().unwrap_or_default().to_string_lossy();
        for (line, row) in rows_of_page(&page, &files::read(path)?) {
            match row {
                Ok(row) => rows.push(row),
                Err(error) => findings.push(format!("{}:{line}: {error}", path.display())),
            }
        }
    }
    rows.sort_by_key(|row| row.number);
    for pair in rows.windows(2).filter(|pair| pair[0].number == pair[1].number) {
        let [first, second] = [&pair[0].page, &pair[1].page];
        findings
            .push(format!("docs: row {} stands twice, in {first}.md and {second}.md", pair[0].number));
    }
    Ok((rows, findings))
}

/// Returns the rows of a page, each with its line number.
fn rows_of_page(page: &str, text: &str) -> Vec<(usize, Result<Row>)> {
    let mut heading = "";
    let mut rows = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        if line.starts_with('#') {
            heading = line.trim_start_matches('#').trim();
        }
        for anchored in line.split(ANCHOR).skip(1) {
            rows.push((number, parse_row(page, heading, anchored)));
        }
    }
    rows
}

/// Parses the text after the start of an anchor.
fn parse_row(page: &str, heading: &str, anchored: &str) -> Result<Row> {
    let (number, rest) = anchored.split_once("\"></a>").context("the anchor of a row has no end")?;
    let rest = rest
        .strip_prefix(number)
        .with_context(|| format!("the anchor of row {number} needs its number behind it"))?;
    let subject = if let Some(cells) = rest.strip_prefix(" | ") {
        cells.split(" | ").next()
    } else {
        rest.strip_prefix(" **").and_then(|bold| bold.split("**").next()?.strip_suffix('.'))
    };
    let subject = subject.with_context(|| format!("row {number} has no subject"))?;
    let tool = heading
        .strip_prefix("Differences ")
        .with_context(|| format!("row {number} is not below a heading \"Differences …\""))?;
    let tool = tool.strip_prefix("from ").or_else(|| tool.strip_prefix("in ")).unwrap_or(tool);
    Ok(Row {
        number: number.parse().with_context(|| format!("row {number:?} is not a number"))?,
        subject: remove_links(subject),
        page: page.to_string(),
        tool: tool.to_string(),
    })
}

/// Replaces `[words](target)` with the words, because targets relative to the page of a row are
/// wrong in the index.
fn remove_links(text: &str) -> String {
    let mut plain = String::new();
    let mut rest = text;
    while let Some((before, words, after)) = find_link(rest) {
        plain += before;
        plain += words;
        rest = after;
    }
    plain + rest
}

/// Returns the text before the first link, the words of the link, and the text after it.
fn find_link(text: &str) -> Option<(&str, &str, &str)> {
    let (words, target) = text.split_once("](")?;
    let (before, words) = words.rsplit_once('[')?;
    Some((before, words, target.split_once(')')?.1))
}

/// Returns the index: the number of rows on each page, and a table of all rows.
fn draw_index(rows: &[Row]) -> String {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for row in rows {
        *counts.entry(&row.page).or_default() += 1;
    }
    let counts: Vec<String> =
        counts.iter().map(|(page, count)| format!("[{page}]({page}.md) {count}")).collect();
    let mut index =
        format!("{} differences are accepted, by page: {}.\n\n", rows.len(), counts.join(", "));
    index += "| row | case | page and tool |\n|--:|---|---|\n";
    for Row { number, subject, page, tool } in rows {
        // Writing to a string cannot fail.
        let _ = writeln!(index, "| [{number}]({page}.md#row-{number}) | {subject} | {page}: {tool} |");
    }
    index
}

/// Adds the files below a directory that may cite rows, except those in build directories.
fn collect_citing(directory: &Path, found: &mut Vec<PathBuf>) -> Result<()> {
    for entry in fs::read_dir(directory).into_iter().flatten() {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if path.is_dir() {
            if name != "target" && name != "node_modules" && !name.starts_with('.') {
                collect_citing(&path, found)?;
            }
        } else if path.extension().is_some_and(|it| CITING.iter().any(|citing| it == *citing)) {
            found.push(path);
        }
    }
    Ok(())
}

/// Returns the citations of rows that do not exist, and the links of documents to pages that lack
/// the row, each with its line number.
fn find_wrong_citations(file: &Path, text: &str, pages: &BTreeMap<u32, &str>) -> Vec<(usize, String)> {
    let this_page = file.file_stem().unwrap_or_default().to_string_lossy();
    let is_document = file.extension().is_some_and(|extension| extension == "md");
    let mut wrong = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        for row in cited_rows(line).into_iter().filter(|row| !pages.contains_key(row)) {
            wrong.push((number, format!("there is no row {row}")));
        }
        if !is_document {
            continue;
        }
        for (page, row) in linked_rows(line) {
            let page = page.unwrap_or(&this_page);
            if pages.get(&row) != Some(&page) {
                wrong.push((number, format!("row {row} is not in {page}.md")));
            }
        }
    }
    wrong
}

/// Returns the numbers in a line that follow "row" or "rows". For "rows 5 to 7" these are 5 and 7,
/// because the numbers in between may be unused. 0 is not a row number.
fn cited_rows(line: &str) -> Vec<u32> {
    let mut cited = Vec::new();
    let words = ["row", "Row"].into_iter().flat_map(|word| line.match_indices(word));
    for (at, word) in words.filter(|(at, _)| !line[..*at].ends_with(char::is_alphanumeric)) {
        let behind = &line[at + word.len()..];
        let behind = behind.strip_prefix('s').unwrap_or(behind);
        let mut rest = behind.strip_prefix(' ').unwrap_or_default();
        while let Some((number, after)) = take_number(rest) {
            cited.extend((number != 0).then_some(number));
            let separators = [", ", " and ", " to ", " or ", "–", "-"];
            let Some(next) = separators.iter().find_map(|separator| after.strip_prefix(separator))
            else {
                break;
            };
            rest = next;
        }
    }
    cited
}

/// Returns the number at the start of `text` and the rest; `None` for 1,000, 2.5 and 3rd, which are
/// not row numbers.
fn take_number(text: &str) -> Option<(u32, &str)> {
    let end = text.find(|it: char| !it.is_ascii_digit()).unwrap_or(text.len());
    let after = &text[end..];
    let mut next = after.chars();
    let is_longer = match next.next() {
        Some(',' | '.') => next.next().is_some_and(|it| it.is_ascii_digit()),
        Some(letter) => letter.is_alphanumeric(),
        None => false,
    };
    Some((text[..end].parse().ok().filter(|_| !is_longer)?, after))
}

/// Returns the rows to which a line links, each with the page of the link; `None` is the same page.
fn linked_rows(line: &str) -> Vec<(Option<&str>, u32)> {
    let mut linked = Vec::new();
    for (at, mark) in line.match_indices("#row-") {
        let end = line[at..].find(')').map_or(line.len(), |end| at + end);
        let Ok(row) = line[at + mark.len()..end].parse() else { continue };
        let path = line[..at].rsplit('(').next().unwrap_or_default();
        let name = path.rsplit('/').next().and_then(|name| name.strip_suffix(".md"));
        linked.push((name, row));
    }
    linked
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_stand_in_tables_and_lists() {
        let text = "## Differences from a tool\n\
            | <a id=\"row-5\"></a>5 | A [case](#b) | x | y | z |\n\
            - <a id=\"row-7\"></a>7 **Another case.** It differs.\n";
        let row = |number, subject: &str| Row {
            number,
            subject: subject.to_string(),
            page: "a".to_string(),
            tool: "a tool".to_string(),
        };
        let rows: Vec<Row> = rows_of_page("a", text).into_iter().map(|(_, it)| it.unwrap()).collect();
        assert_eq!(rows, [row(5, "A case"), row(7, "Another case")]);
        assert!(draw_index(&rows).contains("\n| [5](a.md#row-5) | A case | a: a tool |\n"));
    }

    #[test]
    fn a_row_needs_its_number_a_subject_and_a_heading() {
        let heading = "Differences from a tool";
        assert!(parse_row("a", heading, "5\"></a>5 | A case | x |").is_ok());
        assert!(parse_row("a", heading, "5\"></a>7 | A case | x |").is_err());
        assert!(parse_row("a", heading, "5\"></a>5 A case").is_err());
        assert!(parse_row("a", "Flags", "5\"></a>5 | A case | x |").is_err());
    }

    #[test]
    fn numbers_behind_the_word_are_cited() {
        assert_eq!(cited_rows("rows 1, 3 and 4 (see row 5), Rows 6 to 8"), [1, 3, 4, 5, 6, 8]);
        assert_eq!(cited_rows("rows 305–307 of parity; row 3."), [305, 307, 3]);
        assert!(cited_rows("row 0 is empty; rows 1,000; row 2.5; throw 3; arrow 4; row N").is_empty());
    }

    #[test]
    fn a_citation_of_an_unknown_row_and_a_link_to_another_page_are_found() {
        let pages = BTreeMap::from([(5, "a"), (7, "b")]);
        let wrong = |text: &str| find_wrong_citations(Path::new("docs/a.md"), text, &pages).len();
        assert_eq!(wrong("row 5, [row 5](#row-5), [row 7](b.md#row-7), [it](../docs/b.md#row-7)"), 0);
        assert_eq!(wrong(&format!("row {}", 9)), 1);
        assert_eq!(wrong(&format!("[it](#row-{})", 7)), 1);
        assert_eq!(wrong(&format!("[it](a.md#row-{})", 7)), 1);
    }
}
