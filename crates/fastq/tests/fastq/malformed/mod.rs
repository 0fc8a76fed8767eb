//! Malformed FASTQ, case by case.
//!
//! Each case is read in batches of one, two and many templates, in blocks of seven and more bytes,
//! by one thread and by several. The outcome is always the same.
#![allow(clippy::unwrap_used)]

use crate::common;
mod cases;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use common::crew;
use common::oracle::Owned;
use readmill_fastq::{BatchOptions, Claims, FastqInput, FastqLayout};
use readmill_record::ErrorKind;

pub enum ParseOutcome {
    /// This many templates are read without an error.
    Templates(usize),
    /// An error of this kind that names the file (0-based) and the record (1-based), and contains
    /// these words.
    Fault(ErrorKind, usize, u64, &'static str),
    /// An error that names only the file, which could not be read at all.
    Refused(&'static str),
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// One read per template.
    Single,
    /// Two reads per template, in two files.
    Paired,
    /// Two reads per template, in one file.
    Interleaved,
}

fn layout(shape: Shape, texts: &[&[u8]]) -> FastqLayout {
    let stream = |file: usize| {
        let bytes = std::io::Cursor::new(texts[file].to_vec());
        FastqInput::Stream(name(file), Box::new(bytes))
    };
    match shape {
        Shape::Single => FastqLayout::Single(stream(0)),
        Shape::Paired => FastqLayout::Paired(stream(0), stream(1)),
        Shape::Interleaved => FastqLayout::Interleaved(stream(0)),
    }
}

fn name(file: usize) -> PathBuf {
    Path::new("lane").join(format!("R{}.fastq", file + 1))
}

fn check(what: &str, shape: Shape, texts: &[&[u8]], expected: &ParseOutcome) {
    let mut first: Option<Vec<Owned>> = None;
    for templates in [1, 2, 100] {
        for (block_bytes, threads) in [(7, 1), (64, 3), (1 << 16, 1)] {
            let options = BatchOptions {
                templates,
                block_bytes,
                max_in_flight: 4,
                record_bytes: 2000,
                ..BatchOptions::default()
            };
            let opened = Claims::open(layout(shape, texts), options);
            let claims = match (opened, expected) {
                (Err(error), ParseOutcome::Refused(words)) => {
                    assert_eq!(
                        (error.kind, error.place.file.as_deref()),
                        (ErrorKind::Input, Some(&*name(0)))
                    );
                    assert!(error.to_string().contains(words), "{what}: {error}");
                    continue;
                }
                (opened, _) => Arc::new(opened.unwrap()),
            };
            let outcome = crew::run(&claims, threads, 4, 1);
            match (expected, outcome.error) {
                (ParseOutcome::Templates(n), None) => {
                    assert_eq!(outcome.batches.iter().sum::<usize>(), *n, "{what}");
                    assert_eq!(
                        first.get_or_insert_with(|| outcome.reads.clone()),
                        &outcome.reads,
                        "{what}"
                    );
                }
                (ParseOutcome::Fault(kind, file, record, words), Some(error)) => {
                    let place = (error.place.file.clone(), error.place.record);
                    assert_eq!(
                        (error.kind, place),
                        (*kind, (Some(name(*file)), Some(*record))),
                        "{what}: {error}"
                    );
                    assert!(error.to_string().contains(words), "{what}: {error}");
                }
                (_, error) => panic!("{what}: {error:?}"),
            }
        }
    }
}

#[test]
fn every_case_has_its_outcome() {
    let mut cases = 0;
    for (what, text, expected) in cases::single() {
        check(what, Shape::Single, &[text], &expected);
        cases += 1;
    }
    for (what, one, two, expected) in cases::paired() {
        check(what, Shape::Paired, &[one, two], &expected);
        cases += 1;
    }
    for (what, text, expected) in cases::interleaved() {
        check(what, Shape::Interleaved, &[text], &expected);
        cases += 1;
    }
    for (what, bytes, expected) in cases::packed() {
        check(what, Shape::Single, &[&bytes], &expected);
        cases += 1;
    }
    println!("{cases} cases");
    assert!(cases >= 80);
}
