//! Records of bwa mem, whatever the batches and threads.
#![cfg(feature = "bwa")]
#![allow(clippy::unwrap_used)]

mod common;

use common::{READS, align, digest, kernel, reads, records};
use readmill_align::Seeded;
use readmill_align::bwa::{BwaOptions, InsertSize};
use readmill_record::{Kind, Read, Reads, RecordRef};

fn small_cohorts() -> BwaOptions {
    BwaOptions { cohort_bases: Some(200_000), ..BwaOptions::default() }
}

/// The digests are of records that were equal, line by line, to those of bwa 0.7.17-r1188 (`bwa mem -K 200000`, and
/// these options) on the same reads, once both were SAM text.
#[test]
fn records_are_those_of_bwa_mem() {
    let pairs = reads(2, READS);
    let plain = small_cohorts();
    for (name, options, expected) in [
        ("", plain.clone(), 0x2018_f32b_ca21_2ab3),
        ("-a -Y", BwaOptions { all: true, soft_clip: true, ..plain.clone() }, 0x7f29_94ac_642f_9cf4),
        (
            "-M -5",
            BwaOptions { mark_split_secondary: true, primary_five_prime: true, ..plain.clone() },
            0x6f8f_f0e8_6825_b0d6,
        ),
        (
            "-A 2 -L 8,3",
            BwaOptions { match_score: Some(2), clip: Some((8, 3)), ..plain.clone() },
            0x692d_90b9_fc6f_ba80,
        ),
    ] {
        let records = align(&kernel(options), &pairs, 500, 2);
        assert_eq!(digest(&records), expected, "{name}: {:#x}", digest(&records));
    }
    let single = align(&kernel(plain), &reads(1, READS), 500, 2);
    assert_eq!(digest(&single), 0x5cf2_e26d_9318_05e8, "single: {:#x}", digest(&single));
}

#[test]
fn batches_and_threads_change_nothing() {
    let (kernel, pairs, single) = (kernel(small_cohorts()), reads(2, 1500), reads(1, 700));
    let (whole, alone) = (align(&kernel, &pairs, 1500, 1), align(&kernel, &single, 700, 1));
    for (batch, threads) in [(1, 1), (37, 3), (512, 2), (1000, 8)] {
        assert!(align(&kernel, &pairs, batch, threads) == whole, "pairs in batches of {batch}");
        assert!(align(&kernel, &single, batch, threads) == alone, "reads in batches of {batch}");
    }
}

#[test]
fn every_read_has_a_record_that_is_whole_and_in_its_group() {
    let (kernel, pairs) = (kernel(BwaOptions::default()), reads(2, 300));
    let records = records(&kernel, &pairs, Some(b"g1"));
    let mut primaries = vec![0; pairs.len()];
    for (read, record) in &records {
        assert_eq!(RecordRef::check(record, 3), Ok(()));
        let record = RecordRef::new(record);
        assert_eq!(record.read_group(), Some(&b"g1"[..]));
        let name = pairs.read(*read).name;
        assert_eq!(
            record.qname(),
            name.strip_suffix(b"/1").or(name.strip_suffix(b"/2")).unwrap_or(name)
        );
        assert_eq!(record.flags().is_last(), read % 2 == 1);
        let flags = record.flags();
        primaries[*read] += u32::from(!flags.is_secondary() && !flags.is_supplementary());
    }
    assert!(primaries.iter().all(|&count| count == 1));
    let mapped =
        records.iter().filter(|(_, record)| !RecordRef::new(record).flags().is_unmapped()).count();
    assert!(mapped > 560, "{mapped} are mapped");
}

#[test]
fn an_insert_size_that_is_given_makes_cohorts_needless() {
    let insert = InsertSize { mean: 310.0, deviation: 90.0, longest: 670, shortest: 1 };
    let kernel = kernel(BwaOptions { insert: Some(insert), ..BwaOptions::default() });
    assert_eq!(kernel.cohort_bases(2), None);
    let pairs = reads(2, 400);
    assert!(align(&kernel, &pairs, 400, 1) == align(&kernel, &pairs, 31, 2));
}

#[test]
fn memory_stays_below_what_is_foretold() {
    let (kernel, pairs) = (kernel(BwaOptions::default()), reads(2, 1024));
    let seeded = kernel.clone().aligner().unwrap().seed(&pairs).unwrap();
    assert!(seeded.bytes() > 500 * pairs.len() as u64);
    assert!(seeded.bytes() < kernel.seeded_bytes(&pairs), "{}", seeded.bytes());
    assert!(kernel.index_bytes() > 3 * 140_001 && kernel.index_bytes() < 4 * 140_001);
}

#[test]
fn reads_that_cannot_be_records_are_errors() {
    let kernel = kernel(BwaOptions::default());
    let (long_name, long_read) = (vec![b'n'; 255], vec![b'A'; 200_001]);
    for (name, bases, what) in [
        (&long_name[..], &b"ACGT"[..], "254 bytes"),
        (b"a\0b", b"ACGT", "NUL"),
        (b"long", &long_read, "200,000 bases"),
    ] {
        let mut reads = Reads::new(1, 41);
        reads.push(Read { name: b"good", comment: b"", bases: b"ACGTACGT", qualities: None });
        reads.push(Read { name, comment: b"", bases, qualities: None });
        let Err(error) = kernel.clone().aligner().unwrap().seed(&reads) else {
            panic!("{what} went through")
        };
        assert_eq!((error.kind, error.place.record), (Kind::Input, Some(43)));
        assert!(error.what.contains(what), "{error}");
    }
}

#[test]
fn empty_reads_and_empty_batches_are_fine() {
    let kernel = kernel(BwaOptions::default());
    let mut reads = Reads::new(2, 0);
    assert!(records(&kernel, &reads, None).is_empty());
    for _ in 0..2 {
        reads.push(Read { name: b"e", comment: b"", bases: b"", qualities: Some(b"") });
    }
    let records = records(&kernel, &reads, None);
    assert_eq!(records.len(), 2);
    assert!(records.iter().all(|(_, record)| RecordRef::new(record).flags().is_unmapped()));
}

#[test]
fn errors_and_panics_of_the_sink_come_back() {
    let (kernel, reads) = (kernel(BwaOptions::default()), reads(2, 5));
    let mut aligner = kernel.clone().aligner().unwrap();
    let mut seeded = || aligner.seed(&reads).unwrap();
    let (first, second): (Seeded, Seeded) = (seeded(), seeded());
    let model = kernel.infer(&[&first]).unwrap();
    let fail = &mut |_: usize, _: &[u8]| Err(readmill_record::Error::usage("full"));
    assert_eq!(aligner.emit(&reads, first, &model, None, fail).unwrap_err().what, "full");
    let panic = std::panic::AssertUnwindSafe(|| {
        aligner.emit(&reads, second, &model, None, &mut |_, _| panic!("ouch"))
    });
    assert!(std::panic::catch_unwind(panic).is_err());
}
