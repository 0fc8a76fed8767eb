//! CRAM written and read back, and damaged files.

mod partial;

use std::io::Cursor;
use std::path::PathBuf;
use std::sync::Arc;

use readmill_format::chain::{ChunkLinker, OpenedChunk};
use readmill_format::reference::Reference;
use readmill_format::sam::{self, LineParser};
use readmill_record::{Batch, Detail, Error, Header, Ledger, Limit, RecordRef, Stamp};

use crate::block::{ContentType, CramBlock};
use crate::codec::Method;
use crate::container::ContainerHeader;
use crate::num::ByteCursor;
use crate::*;

/// Returns a contig of 40,000 bases, one of 60 with unusual letters, and one without reads.
fn sequences() -> [(&'static str, Vec<u8>); 3] {
    let mut state = 7u32;
    let mut base = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        b"ACGT"[(state >> 24) as usize % 4]
    };
    let long: Vec<u8> = (0..40_000).map(|_| base()).collect();
    let mut odd: Vec<u8> = (0..60).map(|_| base()).collect();
    odd[10] = b'N';
    odd[11] = b'N';
    odd[20] = b'R';
    odd[30] = b'a';
    [("one", long), ("odd", odd), ("none", vec![b'C'; 10])]
}

/// A reference on disk, removed on drop.
struct ReferenceOnDisk {
    _dir: tempfile::TempDir,
    reference: PathBuf,
}

fn desk() -> ReferenceOnDisk {
    let dir = tempfile::tempdir().unwrap();
    let (reference, mut text) = (dir.path().join("ref.fa"), String::new());
    for (name, bases) in sequences() {
        text += &format!(">{name}\n");
        for line in bases.chunks(50) {
            text += &format!("{}\n", String::from_utf8_lossy(line));
        }
    }
    std::fs::write(&reference, text).unwrap();
    ReferenceOnDisk { _dir: dir, reference }
}

fn header() -> Header {
    let mut text = "@HD\tVN:1.6\n".to_string();
    for (name, bases) in sequences() {
        text += &format!("@SQ\tSN:{name}\tLN:{}\n", bases.len());
    }
    Header::parse((text + "@RG\tID:g1\n@RG\tID:g2\n").as_bytes()).unwrap()
}

fn batch(lines: &[String]) -> Batch {
    batch_with(&header(), lines)
}

fn batch_with(header: &Header, lines: &[String]) -> Batch {
    let (mut parser, mut batch) = (LineParser::new(header), Batch::default());
    for line in lines {
        let mut raw = Vec::new();
        parser.parse(line.as_bytes(), &mut raw).unwrap_or_else(|e| panic!("{line}: {e}"));
        batch.push(&raw, Stamp::default()).unwrap();
    }
    batch
}

fn references(desk: &ReferenceOnDisk) -> References {
    let reference = Reference::open(&desk.reference, &Ledger::unlimited()).unwrap();
    References::new(&header(), Some(&reference), &Cache::default(), &Ledger::unlimited()).unwrap()
}

/// Encodes a complete file.
fn encode(batch: &Batch, references: Option<References>) -> Result<Vec<u8>, Error> {
    encode_with(&header(), batch, references)
}

fn encode_with(
    header: &Header,
    batch: &Batch,
    references: Option<References>,
) -> Result<Vec<u8>, Error> {
    let writing = EncoderOptions::new(header, Version::DEFAULT, references, 6, &Ledger::unlimited());
    let mut encoder = Encoder::new(&writing);
    let mut out = header_container(header, Version::DEFAULT).unwrap();
    let mut bytes = Vec::new();
    let encoded = encoder.encode_partition(batch, &mut bytes)?;
    encoded.set_record_counters(&mut bytes, 0);
    out.extend_from_slice(&bytes);
    out.extend_from_slice(&EOF);
    Ok(out)
}

/// Returns the SAM lines of a file, up to the first error.
fn decode(file: &[u8], references: Option<&ReferenceOnDisk>) -> (Vec<String>, Option<Error>) {
    let mut lines = Vec::new();
    let error = try_decode(file, references, Detail::Whole, &mut lines).err();
    (lines, error)
}

