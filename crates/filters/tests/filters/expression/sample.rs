//! Records from SAM lines, and the results of expressions for them.

use readmill_filters::expression::Expression;
use readmill_format::sam::LineParser;
use readmill_record::{Batch, Header, RecordRef, Result, Stamp};

/// A header with two reference sequences and two read groups, one of which has a library.
pub const HEADER: &str = "@HD\tVN:1.6\n@SQ\tSN:chr1\tLN:100000\n@SQ\tSN:chr2\tLN:100000\n\
                          @RG\tID:g1\tLB:lib one\n@RG\tID:g2\n";

/// A mapped read of a pair with an optional field of every type, and an unmapped read without any.
pub const READS: &str = "\
first\t99\tchr1\t101\t37\t2H3S4M2D1I5M1S\t=\t301\t-77\tACGTACGTACGTAC\tIIIIIIIIIIIII5\tRG:Z:g1\tNM:i:0\tXA:A:q\tXF:f:0.5\t\
XH:H:1AE3\tXI:i:-70000\tXE:Z:\tXB:B:c,1,2\tXN:i:-3
second\t4\t*\t0\t0\t*\t*\t0\t0\t*\t*";

pub fn header() -> Header {
    Header::parse(HEADER.as_bytes()).unwrap()
}

pub fn batch(header: &Header, lines: &str) -> Batch {
    let (mut parser, mut batch, mut raw) = (LineParser::new(header), Batch::default(), Vec::new());
    for (i, line) in lines.lines().enumerate() {
        raw.clear();
        parser.parse(line.as_bytes(), &mut raw).unwrap();
        batch.push(&raw, Stamp::new(i as u64, 0)).unwrap();
    }
    batch
}

/// Returns the result of an expression for each of [`READS`].
pub fn of_both(text: &str) -> Result<[bool; 2]> {
    let header = header();
    let mut expression = Expression::parse(text, &header)?;
    let batch = batch(&header, READS);
    let mut of = |i: usize| expression.matches(RecordRef::new(batch.record(batch.spans[i]).raw()));
    Ok([of(0)?, of(1)?])
}
