//! The subcommands for sorting, marking duplicates and recalibration. Each selects its contenders
//! and prints one table.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::contender::{Call, Contender, Program};
use crate::options::{Options, Order, Peer};
use crate::recalibration::{BqsrFlags, BqsrInputs, RecalibrationBench};
use crate::sorters::{MarkBench, SortBench, samtools_sort};
use crate::table::{self, measure};
use crate::work::BenchSetup;
use crate::{five_steps, floor};

const CHAINS: [Peer; 3] = [Peer::Elprep, Peer::Samtools, Peer::Picard];

const SORTERS: [Peer; 5] = [Peer::Samtools, Peer::Fgumi, Peer::Sambamba, Peer::Elprep, Peer::Picard];

/// Peers that can sort and mark duplicates of reads grouped by name.
const DUPLICATE_MARKERS: [Peer; 7] = [
    Peer::Samtools,
    Peer::Dupblaster,
    Peer::Samblaster,
    Peer::Sambamba,
    Peer::Bamsormadup,
    Peer::Elprep,
    Peer::Picard,
];

/// Runs the five steps: sort, mark duplicates, drop unmapped reads, replace read groups, replace
/// the dictionary.
pub fn bench_five_steps(work: &BenchSetup) -> Result<()> {
    five_steps::write_headers(work)?;
    let mut contenders = vec![five_steps::readmill_steps(work)];
    // Without the spill floor, because the spill may include duplicate ends.
    contenders.extend(floor::floor_contenders(work, &contenders[0])?.into_iter().take(1));
    for peer in CHAINS {
        contenders.extend(work.find_peer(peer).and_then(|program| match peer {
            Peer::Elprep => Some(five_steps::elprep_steps(work, &program)),
            Peer::Samtools => Some(five_steps::samtools_steps(work, &program)),
            Peer::Picard => Some(five_steps::picard_steps(work, &program)),
            _ => None,
        }));
    }
    measure(&table_title("Five steps", work), work, &contenders)
}

/// Runs sorting, marking, counting and recalibration, and compares the programs' recalibration
/// tables.
pub fn bench_four_steps(work: &BenchSetup, flags: &BqsrFlags) -> Result<()> {
    let truth = BqsrInputs::from_flags(work, flags)?;
    let job = RecalibrationBench { sorting: SortBench::from_work(work), truth: &truth };
    let mut contenders = vec![
        job.recalibrate_with_readmill("readmill"),
        job.make_table_with_readmill("readmill, the table alone"),
        job.mark_with_readmill("readmill without recalibration"),
    ];
    // Without the spill floor, because the spill may include duplicate ends.
    contenders.extend(floor::floor_contenders(work, &contenders[0])?.into_iter().take(1));
    let mut others = Vec::new();
    if let Some(program) = work.find_peer(Peer::Elprep) {
        others.push("elprep");
        contenders.extend(job.recalibrate_with_elprep(&program, &truth.for_elprep(work, &program)?));
    }
    if let Some(program) = work.find_peer(Peer::Gatk) {
        truth.index_for_gatk(work, &program)?;
        others.push("gatk");
        contenders.push(job.recalibrate_with_gatk(&program));
    }
    measure(&table_title("Four steps", work), work, &contenders)?;
    job.compare_tables(&others)
}

