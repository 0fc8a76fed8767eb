//! Rules that depend on earlier reads: bases that both mates cover count once, and a maximum depth.
//!
//! A [`Gate`] sees all reads of a file in order, before threads turn them into pieces. For each
//! read, it returns the position from which its bases count.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use readmill_record::{Batch, RecordRef, extra_slots_to_grow};

use crate::depth::rules::DepthRules;
use crate::mates::{ByName, hash_name};

/// The position that [`Gate::pass_batch`] returns for a read that does not count.
pub const SKIP_READ: u32 = u32::MAX;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GateKind {
    /// Count a base once if both mates cover it (`samtools depth -s`).
    Mates,
    /// Maximum number of reads at a position (`samtools coverage -d`). Beyond it, reads that start
    /// at the position do not count.
    MaxDepth(u32),
}

/// Applies one rule to the reads of one file.
///
/// ```
/// use readmill_coverage::depth::gate::SKIP_READ;
/// use readmill_coverage::depth::{DepthRules, Gate, GateKind};
/// use readmill_format::sam::LineParser;
/// use readmill_record::{Batch, Header, Stamp};
///
/// let header = Header::parse(b"@SQ\tSN:chr1\tLN:100\n")?;
/// let (mut raw, mut batch) = (Vec::new(), Batch::default());
/// LineParser::new(&header).parse(b"a\t0\tchr1\t1\t60\t10M\t*\t0\t0\t*\t*", &mut raw)?;
/// for _ in 0..3 {
///     batch.push(&raw, Stamp::default())?;
/// }
/// let mut gate = Gate::new(GateKind::MaxDepth(2));
/// assert_eq!(gate.pass_batch(&batch, &DepthRules::default()), [0, 0, SKIP_READ]);
/// # Ok::<(), readmill_record::Error>(())
/// ```
pub struct Gate(Rule);

enum Rule {
    Mates(Mates),
    MaxDepth(DepthLimit),
}

impl Gate {
    pub fn new(kind: GateKind) -> Self {
        Gate(match kind {
            GateKind::Mates => Rule::Mates(Mates::default()),
            GateKind::MaxDepth(max_reads) => {
                Rule::MaxDepth(DepthLimit { max_reads, ..DepthLimit::default() })
            }
        })
    }

    /// Returns a 0-based position for each read of the next batch: bases before this position do
    /// not count. Pass the result to
    /// [`DepthPieceMaker::make_piece`](crate::depth::DepthPieceMaker::make_piece).
    pub fn pass_batch(&mut self, batch: &Batch, rules: &DepthRules) -> Vec<u32> {
        let mut clips = Vec::with_capacity(batch.len());
        for (_, record) in batch.records() {
            let place = (record.ref_id().try_into().ok(), record.pos().try_into().ok());
            clips.push(match place {
                (Some(contig), Some(start)) if rules.keeps_read(record) => match &mut self.0 {
                    Rule::Mates(mates) => mates.clip_start(record, contig, start),
                    Rule::MaxDepth(limit) => {
                        u32::from(limit.exceeds_limit(record, contig, start)) * SKIP_READ
                    }
                },
                _ => 0,
            });
        }
        clips
    }

    pub fn heap_bytes(&self) -> u64 {
        match &self.0 {
            Rule::Mates(mates) => (mates.ends.capacity() * MATE_BYTES) as u64,
            Rule::MaxDepth(limit) => (limit.ends.capacity() * size_of::<u32>()) as u64,
        }
    }

    /// Returns an upper bound on the number of bytes that the gate allocates for `reads` more
    /// reads.
    pub fn max_growth(&self, reads: usize) -> u64 {
        match &self.0 {
            Rule::Mates(Mates { ends, .. }) => {
                (extra_slots_to_grow(ends.capacity(), ends.len(), reads) * MATE_BYTES) as u64
            }
            Rule::MaxDepth(DepthLimit { ends, .. }) if ends.len() + reads > ends.capacity() => {
                (2 * (ends.len() + reads) * size_of::<u32>()) as u64
            }
            Rule::MaxDepth(_) => 0,
        }
    }
}

const MATE_BYTES: usize = size_of::<(u64, u32)>() + 1;

/// Ends of the reads whose mates may overlap them and have not been seen yet, by the hash of the
/// read name.
///
/// A read waits if its mate starts at or before its end, or has no known position. The next read
/// with the same name stops the waiting; if it starts before the end of the waiting read, only its
/// bases from this end on count. (samtools 1.24 never removes a waiting read, even at the end of a
/// contig.)
#[derive(Default)]
struct Mates {
    contig: u32,
    ends: ByName<u32>,
    /// If more reads than this wait, reads that have ended are removed. The limit is twice the
    /// number that remained last time.
    waiting_limit: usize,
}

const MIN_WAITING: usize = 1 << 12;

impl Mates {
    fn clip_start(&mut self, record: RecordRef<'_>, contig: u32, start: u32) -> u32 {
        let flags = record.flags();
        if !flags.is_paired() || flags.is_mate_unmapped() {
            return 0;
        }
        if contig != self.contig {
            self.ends.clear();
            self.contig = contig;
        }
        let name = hash_name(record);
        if let Some(end) = self.ends.remove(&name)
            && end > start
        {
            return end;
        }
        let end = record.end();
        let mate = record.next_pos();
        if mate == -1 || (record.next_ref_id() == record.ref_id() && i64::from(mate) <= end) {
            self.ends.insert(name, u32::try_from(end).unwrap_or(u32::MAX - 1));
            if self.ends.len() > self.waiting_limit.max(MIN_WAITING) {
                self.ends.retain(|_, end| *end > start);
                self.waiting_limit = 2 * self.ends.len();
            }
        }
        0
    }
}

#[derive(Default)]
struct DepthLimit {
    max_reads: u32,
    place: Option<(u32, u32)>,
    ends: BinaryHeap<Reverse<u32>>,
}

impl DepthLimit {
    /// Returns whether a read exceeds the maximum depth. The first read at a position never does.
    fn exceeds_limit(&mut self, record: RecordRef<'_>, contig: u32, start: u32) -> bool {
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
        } else if self.ends.len() as u64 >= u64::from(self.max_reads) {
            return true;
        }
        if is_first || end > start {
            self.ends.push(Reverse(end));
        }
        false
    }
}
