//! The index of a whole file, absorbed partition by partition.

use readmill_record::Header;

use super::chunk::{Chunk, Summary, Windows, rebase};
use super::fragment::{Fragment, Part};
use super::scheme::{Scheme, level};

/// The index of one reference sequence that has records.
#[derive(Debug)]
pub(super) struct Reference {
    pub(super) ref_id: usize,
    pub(super) summary: Summary,
    /// Chunks by level and then in file order, which is also the order of bins.
    pub(super) levels: Vec<Vec<Chunk>>,
    pub(super) windows: Windows,
}

/// The index of a file in the making. It holds 24 bytes for each chunk and 16 for each window of 2^14 bases.
#[derive(Debug)]
pub struct IndexBuilder {
    pub(super) scheme: Scheme,
    pub(super) n_ref: usize,
    /// Those with records, in order.
    pub(super) references: Vec<Reference>,
    pub(super) unplaced: u64,
    last: u64,
    pub(super) unsorted: bool,
}

impl IndexBuilder {
    /// An index without records.
    pub fn new(scheme: Scheme, header: &Header) -> Self {
        let n_ref = header.references().len();
        IndexBuilder { scheme, n_ref, references: Vec::new(), unplaced: 0, last: 0, unsorted: false }
    }

    /// Takes in the next partition, whose first byte is at `base` in the file.
    pub fn absorb(&mut self, fragment: Fragment, base: u64) {
        self.unplaced += fragment.unplaced;
        if let Some((first, last)) = fragment.range {
            self.unsorted |= fragment.unsorted || first < self.last;
            self.last = last;
        }
        for part in fragment.parts {
            let n_levels = usize::from(self.scheme.depth) + 1;
            match self.references.last_mut() {
                Some(reference) if reference.ref_id == part.ref_id => reference.absorb(part, base),
                _ => {
                    let mut reference = Reference::new(&part, base, n_levels);
                    reference.absorb(part, base);
                    self.references.push(reference);
                }
            }
        }
    }

    /// Whether all records so far came in coordinate order, so that they can be indexed.
    pub fn is_sorted(&self) -> bool {
        !self.unsorted
    }
}

impl Reference {
    fn new(first: &Part, base: u64, n_levels: usize) -> Self {
        let begin = rebase(first.summary.begin, base);
        let summary = Summary { begin, end: begin, mapped: 0, unmapped: 0 };
        let levels = vec![Vec::new(); n_levels];
        Reference { ref_id: first.ref_id, summary, levels, windows: Windows::default() }
    }

    fn absorb(&mut self, part: Part, base: u64) {
        self.summary.end = rebase(part.summary.end, base);
        self.summary.mapped += part.summary.mapped;
        self.summary.unmapped += part.summary.unmapped;
        for (end, offset) in part.windows.runs {
            self.windows.reach(end, rebase(offset, base));
        }
        for chunk in part.chunks {
            let (chunk, level) = (chunk.rebased(base), &mut self.levels[level(chunk.bin)]);
            if !level.last_mut().is_some_and(|last| last.merge(chunk)) {
                level.push(chunk);
            }
        }
    }
}
