//! Helpers of tests: steps are applied to reads written as SAM text.

use readmill_format::sam::{LineParser, write_record};
use readmill_record::{Batch, Header, RecordRef, Stamp, Step, edit};

/// Makes a batch of these lines, stamped as the first of the input. Columns may be separated by spaces.
pub fn batch(header: &Header, lines: &[&str]) -> Batch {
    let (mut parser, mut batch) = (LineParser::new(header), Batch::default());
    for line in lines {
        let mut raw = Vec::new();
        let line = line.split(' ').filter(|word| !word.is_empty()).collect::<Vec<_>>().join("\t");
        parser.parse(line.as_bytes(), &mut raw).unwrap_or_else(|error| panic!("{line}: {error}"));
        batch.push(&raw, Stamp::default()).unwrap();
    }
    batch.stamp(0);
    batch
}

/// Returns the records of a batch as lines whose columns are separated by a space. They must be complete,
/// with correct bins.
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

/// Returns these lines after a step; `after` is the header after it.
pub fn applied(step: &mut dyn Step, before: &Header, after: &Header, given: &[&str]) -> Vec<String> {
    let mut batch = batch(before, given);
    step.apply(&mut batch).unwrap();
    lines(after, &batch)
}

/// Returns the names of the reads that a step keeps, separated by spaces.
pub fn kept(step: &mut dyn Step, header: &Header, given: &[&str]) -> String {
    let mut batch = batch(header, given);
    step.apply(&mut batch).unwrap();
    let names = batch.records().map(|(_, record)| String::from_utf8_lossy(record.qname()).into_owned());
    names.collect::<Vec<_>>().join(" ")
}

/// Makes a header of these lines, separated by `;`, whose fields are separated by spaces.
pub fn header(text: &str) -> Header {
    Header::parse(text.replace(';', "\n").replace(' ', "\t").as_bytes()).unwrap()
}
