//! Tests of indexes on synthetic sorted files, which have only the layout of BAM.

use noodles_csi::BinningIndex;
use readmill_record::{Header, RecordRef};
use readmill_simulate::Rng;

use super::{Fragment, FragmentBuilder, IndexBuilder, IndexFormat, IndexScheme, RecordInterval};

/// A record that covers `span` reference bases.
fn record(ref_id: i32, pos: i32, span: u32, flags: u16) -> Vec<u8> {
    let mut raw = Vec::new();
    let n_cigar = u16::from(span > 0);
    raw.extend(ref_id.to_le_bytes());
    raw.extend(pos.to_le_bytes());
    raw.extend([2, 60, 0, 0]);
    raw.extend(n_cigar.to_le_bytes());
    raw.extend(flags.to_le_bytes());
    raw.extend(0u32.to_le_bytes());
    raw.extend((-1i32).to_le_bytes());
    raw.extend((-1i32).to_le_bytes());
    raw.extend(0i32.to_le_bytes());
    raw.extend(b"r\0");
    raw.extend((0..n_cigar).flat_map(|_| (span << 4).to_le_bytes()));
    let raw = [&(raw.len() as u32).to_le_bytes()[..], &raw].concat();
    RecordRef::check(&raw, 8).unwrap();
    raw
}

/// A record and its position: block number, compressed offset of the block, and offset in the
/// block.
struct Placed {
    raw: Vec<u8>,
    block: usize,
    start: (u64, u64),
}

impl Placed {
    fn get(&self) -> RecordRef<'_> {
        RecordRef::new(&self.raw)
    }

    fn voffset(&self) -> u64 {
        self.start.0 << 16 | self.start.1
    }
}

const LENGTHS: [u32; 4] = [3_000_000, 500, 600_000_000, 40_000];

fn header(lengths: &[u32]) -> Header {
    let line = |(i, length): (usize, &u32)| format!("@SQ\tSN:c{i}\tLN:{length}\n");
    Header::parse(lengths.iter().enumerate().map(line).collect::<String>().as_bytes()).unwrap()
}

/// A sorted file: its records, and the offset of its end.
fn file(random: &mut Rng, n: u64, lengths: &[u32]) -> (Vec<Placed>, u64) {
    let mut keys = Vec::new();
    for _ in 0..n {
        let ref_id = random.below64(lengths.len() as u64) as usize;
        let within = if random.below64(2) == 0 { lengths[ref_id] } else { lengths[ref_id].min(80_000) };
        let pos = random.below64(u64::from(within) + 1) as i32 - 1;
        keys.push((ref_id as i32, pos));
    }
    keys.sort_unstable();
    keys.extend((0..n / 10).map(|_| (-1, -1)));
    let (mut coffset, mut within, mut block) = (0, 0, 0);
    let mut out = Vec::new();
    for (ref_id, pos) in keys {
        let unmapped = ref_id < 0 || random.below64(10) == 0;
        let span = [0, 1, 150, 20_000, 3_000_000][random.below64(5) as usize];
        let raw = record(ref_id, pos, if unmapped { 0 } else { span }, if unmapped { 4 } else { 0 });
        if within + raw.len() as u64 > 400 {
            (coffset, within, block) = (coffset + 28 + random.below64(30_000), 0, block + 1);
        }
        out.push(Placed { block, start: (coffset, within), raw });
        within += out.last().unwrap().raw.len() as u64;
    }
    (out, coffset + 1000)
}

/// Builds the index from partitions. After each block, the partition ends with probability 1 /
/// `every`.
fn index(scheme: IndexScheme, header: &Header, file: &(Vec<Placed>, u64), every: u64) -> Vec<u8> {
    let (records, length) = file;
    let random = &mut Rng::new(every);
    let mut builder = IndexBuilder::new(scheme, header);
    let mut fragments = FragmentBuilder::new(scheme);
    let mut base = 0;
    for (i, placed) in records.iter().enumerate() {
        let next = records.get(i + 1);
        let end = next.map_or(length << 16, Placed::voffset);
        fragments.add_record(placed.get(), placed.voffset() - (base << 16), end - (base << 16));
        if let Some(next) = next.filter(|n| n.block != placed.block && random.below64(every) == 0) {
            builder.add_fragment(fragments.finish_partition(), base);
            base = next.start.0;
        }
    }
    builder.add_fragment(fragments.finish_partition(), base);
    let mut out = Vec::new();
    builder.write_to(&mut out).unwrap();
    out
}

fn read(kind: IndexFormat, bytes: &[u8]) -> Box<dyn BinningIndex> {
    match kind {
        IndexFormat::Bai => Box::new(noodles_bam::bai::io::Reader::new(bytes).read_index().unwrap()),
        IndexFormat::Csi | IndexFormat::Tbi => {
            Box::new(noodles_csi::io::Reader::new(bytes).read_index().unwrap())
        }
    }
}

#[test]
fn partitions_do_not_show() {
    let random = &mut Rng::new(7);
    for lengths in [&LENGTHS[..2], &LENGTHS[..]] {
        let header = header(lengths);
        let file = file(random, 3000, lengths);
        for scheme in [IndexScheme::for_header(&header), IndexScheme::csi(&header)] {
            let whole = index(scheme, &header, &file, u64::MAX);
            for every in [1, 2, 10, 100] {
                assert!(index(scheme, &header, &file, every) == whole, "{scheme:?} {every}");
            }
        }
    }
}

