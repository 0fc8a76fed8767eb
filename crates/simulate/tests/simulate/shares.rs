//! Template kinds are as frequent as the profile says.

use crate::common;

use common::{Record, templates};
use readmill_simulate::{Flowcell, Profile, Sample};
use std::collections::HashMap;

fn per_mille(count: usize, of: usize) -> f64 {
    count as f64 * 1000.0 / of as f64
}

/// Asserts that a share (per mille) differs from the expected one by at most a quarter of the
/// latter plus 1.5.
fn about(what: &str, share: f64, expected: f64) {
    let allowed = expected / 4.0 + 1.5;
    assert!((share - expected).abs() <= allowed, "{what}: {share} instead of {expected}");
}

type Key = (String, Vec<(i32, i64, bool)>);

/// Returns the library and the 5' ends of a template, or `None` unless both reads are mapped.
fn key(sample: &Sample, template: &[Record]) -> Option<Key> {
    let ends = template.iter().filter(|r| r.is_primary() && !r.has(4));
    let mut ends: Vec<_> = ends.map(|r| (r.contig, r.unclipped_five(), r.has(0x10))).collect();
    ends.sort_unstable();
    (ends.len() == 2).then(|| (library(sample, &template[0]), ends))
}

fn library(sample: &Sample, record: &Record) -> String {
    let id = format!("@RG\tID:{}\t", record.text("RG").expect("RG"));
    let header = sample.header_text();
    let line = header.lines().find(|line| format!("{line}\t").starts_with(&id)).expect("@RG");
    line.split('\t').find(|field| field.starts_with("LB:")).expect("LB").to_owned()
}

#[test]
fn shares_follow_the_profile() {
    let profile = Profile {
        unmapped_per_mille: 20,
        half_mapped_per_mille: 15,
        chimeric_per_mille: 25,
        supplementary_per_mille: 30,
        single_per_mille: 40,
        ..Profile::small()
    };
    let sample = Sample::new(profile);
    let all = templates(&sample);
    let n = all.len();
    assert_eq!(n, 20_000);
    let count = |test: &dyn Fn(&[Record]) -> bool| all.iter().filter(|t| test(t)).count();
    let mapped = |t: &[Record]| t.iter().filter(|r| r.is_primary() && !r.has(4)).count();
    let share = |test: &dyn Fn(&[Record]) -> bool| per_mille(count(test), n);
    about("unmapped", share(&|t| mapped(t) == 0), 20.0);
    about("half mapped", share(&|t| t[0].has(1) && mapped(t) == 1), 15.0 + 1.2);
    about("split", share(&|t| t.iter().any(|r| r.has(0x800))), 30.0);
    about("single", share(&|t| !t[0].has(1)), 40.0);
    about("chimeric", share(&|t| mapped(t) == 2 && t[0].contig != t[0].mate_contig), 25.0);
    about("QC failed", share(&|t| t[0].has(0x200)), 5.0);
    about("stale flag", share(&|t| t[0].has(0x400)), 1.0);
    let low = |r: &Record| !r.has(4) && r.quality < 10;
    assert!(share(&|t| t.iter().any(low)) > 5.0, "low mapping qualities");
    let odd = |t: &[Record]| {
        mapped(t) == 2 && t[0].contig == t[0].mate_contig && t[0].has(0x10) == t[0].has(0x20)
    };
    about("FF and RR", share(&odd), 4.0);
}

