//! The parts of Markdown that the documentation needs: text and code, headings, links, anchors, and
//! blocks of shell commands.
//!
//! Pages must be readable on GitHub as well as on the site, so this follows GitHub's rules. Code
//! that is indented by four spaces is not recognised; use fences.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// The beginning of a comment whose lines are run, but not shown.
const HIDDEN: &str = "<!-- sh";

/// Attributes of HTML whose value is a link.
const LINK_ATTRIBUTES: [&str; 3] = ["href=\"", "src=\"", "srcset=\""];

/// A page, divided into text and code.
pub struct Page<'a> {
    pub lines: Vec<Line<'a>>,
    pub blocks: Vec<ShellBlock>,
}

/// A line of a page.
pub struct Line<'a> {
    pub kind: LineKind,
    pub text: &'a str,
}

/// What a line of a page is to Markdown: text, or part of a fence or of a comment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineKind {
    Text,
    /// The first line of a block of code, with its language.
    FenceStart,
    Code,
    /// A comment that is not a block of commands.
    Comment,
    /// A line of a hidden block of commands, with its marks.
    Hidden,
}

/// A block of shell commands: a fence with the language `sh`, or a comment that begins with
/// `<!-- sh`.
#[derive(Debug, PartialEq, Eq)]
pub struct ShellBlock {
    /// Number of the line before the first command. The first line of a page has number 1.
    pub start_line: usize,
    /// Whether the block is a comment, which readers do not see.
    pub is_hidden: bool,
    /// The words after `sh`, such as `slow`.
    pub words: Vec<String>,
    /// The commands without the indentation of the fence, one element per line.
    pub commands: Vec<String>,
}

impl ShellBlock {
    pub fn has_word(&self, word: &str) -> bool {
        self.words.iter().any(|given| given == word)
    }
}

/// The state between two lines.
enum Inside {
    Text,
    Comment,
    /// A hidden block, which is the last of the page so far.
    Hidden,
    Fence {
        mark: char,
        length: usize,
        indent: usize,
        is_shell: bool,
    },
}

/// Divides a page into text, code and comments.
pub fn parse_page(text: &str) -> Page<'_> {
    let mut page = Page { lines: Vec::new(), blocks: Vec::new() };
    let mut inside = Inside::Text;
    for (number, line) in (1..).zip(text.lines()) {
        let kind = match inside {
            Inside::Text => {
                let kind;
                (kind, inside) = begin_line(line, number, &mut page.blocks);
                kind
            }
            Inside::Comment => {
                if line.contains("-->") {
                    inside = Inside::Text;
                }
                LineKind::Comment
            }
            Inside::Hidden => {
                if line.contains("-->") {
                    inside = Inside::Text;
                } else {
                    add_command(&mut page.blocks, line.to_owned());
                }
                LineKind::Hidden
            }
            Inside::Fence { mark, length, indent, is_shell } => {
                let is_end = fence(line)
                    .is_some_and(|end| end.mark == mark && end.length >= length && end.info.is_empty());
                if is_end {
                    inside = Inside::Text;
                } else if is_shell {
                    let blanks = line.len() - line.trim_start_matches(' ').len();
                    add_command(&mut page.blocks, line[blanks.min(indent)..].to_owned());
                }
                LineKind::Code
            }
        };
        page.lines.push(Line { kind, text: line });
    }
    page
}

/// Returns the kind of a line that is outside of code and comments, and the state after it.
fn begin_line(line: &str, number: usize, blocks: &mut Vec<ShellBlock>) -> (LineKind, Inside) {
    if let Some(fence) = fence(line) {
        let mut words = fence.info.split_whitespace().map(String::from);
        let is_shell = words.next().as_deref() == Some("sh");
        if is_shell {
            blocks.push(ShellBlock {
                start_line: number,
                is_hidden: false,
                words: words.collect(),
                commands: Vec::new(),
            });
        }
        let Fence { mark, length, indent, .. } = fence;
        return (LineKind::FenceStart, Inside::Fence { mark, length, indent, is_shell });
    }
    let trimmed = line.trim_start();
    if let Some(rest) =
        trimmed.strip_prefix(HIDDEN).filter(|rest| !rest.starts_with(char::is_alphanumeric))
    {
        let (words, inside) = match rest.split_once("-->") {
            Some((words, _)) => (words, Inside::Text),
            None => (rest, Inside::Hidden),
        };
        let words = words.split_whitespace().map(String::from).collect();
        blocks.push(ShellBlock { start_line: number, is_hidden: true, words, commands: Vec::new() });
        return (LineKind::Hidden, inside);
    }
    match trimmed.strip_prefix("<!--") {
        Some(rest) if rest.contains("-->") => (LineKind::Comment, Inside::Text),
        Some(_) => (LineKind::Comment, Inside::Comment),
        None => (LineKind::Text, Inside::Text),
    }
}