fn try_decode(
    file: &[u8],
    desk: Option<&ReferenceOnDisk>,
    wanted: impl Into<DecodeOptions>,
    lines: &mut Vec<String>,
) -> Result<(), Error> {
    let mut reader = Reader::open(
        Box::new(Cursor::new(file.to_vec())),
        false,
        Limit::of_bytes(1 << 28),
        &Ledger::unlimited(),
    )?;
    let header = reader.header().clone();
    let reference = desk.map(|desk| Reference::open(&desk.reference, &Ledger::unlimited()).unwrap());
    let references =
        References::new(&header, reference.as_ref(), &Cache::default(), &Ledger::unlimited()).unwrap();
    let setup = Arc::new(Setup::new(reader.version(), &header, references, b"x.cram")?);
    let (mut decoder, mut link) = (Decoder::new(setup), ChunkLinker::new(Limit::of_bytes(1 << 28)));
    let (mut ended, wanted) = (false, wanted.into());
    while !ended {
        let container = reader.claim(Vec::new())?;
        ended = container.is_none();
        let linked = match container {
            Some(container) => {
                let mut opened = OpenedChunk::reuse(Batch::default());
                decoder.open(&container, wanted, &mut opened);
                link.link_chunk(opened)
            }
            None => link.finish_input(Batch::default()),
        };
        let records = linked.batch.check(0, header.n_ref())?;
        for (_, record) in records.records() {
            let mut text = Vec::new();
            sam::write_record(&header, record, &mut text);
            lines.push(String::from_utf8_lossy(text.strip_suffix(b"\n").unwrap_or(&text)).into_owned());
        }
        linked.fault.map_or(Ok(()), Err)?;
    }
    Ok(())
}

fn bases(contig: usize, from: usize, n: usize) -> String {
    String::from_utf8_lossy(&sequences()[contig].1[from - 1..from - 1 + n]).to_ascii_uppercase()
}

/// Returns `bases` with those at the given positions replaced.
fn changed(bases: &str, at: &[(usize, char)]) -> String {
    let replaced = |(i, base)| at.iter().find(|(at, _)| *at == i).map_or(base, |(_, new)| *new);
    bases.chars().enumerate().map(replaced).collect()
}

/// Returns a base other than `base`.
fn other(base: &str) -> char {
    if base == "A" { 'C' } else { 'A' }
}

