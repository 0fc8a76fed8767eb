//! The subcommand `align`: from FASTQ to aligned, sorted, marked and indexed reads.
//!
//! It compares readmill's single process with its aligner kernel alone plus the codec floor, and
//! with pipes of an aligner and samtools.
//!
//! All programs get the same reads, the same `-K`, the same read group and the same number of
//! threads. Indexes are built in advance; readmill also builds that of bwa-mem2.

use std::path::PathBuf;

use anyhow::{Context, Result, bail};

use crate::contender::{Call, Contender, Measurement, Program};
use crate::data_file::DataTable;
use crate::floor;
use crate::options::{Options, Peer};
use crate::sorters::{SortBench, samtools_marks};
use crate::table::{self, TableRow};
use crate::work::BenchSetup;

#[derive(clap::Args)]
pub struct AlignBenchArgs {
    #[command(flatten)]
    options: Options,
    /// Bases from which one insert size distribution is estimated (bwa -K)
    #[arg(short = 'K', long, value_name = "N", default_value_t = 10_000_000)]
    cohort_bases: u64,
    /// Compress the FASTQ files as BGZF
    #[arg(long)]
    bgzf: bool,
    /// Also run the bare kernel with readmill's settings of the C allocator
    #[arg(long)]
    settled: bool,
}

const GROUP: (&str, &str) = ("bench", r"@RG\tID:bench\tSM:sample1\tLB:lib1\tPL:ILLUMINA");

const KERNEL: &str = "bare kernel";
const INFLATING: &str = "codec floor with inflating";

/// The reads, the reference and `-K`, the same for all contenders.
struct AlignBench<'a> {
    work: &'a BenchSetup,
    reference: PathBuf,
    reads: [PathBuf; 2],
    cohort_bases: u64,
}

pub fn bench_align(args: AlignBenchArgs) -> Result<()> {
    if args.options.data.is_some() {
        bail!("reads are simulated here: --data has no FASTQ");
    }
    let mut work = BenchSetup::without_data(args.options.clone())?;
    let made = work.ensure_simulated_data("fastq", "--fastq --profile middle --level 1")?;
    let ends = if args.bgzf { ["r1.fastq.gz", "r2.fastq.gz"] } else { ["r1.fastq", "r2.fastq"] };
    let (reference, reads) = (made.join("reference.fa"), ends.map(|name| made.join(name)));
    work.data = reads[0].clone();
    work.about = Some(format!(
        "{} and {} of {} simulated pairs on a genome of 8 Mb (`./dev bench data --fastq --profile middle`); -K {}",
        ends[0], ends[1], args.options.pairs, args.cohort_bases,
    ));
    let job = AlignBench { work: &work, reference, reads, cohort_bases: args.cohort_bases };
    job.prepare_inputs(args.bgzf)?;
    let contenders = job.align_contenders(&args)?;
    let rows = table::measure_rounds(&work, &contenders, |row, output| {
        let is_text = output.extension().is_some_and(|end| end == "records");
        row.record_counts = if is_text {
            std::fs::read_to_string(output)?.trim().into()
        } else {
            work.count_records(output)?
        };
        Ok(())
    })?;
    print_results(&work, &contenders, rows)
}

