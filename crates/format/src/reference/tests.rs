use std::path::{Path, PathBuf};

use readmill_simulate::Rng;

use super::*;
use crate::bgzf::{Codec, Deflater, EOF_BLOCK};

/// Contigs of all edge-case lengths, with all letters.
fn contigs() -> Vec<(String, Vec<u8>)> {
    let letters = b"ACGTacgtNnRyM-";
    let mut random = Rng::new(7);
    let mut bases = |n: usize| -> Vec<u8> { (0..n).map(|_| random.pick(letters)).collect() };
    [1, 59, 60, 61, 120, 4096, 4097, 8192, 200_000, 30]
        .iter()
        .enumerate()
        .map(|(i, &n)| (format!("c{i}"), bases(n)))
        .collect()
}

fn fasta(line: usize, end: &str) -> Vec<u8> {
    let mut text = Vec::new();
    for (name, bases) in contigs() {
        text.extend_from_slice(format!(">{name} about {name}{end}").as_bytes());
        for piece in bases.chunks(line) {
            text.extend_from_slice(piece);
            text.extend_from_slice(end.as_bytes());
        }
    }
    text
}

fn bgzf(text: &[u8]) -> Vec<u8> {
    let (mut out, mut deflater) = (Vec::new(), Deflater::new(Codec::default(), 1));
    text.chunks(20_000).for_each(|piece| deflater.deflate_block(piece, &mut out));
    out.extend_from_slice(&EOF_BLOCK);
    out
}

fn fai(line: usize, end: &str) -> String {
    let (mut at, mut out) = (0, String::new());
    for (name, bases) in contigs() {
        at += format!(">{name} about {name}{end}").len();
        out += &format!("{name}\t{}\t{at}\t{line}\t{}\n", bases.len(), line + end.len());
        at += bases.len() + bases.len().div_ceil(line) * end.len();
    }
    out
}

fn open(path: impl AsRef<Path>) -> Result<Reference> {
    Reference::open(path.as_ref(), &Ledger::unlimited())
}

struct Dir(tempfile::TempDir);

impl Dir {
    fn new() -> Self {
        Dir(tempfile::tempdir().unwrap())
    }

    fn put(&self, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.0.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        path
    }
}

fn code(base: u8) -> u8 {
    b"ACGT".iter().position(|b| b.eq_ignore_ascii_case(&base)).unwrap_or(4) as u8
}

/// Requests ranges in order and in random order.
fn check(reference: &Reference) {
    let mut window = reference.code_window();
    let all = contigs();
    for ((name, bases), contig) in all.iter().zip(reference.contigs()) {
        assert_eq!((name.as_bytes(), bases.len()), (contig.0, contig.1 as usize));
    }
    let mut random = Rng::new(1);
    for turn in 0..6000u64 {
        let contig = if turn < 3000 { 8 } else { random.index(all.len()) };
        let bases = &all[contig].1;
        let start = if turn < 3000 { turn as usize * 66 } else { random.index(bases.len()) };
        let end = (start + random.index(400)).min(bases.len());
        let expected: Vec<u8> = bases[start..end].iter().map(|&base| code(base)).collect();
        assert_eq!(
            window.codes(contig as u32, start as u32, end as u32).unwrap(),
            expected,
            "{contig}:{start}-{end}"
        );
    }
    let whole = window.codes(8, 0, 200_000).unwrap();
    assert!(whole.iter().zip(&all[8].1).all(|(&is, &base)| is == code(base)));
    assert!(window.codes(0, 0, 2).unwrap_err().to_string().contains("base 2 of contig c0"));
}

#[test]
fn bases_are_those_of_the_file_however_it_is_laid_out() {
    let dir = Dir::new();
    for (line, end) in [(60, "\n"), (60, "\r\n"), (1, "\n"), (70, "\n"), (1_000_000, "\n")] {
        let text = fasta(line, end);
        let path = dir.put("a.fa", &text);
        std::fs::write(dir.0.path().join("a.fa.fai"), fai(line, end)).unwrap();
        let reference = open(&path).unwrap();
        assert!(reference.notes().is_empty(), "{:?}", reference.notes());
        check(&reference);
        std::fs::remove_file(dir.0.path().join("a.fa.fai")).unwrap();
        let made = open(&path).unwrap();
        assert_eq!(made.notes().len(), 1);
        check(&made);
        let packed = open(dir.put("b.fa.gz", bgzf(&text))).unwrap();
        assert_eq!(packed.notes().len(), 2);
        check(&packed);
    }
}

