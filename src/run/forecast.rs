//! Estimates how much memory and disk space a run needs before it starts, from the sizes of the
//! input files and the first batch of reads.

use readmill_format::bgzf::DEFAULT_LEVEL;
use readmill_markdup::DuplicateEnds;
use readmill_process::console::{Console, StageShares, write_log_line};
use readmill_record::{Batch, Error, Result};
use readmill_sort::frame::FrameEntry;
use readmill_sort::{FrameWriter, Frames, Key, run};

use crate::pipeline::inputs::Inputs;
use crate::pipeline::sort_context::SortContext;
use crate::plan::{Plan, Recalibration, TableSource};

/// The expected size of a run, estimated from the sizes of the inputs and the first batch of reads.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Forecast {
    pub records: u64,
    pub bytes: u64,
    pub runs: u64,
    /// Number of merges of runs on disk before the final merge. They are needed if too many runs
    /// would have to be in memory at once.
    pub merges: u64,
    pub disk: u64,
    /// Whether the first reads are in output order. If all reads are, nothing is spilled.
    pub sorted: bool,
}

impl Forecast {
    /// Logs the forecast for `--explain`. `available` is the free disk space in bytes, if known.
    pub fn log_forecast(&self, available: Option<u64>) {
        write_log_line(&format!("  expected: {} records, {} MiB", self.records, self.bytes >> 20));
        if self.runs == 0 {
            write_log_line("  expected: all reads fit into memory, nothing is spilled");
            return;
        }
        let free = available.map_or("unknown".to_string(), |free| format!("{} MiB", free >> 20));
        write_log_line(&format!(
            "  expected: {} run{} on disk and the rest in memory; {} MiB of disk space needed, {free} free",
            self.runs,
            if self.runs == 1 { "" } else { "s" },
            self.disk >> 20,
        ));
        if self.sorted {
            write_log_line("  the first reads are sorted; if all reads are sorted, nothing is spilled");
        }
        if self.merges > 0 {
            write_log_line(&format!(
                "  expected: {} merges of runs before the final merge; a higher -m avoids them",
                self.merges
            ));
        }
    }
}

/// Estimates which share of the time each stage of a buffered run takes, for the progress display.
/// The shares were measured with 30 million read pairs in BAM: reading and sorting took 40 %,
/// marking 2 %, and writing at level 6 58 % (docs/shard.md). The other values follow from the
/// ratios in docs/benchmarks.md. `leaves_early` means that sorted reads are written while the input
/// is read.
pub fn stage_time_shares(plan: &Plan, leaves_early: bool) -> StageShares {
    let level = plan.destination.main_output().map_or(0, |output| output.level.unwrap_or(DEFAULT_LEVEL));
    let writing = match level {
        _ if leaves_early => 0.0,
        0 => 12.0,
        1 => 30.0,
        _ => 58.0,
    };
    let mut shares = vec![("reading", if plan.aligning.is_some() { 900.0 } else { 40.0 })];
    shares.extend(plan.steps.duplicates.iter().map(|_| ("marking", 2.0)));
    if let Some(Recalibration { source: TableSource::Reads(request), .. }) = &plan.steps.recalibration {
        shares.extend(request.bootstrap.then_some(("comparing", 30.0)));
        shares.push(("counting", 40.0));
    }
    shares.push(("writing", writing));
    shares
}