fn add_command(blocks: &mut [ShellBlock], command: String) {
    if let Some(block) = blocks.last_mut() {
        block.commands.push(command);
    }
}

/// The beginning or the end of a block of code.
struct Fence<'a> {
    mark: char,
    length: usize,
    indent: usize,
    info: &'a str,
}

fn fence(line: &str) -> Option<Fence<'_>> {
    let trimmed = line.trim_start_matches(' ');
    let mark = trimmed.chars().next().filter(|mark| ['`', '~'].contains(mark))?;
    let info = trimmed.trim_start_matches(mark);
    let length = trimmed.len() - info.len();
    let is_fence = length >= 3 && !(mark == '`' && info.contains('`'));
    is_fence.then(|| Fence { mark, length, indent: line.len() - trimmed.len(), info: info.trim() })
}

impl Page<'_> {
    /// Returns the anchors of a page: of its headings, by GitHub's rules, and of HTML elements with
    /// an `id` or a `name`.
    pub fn anchors(&self) -> BTreeSet<String> {
        let mut anchors = BTreeSet::new();
        let mut uses: BTreeMap<String, usize> = BTreeMap::new();
        for line in self.lines.iter().filter(|line| line.kind == LineKind::Text) {
            let masked = mask_code(line.text);
            for attribute in ["id=\"", "name=\""] {
                let values = masked.match_indices(attribute).map(|(at, _)| at + attribute.len());
                anchors
                    .extend(values.filter_map(|at| Some(line.text[at..].split_once('"')?.0.to_owned())));
            }
            if let Some(heading) = heading_text(line.text) {
                let anchor = heading_anchor(heading);
                let count = uses.entry(anchor.clone()).or_default();
                anchors.insert(if *count == 0 { anchor } else { format!("{anchor}-{count}") });
                *count += 1;
            }
        }
        anchors
    }
}

fn heading_text(line: &str) -> Option<&str> {
    let text = line.trim_start_matches('#');
    let level = line.len() - text.len();
    ((1..=6).contains(&level) && text.starts_with(' '))
        .then(|| text.trim().trim_end_matches('#').trim_end())
}

/// Returns the anchor that GitHub gives to a heading. mdBook has the same rule.
fn heading_anchor(heading: &str) -> String {
    let mut shown = String::new();
    let mut rest = heading;
    while let Some(at) = rest.find(['[', '<', '`']) {
        shown.push_str(&rest[..at]);
        let (mark, after) = rest[at..].split_at(1);
        // Of code, everything is kept. Of a link, its text is; of an HTML tag, nothing.
        let parts = match mark {
            "`" => after.split_once('`'),
            "<" => after.split_once('>').map(|(_, rest)| ("", rest)),
            _ => after.split_once("](").and_then(|(text, rest)| Some((text, rest.split_once(')')?.1))),
        };
        let (kept, next) = parts.unwrap_or(("", after));
        shown.push_str(kept);
        rest = next;
    }
    shown.push_str(rest);
    let letters = shown.trim().to_lowercase();
    let letters = letters.chars().filter_map(|letter| match letter {
        _ if letter.is_whitespace() => Some('-'),
        '-' | '_' => Some(letter),
        _ => letter.is_alphanumeric().then_some(letter),
    });
    letters.collect()
}

/// Returns the places of the targets of links and images in a line of text.
pub fn find_link_targets(line: &str) -> Vec<Range<usize>> {
    let masked = mask_code(line);
    let mut targets = Vec::new();
    for (at, _) in masked.match_indices("](") {
        let start = at + 2;
        targets.push(start..start + target_length(&masked[start..]));
    }
    if masked.trim_start().starts_with('[')
        && let Some(at) = masked.find("]: ")
    {
        let start = at + 3;
        let length = masked[start..].find(' ').unwrap_or(masked.len() - start);
        targets.push(start..start + length);
    }
    for attribute in LINK_ATTRIBUTES {
        // `src="` must not match the end of another attribute's name, such as `data-src="`.
        let begins = |at: usize| masked[..at].ends_with(' ');
        for (at, _) in masked.match_indices(attribute).filter(|(at, _)| begins(*at)) {
            let start = at + attribute.len();
            let value = &masked[start..];
            targets.push(start..start + value.find(['"', ' ']).unwrap_or(value.len()));
        }
    }
    targets.retain(|target| !target.is_empty());
    targets.sort_by_key(|target| target.start);
    targets
}