/// The .gzi of the output of [`bgzf`].
fn gzi(packed: &[u8]) -> Vec<u8> {
    let (mut at, mut text, mut entries) = (0, 0u64, Vec::new());
    while at < packed.len() {
        at += usize::from(u16::from_le_bytes([packed[at + 16], packed[at + 17]])) + 1;
        text += u64::from(u32::from_le_bytes(packed[at - 4..at].try_into().unwrap()));
        entries.push((at as u64, text));
    }
    entries.truncate(entries.len() - 2); // neither the end nor the EOF block
    let mut out = (entries.len() as u64).to_le_bytes().to_vec();
    for (file, text) in entries {
        out.extend([file.to_le_bytes(), text.to_le_bytes()].concat());
    }
    out
}

#[test]
fn a_gzi_index_is_used_if_it_fits() {
    let dir = Dir::new();
    let packed = bgzf(&fasta(60, "\n"));
    let path = dir.put("a.fa.gz", &packed);
    dir.put("a.fa.gz.fai", fai(60, "\n"));
    dir.put("a.fa.gz.gzi", gzi(&packed));
    let reference = open(&path).unwrap();
    assert!(reference.notes().is_empty(), "{:?}", reference.notes());
    check(&reference);
    dir.put("a.fa.gz.gzi", &gzi(&packed)[..8 + 16 * 3]);
    assert!(open(&path).unwrap_err().to_string().contains("gzi"));
    let mut few = gzi(&packed)[..8 + 16 * 3].to_vec();
    few[0] = 3;
    dir.put("a.fa.gz.gzi", few);
    let reference = open(&path).unwrap();
    assert!(reference.notes()[0].contains("gzi does not match"), "{:?}", reference.notes());
    check(&reference);
    dir.put("a.fa.gz.gzi", gzi(&packed));
    dir.put("a.fa.gz", &packed[..packed.len() - 28]);
    assert!(open(&path).unwrap_err().to_string().contains("EOF block"));
}

#[test]
fn an_index_of_another_file_is_noticed() {
    let dir = Dir::new();
    let path = dir.put("a.fa", fasta(60, "\n"));
    dir.put("a.fa.fai", fai(60, "\n").replace("c4\t", "x4\t"));
    let reference = open(&path).unwrap();
    assert!(reference.notes()[0].contains("does not match the reference at contig x4"));
    check(&reference);
    dir.put("a.fa.fai", fai(70, "\n"));
    assert_eq!(open(&path).unwrap().notes().len(), 1);
    dir.put("a.fa.fai", fai(60, "\n"));
    dir.put("a.fa", &fasta(60, "\n")[..150_000]);
    let error = open(&path).unwrap_err().to_string();
    assert!(error.contains("ends before the end of contig c8") && error.contains("a.fa.fai"), "{error}");
    dir.put("a.fa.fai", "nonsense\n");
    assert!(open(&path).unwrap_err().to_string().contains("not a .fai"));
}

#[test]
fn an_index_whose_numbers_cannot_be_is_refused() {
    let dir = Dir::new();
    let path = dir.put("a.fa", fasta(60, "\n"));
    for line in [
        "c1\t40\t18446744073709551615\t40\t41\n",
        "c1\t40\t9223372036854775808\t40\t41\n",
        "c1\t40\t3\t40\t18446744073709551615\n",
        "c1\t18446744073709551615\t3\t1\t2\n",
    ] {
        dir.put("a.fa.fai", line);
        let error = open(&path).unwrap_err().to_string();
        assert!(error.contains("contig c1 has an invalid length, offset or line length"), "{error}");
    }
    dir.put("a.fa.fai", "c1\t40\t9223372036854775807\t40\t41\n");
    assert!(
        open(&path).unwrap_err().to_string().contains("the reference ends before the end of contig")
    );
}

#[test]
fn what_gives_no_random_access_is_refused() {
    use std::io::Write;
    let dir = Dir::new();
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(b">c\nACGT\n").unwrap();
    let path = dir.put("a.fa.gz", gzip.finish().unwrap());
    assert!(open(&path).unwrap_err().to_string().contains("bgzip"));
    let uneven = dir.put("b.fa", ">c\nACGT\nAC\nACGT\n");
    assert!(open(&uneven).unwrap_err().to_string().contains("contig c"));
    for bad in ["", "no fasta\n"] {
        assert!(open(dir.put("c.fa", bad)).is_err(), "{bad}");
    }
    assert!(open(Path::new("/nonexistent.fa")).unwrap_err().to_string().contains("nonexistent"));
}

