//! Counts bases and errors: in flat arrays for each thread, then in tables for all threads.
//!
//! Counting a base must be fast, so a base is counted in only two cells, one for its context and
//! one for its cycle. The lower half of a cell counts observations and the upper half errors, so
//! each cell takes one addition. Before a half can overflow, all cells are added to [`Totals`],
//! which has wider numbers.
//!
//! All counts are sums of integers, so they do not depend on the order in which threads are added.

use serde::{Deserialize, Serialize};

use super::covariates::{QUALITIES, empty_context};

/// Number of bases after which [`Counters`] must be emptied, so that no 32-bit half overflows.
const MAX_COUNTED_BASES: u64 = u32::MAX as u64 / 2;

const NO_ROW: u32 = u32::MAX;

/// The counts of one thread.
///
/// When [`Counters::are_full`], the thread adds them to the shared [`Totals`], which also resets
/// them.
pub struct Counters {
    groups: Vec<Option<Box<[Cells; 3]>>>,
    context_sizes: [u8; 3],
    counted: u64,
    bytes: usize,
}

/// The counts of one read group and event, with one row for each quality that was seen.
///
/// ```text
/// row:  contexts │ empty context │ no context │ no cycle, unused │ cycles 1, -1, 2, -2, ...
/// ```
///
/// Bases without a cycle are counted as cycle 0, which no base has.
#[derive(Clone)]
pub struct Cells {
    /// Index of the first cell of each quality's row, or [`NO_ROW`].
    starts: [u32; 256],
    contexts: usize,
    cycles: usize,
    cells: Vec<u64>,
}

impl Counters {
    /// Creates empty counters. `context_sizes` has the context sizes for mismatches, insertions and
    /// deletions.
    pub fn new(groups: usize, context_sizes: [u8; 3]) -> Self {
        Counters { groups: vec![None; groups], context_sizes, counted: 0, bytes: 0 }
    }

    /// Returns the cells of read group `group`, and adds `bases` to the number of counted bases.
    fn cells_of_group(&mut self, group: usize, bases: usize) -> &mut [Cells; 3] {
        self.counted += bases as u64;
        let sizes = self.context_sizes;
        self.groups[group].get_or_insert_with(|| Box::new(sizes.map(Cells::new)))
    }

    /// Passes the cells of read group `group` to `count`, which counts a read of `bases` bases.
    /// Updates the memory used.
    pub fn count_read<T>(
        &mut self,
        group: usize,
        bases: usize,
        count: impl FnOnce(&mut [Cells; 3]) -> T,
    ) -> T {
        let cells = self.cells_of_group(group, bases);
        let before: usize = cells.iter().map(Cells::bytes).sum();
        let done = count(cells);
        let after: usize = cells.iter().map(Cells::bytes).sum();
        self.bytes = self.bytes + after - before; // spare capacity may shrink
        done
    }

    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Returns whether the counters must be added to [`Totals`] before the next reads are counted,
    /// because a cell could overflow or the counters use more than `max_bytes` of memory.
    pub fn are_full(&self, max_bytes: usize) -> bool {
        self.counted > MAX_COUNTED_BASES || self.bytes > max_bytes
    }
}

impl Cells {
    fn new(context_size: u8) -> Self {
        Cells {
            starts: [NO_ROW; 256],
            contexts: count_context_cells(context_size),
            cycles: 0,
            cells: Vec::new(),
        }
    }

    fn bytes(&self) -> usize {
        self.cells.capacity() * size_of::<u64>()
    }

    fn width(&self) -> usize {
        self.contexts + self.cycles
    }

    /// Widens all rows so that cycle numbers below `cycles` have a cell.
    pub fn reserve_cycles(&mut self, cycles: usize) {
        if cycles <= self.cycles {
            return;
        }
        let (old, before) = (std::mem::take(&mut self.cells), self.width());
        self.cycles = cycles;
        let width = self.width();
        self.cells = vec![0; old.len() / before * width];
        let pairs = old.chunks_exact(before).zip(self.cells.chunks_exact_mut(width));
        pairs.for_each(|(from, to)| to[..from.len()].copy_from_slice(from));
        for start in self.starts.iter_mut().filter(|start| **start != NO_ROW) {
            *start = *start / before as u32 * width as u32;
        }
    }

    fn make_rows(&mut self, qualities: &[u8]) {
        for &quality in qualities {
            if self.starts[usize::from(quality)] == NO_ROW {
                let start = self.cells.len();
                self.starts[usize::from(quality)] = start as u32;
                self.cells.resize(start + self.width(), 0);
            }
        }
    }

