//! Recalibrated reads and their tables depend only on the input and the plan: not on threads, memory, spills,
//! or the format of the files. Steps in one run give the same as those steps one after the other.
#![allow(clippy::disallowed_methods)] // a test's own threads are not the engine's

mod bootstrap;
pub mod data;
mod together;

use data::{BqsrFiles, TemplateReads, profile};
use readmill_simulate::{Profile, Sample};

use crate::support::random::TestRandom;

/// The settings of a run: see [`RUNS`].
type Setting = (usize, Option<&'static str>, &'static str, &'static str, &'static str, bool);

/// Threads, memory (`None` for the least that the plan accepts), codec of the spill, the known sites, the
/// reference, and whether it has an index. All values of any two of these are combined.
const RUNS: [Setting; 12] = [
    (1, None, "lz4", "known.vcf", "ref.fa", false),
    (1, Some("1G"), "zstd", "known.vcf.gz", "ref.fa.gz", true),
    (1, None, "none", "known.bed", "ref.fa.gz", false),
    (2, Some("1G"), "lz4", "known.vcf.gz", "ref.fa.gz", false),
    (2, Some("1G"), "zstd", "known.bed", "ref.fa", false),
    (2, None, "none", "known.vcf", "ref.fa.gz", true),
    (3, None, "lz4", "known.bed", "ref.fa", true),
    (3, None, "zstd", "known.vcf", "ref.fa", false),
    (3, Some("1G"), "none", "known.vcf.gz", "ref.fa.gz", true),
    (8, Some("1G"), "lz4", "known.vcf", "ref.fa.gz", false),
    (8, None, "zstd", "known.vcf.gz", "ref.fa", true),
    (8, Some("1G"), "none", "known.bed", "ref.fa", true),
];

/// The flags of both tables, of the reference and of the known sites.
const BOTH: &str = "--bqsr --reference %ref.fa --known-sites %known.vcf --bqsr-table %out.table \
                    --bqsr-after-table %out.after";

/// Two or three settings of a run, among them the least memory.
const FEW_RESOURCES: [(usize, Option<&str>); 3] = [(1, Some("1G")), (1, None), (3, None)];

#[test]
fn neither_means_nor_forms_of_files_decide_anything() {
    let sample = Sample::new(profile());
    let world = BqsrFiles::of(&sample, &TemplateReads::of(&sample).swollen(2_000));
    let commands = RUNS.map(|(threads, memory, codec, sites, reference, indexed)| {
        let folder = if indexed { "" } else { "bare/" };
        let command = format!(
            "prep %in.bam --mark-duplicates --sort coordinate --no-PG -l 1 -o %out.bam \
             {BOTH} --spill-codec {codec} -@ {threads}"
        );
        let command = command.replace("%ref.fa", &format!("%{folder}{reference}"));
        (command.replace("%known.vcf", &format!("%{sites}")), memory)
    });
    let (max_runs, min_runs) = world.same_bytes(&commands);
    assert!(max_runs >= 2 && min_runs == 0, "{max_runs} runs spilled at most, {min_runs} at least");
}

#[test]
fn other_options_are_invariant_too() {
    let sample = Sample::new(profile());
    let world = BqsrFiles::of(&sample, &TemplateReads::of(&sample).swollen(2_000));
    let prep = "prep %in.bam --sort queryname -l 1 -o %out.bam";
    let options =
        "--compute-indel-bqsr-tables --emit-original-quals --quantize-quals -1 --bqsr-intervals chr1";
    let commands =
        FEW_RESOURCES.map(|(threads, memory)| (format!("{prep} {BOTH} {options} -@ {threads}"), memory));
    world.same_bytes(&commands);
}

#[test]
fn the_order_in_which_reads_leave_does_not_decide_what_is_counted() {
    let sample = Sample::new(profile());
    let world = BqsrFiles::of(&sample, &TemplateReads::of(&sample));
    let tables = |order: &str| {
        world.run(&format!("prep %in.bam --mark-duplicates {order} {BOTH} -o %out.bam -@ 2"));
        ["out.table", "out.after"].map(|name| world.read(name))
    };
    let first = tables("--sort coordinate");
    for order in ["", "--sort queryname", "--sort natural", "--sort minhash"] {
        assert!(tables(order) == first, "{order}");
    }
}

