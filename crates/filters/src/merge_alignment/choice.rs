//! The choice of the primary alignment, by the rules of Picard MergeBamAlignment 3.4.0.

use readmill_record::{Error, Result};

use super::named::named;

/// How the primary alignment is chosen among several.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PrimaryChoice {
    /// The aligner's, else the pair with the best MAPQ; ends belong together by HI.
    BestMapq,
    /// That of the earliest base of the read; for single reads.
    EarliestBase,
    /// That with the best MAPQ, of each end by itself.
    BestEndMapq,
    /// The pair with the largest insert, else as [`BestEndMapq`](Self::BestEndMapq).
    MostDistant,
}

named!(
    PrimaryChoice,
    "best-mapq" => PrimaryChoice::BestMapq,
    "earliest-base" => PrimaryChoice::EarliestBase,
    "best-end-mapq" => PrimaryChoice::BestEndMapq,
    "most-distant" => PrimaryChoice::MostDistant
);

/// Random numbers as `java.util.Random` of the seed 1 gives them, which break ties as Picard does.
#[derive(Clone, Debug)]
pub struct TieBreaker(u64);

const MULTIPLIER: u64 = 0x5_deec_e66d;
const MASK: u64 = (1 << 48) - 1;

impl Default for TieBreaker {
    fn default() -> Self {
        TieBreaker((1 ^ MULTIPLIER) & MASK)
    }
}

impl TieBreaker {
    fn next(&mut self) -> i32 {
        self.0 = (self.0.wrapping_mul(MULTIPLIER).wrapping_add(0xb)) & MASK;
        (self.0 >> 17) as i32
    }

    /// A number below `bound`, which is at least 1.
    fn below(&mut self, bound: usize) -> usize {
        let bound = bound as i32;
        let mut bits = self.next();
        if bound & (bound - 1) == 0 {
            return ((i64::from(bound) * i64::from(bits)) >> 31) as usize;
        }
        loop {
            let value = bits % bound;
            if (bits - value).checked_add(bound - 1).is_some() {
                return value as usize;
            }
            bits = self.next();
        }
    }
}

/// An alignment that may become the primary one.
#[derive(Clone, Copy, Debug)]
pub struct Candidate {
    /// The reference sequence.
    pub ref_id: i32,
    /// The first and the last aligned base, 1-based.
    pub range: (i64, i64),
    /// MAPQ.
    pub mapq: u8,
    /// HI.
    pub hit_index: Option<i64>,
    /// Whether it is neither secondary nor supplementary, as the aligner has it.
    pub is_primary: bool,
    /// The first aligned base of the read as it was sequenced, 1-based.
    pub first_base: i64,
}

/// The alignments of a template, those of both ends side by side where they belong together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Arrangement {
    /// Alignments of the first end, or of the single read, by their numbers among those.
    pub first: Vec<Option<usize>>,
    /// Alignments of the last end.
    pub last: Vec<Option<usize>>,
    /// The row that is primary, while all others are secondary; `None` where the aligner's flags stay.
    pub primary: Option<usize>,
    /// Whether HI becomes the number of the row, where both ends have an alignment in it, and goes elsewhere.
    pub renumbers: bool,
}

impl Arrangement {
    /// Rows in all.
    pub fn rows(&self) -> usize {
        self.first.len().max(self.last.len())
    }

    /// Alignments in the order in which they came, for templates with one for each end at most.
    pub fn of_one(first: bool, last: bool) -> Self {
        let row = |is_there: bool| if is_there { vec![Some(0)] } else { Vec::new() };
        Arrangement { first: row(first), last: row(last), primary: Some(0), renumbers: false }
    }
}

/// Order of MAPQ: 255, not known, is above 0 and below 1.
fn rank(mapq: u8) -> u32 {
    match mapq {
        0 => 0,
        255 => 1,
        known => u32::from(known) + 1,
    }
}

/// A number that grows with both MAPQ.
fn combined(one: u8, other: u8) -> u32 {
    [one, other].map(|mapq| if mapq == 255 { 1 } else { u32::from(mapq) * 100 }).iter().sum()
}

