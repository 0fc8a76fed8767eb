//! Every record is valid, and agrees with its mate and with the reference.

use crate::common;

use common::{Record, templates};
use readmill_simulate::{Flowcell, Profile, Qualities, Sample};

#[test]
fn default_records_are_valid() {
    check(Profile::small());
}

#[test]
fn records_of_an_unusual_profile_are_valid() {
    check(Profile {
        read_length: 101,
        qualities: Qualities::Binned,
        flowcell: Flowcell::Patterned,
        umi_names: true,
        libraries: 5,
        single_per_mille: 150,
        supplementary_per_mille: 100,
        chimeric_per_mille: 50,
        half_mapped_per_mille: 50,
        ..Profile::small().with_seed(9)
    });
}

#[test]
fn lengths_at_the_limits_are_valid() {
    for read_length in [1, 79, 500, 5000] {
        let profile = Profile { read_length, ..Profile::small().with_pairs(1500) };
        check(profile);
    }
}

#[test]
fn without_a_long_contig_all_is_unmapped() {
    let contigs = vec![("tiny".to_owned(), 120), ("none".to_owned(), 0)];
    let sample = Sample::new(Profile { contigs, ..Profile::small().with_pairs(200) });
    assert!(templates(&sample).iter().flatten().all(|record| record.has(4)));
}

#[test]
fn one_contig_is_enough() {
    let contigs = vec![("c".to_owned(), 1_600)];
    check(Profile { contigs, ..Profile::small().with_pairs(2000) });
}

fn check(profile: Profile) {
    let length = profile.read_length.clamp(40, 2000) as usize;
    let sample = Sample::new(profile);
    let header = sample.header_text();
    let mut names = std::collections::HashSet::new();
    for template in templates(&sample) {
        let first = &template[0];
        assert!(names.insert(first.name.clone()), "{} twice", first.name);
        assert!(template.iter().all(|record| record.name == first.name));
        let group = first.text("RG").expect("RG");
        assert!(header.contains(&format!("@RG\tID:{group}\t")));
        assert!(template.iter().all(|record| record.text("RG") == Some(group)));
        for record in &template {
            check_record(&sample, record);
        }
        check_order(&template);
        let primary: Vec<&Record> = template.iter().filter(|r| r.is_primary()).collect();
        assert!(primary.iter().all(|r| r.bases.len() == length));
        match primary[..] {
            [only] => assert!(!only.has(0xEB), "a single read has no pair flags"),
            [one, two] => check_pair(one, two),
            _ => panic!("{} primary records", primary.len()),
        }
    }
}

/// Checks that read 1 precedes read 2, and that supplementary records directly follow their
/// primary.
fn check_order(template: &[Record]) {
    let rank = |record: &Record| (record.has(0x80), record.has(0x800));
    assert!(template.is_sorted_by_key(rank));
    for pair in template.windows(2) {
        if pair[1].has(0x800) {
            let (primary, other) = (&pair[0], &pair[1]);
            assert_eq!(primary.flags & 0xC0, other.flags & 0xC0);
            let points_at = |sa: &str, record: &Record| {
                let cigar: String = record.cigar.iter().map(|(n, o)| format!("{n}{o}")).collect();
                let strand = if record.has(0x10) { '-' } else { '+' };
                let nm = record.number("NM").expect("NM");
                let (pos, cigar) = (record.position + 1, cigar.replace('H', "S"));
                sa.ends_with(&format!(",{pos},{strand},{cigar},{},{nm};", record.quality))
            };
            assert!(points_at(primary.text("SA").expect("SA"), other));
            assert!(points_at(other.text("SA").expect("SA"), primary));
            assert_eq!(other.length_of("MIH"), primary.bases.len());
            assert_eq!(other.length_of("H") + other.bases.len(), primary.bases.len());
        }
    }
}

fn check_pair(one: &Record, two: &Record) {
    assert_eq!(one.flags & 0xC1, 0x41);
    assert_eq!(two.flags & 0xC1, 0x81);
    assert_eq!(one.flags & 0x602, two.flags & 0x602);
    assert_eq!(one.template_length, -two.template_length);
    for (read, mate) in [(one, two), (two, one)] {
        assert_eq!(read.mate_contig, mate.contig);
        assert_eq!(read.mate_position, mate.position);
        assert_eq!(read.has(0x8), mate.has(0x4));
        assert_eq!(read.has(0x20), mate.has(0x10));
    }
    let both = !one.has(4) && !two.has(4);
    if !both || one.contig != two.contig {
        assert_eq!(one.template_length, 0);
        assert!(!one.has(0x2));
    }
    if one.has(0x2) {
        assert_ne!(one.has(0x10), two.has(0x10));
    }
}

fn check_record(sample: &Sample, record: &Record) {
    let (contig, position) = (record.contig, record.position);
    if record.has(0x4) {
        assert!(record.cigar.is_empty() && record.quality == 0);
        assert_eq!(contig < 0, position < 0);
        assert!(record.text("MD").is_none());
        if contig < 0 {
            assert_eq!(record.bin, 4680);
            assert!(!record.has(0x30));
        }
        return;
    }
    let reference = sample.contig(contig as usize);
    let start = position as usize;
    let end = start + record.length_of("MD");
    assert!(position >= 0 && end <= reference.len());
    assert_eq!(record.bin, expected_bin(start, end));
    assert_eq!(record.length_of("MIS"), record.bases.len(), "{record:?}");
    assert!(record.quality <= 60);
    let (md, edits) = expected_md(record, reference);
    assert_eq!(record.text("MD"), Some(md.as_str()), "{record:?}");
    assert_eq!(record.number("NM"), Some(edits));
    assert!(record.number("AS").expect("AS") as usize <= record.length_of("M"));
    assert!(record.number("XS").expect("XS") <= record.number("AS").expect("AS").max(30));
    let inner = &record.cigar[1..record.cigar.len() - usize::from(record.cigar.len() > 1)];
    assert!(inner.iter().all(|(_, o)| "MID".contains(*o)), "clips at ends only");
}

fn expected_bin(start: usize, end: usize) -> u16 {
    let last = end - 1;
    for (shift, offset) in [(14, 4681), (17, 585), (20, 73), (23, 9), (26, 1)] {
        if start >> shift == last >> shift {
            return (offset + (start >> shift)) as u16;
        }
    }
    0
}

/// Computes MD and NM base by base, as the specification defines them.
fn expected_md(record: &Record, reference: &[u8]) -> (String, u32) {
    let (mut at, mut read, mut run) = (record.position as usize, 0, 0);
    let (mut md, mut edits) = (String::new(), 0);
    for &(length, operator) in &record.cigar {
        for i in 0..length {
            match operator {
                'M' => {
                    if record.bases[read] == reference[at] {
                        run += 1;
                    } else {
                        md.push_str(&format!("{run}{}", char::from(reference[at])));
                        (run, edits) = (0, edits + 1);
                    }
                    (read, at) = (read + 1, at + 1);
                }
                'I' => (read, edits) = (read + 1, edits + 1),
                'D' => {
                    if i == 0 {
                        md.push_str(&format!("{run}^"));
                        run = 0;
                    }
                    md.push(char::from(reference[at]));
                    (at, edits) = (at + 1, edits + 1);
                }
                'S' => read += 1,
                _ => {}
            }
        }
    }
    (format!("{md}{run}"), edits)
}