/// Returns reads of many kinds. MD, NM and RG are their last fields, where decoding puts them.
fn zoo() -> Vec<String> {
    let q = |n: usize| "I".repeat(n);
    let plain = bases(0, 100, 20);
    let mismatch = changed(&plain, &[(5, other(&plain[5..6]))]);
    let (was, deleted) = (&plain[5..6], bases(0, 310, 3));
    let clipped = format!("GG{}", bases(0, 200, 8));
    let inserted = format!("{}TT{}", bases(0, 220, 5), bases(0, 225, 5));
    let gap = format!("{}{}", bases(0, 300, 10), bases(0, 313, 10));
    let spliced = format!("{}{}", bases(0, 400, 5), bases(0, 1405, 5));
    let unknown = changed(&bases(0, 500, 10), &[(0, 'N'), (3, 'M'), (4, '=')]);
    let odd = bases(1, 1, 60);
    let beyond = format!("{}ACGTA", bases(1, 56, 5));
    let [u0, u3, u4] = [0, 3, 4].map(|i| bases(0, 500 + i, 1));
    let tags = "XA:A:c\tX0:i:-5\tX1:i:300\tX2:i:-70000\tX3:f:1.5\tX4:Z:text of it\tX5:H:1AE3\tX6:B:c,-1,2\tX7:B:I,1,4000000000\tX8:B:f,1.25\tX9:Z:";
    vec![
        format!("same\t0\tone\t100\t60\t20M\t*\t0\t0\t{plain}\t{}\tMD:Z:20\tNM:i:0\tRG:Z:g1", q(20)),
        format!(
            "mismatch\t16\tone\t100\t60\t20M\t*\t0\t0\t{mismatch}\t{}\tMD:Z:5{was}14\tNM:i:1",
            q(20)
        ),
        format!("wrongmd\t0\tone\t100\t60\t20M\t*\t0\t0\t{mismatch}\t{}\tNM:i:7\tMD:Z:20", q(20)),
        format!("nomd\t0\tone\t100\t60\t20M\t*\t0\t0\t{mismatch}\t{}\tXX:i:1", q(20)),
        format!("nonm\t0\tone\t101\t60\t19M\t*\t0\t0\t{}\t{}\tMD:Z:19", bases(0, 101, 19), q(19)),
        format!("pair\t99\tone\t110\t60\t20M\t=\t150\t60\t{}\t*\tRG:Z:g2", bases(0, 110, 20)),
        format!("pair\t147\tone\t150\t3\t20M\t=\t110\t-60\t{}\t*\tRG:Z:nowhere", bases(0, 150, 20)),
        format!("tlen\t99\tone\t160\t60\t20M\t=\t170\t31\t{}\t*", bases(0, 160, 20)),
        format!("tlen\t147\tone\t170\t3\t20M\t=\t160\t-30\t{}\t*", bases(0, 170, 20)),
        format!("half\t73\tone\t180\t60\t20M\t=\t180\t0\t{}\t*", bases(0, 180, 20)),
        format!("half\t133\tone\t180\t0\t*\t=\t180\t0\tACGTN\tABCDE\t{tags}"),
        format!("high\t0\tone\t190\t255\t5M\t*\t0\t0\t{}\t*", bases(0, 190, 5)),
        format!("clip\t0\tone\t200\t60\t3H2S8M\t*\t0\t0\t{clipped}\t{}\tMD:Z:8\tNM:i:0", q(10)),
        format!("insert\t0\tone\t220\t60\t5M2I5M\t*\t0\t0\t{inserted}\t{}\tMD:Z:10\tNM:i:2", q(12)),
        format!(
            "delete\t0\tone\t300\t60\t10M3D10M\t*\t0\t0\t{gap}\t{}\tMD:Z:10^{deleted}10\tNM:i:3",
            q(20)
        ),
        format!("pad\t0\tone\t300\t60\t10M1P3D10M\t*\t0\t0\t{gap}\t*\tMD:Z:10^{deleted}10\tNM:i:3"),
        format!("skip\t0\tone\t400\t60\t5M1000N5M\t*\t0\t0\t{spliced}\t{}\tMD:Z:10\tNM:i:0", q(10)),
        format!(
            "letters\t0\tone\t500\t60\t10M\t*\t0\t0\t{unknown}\t{}\tMD:Z:0{u0}2{u3}0{u4}5\tNM:i:3",
            q(10)
        ),
        "noseq\t256\tone\t500\t60\t5S5M5I\t*\t0\t0\t*\t*\tNM:i:2".to_string(),
        "single\t4\tone\t500\t0\t*\t*\t0\t0\t*\t*\tXX:Z:x".to_string(),
        format!("ambiguous\t0\todd\t1\t60\t60M\t*\t0\t0\t{odd}\t{}\tMD:Z:10N0N48\tNM:i:2", q(60)),
        format!("beyond\t0\todd\t56\t60\t10M\t*\t0\t0\t{beyond}\t{}\tMD:Z:5\tNM:i:5", q(10)),
        format!("far\t65\todd\t5\t60\t5M\tone\t100\t0\t{}\t*", bases(1, 5, 5)),
        "lost\t77\t*\t0\t0\t*\t*\t0\t0\tACGT\tIIII".to_string(),
        "lost\t141\t*\t0\t0\t*\t*\t0\t0\tACGTA\tIIIII\tRG:Z:g1".to_string(),
        "empty\t4\t*\t0\t0\t*\t*\t0\t0\t*\t*".to_string(),
    ]
}

#[test]
fn reads_of_all_sorts_come_back() {
    let desk = desk();
    let file = encode(&batch(&zoo()), Some(references(&desk))).unwrap();
    let (lines, error) = decode(&file, Some(&desk));
    assert_eq!(error, None);
    assert_eq!(lines, zoo());
}

