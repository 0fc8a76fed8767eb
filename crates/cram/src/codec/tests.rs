//! Tests each encoder of CRAM 3.1 with its decoder.

use super::arith_encode::ArithEncoder;
use super::choice::Chooser;
use super::fqzcomp_encode::{FqzcompEncoder, QualityRead};
use super::names_encode::{NameEncoder, StreamCodec};
use super::nx16_encode::Nx16Encoder;
use super::*;
use crate::num::ByteCursor;

/// Pseudo-random numbers, the same in each run.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.0 >> 33
    }

    fn below(&mut self, n: usize) -> usize {
        self.next() as usize % n.max(1)
    }
}

/// Bytes of many shapes and sizes.
fn inputs() -> Vec<Vec<u8>> {
    let mut random = Random(1);
    let mut all = vec![Vec::new()];
    let sizes = [
        1, 2, 3, 4, 5, 7, 8, 15, 16, 17, 31, 32, 33, 63, 64, 100, 127, 128, 129, 255, 256, 257, 1000,
        4095, 4096, 4097, 65_535, 65_536, 65_537, 70_001,
    ];
    for n in sizes {
        all.push(vec![7; n]);
        all.push(vec![0; n]);
        all.push(vec![255; n]);
        all.push((0..n).map(|i| i as u8).collect());
        all.push((0..n).map(|_| random.next() as u8).collect());
        for symbols in [2, 3, 4, 5, 16, 17, 40, 200] {
            all.push(
                (0..n).map(|_| random.below(symbols).min(random.below(symbols)) as u8 + 33).collect(),
            );
        }
        // Long runs of few or many symbols.
        for symbols in [2, 5, 60, 256] {
            let mut bytes = Vec::new();
            while bytes.len() < n {
                let (symbol, run) = (random.below(symbols) as u8, 1 + random.below(300));
                bytes.resize((bytes.len() + run).min(n), symbol);
            }
            all.push(bytes);
        }
        // Four-byte numbers.
        let mut number = 0u32;
        all.push(
            std::iter::repeat_with(|| {
                number = number.wrapping_add(random.below(500) as u32);
                number.to_le_bytes()
            })
            .flatten()
            .take(n)
            .collect(),
        );
        // Each symbol strongly predicts the next one.
        let mut last = 0u8;
        all.push(
            std::iter::repeat_with(|| {
                last = (last + if random.below(10) == 0 { random.below(40) as u8 } else { 1 }) % 41;
                last
            })
            .take(n)
            .collect(),
        );
        // The two previous symbols strongly predict the next one, which order 1 after packing exploits.
        let (mut a, mut b) = (0, 1);
        all.push(
            std::iter::repeat_with(|| {
                (a, b) =
                    (b, if random.below(20) == 0 { random.below(4) as u8 } else { (a + 2 * b + 1) % 4 });
                b
            })
            .take(n)
            .collect(),
        );
        // One different symbol among many equal ones.
        let mut rare = vec![9u8; n];
        rare[random.below(n)] = 200;
        all.push(rare);
    }
    all
}

#[test]
fn rans_nx16_comes_back() {
    let (mut encoder, mut out) = (Nx16Encoder::default(), Vec::new());
    let (mut flags, mut back) = ([false; 256], Vec::new());
    for raw in inputs() {
        for width in [1, 2, 4, 8] {
            out.clear();
            back.clear();
            encoder.encode(&raw, width, &mut out);
            flags[out[0] as usize] = true;
            nx16::decode(&out, raw.len(), &mut back).unwrap();
            assert!(back == raw, "{} bytes, flags {:#x}, width {width}", raw.len(), out[0]);
            assert!(out.len() <= raw.len() + 6, "{} of {}", out.len(), raw.len());
        }
    }
    let seen: Vec<usize> = (0..256).filter(|&flag| flags[flag]).collect();
    for bit in [pack::ORDER, pack::STATES_32_OR_EXT, pack::STRIPE, pack::CAT, pack::RLE, pack::PACK] {
        assert!(seen.iter().any(|&flags| flags as u8 & bit != 0), "{bit:#x} in {seen:x?}");
    }
}

