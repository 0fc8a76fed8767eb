//! The subcommand `qc`: quality metrics and coverage. It measures what they add to a run that sorts
//! and marks, and compares them alone with Picard, riker and mosdepth.

use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use anyhow::Result;

use crate::contender::{Call, Contender};
use crate::options::Peer;
use crate::recalibration::{BqsrFlags, BqsrInputs};
use crate::sorters::{Marking, Sorting, picard_tool};
use crate::table;
use crate::work::Work;

const TOGETHER: [&str; 6] = [
    "CollectAlignmentSummaryMetrics",
    "CollectInsertSizeMetrics",
    "QualityScoreDistribution",
    "MeanQualityByCycle",
    "CollectBaseDistributionByCycle",
    "CollectGcBiasMetrics",
];

/// Distance of targets and length of a target, in bases.
const TARGETS: (u32, u32) = (10_000, 200);

pub fn run(mut work: Work, flags: &BqsrFlags) -> Result<()> {
    let reference = BqsrInputs::of(&work, flags)?.reference;
    let targets = targets(&work)?;
    let job = Job { work: &work, reference: &reference, targets: &targets };
    let together = TOGETHER.join(",");
    let rows = [
        ("readmill: sort, duplicates", String::new()),
        ("with metrics", job.metrics(&together)),
        ("with metrics, coverage", format!("{} {}", job.metrics(&together), job.coverage_flags())),
        ("with metrics, CollectWgsMetrics", job.metrics(&format!("{together},CollectWgsMetrics"))),
        ("with metrics, CollectHsMetrics", job.metrics(&format!("{together},CollectHsMetrics"))),
    ];
    let marking = Marking(Sorting::of(&work));
    let contenders: Vec<_> = rows.iter().map(|(name, words)| marking.readmill(name, words)).collect();
    table::measure("Quality metrics of a run that sorts and marks", &work, &contenders)?;
    let sorted = work.file("sorted.bam");
    marking.readmill("", "").measure(&work.directory)?;
    fs::rename(work.file("readmill.bam"), &sorted)?;
    work.do_once(Call::new(&work.readmill).arg("index").arg(&sorted))?; // mosdepth needs it
    work.data = sorted.clone();
    let job = Job { work: &work, reference: &reference, targets: &targets };
    let contenders = job.alone()?;
    table::measure("Quality metrics of sorted reads", &work, &contenders)?;
    let contenders = job.coverage();
    table::measure("Coverage of sorted reads", &work, &contenders)?;
    fs::remove_file(work.file("sorted.bam.bai"))?;
    Ok(fs::remove_file(sorted)?)
}

struct Job<'a> {
    work: &'a Work,
    reference: &'a PathBuf,
    targets: &'a PathBuf,
}

impl Job<'_> {
    fn coverage_flags(&self) -> String {
        format!("--coverage {}", self.work.file("metrics").display())
    }

    fn metrics(&self, programs: &str) -> String {
        let (reference, targets) = (self.reference.display(), self.targets.display());
        let targets = if programs.contains("Hs") {
            format!("--bait-intervals {targets} --target-intervals {targets}")
        } else {
            String::new()
        };
        let prefix = self.work.file("metrics");
        format!("--qc {} --qc-metrics {programs} --reference {reference} {targets}", prefix.display())
    }

    fn contender(&self, name: &str, output: &str, stages: Vec<Vec<Call>>) -> Contender {
        Contender::new(name, self.work.options.runs, self.work.file(output), stages)
    }

    fn alone(&self) -> Result<Vec<Contender>> {
        let Job { work, reference, .. } = self;
        let all = format!("{},CollectWgsMetrics", TOGETHER.join(","));
        let threads = work.options.threads;
        let call = Call::new(&work.readmill).arg("qc").arg(&work.data).words("-o");
        let call = call.arg(work.file("readmill")).words(&format!("--metrics {all} -@ {threads}"));
        let call = call.arg("--reference").arg(reference);
        let mut contenders = vec![self.contender("readmill", "readmill.wgs_metrics", vec![vec![call]])];
        if let Some(program) = work.peer(Peer::Riker) {
            let call = Call::new(&program).words("multi --input").arg(&work.data).arg("--output");
            let call = call.arg(work.file("riker")).arg("--reference").arg(reference);
            let call =
                call.words(&format!("--tools alignment isize basic gcbias wgs --threads {threads}"));
            let output = "riker.wgs-metrics.txt";
            contenders.push(self.contender(&program.title(), output, vec![vec![call]]));
        }
        if let Some(program) = work.peer(Peer::Picard) {
            let several = picard_tool(&program, "CollectMultipleMetrics").words("PROGRAM=null");
            let several = TOGETHER.iter().fold(several, |call, it| call.arg(format!("PROGRAM={it}")));
            let several = several.named("O=", &work.file("picard")).with_path(path_with_r(work)?);
            let depth = picard_tool(&program, "CollectWgsMetrics");
            let depth = depth.named("O=", &work.file("picard.wgs_metrics"));
            let whole = |call: Call| vec![call.named("I=", &work.data).named("R=", reference)];
            let stages = vec![whole(several), whole(depth)];
            let mut contender = self.contender(&program.title(), "picard.wgs_metrics", stages);
            contender.runs = work.options.picard_runs;
            contenders.push(contender);
        }
        Ok(contenders)
    }

    fn coverage(&self) -> Vec<Contender> {
        let Job { work, .. } = self;
        let threads = work.options.threads;
        let call = Call::new(&work.readmill).arg("qc").arg(&work.data).words("-o");
        let call = call.arg(work.file("readmill"));
        let call = call.words(&format!("--coverage --no-metrics -@ {threads}"));
        let mut contenders =
            vec![self.contender("readmill", "readmill.per-base.bed.gz", vec![vec![call]])];
        if let Some(program) = work.peer(Peer::Mosdepth) {
            // mosdepth's `-t` counts additional threads.
            let more = threads.saturating_sub(1);
            let call = Call::new(&program).words(&format!("-t {more}")).arg(work.file("mosdepth"));
            let call = vec![vec![call.arg(&work.data)]];
            contenders.push(self.contender(&program.title(), "mosdepth.per-base.bed.gz", call));
        }
        contenders
    }
}

/// Returns a search path with an `Rscript` that does nothing, since Picard calls R to draw its
/// charts.
fn path_with_r(work: &Work) -> Result<OsString> {
    let bin = work.file("bin");
    fs::create_dir_all(&bin)?;
    let script = bin.join("Rscript");
    fs::write(&script, "#!/bin/sh\nexit 0\n")?;
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755))?;
    let mut path = OsString::from(bin);
    path.push(":");
    path.push(std::env::var_os("PATH").unwrap_or_default());
    Ok(path)
}

fn targets(work: &Work) -> Result<PathBuf> {
    let (distance, length) = TARGETS;
    let mut text = String::new();
    for contig in work.header()?.references() {
        let name = String::from_utf8_lossy(&contig.name);
        for start in (0..contig.length.saturating_sub(length)).step_by(distance as usize) {
            text += &format!("{name}\t{start}\t{}\n", start + length);
        }
    }
    let file = work.file("targets.bed");
    fs::write(&file, text)?;
    Ok(file)
}
