//! Checks that records equal the output of bwa mem, for any batch size and number of threads.
#![allow(clippy::unwrap_used)]

use crate::common;
use crate::scene;

use common::{READS, align, digest, kernel, reads};
use readmill_align::bwa::{BwaOptions, InsertSize};

fn small_cohorts() -> BwaOptions {
    BwaOptions { cohort_bases: Some(200_000), ..BwaOptions::default() }
}

/// The expected digests were computed from records that equalled, line by line as SAM text, the output
/// of bwa 0.7.17-r1188 (`bwa mem -K 200000` with these options) for the same reads.
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
    scene::batches_and_threads_change_nothing(&kernel(small_cohorts()));
}

#[test]
fn every_read_has_a_record_that_is_whole_and_in_its_group() {
    scene::every_read_has_a_record_that_is_whole_and_in_its_group(&kernel(BwaOptions::default()));
}

#[test]
fn an_insert_size_that_is_given_makes_cohorts_needless() {
    let insert = InsertSize { mean: 310.0, deviation: 90.0, max: 670, min: 1 };
    let options = BwaOptions { insert: Some(insert), ..BwaOptions::default() };
    scene::an_insert_size_that_is_given_makes_cohorts_needless(&kernel(options));
}

#[test]
fn memory_stays_below_what_is_foretold() {
    let kernel = kernel(BwaOptions::default());
    scene::candidates_stay_below_what_is_foretold(&kernel, 500);
    assert!(kernel.index_bytes() > 3 * 140_001 && kernel.index_bytes() < 4 * 140_001);
}

#[test]
fn reads_that_cannot_be_records_are_errors() {
    scene::reads_that_cannot_be_records_are_errors(&kernel(BwaOptions::default()));
}

#[test]
fn empty_reads_and_empty_batches_are_fine() {
    scene::empty_reads_and_empty_batches_are_fine(&kernel(BwaOptions::default()));
}

#[test]
fn errors_and_panics_of_the_sink_come_back() {
    scene::errors_and_panics_of_the_sink_come_back(&kernel(BwaOptions::default()));
}
