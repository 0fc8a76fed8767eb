//! Checks the index of minibwa, its records for any batch size and number of threads, and that
//! damage to the index is detected.
#![allow(clippy::unwrap_used)]

use crate::common;
use crate::scene;

use std::path::{Path, PathBuf};

use common::{READS, align, digest, fasta, minibwa as kernel, reads, records, reference};
use readmill_align::Kernel;
use readmill_align::minibwa::{
    self, DifferenceField, MinibwaInsertSize, MinibwaKernel, MinibwaOptions, Preset, build_index,
};
use readmill_record::{Error, ErrorKind, Read, ReadBatch, RecordRef};

fn small_cohorts() -> MinibwaOptions {
    MinibwaOptions { cohort_bases: Some(200_000), ..MinibwaOptions::default() }
}

/// The expected digests were computed from records that equalled, line by line as SAM text, the output
/// of minibwa 0.6-r416 (`minibwa map -K 200000` with these options) for the same reads.
#[test]
fn records_are_those_of_minibwa() {
    let (pairs, plain) = (reads(2, READS), small_cohorts());
    for (name, options, expected) in [
        ("", plain.clone(), 0xc045_ee17_3811_9915),
        (
            "-b MD -Y --outn=9 --xa=9",
            MinibwaOptions {
                differences: Some(DifferenceField::Md),
                soft_clip: true,
                max_secondary_written: Some(9),
                max_xa_hits: Some(9),
                ..plain.clone()
            },
            0xdb73_9365_ad5f_bbaa,
        ),
        (
            "-5 --eqx -b cs",
            MinibwaOptions {
                primary_five_prime: true,
                eqx: true,
                differences: Some(DifferenceField::Cs),
                ..plain.clone()
            },
            0x26ca_ac8c_ab20_a4a0,
        ),
        ("-x lr", MinibwaOptions { preset: Preset::Long, ..plain.clone() }, 0x70c1_a92c_f62a_a629),
    ] {
        let records = align(&kernel(options), &pairs, 500, 2);
        assert_eq!(digest(&records), expected, "{name}: {:#x}", digest(&records));
    }
    let single = align(&kernel(plain), &reads(1, READS), 500, 2);
    assert_eq!(digest(&single), 0x91be_abf8_60c5_50ba, "single: {:#x}", digest(&single));
}

#[test]
fn batches_and_threads_change_nothing() {
    scene::batches_and_threads_change_nothing(&kernel(small_cohorts()));
}

#[test]
fn every_read_has_a_record_that_is_whole_and_in_its_group() {
    scene::every_read_has_a_record_that_is_whole_and_in_its_group(&kernel(MinibwaOptions::default()));
}

#[test]
fn an_insert_size_that_is_given_makes_cohorts_needless() {
    let insert = MinibwaInsertSize { mean: 310, deviation: 90, max: 670, min: 1 };
    let options = MinibwaOptions { insert: Some(insert), ..MinibwaOptions::default() };
    scene::an_insert_size_that_is_given_makes_cohorts_needless(&kernel(options));
}

#[test]
fn memory_stays_below_what_is_foretold() {
    let kernel = kernel(MinibwaOptions::default());
    scene::candidates_stay_below_what_is_foretold(&kernel, 100);
    let beside_words = kernel.index_bytes() - (32 << 20);
    assert!(beside_words > 2 * 140_001 && beside_words < 3 * 140_001, "{beside_words}");
}

#[test]
fn reads_that_cannot_be_records_are_errors() {
    scene::reads_that_cannot_be_records_are_errors(&kernel(MinibwaOptions::default()));
}

#[test]
fn empty_reads_and_empty_batches_are_fine() {
    scene::empty_reads_and_empty_batches_are_fine(&kernel(MinibwaOptions::default()));
}

/// Aligns reads of a single letter, of letters that are not bases, and of all lengths, with and
/// without an empty mate.
#[test]
fn odd_reads_are_aligned_or_not_and_nothing_ends() {
    let genome = common::genome()[0].1.to_ascii_uppercase();
    for preset in [Preset::Adaptive, Preset::Long] {
        let kernel = kernel(MinibwaOptions { preset, ..MinibwaOptions::default() });
        let mut reads = ReadBatch::new(2, 0);
        let mut push = |bases: &[u8]| {
            for bases in [bases, b""] {
                reads.push_read(Read { name: b"odd", comment: b"", bases, qualities: None });
            }
        };
        for letter in [b'A', b'N', b'-', b'\xff', b'u'] {
            for length in [1, 9, 10, 18, 19, 20, 151, 30_000] {
                push(&vec![letter; length]);
            }
        }
        (1..200).for_each(|length| push(&genome[6000..6000 + length]));
        push(&genome[..80_000]);
        let found = records(&kernel, &reads, None);
        assert!(found.len() >= reads.len());
        assert!(found.iter().all(|(_, record)| RecordRef::check(record, 3).is_ok()));
    }
}

