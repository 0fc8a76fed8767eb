//! Chooses the primary alignment among several, with the rules of Picard MergeBamAlignment 3.4.0.

use readmill_record::{Error, Result};

use super::named::named;

/// How the primary alignment is chosen among several (Picard's `PRIMARY_ALIGNMENT_STRATEGY`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PrimaryChoice {
    /// Keep the aligner's choice if it is unambiguous, otherwise take the pair with the best MAPQs.
    /// The alignments of both reads are paired by HI.
    BestMapq,
    /// Take the alignment with the earliest aligned base in the read. For single reads only.
    EarliestBase,
    /// Take the alignment with the best MAPQ for each read separately.
    BestEndMapq,
    /// Take the pair with the largest insert size. Without a pair on the same sequence, choose as
    /// [`BestEndMapq`](Self::BestEndMapq) does.
    MostDistant,
}

named!(
    PrimaryChoice,
    "best-mapq" => PrimaryChoice::BestMapq,
    "earliest-base" => PrimaryChoice::EarliestBase,
    "best-end-mapq" => PrimaryChoice::BestEndMapq,
    "most-distant" => PrimaryChoice::MostDistant
);

/// Java's random numbers (`java.util.Random` with seed 1). They break ties between equally good
/// alignments, so that the choices are the same as in Picard.
///
/// The state carries over between templates, so templates must be arranged in input order.
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
    fn next_bits(&mut self) -> i32 {
        self.0 = (self.0.wrapping_mul(MULTIPLIER).wrapping_add(0xb)) & MASK;
        (self.0 >> 17) as i32
    }

    /// Returns a number from 0 to `bound - 1`, like `nextInt(bound)`. `bound` must be at least 1.
    fn next_below(&mut self, bound: usize) -> usize {
        let bound = bound as i32;
        let mut bits = self.next_bits();
        if bound & (bound - 1) == 0 {
            return ((i64::from(bound) * i64::from(bits)) >> 31) as usize;
        }
        loop {
            let value = bits % bound;
            if (bits - value).checked_add(bound - 1).is_some() {
                return value as usize;
            }
            bits = self.next_bits();
        }
    }
}

#[derive(Clone, Copy, Debug)]
pub struct Candidate {
    pub ref_id: i32,
    /// First and last aligned position on the reference, 1-based.
    pub range: (i64, i64),
    pub mapq: u8,
    pub hit_index: Option<i64>,
    /// Whether the aligner flagged it as neither secondary nor supplementary.
    pub is_primary: bool,
    /// First aligned base of the read in sequencing direction, 1-based.
    pub first_base: i64,
}

/// The alignments of a template as a table. Alignments of read 1 and read 2 that belong together
/// are in the same row:
///
/// ```text
/// row   first      last
/// 0     Some(2)    Some(0)     primary
/// 1     Some(0)    None        secondary
/// 2     Some(1)    Some(1)     secondary
/// ```
///
/// The numbers are indexes into the alignments of each read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Arrangement {
    pub first: Vec<Option<usize>>,
    pub last: Vec<Option<usize>>,
    /// The row of the primary alignments; all other rows are secondary. `None` if the aligner's
    /// flags are kept.
    pub primary: Option<usize>,
    /// Whether HI is rewritten: it becomes the row number if both reads have an alignment in the
    /// row, and is removed otherwise.
    pub renumbers: bool,
}

impl Arrangement {
    pub fn row_count(&self) -> usize {
        self.first.len().max(self.last.len())
    }

    /// Returns the arrangement of a template with at most one alignment for each read.
    pub fn of_single_hits(first: bool, last: bool) -> Self {
        let row = |is_there: bool| if is_there { vec![Some(0)] } else { Vec::new() };
        Arrangement { first: row(first), last: row(last), primary: Some(0), renumbers: false }
    }
}

/// Returns the rank of a MAPQ in Picard's order: 255 (unknown) ranks above 0 and below 1.
fn mapq_rank(mapq: u8) -> u32 {
    match mapq {
        0 => 0,
        255 => 1,
        known => u32::from(known) + 1,
    }
}