/// Recalibrates sorted and marked reads, and prints one table for counting errors and one for
/// applying the result.
pub fn bench_bqsr_alone(work: &mut BenchSetup, flags: &BqsrFlags) -> Result<()> {
    let truth = BqsrInputs::from_flags(work, flags)?;
    let sorted = work.file("sorted.bam");
    MarkBench(SortBench::from_work(work))
        .mark_with_readmill("preparation", "")
        .measure(&work.directory)?;
    std::fs::rename(work.file("readmill.bam"), &sorted)?;
    work.data = sorted.clone();
    let work = &*work;
    let job = RecalibrationBench { sorting: SortBench::from_work(work), truth: &truth };
    let gatk = work.find_peer(Peer::Gatk);
    let mut counting = vec![job.count_with_readmill("readmill bqsr table")];
    if let Some(program) = &gatk {
        truth.index_for_gatk(work, program)?;
        counting.push(job.count_with_gatk(program));
    }
    measure(&table_title("Count errors of sorted reads", work), work, &counting)?;
    // All programs apply the same table. It is created again here, because outputs are removed
    // after each measurement.
    counting[0].measure(&work.directory)?;
    let table = job.table_path("given");
    std::fs::rename(job.table_path("readmill"), &table)?;
    let mut applying = vec![job.apply_with_readmill("readmill bqsr apply", &table)];
    applying.extend(floor::floor_contenders(work, &applying[0])?.into_iter().take(1));
    applying.extend(gatk.map(|program| job.apply_with_gatk(&program, &table)));
    measure(&table_title("Give sorted reads new qualities", work), work, &applying)?;
    Ok(std::fs::remove_file(sorted)?)
}

pub fn bench_sort(work: &mut BenchSetup) -> Result<()> {
    bring_mate_cigars(work)?;
    let (work, sorting) = (&*work, SortBench::from_work(work));
    let mut contenders = vec![sorting.sort_with_readmill("readmill")];
    contenders.extend(floor::floor_contenders(work, &contenders[0])?);
    for peer in SORTERS {
        let program = work.find_peer(peer);
        contenders.extend(program.and_then(|program| sorting.sort_with_peer(peer, &program)));
    }
    measure(&table_title(&sort_by(work), work), work, &contenders)
}

/// Sorts and marks reads in aligner order. A row without marking shows the cost of marking.
pub fn bench_duplicates(work: &BenchSetup) -> Result<()> {
    let (sorting, marking) = (SortBench::from_work(work), MarkBench(SortBench::from_work(work)));
    let mut contenders = vec![marking.mark_with_readmill("readmill", "")];
    contenders.extend(marking.readmill_with_metrics("readmill with metrics"));
    contenders.push(sorting.sort_with_readmill("readmill sort alone"));
    // Without the spill floor, because the spill may include duplicate ends.
    contenders.extend(floor::floor_contenders(work, &contenders[0])?.into_iter().take(1));
    for peer in DUPLICATE_MARKERS {
        let Some(program) = work.find_peer(peer) else { continue };
        contenders.extend(match peer {
            Peer::Samtools => Some(marking.mark_with_samtools(&program)),
            Peer::Dupblaster => {
                work.find_peer(Peer::Fgumi).map(|it| marking.mark_with_dupblaster(&program, &it))
            }
            Peer::Samblaster => {
                work.find_peer(Peer::Samtools).map(|it| marking.mark_with_samblaster(&program, &it))
            }
            Peer::Sambamba => marking.mark_with_sambamba(&program),
            Peer::Bamsormadup => Some(marking.mark_with_bamsormadup(&program)),
            Peer::Elprep => marking.mark_with_elprep(&program),
            Peer::Picard => marking.mark_with_picard(&program),
            _ => None,
        });
    }
    measure(&table_title("Sort and mark duplicates", work), work, &contenders)
}

/// Marks duplicates of reads that are already sorted. samtools must first collate them by name and
/// sort them again.
pub fn bench_duplicates_sorted(work: &mut BenchSetup) -> Result<()> {
    let sorted = sort_first(work)?;
    work.data = sorted.clone();
    let work = &*work;
    let marking = MarkBench(SortBench::from_work(work));
    let mut contenders = vec![marking.readmill_on_sorted("readmill")];
    contenders.extend(floor::floor_contenders(work, &contenders[0])?.into_iter().take(1));
    for peer in [Peer::Samtools, Peer::Sambamba, Peer::Picard] {
        contenders.extend(work.find_peer(peer).and_then(|program| match peer {
            Peer::Samtools => Some(marking.samtools_on_sorted(&program)),
            Peer::Sambamba => Some(marking.sambamba_on_sorted(&program)),
            Peer::Picard => Some(marking.picard_on_sorted(&program)),
            _ => None,
        }));
    }
    measure(&table_title("Mark duplicates of sorted reads", work), work, &contenders)?;
    Ok(std::fs::remove_file(sorted)?)
}

