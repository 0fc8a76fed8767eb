//! The hidden subcommand `kernel-once`: the aligner kernel alone. It aligns reads from memory and
//! discards the records.
//!
//! Reads are parsed and the index is loaded before the clock starts. Batches, cohorts and the
//! number of threads are those of `readmill align`. Each thread has an aligner, takes the next free
//! batch, and waits only at the end of a cohort. The C allocator keeps its default settings unless
//! `--settled` is given.
#![allow(clippy::disallowed_methods, reason = "the bare kernel has threads of its own")]

use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Instant;

use anyhow::{Context, Result, anyhow};
use readmill_align::bwa::{self, BwaKernel, BwaOptions};
use readmill_align::{Aligner, Cohorts, Kernel, Seeded};
use readmill_fastq::{BatchLinker, BatchOptions, Claims, FastqInput, FastqLayout};
use readmill_peers::usage;
use readmill_process::allocator::{self, Heaps};
use readmill_record::ReadBatch;

#[derive(clap::Args)]
pub struct KernelArgs {
    /// Reference, with its index
    reference: PathBuf,
    /// FASTQ of the first reads
    first: PathBuf,
    /// FASTQ of the last reads
    last: PathBuf,
    /// File for the number of records
    to: PathBuf,
    /// Total number of threads
    threads: usize,
    cohort_bases: u64,
    /// ID of the read group
    #[arg(long, value_name = "ID")]
    group: Option<String>,
    /// Configure the C allocator as readmill does
    #[arg(long)]
    settled: bool,
}

/// Measures once and prints seconds of wall time and of CPU time.
///
/// Runs as `kernel-once` in its own process; the contender that started it parses the printed line.
pub fn measure_kernel(args: &KernelArgs) -> Result<()> {
    if args.settled {
        allocator::configure_allocator(Heaps::Aligning(args.threads));
    }
    let options = BwaOptions { cohort_bases: Some(args.cohort_bases), ..BwaOptions::default() };
    let kernel: Arc<dyn Kernel> =
        Arc::new(BwaKernel::load(&bwa::FILES.find_prefix(&args.reference)?, options)?);
    let cohorts = split_into_cohorts(kernel.as_ref(), read_batches(args)?);
    let group = args.group.as_ref().map(String::as_bytes);
    let (used, started) = (usage::own_usage()?.cpu, Instant::now());
    let crew = (0..args.threads).map(|_| Arc::clone(&kernel).new_aligner());
    let mut crew = crew.collect::<Result<Vec<_>, _>>()?;
    let mut records = 0;
    for cohort in &cohorts {
        records += align_cohort(kernel.as_ref(), &mut crew, cohort, group)?;
    }
    let (wall, cpu) = (started.elapsed(), usage::own_usage()?.cpu - used);
    std::fs::write(&args.to, format!("{records}\n")).with_context(|| args.to.display().to_string())?;
    println!("{} {}", wall.as_secs_f64(), cpu.as_secs_f64());
    Ok(())
}

fn read_batches(args: &KernelArgs) -> Result<Vec<ReadBatch>> {
    let [first, last] = [&args.first, &args.last].map(|file| FastqInput::Path(file.clone()));
    let claims = Arc::new(Claims::open(FastqLayout::Paired(first, last), BatchOptions::default())?);
    let (mut order, mut batches) = (BatchLinker::new(&claims), Vec::new());
    while !claims.has_ended() {
        let mut reads = ReadBatch::default();
        let taken = claims.take(batches.len() as u64, &mut reads);
        order.link(taken, &mut reads)?;
        batches.push(reads);
    }
    Ok(batches)
}

/// Groups batches into cohorts. A batch that crosses the end of a cohort is split there.
fn split_into_cohorts(kernel: &dyn Kernel, batches: Vec<ReadBatch>) -> Vec<Vec<ReadBatch>> {
    let mut cutter = Cohorts::new(kernel.cohort_bases(2).unwrap_or(u64::MAX));
    let (mut cohorts, mut present) = (Vec::new(), Vec::new());
    for batch in batches {
        let mut from = 0;
        while from < batch.template_count() {
            let (part, ends) = cutter.take_templates(&batch, from);
            from = part.end;
            present.push(batch.copy_templates(part));
            if ends {
                cohorts.push(std::mem::take(&mut present));
            }
        }
    }
    cohorts.push(present);
    cohorts
}