#[test]
fn several_inputs_are_as_one() {
    let sample = Sample::new(profile());
    let reads = TemplateReads::of(&sample);
    let world = BqsrFiles::of(&sample, &reads);
    let parts = reads.parts(3);
    for (n, part) in parts.iter().enumerate() {
        world.dir.file(&format!("part{n}.bam"), part.bam());
    }
    let inputs = ["%in.bam", "%part0.bam %part1.bam %part2.bam"];
    for steps in ["--mark-duplicates --sort coordinate", "--sort queryname"] {
        let command =
            |inputs| (format!("prep {inputs} {steps} -l 1 -o %out.bam {BOTH} -@ 2"), Some("1G"));
        world.same_bytes(&inputs.map(command));
    }
    let tables = inputs.map(|inputs| {
        world.run(&format!(
            "bqsr table {inputs} --reference %ref.fa --known-sites %known.vcf -o %out.table -@ 3"
        ));
        world.read("out.table")
    });
    assert!(tables[0] == tables[1]);
}

/// Runs with the least memory that the plan accepts; it must stay within it.
fn stays_within_the_memory(world: &BqsrFiles, flags: &str) {
    let steps = format!("--sort coordinate -l 1 -o %out.bam {BOTH} {flags}");
    let commands =
        FEW_RESOURCES.map(|(threads, memory)| (format!("prep %in.bam {steps} -@ {threads}"), memory));
    world.same_bytes(&commands);
    let table = "bqsr table %in.bam --reference %ref.fa --known-sites %known.vcf -o %out.table";
    let commands =
        FEW_RESOURCES.map(|(threads, memory)| (format!("{table} {flags} -@ {threads}"), memory));
    world.same_bytes(&commands);
}

#[test]
fn many_read_groups_stay_within_the_memory() {
    let sample = Sample::new(Profile { libraries: 199, ..profile() });
    assert_eq!(sample.header_text().matches("@RG\t").count(), 200);
    let world = BqsrFiles::of(&sample, &TemplateReads::of(&sample).swollen(2_000));
    stays_within_the_memory(&world, "");
}

#[test]
fn long_contexts_stay_within_the_memory() {
    let sample = Sample::new(Profile { pairs: 500, ..profile() });
    let world = BqsrFiles::of(&sample, &TemplateReads::of(&sample).swollen(20_000));
    stays_within_the_memory(&world, "--mismatches-context-size 7");
}

/// Tests that take more than ten seconds, which `./dev nightly` runs.
mod slow {
    use super::*;

    /// Reads of 20,000 bases, each of which has a cycle of its own in the table.
    #[test]
    #[ignore = "slow: ./dev nightly runs it"]
    fn long_reads_stay_within_the_memory() {
        let sample = Sample::new(profile());
        let random = &mut TestRandom::new(1);
        let groups = TemplateReads::of(&sample).groups();
        let mut read = |number: usize| {
            let pos = random.below(60_000);
            let mut bases = sample.contig(0)[pos..pos + 20_000].to_vec();
            (0..100).for_each(|_| bases[random.below(20_000)] = random.pick(b"ACGT"));
            let qualities: Vec<u8> = (0..20_000).map(|_| random.pick(b"'/7?GI")).collect();
            let [bases, qualities] =
                [bases, qualities].map(|text| String::from_utf8(text).expect("letters"));
            let (flag, group) = (random.pick(&[0, 16]), &groups[number % groups.len()]);
            let pos = pos + 1;
            format!(
                "r{number}\t{flag}\tchr1\t{pos}\t60\t20000M\t*\t0\t0\t{bases}\t{qualities}\tRG:Z:{group}\n"
            )
        };
        let text = sample.header_text() + &(0..60).map(&mut read).collect::<String>();
        let world = BqsrFiles::with(&sample, &text.into_bytes());
        stays_within_the_memory(&world, "--maximum-cycle-value 20000");
    }
}