pub fn bench_floor(work: &mut BenchSetup) -> Result<()> {
    bring_mate_cigars(work)?;
    let mut contenders = vec![SortBench::from_work(work).sort_with_readmill("readmill")];
    contenders.extend(floor::floor_contenders(work, &contenders[0])?);
    measure(&table_title(&format!("{} beside its codec floor", sort_by(work)), work), work, &contenders)
}

pub fn bench_input(work: &BenchSetup) -> Result<()> {
    let (Some(samtools), Some(picard)) = (work.find_peer(Peer::Samtools), work.find_peer(Peer::Picard))
    else {
        anyhow::bail!("both samtools and Picard are needed to write the input");
    };
    let (by_samtools, by_picard) = (work.file("by-samtools.bam"), work.file("by-picard.bam"));
    work.run_once(Call::new(&samtools).add_words("view -b -o").arg(&by_samtools).arg(&work.data))?;
    let call = Call::new(&picard).arg("SamFormatConverter").named_arg("INPUT=", &work.data);
    work.run_once(
        call.named_arg("OUTPUT=", &by_picard)
            .add_words("COMPRESSION_LEVEL=6 VALIDATION_STRINGENCY=SILENT"),
    )?;
    let of = |data: &Path, name: &str| {
        SortBench { data, ..SortBench::from_work(work) }.sort_with_readmill(name)
    };
    let contenders = [
        of(&by_samtools, "readmill, input written by samtools"),
        of(&by_picard, "readmill, input written by Picard"),
    ];
    measure(&table_title("The same reads from two writers", work), work, &contenders)
}

/// Sorts and copies reads that are already sorted, with enough memory for all reads and with less.
pub fn bench_sorted(work: &mut BenchSetup) -> Result<()> {
    bring_mate_cigars(work)?;
    let (work, data) = (&*work, sort_first(work)?);
    let roomy = SortBench { data: &data, memory: None, ..SortBench::from_work(work) };
    let tight = SortBench { memory: Some(tight_memory(work, &data)?), ..roomy };
    let mut contenders: Vec<Contender> = vec![
        roomy.sort_with_readmill("readmill sort"),
        roomy.copy_with_readmill("readmill prep without steps"),
        tight.sort_with_readmill("readmill sort, little memory"),
    ];
    if let Some(program) = work.find_peer(Peer::Samtools) {
        let title = program.title();
        contenders.push(roomy.sort_with_samtools(&program, &format!("{title} sort")));
        contenders.push(tight.sort_with_samtools(&program, &format!("{title} sort, little memory")));
    }
    let what = format!("{}: reads that are in that order already", sort_by(work));
    measure(&format!("{what} (level {})", work.options.level), work, &contenders)?;
    Ok(std::fs::remove_file(data)?)
}

pub fn sort_first(work: &BenchSetup) -> Result<PathBuf> {
    let sorted = work.file("sorted.bam");
    SortBench::from_work(work).sort_with_readmill("preparation").measure(&work.directory)?;
    std::fs::rename(work.file("readmill.bam"), &sorted)?;
    Ok(sorted)
}

/// Returns a memory in MiB that is too small for all records: the value of the option, or the size
/// of the compressed file, but at least the minimum that readmill accepts.
fn tight_memory(work: &BenchSetup, data: &Path) -> Result<u64> {
    let size = std::fs::metadata(data)?.len() >> 20;
    let min_mib = work.min_memory_mib()?;
    Ok(work.options.limit.unwrap_or(size).max(min_mib))
}