fn combine_mapqs(one: u8, other: u8) -> u32 {
    [one, other].map(|mapq| if mapq == 255 { 1 } else { u32::from(mapq) * 100 }).iter().sum()
}

/// Arranges the alignments of a template and chooses the primary ones. Called for templates in
/// which read 1 or read 2 has several alignments.
///
/// `first` and `last` are the alignments of read 1 and read 2. `is_paired` states whether the
/// template has two reads.
///
/// ```
/// use readmill_filters::merge_alignment::{Candidate, PrimaryChoice, TieBreaker, arrange_hits};
///
/// # fn main() -> readmill_record::Result<()> {
/// let hit = |start: i64, mapq| Candidate {
///     ref_id: 0,
///     range: (start, start + 99),
///     mapq,
///     hit_index: None,
///     is_primary: true,
///     first_base: 1,
/// };
/// let (first, last) = ([hit(100, 60)], [hit(5000, 20), hit(300, 60)]);
/// let mut ties = TieBreaker::default();
/// let rows = arrange_hits(PrimaryChoice::BestEndMapq, &first, &last, true, &mut ties)?;
/// assert_eq!((rows.first[0], rows.last[0]), (Some(0), Some(1))); // the better one is now in row 0
/// assert_eq!(rows.primary, Some(0));
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// [`PrimaryChoice::EarliestBase`] is used with pairs.
pub fn arrange_hits(
    choice: PrimaryChoice,
    first: &[Candidate],
    last: &[Candidate],
    is_paired: bool,
    ties: &mut TieBreaker,
) -> Result<Arrangement> {
    let all = |of: &[Candidate]| (0..of.len()).map(Some).collect::<Vec<_>>();
    let mut rows = Arrangement { first: all(first), last: all(last), primary: None, renumbers: false };
    match choice {
        PrimaryChoice::BestMapq => choose_best_mapq(&mut rows, first, last, ties),
        PrimaryChoice::EarliestBase if is_paired => {
            return Err(Error::usage("earliest-base works only for single reads, but there are pairs")
                .hint("use best-mapq, best-end-mapq or most-distant"));
        }
        PrimaryChoice::EarliestBase => rows.primary = Some(find_earliest_base(first, ties)),
        PrimaryChoice::BestEndMapq => {
            move_best_first(&mut rows.first, first, ties);
            move_best_first(&mut rows.last, last, ties);
            rows.primary = Some(0);
            if is_paired {
                separate_rows(&mut rows);
            }
        }
        PrimaryChoice::MostDistant => {
            choose_most_distant(&mut rows, first, last, ties);
            rows.primary = Some(0);
            separate_rows(&mut rows);
        }
    }
    Ok(rows)
}

/// Keeps the first alignments of both reads in one row, and moves each other alignment to its own
/// row.
fn separate_rows(rows: &mut Arrangement) {
    if rows.first.len() > 1 && rows.last.len() > 1 {
        let apart = rows.first.len() - 1;
        rows.last.splice(1..1, std::iter::repeat_n(None, apart));
    }
}

fn choose_best_mapq(
    rows: &mut Arrangement,
    first: &[Candidate],
    last: &[Candidate],
    ties: &mut TieBreaker,
) {
    pair_by_hit_index(rows, first, last);
    rows.renumbers = true;
    let of = |all: &[Candidate], at: Option<&Option<usize>>| at.copied().flatten().map(|at| all[at]);
    let primaries = |all: &[Candidate]| all.iter().filter(|it| it.is_primary).count();
    let (firsts, lasts) = (primaries(first), primaries(last));
    if firsts < 2 && lasts < 2 && firsts + lasts > 0 {
        return; // the aligner's choice is unambiguous
    }
    let mapq = |it: Option<Candidate>| it.map_or(0, |it| it.mapq);
    let row = |at: usize| {
        combine_mapqs(mapq(of(first, rows.first.get(at))), mapq(of(last, rows.last.get(at))))
    };
    let best = (0..rows.row_count()).map(row).max().unwrap_or(0);
    let all: Vec<usize> = (0..rows.row_count()).filter(|&at| row(at) == best).collect();
    rows.primary = Some(match all[..] {
        [one] => one,
        _ => all[ties.next_below(all.len())],
    });
}

