//! All that marking duplicates can write depends on the input and the plan alone: flags, fields, molecules and both
//! files of metrics are the same with any threads and any memory, which also is enough.

use crate::support::bgzip;
use crate::support::random::TestRandom;
use crate::support::resources::{RunResources, same_bytes_with, sample};

/// Threads, memory (`None` for the least that the plan accepts) and codec of the spill.
const ALL_RESOURCES: [RunResources; 7] = [
    (1, None, "lz4"),
    (1, Some("73M"), "none"),
    (1, Some("1G"), "lz4"),
    (2, None, "zstd"),
    (2, Some("1G"), "lz4"),
    (8, None, "lz4"),
    (8, Some("1G"), "lz4"),
];

/// Fewer, of which two spill whatever can be spilled.
const FEW_RESOURCES: [RunResources; 3] = [(2, Some("1G"), "lz4"), (1, None, "lz4"), (8, None, "none")];

/// Everything that can be asked for.
const ALL: &str =
    "--metrics METRICS --metrics-json JSON --tag-duplicates all --tag-duplicate-set-members";

/// A header with the groups of [`tiny`].
const HEADER: &str =
    "@HD\tVN:1.6\n@SQ\tSN:c1\tLN:1000000\n@SQ\tSN:c2\tLN:500000\n@RG\tID:a\tLB:L1\n@RG\tID:b\tLB:L2\n";

/// Pairs of the shortest reads there are, with UMIs and places on a flow cell, of which every third has the ends of
/// another; some single reads. Mates are adjacent.
fn tiny(pairs: usize) -> Vec<Vec<u8>> {
    let random = &mut TestRandom::new(pairs as u64);
    let mut templates = Vec::new();
    let mut last = (0, 0);
    for number in 0..pairs {
        if !random.once_in(3) {
            last = (random.below(2) as i32, 1_000 + random.below(400_000) as i32);
        }
        let (x, y) = (random.below(300), random.below(300));
        let name = format!("M{}:1:F:1:{}:{x}:{y}", number, 1101 + random.below(2));
        let mut base = || random.pick(&['A', 'C']);
        let umi = format!("{}{}-{}{}", base(), base(), base(), base());
        let group = [b'a', b'b'][random.below(2)];
        let fields = format!("RGZ{}\0RXZ{umi}\0", char::from(group));
        let (pos, next) = (last.1, last.1 + 150);
        let mut template = Vec::new();
        if random.once_in(40) {
            template.extend(record(&name, 0, (last.0, pos), (-1, -1), &fields));
        } else {
            let quality = 20 + random.below(3) as u8;
            for (flag, pos, next) in [(0x63, pos, next), (0x93, next, pos)] {
                let mut record = record(&name, flag, (last.0, pos), (last.0, next), &fields);
                let at = record.len() - fields.len() - 1;
                record[at] = quality;
                template.extend(record);
            }
        }
        templates.push(template);
    }
    templates
}

/// A record of one base.
fn record(name: &str, flag: u16, at: (i32, i32), next: (i32, i32), fields: &str) -> Vec<u8> {
    let mut body = Vec::new();
    body.extend(at.0.to_le_bytes());
    body.extend(at.1.to_le_bytes());
    body.extend([name.len() as u8 + 1, 60, 0, 0]);
    body.extend(1u16.to_le_bytes());
    body.extend(flag.to_le_bytes());
    body.extend(1u32.to_le_bytes());
    body.extend(next.0.to_le_bytes());
    body.extend(next.1.to_le_bytes());
    body.extend(0i32.to_le_bytes());
    body.extend(name.as_bytes());
    body.push(0);
    body.extend((1u32 << 4).to_le_bytes());
    body.extend([0x10, 30]);
    body.extend(fields.as_bytes());
    [&(body.len() as u32).to_le_bytes()[..], &body].concat()
}

/// The BAM file of these records.
fn bam(records: &[Vec<u8>]) -> Vec<u8> {
    let header = readmill_record::Header::parse(HEADER.as_bytes()).expect("a header");
    let mut bytes = Vec::new();
    readmill_format::bam::header::write_header(&header, &mut bytes).expect("a small header");
    records.iter().for_each(|record| bytes.extend_from_slice(record));
    bgzip(&bytes)
}

