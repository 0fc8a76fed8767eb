//! Filters as the rest of the program sees them: their specifications, the filters of a plan, and the steps of a run.
//!
//! A module with a filter has a constant `SPEC`, which [`FILTERS`](crate::FILTERS) lists. It turns flags into requests,
//! each of which is a [`Filter`]; a run makes a step of each.

use std::fmt::Debug;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use readmill_format::reference::Reference;
use readmill_record::{Header, Ledger, Result, Step};

use crate::discarded::Discarded;
use crate::flag::{Flag, GivenFlags};
use crate::lone_mates::LoneMates;

/// The description of a filter: its flags, and how it is made of them.
#[derive(Debug)]
pub struct FilterSpec {
    /// Its flags, in the order of the help.
    pub flags: &'static [Flag],
    /// Adds the filters that the flags ask for, none if no flag is given.
    pub parse: fn(&GivenFlags, &mut Filters) -> Result<()>,
}

/// When a filter sees the reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Before reads are sorted.
    BeforeSort,
    /// When reads are sorted and duplicates marked, before base qualities are recalibrated.
    AfterDuplicates,
    /// When all else is done.
    Last,
}

/// A filter or an edit of reads that a plan asks for. Nothing is opened yet.
pub trait Filter: Debug + Send + Sync {
    /// Its flags and their values, as @PG states them.
    fn words(&self) -> Vec<String>;

    /// Makes the step: opens files, and changes the header as the step will change reads.
    ///
    /// # Errors
    /// If a file cannot be read, or what was asked for does not fit the header.
    fn make(&self, context: &mut MakeContext<'_>) -> Result<Box<dyn Step>>;

    /// When it sees the reads.
    fn stage(&self) -> Stage {
        Stage::BeforeSort
    }

    /// The files that it reads.
    fn files(&self) -> Vec<PathBuf> {
        Vec::new()
    }

    /// The properties that matter to the rest of the program.
    fn facts(&self) -> FilterFacts {
        FilterFacts::default()
    }

    /// Checks that it fits the rest of the plan.
    ///
    /// # Errors
    /// If the plan lacks what it needs.
    fn check(&self, _plan: PlanFacts) -> Result<()> {
        Ok(())
    }
}

/// The properties of a filter that matter to the rest of the program.
#[derive(Clone, Copy, Debug, Default)]
pub struct FilterFacts {
    /// It needs mates that are adjacent in the input.
    pub adjacent_mates: bool,
    /// It reads the reference of the run, which @PG then names.
    pub reference: bool,
    /// Only reads that it has changed fit the header that it makes.
    pub other_header: bool,
    /// It gives all reads a read group.
    pub sets_read_group: bool,
    /// The memory of each of its threads: a name and bytes.
    pub thread_memory: Option<(&'static str, u64)>,
}

/// The properties of the plan that a filter may depend on.
#[derive(Clone, Copy, Debug)]
pub struct PlanFacts {
    /// The run has a reference.
    pub has_reference: bool,
    /// Duplicates are marked.
    pub marks_duplicates: bool,
}

/// The surroundings in which a filter makes its step.
pub struct MakeContext<'a> {
    /// The header of the reads, as the filters before have left it.
    pub header: &'a mut Header,
    /// Where the memory of its tables is charged.
    pub ledger: &'a Ledger,
    /// The run.
    pub host: &'a dyn FilterHost,
    /// Where a filter of mates puts the templates that lack one, which the run checks at its end.
    pub lone_mates: Option<Arc<LoneMates>>,
    /// Where a filter counts reads that it drops, which the run checks at its end.
    pub discarded: Option<Arc<Discarded>>,
}

/// Services of the run for filters that make their steps.
pub trait FilterHost {
    /// Tells the user something.
    fn say(&self, text: &str);

    /// Warns the user.
    fn warn(&self, text: &str);

    /// Reads the header of a SAM, BAM, CRAM or .dict file, whose memory is charged.
    ///
    /// # Errors
    /// If it cannot be read.
    fn header_of(&self, path: &Path) -> Result<Header>;

