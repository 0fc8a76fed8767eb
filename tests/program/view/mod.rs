//! `readmill view`: regions beside a plain look at every line; flags; what is refused.

mod damage;
mod files;
mod flags;
mod scan;

use std::fmt::Write as _;

use files::{KINDS, Kind, file};
use readmill_simulate::Rng;
use scan::Place;

use crate::support::{TestDir, arg, column, readmill};

/// Runs view; returns what it prints.
fn view(words: &[&str]) -> String {
    let done = readmill(["view"].iter().chain(words));
    assert_eq!(done.code, Some(0), "{words:?}: {}", done.stderr);
    let is_expected = |line: &str| {
        line.starts_with("readmill: warning: none of the ")
            && line.contains(" input records was written")
    };
    assert!(done.stderr.lines().all(is_expected), "{words:?}: {}", done.stderr);
    String::from_utf8(done.stdout).expect("text")
}

/// The names of the records that view prints.
fn names(words: &[&str]) -> Vec<String> {
    view(words).lines().map(|line| column(line, 0).to_string()).collect()
}

/// Contigs of the samples.
const LENGTHS: [(&str, i64); 3] = [("chr1", 400_000), ("chr2", 20_000), ("empty", 1_000)];

/// Reads in coordinate order: many short ones, some that skip or delete much, some unmapped ones with a position, and some
/// without.
fn sample(seed: u64, reads: u32, lengths: &[(&str, i64)]) -> String {
    let mut random = Rng::new(seed);
    let mut list = Vec::new();
    for _ in 0..reads {
        let contig = random.below(lengths.len() as u32 - 1) as usize;
        let pos = 1 + i64::from(random.below(lengths[contig].1 as u32));
        let room = lengths[contig].1 - pos + 1;
        let (flags, cigar) = match random.below(12) {
            0 => (4, "*".to_string()),
            1 => (0, format!("2M{}N2M", 1 + random.below(60_000))),
            2 => (0, format!("2M{}D2M", 1 + random.below(300))),
            3 => (4, "4M".to_string()),
            4 => (16, "2S2M".to_string()),
            _ => (16 * random.below(2), "4M".to_string()),
        };
        if scan::covered(&cigar) <= room {
            list.push((contig, pos, flags, cigar));
        }
    }
    list.sort_by_key(|read| (read.0, read.1, read.2 & 16));
    let mut text = String::from("@HD\tVN:1.6\tSO:coordinate\n");
    for (name, length) in lengths {
        let _ = writeln!(text, "@SQ\tSN:{name}\tLN:{length}");
    }
    for (number, (contig, pos, flags, cigar)) in list.into_iter().enumerate() {
        let name = lengths[contig].0;
        let _ = writeln!(text, "r{number}\t{flags}\t{name}\t{pos}\t9\t{cigar}\t*\t0\t0\tACGT\tIIII");
    }
    for number in 0..reads / 20 {
        let _ = writeln!(text, "u{number}\t4\t*\t0\t0\t*\t*\t0\t0\tACGT\tIIII");
    }
    text
}

/// Some places, and how they are written.
fn places<'a>(random: &mut Rng, lengths: &[(&'a str, i64)], number: usize) -> Vec<(Place<'a>, String)> {
    let mut list = Vec::new();
    for _ in 0..number {
        let (contig, length) = lengths[random.below(lengths.len() as u32) as usize];
        let first = 1 + i64::from(random.below(length as u32 + 10));
        let span = random.pick(&[1, 2, 100, 20_000, 300_000]);
        list.push(match random.below(8) {
            0 => ((contig, 1, i64::MAX), contig.to_string()),
            1 => ((contig, first, i64::MAX), format!("{contig}:{first}")),
            2 => ((contig, 1, first), format!("{contig}:-{first}")),
            _ => ((contig, first, first + span - 1), format!("{contig}:{first}-{}", first + span - 1)),
        });
    }
    list
}

