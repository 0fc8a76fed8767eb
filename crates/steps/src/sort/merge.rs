//! Many sorted lists into one order, cut into partitions.
//!
//! [`Merge::next_partition`] is serial and touches keys only: 16-byte entries of lists in memory, key columns of
//! runs on disk. It says which records, in which order, make up the next partition. [`gather`] is
//! parallel and moves the bytes. A partition ends with the record at which the bytes of all records
//! so far reach the next multiple of [`PARTITION`]: a function of the records alone, so the blocks of the output
//! are the same whatever the memory, the runs and the threads were.

use std::sync::Arc;

use readmill_format::spill::Spill;
use readmill_record::{Error, Result, Stamp};

use super::entry::{Entry, Place};
use super::frame::{Frame, RunReader, SpilledRun};
use super::run::{STAMP_BYTES, arena_record};

/// Bytes of BAM records after which a partition is cut. (One MiB, not the four of the first sketch: a
/// partition in work is held two to three times over, and 8 threads must fit into 160 MiB.)
pub const PARTITION: u64 = 1 << 20;

/// Marks a pick from a spilled run; below it 39 bits of source and 24 unused.
const SPILLED: u64 = 1 << 63;

/// The records of one partition, in order.
pub struct Partition {
    /// A place in the arena, or a spilled source whose next record it is.
    picks: Vec<u64>,
    /// For each spilled source it touches: the frames from its first record on.
    spilled: Vec<(u32, Spool)>,
}

/// Keys and records of the spill must agree; a read that is missing must not go unnoticed.
fn lost() -> Error {
    let error = std::io::Error::other("a record is missing");
    Error::io("reading back what was spilled failed", &error)
}

/// Frames to be read through from an offset in the first.
#[derive(Default)]
struct Spool {
    frames: Vec<Arc<Frame>>,
    offset: usize,
}

enum Source<'a> {
    Memory { list: &'a [Entry], at: usize },
    Spilled { reader: RunReader<'a>, offset: usize, len: usize, spool: Option<Spool> },
}

impl Source<'_> {
    /// Goes on to the next record: its key, or the largest number there is at the end.
    fn advance(&mut self) -> Result<u64> {
        match self {
            Source::Memory { list, at } => {
                *at += 1;
                Ok(list.get(*at).map_or(u64::MAX, |entry| entry.key))
            }
            Source::Spilled { reader, offset, len, .. } => {
                *offset += *len;
                let Some((key, next, opens)) = reader.next_record()? else { return Ok(u64::MAX) };
                if opens {
                    *offset = 0;
                }
                *len = next;
                Ok(key)
            }
        }
    }
}

/// Merges sorted sources; equal keys come in the order of their sources.
pub struct Merge<'a> {
    sources: Vec<Source<'a>>,
    tree: LoserTree<u64>,
    arena: &'a [u8],
    /// Bytes of records in all partitions so far.
    bytes: u64,
    /// Sources whose spool has been begun in the partition being cut.
    touched: Vec<u32>,
}

impl<'a> Merge<'a> {
    /// Merges runs on disk, oldest first, then sorted lists of the arena, oldest first.
    pub fn new(
        spill: &'a Spill,
        runs: &[SpilledRun],
        lists: &'a [Vec<Entry>],
        arena: &'a [u8],
    ) -> Result<Self> {
        let spilled = runs.iter().map(|&run| {
            let reader = RunReader::new(spill, run);
            Source::Spilled { reader, offset: 0, len: 0, spool: None }
        });
        let memory = lists.iter().map(|list| Source::Memory { list, at: usize::MAX });
        let mut sources: Vec<Source<'a>> = spilled.chain(memory).collect();
        let mut keys = Vec::with_capacity(sources.len());
        for source in &mut sources {
            keys.push(match source {
                Source::Memory { list, at } => {
                    *at = 0;
                    list.first().map_or(u64::MAX, |entry| entry.key)
                }
                Source::Spilled { .. } => source.advance()?,
            });
        }
        Ok(Merge { sources, tree: LoserTree::new(keys), arena, bytes: 0, touched: Vec::new() })
    }

