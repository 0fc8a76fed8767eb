//! Containers that no writer makes: a few bytes that stand for much work or memory, and headers that
//! contradict their slices.

use std::io::Cursor;
use std::time::{Duration, Instant};

use readmill_record::{Batch, Error, Header, Ledger, Limit};

use super::*;
use crate::bases::{Cache, References};
use crate::block::write_block;
use crate::codec::Method;
use crate::container::ContainerHeader;
use crate::num::put_itf8;
use crate::scheme::NO_BASES;
use crate::{EOF, Reader, Version, header_container};

fn numbers(all: &[i32]) -> Vec<u8> {
    let mut out = Vec::new();
    all.iter().for_each(|&n| put_itf8(&mut out, n));
    out
}

fn encoding(kind: i32, parameters: &[u8]) -> Vec<u8> {
    [numbers(&[kind, parameters.len() as i32]), parameters.to_vec()].concat()
}

/// Values that are all equal and take no bits.
fn constant(value: i32) -> Vec<u8> {
    encoding(3, &numbers(&[1, value, 1, 0]))
}

/// Numbers of `n` bits in the core block.
fn bits(n: i32) -> Vec<u8> {
    encoding(6, &numbers(&[0, n]))
}

fn external(id: i32) -> Vec<u8> {
    encoding(1, &numbers(&[id]))
}

/// Arrays of `n` zeros that take no bits.
fn zeros(n: i32) -> Vec<u8> {
    encoding(4, &[constant(n), constant(0)].concat())
}

