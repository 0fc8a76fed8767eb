//! Numbers of reads by reference sequence, as `samtools idxstats` (1.24) prints them. They are
//! counted from the reads, so no index is needed.

use std::fmt::Write as _;

use readmill_format::report::{DescribedReport, cell_value};
use readmill_record::header::ReferenceSequence;
use readmill_record::{Batch, Header, Result, Tally};
use serde_json::{Value, json};

use crate::spec::{TallyReport, TallySpec};

pub const SPEC: TallySpec = TallySpec {
    flag_help: Some("Write read counts by reference sequence, as samtools idxstats does"),
    command_help: Some("Count reads by reference sequence, as samtools idxstats does, without an index"),
    ..TallySpec::new("idxstats", |context| {
        TallyReport::new(Idxstats::new(context.header), |counts, _| counts)
    })
};

pub struct Idxstats {
    header: Header,
}

impl Idxstats {
    pub fn new(header: &Header) -> Self {
        Idxstats { header: header.clone() }
    }
}

#[derive(Debug, PartialEq, Eq)]
pub struct IdxstatsCounts {
    header: Header,
    /// First the reads without a reference sequence, then those of each sequence: mapped, unmapped.
    reads: MappedCounts,
}

type MappedCounts = Vec<[u64; 2]>;

impl IdxstatsCounts {
    pub fn reference_counts(&self) -> impl Iterator<Item = (&ReferenceSequence, [u64; 2])> {
        self.header.references().iter().zip(self.reads[1..].iter().copied())
    }

    pub fn unplaced_counts(&self) -> [u64; 2] {
        self.reads[0]
    }
}

impl DescribedReport for IdxstatsCounts {
    /// Formats the text of `samtools idxstats`: name, length in bases, mapped reads, unmapped
    /// reads.
    fn format_text(&self) -> Vec<u8> {
        let digits = |n: u64| n.checked_ilog10().unwrap_or(0) as usize + 1;
        let line = |(reference, [mapped, unmapped]): (&ReferenceSequence, [u64; 2])| {
            let numbers = [u64::from(reference.length), mapped, unmapped];
            reference.name.len() + numbers.map(digits).iter().sum::<usize>() + 4
        };
        // Reserved at once, because a growing buffer would take twice the memory.
        let mut text = Vec::with_capacity(self.reference_counts().map(line).sum::<usize>() + 64);
        let mut numbers = String::new();
        for (ReferenceSequence { name, length }, [mapped, unmapped]) in self.reference_counts() {
            numbers.clear();
            let _ = writeln!(numbers, "\t{length}\t{mapped}\t{unmapped}");
            text.extend_from_slice(name);
            text.extend_from_slice(numbers.as_bytes());
        }
        let [mapped, unmapped] = self.unplaced_counts();
        text.extend_from_slice(format!("*\t0\t{mapped}\t{unmapped}\n").as_bytes());
        text
    }

    /// Returns `[{"contig": …, "length": bases, "mapped": n, "unmapped": n}, …]`. The last contig is `*`.
    fn to_value(&self) -> Value {
        let row = |name: &[u8], length: u32, [mapped, unmapped]: [u64; 2]| {
            let name = cell_value(&String::from_utf8_lossy(name));
            json!({ "contig": name, "length": length, "mapped": mapped, "unmapped": unmapped })
        };
        let rows = self.reference_counts().map(|(it, reads)| row(&it.name, it.length, reads));
        rows.chain([row(b"*", 0, self.unplaced_counts())]).collect()
    }
}

/// Bytes of a line of text without the name, with counts of up to ten digits.
const LINE_BYTES: u64 = 34;

impl Tally for Idxstats {
    type Partial = MappedCounts;
    type Total = IdxstatsCounts;

    fn observe(&self, partial: &mut Self::Partial, batch: &Batch) -> Result<()> {
        partial.resize(self.header.references().len() + 1, [0; 2]);
        for (_, record) in batch.records() {
            let place = (record.ref_id() + 1) as usize;
            partial[place][usize::from(record.flags().is_unmapped())] += 1;
        }
        Ok(())
    }

    fn merge(&self, into: &mut Self::Partial, from: Self::Partial) {
        if into.is_empty() {
            *into = from;
            return;
        }
        for (into, from) in into.iter_mut().flatten().zip(from.iter().flatten()) {
            *into += from;
        }
    }

    fn finish(&self, mut reads: Self::Partial) -> Result<IdxstatsCounts> {
        reads.resize(self.header.references().len() + 1, [0; 2]);
        Ok(IdxstatsCounts { header: self.header.clone(), reads })
    }

    fn memory_bytes(&self, threads: u64) -> u64 {
        let references = self.header.references();
        let names: u64 = references.iter().map(|reference| reference.name.len() as u64).sum();
        let counts = (references.len() as u64 + 1) * size_of::<[u64; 2]>() as u64;
        (threads + 1) * counts + names + references.len() as u64 * LINE_BYTES
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use readmill_record::{Stamp, edit};

    #[test]
    fn rows_are_those_of_samtools() {
        let header = Header::parse(b"@SQ\tSN:a\tLN:10\n@SQ\tSN:b\tLN:7\n").unwrap();
        let tally = Idxstats::new(&header);
        let mut batch = Batch::default();
        for (ref_id, flags) in [(0, 0), (0, 0), (0, 4), (-1, 4), (-1, 4), (-1, 0), (1, 0x900)] {
            let mut raw = vec![0u8; 36];
            raw[12] = 2;
            edit::set_ref_id(&mut raw, ref_id);
            edit::set_flags(&mut raw, flags);
            raw.extend_from_slice(b"r\0");
            edit::set_block_size(&mut raw, 0);
            batch.push(&raw, Stamp::default()).unwrap();
        }
        let mut halves = [Vec::new(), Vec::new()];
        tally.observe(&mut halves[0], &batch).unwrap();
        let [mut one, none] = halves;
        tally.merge(&mut one, none);
        let counts = tally.finish(one).unwrap();
        assert_eq!(counts.format_text(), b"a\t10\t2\t1\nb\t7\t1\t0\n*\t0\t1\t2\n");
        let wanted = json!([
            {"contig": "a", "length": 10, "mapped": 2, "unmapped": 1},
            {"contig": "b", "length": 7, "mapped": 1, "unmapped": 0},
            {"contig": "*", "length": 0, "mapped": 1, "unmapped": 2},
        ]);
        assert_eq!(counts.to_value(), wanted);
        assert_eq!(
            tally.finish(Vec::new()).unwrap().format_text(),
            b"a\t10\t0\t0\nb\t7\t0\t0\n*\t0\t0\t0\n"
        );
    }
}
