//! Helpers for unit tests, which apply steps to reads given as SAM text.

use std::cell::RefCell;
use std::path::Path;

use readmill_format::reference::Reference;
use readmill_format::sam::{LineParser, write_record};
use readmill_record::{Batch, Error, Header, Ledger, RecordRef, Result, Stamp, Step, edit};

use crate::Filters;
use crate::spec::{FilterHost, MakeContext};

/// Returns a batch of these SAM lines, numbered as the first records of an input. Columns may be
/// separated by spaces.
pub fn batch(header: &Header, lines: &[&str]) -> Batch {
    let (mut parser, mut batch) = (LineParser::new(header), Batch::default());
    for line in lines {
        let mut raw = Vec::new();
        let line = line.split(' ').filter(|word| !word.is_empty()).collect::<Vec<_>>().join("\t");
        parser.parse(line.as_bytes(), &mut raw).unwrap_or_else(|error| panic!("{line}: {error}"));
        batch.push(&raw, Stamp::default()).unwrap();
    }
    batch.stamp_templates(0);
    batch
}

/// Returns the records of a batch as lines with spaces between columns. Checks that the records are
/// well-formed and have the right BAI bin.
pub fn lines(header: &Header, batch: &Batch) -> Vec<String> {
    let line = |record: RecordRef<'_>| {
        assert_eq!(RecordRef::check(record.raw(), header.n_ref()), Ok(()));
        let mut again = record.raw().to_vec();
        edit::set_bin(&mut again);
        assert_eq!(again, record.raw(), "the bin of {record:?}");
        let mut text = Vec::new();
        write_record(header, record, &mut text);
        String::from_utf8(text).unwrap().trim_end().replace('\t', " ")
    };
    batch.records().map(|(_, record)| line(record)).collect()
}

/// Returns the lines `given` after a step. `after` is the header that the step has made from
/// `before`.
pub fn applied(step: &mut dyn Step, before: &Header, after: &Header, given: &[&str]) -> Vec<String> {
    let mut batch = batch(before, given);
    step.apply(&mut batch).unwrap();
    lines(after, &batch)
}

pub fn kept(step: &mut dyn Step, header: &Header, given: &[&str]) -> String {
    let mut batch = batch(header, given);
    step.apply(&mut batch).unwrap();
    let names = batch.records().map(|(_, record)| String::from_utf8_lossy(record.qname()).into_owned());
    names.collect::<Vec<_>>().join(" ")
}

pub fn header(text: &str) -> Header {
    Header::parse(text.replace(';', "\n").replace(' ', "\t").as_bytes()).unwrap()
}

/// Collects the warnings of filters. Files and the reference cannot be read.
#[derive(Default)]
struct WarningHost(RefCell<Vec<String>>);

impl FilterHost for WarningHost {
    fn print_info(&self, _: &str) {}

    fn print_warning(&self, text: &str) {
        self.0.borrow_mut().push(text.to_string());
    }

    fn read_header(&self, _: &Path) -> Result<Header> {
        Err(Error::bug("this host has no files"))
    }

    fn open_reference(&self) -> Result<Reference> {
        Err(Error::bug("this host has no reference"))
    }
}

/// Returns the warnings that the filters of these flags print for a header.
///
/// # Errors
/// The flags are wrong, or the filters refuse the header.
pub fn warnings_of(words: &[&str], header_text: &str) -> Result<Vec<String>> {
    let (mut header, host) = (header(header_text), WarningHost::default());
    Filters::from_words(words.iter().copied())?.make_steps(&mut MakeContext {
        header: &mut header,
        ledger: &Ledger::unlimited(),
        host: &host,
        lone_mates: None,
        discard_limit: None,
    })?;
    Ok(host.0.into_inner())
}