/// Returns the length of a link's target, which ends at a blank before a title or at the closing
/// parenthesis.
fn target_length(text: &str) -> usize {
    let mut open = 0;
    for (at, letter) in text.char_indices() {
        match letter {
            '(' => open += 1,
            ')' if open == 0 => return at,
            ')' => open -= 1,
            ' ' => return at,
            _ => {}
        }
    }
    text.len()
}

/// Returns a line of the same length in which code between backticks is blank.
fn mask_code(line: &str) -> String {
    let mut masked = String::with_capacity(line.len());
    let mut rest = line;
    while let Some(at) = rest.find('`') {
        masked.push_str(&rest[..at]);
        let code = &rest[at..];
        let marks = code.len() - code.trim_start_matches('`').len();
        let end = find_code_end(&code[marks..], marks).map_or(marks, |end| marks + end);
        masked.extend(std::iter::repeat_n(' ', end));
        rest = &code[end..];
    }
    masked.push_str(rest);
    masked
}

/// Returns the end of code, which is the next run of exactly `marks` backticks.
fn find_code_end(text: &str, marks: usize) -> Option<usize> {
    let mut at = 0;
    while let Some(start) = text[at..].find('`').map(|found| at + found) {
        let run = text[start..].len() - text[start..].trim_start_matches('`').len();
        at = start + run;
        if run == marks {
            return Some(at);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn targets(line: &str) -> Vec<&str> {
        find_link_targets(line).into_iter().map(|target| &line[target]).collect()
    }

    #[test]
    fn shell_blocks_have_their_lines_and_words() {
        let text = "# A\n\n```sh ci\necho 1\n```\n\n```\nno language\n```\n<!-- sh slow\nmake input\n-->\n- item\n  ```sh\n  a \\\n    b\n  ```\n~~~sh\n```\n~~~\n";
        let blocks = parse_page(text).blocks;
        let found: Vec<_> = blocks
            .iter()
            .map(|block| (block.start_line, block.words.join(" "), block.commands.join("\n")))
            .collect();
        let expected =
            [(3, "ci", "echo 1"), (10, "slow", "make input"), (14, "", "a \\\n  b"), (18, "", "```")];
        assert_eq!(found, expected.map(|(line, words, text)| (line, words.into(), text.into())));
    }

    #[test]
    fn other_languages_and_other_comments_are_not_run() {
        let text = "```shell\na\n```\n```text sh\nb\n```\n<!-- shown by -->\n<!-- share\nc\n-->\n";
        assert!(parse_page(text).blocks.is_empty());
    }

    #[test]
    fn links_in_code_and_comments_are_not_links() {
        let text =
            "[a](b.md)\n```\n[c](d.md)\n```\n<!-- [e](f.md)\n[g](h.md) -->\n`[i](j.md)` [k](l.md)\n";
        let page = parse_page(text);
        let lines = page.lines.iter().filter(|line| line.kind == LineKind::Text);
        assert_eq!(lines.flat_map(|line| targets(line.text)).collect::<Vec<_>>(), ["b.md", "l.md"]);
    }

    #[test]
    fn targets_end_at_titles_and_may_contain_parentheses() {
        assert_eq!(targets("![x](a.png \"A title\") and [y](b_(c).md#d)"), ["a.png", "b_(c).md#d"]);
        assert_eq!(targets("``a`](b)`` [c](d)"), ["d"]);
        assert_eq!(targets("[label]: ../x.md"), ["../x.md"]);
        assert_eq!(targets("<img alt=\"a\" src=\"b.svg\"> data-src=\"c\""), ["b.svg"]);
        assert_eq!(targets("<source srcset=\"a.svg 2x\">"), ["a.svg"]);
    }

    #[test]
    fn anchors_are_the_ones_of_github() {
        let text = "# Base quality: `-m` & more\n## [Rows](a.md) 5–7\n## Same\n## Same\n| <a id=\"row-1\"></a>1 |\n```\n# no heading\n```\n## `a_b` **bold**\n#none\n";
        let anchors = parse_page(text).anchors();
        let expected = ["a_b-bold", "base-quality--m--more", "row-1", "rows-57", "same", "same-1"];
        assert_eq!(anchors.iter().map(String::as_str).collect::<Vec<_>>(), expected);
    }
}
