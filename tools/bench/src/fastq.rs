//! The subcommand `fastq`: the additional cost of FastQC modules and of trimming in a run, compared
//! with FastQC and fastp.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result, bail};

use crate::contender::{Call, Contender, Program};
use crate::options::{Options, Peer};
use crate::sorters::SortBench;
use crate::table;
use crate::work::BenchSetup;

struct FastqJob {
    work: BenchSetup,
    reference: PathBuf,
    reads: [PathBuf; 2],
}

/// Prints two tables: FastQC modules, then trimming (only if fastp is available).
pub fn bench_fastq(options: Options) -> Result<()> {
    if options.data.is_some() {
        bail!("reads are simulated here: --data has no FASTQ");
    }
    let mut work = BenchSetup::without_data(options)?;
    let made = work.ensure_simulated_data("fastq", "--fastq --profile middle --level 1")?;
    let reads = ["r1.fastq", "r2.fastq"].map(|name| made.join(name));
    work.data = reads[0].clone();
    work.about = Some(format!(
        "r1.fastq and r2.fastq of {} simulated pairs (`./dev bench data --fastq --profile middle`)",
        work.options.pairs
    ));
    let job = FastqJob { work, reference: made.join("reference.fa"), reads };
    table::measure("Modules of FastQC, of FASTQ", &job.work, &job.fastqc_contenders()?)?;
    match &job.trimming_contenders()?[..] {
        [] => Ok(()),
        contenders => table::measure("Trimming before alignment", &job.work, contenders),
    }
}

impl FastqJob {
    fn new_contender(&self, name: &str, output: &str, call: Call) -> Contender {
        let output = self.work.file(output);
        Contender::new(name, self.work.options.runs, output, vec![vec![call]])
    }

    /// Adds the reads, the output and readmill's resource options to a call.
    fn add_files(&self, call: Call, reads: &[PathBuf; 2], output: &str) -> Call {
        let call = call.arg(&reads[0]).arg(&reads[1]).arg("-o").arg(self.work.file(output));
        SortBench::from_work(&self.work).with_resources(call)
    }

    fn fastqc_contenders(&self) -> Result<Vec<Contender>> {
        let (work, [first, last]) = (&self.work, &self.reads);
        let [own, theirs] = ["modules", "fastqc"].map(|name| work.file(name));
        fs::create_dir_all(&theirs).with_context(|| theirs.display().to_string())?;
        let import =
            || self.add_files(Call::new(&work.readmill).arg("import"), &self.reads, "imported.bam");
        let alone = Call::new(&work.readmill).arg("qc").arg(first).arg(last);
        let Options { threads, limit, .. } = work.options;
        let memory = limit.map(|limit| format!("-m {limit}M")).unwrap_or_default();
        let alone = alone.add_words(&format!("--no-metrics -@ {threads} {memory} --fastqc")).arg(&own);
        let mut contenders = vec![
            self.new_contender("readmill import", "imported.bam", import()),
            self.new_contender(
                "readmill import --fastqc",
                "imported.bam",
                import().arg("--fastqc").arg(&own),
            ),
            self.new_contender("readmill qc --fastqc", "modules/r1_fastqc/fastqc_data.txt", alone),
        ];
        if let Some(program) = work.find_peer(Peer::Fastqc) {
            let call = Call::new(&program).add_words("-q -o").arg(&theirs).arg(first).arg(last);
            let mut contender = self.new_contender(&program.title(), "fastqc/r1_fastqc.zip", call);
            contender.runs = work.options.picard_runs;
            contenders.push(contender);
        }
        Ok(contenders)
    }

    fn trimming_contenders(&self) -> Result<Vec<Contender>> {
        let work = &self.work;
        let Some(program) = work.find_peer(Peer::Fastp) else { return Ok(Vec::new()) };
        if !self.reference.with_extension("fa.bwt.2bit.64").exists() {
            let call = Call::new(&work.readmill).add_words("index --unpacked").arg(&self.reference);
            work.run_once(call)?;
        }
        // Outputs are removed after each measurement, so the reads to align are trimmed into
        // separate files.
        let files = |name| [1, 2].map(|end| work.file(&format!("{name}.{end}.fastq")));
        let (trimmed, again) = (files("trimmed"), files("fastp"));
        work.run_once(fastp_call(work, &program, &self.reads, &trimmed))?;
        let align = |reads| {
            let call = Call::new(&work.readmill).arg("align").arg(&self.reference);
            self.add_files(call, reads, "aligned.bam")
        };
        Ok(vec![
            self.new_contender("readmill align of trimmed reads", "aligned.bam", align(&trimmed)),
            self.new_contender("readmill align --trim", "aligned.bam", align(&self.reads).arg("--trim")),
            self.new_contender(
                &program.title(),
                "fastp.1.fastq",
                fastp_call(work, &program, &self.reads, &again),
            ),
        ])
    }
}

/// Returns a call of fastp with its defaults, which readmill's trimming shares, and one worker
/// thread.
fn fastp_call(work: &BenchSetup, program: &Program, from: &[PathBuf; 2], to: &[PathBuf; 2]) -> Call {
    let call = Call::new(program).arg("-i").arg(&from[0]).arg("-I").arg(&from[1]).arg("-o").arg(&to[0]);
    let call = call.arg("-O").arg(&to[1]).arg("-j").arg(work.file("fastp.json"));
    call.arg("-h").arg(work.file("fastp.html")).add_words("-w 1")
}
