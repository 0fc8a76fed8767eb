//! Records that are decoded only partially, and decoding that stops at a position.

use super::*;

#[test]
fn places_are_the_same_without_the_rest_and_need_no_reference() {
    let desk = desk();
    let file = encode(&batch(&zoo()), Some(references(&desk))).unwrap();
    let mut lines = Vec::new();
    try_decode(&file, None, Detail::Places, &mut lines).unwrap();
    let place = |line: &String| {
        let columns: Vec<_> = line.split('\t').collect();
        format!("*\t{}\t*\t*", columns[1..9].join("\t"))
    };
    assert_eq!(lines, zoo().iter().map(place).collect::<Vec<_>>());
}

#[test]
fn reads_before_a_stop_are_the_same_and_few_behind_it_are_decoded() {
    let desk = desk();
    let place = |line: &String| {
        let columns: Vec<_> = line.split('\t').collect();
        let contig = sequences().iter().position(|(name, _)| *name == columns[2]);
        (contig.unwrap_or(usize::MAX) as u32, columns[3].parse::<i64>().unwrap() - 1)
    };
    let mut sorted = zoo();
    sorted.sort_by_key(place);
    let file = encode(&batch(&sorted), Some(references(&desk))).unwrap();
    let mut max_skipped = 0;
    for line in &sorted {
        let (contig, pos) = place(line);
        let before = sorted.iter().take_while(|&it| place(it) < (contig, pos)).count();
        let wanted = DecodeOptions { detail: Detail::Whole, stop: Some(Stop { contig, pos }) };
        let mut lines = Vec::new();
        try_decode(&file, Some(&desk), wanted, &mut lines).unwrap();
        assert_eq!(lines[..before], sorted[..before], "{contig}:{pos}");
        max_skipped = max_skipped.max(sorted.len() - lines.len());
    }
    assert!(max_skipped > sorted.len() / 2, "{max_skipped} of {}", sorted.len());
}

#[test]
fn flags_are_the_same_without_places() {
    let desk = desk();
    let file = encode(&batch(&zoo()), Some(references(&desk))).unwrap();
    let mut lines = Vec::new();
    try_decode(&file, None, Detail::Flags, &mut lines).unwrap();
    let part = |line: &String| {
        let columns: Vec<_> = line.split('\t').collect();
        format!("*\t{}\t*\t0\t{}\t*\t*\t0\t0\t*\t*", columns[1], columns[4])
    };
    assert_eq!(lines, zoo().iter().map(part).collect::<Vec<_>>());
}
