//! BAM sorted into CRAM with its reference: readmill beside samtools, which is asked for the version that readmill
//! writes, and for its own. No program writes an index.
//!
//! Each number of threads has a table. Sizes are those of the CRAM files; `parity --corpus` compares their content.

use anyhow::Result;

use super::contender::{Call, Contender, Program};
use super::options::{Options, Peer};
use super::sorters::{Sorting, samtools_sort};
use super::table;
use super::truth::{BqsrInputs, Flags};
use super::work::Work;

/// Options of `bench cram`.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    options: Options,
    #[command(flatten)]
    truth: Flags,
    /// Numbers of threads, each with its own table, instead of -@
    #[arg(long, value_name = "N", value_delimiter = ',', default_value = "1,2")]
    each: Vec<usize>,
}

/// Formats of samtools: the version that readmill writes, and its own.
const FORMATS: [(&str, &str); 2] = [("CRAM 3.0", "cram,version=3.0"), ("its CRAM", "cram")];

/// Measures, and prints a table for each number of threads.
pub fn run(args: Args) -> Result<()> {
    let Args { options, truth, each } = args;
    let mut work = Work::prepare(options)?;
    let truth = BqsrInputs::of(&work, &truth)?;
    let samtools = work.peer(Peer::Samtools);
    for threads in each {
        work.options.threads = threads;
        let mut contenders = vec![readmill(&work, &truth)];
        if let Some(program) = &samtools {
            contenders.extend(FORMATS.map(|format| by_samtools(&work, &truth, program, format)));
        }
        let title = format!("Sort by coordinate, BAM to CRAM, -@ {threads}");
        table::measure(&title, &work, &contenders)?;
        println!();
    }
    Ok(())
}

fn readmill(work: &Work, truth: &BqsrInputs) -> Contender {
    let Options { threads, limit, runs, .. } = work.options;
    let memory = limit.map(|memory| format!("-m {memory}M")).unwrap_or_default();
    let output = work.file("readmill.cram");
    let call = Call::new(&work.readmill).arg("sort").arg(&work.data).arg("-o").arg(&output);
    let call = call.arg("--reference").arg(&truth.reference);
    let call = call.words(&format!("{memory} -@ {threads} --no-index -T")).arg(&work.directory);
    Contender::new("readmill", runs, output, vec![vec![call]])
}

/// samtools takes its memory for each thread; its threads are counted as in the other tables.
fn by_samtools(
    work: &Work,
    truth: &BqsrInputs,
    program: &Program,
    (name, format): (&str, &str),
) -> Contender {
    let output = work.file("samtools.cram");
    let call = samtools_sort(work, program, Sorting::of(work).memory).arg("--reference");
    let call = call.arg(&truth.reference).words(&format!("-O {format} -o")).arg(&output);
    let title = format!("{}, {name}", program.title());
    Contender::new(&title, work.options.runs, output, vec![vec![call.arg(&work.data)]])
}
