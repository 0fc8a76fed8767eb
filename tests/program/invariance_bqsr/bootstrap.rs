//! Sites found in the reads replace known ones: checked with a sample whose variants and error rates
//! are known.

use readmill_simulate::Sample;

use crate::invariance_bqsr::FEW_RESOURCES;
use crate::invariance_bqsr::data::{BqsrFiles, TemplateReads, profile};
use crate::support::random::TestRandom;

/// Bases of the genome.
const GENOME: usize = 40_000;

/// Bases of a read, and reads.
const READ: usize = 100;
const READS: usize = 10_000;

/// Reported qualities, how many of 10 bases have them, and how many of 100,000 of those are wrong.
const QUALITIES: [(u8, usize, usize); 3] = [(12, 1, 10_000), (25, 3, 630), (37, 6, 50)];

/// Files of a sample with variants at one of 500 positions, each on one haplotype or on both.
fn simulate(world: &BqsrFiles) {
    let random = &mut TestRandom::new(11);
    let reference: Vec<u8> = (0..GENOME).map(|_| random.pick(b"ACGT")).collect();
    let mut haplotypes = [reference.clone(), reference.clone()];
    let (mut at, mut sites) = (random.below(1_000), String::new());
    while at < GENOME {
        let base = other(reference[at], random);
        let carriers = [&[0][..], &[1], &[0, 1], &[0, 1]][random.below(4)];
        carriers.iter().for_each(|&haplotype| haplotypes[haplotype][at] = base);
        sites += &format!("g\t{at}\t{}\n", at + 1);
        at += 1 + random.below(1_000);
    }
    let mut text = format!("@HD\tVN:1.6\n@SQ\tSN:g\tLN:{GENOME}\n@RG\tID:a\tPU:unit\tSM:s\n");
    let levels: Vec<(u8, usize)> =
        QUALITIES.iter().flat_map(|&(q, share, wrong)| vec![(q, wrong); share]).collect();
    for number in 0..READS {
        let pos = random.below(GENOME - READ);
        let mut bases = haplotypes[random.below(2)][pos..pos + READ].to_vec();
        let mut qualities = String::new();
        for base in &mut bases {
            let (quality, wrong) = random.pick(&levels);
            qualities.push(char::from(quality + b'!'));
            if random.below(100_000) < wrong {
                *base = other(*base, random);
            }
        }
        let (flag, bases) = (random.pick(&[0, 16]), String::from_utf8_lossy(&bases));
        let pos = pos + 1;
        text += &format!(
            "r{number}\t{flag}\tg\t{pos}\t60\t{READ}M\t*\t0\t0\t{bases}\t{qualities}\tRG:Z:a\n"
        );
    }
    world.dir.file("g.sam", text);
    world.dir.file("g.fa", format!(">g\n{}\n", String::from_utf8_lossy(&reference)));
    world.dir.file("true.bed", sites);
    world.dir.file("none.bed", "g\t0\t1\n");
}

fn other(base: u8, random: &mut TestRandom) -> u8 {
    let others: Vec<u8> = b"ACGT".iter().copied().filter(|&it| it != base).collect();
    random.pick(&others)
}

/// The columns EmpiricalQuality and Observations of the rows of RecalTable0 and RecalTable1.
fn rows(table: &str) -> Vec<(f64, f64)> {
    let rows = table.lines().filter(|line| line.starts_with("unit ") && !line.contains("C"));
    let rows = rows.map(|row| {
        let words: Vec<&str> = row.split_whitespace().collect();
        let number = |at: usize| words[at].parse().expect("a number");
        // read group, event, quality …, or read group, reported quality, event, quality …
        if words[1] == "M" { (number(2), number(4)) } else { (number(3), number(4)) }
    });
    rows.take(1 + QUALITIES.len()).collect()
}

/// The rows with these sites.
fn counted(world: &BqsrFiles, sites: &str) -> Vec<(f64, f64)> {
    let prep =
        "prep %g.sam --sort coordinate --bqsr --reference %g.fa --bqsr-table %table -o %x.bam -@ 2";
    world.run(&format!("{prep} {sites}"));
    let rows = rows(&String::from_utf8(world.read("table")).expect("text"));
    assert_eq!(rows.len(), 1 + QUALITIES.len());
    rows
}

#[test]
fn sites_that_are_found_do_what_known_ones_do() {
    let world = BqsrFiles::of(
        &Sample::new(profile()),
        &TemplateReads::of(&Sample::new(profile().with_pairs(1))),
    );
    simulate(&world);
    let found = counted(&world, "--bqsr-bootstrap");
    let known = counted(&world, "--known-sites %true.bed");
    let without = counted(&world, "--known-sites %none.bed");
    for (row, ((found, known), without)) in found.iter().zip(&known).zip(&without).enumerate() {
        println!("row {row}: {found:?} found, {known:?} known, {without:?} without (quality, bases)");
    }
    for ((found, known), (_, _, wrong)) in found.iter().zip(&known).skip(1).zip(QUALITIES) {
        let truth = -10.0 * (wrong as f64 / 100_000.0).log10();
        assert!((known.0 - truth).abs() <= 1.0, "quality {truth} is counted as {}", known.0);
        assert!(
            (found.0 - known.0).abs() <= 1.0,
            "{} with sites found, {} with known",
            found.0,
            known.0
        );
    }
    let [found, known, without] = [found, known, without];
    assert!((found[0].0 - known[0].0).abs() <= 0.1, "the read group: {found:?}, {known:?}");
    let best = QUALITIES.len();
    assert!(known[best].0 - without[best].0 >= 4.0, "variants are many of the best bases' errors");
    let lost = |rows: &[(f64, f64)]| 1.0 - rows[0].1 / without[0].1;
    let (found, known) = (lost(&found), lost(&known));
    assert!(
        (found - known).abs() <= 0.2 * known,
        "{found} of bases are left out, {known} with known sites"
    );
}

#[test]
fn means_do_not_decide_which_sites_are_found() {
    let sample = Sample::new(profile());
    let world = BqsrFiles::of(&sample, &TemplateReads::of(&sample).swollen(2_000));
    let prep = "prep %in.bam --sort coordinate --bqsr --bqsr-bootstrap --reference %ref.fa -l 1 -o %out.bam \
                --bqsr-table %out.table --bqsr-after-table %out.after";
    for marking in ["", "--mark-duplicates"] {
        let commands =
            FEW_RESOURCES.map(|(threads, memory)| (format!("{prep} {marking} -@ {threads}"), memory));
        let (max_runs, _) = world.same_bytes(&commands);
        assert!(max_runs >= 2, "{max_runs} runs spilled");
    }
    let done = world.run(prep);
    let found = done
        .stderr
        .lines()
        .find(|line| line.contains("positions are excluded, because too many reads differ"));
    let found = found.and_then(|line| line.split_whitespace().nth(1)?.parse().ok()).unwrap_or(0);
    assert!((30..3_000).contains(&found), "{}", done.stderr);
    // A table alone finds the same sites.
    let table = world.read("out.table");
    world.run(
        &prep.replace("--bqsr --", "--bqsr-table-only --").replace("--bqsr-after-table %out.after", ""),
    );
    assert!(world.read("out.table") == table);
}
