//! Rules that look at the reads before each read: bases that its mate has covered count once, and too deep reads are dropped.
//!
//! A [`Gate`] gets all reads of a file, in their order. It returns a position for each: bases before it do not count.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use readmill_record::{Batch, RecordRef, slots_to_grow};

use crate::depth::rules::DepthRules;
use crate::mates::{ByName, name_of};

/// The answer for a read of which no base counts.
pub const NOTHING: u32 = u32::MAX;

/// A rule that needs the reads before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GateKind {
    /// A base that both mates cover counts once.
    Mates,
    /// At most so many reads at a position; those that begin there and come later do not count.
    Most(u32),
}

/// Applies one rule to the reads of one file.
pub struct Gate(Rule);

enum Rule {
    Mates(Mates),
    Most(Most),
}

impl Gate {
    /// A gate before the first read of a file.
    pub fn new(kind: GateKind) -> Self {
        Gate(match kind {
            GateKind::Mates => Rule::Mates(Mates::default()),
            GateKind::Most(most) => Rule::Most(Most { most, ..Most::default() }),
        })
    }

    /// Returns, for each read of the next batch, the position before which its bases do not count.
    pub fn pass(&mut self, batch: &Batch, rules: &DepthRules) -> Vec<u32> {
        let mut clips = Vec::with_capacity(batch.len());
        for (_, record) in batch.records() {
            let place = (record.ref_id().try_into().ok(), record.pos().try_into().ok());
            clips.push(match place {
                (Some(contig), Some(start)) if rules.keeps(record) => match &mut self.0 {
                    Rule::Mates(mates) => mates.clip(record, contig, start),
                    Rule::Most(most) => u32::from(most.drops(record, contig, start)) * NOTHING,
                },
                _ => 0,
            });
        }
        clips
    }

    /// Bytes of memory in use.
    pub fn heap_bytes(&self) -> u64 {
        match &self.0 {
            Rule::Mates(mates) => (mates.ends.capacity() * MATE_BYTES) as u64,
            Rule::Most(most) => (most.ends.capacity() * size_of::<u32>()) as u64,
        }
    }

    /// Returns the maximum number of further bytes in use while that many reads pass.
    pub fn growth(&self, reads: usize) -> u64 {
        match &self.0 {
            Rule::Mates(Mates { ends, .. }) => {
                (slots_to_grow(ends.capacity(), ends.len(), reads) * MATE_BYTES) as u64
            }
            Rule::Most(Most { ends, .. }) if ends.len() + reads > ends.capacity() => {
                (2 * (ends.len() + reads) * size_of::<u32>()) as u64
            }
            Rule::Most(_) => 0,
        }
    }
}

/// Bytes of memory of a slot of the table of reads that wait.
const MATE_BYTES: usize = size_of::<(u64, u32)>() + 1;

/// Reads that may overlap their mates, which have not come: the end of each, by the hash of its name.
///
/// A read waits if its mate begins no later than where it ends, or at no known place. The next read of its name that begins
/// before that end counts from there on, and no read of the name waits then. (samtools, as of 1.24, never forgets a read that
/// waits, also on other contigs.)
#[derive(Default)]
struct Mates {
    contig: u32,
    ends: ByName<u32>,
    /// How many may wait until those are looked for whose mates will not come.
    enough: usize,
}

/// Reads that wait until those are looked for whose mates will not come.
const ENOUGH: usize = 1 << 12;

impl Mates {
    fn clip(&mut self, record: RecordRef<'_>, contig: u32, start: u32) -> u32 {
        let flags = record.flags();
        if !flags.is_paired() || flags.is_mate_unmapped() {
            return 0;
        }
        if contig != self.contig {
            self.ends.clear();
            self.contig = contig;
        }
        let name = name_of(record);
        if let Some(end) = self.ends.remove(&name)
            && end > start
        {
            return end;
        }
        let end = record.end();
        let mate = record.next_pos();
        if mate == -1 || (record.next_ref_id() == record.ref_id() && i64::from(mate) <= end) {
            self.ends.insert(name, u32::try_from(end).unwrap_or(u32::MAX - 1));
            if self.ends.len() > self.enough.max(ENOUGH) {
                self.ends.retain(|_, end| *end > start);
                self.enough = 2 * self.ends.len();
            }
        }
        0
    }
}

/// The reads that cover the position of the last read, or end there.
#[derive(Default)]
struct Most {
    most: u32,
    place: Option<(u32, u32)>,
    ends: BinaryHeap<Reverse<u32>>,
}

impl Most {
    /// Whether a read is one too many. The first read at a position never is.
    fn drops(&mut self, record: RecordRef<'_>, contig: u32, start: u32) -> bool {
        if record.flags().is_unmapped() {
            return false; // it covers nothing
        }
        let is_first = self.place != Some((contig, start));
        if self.place.is_none_or(|(before, _)| before != contig) {
            self.ends.clear();
        }
        self.place = Some((contig, start));
        let end = i64::from(start) + record.cigar().reference_length();
        let end = u32::try_from(end).unwrap_or(u32::MAX);
        if is_first {
            while self.ends.peek().is_some_and(|Reverse(end)| *end < start) {
                self.ends.pop();
            }
        } else if self.ends.len() as u64 >= u64::from(self.most) {
            return true;
        }
        if is_first || end > start {
            self.ends.push(Reverse(end));
        }
        false
    }
}
