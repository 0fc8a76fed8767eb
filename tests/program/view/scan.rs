//! Which records overlap a region, by a plain look at every line.

use crate::support::{column, number};

/// A region: contig, first base (1-based), last base.
pub type Place<'a> = (&'a str, i64, i64);

/// Bases of the reference that a CIGAR covers.
pub fn covered(cigar: &str) -> i64 {
    let mut sum = 0;
    let mut digits = String::new();
    for letter in cigar.chars() {
        if letter.is_ascii_digit() {
            digits.push(letter);
        } else {
            let length: i64 = digits.parse().unwrap_or(0);
            sum += if "MDN=X".contains(letter) { length } else { 0 };
            digits.clear();
        }
    }
    sum
}

/// Whether a line shares a base with a region.
pub fn overlaps(line: &str, (contig, first, last): Place<'_>) -> bool {
    let start = number(line, 3);
    let is_mapped = number(line, 1) & 4 == 0;
    let length = if is_mapped { covered(column(line, 5)).max(1) } else { 1 };
    column(line, 2) == contig && start <= last && start + length > first
}

/// The names of the records of each region, one region after the other.
pub fn in_turn(lines: &[&str], places: &[Place<'_>]) -> Vec<String> {
    let of = |place: &Place<'_>| {
        let own = lines.iter().filter(|line| overlaps(line, *place));
        own.map(|line| column(line, 0).to_string()).collect::<Vec<_>>()
    };
    places.iter().flat_map(of).collect()
}

/// The names of the records of any region, each once.
pub fn each_once(lines: &[&str], places: &[Place<'_>]) -> Vec<String> {
    let wanted = lines.iter().filter(|line| places.iter().any(|place| overlaps(line, *place)));
    wanted.map(|line| column(line, 0).to_string()).collect()
}
