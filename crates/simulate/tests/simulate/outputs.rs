//! Tests of determinism, the header, the reference, the known sites and FASTQ.

use crate::common;

use common::{Record, raw, templates};
use readmill_simulate::{Profile, Sample};

/// Returns the FNV-1a hash of `bytes`.
fn fingerprint(bytes: &[u8]) -> u64 {
    let step = |hash: u64, &b: &u8| (hash ^ u64::from(b)).wrapping_mul(0x0100_0000_01B3);
    bytes.iter().fold(0xCBF2_9CE4_8422_2325, step)
}

#[test]
fn same_profile_same_bytes() {
    let profile = Profile::small().with_pairs(3000);
    assert_eq!(raw(profile.clone()), raw(profile.clone()));
    assert_ne!(raw(profile.clone()), raw(profile.with_seed(2)));
}

#[test]
fn bytes_never_change() {
    // If this fails, the same profile gives different files than before the change.
    assert_eq!(fingerprint(&raw(Profile::small().with_pairs(2000))), PINNED);
}

const PINNED: u64 = 6_259_492_650_617_219_688;

#[test]
fn records_are_about_350_bytes() {
    let profile = Profile::small().with_pairs(5000);
    let records: usize = templates(&Sample::new(profile.clone())).iter().map(Vec::len).sum();
    let size = raw(profile).len() / records;
    assert!((330..=360).contains(&size), "{size}");
}

#[test]
fn header_is_complete() {
    let sample = Sample::new(Profile::small().with_pairs(10));
    let text = sample.header_text();
    assert!(text.starts_with("@HD\tVN:1.6\tSO:unsorted\tGO:query\n"));
    let lines = |start: &str| text.lines().filter(|line| line.starts_with(start)).count();
    assert_eq!(lines("@SQ\t"), 5);
    assert_eq!(lines("@RG\t"), 3);
    assert_eq!(text.matches("LB:LIB1").count(), 2);
    assert_eq!(lines("@PG\tID:readmill-simulate"), 1);
    let mut raw = Vec::new();
    sample.raw_header(&mut raw);
    assert_eq!(&raw[..4], b"BAM\x01");
    assert_eq!(&raw[8..8 + text.len()], text.as_bytes());
}

#[test]
fn fasta_and_its_index_hold_the_contigs() {
    let sample = Sample::new(Profile::small().with_pairs(0));
    let (mut fasta, mut fai) = (Vec::new(), Vec::new());
    sample.write_fasta(&mut fasta).expect("memory");
    sample.write_fai(&mut fai).expect("memory");
    let fai = String::from_utf8(fai).expect("text");
    for (i, line) in fai.lines().enumerate() {
        let field = |n: usize| line.split('\t').nth(n).expect("field");
        let number = |n: usize| field(n).parse::<usize>().expect("number");
        assert_eq!(field(0), sample.profile().contigs[i].0);
        let text = &fasta[number(2)..];
        let bases = text.iter().filter(|b| **b != b'\n').take(number(1));
        assert!(bases.eq(sample.contig(i)));
    }
    assert!(fasta.split(|&b| b == b'\n').all(|line| line.len() <= 60));
}

#[test]
fn known_sites_are_sorted_and_fit_the_reference() {
    let sample = Sample::new(Profile::small().with_pairs(0));
    let mut vcf = Vec::new();
    sample.write_known_sites(&mut vcf).expect("memory");
    let vcf = String::from_utf8(vcf).expect("text");
    assert!(vcf.starts_with("##fileformat=VCFv4.2\n"));
    let (mut last, mut indels, mut sites) = ((0, 0), 0, 0);
    for line in vcf.lines().filter(|line| !line.starts_with('#')) {
        let fields: Vec<&str> = line.split('\t').collect();
        assert_eq!(fields.len(), 8);
        let names = &sample.profile().contigs;
        let contig = names.iter().position(|(name, _)| name == fields[0]).expect("contig");
        let pos: usize = fields[1].parse().expect("POS");
        assert!((contig, pos) > last);
        last = (contig, pos);
        let (reference, alternative) = (fields[3], fields[4]);
        assert!(sample.contig(contig)[pos - 1..].starts_with(reference.as_bytes()));
        assert_ne!(reference, alternative);
        let common = reference.as_bytes()[0] == alternative.as_bytes()[0];
        let indel = reference.len() != alternative.len();
        assert_eq!(common, indel);
        indels += usize::from(indel);
        sites += 1;
    }
    assert!((1200..3000).contains(&sites) && indels > sites / 10, "{sites} {indels}");
}

#[test]
fn fastq_is_the_primary_reads() {
    let profile = Profile { single_per_mille: 50, ..Profile::small().with_pairs(2000) };
    let sample = Sample::new(profile);
    let (mut r1, mut r2) = (Vec::new(), Vec::new());
    sample.write_fastq(&mut r1, &mut r2).expect("memory");
    let all = templates(&sample);
    for (text, second) in [(r1, false), (r2, true)] {
        let text = String::from_utf8(text).expect("text");
        let mut lines = text.lines();
        let reads = all.iter().flatten().filter(|r| r.is_primary() && r.has(0x80) == second);
        for read in reads {
            let name = lines.next().expect("name");
            assert_eq!(name[1..].split(' ').next(), Some(read.name.as_str()));
            let (bases, qualities) = sequenced(read);
            assert_eq!(lines.next(), Some(bases.as_str()));
            assert_eq!(lines.next(), Some("+"));
            assert_eq!(lines.next(), Some(qualities.as_str()));
        }
        assert_eq!(lines.next(), None);
    }
}

/// Returns bases and qualities as in FASTQ.
fn sequenced(read: &Record) -> (String, String) {
    let complement = |b: &u8| match b {
        b'A' => 'T',
        b'C' => 'G',
        b'G' => 'C',
        b'T' => 'A',
        other => char::from(*other),
    };
    let quality = |q: &u8| char::from(q + 33);
    if read.has(0x10) {
        let bases = read.bases.iter().rev().map(complement).collect();
        (bases, read.qualities.iter().rev().map(quality).collect())
    } else {
        let bases = read.bases.iter().map(|&b| char::from(b)).collect();
        (bases, read.qualities.iter().map(quality).collect())
    }
}

#[test]
fn writers_report_failure() {
    let sample = Sample::new(Profile::small().with_pairs(100));
    let mut full: &mut [u8] = &mut [0; 10];
    assert!(sample.write_fasta(&mut full).is_err());
}