/// Damaged data must decode to the same bytes on every processor.
#[test]
fn several_states_at_once_decode_the_same() {
    let (mut encoder, mut out, mut random) = (Nx16Encoder::default(), Vec::new(), Random(3));
    let mut seen = [0; 2];
    for raw in inputs() {
        out.clear();
        encoder.encode(&raw, 1, &mut out);
        let order = match out[0] {
            pack::STATES_32_OR_EXT => 0,
            flags if flags == pack::STATES_32_OR_EXT | pack::ORDER => 1,
            _ => continue,
        };
        for round in 0..20 {
            let mut coded = out.clone();
            if round > 0 {
                let at = coded.len() / 2 + random.below(coded.len() / 2);
                coded[at] ^= 1 << random.below(8);
                coded.truncate(coded.len() - random.below(3 * round));
            }
            let decoded = [true, false].map(|vectors| {
                let mut cursor = ByteCursor(&coded[1..]);
                let mut back = vec![0; cursor.read_uint7().unwrap() as usize];
                let result = match order {
                    0 => nx16::decode_order_0::<32>(
                        &mut cursor,
                        &mut back,
                        vectors && nx16::has_vectors(),
                    ),
                    _ => nx16::decode_order_1::<32>(
                        &mut cursor,
                        &mut back,
                        vectors && nx16::has_vectors(),
                    ),
                };
                (result.is_ok(), back, cursor.0.len())
            });
            assert!(decoded[0] == decoded[1], "{} bytes, order {order}", raw.len());
            assert!(round > 0 || decoded[0].1 == raw);
            seen[order] += 1;
        }
    }
    assert!(seen[0] > 100 && seen[1] > 100, "{seen:?}");
}

#[test]
fn the_arithmetic_coder_comes_back() {
    let (mut encoder, mut out) = (ArithEncoder::default(), Vec::new());
    let mut back = Vec::new();
    for raw in inputs().into_iter().filter(|raw| raw.len() < 5000 || raw.len() == 65_537) {
        for form in arith_encode::FORMS.into_iter().chain([arith_encode::STRIPED]) {
            out.clear();
            back.clear();
            encoder.encode(&raw, form, &mut out);
            arith::decode(&out, raw.len(), &mut back).unwrap_or_else(|e| {
                panic!("{} bytes, {form:?}, {:#x}: {e}", raw.len(), out[0]);
            });
            assert!(back == raw, "{} bytes, {form:?}", raw.len());
        }
        out.clear();
        back.clear();
        encoder.encode_smallest(&raw, 4, &mut out);
        arith::decode(&out, raw.len(), &mut back).unwrap();
        assert!(back == raw);
    }
}

/// Draws the qualities of `reads` reads with up to `symbols` distinct values. Most reads have this
/// `length`; some are shorter, and some repeat the qualities of the previous read.
fn qualities(
    random: &mut Random,
    reads: usize,
    length: usize,
    symbols: usize,
) -> (Vec<u8>, Vec<QualityRead>) {
    let (mut raw, mut list) = (Vec::new(), Vec::new());
    for number in 0..reads {
        let length = if number % 7 == 3 { 1 + random.below(length) } else { length };
        let start = raw.len();
        let mut last = 0;
        for _ in 0..length {
            last = if random.below(4) == 0 { random.below(symbols) } else { last };
            raw.push(last as u8 + 2);
        }
        let length = raw.len() - start;
        if number % 5 == 1 && start >= length {
            raw.copy_within(start - length..start, start);
        }
        list.push(QualityRead { length: length as u32, reverse: random.below(2) == 1 });
    }
    (raw, list)
}

#[test]
fn fqzcomp_comes_back() {
    let mut random = Random(5);
    let (mut encoder, mut out) = (FqzcompEncoder::default(), Vec::new());
    for symbols in [1, 2, 3, 4, 5, 8, 9, 16, 17, 41, 94] {
        for (reads, length) in [(1, 1), (1, 200), (3, 1), (40, 100), (500, 151), (3, 5000)] {
            let (raw, mut list) = qualities(&mut random, reads, length, symbols);
            for turned in [true, false] {
                list.iter_mut().for_each(|read| read.reverse &= turned);
                let mut back = Vec::new();
                out.clear();
                assert!(encoder.encode(&raw, &list, &mut out));
                fqzcomp::decode(&out, raw.len(), &mut back).unwrap();
                assert!(back == raw, "{reads} reads of {length}, {symbols} symbols, {turned}");
            }
        }
    }
    // Reads of equal length with repeated qualities.
    let raw: Vec<u8> = (0..100u8).flat_map(|i| vec![i / 10; 50]).collect();
    let list = vec![QualityRead { length: 50, reverse: false }; 100];
    let mut back = Vec::new();
    out.clear();
    assert!(encoder.encode(&raw, &list, &mut out) && out.len() < 300, "{}", out.len());
    fqzcomp::decode(&out, raw.len(), &mut back).unwrap();
    assert!(back == raw);
    // fqzcomp cannot store too many symbols, or lengths that do not add up.
    let all: Vec<u8> = (0..=255).collect();
    for (raw, length) in [(&all[..], 256), (&raw[..], 1), (&[][..], 0)] {
        assert!(!encoder.encode(raw, &[QualityRead { length, reverse: false }], &mut out));
    }
}

