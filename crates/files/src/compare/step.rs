//! Compares records in step: determines levels L0 to L2, and passes differing records on to L3.

use readmill_format::sam;
use readmill_record::{Flags, Header, RecordRef};

use super::header::AgreementLevel;
use super::line::{DifferenceCounts, RecordDifference, SamLine};
use super::reads::{Balance, ReadBalance, hash_parts};

#[derive(Clone, Debug, Default)]
pub struct RecordResult {
    first: [Option<RecordDifference>; 3],
    pub tally: DifferenceCounts,
    pub same_reads: bool,
    pub same_duplicates: bool,
}

impl RecordResult {
    /// Returns the first difference that rules out `level`. L3 does not depend on positions, so it
    /// returns the difference for L2.
    pub fn first_difference(&self, level: AgreementLevel) -> Option<&RecordDifference> {
        self.first[(level as usize).min(2)].as_ref()
    }

    pub fn holds(&self, level: AgreementLevel) -> bool {
        match level {
            AgreementLevel::L3 => self.same_reads && self.same_duplicates,
            _ => self.first_difference(level).is_none(),
        }
    }

    fn note_difference(&mut self, level: AgreementLevel, difference: impl FnOnce() -> RecordDifference) {
        self.first[level as usize].get_or_insert_with(difference);
    }
}

pub struct RecordComparison<'a> {
    headers: &'a [Header; 2],
    /// Whether all reference sequences have the same index in both files, so that equal bytes mean
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

/// Consecutive records with the same position and strand, whose order does not affect L2. As long
/// as L2 holds, the positions of both files are equal in every step, so these groups start and end
/// together.
#[derive(Default)]
struct SamePosition {
    place: Option<PositionAndStrand>,
    balance: Balance,
    first: Option<RecordDifference>,
}

impl<'a> RecordComparison<'a> {
    pub fn new(headers: &'a [Header; 2]) -> Self {
        let reads = ReadBalance::new(headers);
        let [a, b] = headers.each_ref().map(|header| header.references().iter().map(|r| &r.name));
        RecordComparison {
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

    pub fn compare_pair(&mut self, at: u64, records: [RecordRef<'_>; 2]) {
        let place = position_and_strand(records[0]);
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
            write_line(&self.headers[file], records[file], &mut text[file]);
        }
        if text[0] != text[1] {
            self.add_difference(at, records, &text);
        } else if !self.same_libraries {
            let line = SamLine::new(&text[0]);
            (0..2).for_each(|file| self.reads.add_duplicate(file, records[file], line.columns[2]));
        }
        self.text = text;
    }

    fn add_difference(&mut self, at: u64, records: [RecordRef<'_>; 2], text: &[Vec<u8>; 2]) {
        let difference = || RecordDifference { place: at, lines: text.clone().map(Some) };
        self.verdict.note_difference(AgreementLevel::L0, difference);
        let lines = text.each_ref().map(|text| SamLine::new(text));
        for file in [0, 1] {
            self.reads.add_record(file, records[file], &lines[file]);
        }
        if !self.verdict.tally.count_pair(lines.each_ref(), records.map(|record| record.flags())) {
            return;
        }
        self.verdict.note_difference(AgreementLevel::L1, difference);
        if self.verdict.first_difference(AgreementLevel::L2).is_some() {
            return;
        }
        if named_position(&lines[0], records[0]) != named_position(&lines[1], records[1]) {
            return self.verdict.note_difference(AgreementLevel::L2, difference);
        }
        self.neighbours.first.get_or_insert_with(difference);
        for (file, line) in lines.iter().enumerate() {
            let all = line.columns.iter().chain(&line.fields).copied();
            self.neighbours.balance.add_item(file, hash_parts(all));
        }
    }

    /// Adds record number `at` of `file` after the other file has ended.
    pub fn add_unpaired(&mut self, at: u64, file: usize, record: RecordRef<'_>) {
        self.end_neighbours();
        self.alone += 1;
        let [text, _] = &mut self.text;
        write_line(&self.headers[file], record, text);
        self.reads.add_record(file, record, &SamLine::new(text));
        if self.verdict.first_difference(AgreementLevel::L2).is_some() {
            return;
        }
        let mut lines = [None, None];
        lines[file] = Some(text.clone());
        for level in [AgreementLevel::L0, AgreementLevel::L1, AgreementLevel::L2] {
            self.verdict.note_difference(level, || RecordDifference { place: at, lines: lines.clone() });
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
            self.verdict.note_difference(AgreementLevel::L2, || first);
        }
    }
}

fn position_and_strand(record: RecordRef<'_>) -> PositionAndStrand {
    (record.ref_id(), record.pos(), record.flags().is_reverse())
}

/// Returns RNAME, POS and strand. Unlike reference indexes, these can be compared between files.
fn named_position<'a>(line: &SamLine<'a>, record: RecordRef<'_>) -> (&'a [u8], &'a [u8], u16) {
    (line.columns[2], line.columns[3], record.flags().0 & Flags::REVERSE)
}

fn write_line(header: &Header, record: RecordRef<'_>, text: &mut Vec<u8>) {
    text.clear();
    sam::write_record(header, record, text);
    text.pop(); // removes the line end
}
