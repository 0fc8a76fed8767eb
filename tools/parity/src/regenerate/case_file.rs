//! Reads and writes case files: headings with lines below them. The start of each file explains its
//! headings.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};

pub struct CaseFile {
    pub preamble: String,
    pub cases: Vec<Case>,
}

pub struct Case {
    pub blocks: Vec<Block>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Block {
    pub key: String,
    pub rest: String,
    /// Lines that contain a tab or start with `|`; other lines are headings.
    pub lines: Vec<String>,
}

impl CaseFile {
    /// Reads a file. Returns an error unless [`Self::text`] would write the same bytes, because
    /// then regenerating would change more than results.
    pub fn read(path: &Path) -> Result<Self> {
        let text = fs::read_to_string(path).with_context(|| format!("no {}", path.display()))?;
        let file = Self::parse(&text).with_context(|| path.display().to_string())?;
        ensure!(file.text() == text, "{}: one empty line must stand between cases", path.display());
        Ok(file)
    }

    fn parse(text: &str) -> Result<Self> {
        let start = text.find("\ncase: ").map_or(text.len(), |end| end + 1);
        let (head, rest) = text.split_at(start);
        let mut file = CaseFile { preamble: head.to_owned(), cases: Vec::new() };
        for line in rest.lines().filter(|line| !line.is_empty()) {
            if line.starts_with("case: ") {
                file.cases.push(Case { blocks: Vec::new() });
            }
            let blocks = &mut file.cases.last_mut().context("no case")?.blocks;
            if line.contains('\t') || line.starts_with('|') {
                blocks.last_mut().context("no heading")?.lines.push(line.to_owned());
            } else {
                let (key, rest) = line.split_once(':').with_context(|| format!("no heading: {line}"))?;
                blocks.push(Block::new(key, rest.strip_prefix(' ').unwrap_or(rest), Vec::new()));
            }
        }
        Ok(file)
    }

    pub fn text(&self) -> String {
        let cases: Vec<String> = self.cases.iter().map(Case::text).collect();
        self.preamble.clone() + &cases.join("\n")
    }
}

impl Case {
    pub fn name(&self) -> &str {
        self.blocks.first().map_or("", |block| &block.rest)
    }

    pub fn block(&self, key: &str) -> Option<&Block> {
        self.blocks.iter().find(|block| block.key == key)
    }

    fn text(&self) -> String {
        let line = |line: &str| format!("{line}\n");
        let block = |block: &Block| {
            let space = if block.rest.is_empty() { "" } else { " " };
            let heading = line(&format!("{}:{space}{}", block.key, block.rest));
            block.lines.iter().fold(heading, |text, next| text + &line(next))
        };
        self.blocks.iter().map(block).collect()
    }
}

impl Block {
    pub fn new(key: &str, rest: &str, lines: Vec<String>) -> Self {
        Block { key: key.to_owned(), rest: rest.to_owned(), lines }
    }

    pub fn content(&self) -> String {
        self.lines.iter().map(|line| format!("{line}\n")).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::CaseFile;

    #[test]
    fn a_file_is_written_as_it_was_read() {
        let text = "# About\n\n\ncase: one\nsam:\nr\t1\n|x\nrun: A=1:2\n\ncase: two\nnote: n\n";
        let file = CaseFile::parse(text).unwrap();
        assert_eq!(file.text(), text);
        assert_eq!(file.preamble, "# About\n\n\n");
        assert_eq!(file.cases[0].name(), "one");
        assert_eq!(file.cases[0].block("run").unwrap().rest, "A=1:2");
        assert_eq!(file.cases[0].block("sam").unwrap().content(), "r\t1\n|x\n");
    }
}
