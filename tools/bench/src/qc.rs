//! The subcommand `qc`: quality metrics and coverage. It measures their additional cost in a run
//! that sorts and marks, and compares them alone with Picard, riker and mosdepth.

use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use anyhow::Result;

use crate::contender::{Call, Contender};
use crate::options::Peer;
use crate::recalibration::{BqsrFlags, BqsrInputs};
use crate::sorters::{MarkBench, SortBench, picard_tool};
use crate::table;
use crate::work::BenchSetup;

const MEASURED_PROGRAMS: [&str; 6] = [
    "CollectAlignmentSummaryMetrics",
    "CollectInsertSizeMetrics",
    "QualityScoreDistribution",
    "MeanQualityByCycle",
    "CollectBaseDistributionByCycle",
    "CollectGcBiasMetrics",
];

/// Spacing and length of targets, in bases.
const TARGET_SPACING: (u32, u32) = (10_000, 200);

pub fn bench_qc(mut work: BenchSetup, flags: &BqsrFlags) -> Result<()> {
    let reference = BqsrInputs::from_flags(&work, flags)?.reference;
    let targets = write_targets(&work)?;
    let job = QcJob { work: &work, reference: &reference, targets: &targets };
    let together = MEASURED_PROGRAMS.join(",");
    let rows = [
        ("readmill: sort, duplicates", String::new()),
        ("with metrics", job.metric_flags(&together)),
        ("with metrics, coverage", format!("{} {}", job.metric_flags(&together), job.coverage_flags())),
        ("with metrics, CollectWgsMetrics", job.metric_flags(&format!("{together},CollectWgsMetrics"))),
        ("with metrics, CollectHsMetrics", job.metric_flags(&format!("{together},CollectHsMetrics"))),
    ];
    let marking = MarkBench(SortBench::from_work(&work));
    let contenders: Vec<_> =
        rows.iter().map(|(name, words)| marking.mark_with_readmill(name, words)).collect();
    table::measure("Quality metrics of a run that sorts and marks", &work, &contenders)?;
    let sorted = work.file("sorted.bam");
    marking.mark_with_readmill("", "").measure(&work.directory)?;
    fs::rename(work.file("readmill.bam"), &sorted)?;
    work.run_once(Call::new(&work.readmill).arg("index").arg(&sorted))?; // mosdepth needs it
    work.data = sorted.clone();
    let job = QcJob { work: &work, reference: &reference, targets: &targets };
    let contenders = job.metric_contenders()?;
    table::measure("Quality metrics of sorted reads", &work, &contenders)?;
    let contenders = job.coverage_contenders();
    table::measure("Coverage of sorted reads", &work, &contenders)?;
    fs::remove_file(work.file("sorted.bam.bai"))?;
    Ok(fs::remove_file(sorted)?)
}

struct QcJob<'a> {
    work: &'a BenchSetup,
    reference: &'a PathBuf,
    targets: &'a PathBuf,
}

impl QcJob<'_> {
    fn coverage_flags(&self) -> String {
        format!("--coverage {}", self.work.file("metrics").display())
    }

    fn metric_flags(&self, programs: &str) -> String {
        let (reference, targets) = (self.reference.display(), self.targets.display());
        let targets = if programs.contains("Hs") {
            format!("--bait-intervals {targets} --target-intervals {targets}")
        } else {
            String::new()
        };
        let prefix = self.work.file("metrics");
        format!("--qc {} --qc-metrics {programs} --reference {reference} {targets}", prefix.display())
    }

    fn new_contender(&self, name: &str, output: &str, stages: Vec<Vec<Call>>) -> Contender {
        Contender::new(name, self.work.options.runs, self.work.file(output), stages)
    }

    fn metric_contenders(&self) -> Result<Vec<Contender>> {
        let QcJob { work, reference, .. } = self;
        let all = format!("{},CollectWgsMetrics", MEASURED_PROGRAMS.join(","));
        let threads = work.options.threads;
        let call = Call::new(&work.readmill).arg("qc").arg(&work.data).add_words("-o");
        let call = call.arg(work.file("readmill")).add_words(&format!("--metrics {all} -@ {threads}"));
        let call = call.arg("--reference").arg(reference);
        let mut contenders =
            vec![self.new_contender("readmill", "readmill.wgs_metrics", vec![vec![call]])];
        if let Some(program) = work.find_peer(Peer::Riker) {
            let call = Call::new(&program).add_words("multi --input").arg(&work.data).arg("--output");
            let call = call.arg(work.file("riker")).arg("--reference").arg(reference);
            let call =
                call.add_words(&format!("--tools alignment isize basic gcbias wgs --threads {threads}"));
            let output = "riker.wgs-metrics.txt";
            contenders.push(self.new_contender(&program.title(), output, vec![vec![call]]));
        }
        if let Some(program) = work.find_peer(Peer::Picard) {
            let several = picard_tool(&program, "CollectMultipleMetrics").add_words("PROGRAM=null");
            let several =
                MEASURED_PROGRAMS.iter().fold(several, |call, it| call.arg(format!("PROGRAM={it}")));
            let several = several.named_arg("O=", &work.file("picard")).with_path(path_with_r(work)?);
            let depth = picard_tool(&program, "CollectWgsMetrics");
            let depth = depth.named_arg("O=", &work.file("picard.wgs_metrics"));
            let whole = |call: Call| vec![call.named_arg("I=", &work.data).named_arg("R=", reference)];
            let stages = vec![whole(several), whole(depth)];
            let mut contender = self.new_contender(&program.title(), "picard.wgs_metrics", stages);
            contender.runs = work.options.picard_runs;
            contenders.push(contender);
        }
        Ok(contenders)
    }

    fn coverage_contenders(&self) -> Vec<Contender> {
        let QcJob { work, .. } = self;
        let threads = work.options.threads;
        let call = Call::new(&work.readmill).arg("qc").arg(&work.data).add_words("-o");
        let call = call.arg(work.file("readmill"));
        let call = call.add_words(&format!("--coverage --no-metrics -@ {threads}"));
        let mut contenders =
            vec![self.new_contender("readmill", "readmill.per-base.bed.gz", vec![vec![call]])];
        if let Some(program) = work.find_peer(Peer::Mosdepth) {
            // mosdepth's `-t` counts additional threads.
            let more = threads.saturating_sub(1);
            let call = Call::new(&program).add_words(&format!("-t {more}")).arg(work.file("mosdepth"));
            let call = vec![vec![call.arg(&work.data)]];
            contenders.push(self.new_contender(&program.title(), "mosdepth.per-base.bed.gz", call));
        }
        contenders
    }
}

/// Returns a search path with an `Rscript` that does nothing, because Picard runs R to draw its
/// charts.
fn path_with_r(work: &BenchSetup) -> Result<OsString> {
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

fn write_targets(work: &BenchSetup) -> Result<PathBuf> {
    let (distance, length) = TARGET_SPACING;
    let mut text = String::new();
    for contig in work.read_header()?.references() {
        let name = String::from_utf8_lossy(&contig.name);
        for start in (0..contig.length.saturating_sub(length)).step_by(distance as usize) {
            text += &format!("{name}\t{start}\t{}\n", start + length);
        }
    }
    let file = work.file("targets.bed");
    fs::write(&file, text)?;
    Ok(file)
}
