//! The block ends in sorted BGZF output follow a rule that depends only on the record bytes, so it
//! can be applied to a part of the output.
#![allow(clippy::unwrap_used)]

use std::ops::Range;
use std::sync::Arc;

use readmill_format::bam::BamEncoder;
use readmill_format::bgzf::{BLOCK_PAYLOAD, BlockReader, Codec, InflateReader, MAX_BLOCK};
use readmill_format::spill::Spill;
use readmill_record::{Batch, Stamp, edit};
use readmill_simulate::Rng;
use readmill_sort::{Cutter, Merge, PARTITION, Partition};

use crate::merge::{sort_in_memory, sorter, sources};

/// Returns a record of `len` bytes, at least 40.
fn make_record(pos: usize, len: usize, random: &mut Rng) -> Vec<u8> {
    let mut raw = vec![0u8; 36];
    raw[8..12].copy_from_slice(&(pos as i32).to_le_bytes());
    raw[24..32].fill(0xff);
    raw[12] = 2;
    raw.extend_from_slice(b"r\0");
    raw.resize_with(len, || random.below64(7) as u8);
    edit::set_block_size(&mut raw, 0);
    raw
}

/// Returns records in sort order, about `bytes` bytes in total, with lengths drawn by `length`.
fn draw_records(random: &mut Rng, bytes: usize, length: impl Fn(&mut Rng) -> usize) -> Vec<Vec<u8>> {
    let (mut all, mut sum) = (Vec::new(), 0);
    while sum < bytes {
        let len = length(random);
        all.push(make_record(all.len(), len, random));
        sum += len;
    }
    all
}

/// Returns the partitions that are cut from a merge of the records.
fn cut_partitions(records: &[Vec<u8>]) -> Vec<Range<usize>> {
    let sort = sorter();
    let (sealed, lists) = sort_in_memory(&sort, records, 0, 1 << 16);
    let spill = Arc::new(Spill::new(&[]));
    let sources = sources(&sort, &spill, Vec::new(), sealed, lists);
    let (mut merge, mut cutter) = (Merge::new(Arc::new(sources)), Cutter::default());
    let (mut cut, mut at) = (Vec::new(), 0);
    while let Some(range) = merge.next_range() {
        cut.extend(cutter.cut(range.order_records().unwrap()));
    }
    cut.extend(cutter.take_rest());
    let mut range = |partition: Partition| {
        let from = at;
        let count = |_: Stamp, _: &[u8]| {
            at += 1;
            Ok(())
        };
        partition.gather(count).unwrap();
        from..at
    };
    cut.into_iter().map(&mut range).collect()
}

/// Encodes a partition as BGZF blocks.
fn encode_blocks(encoder: &mut BamEncoder, records: &[Vec<u8>]) -> Vec<u8> {
    let (mut batch, mut out) = (Batch::default(), Vec::new());
    records.iter().for_each(|raw| batch.push(raw, Stamp::default()).unwrap());
    encoder.encode_partition(&batch, &mut out);
    out
}

/// Encodes records by the rule alone, after `start` bytes of other records and the end of a
/// partition. A record from byte `s` to byte `e` of the order ends a partition if a multiple of
/// [`PARTITION`] is greater than `s` and at most `e`.
fn encode_by_rule(records: &[Vec<u8>], start: u64) -> Vec<u8> {
    let (mut out, mut from, mut s) = (Vec::new(), 0, start);
    let mut encoder = BamEncoder::new(Codec::default(), 1, None);
    for (i, raw) in records.iter().enumerate() {
        let e = s + raw.len() as u64;
        if s / PARTITION < e / PARTITION || i + 1 == records.len() {
            out.extend(encode_blocks(&mut encoder, &records[from..=i]));
            from = i + 1;
        }
        s = e;
    }
    out
}

/// Returns the uncompressed content of each block of a file.
fn inflate_blocks(mut file: &[u8]) -> Vec<Vec<u8>> {
    let mut all = Vec::new();
    while let Some(size) = file.get(16..18) {
        let size = usize::from(u16::from_le_bytes([size[0], size[1]])) + 1;
        assert!(size <= MAX_BLOCK);
        let (block, rest) = file.split_at(size);
        let mut payload = Vec::new();
        let mut stream = InflateReader::new(BlockReader::new(block, true));
        std::io::Read::read_to_end(&mut stream, &mut payload).unwrap();
        all.push(payload);
        file = rest;
    }
    assert!(file.is_empty());
    all
}

#[test]
fn blocks_of_a_range_are_those_of_the_whole() {
    for seed in 1..4 {
        let mut random = Rng::new(seed);
        // From 40 to 160,000 bytes, each range of lengths from n to 2n is equally frequent. A few
        // records are larger than a partition.
        let length = |random: &mut Rng| match 40u64 << random.below64(13) {
            _ if random.below64(150) == 0 => 3 << 20,
            min_length => (min_length + random.below64(min_length)).min(200_000) as usize,
        };
        let records = draw_records(&mut random, 20 << 20, length);
        let partitions = cut_partitions(&records);
        assert!(partitions.len() > 8);
        let mut encoder = BamEncoder::new(Codec::default(), 1, None);
        let parts: Vec<Vec<u8>> =
            partitions.iter().map(|of| encode_blocks(&mut encoder, &records[of.clone()])).collect();

        let payloads: Vec<Vec<u8>> = parts.iter().flat_map(|part| inflate_blocks(part)).collect();
        assert!(payloads.iter().all(|payload| (1..=BLOCK_PAYLOAD).contains(&payload.len())));
        assert!(payloads.concat() == records.concat());

        let bytes = |records: &[Vec<u8>]| records.iter().map(|raw| raw.len() as u64).sum::<u64>();
        for (k, first) in partitions.iter().enumerate() {
            let last = k + random.below64((partitions.len() - k) as u64) as usize;
            let range = &records[first.start..partitions[last].end];
            let out = encode_by_rule(range, bytes(&records[..first.start]));
            assert!(out == parts[k..=last].concat(), "partitions {k} to {last} of seed {seed}");
        }
    }
}

/// The codec starts anew at each block boundary: 5 % more boundaries make the output 0.1 to 0.15 %
/// larger.
#[test]
fn partitions_cost_few_blocks() {
    // Record lengths, and the allowed number of blocks in addition to htslib's, per thousand.
    for (lengths, allowed) in [(150..850, 10), (300..420, 10), (1000..1100, 10), (5000..30_000, 40)] {
        let mut random = Rng::new(5);
        let width = (lengths.end - lengths.start) as u64;
        let length = |random: &mut Rng| lengths.start + random.below64(width) as usize;
        let records = draw_records(&mut random, 40 << 20, length);
        let mut encoder = BamEncoder::new(Codec::default(), 0, None);
        let mut ours = 0;
        for of in cut_partitions(&records) {
            ours += inflate_blocks(&encode_blocks(&mut encoder, &records[of])).len();
        }
        let (mut theirs, mut within) = (1, 0);
        for raw in &records {
            if within + raw.len() > 0xff00 {
                (theirs, within) = (theirs + 1, 0);
            }
            within += raw.len();
        }
        assert!(ours * 1000 <= theirs * (1000 + allowed), "{lengths:?}: {ours} beside {theirs}");
    }
}
