//! The ranges of a divided merge, each written independently, together give the partitions of one
//! undivided merge.
#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use readmill_format::spill::Spill;
use readmill_record::Arena;
use readmill_simulate::Rng;
use readmill_sort::{Cutter, Merge, Partition, RangeStart, Sources, ranges};

use crate::merge::{make_record, sort_in_memory, sorter, sources, spill_run};

/// A partition: the total size of all records before it, and its records with their ordinals.
type Cut = (u64, Vec<(u64, Vec<u8>)>);

fn taken(partition: &Partition) -> Cut {
    let mut records = Vec::new();
    let gathered = partition.gather(|stamp, raw| {
        records.push((stamp.ordinal(), raw.to_vec()));
        Ok(())
    });
    gathered.unwrap();
    (partition.start(), records)
}

/// Returns the partitions of an undivided merge.
fn cut_whole_merge(sources: &Arc<Sources>) -> Vec<Cut> {
    let (mut merge, mut cutter, mut cuts) =
        (Merge::new(Arc::clone(sources)), Cutter::default(), Vec::new());
    while let Some(range) = merge.next_range() {
        cuts.extend(cutter.cut(range.order_records().unwrap()));
    }
    cuts.extend(cutter.take_rest());
    cuts.iter().map(taken).collect()
}

/// Returns the partitions that start after `start`, up to the first one that starts after `until`.
fn cut_range(
    sources: &Arc<Sources>,
    start: Option<&RangeStart>,
    until: Option<&RangeStart>,
) -> Vec<Cut> {
    let sources = Arc::clone(sources);
    let (mut merge, mut cutter) = match start {
        Some(start) => (Merge::start_after(sources, start), Cutter::default().resume_at(start.bytes)),
        None => (Merge::new(sources), Cutter::default()),
    };
    let (mut cuts, mut ended) = (Vec::new(), false);
    let mut take = |partitions: Vec<Partition>| {
        for partition in &partitions {
            let at = partition.start();
            ended |= until.is_some_and(|until| at > until.bytes);
            if !ended && start.is_none_or(|start| at > start.bytes) {
                cuts.push(taken(partition));
            }
        }
        ended
    };
    while let Some(range) = merge.next_range() {
        if take(cutter.cut(range.order_records().unwrap())) {
            return cuts;
        }
    }
    take(Vec::from_iter(cutter.take_rest()));
    cuts
}

/// Writes runs of random records to disk.
fn write_random_runs(
    random: &mut Rng,
    runs: usize,
    pos: impl Fn(u64, &mut Rng) -> u64,
    long: u64,
) -> Arc<Sources> {
    let (sort, spill) = (sorter(), Arc::new(Spill::new(&[std::env::temp_dir()])));
    let mut first = 0;
    let spilled = (0..runs).map(|run| {
        let n = random.below64(12_000);
        let records: Vec<Vec<u8>> = (0..n)
            .map(|i| {
                let len = if random.below64(2000) == 0 { long } else { random.below64(400) };
                make_record(pos(first + i, random) as i32, first + i, len as usize)
            })
            .collect();
        let (sealed, lists) = sort_in_memory(&sort, &records, first, 1000);
        first += n;
        spill_run(&sort, &spill, run, sealed, lists)
    });
    let spilled = spilled.collect();
    Arc::new(sources(&sort, &spill, spilled, Arena::empty().seal(), Vec::new()))
}

#[test]
fn ranges_of_random_runs_are_together_the_whole_merge() {
    type Positions = fn(u64, &mut Rng) -> u64;
    let kinds: [Positions; 5] =
        [|_, r| r.below64(500), |_, _| 7, |i, _| i, |i, _| 1_000_000 - i, |_, r| r.below64(1 << 19)];
    let (mut random, mut max_starts) = (Rng::new(5), 0);
    for (kind, pos) in kinds.into_iter().enumerate() {
        for runs in [1, 2, 5] {
            let long = if kind % 2 == 0 { 3 << 20 } else { 60_000 };
            let sources = write_random_runs(&mut random, runs, pos, long);
            let expected = cut_whole_merge(&sources);
            for wanted in [1, 2, 3, 7, 100] {
                let starts = ranges::divide_order(&sources, wanted).unwrap();
                assert!(starts.len() < wanted, "{} starts for {wanted} ranges", starts.len());
                assert!(starts.is_sorted_by_key(|start| start.bytes));
                max_starts = max_starts.max(starts.len());
                let mut cuts = Vec::new();
                for number in 0..=starts.len() {
                    let start = number.checked_sub(1).map(|before| &starts[before]);
                    cuts.extend(cut_range(&sources, start, starts.get(number)));
                }
                assert!(cuts == expected, "kind {kind}, {runs} runs, {wanted} ranges");
            }
        }
    }
    assert!(max_starts > 5, "{max_starts} starts at most are no test");
}

#[test]
fn starts_tell_the_bytes_before_them_and_their_number_is_what_is_wanted() {
    let mut random = Rng::new(9);
    let sources = write_random_runs(&mut random, 4, |_, random| random.below64(1 << 19), 1000);
    let all: Vec<(u64, Vec<u8>)> =
        cut_whole_merge(&sources).into_iter().flat_map(|(_, records)| records).collect();
    let starts = ranges::divide_order(&sources, 4).unwrap();
    assert!(!starts.is_empty());
    for start in starts {
        let mut merge = Merge::start_after(Arc::clone(&sources), &start);
        let mut behind = 0;
        while let Some(range) = merge.next_range() {
            let bytes = |partition: &Partition| {
                taken(partition).1.iter().map(|(_, raw)| raw.len() as u64).sum::<u64>()
            };
            behind += bytes(&Partition::from(range.order_records().unwrap()));
        }
        let sum: u64 = all.iter().map(|(_, raw)| raw.len() as u64).sum();
        assert_eq!(start.bytes + behind, sum);
    }
}