/// Arranges the alignments of a template, several of one end at least, and chooses the primary ones.
///
/// # Errors
/// The choice does not take pairs.
pub fn arrange(
    choice: PrimaryChoice,
    first: &[Candidate],
    last: &[Candidate],
    is_paired: bool,
    ties: &mut TieBreaker,
) -> Result<Arrangement> {
    let all = |of: &[Candidate]| (0..of.len()).map(Some).collect::<Vec<_>>();
    let mut rows = Arrangement { first: all(first), last: all(last), primary: None, renumbers: false };
    match choice {
        PrimaryChoice::BestMapq => best_mapq(&mut rows, first, last, ties),
        PrimaryChoice::EarliestBase if is_paired => {
            return Err(Error::usage(
                "earliest-base chooses among alignments of single reads, and there are pairs",
            )
            .hint("choose best-mapq, best-end-mapq or most-distant"));
        }
        PrimaryChoice::EarliestBase => rows.primary = Some(earliest(first, ties)),
        PrimaryChoice::BestEndMapq => {
            best_of_end(&mut rows.first, first, ties);
            best_of_end(&mut rows.last, last, ties);
            rows.primary = Some(0);
            if is_paired {
                part(&mut rows);
            }
        }
        PrimaryChoice::MostDistant => {
            most_distant(&mut rows, first, last, ties);
            rows.primary = Some(0);
            part(&mut rows);
        }
    }
    Ok(rows)
}

/// Leaves the first alignments of both ends together, and takes all others apart.
fn part(rows: &mut Arrangement) {
    if rows.first.len() > 1 && rows.last.len() > 1 {
        let apart = rows.first.len() - 1;
        rows.last.splice(1..1, std::iter::repeat_n(None, apart));
    }
}

fn best_mapq(rows: &mut Arrangement, first: &[Candidate], last: &[Candidate], ties: &mut TieBreaker) {
    by_hit_index(rows, first, last);
    rows.renumbers = true;
    let of = |all: &[Candidate], at: Option<&Option<usize>>| at.copied().flatten().map(|at| all[at]);
    let primaries = |all: &[Candidate]| all.iter().filter(|it| it.is_primary).count();
    let (firsts, lasts) = (primaries(first), primaries(last));
    if firsts < 2 && lasts < 2 && firsts + lasts > 0 {
        return; // the aligner's choice is clear
    }
    let mapq = |it: Option<Candidate>| it.map_or(0, |it| it.mapq);
    let row =
        |at: usize| combined(mapq(of(first, rows.first.get(at))), mapq(of(last, rows.last.get(at))));
    let best = (0..rows.rows()).map(row).max().unwrap_or(0);
    let all: Vec<usize> = (0..rows.rows()).filter(|&at| row(at) == best).collect();
    rows.primary = Some(match all[..] {
        [one] => one,
        _ => all[ties.below(all.len())],
    });
}

/// Brings alignments of the same HI into one row; those without HI come last, and stand alone.
fn by_hit_index(rows: &mut Arrangement, first: &[Candidate], last: &[Candidate]) {
    let index = |all: &[Candidate], at: Option<usize>| at.and_then(|at| all[at].hit_index);
    let place = |index: Option<i64>| (index.is_none(), index);
    rows.first.sort_by_key(|&at| place(index(first, at)));
    rows.last.sort_by_key(|&at| place(index(last, at)));
    let mut row = 0;
    while row < rows.first.len().min(rows.last.len()) {
        match (index(first, rows.first[row]), index(last, rows.last[row])) {
            (Some(one), Some(other)) if one < other => rows.last.insert(row, None),
            (Some(one), Some(other)) if one > other => rows.first.insert(row, None),
            (None, Some(_)) => rows.first.insert(row, None),
            (None, None) => rows.last.insert(row, None),
            (Some(_), _) => {}
        }
        row += 1;
    }
}

fn earliest(all: &[Candidate], ties: &mut TieBreaker) -> usize {
    let place = |it: &Candidate| (it.first_base, std::cmp::Reverse(it.mapq));
    let best = all.iter().map(place).min();
    let best: Vec<usize> = (0..all.len()).filter(|&at| Some(place(&all[at])) == best).collect();
    match best[..] {
        [one] => one,
        _ => best[ties.below(best.len())],
    }
}

