//! Counts of bases and of errors among them: those of one thread, and the tables that they are added up to.
//!
//! A thread has two small numbers for each base, in flat arrays. A cell holds observations in its lower half and errors in
//! its upper one, so counting a base is one
//! addition in each of two arrays. Before a half could overflow, all counts are moved into [`Totals`], whose
//! numbers are wide. All sums are of integers, so they do not depend on the order in which threads are added
//! up.

use serde::{Deserialize, Serialize};

use super::covariates::{QUALITIES, empty_context};

/// Bases after which counters must be moved into [`Totals`].
const MOST_COUNTED: u64 = u32::MAX as u64 / 2;

/// No row yet.
const NO_ROW: u32 = u32::MAX;

/// The counts of a thread.
pub struct Counters {
    groups: Vec<Option<Box<[Cells; 3]>>>,
    context_sizes: [u8; 3],
    counted: u64,
    bytes: usize,
}

/// The counts of one read group and event: a row for each quality that was seen. A row has one cell for each
/// context, one for the empty context, one for bases without context, then one for each cycle; the first of
/// these, which no cycle uses, is for bases without cycle.
#[derive(Clone)]
pub struct Cells {
    /// The start of the row of each quality.
    starts: [u32; 256],
    contexts: usize,
    cycles: usize,
    cells: Vec<u64>,
}

impl Counters {
    /// Creates empty counters for `groups` read groups and the context size of each event.
    pub fn new(groups: usize, context_sizes: [u8; 3]) -> Self {
        Counters { groups: vec![None; groups], context_sizes, counted: 0, bytes: 0 }
    }

    /// Returns the cells of a read group, with room for a read of `bases` bases.
    fn cells(&mut self, group: usize, bases: usize) -> &mut [Cells; 3] {
        self.counted += bases as u64;
        let sizes = self.context_sizes;
        self.groups[group].get_or_insert_with(|| Box::new(sizes.map(Cells::new)))
    }

    /// Counts a read in the cells of its read group.
    pub fn count<T>(
        &mut self,
        group: usize,
        bases: usize,
        count: impl FnOnce(&mut [Cells; 3]) -> T,
    ) -> T {
        let cells = self.cells(group, bases);
        let before: usize = cells.iter().map(Cells::bytes).sum();
        let done = count(cells);
        let after: usize = cells.iter().map(Cells::bytes).sum();
        self.bytes = self.bytes + after - before; // spare capacity may shrink
        done
    }

    /// Bytes that they take.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Whether they must be moved into totals before the next reads are counted.
    pub fn are_full(&self, most_bytes: usize) -> bool {
        self.counted > MOST_COUNTED || self.bytes > most_bytes
    }
}

impl Cells {
    fn new(context_size: u8) -> Self {
        Cells { starts: [NO_ROW; 256], contexts: contexts(context_size), cycles: 0, cells: Vec::new() }
    }

    fn bytes(&self) -> usize {
        self.cells.capacity() * size_of::<u64>()
    }

    fn width(&self) -> usize {
        self.contexts + self.cycles
    }

    /// Makes room for cycles below `cycles`.
    pub fn reserve(&mut self, cycles: usize) {
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

    /// Makes rows of the qualities of a read.
    fn make_rows(&mut self, qualities: &[u8]) {
        for &quality in qualities {
            if self.starts[usize::from(quality)] == NO_ROW {
                let start = self.cells.len();
                self.starts[usize::from(quality)] = start as u32;
                self.cells.resize(start + self.width(), 0);
            }
        }
    }

    /// Counts the bases of a read, by their qualities, which are at most 93, contexts, findings,
    /// and cycles, which are below the reserved limit.
    pub fn count(
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

/// Returns the number of context cells: contexts of `size` bases, the empty one, and no context.
fn contexts(size: u8) -> usize {
    usize::from(empty_context(size)) + 2
}

/// Returns the most bytes that the counts of a read group take if its reads have at most `cycles` cycles.
pub fn most_group_bytes(context_sizes: &[u8], cycles: u32) -> usize {
    let widths = context_sizes.iter().map(|&size| contexts(size) + 2 * (cycles as usize + 1));
    widths.sum::<usize>() * QUALITIES * size_of::<u64>()
}

/// The finding at a base: 0 if it is as expected; 1 if it is an error; or [`SKIPPED`].
pub type Finding = u8;

/// A base that is not counted.
pub const SKIPPED: Finding = 2;

/// The counts of all threads.
#[derive(Default, Serialize, Deserialize)]
pub struct Totals {
    groups: Vec<Option<GroupTable>>,
}

impl Totals {
    /// Adds the counts of a thread and resets them.
    pub fn add(&mut self, counters: &mut Counters) {
        self.groups.resize_with(self.groups.len().max(counters.groups.len()), || None);
        for (total, group) in self.groups.iter_mut().zip(&mut counters.groups) {
            let Some(events) = group.take() else { continue };
            let total = total.get_or_insert_with(GroupTable::default);
            for (table, cells) in total.events.iter_mut().zip(events.iter()) {
                pour(cells, table);
            }
        }
        (counters.counted, counters.bytes) = (0, 0);
    }

    /// Adds the counts of other reads of the same groups.
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

    /// Bytes that they take.
    pub fn heap_bytes(&self) -> usize {
        let tables = self.groups.iter().flatten().flat_map(|group| &group.events);
        let rows = tables.flat_map(|table| table.seen());
        let cells = rows.map(|(_, row)| row.contexts.capacity() + row.cycles.capacity());
        cells.sum::<usize>() * size_of::<Datum>()
    }

    /// Returns the tables of all read groups that have observations; `names` are their names.
    pub fn tables(self, names: &[Vec<u8>]) -> Tables {
        let named = self.groups.into_iter().zip(names);
        let named = named.filter_map(|(group, name)| Some(GroupTable { name: name.clone(), ..group? }));
        Tables { groups: named.collect() }
    }
}

fn datum(cell: u64) -> Datum {
    Datum { observations: cell & u64::from(u32::MAX), errors: (cell >> 32) as f64 }
}

fn pour(cells: &Cells, table: &mut EventTable) {
    table.qualities.resize_with(QUALITIES, || None);
    for (&start, total) in cells.starts.iter().zip(&mut table.qualities) {
        if start == NO_ROW {
            continue;
        }
        let row = &cells.cells[start as usize..][..cells.width()];
        let (contexts, cycles) = row.split_at(cells.contexts);
        let contexts = &contexts[..cells.contexts - 1]; // except for bases without context
        let total = total.get_or_insert_default();
        total.contexts.resize(contexts.len(), Datum::default());
        total.cycles.resize(total.cycles.len().max(cycles.len()), Datum::default());
        contexts.iter().zip(&mut total.contexts).for_each(|(&cell, sum)| sum.add(datum(cell)));
        cycles.iter().for_each(|&cell| total.total.add(datum(cell)));
        cycles.iter().zip(&mut total.cycles).skip(1).for_each(|(&cell, sum)| sum.add(datum(cell)));
    }
}

/// Observations and errors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Datum {
    /// Bases seen.
    pub observations: u64,
    /// Errors among them. Integers in our counts; a report made with base alignment qualities has fractions.
    pub errors: f64,
}

impl Datum {
    /// Adds other counts.
    pub fn add(&mut self, other: Datum) {
        self.observations = self.observations.saturating_add(other.observations);
        self.errors += other.errors;
    }
}

/// An error at a base, in GATK's order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Event {
    /// The base differs from the reference.
    Mismatch,
    /// Bases follow that the reference does not have.
    Insertion,
    /// Bases are missing after it.
    Deletion,
}

impl Event {
    /// All events, in order.
    pub const ALL: [Event; 3] = [Event::Mismatch, Event::Insertion, Event::Deletion];

