//! Sorting in memory and sorting with spilled runs give the same stable order and the same
//! partitions.
#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use readmill_format::spill::Spill;
use readmill_format::spill_codec::SpillCodec;
use readmill_record::{Arena, Batch, Header, Ledger, RecordRef, SealedArena, Stamp, edit};
use readmill_simulate::Rng;
use readmill_sort::{
    Cutter, FrameWriter, Frames, Framing, Keyer, List, Merge, Order, Partition, Run, RunSort, Sources,
    SpilledRun,
};

/// The result of a merge: ordinals and records, and the total size in bytes after each partition.
type MergeResult = (Vec<(u64, Vec<u8>)>, Vec<usize>);

pub fn make_record(pos: i32, name: u64, len: usize) -> Vec<u8> {
    let mut raw = vec![0u8; 36];
    raw[8..12].copy_from_slice(&pos.to_le_bytes());
    raw[24..32].fill(0xff);
    raw[12] = 9;
    raw.extend_from_slice(format!("{name:08}\0").as_bytes());
    raw.resize(60 + len, 0);
    edit::set_block_size(&mut raw, 0);
    raw
}

pub fn sorter() -> RunSort {
    let header = Header::parse(b"@SQ\tSN:a\tLN:1000000\n").unwrap();
    RunSort::new(Keyer::new(Order::Coordinate, &header))
}

/// Sorts records in memory as lists of `list` entries. `first` is the ordinal of the first record.
pub fn sort_in_memory(
    sort: &RunSort,
    records: &[Vec<u8>],
    first: u64,
    list: usize,
) -> (SealedArena, Vec<List>) {
    let (arena, mut run) = (Arena::new(1 << 26).unwrap(), Run::new(list));
    for (i, raw) in records.iter().enumerate() {
        let (mut batch, mut entries) = (Batch::default(), Vec::new());
        batch.push(raw, Stamp::new(first + i as u64, 0)).unwrap();
        sort.copy_batch(&arena, &batch, &mut entries).unwrap();
        run.push(&entries);
    }
    let sealed = arena.seal();
    let sorted = |list| List::sort(list, sealed.bytes(), sort.keyer(), &mut Vec::new());
    let lists = run.take_lists().into_iter().map(sorted).collect();
    (sealed, lists)
}

pub fn spill_run(
    sort: &RunSort,
    spill: &Arc<Spill>,
    turn: usize,
    sealed: SealedArena,
    lists: Vec<List>,
) -> SpilledRun {
    let codec = SpillCodec::ALL[turn % SpillCodec::ALL.len()];
    let framing = Framing { size: 20_000, codec };
    let mut run = SpilledRun::new(
        spill.begin_extent(turn).unwrap(),
        framing,
        Ledger::unlimited().empty_charge("index"),
    );
    let sources = sources(sort, spill, Vec::new(), sealed, lists);
    let mut merge = Merge::new(Arc::new(sources));
    let (mut writer, mut tail) = (FrameWriter::new(framing), Vec::new());
    while let Some(range) = merge.next_range() {
        let mut out = Frames::default();
        let records = Partition::from(range.order_records().unwrap());
        let gathered = records.gather(|stamp, raw| {
            let key = sort.keyer().key(RecordRef::new(raw))?;
            sort.keyer().write_tail(RecordRef::new(raw), &mut tail);
            writer.push(key, &tail, stamp, raw, &mut out);
            Ok(())
        });
        gathered.unwrap();
        writer.close_frame(&mut out);
        run.append_frames(spill, &mut out).unwrap();
    }
    run
}

pub fn sources(
    sort: &RunSort,
    spill: &Arc<Spill>,
    runs: Vec<SpilledRun>,
    sealed: SealedArena,
    lists: Vec<List>,
) -> Sources {
    Sources {
        spill: Arc::clone(spill),
        keyer: Arc::clone(sort.keyer()),
        runs,
        lists,
        sealed: Arc::new(sealed),
        charges: Vec::new(),
    }
}

fn merge_all(sources: Sources) -> MergeResult {
    let (mut merge, mut cutter) = (Merge::new(Arc::new(sources)), Cutter::default());
    let (mut taken, mut cuts, mut bytes) = (Vec::new(), Vec::new(), 0);
    let mut take = |partition: Partition| {
        let gathered = partition.gather(|stamp, raw| {
            bytes += raw.len();
            taken.push((stamp.ordinal(), raw.to_vec()));
            Ok(())
        });
        gathered.unwrap();
        cuts.push(bytes);
    };
    while let Some(range) = merge.next_range() {
        cutter.cut(range.order_records().unwrap()).into_iter().for_each(&mut take);
    }
    cutter.take_rest().into_iter().for_each(&mut take);
    (taken, cuts)
}

/// Computes the expected order and partitions by a stable sort.
fn compute_expected(records: &[Vec<u8>]) -> MergeResult {
    let mut sorted: Vec<(u64, Vec<u8>)> =
        records.iter().enumerate().map(|(i, raw)| (i as u64, raw.clone())).collect();
    sorted.sort_by_key(|(_, raw)| RecordRef::new(raw).pos());
    let (mut cuts, mut bytes, mut begun, size) = (Vec::new(), 0, 0, 16 * 64_800);
    for (_, raw) in &sorted {
        bytes += raw.len();
        if bytes >= (begun / size + 1) * size {
            cuts.push(bytes);
            begun = bytes;
        }
    }
    if begun < bytes {
        cuts.push(bytes);
    }
    (sorted, cuts)
}

#[test]
fn memory_and_spill_give_the_stable_order_and_the_same_cuts() {
    let mut random = Rng::new(3);
    // Positions: many ties, all equal, sorted, reversed, a wide range
    type Positions = fn(u64, &mut Rng) -> u64;
    let inputs: [Positions; 5] =
        [|_, r| r.below64(500), |_, _| 7, |i, _| i, |i, _| 1_000_000 - i, |_, r| r.below64(1 << 19)];
    for (number, pos) in inputs.into_iter().enumerate() {
        let records: Vec<Vec<u8>> = (0..30_000)
            .map(|i| {
                let long = if random.below64(5000) == 0 { 3 << 20 } else { random.below64(90) as usize };
                make_record(pos(i, &mut random) as i32, i, long)
            })
            .collect();
        let expected = compute_expected(&records);
        assert!(expected.1.len() > 2);
        let sort = sorter();
        for (runs, list) in [(1, 1000), (1, 1 << 18), (2, 700), (7, 4096)] {
            let spill = Arc::new(Spill::new(&[std::env::temp_dir()]));
            let size = records.len() / runs + 1;
            let mut pieces = records.chunks(size).enumerate().map(|(i, piece)| {
                let (sealed, lists) = sort_in_memory(&sort, piece, (i * size) as u64, list);
                (i, sealed, lists)
            });
            let mut spilled = Vec::new();
            for (i, sealed, lists) in pieces.by_ref().take(runs - 1) {
                spilled.push(spill_run(&sort, &spill, i, sealed, lists));
            }
            let (_, sealed, lists) = pieces.next().unwrap(); // the last run stays in memory
            let out = merge_all(sources(&sort, &spill, spilled, sealed, lists));
            assert!(out == expected, "input {number}, {runs} runs, lists of {list}");
        }
    }
}

#[test]
fn nothing_merges_into_nothing() {
    let (sort, spill) = (sorter(), Arc::new(Spill::new(&[])));
    let out = merge_all(sources(&sort, &spill, Vec::new(), Arena::empty().seal(), Vec::new()));
    assert_eq!(out, MergeResult::default());
}