fn compare(lengths: &[(&str, i64)], kinds: &[Kind], seed: u64, reads: u32) {
    let mut random = Rng::new(seed);
    let text = sample(seed, reads, lengths);
    let lines = crate::support::records(&text);
    for &kind in kinds {
        for payload in [37, 1_000, 60_000] {
            let dir = TestDir::new();
            let path = arg(&file(&dir, kind, "in", &text, payload));
            for round in 0..6 {
                let mut places = places(&mut random, lengths, 4);
                if round % 2 == 1 {
                    places.sort(); // then blocks of the region before are used again
                }
                let regions: Vec<&str> = places.iter().map(|(_, text)| text.as_str()).collect();
                let places: Vec<Place<'_>> = places.iter().map(|(place, _)| *place).collect();
                let what = format!("{kind:?}, blocks of {payload}, {regions:?}");
                let given = [&[path.as_str()], &regions[..]].concat();
                let in_turn = scan::in_turn(&lines, &places);
                assert_eq!(names(&given), in_turn, "{what}");
                let count = view(&[&["-c"], &given[..]].concat());
                assert_eq!(count, format!("{}\n", in_turn.len()), "{what} -c");
                let once = scan::each_once(&lines, &places);
                assert_eq!(names(&[&["-M"], &given[..]].concat()), once, "{what} -M");
                let count = view(&[&["-M", "-c", "-@", "2"], &given[..]].concat());
                assert_eq!(count, format!("{}\n", once.len()), "{what}");
                let bed = places.iter().filter(|place| place.2 < i64::MAX);
                let bed: Vec<Place<'_>> = bed.copied().collect();
                let line = |place: &Place<'_>| format!("{}\t{}\t{}\n", place.0, place.1 - 1, place.2);
                let regions = arg(&dir.file("regions.bed", bed.iter().map(line).collect::<String>()));
                if !bed.is_empty() {
                    let once = scan::each_once(&lines, &bed);
                    assert_eq!(names(&["-M", "-L", &regions, &path]), once, "{what} -M -L");
                    assert_eq!(names(&["-L", &regions, &path]), once, "{what} -L");
                }
                if kind == Kind::Cram {
                    break; // takes longer, and has no blocks
                }
            }
            let unplaced: Vec<&str> = lines.iter().map(|it| column(it, 0)).collect();
            let unplaced: Vec<&str> =
                unplaced.into_iter().filter(|name| name.starts_with('u')).collect();
            assert_eq!(names(&[&path, "*"]), unplaced, "{kind:?}");
            let both = [scan::in_turn(&lines, &[("chr2", 1, 50)]), scan::in_turn(&lines, &[])].concat();
            let both = Vec::from_iter(unplaced.iter().map(|name| name.to_string()).chain(both));
            assert_eq!(names(&[&path, "*", "chr2:1-50"]), both, "{kind:?}");
            let count = view(&["-c", &path, "*", "chr2:1-50"]);
            assert_eq!(count, format!("{}\n", both.len()), "{kind:?} -c");
            assert_eq!(names(&[&path, "."]).len(), lines.len(), "{kind:?}");
        }
    }
}

#[test]
fn regions_are_what_a_plain_look_at_every_line_finds() {
    compare(&LENGTHS, &KINDS, 1, 3_000);
    compare(&LENGTHS, &[Kind::BamBai, Kind::SamCsi], 2, 60);
}

#[test]
fn contigs_too_long_for_bai_are_found_by_csi() {
    let lengths = [("chr1", 2_000_000_000), ("chr2", 700_000_000), ("empty", 1_000)];
    compare(&lengths, &[Kind::BamCsi, Kind::SamCsi, Kind::Cram], 3, 600);
}