fn best_of_end(row: &mut [Option<usize>], all: &[Candidate], ties: &mut TieBreaker) {
    row.sort_by_key(|at| at.map(|at| std::cmp::Reverse(rank(all[at].mapq))));
    let Some(Some(best)) = row.first().copied() else { return };
    let equal = row.iter().flatten().take_while(|&&at| all[at].mapq == all[best].mapq).count();
    row.swap(0, ties.below(equal));
}

fn most_distant(rows: &mut Arrangement, first: &[Candidate], last: &[Candidate], ties: &mut TieBreaker) {
    let (mut best, mut pairs) = (None, Vec::new());
    for (at, two) in last.iter().enumerate() {
        for (of_first, one) in first.iter().enumerate().filter(|(_, one)| one.ref_id == two.ref_id) {
            let distance = one.range.1.max(two.range.1) - one.range.0.min(two.range.0) + 1;
            let place = Some((distance, combined(one.mapq, two.mapq)));
            if place > best {
                (best, pairs) = (place, Vec::new());
            }
            if place == best {
                pairs.push((of_first, at));
            }
        }
    }
    let (one, other) = if pairs.is_empty() {
        let mut best_of = |all: &[Candidate]| {
            let best = all.iter().map(|it| rank(it.mapq)).max();
            let best: Vec<usize> =
                (0..all.len()).filter(|&at| Some(rank(all[at].mapq)) == best).collect();
            (!best.is_empty()).then(|| best[ties.below(best.len())])
        };
        (best_of(first), best_of(last))
    } else {
        let (one, other) = pairs[ties.below(pairs.len())];
        (Some(one), Some(other))
    };
    for (row, at) in [(&mut rows.first, one), (&mut rows.last, other)] {
        if let Some(at) = at {
            row[..=at].rotate_right(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn candidate(ref_id: i32, start: i64, mapq: u8, hit_index: Option<i64>) -> Candidate {
        let range = (start, start + 99);
        Candidate { ref_id, range, mapq, hit_index, is_primary: false, first_base: 1 }
    }

    #[test]
    fn ties_are_broken_as_by_java() {
        let mut ties = TieBreaker::default();
        let some: Vec<usize> = [10, 10, 10, 2, 3].into_iter().map(|n| ties.below(n)).collect();
        assert_eq!(some, [5, 8, 7, 0, 2], "new Random(1)");
    }

    #[test]
    fn ends_belong_together_by_hit_index() {
        let [a, b] = [candidate(0, 1, 1, Some(2)), candidate(0, 1, 9, Some(1))];
        let [c, d] = [candidate(0, 1, 1, Some(1)), candidate(0, 1, 1, None)];
        let rows = arrange(PrimaryChoice::BestMapq, &[a, b], &[c, d], true, &mut TieBreaker::default())
            .unwrap();
        assert_eq!((rows.first, rows.last), (vec![Some(1), Some(0)], vec![Some(0), Some(1)]));
        assert_eq!((rows.primary, rows.renumbers), (Some(0), true));
    }

    #[test]
    fn the_pair_with_the_largest_insert_comes_first() {
        let first = [candidate(0, 100, 60, None), candidate(1, 100, 0, None)];
        let last = [candidate(0, 300, 60, None), candidate(1, 9000, 0, None)];
        let choice = PrimaryChoice::MostDistant;
        let rows = arrange(choice, &first, &last, true, &mut TieBreaker::default()).unwrap();
        assert_eq!(rows.first, [Some(1), Some(0)]);
        assert_eq!(rows.last, [Some(1), None, Some(0)], "the others have no mate");
    }

    #[test]
    fn pairs_have_no_earliest_base() {
        let one = candidate(0, 1, 1, None);
        let choice = PrimaryChoice::EarliestBase;
        assert!(arrange(choice, &[one, one], &[], true, &mut TieBreaker::default()).is_err());
    }
}
