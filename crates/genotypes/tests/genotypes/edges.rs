//! Edge cases by name. Their inputs and the results of GATK are in `genotypes.txt`, each below a
//! remark.

use readmill_genotypes::max_alleles;

use super::{replay_text, stored_cases};

/// Replays the cases below all remarks that are `remark`.
fn replay_edges(remark: &str) {
    let text = stored_cases();
    let sections = text.split("\n# ").filter_map(|section| section.split_once('\n'));
    let cases: Vec<&str> =
        sections.filter(|(title, _)| *title == remark).map(|(_, cases)| cases).collect();
    replay_text(&cases.join("\n"));
}

#[test]
fn a_spanning_deletion_needs_a_called_deletion() {
    replay_edges("a spanning deletion that was called, and one that was not");
}

#[test]
fn a_site_with_only_a_spanning_deletion_is_not_called() {
    replay_edges("a site with only a spanning deletion");
}

#[test]
fn a_site_with_only_a_spanning_deletion_is_called_in_a_gvcf() {
    replay_edges("a site with only a spanning deletion, in a GVCF");
}

#[test]
fn deletions_can_be_nested() {
    replay_edges("nested deletions");
}

#[test]
fn six_alternate_alleles_stay_and_more_than_50_alleles_are_skipped() {
    replay_edges("seven alternate alleles and more, more than 50 alleles");
}

#[test]
fn genotypes_are_limited_to_1024() {
    // From computeMaxAcceptableAlleleCount of GATK 4.6.2.0.
    let expected = [1024, 44, 17, 11, 8, 7, 6, 5];
    assert_eq!([1, 2, 3, 4, 5, 6, 7, 8].map(max_alleles), expected);
}

#[test]
fn the_first_of_equal_genotypes_is_called() {
    replay_edges("equal likelihoods, and a reference of quality 0");
}

#[test]
fn a_genotype_with_non_ref_is_the_reference_and_one_of_quality_0_is_no_call() {
    replay_edges(
        "equal likelihoods, a reference of quality 0, and a genotype with <NON_REF>, in a GVCF",
    );
}

#[test]
fn a_confidence_just_below_30_is_too_low() {
    replay_edges("confidence near 30");
}

#[test]
fn confidences_of_almost_0_and_100000_are_kept_in_a_gvcf() {
    replay_edges("confidence of almost 0, and of 100,000, in a GVCF");
}

#[test]
fn both_chromosomes_can_have_the_alternate_allele() {
    replay_edges("two copies of the alternate allele");
}

#[test]
fn alleles_are_trimmed_after_one_is_dropped() {
    replay_edges("alleles that are trimmed after one is dropped");
}

#[test]
fn one_and_three_chromosomes_are_genotyped() {
    replay_edges("one chromosome");
    replay_edges("three chromosomes");
}

#[test]
fn contradictory_calls_have_no_phase() {
    replay_edges(
        "calls that contradict each other, a call on all haplotypes, and a call with two alternate alleles",
    );
}
