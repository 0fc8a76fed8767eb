//! How far two files agree: the strictest of four levels, found in one read of both in step.
//!
//! | level | what agrees |
//! |---|---|
//! | L0 | the SAM text, header included, without its @PG and @CO lines |
//! | L1 | the same, whatever the order of tags: of the optional fields in a record, of the tags in a header line, of the kinds of header lines (lines of one kind keep their order: it numbers reference sequences) |
//! | L2 | the same, whatever the order of neighbours of equal RNAME, POS and strand |
//! | L3 | how often each read (QNAME, FLAG without 0x400, RNAME, POS, CIGAR, SEQ, QUAL) occurs, whatever the order, and the duplicate sets: how many mapped primary records are flagged as duplicates at each 5′ end (library, reference sequence, unclipped 5′ position, strand) |
//!
//! L3 looks into the header for names of reference sequences and libraries only: files in different order
//! cannot have the same @HD.
//!
//! Nothing is kept but hashes of 128 bits, summed so that order does not matter, so memory is the same
//! for any number of records at one position. Pairs of records that agree cancel out and are not even
//! hashed.

mod header;
mod line;
mod reads;
mod records;
mod step;
mod verdict;

use std::path::PathBuf;

use readmill_format::reference::Fasta;
use readmill_record::tag::Tag;
use readmill_record::{Error, Result};

use crate::pipeline::open_input::check_ends;
pub use header::Level;
use records::{Ignore, RecordFile};
use step::InStep;
pub use verdict::ComparisonResult;

/// Two files to compare, and what not to look at.
#[derive(Clone, Debug, Default)]
pub struct Comparison {
    /// The files; `-` is standard input.
    pub files: [PathBuf; 2],
    /// Headers may differ.
    pub ignore_header: bool,
    /// Bits of FLAG that may differ.
    pub ignore_flags: u16,
    /// Optional fields that may differ or be absent.
    pub ignore_tags: Vec<Tag>,
    /// The reference, for CRAM.
    pub reference: Option<Fasta>,
}

/// Compares two files.
pub fn compare(wanted: &Comparison) -> Result<ComparisonResult> {
    let [a, b] = &wanted.files;
    if a.as_os_str() == "-" && b.as_os_str() == "-" {
        return Err(
            Error::usage("both files cannot be standard input").hint("give a file's name for one")
        );
    }
    check_ends(&wanted.files)?;
    let (mut a, mut b) =
        (RecordFile::open(a, &wanted.reference)?, RecordFile::open(b, &wanted.reference)?);
    let headers = [a.header().clone(), b.header().clone()];
    let header = (!wanted.ignore_header).then(|| header::compare(&headers));
    let [mut in_a, mut in_b] = [(); 2].map(|()| Ignore::new(wanted.ignore_flags, &wanted.ignore_tags));
    let mut step = InStep::new(&headers);
    loop {
        let at = a.read();
        match (a.next()?, b.next()?) {
            (Some(one), Some(other)) => step.pair(at, [in_a.apply(one), in_b.apply(other)]),
            (Some(one), None) => step.alone(at, 0, in_a.apply(one)),
            (None, Some(other)) => step.alone(at, 1, in_b.apply(other)),
            (None, None) => break,
        }
    }
    let counts = [a.read(), b.read()];
    let (files, ignored) = (wanted.files.clone(), wanted.ignored());
    Ok(ComparisonResult { files, counts, ignored, header, records: step.finish() })
}

impl Comparison {
    /// The parts that are not compared, in words: of headers, and of records.
    fn ignored(&self) -> [String; 2] {
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
