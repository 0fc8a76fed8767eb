//! Parts of documents that this tool generates, each between two marks.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

/// A generated part of a document. [`check`](Self::check) compares it with newly generated text.
///
/// The marks are Markdown comments, so readers do not see them. Text outside of them is never
/// changed.
pub struct DrawnPart {
    /// Path relative to the workspace root.
    pub document: &'static str,
    /// The end of the text before the part.
    pub begin: &'static str,
    /// The start of the text after the part.
    pub end: &'static str,
}

impl DrawnPart {
    /// Returns a finding unless the document has `drawn` between the marks.
    pub fn check(&self, root: &Path, drawn: &str) -> Result<Option<String>> {
        let text = fs::read_to_string(root.join(self.document))?;
        let [_, shown, _] = self.split(&text)?;
        Ok((shown != drawn)
            .then(|| format!("{}: a drawn part is not up to date: run ./dev picture", self.document)))
    }

    /// Writes `drawn` between the marks of the document.
    pub fn write(&self, root: &Path, drawn: &str) -> Result<()> {
        let path = root.join(self.document);
        let text = fs::read_to_string(&path)?;
        let [before, _, after] = self.split(&text)?;
        fs::write(&path, [before, drawn, after].concat())?;
        Ok(())
    }

    /// Returns the text up to and including the first mark, the text between the marks, and the
    /// text from the second mark on.
    fn split<'a>(&self, text: &'a str) -> Result<[&'a str; 3]> {
        let (document, begin, end) = (self.document, self.begin, self.end);
        let start = text.find(begin).with_context(|| format!("{document} lacks the mark {begin:?}"))?;
        let start = start + begin.len();
        let length =
            text[start..].find(end).with_context(|| format!("{document} lacks the mark {end:?}"))?;
        Ok([&text[..start], &text[start..start + length], &text[start + length..]])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_without_marks_is_an_error() {
        let part = DrawnPart { document: "a.md", begin: "<!-- a -->\n", end: "<!-- end -->" };
        assert!(part.split("nothing").is_err());
        assert!(part.split("<!-- a -->\nno end").is_err());
        let text = "before <!-- a -->\ndrawn\n<!-- end --> after";
        assert_eq!(part.split(text).unwrap(), ["before <!-- a -->\n", "drawn\n", "<!-- end --> after"]);
    }
}
