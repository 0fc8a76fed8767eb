//! Tables of counts: observations of bases, and errors among them.

/// Observations and errors.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Datum {
    /// Bases seen.
    pub observations: u64,
    /// Errors among them. Integers in our counts; a report made with base alignment qualities has fractions.
    pub errors: f64,
}

impl Datum {
    /// Adds other counts.
    pub fn add(&mut self, other: Datum) {
        self.observations += other.observations;
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

/// The number of qualities: 0 to 93, the printable characters of SAM.
pub const QUALITIES: usize = 94;

/// The bases of one reported quality.
#[derive(Clone, Debug, Default, PartialEq)]
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
#[derive(Clone, Debug, Default, PartialEq)]
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
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GroupTable {
    /// The group's PU, or its ID if it has none (spec D3.12).
    pub name: Vec<u8>,
    /// By event ([`Event::index`]).
    pub events: [EventTable; 3],
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
