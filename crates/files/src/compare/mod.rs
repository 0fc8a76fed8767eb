//! `readmill compare`: determines how closely two files agree, as the strictest of four levels.
//! Reads both files once, in step.
//!
//! | level | what agrees |
//! |---|---|
//! | L0 | the SAM text, including the header, except `@PG` and `@CO` lines |
//! | L1 | like L0, except for the order of tags: of optional fields in a record, of tags in a header line, and of the types of header lines (lines of one type keep their order, because it numbers reference sequences) |
//! | L2 | like L1, except for the order of consecutive reads with equal RNAME, POS and strand |
//! | L3 | how often each read (QNAME, FLAG without 0x400, RNAME, POS, CIGAR, SEQ, QUAL) occurs, in any order; and the duplicate sets: how many mapped primary records are flagged as duplicates at each 5′ end (library, reference sequence, unclipped 5′ position, strand) |
//!
//! From the headers, L3 uses only the names of reference sequences and libraries, because files in
//! different orders cannot have the same `@HD`.
//!
//! Records are not stored. For levels that ignore the order, 128-bit hashes are summed, so the
//! memory does not depend on the number of records at a position. Pairs of equal records cancel out
//! and are not even hashed.

mod header;
mod line;
mod reads;
mod records;
mod step;
mod verdict;

use std::path::PathBuf;

use readmill_format::reference::LazyReference;
use readmill_input::check_file_ends;
use readmill_record::tag::Tag;
use readmill_record::{Error, Result};

pub use header::AgreementLevel;
use records::{IgnoredParts, RecordFile};
use step::RecordComparison;
pub use verdict::ComparisonResult;

#[derive(Clone, Debug, Default)]
pub struct Comparison {
    pub files: [PathBuf; 2],
    pub ignore_header: bool,
    pub ignore_flags: u16,
    pub ignore_tags: Vec<Tag>,
    pub reference: Option<LazyReference>,
}

/// Compares two files record by record.
///
/// # Errors
/// Fails if a file cannot be read or is damaged, or if both are standard input.
pub fn compare_files(wanted: &Comparison) -> Result<ComparisonResult> {
    let [a, b] = &wanted.files;
    if a.as_os_str() == "-" && b.as_os_str() == "-" {
        return Err(
            Error::usage("both files cannot be standard input").hint("give a file name for one of them")
        );
    }
    check_file_ends(&wanted.files)?;
    let (mut a, mut b) =
        (RecordFile::open(a, &wanted.reference)?, RecordFile::open(b, &wanted.reference)?);
    let headers = [a.header().clone(), b.header().clone()];
    let header = (!wanted.ignore_header).then(|| header::compare_headers(&headers));
    let [mut in_a, mut in_b] =
        [(); 2].map(|()| IgnoredParts::new(wanted.ignore_flags, &wanted.ignore_tags));
    let mut step = RecordComparison::new(&headers);
    loop {
        let at = a.record_count();
        match (a.next_record()?, b.next_record()?) {
            (Some(one), Some(other)) => {
                step.compare_pair(at, [in_a.remove_ignored(one), in_b.remove_ignored(other)])
            }
            (Some(one), None) => step.add_unpaired(at, 0, in_a.remove_ignored(one)),
            (None, Some(other)) => step.add_unpaired(at, 1, in_b.remove_ignored(other)),
            (None, None) => break,
        }
    }
    let counts = [a.record_count(), b.record_count()];
    let (files, ignored) = (wanted.files.clone(), wanted.describe_ignored());
    Ok(ComparisonResult { files, counts, ignored, header, records: step.finish() })
}

impl Comparison {
    fn describe_ignored(&self) -> [String; 2] {
        let header = if self.ignore_header { "headers" } else { "@PG and @CO lines" };
        let mut records = String::new();
        if self.ignore_flags != 0 {
            records += &format!(", FLAG {:#x}", self.ignore_flags);
        }
        for tag in &self.ignore_tags {
            records += &format!(", {}", String::from_utf8_lossy(tag));
        }
        [header.to_string(), records]
    }
}