    /// Counts the bases of a read. All slices have one element per base.
    ///
    /// Qualities are at most 93. Cycles are below the limit that was passed to
    /// [`Cells::reserve_cycles`].
    pub fn count_bases(
        &mut self,
        qualities: &[u8],
        contexts: &[u16],
        findings: &[Finding],
        cycles: impl Iterator<Item = usize>,
    ) {
        self.make_rows(qualities);
        let (width, none) = (self.width(), self.contexts - 1);
        let (starts, cells) = (&self.starts, self.cells.as_mut_slice());
        let bases = qualities.iter().zip(contexts).zip(findings).zip(cycles);
        for (((&quality, &context), &finding), cycle) in bases {
            if finding == SKIPPED {
                continue;
            }
            let row = &mut cells[starts[usize::from(quality)] as usize..][..width];
            let one = 1 | u64::from(finding) << 32;
            row[usize::from(context).min(none)] += one;
            row[none + 1 + cycle] += one;
        }
    }
}

/// Returns the number of context cells in a row: one for each context of `size` bases, one for the
/// empty context, and one for bases without context.
fn count_context_cells(size: u8) -> usize {
    usize::from(empty_context(size)) + 2
}

/// Returns the maximum memory in bytes for the counts of one read group whose reads have at most
/// `cycles` cycles.
pub fn max_group_bytes(context_sizes: &[u8], cycles: u32) -> usize {
    let widths = context_sizes.iter().map(|&size| count_context_cells(size) + 2 * (cycles as usize + 1));
    widths.sum::<usize>() * QUALITIES * size_of::<u64>()
}

/// The comparison of one base with the reference: 0 for a match, 1 for an error, or [`SKIPPED`].
pub type Finding = u8;

/// The base is not counted, for example because it is at a known site.
pub const SKIPPED: Finding = 2;

/// The counts of all threads. Jobs in stages store them in files and add them up with
/// [`Totals::append`].
#[derive(Default, Serialize, Deserialize)]
pub struct Totals {
    groups: Vec<Option<GroupTable>>,
}

impl Totals {
    pub fn add_counters(&mut self, counters: &mut Counters) {
        self.groups.resize_with(self.groups.len().max(counters.groups.len()), || None);
        for (total, group) in self.groups.iter_mut().zip(&mut counters.groups) {
            let Some(events) = group.take() else { continue };
            let total = total.get_or_insert_with(GroupTable::default);
            for (table, cells) in total.events.iter_mut().zip(events.iter()) {
                add_cells(cells, table);
            }
        }
        (counters.counted, counters.bytes) = (0, 0);
    }

    /// Adds the counts of another job, whose read groups must have the same numbers.
    pub fn append(&mut self, more: Totals) {
        self.groups.resize_with(self.groups.len().max(more.groups.len()), || None);
        for (total, group) in self.groups.iter_mut().zip(more.groups) {
            match (total, group) {
                (_, None) => {}
                (Some(total), Some(group)) => total.append(group),
                (total @ None, group) => *total = group,
            }
        }
    }

    pub fn heap_bytes(&self) -> usize {
        let tables = self.groups.iter().flatten().flat_map(|group| &group.events);
        let rows = tables.flat_map(|table| table.seen_qualities());
        let cells = rows.map(|(_, row)| row.contexts.capacity() + row.cycles.capacity());
        cells.sum::<usize>() * size_of::<Datum>()
    }

    /// Converts the counts to tables, without read groups that have no observations. `names` has
    /// the names of all read groups, in the order of their numbers.
    pub fn into_tables(self, names: &[Vec<u8>]) -> Tables {
        let named = self.groups.into_iter().zip(names);
        let named = named.filter_map(|(group, name)| Some(GroupTable { name: name.clone(), ..group? }));
        Tables { groups: named.collect() }
    }
}

fn split_cell(cell: u64) -> Datum {
    Datum { observations: cell & u64::from(u32::MAX), errors: (cell >> 32) as f64 }
}