/// Adds mate CIGARs (MC) to simulated reads for template-coordinate order, which needs the mate's
/// end. Aligners do not write MC by default.
pub fn bring_mate_cigars(work: &mut BenchSetup) -> Result<()> {
    if work.options.order != Order::TemplateCoordinate || work.options.data.is_some() {
        return Ok(());
    }
    let samtools = work.find_peer(Peer::Samtools).context("samtools is needed to write MC fields")?;
    let made = work.data.with_file_name("reads-with-mc.bam");
    if !made.exists() {
        let partial = work.data.with_file_name("partial.bam");
        work.run_once(Call::new(&samtools).arg("fixmate").arg(&work.data).arg(&partial))?;
        std::fs::rename(partial, &made)?;
    }
    work.data = made;
    Ok(())
}

pub fn sort_by(work: &BenchSetup) -> String {
    format!("Sort, {}", work.options.order.name())
}

fn table_title(what: &str, work: &BenchSetup) -> String {
    let Options { level, limit, .. } = work.options;
    let memory = limit.map_or("each one's default memory".into(), |memory| format!("{memory} MiB"));
    format!("{what} (level {level}, {memory})")
}

#[derive(clap::Args)]
pub struct CramArgs {
    #[command(flatten)]
    options: Options,
    #[command(flatten)]
    truth: BqsrFlags,
    /// Numbers of threads, one table each; replaces -@
    #[arg(long, value_name = "N", value_delimiter = ',', default_value = "1,2")]
    each: Vec<usize>,
    /// Formats as in -O cram,FORMAT, one table each
    #[arg(long, value_name = "FORMAT", value_delimiter = ';', default_value = CRAM_FORMATS)]
    formats: Vec<String>,
}

/// Both versions, and the profiles of CRAM 3.1.
const CRAM_FORMATS: &str =
    "version=3.0;version=3.1,fast;version=3.1,normal;version=3.1,small;version=3.1,archive";

/// Sorts BAM into CRAM with readmill and samtools in each format, with one table per number of
/// threads.
///
/// Neither program writes an index. `parity --corpus` compares the content of the files; here only
/// their size is reported.
pub fn bench_cram(args: CramArgs) -> Result<()> {
    let CramArgs { options, truth, each, formats } = args;
    let mut work = BenchSetup::prepare(options)?;
    let truth = BqsrInputs::from_flags(&work, &truth)?;
    let samtools = work.find_peer(Peer::Samtools);
    for threads in each {
        work.options.threads = threads;
        for format in &formats {
            let mut contenders = vec![readmill_to_cram(&work, &truth, format)];
            contenders
                .extend(samtools.iter().map(|program| samtools_to_cram(&work, &truth, program, format)));
            let title = format!("Sort by coordinate, BAM to CRAM {format}, -@ {threads}");
            table::measure(&title, &work, &contenders)?;
            println!();
        }
    }
    Ok(())
}

fn readmill_to_cram(work: &BenchSetup, truth: &BqsrInputs, format: &str) -> Contender {
    let Options { threads, limit, runs, .. } = work.options;
    let memory = limit.map(|memory| format!("-m {memory}M")).unwrap_or_default();
    let output = work.file("readmill.cram");
    let call = Call::new(&work.readmill).arg("sort").arg(&work.data).arg("-o").arg(&output);
    let call = call.add_words(&format!("-O cram,{format} --reference")).arg(&truth.reference);
    let call = call.add_words(&format!("{memory} -@ {threads} --no-index -T")).arg(&work.directory);
    Contender::new("readmill", runs, output, vec![vec![call]])
}

/// Sorts into CRAM with samtools. Its `-m` is per thread; its `-@` is set as in the other tables.
fn samtools_to_cram(
    work: &BenchSetup,
    truth: &BqsrInputs,
    program: &Program,
    format: &str,
) -> Contender {
    let output = work.file("samtools.cram");
    let call = samtools_sort(work, program, SortBench::from_work(work).memory).arg("--reference");
    let call = call.arg(&truth.reference).add_words(&format!("-O cram,{format} -o")).arg(&output);
    Contender::new(&program.title(), work.options.runs, output, vec![vec![call.arg(&work.data)]])
}