/// Asserts that every record that overlaps a region is in a chunk that a query for the region
/// reads.
#[test]
fn queries_find_what_they_must() {
    let random = &mut Rng::new(11);
    for lengths in [&LENGTHS[..2], &LENGTHS[..]] {
        let header = header(lengths);
        let file = file(random, 2000, lengths);
        for scheme in [IndexScheme::for_header(&header), IndexScheme::csi(&header)] {
            let bytes = index(scheme, &header, &file, 3);
            let index = read(scheme.kind(), &bytes);
            for _ in 0..300 {
                let id = random.below64(lengths.len() as u64) as usize;
                let from = random.below64(u64::from(lengths[id])) as i64;
                let to = from + 1 + random.below64(100_000) as i64;
                let position = |at: i64| noodles_position(at.min(i64::from(lengths[id])));
                let chunks = index.query(id, (position(from + 1)..=position(to)).into()).unwrap();
                let inside =
                    |v: u64| chunks.iter().any(|c| u64::from(c.start()) <= v && v < u64::from(c.end()));
                for placed in &file.0 {
                    let record = placed.get();
                    if record.ref_id() == id as i32
                        && i64::from(record.pos()) < to
                        && record.end() > from
                    {
                        assert!(inside(placed.voffset()), "{record:?} in {id}:{from}-{to}");
                    }
                }
            }
        }
    }
}

fn noodles_position<P: TryFrom<usize, Error: std::fmt::Debug>>(at: i64) -> P {
    P::try_from(at as usize).unwrap()
}

#[test]
fn counts_are_right() {
    let header = header(&LENGTHS);
    let file = file(&mut Rng::new(3), 1000, &LENGTHS);
    let scheme = IndexScheme::for_header(&header);
    assert_eq!(scheme.kind(), IndexFormat::Csi);
    let index = read(scheme.kind(), &index(scheme, &header, &file, 2));
    assert_eq!(index.unplaced_unmapped_record_count(), Some(100));
    let count = |id: usize, unmapped: bool| {
        let of = |r: &RecordRef<'_>| r.ref_id() == id as i32 && r.flags().is_unmapped() == unmapped;
        file.0.iter().map(Placed::get).filter(of).count() as u64
    };
    for (id, reference) in index.reference_sequences().enumerate() {
        let metadata = reference.metadata().unwrap();
        assert_eq!(metadata.mapped_record_count(), count(id, false));
        assert_eq!(metadata.unmapped_record_count(), count(id, true));
    }
}

#[test]
fn references_without_records_are_empty() {
    let header = header(&LENGTHS[..2]);
    let scheme = IndexScheme::bai(&header).unwrap();
    let mut bytes = Vec::new();
    let mut builder = IndexBuilder::new(scheme, &header);
    builder.add_fragment(Fragment::default(), 0);
    builder.write_to(&mut bytes).unwrap();
    assert_eq!(bytes, [b"BAI\x01\x02\0\0\0", &[0u8; 24][..]].concat());
}

#[test]
fn unsorted_records_are_refused() {
    let header = header(&LENGTHS);
    let scheme = IndexScheme::for_header(&header);
    let raws = [record(1, 5, 1, 0), record(1, 4, 1, 0)];
    for cut in [false, true] {
        let mut fragments = FragmentBuilder::new(scheme);
        let mut builder = IndexBuilder::new(scheme, &header);
        for raw in &raws {
            fragments.add_record(RecordRef::new(raw), 0, 50);
            if cut {
                builder.add_fragment(fragments.finish_partition(), 0);
            }
        }
        builder.add_fragment(fragments.finish_partition(), 0);
        assert!(builder.write_to(&mut Vec::new()).is_err());
    }
}

/// Computes bins like the C code of the SAM specification, section 5.3.
#[test]
fn bins_are_those_of_the_specification() {
    let scheme = IndexScheme::bai(&header(&[1 << 29])).unwrap();
    let random = &mut Rng::new(5);
    for _ in 0..10_000 {
        let begin = random.below64(1 << 29) as i64;
        let scale = random.below64(29);
        let span = random.below64(1 << scale) as u32 + 1;
        let raw = record(0, begin as i32, span.min((1 << 28) - 1), 0);
        let end = (RecordRef::new(&raw).end() - 1).min((1 << 29) - 1);
        let shared = [14, 17, 20, 23, 26].into_iter().find(|s| begin >> s == end >> s);
        let expected = shared.map_or(0, |s| ((1 << (29 - s)) - 1) / 7 + (begin >> s));
        let (first, last) = scheme.window_range(RecordInterval::of(RecordRef::new(&raw)));
        let bin = scheme.smallest_bin(first, last);
        assert_eq!(i64::from(bin), expected, "{begin} {end}");
        assert!(scheme.first_window(bin) <= first);
    }
}

#[test]
fn the_format_follows_the_longest_reference() {
    let depth = |length: u32| IndexScheme::csi(&header(&[length])).depth;
    assert_eq!([100, 20_000, (1 << 29) - 256, 1 << 29, i32::MAX as u32].map(depth), [0, 1, 5, 6, 6]);
    assert_eq!(IndexScheme::for_header(&header(&[1 << 29])).kind(), IndexFormat::Bai);
    assert_eq!(IndexScheme::for_header(&header(&[(1 << 29) + 1])).kind(), IndexFormat::Csi);
    assert!(IndexScheme::bai(&header(&[(1 << 29) + 1])).is_err());
}
