//! Compares records in step: finds levels L0 to L2, and passes records that differ on to L3.

use readmill_format::sam;
use readmill_record::{Flags, Header, RecordRef};

use super::header::Level;
use super::line::{Difference, DifferenceCounts, SamLine};
use super::reads::{Balance, ReadBalance, digest};

#[derive(Clone, Debug, Default)]
pub struct RecordResult {
    first: [Option<Difference>; 3],
    pub tally: DifferenceCounts,
    pub same_reads: bool,
    pub same_duplicates: bool,
}

impl RecordResult {
    /// Returns the first difference that rules out `level`. L3 does not depend on positions, so the
    /// difference for L2 is returned.
    pub fn first(&self, level: Level) -> Option<&Difference> {
        self.first[(level as usize).min(2)].as_ref()
    }

    pub fn holds(&self, level: Level) -> bool {
        match level {
            Level::L3 => self.same_reads && self.same_duplicates,
            _ => self.first(level).is_none(),
        }
    }

    fn note(&mut self, level: Level, difference: impl FnOnce() -> Difference) {
        self.first[level as usize].get_or_insert_with(difference);
    }
}

pub struct InStep<'a> {
    headers: &'a [Header; 2],
    /// Whether all reference sequences have the same index in both files. Then equal bytes mean
    /// equal text.
    same_references: bool,
    same_libraries: bool,
    text: [Vec<u8>; 2],
    neighbours: SamePosition,
    reads: ReadBalance,
    alone: u64,
    verdict: RecordResult,
}

type PositionAndStrand = (i32, i32, bool);

/// Consecutive records with the same position and strand, whose order does not matter to L2. As
/// long as L2 holds, the positions of both files are equal in every step, so these groups begin and
/// end together.
#[derive(Default)]
struct SamePosition {
    place: Option<PositionAndStrand>,
    balance: Balance,
    first: Option<Difference>,
}

impl<'a> InStep<'a> {
    pub fn new(headers: &'a [Header; 2]) -> Self {
        let reads = ReadBalance::new(headers);
        let [a, b] = headers.each_ref().map(|header| header.references().iter().map(|r| &r.name));
        InStep {
            headers,
            same_references: a.eq(b),
            same_libraries: reads.same_libraries(),
            text: Default::default(),
            neighbours: SamePosition::default(),
            reads,
            alone: 0,
            verdict: RecordResult::default(),
        }
    }

    pub fn pair(&mut self, at: u64, records: [RecordRef<'_>; 2]) {
        let place = place(records[0]);
        if self.neighbours.place != Some(place) {
            self.end_neighbours();
            self.neighbours.place = Some(place);
        }
        let equal_bytes = self.same_references && records[0].raw() == records[1].raw();
        if equal_bytes && self.same_libraries {
            return;
        }
        let mut text = std::mem::take(&mut self.text);
        for file in [0, 1] {
            write(&self.headers[file], records[file], &mut text[file]);
        }
        if text[0] != text[1] {
            self.differ(at, records, &text);
        } else if !self.same_libraries {
            let line = SamLine::new(&text[0]);
            (0..2).for_each(|file| self.reads.put_duplicate(file, records[file], line.columns[2]));
        }
        self.text = text;
    }

    fn differ(&mut self, at: u64, records: [RecordRef<'_>; 2], text: &[Vec<u8>; 2]) {
        let difference = || Difference { place: at, lines: text.clone().map(Some) };
        self.verdict.note(Level::L0, difference);
        let lines = text.each_ref().map(|text| SamLine::new(text));
        for file in [0, 1] {
            self.reads.put(file, records[file], &lines[file]);
        }
        if !self.verdict.tally.count(lines.each_ref(), records.map(|record| record.flags())) {
            return;
        }
        self.verdict.note(Level::L1, difference);
        if self.verdict.first(Level::L2).is_some() {
            return;
        }
        if by_name(&lines[0], records[0]) != by_name(&lines[1], records[1]) {
            return self.verdict.note(Level::L2, difference);
        }
        self.neighbours.first.get_or_insert_with(difference);
        for (file, line) in lines.iter().enumerate() {
            let all = line.columns.iter().chain(&line.fields).copied();
            self.neighbours.balance.put(file, digest(all));
        }
    }

    /// Adds record number `at` of `file`, after the other file has ended.
    pub fn alone(&mut self, at: u64, file: usize, record: RecordRef<'_>) {
        self.end_neighbours();
        self.alone += 1;
        let [text, _] = &mut self.text;
        write(&self.headers[file], record, text);
        self.reads.put(file, record, &SamLine::new(text));
        if self.verdict.first(Level::L2).is_some() {
            return;
        }
        let mut lines = [None, None];
        lines[file] = Some(text.clone());
        for level in [Level::L0, Level::L1, Level::L2] {
            self.verdict.note(level, || Difference { place: at, lines: lines.clone() });
        }
    }

    pub fn finish(mut self) -> RecordResult {
        self.end_neighbours();
        let mut verdict = self.verdict;
        verdict.same_reads = self.alone == 0 && self.reads.same_reads();
        verdict.same_duplicates = self.reads.same_duplicates();
        verdict
    }

    fn end_neighbours(&mut self) {
        let SamePosition { balance, first, .. } = std::mem::take(&mut self.neighbours);
        if let Some(first) = first.filter(|_| !balance.is_even()) {
            self.verdict.note(Level::L2, || first);
        }
    }
}

fn place(record: RecordRef<'_>) -> PositionAndStrand {
    (record.ref_id(), record.pos(), record.flags().is_reverse())
}

/// Returns RNAME, POS and strand. Unlike reference indexes, they can be compared between files.
fn by_name<'a>(line: &SamLine<'a>, record: RecordRef<'_>) -> (&'a [u8], &'a [u8], u16) {
    (line.columns[2], line.columns[3], record.flags().0 & Flags::REVERSE)
}

fn write(header: &Header, record: RecordRef<'_>, text: &mut Vec<u8>) {
    text.clear();
    sam::write_record(header, record, text);
    text.pop(); // removes the line end
}
