//! The plan for recalibrating base qualities, built from the flags.

use std::path::PathBuf;

use readmill_bqsr::{ApplyOptions, Arguments, CountOptions, RecalWriteOptions};
use readmill_record::{Error, Result};

/// How base qualities are recalibrated: where the table comes from, and how it is applied. Built
/// from the flags of `prep` and of the `bqsr` subcommands.
#[derive(Clone, Debug)]
pub struct Recalibration {
    pub source: TableSource,
    /// `None` if only a table is built, and the reads do not change.
    pub apply: Option<ApplyRequest>,
}

#[derive(Clone, Debug)]
pub enum TableSource {
    Reads(Box<TableRequest>),
    File(PathBuf),
}

/// A recalibration table to be counted: reference, known sites, options and output files.
#[derive(Clone, Debug)]
pub struct TableRequest {
    pub reference: PathBuf,
    pub known_sites: Vec<PathBuf>,
    /// Continue even if the files of known sites contain no sites (`--allow-empty`).
    pub allow_empty: bool,
    /// Instead of known sites, exclude positions at which many reads differ from the reference
    /// (`--bqsr-bootstrap`).
    pub bootstrap: bool,
    /// Count only reads in these intervals. Empty means all reads.
    pub intervals: Vec<String>,
    pub exclude_intervals: Vec<String>,
    /// Bases added on both sides of each interval.
    pub interval_padding: u32,
    pub counting: CountOptions,
    /// The file for the table. `None` if the table is only applied.
    pub table: Option<PathBuf>,
    /// The file for a second table, counted from the recalibrated reads.
    pub after: Option<PathBuf>,
}

#[derive(Clone, Debug, Default)]
pub struct ApplyRequest {
    pub applying: ApplyOptions,
    pub writing: RecalWriteOptions,
}

impl Recalibration {
    pub fn table_request(&self) -> Option<&TableRequest> {
        match &self.source {
            TableSource::Reads(table_request) => Some(table_request),
            TableSource::File(_) => None,
        }
    }

    /// Returns whether all reads must be counted before the first one can be written. Reads are
    /// then buffered even if they are not sorted.
    pub fn holds_everything(&self) -> bool {
        self.table_request().is_some_and(|table_request| self.apply.is_some() || table_request.bootstrap)
    }

    pub fn input_files(&self) -> impl Iterator<Item = &PathBuf> {
        let table_request = self.table_request().into_iter();
        let table = match &self.source {
            TableSource::File(path) => Some(path),
            TableSource::Reads(_) => None,
        };
        table_request.flat_map(|it| [&it.reference].into_iter().chain(&it.known_sites)).chain(table)
    }

    pub fn check_conflicts(&self) -> Result<()> {
        let Some(table_request) = self.table_request() else { return Ok(()) };
        if table_request.known_sites.is_empty() && !table_request.bootstrap {
            return Err(Error::usage(
                "no known sites are given, so every variant of the sample would be counted as a sequencing error",
            )
            .hint("add --known-sites FILE (VCF, BCF or BED: dbSNP, Mills …), once or more; if there are no known sites for this genome, sort by coordinate and add --bqsr-bootstrap"));
        }
        if self.apply.is_none() && table_request.table.is_none() {
            return Err(Error::usage("--bqsr-table-only needs a file for the recalibration table")
                .hint("give one with --bqsr-table"));
        }
        Ok(())
    }

    /// Returns the recalibration flags of the `@PG` command line, without those at their default
    /// value.
    pub fn command_words(&self) -> Vec<String> {
        let mut words = Vec::new();
        match &self.source {
            TableSource::Reads(table_request) => {
                table_request.append_command_words(self.apply.is_none(), &mut words)
            }
            TableSource::File(path) => {
                words.extend(["--bqsr-apply".into(), path.display().to_string()]);
            }
        }
        let counting = self.table_request().map(|table_request| &table_request.counting);
        let apply = self.apply.as_ref();
        let preserve = counting.map(|it| it.preserve_less_than);
        let preserve = preserve.or(apply.map(|it| it.applying.preserve_below));
        if let Some(preserve) =
            preserve.filter(|&preserve| preserve != ApplyOptions::default().preserve_below)
        {
            words.extend(["--preserve-qscores-less-than".into(), preserve.to_string()]);
        }
        let original = counting.map(|it| it.use_original).or(apply.map(|it| it.writing.use_original));
        if original == Some(true) {
            words.push("--use-original-qualities".into());
        }
        if let Some(apply) = apply {
            apply.append_command_words(&mut words);
        }
        words
    }
}

impl TableRequest {
    /// Appends the flags for counting. `alone` means that the table is not applied.
    fn append_command_words(&self, alone: bool, words: &mut Vec<String>) {
        words.push(if alone { "--bqsr-table-only" } else { "--bqsr" }.into());
        let mut say = |word: &str, value: String| words.extend([word.to_string(), value]);
        say("--reference", self.reference.display().to_string());
        self.known_sites.iter().for_each(|path| say("--known-sites", path.display().to_string()));
        self.intervals.iter().for_each(|it| say("--bqsr-intervals", it.clone()));
        self.exclude_intervals.iter().for_each(|it| say("--bqsr-exclude-intervals", it.clone()));
        let default = CountOptions::default();
        let (own, usual): (&Arguments, &Arguments) = (&self.counting.arguments, &default.arguments);
        let numbers = [
            ("--bqsr-interval-padding", i64::from(self.interval_padding), 0),
            ("--maximum-cycle-value", own.maximum_cycle_value.into(), usual.maximum_cycle_value.into()),
            (
                "--mismatches-context-size",
                own.mismatches_context_size.into(),
                usual.mismatches_context_size.into(),
            ),
            ("--indels-context-size", own.indels_context_size.into(), usual.indels_context_size.into()),
            ("--low-quality-tail", own.low_quality_tail.into(), usual.low_quality_tail.into()),
            ("--quantizing-levels", own.quantizing_levels.into(), usual.quantizing_levels.into()),
        ];
        let changed = numbers.into_iter().filter(|(_, value, usual)| value != usual);
        changed.for_each(|(word, value, _)| say(word, value.to_string()));
        if let Some(quality) = self.counting.default_quality {
            say("--default-base-qualities", quality.to_string());
        }
        if self.bootstrap {
            words.push("--bqsr-bootstrap".into());
        }
        if self.counting.indels {
            words.push("--compute-indel-bqsr-tables".into());
        }
    }
}

impl ApplyRequest {
    fn append_command_words(&self, words: &mut Vec<String>) {
        let ApplyRequest { applying, writing } = self;
        let mut say = |word: &str, value: String| words.extend([word.to_string(), value]);
        applying.static_quantized.iter().for_each(|q| say("--static-quantized-quals", q.to_string()));
        if applying.quantize != 0 {
            say("--quantize-quals", applying.quantize.to_string());
        }
        if let Some(prior) = applying.global_prior {
            say("--global-qscore-prior", prior.to_string());
        }
        let flags = [
            ("--round-down-quantized", applying.round_down),
            ("--emit-original-quals", writing.emit_original),
            ("--allow-missing-read-group", writing.allow_missing_group),
            ("--gatk-drop-malformed", writing.drop_malformed),
        ];
        let given = flags.into_iter().filter(|flag| flag.1);
        words.extend(given.map(|(word, _)| word.to_string()));
    }
}
