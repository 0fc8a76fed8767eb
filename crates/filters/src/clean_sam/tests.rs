//! Compares with results of Picard 3.4.0 CleanSam on a sequence of 100 bases.

use super::super::testing::{applied, header};
use super::*;

/// The read from column 2 to 6 after the step, and its MC.
fn cleaned(line: &str) -> String {
    let header = header("@SQ SN:c LN:100;@SQ SN:d LN:1000");
    let after = applied(&mut CleanSam::new(&header), &header, &header, &[line]).remove(0);
    let words: Vec<&str> = after.split(' ').collect();
    let mut shown = words[1..6].join(" ");
    words[11..].iter().for_each(|field| shown += &format!(" {field}"));
    shown
}

/// A read of this CIGAR at this position, and its CIGAR afterwards.
fn cigar(pos: u32, cigar: &str) -> String {
    let mut ops = Vec::new();
    assert!(realign::parse(cigar.as_bytes(), &mut ops));
    let bases = "A".repeat(query_length(&ops) as usize);
    let after = cleaned(&format!("r 0 c {pos} 60 {cigar} * 0 0 {bases} *"));
    let words: Vec<&str> = after.split(' ').collect();
    assert_eq!(words[..4], ["0", "c", &pos.to_string(), "60"]);
    words[4].to_owned()
}

#[test]
fn alignments_end_where_picard_ends_them() {
    for (pos, before, after) in [
        (91, "10M", "10M"),
        (95, "10M", "6M4S"),
        (95, "3M2D5M2S", "3M2D1M6S"),
        (95, "5M5H", "5M5H"),
        (97, "6M2H", "4M2S2H"),
        (97, "4M2I2M", "4M4S"),
        (98, "2M1D2M", "2M2S"),
        (100, "1S1M", "1S1M"),
        (95, "2S10M", "2S6M4S"),
        // it counts bases of the reference and clips bases of the read
        (97, "4M1I3M1I1M", "4M1I1M4S"),
        // a hard clip hides a soft clip from it
        (97, "5M3S2H", "5M3S2H"),
    ] {
        assert_eq!(cigar(pos, before), after, "{before} at {pos}");
    }
}

#[test]
fn where_picards_cigar_does_not_fit_it_is_cut_at_the_end() {
    for (pos, before, after) in [
        (95, "2M6D8M", "2M8S"),     // Picard: 10S
        (95, "2M20D8M", "2M8S"),    // Picard: 24S
        (98, "2M100N2M", "2M2S"),   // Picard: 101S
        (99, "5H1M3D9M", "5H1M9S"), // Picard stops
        (99, "3S1M50D2I4M2S1H", "3S1M8S1H"),
    ] {
        assert_eq!(cigar(pos, before), after, "{before} at {pos}");
    }
    assert_eq!(cleaned("r 256 c 95 60 10M * 0 0 * *"), "256 c 95 60 6M4S"); // Picard: 14S
}

#[test]
fn mates_are_clipped_by_mc() {
    let mate =
        |flags, pos, mc| cleaned(&format!("r {flags} c 97 60 4M = {pos} 6 ACGT IIII MC:Z:{mc} NM:i:0"));
    assert_eq!(mate(99, 98, "10M"), "99 c 97 60 4M MC:Z:3M7S NM:i:0");
    assert_eq!(mate(107, 98, "10M"), "107 c 97 60 4M MC:Z:10M NM:i:0", "the mate is unmapped");
    assert_eq!(mate(99, 91, "10M"), "99 c 97 60 4M MC:Z:10M NM:i:0");
    assert_eq!(mate(99, 98, "*"), "99 c 97 60 4M MC:Z:* NM:i:0");
    assert_eq!(mate(99, 98, "nonsense"), "99 c 97 60 4M MC:Z:nonsense NM:i:0");
    let other = "r 97 c 95 60 10M d 998 0 ACGTACGTAC IIIIIIIIII MC:Z:4M";
    assert_eq!(cleaned(other), "97 c 95 60 6M4S MC:Z:3M1S");
}

#[test]
fn unmapped_reads_have_no_quality_and_reads_beyond_the_end_become_unmapped() {
    assert_eq!(cleaned("r 4 * 0 60 * * 0 0 ACGT IIII"), "4 * 0 0 *");
    assert_eq!(cleaned("r 69 c 105 60 * = 105 0 ACGT IIII"), "69 c 105 0 *");
    // Picard: 14S, still mapped
    assert_eq!(cleaned("r 3 c 105 60 10M * 0 0 ACGTACGTAC IIIIIIIIII"), "5 * 0 0 *");
}

#[test]
fn changes_are_counted() {
    let header = header("@SQ SN:c LN:100");
    let mut step = CleanSam::new(&header);
    let reads = [
        "a 99 c 95 60 10M = 98 6 ACGTACGTAC IIIIIIIIII MC:Z:10M",
        "b 0 c 105 60 10M * 0 0 ACGTACGTAC IIIIIIIIII",
        "c 4 * 0 9 * * 0 0 ACGT IIII",
        "d 0 c 1 60 4M * 0 0 ACGT IIII",
    ];
    applied(&mut step, &header, &header, &reads);
    assert_eq!(step.counts().into_iter().map(|(_, n)| n).collect::<Vec<_>>(), [1, 1, 1, 1]);
}