/// A range of a larger bin lies behind records of the next region, which were lost.
#[test]
fn each_once_reads_on_before_a_range_of_a_larger_bin() {
    let line = |name: &str, pos: i64| format!("{name}\t0\tchr1\t{pos}\t60\t100M\t*\t0\t0\t*\t*\n");
    let mut text = "@HD\tVN:1.6\tSO:coordinate\n@SQ\tSN:chr1\tLN:100000\n".to_string();
    (0..40).for_each(|n| text += &line(&format!("first{n}"), 1_000 + n));
    (0..40).for_each(|n| text += &line(&format!("second{n}"), 20_000 + n));
    (0..40).for_each(|n| text += &line(&format!("across{n}"), 32_700 + n));
    let lines = crate::support::records(&text);
    let dir = TestDir::new();
    for kind in KINDS {
        let path = arg(&file(&dir, kind, "in", &text, 300));
        let given = ["-M", path.as_str(), "chr1:1001-1010", "chr1:20001-20010"];
        let places = [("chr1", 1_001, 1_010), ("chr1", 20_001, 20_010)];
        assert_eq!(names(&given), scan::each_once(&lines, &places), "{kind:?}");
    }
}

/// Tests that take more than ten seconds, which `./dev nightly` runs.
mod slow {
    use super::*;

    /// The middle of a large region is passed on as compressed blocks.
    #[test]
    #[ignore = "slow: ./dev nightly runs it"]
    fn large_regions_are_whole_at_both_ends() {
        let lengths = [("chr1", 3_000_000), ("chr2", 1_000_000), ("empty", 1_000)];
        let text = sample(4, 60_000, &lengths);
        let noise = |line: &str| {
            let mut random = Rng::new(line.len() as u64 + line.bytes().map(u64::from).sum::<u64>());
            let bases: String = (0..150).map(|_| random.pick(&['A', 'C', 'G', 'T'])).collect();
            line.replace("\tACGT\tIIII", &format!("\tACGT\tIIII\tXX:Z:{bases}"))
        };
        let text: String = text.lines().map(|line| noise(line) + "\n").collect();
        let lines = crate::support::records(&text);
        let dir = TestDir::new();
        for (kind, payload) in [(Kind::BamBai, 60_000), (Kind::BamCsi, 5_003), (Kind::SamBai, 60_000)] {
            let path = arg(&file(&dir, kind, "in", &text, payload));
            let places =
                [("chr1", 100_001, 2_900_000), ("chr1", 5_000, 1_700_000), ("chr2", 1, 999_999)];
            for chosen in [&places[..1], &places[1..2], &places[2..], &places[..]] {
                let regions: Vec<String> = chosen
                    .iter()
                    .map(|(contig, first, last)| format!("{contig}:{first}-{last}"))
                    .collect();
                let mut given = vec![path.as_str()];
                given.extend(regions.iter().map(String::as_str));
                assert_eq!(names(&given), scan::in_turn(&lines, chosen), "{kind:?} {regions:?}");
                given.insert(0, "-M");
                assert_eq!(names(&given), scan::each_once(&lines, chosen), "{kind:?} {regions:?} -M");
            }
            // Regions that overlap, in order: each begins among the blocks of those before it.
            let places: Vec<Place<'_>> = (0..40)
                .map(|n| ("chr1", 1 + n * 70_000, (n * 70_000 + 200_000).min(3_000_000)))
                .collect();
            let regions = places.iter().map(|(contig, first, last)| format!("{contig}:{first}-{last}"));
            let given = Vec::from_iter([path.clone()].into_iter().chain(regions));
            let mut given: Vec<&str> = given.iter().map(String::as_str).collect();
            let found = scan::in_turn(&lines, &places);
            assert_eq!(names(&given), found, "{kind:?}");
            given[1..].reverse();
            given.insert(0, "-c");
            assert_eq!(view(&given), format!("{}\n", found.len()), "{kind:?} -c");
            // A large one, whose middle is passed on, begins among the blocks of a small one.
            let places =
                [("chr1", 50_001, 90_000), ("chr1", 60_001, 2_900_000), ("chr1", 2_800_001, 2_950_000)];
            let regions = places.map(|(contig, first, last)| format!("{contig}:{first}-{last}"));
            let given = [path.as_str(), &regions[0], &regions[1], &regions[2]];
            assert_eq!(names(&given), scan::in_turn(&lines, &places), "{kind:?} {regions:?}");
        }
    }
}