#[test]
fn copies_share_their_ends() {
    let sample = Sample::new(Profile::small());
    let all = templates(&sample);
    let mut sets: HashMap<Key, Vec<&Vec<Record>>> = HashMap::new();
    for template in &all {
        if let Some(key) = key(&sample, template) {
            sets.entry(key).or_default().push(template);
        }
    }
    let (mut copies, mut near, mut within, mut ties, mut groups) = (0, 0, 0, 0, 0);
    for set in sets.values().filter(|set| set.len() > 1) {
        copies += set.len() - 1;
        for (i, one) in set.iter().enumerate() {
            for two in &set[..i] {
                let ((tile, x, y), (other, u, v)) = (one[0].cluster(), two[0].cluster());
                let distance = (x - u).abs().max((y - v).abs());
                let optical = tile == other && distance <= 2500;
                near += usize::from(optical);
                within += usize::from(optical && distance <= 100);
                ties += usize::from(score(one) == score(two));
                groups += usize::from(one[0].text("RG") != two[0].text("RG"));
            }
        }
    }
    about("copies", per_mille(copies, all.len()), 130.0);
    assert!(near > 120 && within > near / 2 && within < near, "{near} near, {within} within 100");
    assert!(ties > 20, "{ties} ties");
    assert!(groups > 200, "{groups} copies across read groups");
}

#[test]
fn amplicons_fix_both_ends() {
    let sample = Sample::new(Profile { amplicons: 5, libraries: 1, ..Profile::small() });
    let all = templates(&sample);
    let mut sets: HashMap<Key, usize> = HashMap::new();
    all.iter()
        .filter_map(|template| key(&sample, template))
        .for_each(|key| *sets.entry(key).or_default() += 1);
    let piles: Vec<usize> = sets.into_values().filter(|&pairs| pairs > 1000).collect();
    assert_eq!(piles.len(), 5);
    assert!(per_mille(piles.iter().sum(), all.len()) > 950.0);
}

#[test]
fn introns_leave_five_prime_ends_where_they_are() {
    let ends = |introns| {
        let sample = Sample::new(Profile { introns, ..Profile::small() });
        let all = templates(&sample);
        let reads = all.iter().flatten().filter(|r| r.is_primary() && !r.has(4));
        let skips = reads.clone().filter(|r| r.cigar.iter().any(|(_, o)| *o == 'N')).count();
        let ends: Vec<_> = reads.map(|r| (r.contig, r.unclipped_five(), r.has(0x10))).collect();
        (per_mille(skips, ends.len()), ends)
    };
    let ((none, plain), (many, spliced)) = (ends(false), ends(true));
    assert_eq!(none, 0.0);
    assert!((150.0..350.0).contains(&many), "{many} of 1000 reads skip");
    assert!(plain == spliced);
}

fn score(template: &[Record]) -> u32 {
    let qualities = template.iter().filter(|r| r.is_primary()).flat_map(|r| &r.qualities);
    qualities.filter(|&&q| q >= 15).map(|&q| u32::from(q)).sum()
}

#[test]
fn alignments_show_clips_and_indels() {
    let sample = Sample::new(Profile::small());
    let all = templates(&sample);
    let reads: Vec<&Record> = all.iter().flatten().filter(|r| r.is_primary() && !r.has(4)).collect();
    let share = |operator: char| {
        let with = reads.iter().filter(|r| r.cigar.iter().any(|(_, o)| *o == operator));
        per_mille(with.count(), reads.len())
    };
    assert!(share('I') > 3.0 && share('D') > 3.0, "{} {}", share('I'), share('D'));
    assert!((30.0..90.0).contains(&share('S')), "{}", share('S'));
    let adaptor = |r: &&&Record| r.template_length.unsigned_abs() < 120 && r.has(2);
    assert!(reads.iter().filter(adaptor).count() > 50, "adaptor read through");
    assert!(reads.iter().any(|r| r.bases.contains(&b'N')));
    let edits: u32 = reads.iter().filter_map(|r| r.number("NM")).sum();
    let rate = per_mille(edits as usize, reads.len() * 150);
    assert!((4.0..16.0).contains(&rate), "{rate} edits in 1000 bases");
}

#[test]
fn coordinates_pass_sixteen_bits() {
    for flowcell in [Flowcell::HiSeq, Flowcell::Patterned] {
        let sample = Sample::new(Profile { flowcell, ..Profile::small().with_pairs(3000) });
        let all = templates(&sample);
        let beyond = |t: &&Vec<Record>| {
            let (_, x, y) = t[0].cluster();
            x.max(y) > 32_767
        };
        assert!(all.iter().filter(beyond).count() > 1000);
    }
}
