//! Fuzzes single lines of SAM.

use std::cell::RefCell;

use readmill_format::sam::{self, LineParser};
use readmill_record::{Header, RecordRef};

use crate::{expect_refusal, seeds};

struct SamState {
    header: Header,
    parser: LineParser,
    raw: Vec<u8>,
    text: Vec<u8>,
    again: Vec<u8>,
}

thread_local! {
    static STATE: RefCell<SamState> = {
        let header = seeds::seed_header();
        let parser = LineParser::new(&header);
        RefCell::new(SamState { header, parser, raw: Vec::new(), text: Vec::new(), again: Vec::new() })
    };
}

pub fn line_seeds() -> Vec<Vec<u8>> {
    seeds::LINES.iter().map(|line| line.as_bytes().to_vec()).collect()
}

/// Parses a SAM line without its newline. If it is accepted, the record passes the BAM
/// checker, and its text is parsed and written as the same text.
pub fn check_line(line: &[u8]) {
    STATE.with_borrow_mut(|SamState { header, parser, raw, text, again }| {
        raw.clear();
        if let Err(error) = parser.parse(line, raw) {
            assert!(raw.is_empty(), "something is left of a line that was refused");
            return expect_refusal(&error);
        }
        assert_eq!(RecordRef::check(raw, header.n_ref()), Ok(()), "of a line that was accepted");
        crate::accessors::check_accessors(RecordRef::new(raw));
        text.clear();
        sam::write_record(header, RecordRef::new(raw), text);
        let written = text.strip_suffix(b"\n").unwrap_or(text);
        if written.ends_with(b"\r") {
            return; // the reader takes one carriage return for a part of the line end
        }
        raw.clear();
        if let Err(error) = parser.parse(written, raw) {
            panic!("what was written is refused: {error}\n{}", written.escape_ascii());
        }
        again.clear();
        sam::write_record(header, RecordRef::new(raw), again);
        assert!(text == again, "{}\nis not\n{}", text.escape_ascii(), again.escape_ascii());
    });
}