impl AlignBench<'_> {
    fn prepare_inputs(&self, bgzf: bool) -> Result<()> {
        let (work, [first, last]) = (self.work, &self.reads);
        if bgzf && !last.exists() {
            let bam = first.with_file_name("reads.bam");
            let call = Call::new(&work.readmill).arg("fastq").arg(bam).add_words("-n --grouped -1");
            work.run_once(call.arg(first).arg("-2").arg(last))?;
        }
        if !self.reference.with_extension("fa.bwt.2bit.64").exists() {
            let call = Call::new(&work.readmill).add_words("index --unpacked").arg(&self.reference);
            work.run_once(call)?;
        }
        Ok(())
    }

    /// Builds bwa's index, whose format differs from that of bwa-mem2. Returns its prefix.
    fn index_for_bwa(&self, program: &Program) -> Result<PathBuf> {
        let prefix = self.reference.with_file_name("bwa");
        if !prefix.with_extension("sa").exists() {
            let call = Call::new(program).add_words("index -p").arg(&prefix).arg(&self.reference);
            self.work.run_once(call)?;
        }
        Ok(prefix)
    }

    fn align_contenders(&self, args: &AlignBenchArgs) -> Result<Vec<Contender>> {
        let (work, fused) = (self.work, self.readmill_contender());
        let (output, _) = floor::run_and_keep_output(work, &fused)?;
        let none = PathBuf::from("-");
        let mut contenders = vec![
            fused,
            self.kernel_contender(KERNEL, ""),
            floor::floor_contender(work, floor::FLOOR_NAME, &none, &output),
        ];
        if args.bgzf {
            let mut inflating = floor::floor_contender(work, INFLATING, &self.reads[0], &output);
            inflating.stages[0][0] = inflating.stages[0][0].clone().arg("--and").arg(&self.reads[1]);
            contenders.push(inflating);
        }
        if args.settled {
            contenders.push(self.kernel_contender("bare kernel, readmill's allocator", "--settled"));
        }
        let [mem2, bwa, mini] =
            [Peer::BwaMem2, Peer::Bwa, Peer::Minibwa].map(|peer| work.find_peer(peer));
        if mem2.is_none() && bwa.is_none() && mini.is_none() {
            return Ok(contenders);
        }
        let samtools =
            work.find_peer(Peer::Samtools).context("samtools sorts and marks for aligners")?;
        contenders
            .extend(mem2.map(|it| self.chain_contender(&it, "mem", &samtools, self.reference.clone())));
        if let Some(program) = bwa {
            let mut chain =
                self.chain_contender(&program, "mem", &samtools, self.index_for_bwa(&program)?);
            chain.runs = work.options.picard_runs;
            contenders.push(chain);
        }
        if let Some(program) = mini {
            let index =
                Call::new(&work.readmill).add_words("index --kernel minibwa").arg(&self.reference);
            work.run_once(index)?;
            contenders.push(self.fused_contender(
                "readmill, minibwa",
                "--kernel minibwa",
                "readmill.minibwa.bam",
            ));
            contenders.push(self.chain_contender(&program, "map", &samtools, self.reference.clone()));
        }
        Ok(contenders)
    }

    fn readmill_contender(&self) -> Contender {
        self.fused_contender("readmill", "", "readmill.bam")
    }

    fn fused_contender(&self, name: &str, words: &str, output: &str) -> Contender {
        let (work, [first, last]) = (self.work, &self.reads);
        let output = work.file(output);
        let call = Call::new(&work.readmill).arg("align").arg(&self.reference).arg(first).arg(last);
        let call = call.add_words(words).add_words(&format!("-K {} -R", self.cohort_bases)).arg(GROUP.1);
        let call = call.add_words("--sort coordinate --mark-duplicates -o").arg(&output);
        let call = SortBench::from_work(work).with_resources(call);
        Contender::new(name, work.options.runs, output, vec![vec![call]])
    }

    fn kernel_contender(&self, name: &str, words: &str) -> Contender {
        let (work, [first, last]) = (self.work, &self.reads);
        let (output, Options { threads, runs, .. }) = (work.file("kernel.records"), &work.options);
        let call = work.own_call("kernel-once").arg(&self.reference).arg(first).arg(last);
        let call = call.arg(&output).add_words(&format!("{threads} {} --group", self.cohort_bases));
        Contender::self_timed(name, *runs, output, call.arg(GROUP.0).add_words(words))
    }

    fn chain_contender(
        &self,
        aligner: &Program,
        task: &str,
        samtools: &Program,
        index: PathBuf,
    ) -> Contender {
        let (work, [first, last]) = (self.work, &self.reads);
        let (output, Options { threads, runs, .. }) = (work.file("chain.bam"), &work.options);
        let mem = format!("{task} -t {threads} -K {} -R", self.cohort_bases);
        let [sort, marks] = samtools_marks(&SortBench::from_work(work), samtools, &output);
        let pipe = vec![
            Call::new(aligner).add_words(&mem).arg(GROUP.1).arg(index).arg(first).arg(last),
            Call::new(samtools).add_words(&format!("fixmate -@ {threads} -m -u - -")),
            sort,
            marks.arg("--write-index"),
        ];
        let name = format!("{}, {} fixmate, sort, markdup", aligner.title(), samtools.title());
        Contender::new(&name, *runs, output, vec![pipe])
    }
}

