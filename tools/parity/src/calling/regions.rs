//! Compares regions, their reads and the activity of loci with those of HaplotypeCaller.
//!
//! The inputs are those of the tests of readmill-regions, with other seeds and more of them.

#[path = "../../../../crates/regions/tests/regions/cases.rs"]
mod cases;
#[path = "../../../../crates/regions/tests/regions/describe.rs"]
mod describe;
#[path = "../../../../crates/regions/tests/regions/draws.rs"]
mod draws;
#[path = "../../../../crates/regions/tests/regions/edges.rs"]
mod edges;
#[path = "../../../../crates/regions/tests/regions/profiles.rs"]
mod profiles;
#[path = "../../../../crates/regions/tests/regions/stored.rs"]
mod stored;

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use readmill_peers::Peers;

use crate::java::{java_source, run_java_source};
use crate::ledger::Ledger;
use cases::RegionInput;
use describe::RegionRun;
use stored::{PROFILE_BLOCKS, PROFILES_IN_BLOCK, stored_runs};

const SEEDS: std::ops::Range<u64> = 100..103;
const CONTIGS: usize = 3000;
const BLOCKS: usize = 100;
const CONTIGS_IN_BLOCK: usize = 200;

/// Compares random contigs with reads, and random profiles.
pub fn compare_regions(peers: &Peers, root: &Path, ledger: &mut Ledger) {
    ledger.check("calling: regions of random profiles", || {
        let words = [BLOCKS, CONTIGS_IN_BLOCK].map(|number| number.to_string());
        let gatk = run_java_source(peers, &java_source("Profiles.java"), &words)?;
        let hash = |block| profiles::hash_block(block, CONTIGS_IN_BLOCK);
        let ours = (0..BLOCKS).map(|block| format!("profiles {block} {:x}", hash(block)));
        ensure_equal_lines(&Vec::from_iter(ours).join("\n"), &gatk)?;
        Ok(format!("{} contigs are cut alike", BLOCKS * CONTIGS_IN_BLOCK))
    });
    for (uses_intervals, ploidy) in [(false, 2), (true, 2), (false, 3)] {
        let place = if uses_intervals { "in intervals" } else { "on whole contigs" };
        let what = format!("{place}, ploidy {ploidy}");
        ledger.check(&format!("calling: regions of random reads {what}"), || {
            let mut regions = 0;
            for seed in SEEDS {
                let input = RegionInput::draw(seed, CONTIGS);
                let ours = RegionRun::new(&input, uses_intervals, ploidy)?.describe(&input.sam)?;
                let run = GatkRun { input: &input, uses_intervals, ploidy, mode: "" };
                let gatk = run.print_regions(peers, root)?;
                ensure_equal_lines(&ours, &gatk).with_context(|| format!("seed {seed}"))?;
                regions += gatk.lines().count();
            }
            Ok(format!("{regions} regions have the same ends, activity, and reads"))
        });
    }
}

fn ensure_equal_lines(ours: &str, gatk: &str) -> Result<()> {
    let pair = ours.lines().zip(gatk.lines()).find(|(ours, gatk)| ours != gatk);
    if let Some((ours, gatk)) = pair {
        anyhow::bail!("the first line that differs is {ours:?}, and GATK's {gatk:?}");
    }
    let counts = [ours, gatk].map(|text| text.lines().count());
    ensure!(counts[0] == counts[1], "{} lines, and GATK has {}", counts[0], counts[1]);
    Ok(())
}

/// Returns GATK's results for `regions.txt`, after an empty first line.
pub fn describe_stored_runs(peers: &Peers, root: &Path) -> Result<String> {
    let words = [PROFILE_BLOCKS, PROFILES_IN_BLOCK].map(|number| number.to_string());
    let mut lines = format!("\n{}", run_java_source(peers, &java_source("Profiles.java"), &words)?);
    for run in stored_runs() {
        let mode = if run.is_listed { "all" } else { "" };
        let (input, uses_intervals, ploidy) = (&run.input, run.uses_intervals, run.ploidy);
        let gatk = GatkRun { input, uses_intervals, ploidy, mode };
        lines.push_str(&run.summarize(&gatk.print_regions(peers, root)?));
    }
    Ok(lines)
}

/// A run of `Regions.java`.
struct GatkRun<'a> {
    input: &'a RegionInput,
    uses_intervals: bool,
    ploidy: usize,
    /// The second argument of the program.
    mode: &'a str,
}

impl GatkRun<'_> {
    /// Returns what the program prints. Files are written below `root`.
    fn print_regions(&self, peers: &Peers, root: &Path) -> Result<String> {
        let names = ["r.fa", "r.dict", "r.sam", "r.bam", "r.list", "r.vcf", "r.txt", "runs.tsv"];
        let [fasta, dictionary, sam, bam, intervals, vcf, text, runs] =
            names.map(|name| root.join(name));
        fs::write(&fasta, &self.input.fasta)?;
        fs::write(&sam, &self.input.sam)?;
        let spans = self.input.intervals.iter();
        let spans = spans.map(|(contig, start, end)| format!("{contig}:{start}-{end}\n"));
        fs::write(&intervals, String::from_iter(spans))?;
        run_samtools(peers, &["view", "-b", "-o"], &[&bam, &sam])?;
        run_samtools(peers, &["index"], &[&bam])?;
        run_samtools(peers, &["faidx"], &[&fasta])?;
        run_samtools(peers, &["dict", "-o"], &[&dictionary, &fasta])?;
        let mut words = vec![text.display().to_string(), "--verbosity\tERROR\t--QUIET\ttrue".to_owned()];
        words.extend(
            [("-R", &fasta), ("-I", &bam), ("-O", &vcf)].map(|(flag, file)| flag_and_file(flag, file)),
        );
        words.push(format!("--sample-ploidy\t{}", self.ploidy));
        words.extend(self.uses_intervals.then(|| flag_and_file("-L", &intervals)));
        fs::write(&runs, words.join("\t"))?;
        run_java_source(peers, &java_source("Regions.java"), &[runs.as_os_str(), self.mode.as_ref()])?;
        Ok(fs::read_to_string(&text)?)
    }
}

fn flag_and_file(flag: &str, file: &Path) -> String {
    format!("{flag}\t{}", file.display())
}

fn run_samtools(peers: &Peers, words: &[&str], files: &[&Path]) -> Result<()> {
    let output = peers.samtools()?.command().args(words).args(files).output()?;
    ensure!(output.status.success(), "samtools: {}", String::from_utf8_lossy(&output.stderr));
    Ok(())
}