/// The records of templates in another order.
fn scattered(templates: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let mut records = Vec::new();
    for template in templates {
        let mut rest = &template[..];
        while let Some(size) = rest.first_chunk::<4>() {
            let (record, after) = rest.split_at(4 + u32::from_le_bytes(*size) as usize);
            records.push(record.to_vec());
            rest = after;
        }
    }
    TestRandom::new(5).shuffle(&mut records);
    records
}

#[test]
fn everything_that_marking_writes_is_invariant() {
    let input = bgzip(&sample(6_000));
    let scattered = scattered(&tiny(8_000));
    for mode in ["template", "coordinate"] {
        let command = format!("markdup {ALL} --duplicate-mode {mode}");
        same_bytes_with(&ALL_RESOURCES, std::slice::from_ref(&input), &command, "sam");
        let command = format!(
            "prep --sort coordinate --mark-duplicates --umi tag:RX {ALL} --duplicate-mode {mode}"
        );
        same_bytes_with(&ALL_RESOURCES, &[bam(&scattered)], &command, "bam");
    }
}

/// Tests that take more than ten seconds, which `./dev nightly` runs.
mod slow {
    use super::*;

    /// Ends, the sets of records, sizes of sets and what is looked up for each record: all of these spill here.
    #[test]
    #[ignore = "slow: ./dev nightly runs it"]
    fn what_spills_is_judged_alike() {
        let templates = tiny(270_000);
        let (together, apart) = templates.split_at(100_000);
        let scattered = bam(&scattered(&templates));
        let partly = bam(&[together, &super::scattered(apart)].concat());
        for (input, flags) in [
            (&partly, "--duplicate-mode template --umi tag:RX"),
            (&scattered, "--duplicate-mode template --umi tag:RX --umi-method paired"),
            (&scattered, "--duplicate-mode coordinate --umi tag:RX"),
        ] {
            let command = format!("markdup {ALL} {flags}");
            let (max_runs, min_runs) =
                same_bytes_with(&FEW_RESOURCES, std::slice::from_ref(input), &command, "bam");
            assert!(
                max_runs >= 2 && min_runs == 0,
                "{flags}: {max_runs} runs spilled at most, {min_runs} at least"
            );
        }
    }

    /// By the rules of samtools, most sets have ties here, which names decide; keys, ties and names spill.
    #[test]
    #[ignore = "slow: ./dev nightly runs it"]
    fn what_names_decide_is_invariant() {
        let input = bam(&tiny(270_000));
        for flags in ["", "--duplicate-mode template --ends sequence"] {
            let rules = format!("--mark-duplicates --rules samtools {flags}");
            let command = format!("prep --fix-mates samtools --sort coordinate {rules}");
            let (max_runs, min_runs) =
                same_bytes_with(&FEW_RESOURCES, std::slice::from_ref(&input), &command, "bam");
            assert!(
                max_runs >= 2 && min_runs == 0,
                "{flags}: {max_runs} runs spilled at most, {min_runs} at least"
            );
        }
    }

    /// All pairs have the same ends, and each a place of its own on the flow cell.
    #[test]
    #[ignore = "slow: ./dev nightly runs it"]
    fn a_deep_set_stays_within_the_memory() {
        let pair = |number: usize| {
            let (tile, x, y) = (1101 + number / 20_000, number % 20_000, number * 7_919 % 20_000);
            let name = format!("M:1:F:1:{tile}:{x}:{y}");
            let umi: String = (0..5).map(|at| ["A", "C"][number >> at & 1]).collect();
            let fields = format!("RGZa\0RXZ{umi}\0");
            let mates = [(0x63, 700, 900), (0x93, 900, 700)];
            mates.map(|(flag, pos, next)| record(&name, flag, (0, pos), (0, next), &fields)).concat()
        };
        let input = bam(&(0..299_000).map(pair).collect::<Vec<_>>());
        let resources = [(1, None, "lz4"), (2, None, "none")];
        for flags in
            ["--duplicate-mode template", "--duplicate-mode coordinate", "--umi tag:RX --umi-edits 0"]
        {
            same_bytes_with(
                &resources,
                std::slice::from_ref(&input),
                &format!("markdup {ALL} {flags}"),
                "bam",
            );
        }
    }
}
