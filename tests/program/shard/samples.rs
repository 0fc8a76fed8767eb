//! Inputs of jobs in stages: each has something that slices or ranges could get wrong.

use crate::faults::fixtures::{bam_header, block, blocks, record};
use crate::shard::Scene;
use crate::support::random::TestRandom;
use crate::support::{self, coordinate_sorted, records, split_header, with_header};
use readmill_format::bgzf::EOF_BLOCK;

pub const HEADER: &str = "@HD\tVN:1.6\n@SQ\tSN:chr1\tLN:1000000\n@SQ\tSN:chr2\tLN:500000\n\
                          @RG\tID:a\tSM:s\tLB:one\tPL:ILLUMINA\n@RG\tID:b\tSM:s\tLB:two\tPL:ILLUMINA\n";

/// A kind of input: its name, and the files of it.
pub struct Sample {
    pub name: &'static str,
    pub files: Vec<(&'static str, Vec<u8>)>,
}

impl Sample {
    fn one(name: &'static str, file: &'static str, bytes: impl Into<Vec<u8>>) -> Self {
        Sample { name, files: vec![(file, bytes.into())] }
    }
}

/// Templates of two reads, many of them duplicates, with supplementary and secondary records, unmapped templates, single
/// reads, read groups of two libraries, barcodes, and up to `filler` more letters; those of a name are adjacent.
pub fn text(templates: usize, filler: usize, seed: u64) -> String {
    let mut random = TestRandom::new(seed);
    let mut out = HEADER.to_string();
    for i in 0..templates {
        let contig = random.pick(&["chr1", "chr2"]);
        let one = 200 + random.below(templates / 2 + 1);
        let two = one + 50 + random.below(4);
        let umi: String = (0..3).map(|_| random.pick(&['A', 'C'])).collect();
        let bases: String = (0..20).map(|_| random.pick(&['A', 'C', 'G', 'T'])).collect();
        let quality: String = (0..20).map(|_| random.pick(&['#', '5', 'I'])).collect();
        let (tile, x, y) = (1101 + i % 3, 1000 + random.below(300), 1000 + random.below(300));
        let name = format!("M:1:F:1:{tile}:{x}:{y}_{i}");
        let more = "x".repeat(random.below(filler + 1));
        let group = random.pick(&["a", "b"]);
        let fields =
            format!("RG:Z:{group}\tRX:Z:{umi}-{umi}\tBC:Z:{}\tMC:Z:20M\tXX:Z:{more}", &umi[..2]);
        let end = format!("{bases}\t{quality}\t{fields}\n");
        let mut line = |flag: u16, place: &str| out += &format!("{name}\t{flag}\t{place}\t{end}");
        match random.below(20) {
            0 => {
                line(77, "*\t0\t0\t*\t*\t0\t0");
                line(141, "*\t0\t0\t*\t*\t0\t0");
                continue;
            }
            1 => {
                line(0, &format!("{contig}\t{one}\t60\t20M\t*\t0\t0"));
                continue;
            }
            2 => {
                line(73, &format!("{contig}\t{one}\t60\t20M\t=\t{one}\t0"));
                line(133, &format!("{contig}\t{one}\t0\t*\t=\t{one}\t0"));
                continue;
            }
            _ => {}
        }
        line(99, &format!("{contig}\t{one}\t60\t20M\t=\t{two}\t{}", two + 20 - one));
        if random.once_in(8) {
            line(2145, &format!("{contig}\t{}\t60\t10S10M\t=\t{two}\t0", one + 70));
        }
        if random.once_in(8) {
            line(355, &format!("{contig}\t{}\t0\t20M\t=\t{two}\t0", one + 90));
        }
        line(147, &format!("{contig}\t{two}\t60\t20M\t=\t{one}\t-{}", two + 20 - one));
    }
    out
}

/// The same in no order.
pub fn scattered(text: &str, seed: u64) -> String {
    let mut lines = records(text);
    TestRandom::new(seed).shuffle(&mut lines);
    with_header(split_header(text).0, &lines)
}

/// A BAM file of SAM text whose header is in blocks of its own, and whose blocks hold `each` bytes.
pub fn own_header_block(text: &str, each: usize) -> Vec<u8> {
    let (header, records) = parts(text);
    let records = blocks(&records, each).concat();
    [block(&header), records, EOF_BLOCK.to_vec()].concat()
}

/// A BAM file of SAM text in blocks of `each` bytes, without regard to what they hold.
pub fn in_blocks(text: &str, each: usize) -> Vec<u8> {
    let (header, records) = parts(text);
    let blocks = blocks(&[header, records].concat(), each).concat();
    [blocks, EOF_BLOCK.to_vec()].concat()
}

/// The bytes of the header and of the records, not compressed.
fn parts(text: &str) -> (Vec<u8>, Vec<u8>) {
    let inflated = |text: &str| {
        let mut bytes = Vec::new();
        let bam = support::bam(text);
        let mut reader = flate2::read::MultiGzDecoder::new(&bam[..]);
        std::io::Read::read_to_end(&mut reader, &mut bytes).unwrap();
        bytes
    };
    let header = inflated(split_header(text).0);
    let records = inflated(text).split_off(header.len());
    (header, records)
}

/// The records of SAM text as BAM has them, template by template.
pub fn by_template(text: &str) -> Vec<Vec<u8>> {
    let (_, bytes) = parts(text);
    let (mut rest, mut templates) = (&bytes[..], Vec::<(Vec<u8>, Vec<u8>)>::new());
    while let Some(size) = rest.first_chunk::<4>() {
        let (record, after) = rest.split_at(4 + u32::from_le_bytes(*size) as usize);
        let name = readmill_record::RecordRef::new(record).qname().to_vec();
        match templates.last_mut().filter(|last| last.0 == name) {
            Some(last) => last.1.extend(record),
            None => templates.push((name, record.to_vec())),
        }
        rest = after;
    }
    templates.into_iter().map(|(_, records)| records).collect()
}

/// The header of SAM text as BAM has it.
pub fn header(text: &str) -> Vec<u8> {
    parts(text).0
}

/// SAM text as CRAM without a reference.
fn cram(text: &str) -> Vec<u8> {
    let scene = Scene::new(&[("x.sam", text.into())], "prep in/* -O cram,no-ref -o out/x.cram");
    scene.plain().remove("x.cram").unwrap()
}

/// SAM text with other names of read groups, another contig, and other names of reads.
fn renamed(text: &str) -> String {
    let more = "@SQ\tSN:chr3\tLN:1000\n@RG\tID:a\t";
    text.replace("@RG\tID:a\t", more).replace("SM:s\t", "SM:t\t").replace("M:1:F:1:", "M:2:F:1:")
}

fn single(name: &str, pos: usize, length: usize) -> String {
    format!("{name}\t0\tchr1\t{pos}\t60\t{length}M\t*\t0\t0\t{}\t*\tRG:Z:a\n", "ACGT".repeat(length / 4))
}

fn singles(n: usize, line: impl Fn(usize) -> String) -> String {
    HEADER.to_string() + &(0..n).map(line).collect::<String>()
}

/// Kinds of inputs that have enough records for several slices; about `scale` templates each.
pub fn all(scale: usize) -> Vec<Sample> {
    let grouped = text(scale, 900, 1);
    let sorted = coordinate_sorted(&grouped);
    let one_place = singles(scale, |i| single(&format!("r{i}"), 500, 20));
    let long = singles(scale.min(60), |i| single(&format!("r{i}"), 900 - i * 7, 70_000 + i * 4));
    let unplaced =
        |i: usize| format!("u{}\t4\t*\t0\t0\t*\t*\t0\t0\tACGT{}\t*\n", i * 7 % 31, "A".repeat(i % 9));
    vec![
        Sample::one("adjacent templates", "x.bam", support::bam(&grouped)),
        Sample::one("in coordinate order", "x.bam", support::bam(&sorted)),
        Sample::one("scattered", "x.bam", own_header_block(&scattered(&grouped, 5), 3000)),
        Sample::one("text", "x.sam", grouped.clone()),
        Sample::one("text without its last line end", "x.sam", sorted.trim_end()),
        Sample::one("CRAM", "x.cram", cram(&grouped)),
        Sample {
            name: "several files",
            files: vec![
                ("1.bam", support::bam(&grouped)),
                ("2.sam", scattered(&text(scale / 3, 50, 3).replace("M:1:F:1:", "M:3:F:1:"), 2).into()),
                ("3.bam", in_blocks(&renamed(&text(scale / 2, 300, 2)), 5000)),
            ],
        },
        Sample::one("reads longer than blocks", "x.bam", support::bam(&long)),
        Sample::one("small blocks", "x.bam", in_blocks(&text(scale / 4, 100, 7), 300)),
        Sample::one("all at one place", "x.bam", in_blocks(&one_place, 1000)),
        Sample::one("no read has a place", "x.bam", in_blocks(&singles(scale, unplaced), 1000)),
        Sample::one(
            "one name for all",
            "x.bam",
            in_blocks(&singles(scale, |i| single("r", 1 + i * 7 % 900, 20)), 999),
        ),
    ]
}

/// Inputs with so few records that there is one slice, whatever is asked for.
pub fn smallest() -> Vec<Sample> {
    let huge =
        [record("a", 0, 9, b""), record("b", 0, 7, &huge_field()), record("c", 1, 3, b"")].concat();
    let huge = [bam_header(crate::faults::fixtures::HEADER), huge].concat();
    let huge = [blocks(&huge, 0xff00).concat(), EOF_BLOCK.to_vec()].concat();
    vec![
        Sample::one("a record of more than a mebibyte", "x.bam", huge),
        Sample::one("a header alone", "x.bam", support::bam(HEADER)),
        Sample::one("a header alone, as text", "x.sam", HEADER),
        Sample::one("one record", "x.bam", support::bam(&singles(1, |_| single("r", 5, 20)))),
        Sample::one("two lines", "x.sam", singles(2, |i| single(&format!("r{i}"), 5, 20))),
    ]
}

/// A field of three mebibytes.
fn huge_field() -> Vec<u8> {
    [&b"XXZ"[..], &vec![b'y'; 3 << 20], b"\0"].concat()
}
