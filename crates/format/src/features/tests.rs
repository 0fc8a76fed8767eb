use std::io::Write;

use readmill_record::header::Reference as Contig;

use super::*;

const VCF: &str = "##fileformat=VCFv4.2\n##contig=<ID=chr1,length=1000>\n##contig=<length=500,ID=chr2>\n\
    #CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\n";

fn put(name: &str, content: impl AsRef<[u8]>) -> (tempfile::TempDir, std::path::PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join(name);
    std::fs::write(&path, content).unwrap();
    (dir, path)
}

fn places(name: &str, content: impl AsRef<[u8]>) -> Result<Vec<(String, u32, u32)>> {
    let (_dir, path) = put(name, content);
    let mut features = Features::open(&path)?;
    let mut all = Vec::new();
    while let Some(place) = features.next_place()? {
        all.push((String::from_utf8_lossy(place.contig).into_owned(), place.start, place.end));
    }
    Ok(all)
}

fn vcf(records: &str) -> Result<Vec<(String, u32, u32)>> {
    places("a.vcf", format!("{VCF}{}", records.replace(' ', "\t")))
}

fn chr1(ranges: &[(u32, u32)]) -> Vec<(String, u32, u32)> {
    ranges.iter().map(|&(start, end)| ("chr1".to_string(), start, end)).collect()
}

fn refused(result: Result<Vec<(String, u32, u32)>>, why: &str) {
    let error = result.unwrap_err().to_string();
    assert!(error.contains(why), "{error:?} does not say {why:?}");
}

#[test]
fn a_variant_lies_where_gatk_sees_it() {
    let snv = "chr1 10 rs1 A C . . DB\n";
    let deletion = "chr1 10 . ACGT A 5 PASS AF=1 GT 0/1\n";
    let end = "chr1 10 . A <DEL> . . SVTYPE=DEL;END=20;X=1\n";
    let late = "chr1 10 . A <DEL> . . CIEND=3,4;END=20;END=30 GT END=5\n";
    let telomere = "chr1 0 . N <DEL> . . .\nchr1 0 . NAC N . . .\n";
    let not_end = "chr1 10 . AC A . . ENDS=5;CIEND=50;XEND=7 GT:END=9 1\n";
    let before = "chr1 10 . A <TRA> . . END=5\nchr1 10 . A <DEL> . . END=+12\n";
    let all = vcf(&[snv, deletion, end, late, telomere, not_end, before].concat()).unwrap();
    assert_eq!(
        all,
        chr1(&[(9, 10), (9, 13), (9, 20), (9, 30), (0, 0), (0, 2), (9, 11), (9, 9), (9, 12)])
    );
}

#[test]
fn bad_variants_are_named_by_their_line() {
    refused(vcf("chr1 5 . A C . . .\nchr1 x . A C . . .\n"), "line 6: POS is not a position");
    refused(vcf("chr1 5 . A C . .\n"), "line 5: a record has 8 columns at least, this one 7");
    refused(vcf("chr1 5 . A C . . END=4,5\n"), "END of INFO");
    refused(vcf("chr1 5 . A C . . END=.\n"), "END of INFO");
    refused(vcf("chr1 5 .  C . . .\n"), "REF or INFO is empty");
    refused(vcf("chr1 -5 . A C . . .\n"), "POS");
    refused(vcf("chr1 2147483648 . A C . . .\n"), "POS");
    refused(places("a.vcf", "##fileformat=VCFv4.2\nchr1\t5\n"), "#CHROM");
    refused(places("a.vcf", "##fileformat=VCFv4.2\n"), "inside its header");
    refused(places("a.vcf", "chr1\t5\t.\tA\tC\t.\t.\t.\n"), "not VCF");
    refused(places("a.vcf.gz", ""), "not VCF");
    assert!(vcf("").unwrap().is_empty());
}

#[test]
fn bed_is_read_as_htsjdk_reads_it() {
    let text = "browser position chr1\ntrack name=x\n#c\nchr1\t5\t9\tname\nchr1 7   8\nchr1\t20\n\n  \nchr1\t4\t4\r\n";
    let expected = chr1(&[(5, 9), (7, 8), (20, 21), (4, 4)]);
    assert_eq!(places("a.bed", text).unwrap(), expected);
    assert_eq!(places("a.txt", text).unwrap(), expected);
    refused(
        places("a.bed", "chr1\t5\t9\nchr1\t9\t5\n"),
        "line 2: a BED line ends (5) before it starts (9)",
    );
    refused(places("a.bed", "chr1\n"), "line 1: a BED line has");
    refused(places("a.bed", "chr1\t-1\t5\n"), "start");
}