/// The MD5 check covers the bases that the reads need, and those between them.
#[test]
fn another_reference_is_told_though_only_the_last_reads_differ() {
    let desk = desk();
    let far = format!("far\t0\tone\t1500\t60\t5M\t*\t0\t0\t{}\t*", bases(0, 1500, 5));
    let file = encode(&batch(&[zoo()[0].clone(), far]), Some(references(&desk))).unwrap();
    assert_eq!(decode(&file, Some(&desk)).0.len(), 2);
    let text = std::fs::read_to_string(&desk.reference).unwrap();
    let mut lines: Vec<_> = text.lines().map(str::to_string).collect();
    let between = &mut lines[1 + 700 / 50];
    *between = changed(between, &[(0, other(&between[..1]))]);
    std::fs::write(&desk.reference, lines.join("\n") + "\n").unwrap();
    let (lines, error) = decode(&file, Some(&desk));
    assert!(lines.is_empty(), "{lines:?}");
    let error = error.unwrap().to_string();
    assert!(
        error.contains("the reference differs from the reference of the CRAM data at one:100-1504"),
        "{error}"
    );
}

#[test]
fn long_cigars_come_back() {
    let desk = desk();
    let cigar: String = std::iter::repeat_n("1M1I", 33_000).collect();
    let seq: String = std::iter::repeat_n("AC", 33_000).collect();
    let lines = [format!("long\t0\tone\t600\t60\t{cigar}\t*\t0\t0\t{seq}\t*\tXX:i:1")];
    let (back, error) = decode(&encode(&batch(&lines), Some(references(&desk))).unwrap(), Some(&desk));
    assert_eq!(error, None);
    assert!(back == lines, "{}…", &back[0][..100]);
}

#[test]
fn long_reads_without_qualities_come_back_without_a_reference() {
    let seq = "ACGTTGCA".repeat(150_000);
    let lines = [format!("long\t0\tone\t600\t60\t{}M\t*\t0\t0\t{seq}\t*", seq.len())];
    let (back, error) = decode(&encode(&batch(&lines), None).unwrap(), None);
    assert_eq!(error, None);
    assert!(back[0].starts_with(&lines[0]), "{}…", &back[0][..100]);
}

#[test]
fn read_groups_that_are_given_twice_stay_in_their_order() {
    let lines = ["r\t4\t*\t0\t0\t*\t*\t0\t0\tACGT\tIIII\tRG:Z:g1\tXX:i:1\tRG:Z:g2".to_string()];
    let (back, _) = decode(&encode(&batch(&lines), None).unwrap(), None);
    assert_eq!(back, lines);
}

/// Decoders take the number of this read group for that of reads without one if it is the last.
#[test]
fn the_read_group_unknown_comes_back() {
    for ids in [&["g1", "UNKNOWN"][..], &["UNKNOWN", "g1"], &["UNKNOWN"]] {
        let groups = ids.iter().map(|id| format!("@RG\tID:{id}\n"));
        let header = Header::parse(String::from_iter(groups).as_bytes()).unwrap();
        let read = |id: &&str| format!("r\t4\t*\t0\t0\t*\t*\t0\t0\tACGT\tIIII\tRG:Z:{id}");
        let lines: Vec<String> = ids.iter().map(read).collect();
        let file = encode_with(&header, &batch_with(&header, &lines), None).unwrap();
        assert_eq!(decode(&file, None), (lines, None));
    }
}

/// BAM allows an empty name. Readers of CRAM would replace it with a name of their own.
#[test]
fn a_read_without_a_name_comes_back_without_one() {
    let line = |name: &str| format!("{name}\t4\t*\t0\t0\t*\t*\t0\t0\tACGT\tIIII");
    let named = batch(&[line("r")]);
    let mut raw = named.record(named.spans[0]).raw().to_vec();
    raw.remove(36);
    raw[0] -= 1; // the size of the record
    raw[12] = 1; // the length of its name, including the NUL
    let mut nameless = Batch::default();
    nameless.push(&raw, Stamp::default()).unwrap();
    assert_eq!(decode(&encode(&nameless, None).unwrap(), None), (vec![line("*")], None));
}

