//! CollectSequencingArtifactMetrics: substitutions by their context of three bases in the
//! reference, by read of the pair and strand.

mod table;

use std::sync::Arc;

use readmill_format::report::ReportContents;
use readmill_record::Result;

use self::table::{CALLS, LIBRARY, WAYS};
use crate::blocks::for_each_block;
use crate::counts::add_each;
use crate::substitutions::{
    CountedQualities, Libraries, MIN_MAPQ, OTHER, SubstitutionOptions, base_digit,
};
use crate::{MetricSetup, PicardProgram, PreparedRead, ProgramNeeds, ReadContext, ReadMetric, RunEnd};

/// Maximum number of bases that are compared at a time. Together with the base on each side, they
/// are at most one page of the reference window.
const AT_ONCE: usize = (1 << 12) - 2;

/// CollectSequencingArtifactMetrics, with the rules that decide which records and bases are
/// counted.
pub(crate) struct SequencingArtifacts {
    options: SubstitutionOptions,
    include_duplicates: bool,
    min_mapq: u8,
    qualities: CountedQualities,
    libraries: Arc<Libraries>,
}

impl ReadMetric for SequencingArtifacts {
    const PROGRAM: PicardProgram = PicardProgram {
        name: "CollectSequencingArtifactMetrics",
        endings: &[
            ".pre_adapter_detail_metrics",
            ".pre_adapter_summary_metrics",
            ".bait_bias_detail_metrics",
            ".bait_bias_summary_metrics",
            ".error_summary_metrics",
        ],
    };
    const NEEDS: ProgramNeeds = ProgramNeeds {
        reference: true,
        compares: true,
        refuses_intervals: Some("counts all sites here"),
        ..ProgramNeeds::NOTHING
    };
    const COUNTS_ALL_RECORDS: bool = true;
    /// Numbers of bases, indexed by library, context, called base, and read of the pair with strand
    /// (`WAYS`).
    type Counts = Vec<u64>;

    fn start_run(setup: &MetricSetup<'_>) -> Result<Self> {
        let options = setup.options();
        setup.needed_reference()?;
        Ok(SequencingArtifacts {
            options: options.substitutions.clone(),
            include_duplicates: options.include_duplicates,
            min_mapq: options.minimum_mapping_quality.unwrap_or(MIN_MAPQ),
            qualities: options.counted_qualities(),
            libraries: Arc::clone(setup.libraries()),
        })
    }

    fn count_read(
        &self,
        counts: &mut Vec<u64>,
        read: &PreparedRead<'_>,
        context: &mut ReadContext<'_>,
    ) -> Result<()> {
        let Some(reference) = context.reference.filter(|_| self.is_counted(read)) else { return Ok(()) };
        let Some((contig, length)) = reference.place(read.record.ref_id())? else { return Ok(()) };
        let all = self.libraries.len() * LIBRARY;
        context.room.lengthen_list(counts, all, all)?;
        let library = self.libraries.library_index(read.fields.read_group);
        let counts = &mut counts[library * LIBRARY..][..LIBRARY];
        let way = 2 * usize::from(read.is_second_of_pair()) + usize::from(read.flags.is_reverse());
        let (quals, min_qual) = self.qualities.counted_quals(read);
        for_each_block(read, Some(length), |block| {
            let quals = quals.get(block.base.min(quals.len())..).unwrap_or_default();
            let mut bases = read.bases.iter().skip(block.base).take(block.length).zip(quals);
            let (mut from, end) = (block.at, block.at + block.length as u32);
            while from < end {
                let to = end.min(from + AT_ONCE as u32);
                // The first and the last base of a contig have no context of three bases.
                let first = from.saturating_sub(1);
                let codes =
                    context.pages.window_of(reference).codes(contig, first, length.min(to + 1))?;
                if from == 0 {
                    bases.next();
                }
                let pieces = codes.windows(3).zip(&mut bases);
                for (codes, (base, qual)) in pieces {
                    let [before, at, after] = [codes[0], codes[1], codes[2]].map(base_digit);
                    let call = base_digit(*base);
                    if u16::from(*qual) >= min_qual && (before | at | after | call) & OTHER == 0 {
                        let context = (before << 4 | at << 2 | after) as usize;
                        counts[(context * CALLS + usize::from(call)) * WAYS + way] += 1;
                    }
                }
                from = to;
            }
            Ok(())
        })?;
        Ok(())
    }

    fn merge_counts(&self, into: &mut Vec<u64>, from: Vec<u64>) {
        add_each(into, &from);
    }

    fn make_reports(&self, total: Vec<u64>, end: &RunEnd<'_>) -> Result<Vec<ReportContents>> {
        let (libraries, is_tandem) = (&self.libraries, self.options.tandem_reads);
        Ok(end.make_files(&Self::PROGRAM, |files| table::fill(files, &total, libraries, is_tandem)))
    }
}

impl SequencingArtifacts {
    /// Returns whether a record is counted: it passes the filters on flags and mapping quality, and
    /// the insert size of its pair is in the range of the options.
    fn is_counted(&self, read: &PreparedRead<'_>) -> bool {
        let (flags, options) = (read.flags, &self.options);
        let size = read.record.tlen().unsigned_abs();
        let is_left_out = flags.is_unmapped()
            || flags.is_secondary()
            || flags.is_qc_fail() && !options.include_non_pf_reads
            || flags.is_duplicate() && !self.include_duplicates
            || read.record.mapq() < self.min_mapq;
        let max = match options.maximum_insert_size() {
            0 => i32::MAX.unsigned_abs(),
            max => max,
        };
        let fits = flags.is_paired() && (options.minimum_insert_size()..=max).contains(&size);
        !is_left_out && (options.include_unpaired || fits)
    }
}
