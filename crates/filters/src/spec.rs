//! The interface between filters and the rest of the program.
//!
//! ```text
//!  FilterSpec --parse--> Filters --make--> FilterSteps
//!  (constant)            (in a plan)       (in the pipeline of a run)
//!  flags, help           words for @PG     before the sort, after duplicates, last
//!                        files, checks
//! ```
//!
//! 1. Each filter module has a constant `SPEC`, which [`FILTERS`](crate::FILTERS) lists. The
//!    command line makes its arguments and help from it.
//! 2. [`FilterSpec::parse`] turns flags into [`Filter`]s: checked requests that have not opened any
//!    file. The plan asks them for command words, input files and properties.
//! 3. A run calls [`Filters::make_steps`] once, and each [`Filter`] creates its [`Step`].

use std::fmt::Debug;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use readmill_format::reference::Reference;
use readmill_record::{Header, Ledger, Result, Step};

use crate::discarded::DiscardLimit;
use crate::flag::{Flag, GivenFlags};
use crate::lone_mates::LoneMates;

/// The description of a filter: its command-line flags, and the function that turns them into
/// requests.
///
/// To add a filter, write a module with a constant of this type and list it in
/// [`FILTERS`](crate::FILTERS). Flags, help, the words in @PG and the order of steps follow from
/// this.
///
/// ```
/// use readmill_filters::flag::GivenFlags;
/// use readmill_filters::{FILTERS, Filters};
///
/// # fn main() -> readmill_record::Result<()> {
/// let find = |name| FILTERS.iter().find(|spec| spec.flags.iter().any(|flag| flag.name == name));
/// let spec = find("min-mapq").unwrap();
/// let given = GivenFlags::from_words(spec.flags.iter(), ["--min-mapq", "20"])?;
/// let mut filters = Filters::default();
/// (spec.parse)(&given, &mut filters)?;
/// # let words = filters.command_words(readmill_filters::spec::FilterStage::BeforeSort);
/// # assert_eq!(words, ["--min-mapq", "20"]);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct FilterSpec {
    pub flags: &'static [Flag],
    pub parse: fn(&GivenFlags, &mut Filters) -> Result<()>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FilterStage {
    /// Before the sort and duplicate marking, while the input is read.
    BeforeSort,
    /// After the sort and duplicate marking, before base qualities are recalibrated.
    AfterDuplicates,
    /// After all other steps, just before the reads are written.
    Last,
}

/// A filter or edit that a plan requests.
///
/// Flags have been parsed, but no file is open. Most filters only need [`Filter::command_words`]
/// and [`Filter::make_step`]; the other methods tell the planner about files, memory and
/// conditions.
pub trait Filter: Debug + Send + Sync {
    /// Returns the flags and values of this filter for @PG. Parsing them returns the same filter.
    fn command_words(&self) -> Vec<String>;

    /// Creates the step: opens its files, charges their memory, and edits the header to match what
    /// the step will do to reads.
    ///
    /// # Errors
    /// A file cannot be read, memory is not available, or the request does not fit the header.
    fn make_step(&self, context: &mut MakeContext<'_>) -> Result<Box<dyn Step>>;

    fn stage(&self) -> FilterStage {
        FilterStage::BeforeSort
    }

    /// Returns the files that the filter reads, so that no output overwrites them.
    fn input_files(&self) -> Vec<PathBuf> {
        Vec::new()
    }

    fn facts(&self) -> FilterFacts {
        FilterFacts::default()
    }

    /// Checks that the filter fits the rest of the plan, before the run starts.
    ///
    /// # Errors
    /// The plan lacks a requirement of the filter, such as a reference.
    fn check_plan(&self, _plan: PlanFacts) -> Result<()> {
        Ok(())
    }
}

#[derive(Clone, Copy, Debug, Default)]
pub struct FilterFacts {
    /// The filter needs an input with adjacent mates. The run checks this before it starts.
    pub adjacent_mates: bool,
    /// The filter reads the reference of the run, so @PG must name it.
    pub reference: bool,
    /// Reads that the filter has not edited do not fit the new header, so they cannot be written to
    /// an output for dropped reads.
    pub other_header: bool,
    pub sets_read_group: bool,
    /// Memory that each thread needs: its name in the memory plan, and its bytes. Charged once per
    /// thread before the run.
    pub thread_memory: Option<(&'static str, u64)>,
}

#[derive(Clone, Copy, Debug)]
pub struct PlanFacts {
    pub has_reference: bool,
    pub marks_duplicates: bool,
}

pub struct MakeContext<'a> {
    /// The header after the previous filters. A filter that edits reads changes it.
    pub header: &'a mut Header,
    pub ledger: &'a Ledger,
    pub host: &'a dyn FilterHost,
    /// Set by a filter that needs adjacent mates, and shared by all such filters: none passes on a
    /// template that it noted. The run checks it after the last read.
    pub lone_mates: Option<Arc<LoneMates>>,
    /// Set by a filter that limits the fraction of dropped reads. The run checks it at its end.
    pub discard_limit: Option<Arc<DiscardLimit>>,
}

/// Services of a run that filters use to create their steps: messages, headers of other files, the
/// reference. This is a trait because this crate must not depend on the program above it.
pub trait FilterHost {
    /// Prints a line of information for the user, such as the seed of a subsample.
    fn print_info(&self, text: &str);

