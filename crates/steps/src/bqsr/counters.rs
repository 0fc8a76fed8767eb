//! What one thread counts: two small numbers for each base, in flat arrays.
//!
//! A cell holds observations in its lower half and errors in its upper one, so counting a base is one addition in each of
//! two arrays. Before a half could overflow, everything is carried into [`Totals`], whose numbers are wide.
//! All sums are of whole numbers, so they are the same in whatever order threads are added up.

use super::tables::{Datum, EventTable, GroupTable, QUALITIES, Tables};

/// Largest base quality (Phred).
pub const MAX_QUALITY: u8 = QUALITIES as u8 - 1;

/// Bases after which counters must be carried into [`Totals`].
const MOST_COUNTED: u64 = u32::MAX as u64 / 2;

/// No row yet.
const NO_ROW: u8 = u8::MAX;

/// The counts of a thread.
pub struct Counters {
    groups: Vec<Option<Box<[Cells; 3]>>>,
    context_sizes: [u8; 3],
    counted: u64,
}

/// The counts of one read group and event: a row for each quality that was seen, which is one cell for each
/// context, one for no context, then one for each cycle; the first of those, which no cycle has, is for no cycle.
#[derive(Clone)]
pub struct Cells {
    row_of: [u8; QUALITIES],
    contexts: usize,
    cycles: usize,
    cells: Vec<u64>,
}

impl Counters {
    /// Nothing counted, for `groups` read groups and contexts of so many bases for each event.
    pub fn new(groups: usize, context_sizes: [u8; 3]) -> Self {
        Counters { groups: vec![None; groups], context_sizes, counted: 0 }
    }

    /// The cells of a read group, in which a read of `bases` bases is about to be counted.
    pub fn cells(&mut self, group: usize, bases: usize) -> &mut [Cells; 3] {
        self.counted += bases as u64;
        let sizes = self.context_sizes;
        self.groups[group].get_or_insert_with(|| Box::new(sizes.map(Cells::new)))
    }

    /// Whether they must be carried into totals before the next reads are counted.
    pub fn are_full(&self, most_bytes: usize) -> bool {
        self.counted > MOST_COUNTED || self.bytes() > most_bytes
    }

    /// Bytes they take.
    pub fn bytes(&self) -> usize {
        let cells = self.groups.iter().flatten().flat_map(|events| events.iter());
        cells.map(|cells| cells.cells.capacity() * size_of::<u64>()).sum()
    }
}

impl Cells {
    fn new(context_size: u8) -> Self {
        Cells {
            row_of: [NO_ROW; QUALITIES],
            contexts: (1 << (2 * context_size)) + 1,
            cycles: 0,
            cells: Vec::new(),
        }
    }

    fn width(&self) -> usize {
        self.contexts + self.cycles
    }

    /// Makes room for cycles below `cycles`.
    pub fn reserve(&mut self, cycles: usize) {
        if cycles <= self.cycles {
            return;
        }
        let (old, rows) = (self.clone(), self.cells.len() / self.width());
        self.cycles = cycles;
        let width = self.width();
        self.cells = vec![0; rows * width];
        for row in 0..rows {
            let from = &old.cells[row * old.width()..][..old.width()];
            self.cells[row * width..][..from.len()].copy_from_slice(from);
        }
    }

    /// Makes rows of the qualities of a read, which are at most [`MAX_QUALITY`].
    fn make_rows(&mut self, qualities: &[u8]) {
        for &quality in qualities {
            if self.row_of[usize::from(quality)] == NO_ROW {
                let start = self.cells.len();
                self.row_of[usize::from(quality)] = (start / self.width()) as u8;
                self.cells.resize(start + self.width(), 0);
            }
        }
    }

    /// Counts the bases of a read: their qualities, contexts, what was found, and cycles, which are below what was
    /// reserved.
    pub fn count(
        &mut self,
        qualities: &[u8],
        contexts: &[u16],
        findings: &[Finding],
        cycles: impl Iterator<Item = usize>,
    ) {
        self.make_rows(qualities);
        let (width, most) = (self.width(), self.contexts - 1);
        let bases = qualities.iter().zip(contexts).zip(findings).zip(cycles);
        for (((&quality, &context), &finding), cycle) in bases {
            if finding == SKIPPED {
                continue;
            }
            let row = usize::from(self.row_of[usize::from(quality)]) * width;
            let one = 1 | u64::from(finding) << 32;
            self.cells[row + usize::from(context).min(most)] += one;
            self.cells[row + most + 1 + cycle] += one;
        }
    }
}

/// What was found of a base: 0, it is as expected; 1, it is an error; or it is [`SKIPPED`].
pub type Finding = u8;

/// A base that is not counted.
pub const SKIPPED: Finding = 2;

/// What all threads counted.
#[derive(Default)]
pub struct Totals {
    groups: Vec<Option<GroupTable>>,
}

impl Totals {
    /// Adds what was counted, and leaves nothing of it.
    pub fn add(&mut self, counters: &mut Counters) {
        self.groups.resize_with(self.groups.len().max(counters.groups.len()), || None);
        for (total, group) in self.groups.iter_mut().zip(&mut counters.groups) {
            let Some(events) = group.take() else { continue };
            let total = total.get_or_insert_with(GroupTable::default);
            for (table, cells) in total.events.iter_mut().zip(events.iter()) {
                pour(cells, table);
            }
        }
        counters.counted = 0;
    }

    /// The tables of all read groups that have any observation, whose names are `names`.
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
    for (&row, total) in cells.row_of.iter().zip(&mut table.qualities) {
        if row == NO_ROW {
            continue;
        }
        let row = &cells.cells[usize::from(row) * cells.width()..][..cells.width()];
        let (contexts, cycles) = row.split_at(cells.contexts);
        let contexts = &contexts[..cells.contexts - 1];
        let total = total.get_or_insert_default();
        total.contexts.resize(contexts.len(), Datum::default());
        total.cycles.resize(total.cycles.len().max(cycles.len()), Datum::default());
        contexts.iter().zip(&mut total.contexts).for_each(|(&cell, sum)| sum.add(datum(cell)));
        cycles.iter().for_each(|&cell| total.total.add(datum(cell)));
        cycles.iter().zip(&mut total.cycles).skip(1).for_each(|(&cell, sum)| sum.add(datum(cell)));
    }
}