#[test]
fn contigs_are_matched_by_name() {
    let dir = Dir::new();
    let reference = open(dir.put("a.fa", fasta(60, "\n"))).unwrap();
    let header = |text: &str| Header::parse(text.as_bytes()).unwrap();
    let found =
        reference.match_contigs(&header("@SQ\tSN:c3\tLN:61\n@SQ\tSN:other\tLN:9\n@SQ\tSN:c1\tLN:0\n"));
    assert_eq!(found.unwrap(), [Some(3), None, Some(1)]);
    let error = reference.match_contigs(&header("@SQ\tSN:c3\tLN:62\n")).unwrap_err().to_string();
    assert!(error.contains("contig c3 has 61 bases here, but 62"), "{error}");
    let error = reference.match_contigs(&header("@SQ\tSN:chr3\tLN:61\n")).unwrap_err().to_string();
    assert!(error.contains("no contig in common"), "{error}");
    assert!(reference.match_contigs(&header("")).unwrap().is_empty());
}

#[test]
fn the_index_of_many_contigs_is_charged_or_refused() {
    let dir = Dir::new();
    let (mut text, mut fai) = (String::new(), String::new());
    for i in 0..20_000 {
        text += &format!(">c{i}\n");
        fai += &format!("c{i}\t4\t{}\t4\t5\n", text.len());
        text += "ACGT\n";
    }
    let path = dir.put("a.fa", text);
    for index in [None, Some(fai)] {
        index.map(|fai| dir.put("a.fa.fai", fai));
        let ledger = Ledger::with_capacity(8 << 20);
        let reference = Reference::open(&path, &ledger).unwrap();
        assert!(ledger.used() > 20_000 * 60, "{ledger:?}");
        drop(reference);
        assert_eq!(ledger.used(), 0);
        let error = Reference::open(&path, &Ledger::with_capacity(3 << 19)).unwrap_err();
        assert!(error.to_string().contains("needs"), "{error}");
    }
}

#[test]
fn a_name_without_end_is_refused() {
    let text = [&b">"[..], &vec![b'x'; 3 << 20], b"\nACGT\n"].concat();
    let error = open(Dir::new().put("a.fa", text)).unwrap_err();
    assert!(error.to_string().contains("longer than 1 MiB"), "{error}");
}

/// Names, lengths and .fai of FASTA texts, as `samtools faidx` 1.24 writes them.
#[test]
fn odd_lines_are_indexed_as_by_samtools() {
    for (text, fai) in [
        (">a\nACGT\nACG\n\n>b\nAC\n", "a\t7\t3\t4\t5\nb\t2\t16\t2\t3\n"), // as human_g1k_v37
        (">a\r\nACGT\r\nACG\r\n\r\n>b\r\nAC\r\n", "a\t7\t4\t4\t6\nb\t2\t21\t2\t4\n"),
        (">a\nAC\n\n\n", "a\t2\t3\t2\t3\n"),
        (">a\nACGT\nACGT\n\n", "a\t8\t3\t4\t5\n"),
        ("\n\n>a\nACGT\n", "a\t4\t5\t4\t5\n"),
        (">a\nACGT", "a\t4\t3\t4\t5\n"),
        (">a\nACGT\nAC", "a\t6\t3\t4\t5\n"),
        (">a\nACGT  \nACGT  \nA\n", "a\t9\t3\t4\t7\n"),
        ("> \tq x\nAC\n", "q\t2\t7\t2\t3\n"),
        (">a\n>b\nAC\n", "b\t2\t6\t2\t3\n"),
        (">d\nAC\n>e\nA\n>d\nGGG\n", "d\t2\t3\t2\t3\ne\t1\t9\t1\t2\n"),
    ] {
        let dir = Dir::new();
        let path = dir.put("a.fa", text);
        let made = make_index(&path, &Ledger::unlimited()).unwrap();
        assert_eq!(String::from_utf8(made.fai.clone()).unwrap(), fai, "{text:?}");
        assert_eq!(made.notes.is_empty(), !text.starts_with(">d"), "{text:?}");
        dir.put("a.fa.fai", made.fai);
        assert!(open(&path).unwrap().notes().is_empty(), "{text:?}");
    }
}

#[test]
fn lines_that_cannot_be_indexed_are_named() {
    for (text, part) in [
        (">a\nAC\nACG\n", "line 3: contig a has a line of 4 bytes after lines of 3"),
        (">a\nAC\r\nAC\nAC\r\n", "line 3: contig a has a line of 3 bytes after lines of 4"),
        (">a\nACG\nAC\nACG\n", "line 4: contig a continues after a shorter or blank line"),
        (">a\nACGT\n\nACGT\n", "line 4: contig a continues after a shorter or blank line"),
        (">a\nAC\n>b\n", "contig b has no sequence"),
        (">a\nAC\n>\nAC\n", "line 3: a contig has no name"),
        (">a\nAC GT\nACGT\n", "line 2: a sequence contains a blank"),
        (";c\n>a\nAC\n", "not a FASTA file"),
        ("", "not a FASTA file"),
    ] {
        let error = open(Dir::new().put("a.fa", text)).unwrap_err().to_string();
        assert!(error.contains(part), "{text:?}: {error}");
    }
}
