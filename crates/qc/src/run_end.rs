//! What a run passes to programs at its end, when they write their files.

use readmill_format::metrics::MetricsFile;
use readmill_format::report::ReportContents;
use readmill_record::Result;

use crate::selection::PicardProgram;

/// What programs need to write their files at the end of a run. The run makes it and passes it to
/// [`QcTally::make_reports`](crate::QcTally::make_reports).
pub struct RunEnd<'a> {
    /// Returns the command line for the header of a metrics file. Its argument is the name of the
    /// Picard program.
    pub command: &'a dyn Fn(&str) -> String,
    /// The text that replaces the start date in the header of a metrics file. It is constant, so
    /// that equal runs write equal bytes.
    pub started: &'a str,
    /// The threads of the run, for programs that read the whole reference.
    pub threads: &'a dyn SpanThreads,
    /// Shows a warning to the user.
    pub warn: &'a dyn Fn(&str),
}

impl RunEnd<'_> {
    /// Creates `N` metrics files of a program, with Picard's comment lines. `fill` sets their
    /// tables and histograms.
    pub fn make_files<const N: usize>(
        &self,
        program: &PicardProgram,
        fill: impl FnOnce(&mut [MetricsFile; N]),
    ) -> Vec<ReportContents> {
        let command = (self.command)(program.name);
        let mut files = std::array::from_fn(|_| MetricsFile::new(&command, self.started));
        fill(&mut files);
        files.map(ReportContents::from).into()
    }
}

/// A range of bases of a contig of the reference, small enough to be work for one thread.
#[derive(Clone, Copy, Debug)]
pub struct ReferenceSpan {
    /// The index of the contig.
    pub contig: u32,
    /// The first base, 0-based.
    pub from: u32,
    /// The end of the range, exclusive.
    pub to: u32,
}

impl ReferenceSpan {
    /// Bases of a span. A thread needs some milliseconds for them.
    const BASES: u32 = 1 << 22;

    /// Divides a range of a contig into spans.
    pub(crate) fn divide_contig(contig: u32, from: u32, end: u32) -> impl Iterator<Item = Self> + Send {
        let starts = (from..end).step_by(Self::BASES as usize);
        starts.map(move |from| ReferenceSpan {
            contig,
            from,
            to: end.min(from.saturating_add(Self::BASES)),
        })
    }
}

/// The function that a thread calls for each span that it gets.
pub type SpanWork<'a> = Box<dyn FnMut(ReferenceSpan) -> Result<()> + Send + 'a>;

/// Distributes spans of the reference over the threads of the run. The run implements it, because
/// this crate does not start threads.
pub trait SpanThreads {
    /// Passes each span to one thread. Each thread calls `work` once, and then the function that it
    /// returned for each of its spans, so that the function can reuse memory.
    ///
    /// # Errors
    /// The first error in span order.
    fn for_each_span<'a>(
        &self,
        spans: &mut (dyn Iterator<Item = Result<ReferenceSpan>> + Send),
        work: &(dyn Fn() -> SpanWork<'a> + Sync),
    ) -> Result<()>;
}
