//! Compares with `tests/oracles/picard/adapters.txt`. Each line but the first has the bases of both
//! reads of a template; XT of both reads; XT of both with
//! `PRUNE_ADAPTER_LIST_AFTER_THIS_MANY_ADAPTERS_SEEN=-1`; and XT of read 1 as a single read. `-`
//! means no XT. Lines are in input order.

use readmill_filters::adapter::{
    AdapterCounts, AdapterPair, AdapterRules, FoundIn, Marker, Pruning, RemainingAdapters, Stringency,
};
use readmill_record::{Read, ReadBatch};

const PRUNING: Pruning = Pruning { after: 100, keep: 1 };

fn lines() -> Vec<[&'static str; 7]> {
    let line = |line: &'static str| line.split(' ').collect::<Vec<_>>().try_into().expect("seven words");
    include_str!("../../../../tests/oracles/picard/adapters.txt").lines().skip(1).map(line).collect()
}

fn rules(pruning: Option<Pruning>) -> AdapterRules {
    let stringency = |min_bases| Stringency { min_bases, error_rate: 0.1 };
    AdapterRules {
        adapters: ["INDEXED", "DUAL_INDEXED", "PAIRED_END"]
            .map(|name| name.parse().expect("a name"))
            .into(),
        single: stringency(12),
        pair: stringency(6),
        max_adapter_bases: 30,
        pruning,
    }
}

/// Returns the marks of reads with this number of segments. They are marked in batches of 37
/// templates; `in_flight` batches are marked before the first of them is settled.
fn marked(segments: usize, pruning: Option<Pruning>, in_flight: usize) -> Vec<Option<u32>> {
    let marker = Marker::new(&rules(pruning)).expect("rules");
    let (mut tally, kept) = (AdapterCounts::default(), RemainingAdapters::default());
    let mut waiting: Vec<(ReadBatch, FoundIn)> = Vec::new();
    let mut done = Vec::new();
    let mut settle = |(mut reads, found_in): (ReadBatch, FoundIn)| {
        if marker.may_prune() {
            marker.settle_batch(&mut tally, &kept, &found_in, &mut reads);
        }
        done.extend((0..reads.len()).map(|at| reads.adapter_start(at)));
    };
    for batch in lines().chunks(37) {
        let mut reads = ReadBatch::new(segments, 0);
        for line in batch {
            for bases in &line[..segments] {
                reads.push_read(Read {
                    name: b"r",
                    comment: b"",
                    bases: bases.as_bytes(),
                    qualities: None,
                });
            }
        }
        let found_in = match kept.marker() {
            Some(marker) => {
                marker.mark_batch(&mut reads);
                FoundIn::default()
            }
            None => marker.mark_batch(&mut reads),
        };
        waiting.push((reads, found_in));
        if waiting.len() == in_flight {
            settle(waiting.remove(0));
        }
    }
    waiting.into_iter().for_each(settle);
    done
}

fn wanted(columns: &[usize]) -> Vec<Option<u32>> {
    let lines = lines();
    lines.iter().flat_map(|line| columns.iter().map(|&at| line[at].parse().ok())).collect()
}

#[test]
fn reads_have_the_marks_of_picard() {
    for in_flight in [1, 2, 3, 20] {
        assert_eq!(marked(2, Some(PRUNING), in_flight), wanted(&[2, 3]), "{in_flight}");
        assert_eq!(marked(2, None, in_flight), wanted(&[4, 5]));
        assert_eq!(marked(1, Some(PRUNING), in_flight), wanted(&[6]));
    }
    assert_ne!(wanted(&[2, 3]), wanted(&[4, 5]), "adapters that are dropped make a difference");
}

#[test]
fn senseless_rules_are_refused() {
    let wrong = |change: &dyn Fn(&mut AdapterRules)| {
        let mut rules = rules(None);
        change(&mut rules);
        Marker::new(&rules).expect_err("a usage error").hint.is_some()
    };
    assert!(wrong(&|rules| rules.single.min_bases = 0));
    assert!(wrong(&|rules| rules.pair.error_rate = 1.01));
    assert!(wrong(&|rules| rules.single.error_rate = f64::NAN));
    assert!(wrong(&|rules| rules.max_adapter_bases = 0));
    assert!(wrong(&|rules| {
        rules.adapters.push(AdapterPair::new("ACGTN", "NNNNNACG").expect("a pair"));
        rules.max_adapter_bases = 5;
    }));
}
