//! Notes about the header of a file.

use std::borrow::Cow;
use std::sync::Arc;

/// Notes that are kept of one header; the others are counted.
const MAX_NOTES: usize = 5;

/// What was changed in the header of a file, and what other programs will not accept in it.
#[derive(Clone, Default)]
pub struct HeaderNotes {
    list: Arc<Vec<String>>,
    left_out: u64,
}

impl HeaderNotes {
    /// Adds a note about a line, which is counted from 1; both are found only if the note is kept.
    pub(in super::super) fn add(&mut self, line: impl FnOnce() -> usize, what: impl FnOnce() -> String) {
        if self.list.len() < MAX_NOTES {
            Arc::make_mut(&mut self.list).push(format!("header line {}: {}", line(), what()));
        } else {
            self.left_out += 1;
        }
    }

    /// Adds a note about the whole file.
    pub fn add_of_file(&mut self, what: &str) {
        Arc::make_mut(&mut self.list).push(what.to_string());
    }

    /// The notes in order, each a sentence without its full stop.
    pub fn texts(&self) -> impl Iterator<Item = Cow<'_, str>> {
        let more = (self.left_out > 0)
            .then(|| format!("the same or more of {} other header lines", self.left_out));
        self.list.iter().map(|note| Cow::Borrowed(&note[..])).chain(more.map(Cow::Owned))
    }
}