#[test]
fn what_is_lost_of_unmapped_reads_is_what_samtools_loses() {
    let desk = desk();
    let lines = ["r\t4\tone\t5\t60\t4M\t*\t0\t0\tACGT\tIIII".to_string()];
    let (back, _) = decode(&encode(&batch(&lines), Some(references(&desk))).unwrap(), Some(&desk));
    assert_eq!(back, ["r\t4\tone\t5\t0\t*\t*\t0\t0\tACGT\tIIII"], "MAPQ and CIGAR");
}

#[test]
fn all_bases_can_be_stored() {
    let file = encode(&batch(&zoo()), None).unwrap();
    let (lines, error) = decode(&file, None);
    assert_eq!(error, None);
    let sorted = |lines: &[String]| -> Vec<Vec<String>> {
        let fields = |line: &String| {
            let mut fields: Vec<String> = line.split('\t').map(String::from).collect();
            fields[11..].sort_unstable();
            fields
        };
        lines.iter().map(fields).collect()
    };
    assert_eq!(sorted(&lines), sorted(&zoo()), "but for the order of fields");
}

#[test]
fn contigs_with_many_reads_have_containers_of_their_own() {
    let desk = desk();
    let read = |i: usize, contig: &str, at: usize| {
        let index = usize::from(contig == "odd");
        format!("r{i}\t0\t{contig}\t{at}\t60\t5M\t*\t0\t0\t{}\t*", bases(index, at, 5))
    };
    let mut lines: Vec<String> = (0..1500).map(|i| read(i, "one", 1 + i)).collect();
    lines.extend((0..10).map(|i| read(i, "odd", 1 + i / 2)));
    lines.extend((0..10).map(|i| format!("u{i}\t4\t*\t0\t0\t*\t*\t0\t0\tACGT\t*")));
    let batch = batch(&lines);
    let writing = EncoderOptions::new(
        &header(),
        Version::DEFAULT,
        Some(references(&desk)),
        6,
        &Ledger::unlimited(),
    );
    let mut bytes = Vec::new();
    let encoded = Encoder::new(&writing).encode_partition(&batch, &mut bytes).unwrap();
    let found: Vec<Vec<(i32, i64, i64)>> = encoded
        .index_entries()
        .map(|(_, entries)| entries.iter().map(|it| (it.contig, it.start, it.span)).collect())
        .collect();
    assert_eq!(found, [vec![(0, 1, 1504)], vec![(1, 1, 9), (-1, 0, 0)]]);
    let (back, error) = decode(&encode(&batch, Some(references(&desk))).unwrap(), Some(&desk));
    assert_eq!((back, error), (lines, None));
}

#[test]
fn what_cram_cannot_hold_is_refused() {
    let desk = desk();
    let mut batch = batch(&[format!("r\t0\tone\t1\t60\t5M\t*\t0\t0\t{}\t*", bases(0, 1, 5))]);
    let place = batch.spans[0].start as usize;
    batch.bytes[place + 8..place + 12].copy_from_slice(&(-1i32).to_le_bytes());
    let error = encode(&batch, Some(references(&desk))).unwrap_err();
    assert!(error.to_string().contains("without a position"), "{error}");
}

/// A slice header has 32 bits for the number of bases that its reads span.
#[test]
fn a_read_that_ends_beyond_the_last_base_is_refused_and_not_written_so_that_nobody_can_read_it() {
    let far = |n: usize| {
        let (cigar, seq) = (format!("5M{}{n}M", "268435455N".repeat(8)), "A".repeat(5 + n));
        format!("far\t0\tone\t1\t60\t{cigar}\t*\t0\t0\t{seq}\t*")
    };
    // 5 + 8 * 268,435,455 + 2 is 2,147,483,647.
    let last = vec![far(2)];
    assert_eq!(decode(&encode(&batch(&last), None).unwrap(), None), (last, None));
    let error = encode(&batch(&[far(3)]), None).unwrap_err().to_string();
    assert!(error.contains("ends beyond base 2,147,483,647") && error.contains("far"), "{error}");
}

