//! Properties that every kernel must have, tested with the reads of `common`.
#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use readmill_align::{Kernel, Seeded};
use readmill_record::{Error, ErrorKind, Read, ReadBatch, RecordRef};

use super::common::{align, reads, records};

pub fn batches_and_threads_change_nothing(small_cohorts: &Arc<dyn Kernel>) {
    let (kernel, pairs, single) = (small_cohorts, reads(2, 1500), reads(1, 700));
    let (whole, alone) = (align(kernel, &pairs, 1500, 1), align(kernel, &single, 700, 1));
    for (batch, threads) in [(1, 1), (37, 3), (512, 2), (1000, 8)] {
        assert!(align(kernel, &pairs, batch, threads) == whole, "pairs in batches of {batch}");
        assert!(align(kernel, &single, batch, threads) == alone, "reads in batches of {batch}");
    }
}

pub fn every_read_has_a_record_that_is_whole_and_in_its_group(kernel: &Arc<dyn Kernel>) {
    let pairs = reads(2, 300);
    let records = records(kernel, &pairs, Some(b"g1"));
    let mut primaries = vec![0; pairs.len()];
    for (read, record) in &records {
        assert_eq!(RecordRef::check(record, 3), Ok(()));
        let record = RecordRef::new(record);
        assert_eq!(record.read_group(), Some(&b"g1"[..]));
        let name = pairs.read(*read).name;
        let kept = name.strip_suffix(b"/1").or(name.strip_suffix(b"/2")).unwrap_or(name);
        assert_eq!(record.qname(), kept);
        assert_eq!(record.flags().is_last(), read % 2 == 1);
        primaries[*read] += u32::from(record.flags().is_primary());
    }
    assert!(primaries.iter().all(|&count| count == 1));
    let mapped = records.iter().filter(|(_, it)| !RecordRef::new(it).flags().is_unmapped()).count();
    assert!(mapped > 560, "{mapped} are mapped");
}

pub fn an_insert_size_that_is_given_makes_cohorts_needless(given: &Arc<dyn Kernel>) {
    assert_eq!(given.cohort_bases(2), None);
    let pairs = reads(2, 400);
    assert!(align(given, &pairs, 400, 1) == align(given, &pairs, 31, 2));
}

/// Checks that candidates take more than `each` bytes per read, but less than the estimate.
pub fn candidates_stay_below_what_is_foretold(kernel: &Arc<dyn Kernel>, each: u64) {
    let pairs = reads(2, 1024);
    let seeded = kernel.clone().new_aligner().unwrap().seed_reads(&pairs).unwrap();
    assert!(seeded.bytes() > each * pairs.len() as u64);
    assert!(seeded.bytes() < kernel.seeded_bytes(&pairs), "{}", seeded.bytes());
}

pub fn reads_that_cannot_be_records_are_errors(kernel: &Arc<dyn Kernel>) {
    let (long_name, long_read) = (vec![b'n'; 255], vec![b'A'; 200_001]);
    for (name, bases, what) in [
        (&long_name[..], &b"ACGT"[..], "254 bytes"),
        (b"a\0b", b"ACGT", "NUL"),
        (b"long", &long_read, "200,000 bases"),
    ] {
        let mut reads = ReadBatch::new(1, 41);
        reads.push_read(Read { name: b"good", comment: b"", bases: b"ACGTACGT", qualities: None });
        reads.push_read(Read { name, comment: b"", bases, qualities: None });
        let Err(error) = kernel.clone().new_aligner().unwrap().seed_reads(&reads) else {
            panic!("{what} went through")
        };
        assert_eq!((error.kind, error.place.record), (ErrorKind::Input, Some(43)));
        assert!(error.what.contains(what), "{error}");
    }
}

pub fn empty_reads_and_empty_batches_are_fine(kernel: &Arc<dyn Kernel>) {
    let mut reads = ReadBatch::new(2, 0);
    assert!(records(kernel, &reads, None).is_empty());
    for _ in 0..2 {
        reads.push_read(Read { name: b"e", comment: b"", bases: b"", qualities: Some(b"") });
    }
    let records = records(kernel, &reads, None);
    assert_eq!(records.len(), 2);
    assert!(records.iter().all(|(_, record)| RecordRef::new(record).flags().is_unmapped()));
}

pub fn errors_and_panics_of_the_sink_come_back(kernel: &Arc<dyn Kernel>) {
    let reads = reads(2, 5);
    let mut aligner = kernel.clone().new_aligner().unwrap();
    let mut seeded = || aligner.seed_reads(&reads).unwrap();
    let (first, second): (Seeded, Seeded) = (seeded(), seeded());
    let model = kernel.infer_insert_sizes(&[&first]).unwrap();
    let fail = &mut |_: usize, _: &[u8]| Err(Error::usage("full"));
    assert_eq!(aligner.emit_records(&reads, first, &model, None, fail).unwrap_err().what, "full");
    let panic = std::panic::AssertUnwindSafe(|| {
        aligner.emit_records(&reads, second, &model, None, &mut |_, _| panic!("ouch"))
    });
    assert!(std::panic::catch_unwind(panic).is_err());
}
