//! Fuzzes SAM headers: one or more, which are read, changed and merged.

use std::collections::HashSet;
use std::io::Cursor;

use readmill_input::{OpenOptions, Source};
use readmill_record::{Header, Ledger};

use crate::{ITEM_LIMIT, MEMORY_BYTES, expect_refusal, pieces, seeds};

pub fn header_seeds() -> Vec<Vec<u8>> {
    let simulated = seeds::simulated_sample().header.to_text();
    let one = seeds::HEADER.as_bytes();
    let other: &[u8] = b"@HD\tVN:1.5\tGO:query\n@SQ\tSN:chr2\tLN:2000000000\n@SQ\tSN:c3\tLN:7\tM5:0123456789abcdef0123456789abcdef\n\
@RG\tID:g1\tSM:t\n@PG\tID:bwa\tPN:bwa\tVN:1\n@PG\tID:sort\tPP:bwa\n@CO\tsome text\n@CO\n";
    vec![
        one.to_vec(),
        simulated,
        pieces::join_parts(&[one, other]),
        pieces::join_parts(&[other, one, other]),
        pieces::join_parts(&[b"@PG\tID:a\tPP:b\n@PG\tID:b\tPP:a\n", b"@CO\t\r\n", b"@SQ\tSN:a\tLN:1\n"]),
    ]
}

/// Reads one or more headers, changes and merges them. Their text must give the same header
/// again, and the merged header must have all contigs.
pub fn check_headers(bytes: &[u8]) {
    let mut headers = Vec::new();
    for text in pieces::split_parts(bytes).take(4) {
        match Header::parse(text) {
            Ok(header) => headers.push(header),
            Err(error) => return expect_refusal(&error),
        }
        let rules = OpenOptions {
            max_line: ITEM_LIMIT,
            ledger: Ledger::with_capacity(MEMORY_BYTES as u64),
            ..OpenOptions::default()
        };
        match Header::parse_and_mend(text, &Ledger::unlimited()) {
            Ok(header) => check_mended(&header),
            Err(error) => expect_refusal(&error),
        }
        match Source::open(Box::new(Cursor::new(text.to_vec())), &rules) {
            Ok(source) => _ = source.header(),
            Err(error) => expect_refusal(&error),
        }
    }
    for header in &mut headers {
        let text = header.to_text();
        if has_return_before_end(&text) {
            return;
        }
        let again = Header::parse(&text).unwrap_or_else(|e| panic!("a header's text is refused: {e}"));
        assert!(again == *header, "a header's text is another header");
        header.set_order(b"coordinate", None, None);
        header.add_program("readmill", "1", "readmill sort").expect("no limit of memory");
        let changed = header.to_text();
        if has_return_before_end(&changed) {
            return; // a field is gone, and the one before it ends with a carriage return
        }
        let again = Header::parse(&changed);
        let again = again.unwrap_or_else(|e| panic!("the text of a changed header is refused: {e}"));
        assert!(again == *header && header.declares_coordinate_order());
    }
    let merged = match Header::merge(&headers) {
        Ok(merged) => merged,
        Err(error) => return expect_refusal(&error),
    };
    let text = merged.header.to_text();
    if has_return_before_end(&text) {
        return; // the carriage return is lost when the text is read
    }
    let again = Header::parse(&text).unwrap_or_else(|e| panic!("a merged header is refused: {e}"));
    assert!(again == merged.header, "the text of a merged header is another header");
    let names: HashSet<_> = merged.header.references().iter().map(|it| &it.name).collect();
    for contig in headers.iter().flat_map(Header::references) {
        assert!(names.contains(&contig.name), "a merged header has lost a contig");
    }
}

fn check_mended(header: &Header) {
    let text = header.to_text();
    if !has_return_before_end(&text) {
        let again = Header::parse_and_mend(&text, &Ledger::unlimited());
        let again = again.unwrap_or_else(|e| panic!("a mended header is refused: {e}"));
        assert!(again == *header, "a mended header is mended again");
    }
}

/// Returns whether a line ends with a carriage return. Readers remove one as a part of the
/// line end, so such a text is not the same after another read.
fn has_return_before_end(text: &[u8]) -> bool {
    text.windows(2).any(|two| two == b"\r\n")
}