/// Forecasts a run that buffers all reads of `inputs` before it writes. `early` means that reads
/// that are already in order can be written at once. Returns `None` if the input size is not known,
/// for example for a pipe.
pub fn forecast_run(
    inputs: &mut Inputs,
    context: &SortContext,
    duplicate_ends: Option<&DuplicateEnds>,
    early: bool,
) -> Result<Option<Forecast>> {
    let first = inputs.first_reads()?;
    let first = first.batch().filter(|batch| !batch.is_empty());
    let Some((bytes, batch)) = inputs.expected_bytes().zip(first) else {
        return Ok(None);
    };
    let each = batch.record_bytes() as f64 / batch.len() as f64;
    let records = (bytes as f64 / each) as u64;
    let ends = records * duplicate_ends.map_or(0, DuplicateEnds::typical_bytes_per_record);
    let held = bytes + records * run::RECORD_OVERHEAD as u64;
    let expected = estimate_runs(records, bytes, held, ends, context);
    if expected.runs == 0 {
        return Ok(Some(expected));
    }
    let disk = (expected.disk as f64 * spill_compression_ratio(batch, context)) as u64;
    Ok(Some(Forecast { disk, sorted: early && is_in_output_order(batch, context), ..expected }))
}

fn is_in_output_order(batch: &Batch, context: &SortContext) -> bool {
    let keyer = context.sort.keyer();
    batch.records().take(1).for_each(|(_, first)| keyer.set_anchor(first.qname()));
    batch.records().map(|(_, record)| keyer.key(record).ok()).is_sorted()
}

/// Estimates how many runs are spilled, and their uncompressed size on disk. `held` is the memory
/// of all reads with their sort entries; `ends` is the memory of template ends for duplicate
/// marking.
fn estimate_runs(records: u64, bytes: u64, held: u64, ends: u64, context: &SortContext) -> Forecast {
    // Ends are spilled when they take more than a quarter of the memory for reads.
    let max_ends = context.room / 4;
    let full = context.flush_threshold(0).saturating_sub(ends.min(max_ends)).max(1 << 20);
    let spilled_ends = if ends > max_ends { ends } else { 0 };
    let runs = if held <= full { 0 } else { held.div_ceil(full) - 1 };
    let index = full / context.framing.size as u64 * size_of::<FrameEntry>() as u64;
    let max_merged_runs = (context.room / 2 / (context.framing.merging_bytes() + index)).max(2);
    let merges = runs.saturating_sub(1) / (max_merged_runs - 1).max(1);
    // While runs are merged into a larger run, both are on disk.
    let disk = full * runs * if merges > 0 { 2 } else { 1 } + spilled_ends;
    Forecast { records, bytes, runs, merges, disk, sorted: false }
}

/// Estimates the compression ratio of the spill (disk bytes per byte of records), by compressing
/// the reads of `batch` in input order.
fn spill_compression_ratio(batch: &Batch, context: &SortContext) -> f64 {
    let (mut writer, mut frames) = (FrameWriter::new(context.framing), Frames::default());
    for (stamp, record) in batch.records() {
        writer.push(Key::default(), &[], stamp, record.raw(), &mut frames);
    }
    writer.close_frame(&mut frames);
    frames.bytes() as f64 / batch.record_bytes().max(1) as f64
}

/// Factor by which the estimate must exceed the free disk space before the run is refused.
const SAFETY_FACTOR: u64 = 3;

/// Compares the forecast with the free disk space. Returns the free bytes if they are known. Warns
/// if the spill may not fit.
///
/// # Errors
/// Fails if the forecast exceeds three times the free space.
pub fn check_disk_space(
    expected: &Forecast,
    context: &SortContext,
    console: &Console,
) -> Result<Option<u64>> {
    let available = context.spill.free_bytes();
    let Some(free) = available.filter(|&free| expected.runs > 0 && free < expected.disk) else {
        return Ok(available);
    };
    let dirs: Vec<String> = context.spill.dirs().iter().map(|dir| dir.display().to_string()).collect();
    let (disk, dirs) = (expected.disk >> 20, dirs.join(", "));
    let what = format!("about {disk} MiB will be spilled, but {dirs} has only {} MiB free", free >> 20);
    if expected.sorted || free.saturating_mul(SAFETY_FACTOR) >= expected.disk {
        console.write_warning(&what);
        return Ok(available);
    }
    let full = std::io::Error::from_raw_os_error(libc::ENOSPC);
    Err(Error::io(what, &full)
        .hint("set a temporary directory with more space with --temp-dir, or raise -m"))
}