#[test]
fn errors_and_panics_of_the_sink_come_back() {
    scene::errors_and_panics_of_the_sink_come_back(&kernel(MinibwaOptions::default()));
}

const SUFFIXES: [&str; 2] = [".l2b", ".mbw"];

fn beside(path: &Path, suffix: &str) -> PathBuf {
    PathBuf::from(format!("{}{suffix}", path.display()))
}

/// The digests are those of the files that minibwa 0.6-r416 built from the same reference.
#[test]
fn files_are_those_of_minibwa() {
    for (suffix, expected) in [(".l2b", 0x1cfb_b8b7_6db4_346b), (".mbw", 0x0474_734e_99df_f5c6)] {
        let found = digest(&std::fs::read(beside(reference(), suffix)).unwrap());
        assert_eq!(found, expected, "{suffix}: {found:#x}");
    }
}

fn refused(text: &str, memory: Option<u64>) -> Error {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("ref.fa");
    std::fs::write(&file, text).unwrap();
    let error = build_index(&file, &file, memory, &mut |_| ()).unwrap_err();
    assert_eq!(std::fs::read_dir(place.path()).unwrap().count(), 1, "files were left behind");
    error
}

#[test]
fn what_is_no_reference_is_refused() {
    for (text, what) in [
        ("", "no bases"),
        (">a\n", "no bases"),
        ("ACGT\n", "must begin with `>`"),
        ("@r\nACGT\n+\nIIII\n", "this is FASTQ"),
        (">a\nAC\n>b\nAC\n>a\nAC\n", "two sequences have the name a"),
        (">a\nAC\n> b\nAC\n", "sequence 2 has no name"),
    ] {
        let error = refused(text, None);
        assert_eq!(error.kind, ErrorKind::Input);
        assert!(error.what.contains(what) && error.place.file.is_some(), "{error}");
    }
    let error = refused(&fasta("\n"), Some(1 << 20));
    assert_eq!(error.kind, ErrorKind::Usage);
    assert!(error.what.contains("needs 18M"), "{error}");
}

#[test]
fn the_smallest_references_can_be_read() {
    for text in [">a\nA\n", ">a\n>b\nACGT\n>c\n", ">a\nNNNN\n"] {
        let place = tempfile::tempdir().unwrap();
        let file = place.path().join("ref.fa");
        std::fs::write(&file, text).unwrap();
        build_index(&file, &file, None, &mut |_| ()).unwrap();
        let prefix = minibwa::FILES.find_prefix(&file.with_extension("fa.gz")).unwrap();
        let kernel = MinibwaKernel::load(&prefix, MinibwaOptions::default()).unwrap();
        let kernel: std::sync::Arc<dyn Kernel> = std::sync::Arc::new(kernel);
        assert_eq!(records(&kernel, &reads(2, 20), None).len(), 40, "{text}");
    }
}

/// Loads a copy of the index, after `change` has damaged one of its files.
fn loaded(suffix: &str, change: impl Fn(&mut Vec<u8>)) -> Result<MinibwaKernel, Error> {
    let place = tempfile::tempdir().unwrap();
    let prefix = place.path().join("ref.fa");
    for suffix in SUFFIXES {
        std::fs::copy(beside(reference(), suffix), beside(&prefix, suffix)).unwrap();
    }
    if !suffix.is_empty() {
        let mut bytes = std::fs::read(beside(&prefix, suffix)).unwrap();
        change(&mut bytes);
        std::fs::write(beside(&prefix, suffix), bytes).unwrap();
    }
    MinibwaKernel::load(&prefix, MinibwaOptions::default())
}

#[test]
fn a_damaged_index_is_an_error_and_does_not_end_the_process() {
    assert!(loaded("", |_| ()).is_ok());
    for suffix in SUFFIXES {
        let cut = |bytes: &mut Vec<u8>| bytes.truncate(bytes.len() / 2);
        let more = |bytes: &mut Vec<u8>| bytes.extend([b'7'; 5]);
        let results = [
            ("cut", loaded(suffix, cut)),
            ("emptied", loaded(suffix, Vec::clear)),
            ("of another", loaded(suffix, |bytes| bytes[0] ^= 3)),
            ("longer", loaded(suffix, more)),
            ("of other numbers", loaded(suffix, |bytes| bytes[16..56].fill(0xff))),
        ];
        for (how, result) in results {
            let Err(error) = result else { panic!("{suffix} {how} went through") };
            assert_eq!(error.kind, ErrorKind::Input, "{suffix} {how}: {error}");
        }
    }
    let lines = loaded(".l2b", |bytes| bytes[64..72].fill(0x11));
    assert!(lines.is_err_and(|error| error.what.contains("do not match their sum")));
}
