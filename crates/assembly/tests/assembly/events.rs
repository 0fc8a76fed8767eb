//! Events of alignments that assembly seldom gives. The expected ones are those of GATK 4.6.2.0
//! `EventMap.fromHaplotype`.

use readmill_assembly::{EventMap, Haplotype, RegionReference};
use readmill_pairwise::{ContigSpan, HaplotypeEvent};

const REFERENCE: &[u8] = b"CGATTACATTGCAGCCTTAGACCGATAAGCTAGG";

/// Finds the events of a haplotype that starts at the base `index` of the reference, position 101.
fn find_events(index: usize, bases: &str, cigar: &str) -> Vec<String> {
    let reference_bases = &REFERENCE[1 - index..];
    let end = 100 + reference_bases.len() as i32;
    let padded_span = ContigSpan { start: 101 + index as i32, end };
    let reference = RegionReference { bases: reference_bases, start: 101, padded_span };
    let haplotype = Haplotype {
        bases: bases.as_bytes().to_vec(),
        is_reference: false,
        cigar: cigar.parse().unwrap(),
        reference_index: index,
        span: padded_span,
        score: 0.0,
        kmer_size: 10,
    };
    let text = |alleles: &[u8]| String::from_utf8(alleles.to_vec()).unwrap();
    let events = EventMap::of_haplotype(&haplotype, &reference).unwrap();
    let print = |event: &HaplotypeEvent| {
        format!("{} {} {}", event.start, text(&event.reference), text(&event.alternate))
    };
    events.events().iter().map(print).collect()
}

#[test]
fn snp_before_an_indel_becomes_part_of_it() {
    let insertion = |bases| find_events(0, bases, "20M2I13M");
    assert_eq!(insertion("GATTACATTGCAGCCTTAGAGGCCGATAAGCTAGG"), ["120 A AGG"]);
    assert_eq!(insertion("GATTACATTGCAGCCTTAGTGGCCGATAAGCTAGG"), ["120 A TGG"]);
    assert_eq!(find_events(0, "GATTACATTGCAGCCTTAGTATAAGCTAGG", "20M3D10M"), ["120 ACCG T"]);
}

#[test]
fn deletion_and_insertion_are_two_events() {
    let events = find_events(0, "GATTACATTGCAGCCTTAGCTTTTATAAGCTAGG", "20M3D4I10M");
    assert_eq!(events, ["120 ACCG C", "123 G GTTTT"]);
}

#[test]
fn insertions_at_the_ends_are_left_out() {
    let none: [&str; 0] = [];
    for index in 0..2 {
        assert_eq!(find_events(index, "TTGATTACATTGCAGCCTTAGACCGATAAGCTAGG", "2I33M"), none);
        assert_eq!(find_events(index, "GATTACATTGCAGCCTTAGACCGATAAGCTAGGAA", "33M2I"), none);
    }
}

#[test]
fn deletions_at_the_ends_need_a_base_before_them() {
    let none: [&str; 0] = [];
    let at_start = |index| find_events(index, "TACATTGCAGCCTTAGACCGATAAGCTAGG", "3D30M");
    assert_eq!(at_start(0), none);
    assert_eq!(at_start(1), ["101 CGAT C"]);
    let events = find_events(0, "GATTACATTGCAGCCTTAGACCGATAAGCT", "30M3D");
    assert_eq!(events, ["130 TAGG T"]);
}

#[test]
fn events_with_n_are_left_out() {
    let none: [&str; 0] = [];
    assert_eq!(find_events(0, "GATTACATTGCANCCTTAGANNCCGATAAGCTAGG", "20M2I13M"), none);
}