#[test]
fn reads_without_bases_keep_their_cigar() {
    let cigars = ["5M", "7S5M", "5M9I2S", "1S4M1I", "1000S5M", "3H300000S5M2D1I4P1M", "3000000M"];
    let line = |cigar: &&str| format!("r\t0\tone\t1\t60\t{cigar}\t*\t0\t0\t*\t*");
    let lines: Vec<String> = cigars.iter().map(line).collect();
    let desk = desk();
    for references in [None, Some(references(&desk))] {
        let (back, error) = decode(&encode(&batch(&lines), references).unwrap(), Some(&desk));
        assert_eq!((back, error), (lines.clone(), None));
    }
}

/// A few bytes of CIGAR can stand for any number of bases, which CRAM stores one by one.
#[test]
fn unknown_bases_beyond_the_memory_are_refused() {
    let line = |bases: u32| format!("long\t0\tone\t1\t60\t5M{bases}I\t*\t0\t0\t*\t*");
    let within = |bytes: u64, lines: &[String]| {
        let ledger = Ledger::with_capacity(bytes);
        let writing = EncoderOptions::new(&header(), Version::DEFAULT, None, 6, &ledger);
        Encoder::new(&writing).encode_partition(&batch(lines), &mut Vec::new()).map(drop)
    };
    within(1 << 20, &[line(100)]).unwrap();
    within(64 << 20, &[line(5 << 20)]).unwrap();
    let error = within(64 << 20, &[line(200 << 20)]).unwrap_err().to_string();
    assert!(error.contains("unknown bases of reads without SEQ"), "{error}");
    let error = within(u64::MAX, &[line(200 << 20).replace("5M", &"268435455I1P".repeat(8))]);
    let error = error.unwrap_err().to_string();
    assert!(
        error.contains("a read of more than 2,147,483,647 bases") && error.contains("long"),
        "{error}"
    );
}

/// Tag lists and names are NUL-separated.
#[test]
fn names_with_a_nul_are_refused_and_not_written_so_that_nobody_can_read_them() {
    let good = batch(&["read\t4\t*\t0\t0\t*\t*\t0\t0\tACGT\t*\tXX:i:1".to_string()]);
    let with = |at: &[u8]| {
        let mut batch = batch(&["read\t4\t*\t0\t0\t*\t*\t0\t0\tACGT\t*\tXX:i:1".to_string()]);
        let place = memchr::memmem::find(&batch.bytes, at).unwrap() + 1;
        batch.bytes[place] = 0;
        batch
            .records()
            .for_each(|(_, it)| assert_eq!(RecordRef::check(it.raw(), header().n_ref()), Ok(())));
        encode(&batch, None).unwrap_err().to_string()
    };
    assert!(encode(&good, None).is_ok());
    let (name, tag) = (with(b"read"), with(b"XX"));
    assert!(name.contains("a name with a NUL"), "{name}");
    assert!(tag.contains("an optional field whose name has a NUL"), "{tag}");
}

#[test]
fn a_reference_that_is_missing_or_another_is_told() {
    let desk = desk();
    let file = encode(&batch(&zoo()[..1]), Some(references(&desk))).unwrap();
    let (_, error) = decode(&file, None);
    let error = error.unwrap();
    assert!(
        error.what.contains("contig one") && error.hint.as_ref().unwrap().contains("--reference"),
        "{error}"
    );
    let text = std::fs::read_to_string(&desk.reference).unwrap();
    let at = text.find('\n').unwrap() + 1 + 50 * 2 + 3; // in the third line
    let mut text = text.into_bytes();
    text[at] = if text[at] == b'A' { b'C' } else { b'A' };
    std::fs::write(&desk.reference, text).unwrap();
    let (_, error) = decode(&file, Some(&desk));
    assert!(error.unwrap().what.contains("the reference differs"));
}

#[test]
fn cut_files_are_told() {
    let desk = desk();
    let file = encode(&batch(&zoo()), Some(references(&desk))).unwrap();
    for end in (0..file.len()).filter(|end| end % 7 == 0 || file.len() - end < 50) {
        let (_, error) = decode(&file[..end], Some(&desk));
        assert!(error.is_some(), "cut at {end}");
    }
}

