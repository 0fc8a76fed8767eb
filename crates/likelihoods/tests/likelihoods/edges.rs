//! Edge cases: the regions with negative numbers, whose reads and haplotypes are written in the Java
//! programs. Each test compares one of them with GATK, and names what happens in it.

use readmill_likelihoods::{
    EmptySequence, Flavour, HmmReads, Instructions, LikelihoodMatrix, PairHmm, Precision, QualityModel,
    SequencedRead, UnequalLengths,
};

use super::engine::compare_engine;
use super::{compare_kernels, read_oracle};

/// Returns the lines of a region.
fn find_region(oracle: &str, number: i32) -> String {
    let text = read_oracle(oracle);
    let name = format!("region {number}");
    let is_other = |line: &&str| line.starts_with("region ") && !line.starts_with(&name);
    let lines =
        text.lines().skip_while(|line| !line.starts_with(&name)).take_while(|line| !is_other(line));
    lines.map(|line| line.to_owned() + "\n").collect()
}

fn find_kernel_region(number: i32) -> String {
    let region = find_region("pair_hmm.txt", number);
    compare_kernels(&region, &Instructions::list_available());
    region
}

fn find_engine_region(number: i32) -> String {
    let region = find_region("read_likelihoods.txt", number);
    let comparison = compare_engine(&region);
    assert_eq!(comparison.first_difference, None);
    assert!(comparison.lines > 0);
    region
}

#[test]
fn reads_may_be_longer_than_haplotypes() {
    find_kernel_region(-1);
}

#[test]
fn probabilities_may_be_too_small_for_f32_and_f64() {
    let region = find_kernel_region(-2);
    let likelihoods = region.lines().find(|line| line.starts_with("l avx512 ")).unwrap();
    assert!(likelihoods.contains(" fff0000000000000"), "one is -infinity");
}

#[test]
fn n_matches_every_base_and_other_bytes_are_taken_for_a() {
    find_kernel_region(-3);
}

#[test]
fn qualities_are_from_0_to_127() {
    let region = find_kernel_region(-4);
    assert!(region.contains("l avx512 fff0000000000000"), "quality 0 allows no match of equal bases");
}

#[test]
fn base_qualities_are_capped_and_raised() {
    let region = find_engine_region(-1);
    assert!(region.contains(" 111111111111111111111111 - - 60\nq 060606060606060606060606 "), "17");
    assert!(region.contains(" 121212121212121212121212 - - 60\nq 121212121212121212121212 "), "18");
    assert!(region.contains(" 3c3c3c3c3c3c3c3c3c3c3c3c - - 20\nq 141414141414141414141414 "), "MAPQ 20");
}

#[test]
fn repeats_lower_the_qualities_of_indels() {
    let region = find_engine_region(-2);
    assert!(region.contains("q 1e1e1e"));
}

#[test]
fn priorities_choose_among_equally_good_haplotypes() {
    find_engine_region(-3);
}

#[test]
fn reads_that_fit_no_haplotype_are_removed() {
    let region = find_engine_region(-4);
    assert!(region.contains("\nk 0\n"), "only the first is kept");
}

#[test]
fn only_several_haplotypes_cap_differences() {
    let mut matrix = LikelihoodMatrix::default();
    matrix.reset(1, 1);
    matrix.row_mut(0)[0] = -100.0;
    matrix.cap_differences(-4.5);
    assert_eq!(matrix.row(0), [-100.0]);
    matrix.reset(2, 2);
    matrix.row_mut(0).copy_from_slice(&[-1.0, f64::NEG_INFINITY]);
    matrix.row_mut(1).copy_from_slice(&[-5.5, f64::NEG_INFINITY]);
    matrix.cap_differences(-4.5);
    assert_eq!(matrix.row(1), [-5.5, f64::NEG_INFINITY]);
    assert_eq!(matrix.find_best_haplotype(1, None).unwrap().confidence(), 0.0);
}

#[test]
fn regions_may_be_empty_but_sequences_may_not() {
    let mut matrix = LikelihoodMatrix::default();
    let mut hmm = PairHmm::new(Flavour::Avx512, Precision::Mixed);
    matrix.compute(&mut hmm, &[], &[b"ACGT"]).unwrap();
    assert_eq!((matrix.haplotypes(), matrix.reads()), (1, 0));
    matrix.cap_differences(-4.5);
    assert!(matrix.remove_poor_reads(|_| 10, 0.02).is_empty());
    assert_eq!(matrix.compute(&mut hmm, &[], &[b""]), Err(EmptySequence::Haplotype(0)));
    let empty = HmmReads::default();
    assert!(empty.is_empty());
}

#[test]
fn reads_have_as_many_qualities_as_bases() {
    let model = QualityModel::new(
        readmill_jmath::JavaMath::of_this_processor(),
        readmill_likelihoods::PcrIndelModel::Conservative,
    );
    let read = SequencedRead {
        bases: b"ACGT",
        base_qualities: &[30; 4],
        insertion_qualities: Some(&[45; 3]),
        deletion_qualities: None,
        mapping_quality: 60,
    };
    let error = model.prepare_read(read, &mut HmmReads::default()).unwrap_err();
    assert_eq!(error, UnequalLengths { bases: 4, qualities: 3 });
}
