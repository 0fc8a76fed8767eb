//! Tallies as the rest of the program sees them: their specifications, and the reports of a run.

use std::sync::Arc;

use readmill_record::{DynTally, Header, Ledger, ReportText, Result, SharedTally, Tally};

use super::stats::StatsOrder;

/// The description of a tally whose result is a file.
#[derive(Debug)]
pub struct TallySpec {
    /// Its name.
    pub name: &'static str,
    /// Help of the flag `--NAME FILE` of commands that write reads; `None` if they have no such flag.
    pub flag_help: Option<&'static str>,
    /// Help of the subcommand NAME, which does nothing else; `None` if there is none, or one with flags of its own.
    pub command_help: Option<&'static str>,
    /// Whether it sees reads as they come, instead of those of the main output.
    pub of_input: bool,
    /// Whether its text names the sample.
    pub names_sample: bool,
    /// The memory of its counts, if that is more than a few KiB.
    pub memory: Option<CountMemory>,
    /// Other formats of its text, by their names, each as the tally that writes it; the subcommand has them.
    pub formats: &'static [(&'static str, &'static TallySpec)],
    /// Makes the tally for a run.
    pub make: fn(&TallyContext<'_>) -> Report,
}

impl TallySpec {
    /// A tally of output reads, without a flag or a subcommand.
    pub(super) const fn new(name: &'static str, make: fn(&TallyContext<'_>) -> Report) -> Self {
        let (flag_help, command_help, memory) = (None, None, None);
        let formats = &[];
        TallySpec {
            name,
            flag_help,
            command_help,
            of_input: false,
            names_sample: false,
            memory,
            formats,
            make,
        }
    }
}

/// The memory that counts take on each thread, and once more for their sum.
#[derive(Clone, Copy, Debug)]
pub struct CountMemory {
    /// Its name in the division of the memory.
    pub name: &'static str,
    /// Returns the bytes of one thread.
    pub bytes: fn() -> usize,
}

/// The facts about reads that are known before they are counted.
#[derive(Clone, Copy, Debug)]
pub struct TallyContext<'a> {
    /// The header under which they leave.
    pub header: &'a Header,
    /// Whether they are sorted by coordinate.
    pub sorted: bool,
    /// The count of what statistics tell by the order of reads, if they are wanted.
    pub stats: Option<&'a Arc<StatsOrder>>,
    /// The ledger that pays for what grows with the reads.
    pub ledger: &'a Ledger,
}

/// The facts about its run that the text of a tally may state.
#[derive(Clone, Copy)]
pub struct RunNames<'a> {
    /// The main output, or else the first input.
    pub file: &'a str,
    /// The name of the sample.
    pub sample: &'a str,
    /// Returns a command line that begins like one of this tool of Picard.
    pub in_place_of: &'a dyn Fn(&str) -> String,
    /// In place of a date: equal runs write equal bytes.
    pub started: &'a str,
}

/// A tally of a run, and the texts that its result becomes: one for each of its files.
pub struct Report {
    /// The tally.
    pub tally: Arc<dyn DynTally>,
    texts: Box<MakeTexts>,
}

type MakeTexts = dyn Fn(&RunNames<'_>) -> Result<Vec<ReportText>> + Send + Sync;

impl Report {
    /// A tally whose result `text` formats.
    pub fn new<T: Tally + 'static>(tally: T, text: fn(T::Total, &RunNames<'_>) -> Vec<u8>) -> Self {
        Report::of_files(tally, move |total, names| Ok(vec![text(total, names).into()]))
    }

    /// A tally whose result `texts` formats, as one text for each file.
    pub fn of_files<T: Tally + 'static>(
        tally: T,
        texts: impl Fn(T::Total, &RunNames<'_>) -> Result<Vec<ReportText>> + Send + Sync + 'static,
    ) -> Self {
        let tally = Arc::new(SharedTally::new(tally));
        let counted = Arc::clone(&tally);
        Report { tally, texts: Box::new(move |names| texts(counted.total()?, names)) }
    }

    /// Returns the texts once the run is over, and resets the tally.
    ///
    /// # Errors
    /// If the counts have no result.
    pub fn texts(&self, names: &RunNames<'_>) -> Result<Vec<ReportText>> {
        (self.texts)(names)
    }
}