fn align_cohort(
    kernel: &dyn Kernel,
    crew: &mut [Box<dyn Aligner>],
    cohort: &[ReadBatch],
    group: Option<&[u8]>,
) -> Result<u64> {
    let seeded = map_batches(crew, cohort.len(), |aligner, at| Ok(aligner.seed_reads(&cohort[at])?))?;
    let model = kernel.infer_insert_sizes(&seeded.iter().collect::<Vec<_>>())?;
    let seeded: Vec<Mutex<Option<Seeded>>> = seeded.into_iter().map(|it| Mutex::new(Some(it))).collect();
    let records = map_batches(crew, cohort.len(), |aligner, at| {
        let taken = seeded[at].lock().unwrap_or_else(PoisonError::into_inner).take();
        let (taken, mut records) = (taken.context("a batch was emitted twice")?, 0);
        aligner.emit_records(&cohort[at], taken, &model, group, &mut |_, record| {
            records += u64::from(!record.is_empty());
            Ok(())
        })?;
        Ok(records)
    })?;
    Ok(records.into_iter().sum())
}

/// Calls `work` for each batch, on all threads. The results are in batch order.
fn map_batches<T: Send>(
    crew: &mut [Box<dyn Aligner>],
    batches: usize,
    work: impl Fn(&mut dyn Aligner, usize) -> Result<T> + Sync,
) -> Result<Vec<T>> {
    let (next, work) = (AtomicUsize::new(0), &work);
    let perform = |aligner: &mut dyn Aligner| {
        let mut done = Vec::new();
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            if at >= batches {
                return anyhow::Ok(done);
            }
            done.push((at, work(aligner, at)?));
        }
    };
    let mut all = thread::scope(|scope| {
        let perform = &perform;
        let start = |aligner: &'_ mut Box<dyn Aligner>| perform(aligner.as_mut());
        let threads: Vec<_> = crew.iter_mut().map(|one| scope.spawn(move || start(one))).collect();
        let join = |thread: thread::ScopedJoinHandle<'_, Result<Vec<(usize, T)>>>| {
            thread.join().map_err(|_| anyhow!("a thread of the kernel panicked"))?
        };
        threads.into_iter().map(join).collect::<Result<Vec<_>>>()
    })?
    .into_iter()
    .flatten()
    .collect::<Vec<_>>();
    all.sort_unstable_by_key(|(at, _)| *at);
    Ok(all.into_iter().map(|(_, made)| made).collect())
}

#[cfg(test)]
mod tests {
    use readmill_align::bwa::{BwaIndexOptions, build_index};
    use readmill_simulate::{Profile, Sample};

    use super::*;

    #[test]
    fn every_read_has_a_record_whatever_the_threads() {
        let directory = tempfile::tempdir().unwrap();
        let file = |name: &str| directory.path().join(name);
        let sample = Sample::new(Profile::small().with_pairs(1500));
        let (mut fasta, mut first, mut last) = (Vec::new(), Vec::new(), Vec::new());
        sample.write_fasta(&mut fasta).unwrap();
        sample.write_fastq(&mut first, &mut last).unwrap();
        let reads = first.iter().filter(|&&byte| byte == b'\n').count() as u64 / 2;
        for (name, text) in [("ref.fa", fasta), ("1.fq", first), ("2.fq", last)] {
            std::fs::write(file(name), text).unwrap();
        }
        let index = file("ref.fa");
        build_index(&index, &index, BwaIndexOptions::default(), &mut |_| ()).unwrap();
        let records = |threads, cohort_bases| -> u64 {
            measure_kernel(&KernelArgs {
                reference: file("ref.fa"),
                first: file("1.fq"),
                last: file("2.fq"),
                to: file("records"),
                threads,
                cohort_bases,
                group: None,
                settled: false,
            })
            .unwrap();
            std::fs::read_to_string(file("records")).unwrap().trim().parse().unwrap()
        };
        let alone = records(1, 100_000);
        assert!(alone >= reads && alone < reads + reads / 10, "{alone} records of {reads} reads");
        assert_eq!(records(3, 100_000), alone);
        assert!(records(2, 100_000_000) >= reads);
    }
}