#[test]
fn interval_lists_are_one_based_and_closed() {
    let header = "@HD\tVN:1.6\n@SQ\tSN:chr1\tLN:1000\n";
    let list = format!("{header}chr1\t5\t9\t+\tx\n\nchr1\t6\t5\t-\ty z\n");
    assert_eq!(places("a.interval_list", &list).unwrap(), chr1(&[(4, 9), (5, 5)]));
    for (bad, why) in [
        ("chr1\t5\t9\t+\n", "line 3: an interval has five columns"),
        ("chr1\t0\t9\t+\tx\n", "start"),
        ("chr1\t9\t7\t+\tx\n", "before it starts"),
        ("chr1\t5\t9\t.\tx\n", "strand"),
    ] {
        refused(places("a.interval_list", format!("{header}{bad}")), why);
    }
    refused(places("a.interval_list", "chr1\t5\t9\t+\tx\n"), "not an interval list");
}

/// BCF of records (contig number, 0-based start, length).
fn bcf(header: &str, records: &[(u32, i32, u32)]) -> Vec<u8> {
    let mut out = b"BCF\x02\x02".to_vec();
    out.extend((header.len() as u32 + 1).to_le_bytes());
    out.extend(header.as_bytes());
    out.push(0);
    for &(contig, start, length) in records {
        for field in [24 + 3, 5, contig, start as u32, length, 0, 0, 0] {
            out.extend(u32::to_le_bytes(field));
        }
        out.extend([7; 8]);
    }
    out
}

#[test]
fn bcf_says_its_places_in_binary() {
    let header = "##fileformat=VCFv4.2\n##contig=<ID=chr2,length=7,IDX=1>\n##contig=<ID=chr1,IDX=0>\n";
    let bytes = bcf(header, &[(0, 9, 4), (0, -1, 1), (0, 99, 1)]);
    assert_eq!(places("a.bcf", &bytes).unwrap(), chr1(&[(9, 13), (0, 0), (99, 100)]));
    let by_order = bcf("##contig=<ID=x>\n##contig=<ID=chr1>\n", &[(1, 5, 1)]);
    assert_eq!(places("a", by_order).unwrap(), chr1(&[(5, 6)]));
    refused(places("a.bcf", &bytes[..bytes.len() - 1]), "record 3: the file ends inside a record");
    refused(places("a.bcf", bcf(header, &[(2, 5, 1)])), "no contig number 2");
}

#[test]
fn compressed_files_are_told_by_content() {
    let text = format!("{VCF}chr1\t10\t.\tA\tC\t.\t.\t.\n");
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(text.as_bytes()).unwrap();
    let bytes = gzip.finish().unwrap();
    assert_eq!(places("sites", &bytes).unwrap(), chr1(&[(9, 10)]));
    refused(places("sites", &bytes[..bytes.len() - 3]), "cut short");
}

#[test]
fn another_build_is_noticed() {
    let contigs = |list: &[(&str, u32)]| -> Vec<Contig> {
        list.iter().map(|&(name, length)| Contig { name: name.into(), length }).collect()
    };
    let (_dir, path) = put("a.vcf", VCF);
    let features = Features::open(&path).unwrap();
    let check = |list: &[(&str, u32)]| features.dictionary().check(&contigs(list), &path);
    check(&[("chr1", 1000), ("chr9", 5)]).unwrap();
    check(&[("chr2", 0)]).unwrap();
    let error = check(&[("chr1", 1000), ("chr2", 501)]).unwrap_err().to_string();
    assert!(error.contains("contig chr2 has 500 bases here, but 501 in"), "{error}");
    let error = check(&[("1", 1000)]).unwrap_err().to_string();
    assert!(error.contains("no contig in common") && error.contains("chr1"), "{error}");
    let quoted = b"ID=HLA-A*01:01,assembly=\"a,b>=\",length=5>";
    assert_eq!(vcf::contig(quoted), (Some(&b"HLA-A*01:01"[..]), Some(&b"5"[..])));
}
