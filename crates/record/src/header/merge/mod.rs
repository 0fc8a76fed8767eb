//! Merges the headers of several inputs that are read one after the other.
//!
//! The rules are those of Picard MergeSamFiles wherever Picard has one:
//!
//! - A single input keeps its header unchanged. Otherwise lines are grouped by kind: @HD, @SQ, @RG, @PG,
//!   unknown kinds, @CO.
//! - @HD is the first one found. Its order is removed (`SO:unsorted`, no GO, no SS), because
//!   concatenated sorted inputs are not sorted.
//! - @SQ: all sequences. Every input keeps its own order if the inputs do not contradict each other
//!   (`dictionary.rs`). The line is taken from the first input that has the sequence.
//! - @RG, @PG: equal lines are merged. If lines differ but share an ID, the first keeps it and the
//!   others get a suffix: `ID.1`, `ID.2` (`groups.rs`).
//! - @CO: all lines. Unknown lines, and @RG and @PG without ID: each distinct line once.
//!
//! The result depends only on the headers and their order.

mod dictionary;
mod groups;
#[cfg(test)]
mod tests;

use std::collections::HashSet;
use std::sync::Arc;

use super::{HEADERS_USER, Header, HeaderLine, HeaderLines};
use crate::error::Result;
use crate::ledger::Ledger;
use dictionary::MergedDictionary;
pub use groups::{IdChange, IdRenames};
use groups::{LineKind, has_id};

/// The header for several inputs, and the changes that their records need to fit it.
///
/// ```
/// use readmill_record::Header;
///
/// let one = Header::parse(b"@SQ\tSN:chr1\tLN:9\n@RG\tID:a\tSM:s1\n")?;
/// let two = Header::parse(b"@SQ\tSN:chr1\tLN:9\n@RG\tID:a\tSM:s2\n")?;
/// let merged = Header::merge(&[one, two])?;
/// assert_eq!(merged.header.to_text(), b"@SQ\tSN:chr1\tLN:9\n@RG\tID:a\tSM:s1\n@RG\tID:a.1\tSM:s2\n");
/// let mut changed = merged.renames[1].read_groups.changed_ids();
/// assert_eq!(changed.next(), Some((&b"a"[..], &b"a.1"[..])));
/// # Ok::<(), readmill_record::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MergedHeader {
    pub header: Header,
    /// The changes for each input, in input order.
    pub renames: Vec<Renames>,
}

/// The changes that the records of one input need. `readmill_filters` applies them as a step.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Renames {
    /// New index of each reference sequence, or `None` if all keep their indexes.
    pub ref_ids: Option<Vec<i32>>,
    pub read_groups: IdRenames,
    pub programs: IdRenames,
}

impl Renames {
    pub fn is_identity(&self) -> bool {
        self.ref_ids.is_none() && self.read_groups.is_identity() && self.programs.is_identity()
    }
}

impl Header {
    /// Merges the headers of inputs that are read one after the other.
    ///
    /// # Errors
    /// Fails if two inputs use the same name for different reference sequences (the message counts
    /// inputs from 1), or there is too little memory.
    pub fn merge(headers: &[Header]) -> Result<MergedHeader> {
        if let [one] = headers {
            return Ok(MergedHeader { header: one.clone(), renames: vec![Renames::default()] });
        }
        let ledger = headers.first().map_or_else(Ledger::unlimited, Header::ledger);
        // Memory while IDs are assigned: the fields of each line in sorted order, tables of them and of
        // the IDs, and the new lines.
        let groups = headers.iter().flat_map(Header::lines);
        let groups = groups.filter(|line| matches!(line.kind(), b"RG" | b"PG"));
        let bytes: u64 = groups.map(|line| 5 * line.text().len() as u64 + 240).sum();
        let _merging = ledger.charge(HEADERS_USER, bytes)?;
        let MergedDictionary { lines: sequences, ref_ids } = dictionary::merge_dictionaries(headers)?;
        let (programs, program_names) = groups::merge_lines(headers, LineKind::Program, None);
        let (groups, group_names) =
            groups::merge_lines(headers, LineKind::ReadGroup, Some(&program_names));
        let all = || headers.iter().flat_map(Header::lines);
        let mut seen = HashSet::new();
        let unknown = all().filter(|line| is_copied_verbatim(line) && seen.insert(line.text()));
        let mut lines: Vec<HeaderLine> =
            all().find(|line| line.kind() == b"HD").cloned().into_iter().collect();
        lines.extend(sequences);
        lines.extend(groups);
        lines.extend(programs);
        lines.extend(unknown.cloned());
        lines.extend(all().filter(|line| line.kind() == b"CO").cloned());
        let lines = HeaderLines { list: lines, charge: Some(ledger.empty_charge(HEADERS_USER)) };
        let mut header = Header { lines: Arc::new(lines), ..Header::default() };
        header.change_lines(|lines| lines.shrink_to_fit());
        header.build_contigs(&ledger)?;
        header.declare_unsorted();
        let names = group_names.into_iter().zip(program_names);
        let renames = ref_ids.into_iter().zip(names).map(|(ref_ids, (read_groups, programs))| Renames {
            ref_ids,
            read_groups,
            programs,
        });
        Ok(MergedHeader { header, renames: renames.collect() })
    }

    /// Sets `SO:unsorted` in @HD if it declares any order.
    fn declare_unsorted(&mut self) {
        let promises = |line: &HeaderLine| {
            let order = line.get(b"SO").unwrap_or(b"unknown");
            let none = matches!(order, b"unsorted" | b"unknown");
            !none || line.get(b"GO").is_some() || line.get(b"SS").is_some()
        };
        if self.lines_of_kind(b"HD").any(promises) {
            self.set_order(b"unsorted", None, None);
        }
    }
}

/// Returns whether a line is copied unchanged, and only once if several inputs have it.
fn is_copied_verbatim(line: &HeaderLine) -> bool {
    match line.kind() {
        b"HD" | b"SQ" | b"CO" => false,
        b"RG" | b"PG" => !has_id(line),
        _ => true,
    }
}
