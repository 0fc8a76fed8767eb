//! CollectGcBiasMetrics: reads by the GC content of the reference near their start.
//!
//! Each read belongs to one window of the reference. For a forward read, the window begins one base
//! after the read's first base. For a reverse read, the window ends with the read's last aligned
//! base. Unlike all other programs, this one counts secondary and supplementary records and reads
//! that fail vendor quality checks, as Picard does.

mod bins;
pub(crate) mod options;
mod scan;
mod table;

use std::sync::Arc;

use readmill_format::report::ReportContents;
use readmill_record::Result;

use self::bins::{BINS, C, G, GcReads, MAX_N, gc_percentage};
use self::options::GcBiasOptions;
use self::scan::GcScan;
use crate::blocks::count_mismatches;
use crate::collector::ByGroup;
use crate::counts::count_bytes;
use crate::levels::Levels;
use crate::read::N;
use crate::{MetricSetup, PicardProgram, PreparedRead, ProgramNeeds, ReadContext, ReadMetric, RunEnd};

pub(crate) struct GcBias {
    options: GcBiasOptions,
    scan: GcScan,
    levels: Arc<Levels>,
}

impl ReadMetric for GcBias {
    const PROGRAM: PicardProgram = PicardProgram {
        name: "CollectGcBiasMetrics",
        endings: &[".gc_bias.detail_metrics", ".gc_bias.summary_metrics"],
    };
    const NEEDS: ProgramNeeds =
        ProgramNeeds { reference: true, compares: true, ..ProgramNeeds::NOTHING };
    const COUNTS_ALL_RECORDS: bool = true;
    type Counts = ByGroup<GcReads>;

    fn min_bytes(threads: u64) -> u64 {
        GcScan::THREAD_BYTES * threads
    }

    fn start_run(setup: &MetricSetup<'_>) -> Result<Self> {
        let options = setup.options().gc_bias.clone();
        let reference = setup.needed_reference()?.file().clone();
        let scan = GcScan::new(reference, options.scan_window_size());
        Ok(GcBias { options, scan, levels: Arc::clone(&setup.levels) })
    }

    fn count_read(
        &self,
        counts: &mut ByGroup<GcReads>,
        read: &PreparedRead<'_>,
        context: &mut ReadContext<'_>,
    ) -> Result<()> {
        let Some(reference) = context.reference.filter(|_| !read.bases.is_empty()) else {
            return Ok(());
        };
        let flags = read.flags;
        let counts = &mut counts.group_counts(read.group, context)?.0[usize::from(flags.is_duplicate())];
        counts.clusters += u64::from(!flags.is_paired() || flags.is_first());
        if flags.is_unmapped() {
            return Ok(());
        }
        counts.aligned += 1;
        let Some(gc) = bin_of(read, self.scan.window_bases(), context)? else { return Ok(()) };
        context.room.lengthen_list(&mut counts.bins, BINS, BINS)?;
        let mismatches = count_mismatches(read, reference, &mut context.pages)?;
        let gaps = read.record.cigar().ops().filter(|(op, _)| matches!(op, 1 | 2));
        let bin = &mut counts.bins[gc];
        bin.reads += 1;
        bin.bases += read.bases.len() as u64;
        bin.errors += mismatches + gaps.map(|(_, n)| u64::from(n)).sum::<u64>();
        Ok(())
    }

    fn merge_counts(&self, into: &mut ByGroup<GcReads>, from: ByGroup<GcReads>) {
        into.merge_groups(from, GcReads::merge);
    }

    fn make_reports(&self, total: ByGroup<GcReads>, end: &RunEnd<'_>) -> Result<Vec<ReportContents>> {
        let (units, windows) =
            (total.sum_by_unit(&self.levels, GcReads::merge), self.scan.count_windows(end.threads)?);
        Ok(end.make_files(&Self::PROGRAM, |files| table::fill(files, &units, &windows, &self.options)))
    }
}

/// Returns the bin of a mapped read. `None` if its window begins at or before the contig's first
/// base, begins beyond the contig's end, or has too many N. If the window begins in the contig but
/// after the last window that is counted, the bin is 0, as in Picard.
#[inline]
fn bin_of(read: &PreparedRead<'_>, window: u32, context: &mut ReadContext<'_>) -> Result<Option<usize>> {
    let (record, Some(reference)) = (read.record, context.reference) else { return Ok(None) };
    let Some((contig, length)) = reference.place(record.ref_id())? else { return Ok(None) };
    let start = if read.flags.is_reverse() {
        i64::from(record.pos()) + record.cigar().reference_length() - i64::from(window)
    } else {
        i64::from(record.pos()) + 1
    };
    let Some(start) = u32::try_from(start).ok().filter(|start| (1..=length).contains(start)) else {
        return Ok(None);
    };
    if start >= length.saturating_sub(window) {
        return Ok(Some(0));
    }
    let codes = context.pages.window_of(reference).codes(contig, start, start + window)?;
    let gc = count_bytes(codes, |code| (code == C) | (code == G));
    let is_known = count_bytes(codes, |code| code == N) <= MAX_N;
    Ok(is_known.then(|| gc_percentage(gc, window)))
}