    fn print_warning(&self, text: &str);

    /// Reads the header of a SAM, BAM, CRAM or .dict file.
    ///
    /// # Errors
    /// The file cannot be read, or its header is larger than the run allows.
    fn read_header(&self, path: &Path) -> Result<Header>;

    /// Opens the reference of the run.
    ///
    /// # Errors
    /// The reference cannot be read, or the run has none.
    fn open_reference(&self) -> Result<Reference>;
}

/// The filters of a plan, in the order in which they are applied.
///
/// [`FILTERS`](crate::FILTERS) determines this order; the order of flags has no effect.
///
/// ```
/// use readmill_filters::Filters;
/// use readmill_filters::spec::FilterStage;
///
/// # fn main() -> readmill_record::Result<()> {
/// let filters = Filters::from_words(["--remove-optional-fields", "XA", "--min-mapq", "20"])?;
/// assert_eq!(filters.command_words(FilterStage::BeforeSort), ["--min-mapq", "20"]);
/// assert_eq!(filters.command_words(FilterStage::Last), ["--remove-optional-fields", "XA"]);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, Default)]
pub struct Filters(Vec<Arc<dyn Filter>>);

/// The steps of all filters of a run, grouped by [`FilterStage`], and the checks that the run makes
/// at its end.
#[derive(Default)]
pub struct FilterSteps {
    pub before_sort: Vec<Box<dyn Step>>,
    pub after_duplicates: Vec<Box<dyn Step>>,
    pub last: Vec<Box<dyn Step>>,
    pub lone_mates: Option<Arc<LoneMates>>,
    pub discard_limit: Option<Arc<DiscardLimit>>,
}

impl Filters {
    pub fn add_filter(&mut self, filter: impl Filter + 'static) {
        self.0.push(Arc::new(filter));
    }

    /// Returns the canonical command line of the filters in a stage, for @PG. Parsing it returns
    /// the same filters.
    pub fn command_words(&self, stage: FilterStage) -> Vec<String> {
        self.0.iter().filter(|it| it.stage() == stage).flat_map(|it| it.command_words()).collect()
    }

    pub fn input_files(&self) -> impl Iterator<Item = PathBuf> {
        self.0.iter().flat_map(|it| it.input_files())
    }

    pub fn facts(&self) -> impl Iterator<Item = FilterFacts> {
        self.0.iter().map(|it| it.facts())
    }

    /// Checks that all filters fit the rest of the plan.
    ///
    /// # Errors
    /// The plan lacks a requirement of a filter.
    pub fn check_plan(&self, plan: PlanFacts) -> Result<()> {
        self.0.iter().try_for_each(|it| it.check_plan(plan))
    }

