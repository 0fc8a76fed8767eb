//! The last stage of a job: joins the ranges that other stages wrote into the output, and writes
//! its index and reports.

use readmill_bqsr::{ReadGroups, Totals};
use readmill_markdup::metrics::LibraryCounts;
use readmill_markdup::verdict::StoredVerdict;
use readmill_record::{Charge, Result};

use super::{FirstDecisions, WrittenRange};
use crate::outputs::part_counts::PartCounts;
use crate::outputs::report_files::ReportFiles;
use crate::outputs::routing::RoutedRecords;
use crate::outputs::staged_parts::StagedPart;
use crate::outputs::{EncodedPart, OpenOutputs};
use crate::pipeline::{StepCounts, count, sum_counts};
use crate::run::RunState;
use crate::run::marking::write_picard_metrics;
use crate::run::recal_setup;
use crate::run::summary::{self, RunSummary};

/// Sums over all slices of the input, which the join stage needs for the summary and the reports.
pub struct JoinedSlices {
    /// Number of records in the input, before any filter.
    pub records: u64,
    /// Bytes of all written records, which determine where an output in parts is divided.
    pub record_bytes: u64,
    pub any_placed: bool,
    /// Number of records that each step before the sort dropped or changed.
    pub counts: StepCounts,
    /// Which records are duplicates; `None` if duplicates are not marked.
    pub verdict: Option<StoredVerdict>,
    /// The recalibration counts of all reads; `None` if the run does not recalibrate reads by its
    /// own counts.
    pub table: Option<Totals>,
    /// The saved tallies, one entry for each tally of the run.
    pub tallies: Vec<Vec<u8>>,
}

/// Reads the bytes of one part from the file of its range and checks them.
pub type ReadPart = Box<dyn FnMut(&StagedPart, &mut Vec<u8>) -> Result<()>>;

/// A range of the output, with the function that reads its parts. Its memory stays charged until
/// the range has been joined.
pub struct JoinedRange {
    pub range: WrittenRange,
    pub read: ReadPart,
    pub _charge: Charge,
}

impl RunState<'_> {
    /// Writes the output from its ranges, part by part, and then the metrics and tables. The output
    /// has the same bytes as that of a run in one process.
    pub fn join_ranges(
        mut self,
        decided: &FirstDecisions,
        joined: JoinedSlices,
        ranges: &mut dyn Iterator<Item = Result<JoinedRange>>,
    ) -> Result<RunSummary> {
        let duplicate_ends = self.duplicate_ends(decided)?;
        // As in a run in one process, the index is chosen before it is known whether any read has a
        // position.
        let mut sink = self.create_sink()?;
        self.set_written_order(joined.any_placed);
        let mut files = ReportFiles::open(self.plan, &self.header, self.ledger())?;
        self.count_output(&mut sink, &mut files)?;
        let tallies_in_order = sink.ordered_tallies().clone();
        sink.charge_index(&self.header, &self.memory.ledger)?;
        sink.write_header(&self.header)?;
        sink.set_expected_bytes(joined.record_bytes);
        self.console.begin_stage("joining", Some(joined.records), false);
        let JoinedSlices { records, counts, verdict, table, tallies, .. } = joined;
        self.tallies.add_totals(&tallies)?;
        // The factor 2 includes the counts after recalibration, which have the same size.
        let of_tables = table
            .as_ref()
            .map_or(0, |table| 2 * recal_setup::REPORT_BYTES_PER_COUNT_BYTE * table.heap_bytes() as u64);
        let _charge = self.memory.ledger.charge("tables of recalibration", of_tables)?;
        let mut counted: Option<Totals> = None;
        let mut summary = RunSummary { read_records: records, counts, ..RunSummary::default() };
        let mut flagged: Vec<LibraryCounts> =
            verdict.as_ref().map_or_else(Vec::new, |verdict| verdict.tally.libraries.clone());
        for range in ranges {
            let JoinedRange { range, mut read, _charge } = range?;
            range.parts.try_each(|part| {
                let _charge = self.memory.ledger.charge("a part of the output", part.bytes)?;
                let mut bytes = Vec::new();
                read(&part, &mut bytes)?;
                summary.written_records += part.records;
                self.console.advance(part.records);
                let StagedPart { entries, records, start, counts, .. } = part;
                let counts = (counts > 0).then(|| {
                    let own = bytes.len().saturating_sub(counts as usize);
                    let loaded = PartCounts::load(&bytes[own..], &tallies_in_order);
                    bytes.truncate(own);
                    loaded
                });
                let counts = counts.transpose()?;
                let routed = RoutedRecords::default();
                let charge = None; // already charged above
                sink.write_part(EncodedPart { bytes, entries, records, start, routed, counts, charge })
            })?;
            if flagged.len() < range.flagged.len() {
                flagged.resize_with(range.flagged.len(), LibraryCounts::default);
            }
            flagged.iter_mut().zip(&range.flagged).for_each(|(sum, more)| sum.add(more));
            sum_counts(&mut summary.counts, range.counts);
            self.tallies.add_totals(&range.tallies)?;
            match (&mut counted, range.counted) {
                (_, None) => {}
                (Some(sum), Some(more)) => sum.append(more),
                (none, more) => *none = more,
            }
        }
        if let Some(request) = self.table_request() {
            let applies = table.is_some();
            for (totals, after) in [(table, false), (counted, applies)] {
                let Some(totals) = totals else { continue };
                let groups = ReadGroups::new(&self.header, &self.memory.ledger)?;
                let (table, bases) = count::build_report(totals, &groups, &request.counting)?;
                self.write_table(&table, bases, &mut files, after)?;
            }
        }
        let described = verdict.as_ref().map_or(0, |verdict| verdict.tally.described_bytes());
        let _described = self.memory.ledger.charge("marks of duplicates", described)?;
        if let (Some(verdict), Some(ends)) = (verdict, &duplicate_ends) {
            summary.mode = Some(verdict.mode());
            summary::log_duplicates(&verdict.tally, &self.header, self.console);
            write_picard_metrics(self.plan, &ends.libraries, &verdict.tally, flagged, &mut files)?;
        }
        self.finish_outputs(
            summary,
            OpenOutputs { sink: Some(sink), extra: None, files, were_held: true },
        )
    }
}