/// Prints the table, with kernel plus codec as the floor, and the ratios of each round.
fn print_results(work: &BenchSetup, contenders: &[Contender], mut rows: Vec<TableRow>) -> Result<()> {
    let find = |rows: &[TableRow], name: &str| rows.iter().position(|row| row.name == name);
    let mut floors = Vec::new();
    for codec in [floor::FLOOR_NAME, INFLATING] {
        if let (Some(kernel), Some(codec)) = (find(&rows, KERNEL), find(&rows, codec)) {
            let name = format!("{KERNEL} and {}", rows[codec].name);
            floors.push(name.clone());
            rows.push(TableRow::sum_of_rows(&name, &[&rows[kernel], &rows[codec]]));
        }
    }
    let Options { level, limit, .. } = work.options;
    let memory = limit.map_or("default memory".into(), |memory| format!("{memory} MiB"));
    let title = format!("FASTQ to aligned, sorted, marked reads (level {level}, {memory})");
    table::print_table(&title, work, &rows, &floors[0]);
    let (own, others) = (&rows[0], &rows[1..]);
    println!("\nRound by round, median (least–most):\n");
    let mut ratios = Vec::new();
    for row in others {
        let (cpu, wall) =
            (|s: &Measurement| s.cpu.as_secs_f64(), |s: &Measurement| s.wall.as_secs_f64());
        if floors.contains(&row.name) {
            let (cpu, wall) = (own.ratio(row, cpu), own.ratio(row, wall));
            println!(
                "- readmill takes {cpu} × the CPU time and {wall} × the wall time of the {}.",
                row.name
            );
            ratios.push(ratio_cells([own, row], [&cpu, &wall, "–"]));
        } else if row.samples.iter().all(|sample| sample.peak > 0) {
            let peak = row.ratio(own, |sample| sample.peak as f64);
            let (cpu, wall) = (row.ratio(own, cpu), row.ratio(own, wall));
            println!(
                "- {} takes {cpu} × the CPU time, {wall} × the wall time and {peak} × the memory of readmill.",
                row.name
            );
            ratios.push(ratio_cells([row, own], [&cpu, &wall, &peak]));
        }
    }
    table::print_commands(contenders);
    table::save_table(&title, work, &rows, &floors[0], contenders)?;
    let columns = RATIO_COLUMNS;
    work.save_table(&DataTable { file: "align-rounds", title: &title, columns: &columns, rows: ratios })
}

/// The columns of the ratios, which are computed round by round: time, CPU or memory of one
/// contender relative to another.
const RATIO_COLUMNS: [&str; 11] = [
    "contender",
    "compared_with",
    "cpu_ratio",
    "cpu_ratio_min",
    "cpu_ratio_max",
    "wall_ratio",
    "wall_ratio_min",
    "wall_ratio_max",
    "peak_ratio",
    "peak_ratio_min",
    "peak_ratio_max",
];

/// Returns the cells of a row of ratios, each formatted as `median (min–max)`.
fn ratio_cells(names: [&TableRow; 2], ratios: [&str; 3]) -> Vec<String> {
    let names = names.map(|row| row.name.clone());
    names.into_iter().chain(ratios.into_iter().flat_map(table::split_range)).collect()
}