    /// Opens the reference of the run.
    ///
    /// # Errors
    /// If it cannot be read, or there is none.
    fn reference(&self) -> Result<Reference>;
}

/// The filters of a plan, in the order in which they are applied.
#[derive(Clone, Debug, Default)]
pub struct Filters(Vec<Arc<dyn Filter>>);

/// The steps of filters, by their [`Stage`].
#[derive(Default)]
pub struct FilterSteps {
    /// Before the sort.
    pub before_sort: Vec<Box<dyn Step>>,
    /// After the sort: duplicates are marked, qualities are still the old ones.
    pub after_duplicates: Vec<Box<dyn Step>>,
    /// After recalibration.
    pub last: Vec<Box<dyn Step>>,
    /// Templates that lack a mate, if mates are fixed.
    pub lone: Option<Arc<LoneMates>>,
    /// Reads that are dropped, if only so many may be.
    pub discarded: Option<Arc<Discarded>>,
}

impl Filters {
    /// Adds a filter, applied after those before.
    pub fn add(&mut self, filter: impl Filter + 'static) {
        self.0.push(Arc::new(filter));
    }

    /// Returns the canonical command line of the filters of a stage, for @PG.
    pub fn words(&self, stage: Stage) -> Vec<String> {
        self.0.iter().filter(|it| it.stage() == stage).flat_map(|it| it.words()).collect()
    }

    /// Returns the files that they read.
    pub fn files(&self) -> impl Iterator<Item = PathBuf> {
        self.0.iter().flat_map(|it| it.files())
    }

    /// Returns what the rest of the program must know of each.
    pub fn facts(&self) -> impl Iterator<Item = FilterFacts> {
        self.0.iter().map(|it| it.facts())
    }

    /// Checks that they fit the rest of the plan.
    ///
    /// # Errors
    /// If the plan lacks what one of them needs.
    pub fn check(&self, plan: PlanFacts) -> Result<()> {
        self.0.iter().try_for_each(|it| it.check(plan))
    }

    /// Makes their steps. Those that only drop reads see the header as it is; edits change it, one after the other.
    ///
    /// # Errors
    /// If a file cannot be read, or what was asked for does not fit the header.
    pub fn make(&self, context: &mut MakeContext<'_>) -> Result<FilterSteps> {
        let mut steps = FilterSteps::default();
        for filter in &self.0 {
            let step = filter.make(context)?;
            match filter.stage() {
                Stage::BeforeSort => &mut steps.before_sort,
                Stage::AfterDuplicates => &mut steps.after_duplicates,
                Stage::Last => &mut steps.last,
            }
            .push(step);
        }
        steps.lone = context.lone_mates.take();
        steps.discarded = context.discarded.take();
        Ok(steps)
    }
}

impl<F: Filter + 'static> Extend<F> for Filters {
    fn extend<I: IntoIterator<Item = F>>(&mut self, filters: I) {
        filters.into_iter().for_each(|filter| self.add(filter));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FILTERS;
    use crate::flag::Value;
    use readmill_simulate::Rng;

    const STAGES: [Stage; 3] = [Stage::BeforeSort, Stage::AfterDuplicates, Stage::Last];

    fn line(filters: &Filters) -> String {
        STAGES.map(|stage| filters.words(stage).join(" ")).join(" ")
    }

    /// Splits a line as a shell does, as far as canonical command lines need it.
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
            (Value::U8 | Value::U32 | Value::Flags, _) => return number.to_string(),
            (Value::F64, _) => return (f64::from(number) / 1000.0).to_string(),
            (Value::OneOf(words), _) => return random.pick(words).0.to_string(),
            (_, "remove-optional-fields") => &["all", "NM", "XA , NM,XA"],
            (_, "keep-optional-fields") => &["none", "RG,NM"],
            (_, "revert-clear" | "revert-reverse" | "revert-complement") => &["NM,XT", ",", "OQ"],
            (_, "number-records") => &["xn", "xn:9"],
            (_, "with-tag") => &["XI", "XI:5", "XI:it's a"],
            (_, "with-tag-in") => &["XI:list", "XI:/a/b list"],
            (_, "read-group") => &["ID:g SM:s", "@RG\tID:it's\tDS:two words", "@RG\\tID:x"],
            (Value::File, _) => &["in.bed", "^list", "/a/b.dict"],
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
                    words.extend((!matches!(flag.value, Value::None)).then(|| value(flag, &mut random)));
                }
            }
            let filters = Filters::from_words(&words).unwrap();
            let canonical = line(&filters);
            let again = Filters::from_words(split(&canonical)).unwrap();
            assert_eq!(line(&again), canonical, "{words:?}");
            assert_eq!(again.files().collect::<Vec<_>>(), filters.files().collect::<Vec<_>>());
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