    /// Cuts the next partition; nothing at the end.
    pub fn next_partition(&mut self) -> Result<Option<Partition>> {
        let end = (self.bytes / PARTITION + 1) * PARTITION;
        let mut picks = Vec::with_capacity(4096);
        while self.bytes < end
            && let Some((_, winner)) = self.tree.winner()
        {
            let source = &mut self.sources[winner];
            let (pick, len) = match source {
                Source::Memory { list, at } => {
                    let place = list[*at].place;
                    let len = place
                        .arena_len()
                        .unwrap_or_else(|| arena_record(self.arena, place).1.len() + STAMP_BYTES);
                    (place.0, len)
                }
                Source::Spilled { reader, offset, len, spool } => {
                    let spool = spool.get_or_insert_with(|| {
                        self.touched.push(winner as u32);
                        Spool { frames: Vec::new(), offset: *offset }
                    });
                    if let Some(frame) = reader.frame()
                        && spool.frames.last().is_none_or(|last| !Arc::ptr_eq(last, frame))
                    {
                        spool.frames.push(Arc::clone(frame));
                    }
                    (SPILLED | winner as u64, *len)
                }
            };
            picks.push(pick);
            self.bytes += (len - STAMP_BYTES) as u64;
            let key = source.advance()?;
            self.tree.replace(key);
        }
        let spilled = self.touched.drain(..).map(|number| match &mut self.sources[number as usize] {
            Source::Spilled { spool, .. } => (number, spool.take().unwrap_or_default()),
            Source::Memory { .. } => (number, Spool::default()),
        });
        let spilled = spilled.collect();
        Ok((!picks.is_empty()).then_some(Partition { picks, spilled }))
    }
}

/// How many picks ahead the processor is told which memory it will need.
const AHEAD: usize = 8;

/// Hands each record of the partition, in order, to `each`.
pub fn gather(
    mut partition: Partition,
    arena: &[u8],
    spill: &Spill,
    mut each: impl FnMut(Stamp, &[u8]),
) -> Result<()> {
    let sources = partition.spilled.iter().map(|&(number, _)| number as usize + 1).max();
    let mut spools: Vec<Option<Spool>> = Vec::new();
    spools.resize_with(sources.unwrap_or(0), || None);
    for (number, spool) in partition.spilled.drain(..) {
        spools[number as usize] = Some(spool);
    }
    for (i, &pick) in partition.picks.iter().enumerate() {
        if let Some(&ahead) = partition.picks.get(i + AHEAD)
            && ahead & SPILLED == 0
        {
            readmill_record::arena::prefetch(arena, Place(ahead).offset());
        }
        if pick & SPILLED == 0 {
            let (stamp, raw) = arena_record(arena, Place(pick));
            each(stamp, raw);
        } else {
            let spool = spools.get_mut((pick & !SPILLED) as usize).and_then(Option::as_mut);
            spool.ok_or_else(lost)?.take(spill, &mut each)?;
        }
    }
    Ok(())
}

impl Spool {
    /// Hands over the next record.
    fn take(&mut self, spill: &Spill, each: &mut impl FnMut(Stamp, &[u8])) -> Result<()> {
        loop {
            let frame = self.frames.first().ok_or_else(lost)?;
            let records = frame.records(spill)?;
            if self.offset < records.len() {
                let (stamp, raw) = arena_record(records, Place::new(self.offset, usize::MAX));
                each(stamp, raw);
                self.offset += STAMP_BYTES + raw.len();
                return Ok(());
            }
            self.frames.remove(0);
            self.offset = 0;
        }
    }
}

/// A tournament in which each inner node remembers the loser: one comparison a level finds the next
/// winner (Knuth, The Art of Computer Programming, volume 3, section 5.4.1). Equal keys win in the
/// order of their sources.
pub struct LoserTree<K> {
    /// `nodes[0]` is the winner; the others are the losers of their matches.
    nodes: Vec<(K, u32)>,
    leaves: usize,
}

/// Something to sort by, with a value that comes after all others and marks an exhausted source.
pub trait Key: Copy + Ord {
    /// The last value.
    const LAST: Self;
}

impl Key for u64 {
    const LAST: Self = u64::MAX;
}

impl<const N: usize> Key for [u64; N] {
    const LAST: Self = [u64::MAX; N];
}

impl<K: Key> LoserTree<K> {
    /// A tree over sources whose first keys are these.
    pub fn new(keys: Vec<K>) -> Self {
        let leaves = keys.len().next_power_of_two();
        let mut winners = vec![(K::LAST, u32::MAX); 2 * leaves];
        let mut nodes = vec![(K::LAST, u32::MAX); leaves];
        for (i, &key) in keys.iter().enumerate() {
            winners[leaves + i] = (key, i as u32);
        }
        for node in (1..leaves).rev() {
            let (a, b) = (winners[2 * node], winners[2 * node + 1]);
            (winners[node], nodes[node]) = if a <= b { (a, b) } else { (b, a) };
        }
        nodes[0] = winners[1];
        LoserTree { nodes, leaves }
    }

    /// The smallest key and its source; nothing when all are exhausted.
    pub fn winner(&self) -> Option<(K, usize)> {
        let (key, source) = self.nodes[0];
        (key != K::LAST).then_some((key, source as usize))
    }