fn add_cells(cells: &Cells, table: &mut EventTable) {
    table.qualities.resize_with(QUALITIES, || None);
    for (&start, total) in cells.starts.iter().zip(&mut table.qualities) {
        if start == NO_ROW {
            continue;
        }
        let row = &cells.cells[start as usize..][..cells.width()];
        let (contexts, cycles) = row.split_at(cells.contexts);
        let contexts = &contexts[..cells.contexts - 1]; // without the cell for bases that have no context
        let total = total.get_or_insert_default();
        total.contexts.resize(contexts.len(), Datum::default());
        total.cycles.resize(total.cycles.len().max(cycles.len()), Datum::default());
        contexts.iter().zip(&mut total.contexts).for_each(|(&cell, sum)| sum.add(split_cell(cell)));
        cycles.iter().for_each(|&cell| total.total.add(split_cell(cell)));
        cycles.iter().zip(&mut total.cycles).skip(1).for_each(|(&cell, sum)| sum.add(split_cell(cell)));
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Datum {
    pub observations: u64,
    /// An integer in our counts. GATK reports that were made with base alignment qualities have
    /// fractions.
    pub errors: f64,
}

impl Datum {
    pub fn add(&mut self, other: Datum) {
        self.observations = self.observations.saturating_add(other.observations);
        self.errors += other.errors;
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ErrorEvent {
    Mismatch,
    /// An insertion relative to the reference follows the base.
    Insertion,
    /// A deletion relative to the reference follows the base.
    Deletion,
}

impl ErrorEvent {
    pub const ALL: [ErrorEvent; 3] = [ErrorEvent::Mismatch, ErrorEvent::Insertion, ErrorEvent::Deletion];

    pub fn index(self) -> usize {
        self as usize
    }

    pub fn letter(self) -> &'static str {
        ["M", "I", "D"][self.index()]
    }
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct QualityTable {
    pub total: Datum,
    /// Indexed by context code ([`encode_context`]). Empty, or one element for each of the 4^size
    /// contexts, optionally followed by one for the empty context.
    pub contexts: Vec<Datum>,
    /// Indexed by [`cycle_index`], and only as long as needed.
    pub cycles: Vec<Datum>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct EventTable {
    /// Indexed by reported quality, 0 to 93. May be shorter if higher qualities were not seen.
    pub qualities: Vec<Option<Box<QualityTable>>>,
}

impl EventTable {
    pub fn seen_qualities(&self) -> impl Iterator<Item = (u8, &QualityTable)> {
        let numbered = self.qualities.iter().zip(0u8..);
        numbered.filter_map(|(table, quality)| Some((quality, table.as_deref()?)))
    }
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct GroupTable {
    /// The read group's PU, or its ID if it has no PU (as GATK 4.6.2 names read groups).
    pub name: Vec<u8>,
    /// Counts of mismatches, insertions and deletions, indexed by [`ErrorEvent::index`].
    pub events: [EventTable; 3],
}

impl GroupTable {
    fn append(&mut self, more: GroupTable) {
        for (event, more) in self.events.iter_mut().zip(more.events) {
            let longer = event.qualities.len().max(more.qualities.len());
            event.qualities.resize_with(longer, || None);
            for (table, more) in event.qualities.iter_mut().zip(more.qualities) {
                match (table, more) {
                    (_, None) => {}
                    (Some(table), Some(more)) => table.append(&more),
                    (table @ None, more) => *table = more,
                }
            }
        }
    }
}

impl QualityTable {
    fn append(&mut self, more: &QualityTable) {
        self.total.add(more.total);
        for (sums, more) in [(&mut self.contexts, &more.contexts), (&mut self.cycles, &more.cycles)] {
            sums.resize(sums.len().max(more.len()), Datum::default());
            sums.iter_mut().zip(more).for_each(|(sum, datum)| sum.add(*datum));
        }
    }
}

/// All counts: the input of a [`RecalReport`](crate::RecalReport). Read groups have unique names
/// and are in any order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tables {
    pub groups: Vec<GroupTable>,
}

/// Returns the index of a cycle in [`QualityTable::cycles`]: 2 for cycle 1, 3 for -1, 4 for 2, and
/// so on. Read 2 has negative cycles.
pub fn cycle_index(cycle: i32) -> usize {
    2 * cycle.unsigned_abs() as usize + usize::from(cycle < 0)
}

pub fn cycle_at(index: usize) -> i64 {
    let cycle = (index / 2) as i64;
    if index % 2 == 1 { -cycle } else { cycle }
}

/// Returns the bases of a context as a base-4 number (A 0, C 1, G 2, T 3), or `None` if any base is
/// another letter.
///
/// The base that was sequenced first is the most significant digit. [`decode_context`] is the
/// inverse:
///
/// ```
/// use readmill_bqsr::counters::{decode_context, encode_context};
///
/// assert_eq!(encode_context(b"TTG"), Some(62));
/// assert_eq!(decode_context(62, 3), b"TTG");
/// assert_eq!(encode_context(b"TNG"), None);
/// ```
pub fn encode_context(bases: &[u8]) -> Option<usize> {
    let digit = |base: &u8| b"ACGT".iter().position(|it| it.eq_ignore_ascii_case(base));
    bases.iter().try_fold(0, |code, base| Some(4 * code + digit(base)?))
}

pub fn decode_context(code: usize, size: usize) -> Vec<u8> {
    (0..size).rev().map(|place| b"ACGT"[code >> (2 * place) & 3]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contexts_and_cycles_have_numbers() {
        assert_eq!(encode_context(b"AA"), Some(0));
        assert_eq!(encode_context(b"ca"), Some(4));
        assert_eq!(encode_context(b"TTG"), Some(62));
        assert_eq!(encode_context(b"NA"), None);
        assert_eq!(decode_context(62, 3), b"TTG");
        assert_eq!([1, -1, 2, -2].map(cycle_index), [2, 3, 4, 5]);
        assert_eq!([2, 3, 4, 5].map(cycle_at), [1, -1, 2, -2]);
    }
}