/// Puts alignments with the same HI into the same row. Alignments without HI get their own rows at
/// the end.
fn pair_by_hit_index(rows: &mut Arrangement, first: &[Candidate], last: &[Candidate]) {
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

fn find_earliest_base(all: &[Candidate], ties: &mut TieBreaker) -> usize {
    let place = |it: &Candidate| (it.first_base, std::cmp::Reverse(it.mapq));
    let best = all.iter().map(place).min();
    let best: Vec<usize> = (0..all.len()).filter(|&at| Some(place(&all[at])) == best).collect();
    match best[..] {
        [one] => one,
        _ => best[ties.next_below(best.len())],
    }
}

fn move_best_first(row: &mut [Option<usize>], all: &[Candidate], ties: &mut TieBreaker) {
    row.sort_by_key(|at| at.map(|at| std::cmp::Reverse(mapq_rank(all[at].mapq))));
    let Some(Some(best)) = row.first().copied() else { return };
    let equal = row.iter().flatten().take_while(|&&at| all[at].mapq == all[best].mapq).count();
    row.swap(0, ties.next_below(equal));
}

fn choose_most_distant(
    rows: &mut Arrangement,
    first: &[Candidate],
    last: &[Candidate],
    ties: &mut TieBreaker,
) {
    let (mut best, mut pairs) = (None, Vec::new());
    for (at, two) in last.iter().enumerate() {
        for (of_first, one) in first.iter().enumerate().filter(|(_, one)| one.ref_id == two.ref_id) {
            let distance = one.range.1.max(two.range.1) - one.range.0.min(two.range.0) + 1;
            let place = Some((distance, combine_mapqs(one.mapq, two.mapq)));
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
            let best = all.iter().map(|it| mapq_rank(it.mapq)).max();
            let best: Vec<usize> =
                (0..all.len()).filter(|&at| Some(mapq_rank(all[at].mapq)) == best).collect();
            (!best.is_empty()).then(|| best[ties.next_below(best.len())])
        };
        (best_of(first), best_of(last))
    } else {
        let (one, other) = pairs[ties.next_below(pairs.len())];
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
        let some: Vec<usize> = [10, 10, 10, 2, 3].into_iter().map(|n| ties.next_below(n)).collect();
        assert_eq!(some, [5, 8, 7, 0, 2], "new Random(1)");
    }

    #[test]
    fn ends_belong_together_by_hit_index() {
        let [a, b] = [candidate(0, 1, 1, Some(2)), candidate(0, 1, 9, Some(1))];
        let [c, d] = [candidate(0, 1, 1, Some(1)), candidate(0, 1, 1, None)];
        let rows =
            arrange_hits(PrimaryChoice::BestMapq, &[a, b], &[c, d], true, &mut TieBreaker::default())
                .unwrap();
        assert_eq!((rows.first, rows.last), (vec![Some(1), Some(0)], vec![Some(0), Some(1)]));
        assert_eq!((rows.primary, rows.renumbers), (Some(0), true));
    }

    #[test]
    fn the_pair_with_the_largest_insert_comes_first() {
        let first = [candidate(0, 100, 60, None), candidate(1, 100, 0, None)];
        let last = [candidate(0, 300, 60, None), candidate(1, 9000, 0, None)];
        let choice = PrimaryChoice::MostDistant;
        let rows = arrange_hits(choice, &first, &last, true, &mut TieBreaker::default()).unwrap();
        assert_eq!(rows.first, [Some(1), Some(0)]);
        assert_eq!(rows.last, [Some(1), None, Some(0)], "the others have no mate");
    }

    #[test]
    fn pairs_have_no_earliest_base() {
        let one = candidate(0, 1, 1, None);
        let choice = PrimaryChoice::EarliestBase;
        assert!(arrange_hits(choice, &[one, one], &[], true, &mut TieBreaker::default()).is_err());
    }
}