    /// Creates the steps. Each filter sees the header with the changes of the filters before it.
    ///
    /// # Errors
    /// A file cannot be read, memory is not available, or a request does not fit the header.
    pub fn make_steps(&self, context: &mut MakeContext<'_>) -> Result<FilterSteps> {
        let mut steps = FilterSteps::default();
        for filter in &self.0 {
            let step = filter.make_step(context)?;
            match filter.stage() {
                FilterStage::BeforeSort => &mut steps.before_sort,
                FilterStage::AfterDuplicates => &mut steps.after_duplicates,
                FilterStage::Last => &mut steps.last,
            }
            .push(step);
        }
        steps.lone_mates = context.lone_mates.take();
        steps.discard_limit = context.discard_limit.take();
        Ok(steps)
    }
}

impl<F: Filter + 'static> Extend<F> for Filters {
    fn extend<I: IntoIterator<Item = F>>(&mut self, filters: I) {
        filters.into_iter().for_each(|filter| self.add_filter(filter));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FILTERS;
    use crate::flag::FlagValue;
    use readmill_simulate::Rng;

    const STAGES: [FilterStage; 3] =
        [FilterStage::BeforeSort, FilterStage::AfterDuplicates, FilterStage::Last];

    fn line(filters: &Filters) -> String {
        STAGES.map(|stage| filters.command_words(stage).join(" ")).join(" ")
    }

    /// Splits a line like a shell, as far as canonical command lines need it.
    fn split(line: &str) -> Vec<String> {
        let (mut words, mut word, mut quoted) = (Vec::new(), String::new(), false);
        let mut letters = line.chars();
        while let Some(letter) = letters.next() {
            match letter {
                '\'' => quoted = !quoted,
                '\\' if !quoted => word.extend(letters.next()),
                ' ' if !quoted => {
                    words.extend(Some(std::mem::take(&mut word)).filter(|it| !it.is_empty()))
                }
                _ => word.push(letter),
            }
        }
        words.extend(Some(word).filter(|it| !it.is_empty()));
        words
    }

    fn value(flag: &Flag, random: &mut Rng) -> String {
        let number = 1 + random.below(255);
        let words: &[&str] = match (flag.value, flag.name) {
            (FlagValue::U8 | FlagValue::U32 | FlagValue::Flags, _) => return number.to_string(),
            (FlagValue::F64, _) => return (f64::from(number) / 1000.0).to_string(),
            (FlagValue::OneOf(words), _) => return random.pick(words).0.to_string(),
            (_, "remove-optional-fields") => &["all", "NM", "XA , NM,XA"],
            (_, "keep-optional-fields") => &["none", "RG,NM"],
            (_, "revert-clear" | "revert-reverse" | "revert-complement") => &["NM,XT", ",", "OQ"],
            (_, "number-records") => &["xn", "xn:9"],
            (_, "with-tag") => &["XI", "XI:5", "XI:it's a"],
            (_, "with-tag-in") => &["XI:list", "XI:/a/b list"],
            (_, "read-group") => &["ID:g SM:s", "@RG\tID:it's\tDS:two words", "@RG\\tID:x"],
            // The files of a repeatable flag are all of one kind: with ^ or without it.
            (FlagValue::File, _) if flag.repeats => &["^list", "^/a/b.dict"],
            (FlagValue::File, _) => &["in.bed", "^list", "/a/b.dict"],
            _ => &["mapq > 3", "it's", "a", "[NM] =~ \"\\d'\""],
        };
        random.pick(words).to_string()
    }

    #[test]
    fn canonical_command_lines_ask_for_the_same_filters() {
        let mut random = Rng::new(1);
        for _ in 0..1000 {
            let (mut words, mut given) = (Vec::new(), Vec::new());
            for flag in FILTERS.iter().flat_map(|spec| spec.flags) {
                let fits = flag.conflicts.is_none_or(|other| !given.contains(&other))
                    && flag.requires.is_none_or(|other| other == "reference" || given.contains(&other));
                let times = if flag.repeats { random.below(4) } else { random.below(2) };
                for _ in 0..if fits { times } else { 0 } {
                    given.push(flag.name);
                    words.push(format!("--{}", flag.name));
                    words.extend(
                        (!matches!(flag.value, FlagValue::None)).then(|| value(flag, &mut random)),
                    );
                }
            }
            let filters = Filters::from_words(&words).unwrap();
            let canonical = line(&filters);
            let again = Filters::from_words(split(&canonical)).unwrap();
            assert_eq!(line(&again), canonical, "{words:?}");
            assert_eq!(
                again.input_files().collect::<Vec<_>>(),
                filters.input_files().collect::<Vec<_>>()
            );
        }
    }

    #[test]
    fn no_flag_has_two_meanings() {
        let mut names = std::collections::HashSet::new();
        for flag in FILTERS.iter().flat_map(|spec| spec.flags) {
            let others = flag.aliases.iter().chain(flag.samtools).copied();
            for name in others.chain([flag.name]) {
                assert!(names.insert(name), "{name}");
            }
        }
    }
}
