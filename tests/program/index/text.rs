//! Indexes of VCF, BED, GFF and FASTA; sequences, and dictionaries.

use std::io::Read;

use super::{index, refused, stored};
use crate::support::{TestDir, arg, readmill};

const VCF: &str = "##fileformat=VCFv4.2\n##contig=<ID=c1,length=70000>\n#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\n\
c1\t5\t.\tA\tG\t.\t.\t.\nc1\t20000\t.\tACGT\tA\t.\t.\tEND=60000\nc2\t7\t.\tA\tG\t.\t.\t.\n";
const BED: &str = "# comment\nc1\t0\t100\nc1\t50\t40000\nc2\t5\t6\n";
const GFF: &str =
    "##gff-version 3\nc1\ts\texon\t1\t9\t.\t+\t.\tID=1\nc1\ts\texon\t7\t20000\t.\t+\t.\tID=2\n";

fn inflated(bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    flate2::read::MultiGzDecoder::new(bytes).read_to_end(&mut out).unwrap();
    out
}

#[test]
fn the_content_decides() {
    // Lengths and CRCs of what tabix 1.16 wrote, inflated.
    type Case = (&'static str, &'static str, [(&'static str, usize, u32); 2]);
    let cases: [Case; 3] = [
        ("a.vcf.gz", VCF, [("-q", 234, 954_502_118), ("-c", 230, 1_936_401_162)]),
        ("a.bed.gz", BED, [("-q", 226, 3_506_040_749), ("-c", 230, 4_260_166_328)]),
        ("a.gff.gz", GFF, [("-q", 135, 3_888_306_082), ("-c", 143, 3_189_010_423)]),
    ];
    let dir = TestDir::new();
    for (name, text, expected) in cases {
        let file = dir.file(name, stored(text.as_bytes(), 0xff00));
        let other = dir.file("other.gz", stored(text.as_bytes(), 0xff00));
        for (flag, length, crc) in expected {
            let flags: &[&str] = if flag == "-c" { &["-c"] } else { &[] };
            let made = inflated(&index(&file, flags));
            assert_eq!((made.len(), crc32fast::hash(&made)), (length, crc), "{name} {flag}");
            assert!(inflated(&index(&other, flags)) == made, "{name} by its content");
        }
    }
    let done = readmill(["index", &arg(&dir.path("a.vcf.gz")), "-q"]);
    assert_eq!(done.code, Some(0));
    assert!(dir.path("a.vcf.gz.tbi").exists());
}

#[test]
fn borders_of_blocks_do_not_change_what_is_in_an_index() {
    let lines = (0..4_000u32).map(|i| format!("c{}\t{}\t{}\n", i / 1_000, i * 50, i * 50 + i % 70_000));
    let text: String = lines.collect();
    let dir = TestDir::new();
    for block in [7, 1_000, 0xff00] {
        let file = dir.file("a.bed.gz", stored(text.as_bytes(), block));
        let one = index(&file, &["-@", "1"]);
        assert!(index(&file, &["-@", "8"]) == one, "blocks of {block}");
        assert!(inflated(&one).starts_with(b"TBI\x01\x04\0\0\0"));
    }
    let without_end = dir.file("b.bed.gz", stored(text.trim_end().as_bytes(), 0xff00));
    assert!(inflated(&index(&without_end, &[])).len() > 100);
}

#[test]
fn text_that_cannot_be_indexed_is_refused() {
    let dir = TestDir::new();
    let file = |name: &str, text: &str| arg(&dir.file(name, stored(text.as_bytes(), 900)));
    let unsorted = file("a.bed.gz", "c1\t50\t60\nc1\t40\t45\n");
    refused(&dir, &["index", &unsorted], 2, &["a.bed.gz: line 2: the record is before", "sort -k1,1"]);
    let apart = file("b.bed.gz", "c1\t5\t6\nc2\t4\t5\nc1\t7\t8\n");
    refused(&dir, &["index", &apart], 2, &["line 3: the lines of c1 are not adjacent"]);
    let odd = file("c.vcf.gz", "##fileformat=VCFv4.2\nc1\tfive\t.\tA\tG\t.\t.\t.\n");
    refused(&dir, &["index", &odd], 2, &["line 2: this is not a VCF line"]);
    let far = file("d.bed.gz", "c1\t600000000\t600000001\n");
    refused(&dir, &["index", &far], 2, &["line 1", "beyond the maximum of this index type", "--csi"]);
    assert_eq!(readmill(["index", "-c", &far, "-q"]).code, Some(0));
    let plain = arg(&dir.file("plain.vcf", VCF));
    refused(&dir, &["index", &plain], 2, &["not compressed", "bgzip"]);
    let what = file("what.gz", "hello\nworld\n");
    refused(&dir, &["index", &what], 2, &["not a BAM", "--preset"]);
    refused(&dir, &["index", "-b", &file("e.bed.gz", BED)], 1, &["a BAI index cannot be made for BED"]);
}

const FASTA: &str = ">c1 first\nACGTNacgtn\nAC\n>c2\nGGGTT\n";

#[test]
fn a_fasta_gets_its_index_and_its_dictionary() {
    let dir = TestDir::new();
    let plain = arg(&dir.file("ref.fa", FASTA));
    let packed = arg(&dir.file("ref.fa.gz", stored(FASTA.as_bytes(), 16)));
    for file in [&plain, &packed] {
        let done = readmill(["faidx", file]);
        assert_eq!(done.code, Some(0), "{}", done.stderr);
        let fai = std::fs::read_to_string(format!("{file}.fai")).unwrap();
        assert_eq!(fai, "c1\t12\t10\t10\t11\nc2\t5\t28\t5\t6\n");
        std::fs::remove_file(format!("{file}.fai")).unwrap();
        let done = readmill(["faidx", file, "c2", "c1:5-11", "c1:12-"]);
        let again =
            std::fs::read_to_string(format!("{file}.fai")).expect("the index is written as by samtools");
        assert_eq!(again, fai);
        assert_eq!(
            String::from_utf8(done.stdout).unwrap(),
            ">c2\nGGGTT\n>c1:5-11\nNacgtnA\n>c1:12-\nC\n"
        );
        let done = readmill(["dict", file, "-u", "x", "-a", "hs1", "-s", "human"]);
        let text = String::from_utf8(done.stdout).unwrap();
        assert_eq!(
            text,
            "@HD\tVN:1.0\tSO:unsorted\n\
             @SQ\tSN:c1\tLN:12\tM5:72c8e36bf1def174ea294640e76c246d\tUR:x\tAS:hs1\tSP:human\n\
             @SQ\tSN:c2\tLN:5\tM5:d2088181cb4073814bd61bb9d3646069\tUR:x\tAS:hs1\tSP:human\n"
        );
    }
    assert!(dir.path("ref.fa.gz.gzi").exists() && !dir.path("ref.fa.gzi").exists());
    refused(&dir, &["faidx", &plain, "c3:1-5"], 1, &["no contig \"c3\"", "it has c1, c2"]);
    refused(&dir, &["faidx", &plain, "c1:x"], 1, &["is not a position"]);
    let ragged = arg(&dir.file("ragged.fa", ">c\nAC\nACGT\nA\n"));
    refused(&dir, &["faidx", &ragged], 2, &["ragged.fa", "line 3: contig c"]);
    refused(&dir, &["index", "-c", &plain], 1, &["a BAI or CSI index cannot be made for FASTA"]);
}

#[cfg(feature = "bwa")]
#[test]
fn index_says_which_files_of_a_reference_it_wrote() {
    let dir = TestDir::new();
    let file = arg(&dir.file("ref.fa", format!(">c\n{}\n", "ACGTTGCATTACAGGACCA".repeat(20))));
    let done = readmill(["index", &file]);
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    assert!(done.stderr.contains("ref.fa.amb, .ann, .pac and .bwt.2bit.64"), "{}", done.stderr);
    assert!(done.stderr.contains("ref.fa.fai"), "{}", done.stderr);
    let names = ["ref.fa", "ref.fa.amb", "ref.fa.ann", "ref.fa.bwt.2bit.64", "ref.fa.fai", "ref.fa.pac"];
    assert_eq!(dir.names(), names);
    let ragged = arg(&dir.file("ragged.fa", ">c\nACGTTGCATTACAGGACCA\nACGTTGCATTACAGGACCAACGT\nA\n"));
    let done = readmill(["index", &ragged]);
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    assert!(
        done.stderr.contains("warning: cannot write ") && done.stderr.contains("ragged.fa.fai"),
        "{}",
        done.stderr
    );
    assert!(!dir.path("ragged.fa.fai").exists());
}

/// A BCF file without samples: contigs with their numbers, and records as the number of a contig and a position, 0-based.
fn bcf(contigs: &[(&str, u32)], records: &[(u32, u32)]) -> Vec<u8> {
    let mut text = String::from("##fileformat=VCFv4.3\n##FILTER=<ID=PASS,Description=\"x\",IDX=0>\n");
    for (name, number) in contigs {
        text += &format!("##contig=<ID={name},length=100000,IDX={number}>\n");
    }
    text += "#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\n\0";
    let mut bytes = [&b"BCF\x02\x02"[..], &(text.len() as u32).to_le_bytes(), text.as_bytes()].concat();
    for (contig, position) in records {
        // ID is absent, two alleles of one base, FILTER is absent.
        let rest = [0x07, 0x17, b'A', 0x17, b'C', 0x00];
        let fixed = [24 + rest.len() as u32, 0, *contig, *position, 1, 0x7f80_0001, 2 << 16, 0];
        fixed.iter().for_each(|field| bytes.extend_from_slice(&field.to_le_bytes()));
        bytes.extend_from_slice(&rest);
    }
    stored(&bytes, 700)
}

#[test]
fn numbers_of_contigs_in_bcf_may_have_gaps() {
    let dir = TestDir::new();
    let file = dir.file("x.bcf", bcf(&[("a", 0), ("b", 2)], &[(0, 5), (0, 900), (2, 7)]));
    let made = inflated(&index(&file, &[]));
    // bcftools 1.24 writes an entry for each number up to the last.
    assert_eq!(
        made[..20],
        [&b"CSI\x01"[..], &[14, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0]].concat()
    );
    for (contigs, number, what) in [
        (&[("a", 0), ("b", 2)][..], 3, "contig number 3"),
        (&[("a", 0)], 300_000_000, "contig number 300000000"),
        (&[("a", 0), ("b", 300_000_000)], 300_000_000, "numbers (IDX) up to 300000000"),
    ] {
        let file = arg(&dir.file("bad.bcf", bcf(contigs, &[(0, 5), (number, 7)])));
        refused(&dir, &["index", &file, "-q"], 2, &[what]);
    }
}
