//! The end of a run: completes all outputs under temporary names, then renames them together.

use readmill_process::atomic_file::AtomicFile;
use readmill_process::pause::{self, Moment};
use readmill_process::signal;
use readmill_record::Result;

use super::RunState;
use super::summary::RunSummary;
use crate::outputs::{CompleteOutput, OpenOutputs};

impl RunState<'_> {
    /// Finishes a run: verifies the reads, writes the reports, completes all outputs and renames
    /// them to their final names. If a signal stops the program, either all outputs have their
    /// final names or none has.
    ///
    /// Returns `summary` with the number of reads dropped by trimming, the extra outputs with their
    /// record counts, and the parts of the main output with their sizes. Writes the run file
    /// (`--json`) and the HTML page, if requested, because they describe the finished outputs.
    ///
    /// # Errors
    /// Fails if `--verify` finds a difference, or if an output cannot be written. Then no output
    /// gets its final name.
    pub(super) fn finish_outputs(
        &self,
        mut summary: RunSummary,
        outputs: OpenOutputs<'_>,
    ) -> Result<RunSummary> {
        let OpenOutputs { sink, extra, mut files, were_held } = outputs;
        let [early, late] = &self.changes;
        self.tallies.verify_checksums(were_held, early, late, self.console)?;
        self.tallies.write_results(self.plan, &mut files, self.console)?;
        let dropped = self.trimming.iter().flat_map(|trimming| trimming.dropped_by_reason());
        summary.counts.splice(0..0, dropped.map(|(name, reads)| (name.into(), reads)));
        self.lone_reads.iter().for_each(|lone| lone.warn_about_single_reads(self.console));
        let extra = extra.map(|extra| extra.complete_files(self.console)).transpose()?;
        self.tallies.complete_files(self.plan, &mut files)?;
        let main = sink.map(|sink| sink.complete(self.console)).transpose()?;
        summary.parts = main.as_ref().map_or_else(Vec::new, CompleteOutput::parts);
        let (records, extra): (Vec<u64>, Vec<CompleteOutput>) =
            extra.unwrap_or_default().into_iter().unzip();
        summary.extra_outputs =
            extra.iter().map(|side| side.path().to_path_buf()).zip(records).collect();
        if self.plan.reports.is_described() {
            let value = self.describe_run(&summary, main.as_ref(), &extra, &mut files);
            files.write_run(&value)?;
            self.tallies.write_from_description(&value, &mut files)?;
        }
        pause::at(Moment::OutputsComplete);
        let all_or_none = signal::defer_signals();
        let (mut removed, mut all) = (Vec::new(), Vec::new());
        for output in main.into_iter().chain(extra) {
            let (files, notes) = output.prepare_rename();
            all.extend(files);
            removed.extend(notes);
        }
        all.extend(files.take_files());
        AtomicFile::rename_all(&mut all)?;
        drop(all_or_none);
        pause::at(Moment::AllNamed);
        signal::wait_for_signal_exit();
        removed.iter().for_each(|note| self.console.write_note(note));
        Ok(summary)
    }
}
