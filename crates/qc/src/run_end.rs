//! What a run offers to programs at its end, when they write their files.

use readmill_format::metrics;
use readmill_record::{ReportText, Result};

use crate::selection::PicardProgram;

/// What programs write their files with.
pub struct RunEnd<'a> {
    /// Returns the command line that is written in place of one of this program of Picard.
    pub command: &'a dyn Fn(&str) -> String,
    /// What is written in place of the date, so that equal runs write equal bytes.
    pub started: &'a str,
    /// The threads of the run, for programs that look at the whole reference.
    pub threads: &'a dyn SpanThreads,
    /// Warns the user.
    pub warn: &'a dyn Fn(&str),
}

impl RunEnd<'_> {
    /// Makes `N` files of a program: each begins with the comments of Picard's metrics files, `put` appends what follows,
    /// and an empty line ends it.
    pub fn files<const N: usize>(
        &self,
        program: &PicardProgram,
        put: impl FnOnce(&mut [Vec<u8>; N]),
    ) -> Vec<ReportText> {
        let mut begin = metrics::comment_lines(&(self.command)(program.name), self.started);
        begin.push(b'\n');
        let mut texts = [const { Vec::new() }; N];
        texts.fill(begin);
        put(&mut texts);
        texts.iter_mut().for_each(|text| text.push(b'\n'));
        texts.map(ReportText::from).into()
    }
}

/// Bases of a contig that one thread looks at.
#[derive(Clone, Copy, Debug)]
pub struct ReferenceSpan {
    /// The number of the contig.
    pub contig: u32,
    /// The first base.
    pub from: u32,
    /// The base after the last one.
    pub to: u32,
}

impl ReferenceSpan {
    /// Bases of a span: a thread needs some milliseconds for them.
    const BASES: u32 = 1 << 22;

    /// Returns the spans of a part of a contig.
    pub(crate) fn all(contig: u32, from: u32, end: u32) -> impl Iterator<Item = Self> + Send {
        let starts = (from..end).step_by(Self::BASES as usize);
        starts.map(move |from| ReferenceSpan {
            contig,
            from,
            to: end.min(from.saturating_add(Self::BASES)),
        })
    }
}

/// What one thread does with each span that it gets.
pub type SpanWork<'a> = Box<dyn FnMut(ReferenceSpan) -> Result<()> + Send + 'a>;

/// Shares the spans of a reference among threads. The run implements it, because this crate starts no threads.
pub trait SpanThreads {
    /// Gives each span to one thread. `work` makes what a thread does with its spans, with memory that is used again.
    ///
    /// # Errors
    /// The error of the first span, in their order, that cannot be claimed or looked at.
    fn for_each_span<'a>(
        &self,
        spans: &mut (dyn Iterator<Item = Result<ReferenceSpan>> + Send),
        work: &(dyn Fn() -> SpanWork<'a> + Sync),
    ) -> Result<()>;
}
