//! Notes about the header of a file, which the command line prints as warnings.

use std::borrow::Cow;
use std::sync::Arc;

/// Maximum number of notes kept for a header. Further notes are only counted.
const MAX_NOTES: usize = 5;

/// Notes on what was changed in a header, and on what other programs will not accept in it.
#[derive(Clone, Default)]
pub struct HeaderNotes {
    list: Arc<Vec<String>>,
    omitted_count: u64,
}

impl HeaderNotes {
    /// Adds a note about a line, numbered from 1. The closures are called only if the note is kept.
    pub(in super::super) fn add_line_note(
        &mut self,
        line: impl FnOnce() -> usize,
        what: impl FnOnce() -> String,
    ) {
        if self.list.len() < MAX_NOTES {
            Arc::make_mut(&mut self.list).push(format!("header line {}: {}", line(), what()));
        } else {
            self.omitted_count += 1;
        }
    }

    pub fn add_file_note(&mut self, what: &str) {
        Arc::make_mut(&mut self.list).push(what.to_string());
    }

    /// Returns the notes in order, each a sentence without its full stop. The last one gives the number
    /// of omitted notes.
    pub fn texts(&self) -> impl Iterator<Item = Cow<'_, str>> {
        let more = (self.omitted_count > 0)
            .then(|| format!("more notes about header lines, not shown: {}", self.omitted_count));
        self.list.iter().map(|note| Cow::Borrowed(&note[..])).chain(more.map(Cow::Owned))
    }
}