    /// Gives the winner's source its next key and plays its matches again.
    pub fn replace(&mut self, key: K) {
        let source = self.nodes[0].1;
        let mut winner = (key, source);
        let mut node = (self.leaves + source as usize) / 2;
        while node > 0 {
            if self.nodes[node] < winner {
                std::mem::swap(&mut self.nodes[node], &mut winner);
            }
            node /= 2;
        }
        self.nodes[0] = winner;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sort::frame::FrameWriter;
    use crate::sort::run::RunSort;
    use crate::sort::{Order, Run, run};
    use readmill_record::{Arena, Batch, RecordRef, edit};

    fn record(pos: i32, name: u64) -> Vec<u8> {
        let mut raw = vec![0u8; 36];
        raw[8..12].copy_from_slice(&pos.to_le_bytes());
        raw[24..32].fill(0xff);
        raw[12] = 9;
        raw.extend_from_slice(format!("{name:08}\0").as_bytes());
        raw.resize(60 + (pos % 97) as usize, 0);
        edit::close(&mut raw, 0);
        raw
    }

    /// Records at random positions, as arena and run.
    fn run_of(records: &[Vec<u8>], first: u64) -> (Vec<u8>, Run) {
        let (arena, mut run) = (Arena::new(1 << 24).unwrap(), Run::default());
        let sort = RunSort::new(Order::Coordinate, 1);
        for (i, raw) in records.iter().enumerate() {
            let mut batch = Batch::default();
            batch.push(raw, Stamp::new(first + i as u64, 0));
            let mut entries = Vec::new();
            assert!(sort.accept(&arena, &batch, &mut entries));
            run.push(&entries);
        }
        for list in run.lists_mut() {
            run::sort_list(list, &mut Vec::new());
        }
        (arena.seal().bytes().to_vec(), run)
    }

    type Taken = Vec<(u64, Vec<u8>)>;

    fn all(mut merge: Merge<'_>, arena: &[u8], spill: &Spill) -> (Taken, Vec<u64>) {
        let (mut taken, mut cuts) = (Vec::new(), Vec::new());
        while let Some(partition) = merge.next_partition().unwrap() {
            gather(partition, arena, spill, |stamp, raw| taken.push((stamp.ordinal(), raw.to_vec())))
                .unwrap();
            cuts.push(taken.iter().map(|r| r.1.len() as u64).sum());
        }
        (taken, cuts)
    }

    #[test]
    fn memory_and_spill_give_the_stable_order_and_the_same_cuts() {
        let mut state = 3u64;
        let records: Vec<Vec<u8>> = (0..30_000)
            .map(|i| {
                state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                record((state >> 40) as i32 % 500, i)
            })
            .collect();
        let mut expected: Taken =
            records.iter().enumerate().map(|(i, raw)| (i as u64, raw.clone())).collect();
        expected.sort_by_key(|(_, raw)| Order::Coordinate.key(RecordRef::new(raw), 1));
        let (arena, run) = run_of(&records, 0);
        let spill = Spill::new(&[std::env::temp_dir()]);
        let in_memory = all(Merge::new(&spill, &[], run.lists(), &arena).unwrap(), &arena, &spill);
        assert_eq!(in_memory.0, expected);
        assert!(in_memory.1.len() > 2);

        for runs in [2, 7] {
            let size = records.len() / runs + 1;
            let mut spilled = Vec::new();
            let mut last = None;
            for (i, piece) in records.chunks(size).enumerate() {
                let (arena, run) = run_of(piece, (i * size) as u64);
                if i + 1 == runs {
                    last = Some((arena, run)); // the last run stays in memory
                    break;
                }
                let mut merge = Merge::new(&spill, &[], run.lists(), &arena).unwrap();
                let mut extent = spill.begin(i).unwrap();
                while let Some(partition) = merge.next_partition().unwrap() {
                    let (mut frames, mut out) = (FrameWriter::default(), Vec::new());
                    gather(partition, &arena, &spill, |stamp, raw| {
                        frames.push(Order::Coordinate.key(RecordRef::new(raw), 1), stamp, raw, &mut out);
                    })
                    .unwrap();
                    frames.close(&mut out);
                    spill.append(&mut extent, &out).unwrap();
                }
                spilled.push(SpilledRun { extent });
            }
            let (arena, run) = last.unwrap();
            let merge = Merge::new(&spill, &spilled, run.lists(), &arena).unwrap();
            assert!(all(merge, &arena, &spill) == in_memory, "{runs} runs");
        }
    }

    #[test]
    fn a_tree_of_any_size_yields_sorted_keys() {
        for k in 0..20usize {
            let mut lists: Vec<Vec<u64>> =
                (0..k).map(|i| (0..i as u64 * 3).map(|j| j * 7 % 31 + j).collect()).collect();
            lists.iter_mut().for_each(|list| list.sort_unstable_by(|a, b| b.cmp(a)));
            let mut expected: Vec<u64> = lists.concat();
            expected.sort_unstable();
            let first = lists.iter_mut().map(|list| list.pop().unwrap_or(u64::LAST)).collect();
            let mut tree = LoserTree::new(first);
            let mut got = Vec::new();
            while let Some((key, source)) = tree.winner() {
                got.push(key);
                tree.replace(lists[source].pop().unwrap_or(u64::LAST));
            }
            assert_eq!(got, expected, "{k} lists");
        }
    }
}