/// A container with one slice of reads without bases, each with the name `r`. Tests change its
/// parts.
struct Crafted {
    series: Vec<(&'static [u8; 2], Vec<u8>)>,
    /// The encoding of the tag XA:Z, which each read has.
    tag: Option<Vec<u8>>,
    core: Vec<u8>,
    /// External block 1. Names are in block 0.
    values: Vec<u8>,
    records: i32,
    stated_records: usize,
    /// How often the container refers to the slice.
    slices: usize,
}

impl Crafted {
    fn new(records: i32, series: &[(&'static [u8; 2], Vec<u8>)]) -> Self {
        let mut all = vec![
            (b"BF", constant(0)),
            (b"CF", constant(NO_BASES)),
            (b"RL", constant(0)),
            (b"AP", constant(1)),
            (b"RG", constant(-1)),
            (b"RN", encoding(5, &numbers(&[0, 0]))),
            (b"TL", constant(0)),
            (b"FN", constant(0)),
            (b"MQ", constant(60)),
        ];
        all.extend_from_slice(series);
        let stated_records = records as usize;
        let (core, values) = (Vec::new(), Vec::new());
        Crafted { series: all, tag: None, core, values, records, stated_records, slices: 1 }
    }

    fn file(&self) -> Vec<u8> {
        let map = |entries: &[Vec<u8>]| {
            let entries = [numbers(&[entries.len() as i32]), entries.concat()].concat();
            [numbers(&[entries.len() as i32]), entries].concat()
        };
        let lines = if self.tag.is_some() { &b"XAZ\0"[..] } else { b"\0" };
        let preserved = map(&[
            b"AP\0".to_vec(),
            b"RR\0".to_vec(),
            [b"TD", &numbers(&[lines.len() as i32])[..], lines].concat(),
        ]);
        let series = self.series.iter().map(|(key, encoding)| [&key[..], encoding].concat());
        let tag = self.tag.iter().map(|it| [&numbers(&[0x58_41_5a])[..], it].concat());
        let (series, tags) = (map(&Vec::from_iter(series)), map(&Vec::from_iter(tag)));
        let mut body = Vec::new();
        let mut put = |content, id, bytes: &[u8]| {
            write_block(content, id, Method::Raw, bytes.len(), bytes, &mut body);
            body.len()
        };
        let start = put(ContentType::CompressionHeader, 0, &[preserved, series, tags].concat());
        let mut head = numbers(&[0, 1, 1000, self.records, 0, 3, 2, 0, 1, -1]);
        head.extend([0; 16]);
        put(ContentType::SliceHeader, 0, &head);
        put(ContentType::Core, 0, &self.core);
        put(ContentType::External, 0, &b"r\0".repeat(self.records as usize));
        put(ContentType::External, 1, &self.values);
        let container = ContainerHeader {
            length: body.len(),
            start: 1,
            span: 1000,
            records: self.stated_records,
            blocks: 5,
            landmarks: vec![start as i32; self.slices],
            ..ContainerHeader::default()
        };
        let mut out = header_container(&header(), Version::DEFAULT).unwrap();
        container.write(&mut out);
        [&out, &body[..], &EOF].concat()
    }

    /// Decodes the container with `memory` bytes in addition to those that it states. Returns the
    /// number of records, the memory of the parts of a record, and the error.
    fn decode(&self, detail: Detail, memory: u64) -> (usize, usize, Option<Error>) {
        let (input, limit) = (Box::new(Cursor::new(self.file())), Limit::of_bytes(1 << 30));
        let mut reader = Reader::open(input, false, limit, &Ledger::unlimited()).unwrap();
        let container = reader.claim(Vec::new()).unwrap().unwrap();
        let ledger = Ledger::with_capacity(memory);
        let references = References::new(&header(), None, &Cache::default(), &ledger).unwrap();
        let setup = Setup::new(Version::DEFAULT, &header(), references, b"x").unwrap();
        let mut decoder = Decoder::new(Arc::new(setup));
        let mut opened = OpenedChunk::reuse(Batch::default());
        let error = decoder.decode_container(&container, detail.into(), &mut opened).err();
        (opened.into_batch().unwrap().len(), decoder.scratch.capacity_bytes(), error)
    }

    fn error(&self, detail: Detail) -> String {
        let (_, parts, error) = self.decode(detail, 1 << 30);
        assert!(parts < 8 << 20, "{parts} bytes");
        error.unwrap().to_string()
    }
}

fn header() -> Header {
    Header::parse(b"@HD\tVN:1.6\n@SQ\tSN:c\tLN:100000\n").unwrap()
}

#[test]
fn a_crafted_container_is_read() {
    let n = [(b"FN", constant(1)), (b"FC", constant(b'N'.into())), (b"FP", constant(1))];
    let mut crafted = Crafted::new(3, &[&n[..], &[(b"RS", constant(5))]].concat());
    crafted.tag = Some(zeros(3));
    for detail in [Detail::Whole, Detail::Places, Detail::Flags] {
        assert_eq!((crafted.decode(detail, 1 << 30).0, crafted.decode(detail, 1 << 30).2), (3, None));
    }
}

/// Each feature extends the operator by 2^31 - 1 bases, and takes one bit.
#[test]
fn operators_that_features_extend_are_counted_before_they_are_stored() {
    let n = 4_000_000;
    let mut crafted = Crafted::new(
        1,
        &[
            (b"FN", external(1)),
            (b"FC", constant(b'N'.into())),
            (b"FP", bits(1)),
            (b"RS", constant(i32::MAX)),
        ],
    );
    (crafted.core, crafted.values) = (vec![0; n / 8], numbers(&[n as i32]));
    crafted.core[0] = 0x80;
    let error = crafted.error(Detail::Whole);
    assert!(error.contains("contains more than its header states"), "{error}");
}

#[test]
fn work_that_takes_no_bits_ends() {
    let many = |code: u8, more: &[(&'static [u8; 2], Vec<u8>)]| {
        let features =
            [(b"FN", constant(i32::MAX)), (b"FC", constant(code.into())), (b"FP", constant(1))];
        [&features[..], more].concat()
    };
    let arrays = [(b"BB", zeros(10_000)), (b"SC", zeros(10_000)), (b"QQ", zeros(10_000))];
    let with_tag = |series: &[_], length| {
        let mut crafted = Crafted::new(2000, series);
        (crafted.tag, crafted.core) = (Some(zeros(length)), vec![0; 1000]);
        crafted
    };
    let start = Instant::now();
    for (crafted, detail) in [
        (Crafted::new(100, &many(b'Q', &[(b"QS", constant(30))])), Detail::Whole),
        (Crafted::new(100, &many(b'X', &[(b"BS", constant(1))])), Detail::Places),
        (Crafted::new(100, &many(b'b', &arrays)), Detail::Whole),
        (Crafted::new(100, &many(b'S', &arrays)), Detail::Whole),
        (Crafted::new(100, &many(b'q', &arrays)), Detail::Whole),
        // Bits in the core block, so that tags are read although they are not wanted.
        (with_tag(&[(b"TL", bits(1))], 1 << 18), Detail::Places),
        (with_tag(&[], 1 << 18), Detail::Whole),
        (with_tag(&[(b"RN", zeros(1 << 16)), (b"TL", bits(1))], 1), Detail::Places),
    ] {
        let error = crafted.error(detail);
        assert!(
            error.contains("more values than its data") || error.contains("than its header"),
            "{error}"
        );
    }
    assert!(start.elapsed() < Duration::from_secs(60));
}

#[test]
fn parts_are_charged_before_they_take_memory() {
    let mut crafted = Crafted::new(1, &[]);
    (crafted.tag, crafted.core) = (Some(zeros(3 << 20)), vec![0; 1 << 20]);
    assert_eq!(crafted.decode(Detail::Whole, 8 << 20).2, None);
    let (_, parts, error) = crafted.decode(Detail::Whole, 1 << 20);
    let error = error.unwrap().to_string();
    assert!(error.contains("CRAM decoders") && parts < 1 << 20, "{parts} bytes: {error}");
}

/// Regression test: a container without a landmark once lost its reads.
#[test]
fn a_container_whose_slices_have_fewer_records_is_damaged() {
    let mut crafted = Crafted::new(1, &[]);
    for detail in [Detail::Whole, Detail::Places, Detail::Flags] {
        (crafted.stated_records, crafted.slices) = (5, 1);
        let (read, _, error) = crafted.decode(detail, 1 << 30);
        let error = error.unwrap().to_string();
        assert!(read == 1 && error.contains("states 5 records, but its slices have 1"), "{error}");
        (crafted.stated_records, crafted.slices) = (1, 0);
        let (read, _, error) = crafted.decode(detail, 1 << 30);
        let error = error.unwrap().to_string();
        assert!(read == 0 && error.contains("states 1 records, but its slices have 0"), "{error}");
    }
}

#[test]
fn slices_that_share_blocks_are_refused() {
    let mut crafted = Crafted::new(1, &[]);
    (crafted.stated_records, crafted.slices) = (2, 2);
    let error = crafted.error(Detail::Whole);
    assert!(error.contains("contains more than its header states"), "{error}");
}