fn names_come_back(names: &[Vec<u8>]) {
    let raw: Vec<u8> = names.iter().flat_map(|name| name.iter().copied().chain([0])).collect();
    let (mut encoder, mut out) = (NameEncoder::default(), Vec::new());
    let (mut rans, mut arith) = (Nx16Encoder::default(), ArithEncoder::default());
    for by_arith in [false, true] {
        out.clear();
        let codec = if by_arith { StreamCodec::Arith(&mut arith) } else { StreamCodec::Rans(&mut rans) };
        assert_eq!(encoder.encode(&raw, 1 << 20, codec, &mut out), !raw.is_empty());
        if !raw.is_empty() {
            let mut back = Vec::new();
            names::decode(&out, raw.len(), &mut back).unwrap_or_else(|e| {
                panic!("{by_arith}: {e}: {}", String::from_utf8_lossy(&raw[..raw.len().min(2000)]));
            });
            assert!(back == raw, "{by_arith} {}", String::from_utf8_lossy(&raw[..raw.len().min(2000)]));
        }
    }
}

#[test]
fn names_of_all_sorts_come_back() {
    let mut random = Random(9);
    let text = |list: &[&str]| list.iter().map(|name| name.as_bytes().to_vec()).collect::<Vec<_>>();
    names_come_back(&[]);
    names_come_back(&text(&[""]));
    names_come_back(&text(&["", "", "a", "", "a"]));
    names_come_back(&text(&["*", "r1", "r1", "r2", "r01", "r02", "r002", "r4294967295", "r4294967296"]));
    names_come_back(&text(&["000000000000000000001", "1", "0", "00", "99999999999999999999", "100"]));
    names_come_back(&text(&["a1", "b1", "a:1", "a:2:3", "a", "abc", "abd", "a\u{e9}1", "x#$%&/()"]));
    names_come_back(&(0..=255).filter(|&byte| byte > 0).map(|byte| vec![byte; 3]).collect::<Vec<_>>());
    // More tokens than allowed.
    names_come_back(&[vec![b':'; 254], b"1:".repeat(127), b"2:".repeat(127), b"a1".repeat(126)]);
    let illumina = |random: &mut Random| {
        let (lane, tile) = (1 + random.below(4), 1101 + random.below(30));
        format!("A00:45:HXX:{lane}:{tile}:{}:{}", random.below(30_000), random.below(40_000))
            .into_bytes()
    };
    let mut list: Vec<Vec<u8>> = Vec::new();
    for number in 0..3000 {
        let other = list.len().checked_sub(1 + random.below(300)).map(|at| list[at].clone());
        let name = other.filter(|_| random.below(3) == 0).unwrap_or_else(|| illumina(&mut random));
        list.push(name);
        if number % 500 == 0 {
            list.push(format!("SRR00{number}.{number}/1").into_bytes());
        }
    }
    names_come_back(&list);
    names_come_back(&(0..3000).map(|n| format!("run.{n:08}").into_bytes()).collect::<Vec<_>>());
    names_come_back(&(0..3000).map(|n| format!("run.{n}").into_bytes()).collect::<Vec<_>>());
    let any = |random: &mut Random| (0..random.below(20)).map(|_| 33 + random.below(94) as u8).collect();
    names_come_back(&(0..2000).map(|_| any(&mut random)).collect::<Vec<_>>());
    let digits =
        |random: &mut Random| (0..random.below(12)).map(|_| b"0019ab"[random.below(6)]).collect();
    names_come_back(&(0..2000).map(|_| digits(&mut random)).collect::<Vec<_>>());
}

#[test]
fn each_profile_makes_blocks_that_come_back() {
    let mut codecs = Codecs::default();
    for (name, profile) in Profile::ALL {
        let (mut chooser, mut out) = (Chooser::new(profile, profile.gzip_level()), Vec::new());
        let mut methods = Vec::new();
        for raw in inputs() {
            let reads = [QualityRead { length: raw.len() as u32, reverse: true }];
            let kinds =
                [ContentKind::Names, ContentKind::Qualities, ContentKind::Statistical, ContentKind::Any];
            for kind in kinds.into_iter().skip(if raw.len() > 5000 { 3 } else { 0 }) {
                let method =
                    chooser.compress(&raw, BlockContent { kind, width: 4, reads: &reads }, &mut out);
                let mut back = Vec::new();
                codecs.inflate(method, &out, raw.len(), &mut back).unwrap();
                assert!(back == raw, "{name}: {} bytes as {kind:?} by {method:?}", raw.len());
                assert!(out.len() <= raw.len());
                if !methods.contains(&method) {
                    methods.push(method);
                }
            }
        }
        let expected: &[Method] = match profile {
            Profile::Fast => &[Method::Raw, Method::RansNx16, Method::Gzip],
            Profile::Normal => &[Method::Raw, Method::RansNx16, Method::Gzip, Method::Names],
            Profile::Small => &[Method::Bzip2, Method::Fqzcomp, Method::Names],
            Profile::Archive => &[Method::Arith, Method::Fqzcomp, Method::Names],
        };
        assert!(expected.iter().all(|method| methods.contains(method)), "{name}: {methods:?}");
    }
}