/// Returns the ranges of a file that a checksum covers; each checksum follows its range.
fn covered(file: &[u8]) -> Vec<std::ops::Range<usize>> {
    let (mut ranges, mut at) = (Vec::new(), 26);
    while at < file.len() {
        let (header, taken) = ContainerHeader::read(&file[at..], Version::DEFAULT).unwrap();
        ranges.push(at..at + taken - 4);
        at += taken;
        let end = at + header.length;
        while at < end {
            let mut cursor = ByteCursor(&file[at..end]);
            CramBlock::read(&mut cursor, Version::DEFAULT).unwrap();
            let next = end - cursor.0.len();
            ranges.push(at..next - 4);
            at = next;
        }
    }
    ranges
}

#[test]
fn damage_is_told_by_checksums_and_does_no_harm_without() {
    let desk = desk();
    let file = encode(&batch(&zoo()), Some(references(&desk))).unwrap();
    let mut ranges = covered(&file);
    ranges.pop(); // the content of the last container has no meaning
    for range in ranges {
        for at in range.clone() {
            let bit = 1 << (at % 8);
            let mut damaged = file.clone();
            damaged[at] ^= bit;
            let (_, error) = decode(&damaged, Some(&desk));
            assert!(error.is_some(), "a flipped bit at {at}");
            // The same with a matching checksum: reading ends, with or without an error.
            let checksum = crc32fast::hash(&damaged[range.clone()]);
            damaged[range.end..][..4].copy_from_slice(&checksum.to_le_bytes());
            decode(&damaged, Some(&desk));
        }
    }
}

#[test]
fn a_header_that_inflates_beyond_the_memory_is_refused_before_it_does() {
    use std::io::Write;
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    let size = 64 << 20;
    gzip.write_all(&vec![0; size]).unwrap();
    let (data, mut blocks) = (gzip.finish().unwrap(), Vec::new());
    crate::block::write_block(ContentType::FileHeader, 0, Method::Gzip, size, &data, &mut blocks);
    let header = ContainerHeader { length: blocks.len(), blocks: 1, ..Default::default() };
    let mut file = header_container(&self::header(), Version::DEFAULT).unwrap()[..26].to_vec();
    header.write(&mut file);
    file.extend(blocks);
    assert!(file.len() < 1 << 20);
    let ledger = Ledger::with_capacity(20 << 20);
    let error = Reader::open(Box::new(Cursor::new(file)), false, Limit::of_bytes(10 << 20), &ledger)
        .err()
        .unwrap();
    assert!(error.to_string().starts_with("headers: needs 65 MiB"), "{error}");
    assert_eq!(ledger.peak(), 0);
}

/// Regression test: htsjdk files were once refused, because htsjdk does not count the compression
/// header and the slice headers as blocks.
#[test]
fn blocks_that_a_container_does_not_count_are_charged_and_read() {
    let desk = desk();
    let file = encode(&batch(&zoo()), Some(references(&desk))).unwrap();
    let whole = decode(&file, Some(&desk)).0;
    let at = header_container(&header(), Version::DEFAULT).unwrap().len();
    let (mut container, taken) = ContainerHeader::read(&file[at..], Version::DEFAULT).unwrap();
    let blocks = container.blocks;
    for counted in [blocks, blocks - 2, 1] {
        container.blocks = counted;
        let mut other = file[..at].to_vec();
        container.write(&mut other);
        other.extend_from_slice(&file[at + taken..]);
        let ledger = Ledger::unlimited();
        let input = Box::new(Cursor::new(other.clone()));
        let mut reader = Reader::open(input, false, Limit::of_bytes(1 << 28), &ledger).unwrap();
        let claimed = reader.claim(Vec::new()).unwrap().unwrap();
        assert_eq!(claimed.sizes().blocks, blocks, "{counted} are counted");
        let (lines, error) = decode(&other, Some(&desk));
        assert!(error.is_none() && lines == whole, "{counted} of {blocks}: {error:?}");
    }
    container.blocks = blocks + 1;
    let mut damaged = file[..at].to_vec();
    container.write(&mut damaged);
    damaged.extend_from_slice(&file[at + taken..]);
    assert!(decode(&damaged, Some(&desk)).1.is_some(), "a block is missing");
}