    /// Returns the event's index in [`GroupTable::events`].
    pub fn index(self) -> usize {
        self as usize
    }

    /// The letter in a report's column EventType.
    pub fn letter(self) -> &'static str {
        ["M", "I", "D"][self.index()]
    }
}

/// The bases of one reported quality.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct QualityTable {
    /// All of them.
    pub total: Datum,
    /// By the context's code ([`context_code`]); empty, or one for each of the 4^size contexts, then
    /// optionally one for the empty context.
    pub contexts: Vec<Datum>,
    /// By the cycle's index ([`cycle_index`]); as long as needed.
    pub cycles: Vec<Datum>,
}

/// One kind of event in one read group.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct EventTable {
    /// By reported quality, 0 to 93; empty, or shorter than that, if higher ones were not seen.
    pub qualities: Vec<Option<Box<QualityTable>>>,
}

impl EventTable {
    /// The qualities that were seen, lowest first.
    pub fn seen(&self) -> impl Iterator<Item = (u8, &QualityTable)> {
        let numbered = self.qualities.iter().zip(0u8..);
        numbered.filter_map(|(table, quality)| Some((quality, table.as_deref()?)))
    }
}

/// The counts of one read group.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct GroupTable {
    /// The group's PU, or its ID if it has none (spec D3.12).
    pub name: Vec<u8>,
    /// By event ([`Event::index`]).
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

/// All counts. Groups are in any order; each name occurs once.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tables {
    /// The read groups.
    pub groups: Vec<GroupTable>,
}

/// Returns the index of a cycle in [`QualityTable::cycles`]: 2 for cycle 1, 3 for -1, 4 for 2, and so on.
pub fn cycle_index(cycle: i32) -> usize {
    2 * cycle.unsigned_abs() as usize + usize::from(cycle < 0)
}

/// The cycle at an index.
pub fn cycle_at(index: usize) -> i64 {
    let cycle = (index / 2) as i64;
    if index % 2 == 1 { -cycle } else { cycle }
}

/// Returns a context's bases as a number of base 4 (A 0, C 1, G 2, T 3), the base sequenced first being the
/// most significant digit. `None` if another letter is among them.
pub fn context_code(bases: &[u8]) -> Option<usize> {
    let digit = |base: &u8| b"ACGT".iter().position(|it| it.eq_ignore_ascii_case(base));
    bases.iter().try_fold(0, |code, base| Some(4 * code + digit(base)?))
}

/// Returns the bases of a context of `size` bases.
pub fn context_bases(code: usize, size: usize) -> Vec<u8> {
    (0..size).rev().map(|place| b"ACGT"[code >> (2 * place) & 3]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contexts_and_cycles_have_numbers() {
        assert_eq!(context_code(b"AA"), Some(0));
        assert_eq!(context_code(b"ca"), Some(4));
        assert_eq!(context_code(b"TTG"), Some(62));
        assert_eq!(context_code(b"NA"), None);
        assert_eq!(context_bases(62, 3), b"TTG");
        assert_eq!([1, -1, 2, -2].map(cycle_index), [2, 3, 4, 5]);
        assert_eq!([2, 3, 4, 5].map(cycle_at), [1, -1, 2, -2]);
    }
}
