//! Writes the five files of CollectSequencingArtifactMetrics.

use std::array::from_fn;

use readmill_format::metrics::{MetricsFile, MetricsRow};

use crate::counts::error_rate_to_phred;
use crate::substitutions::Libraries;

/// Number of contexts. A context is three bases, as the digits of a number in base 4, from A = 0 to
/// T = 3.
const CONTEXTS: usize = 64;

pub(super) const CALLS: usize = 4;

/// Read 1 and read 2, each forward and reverse.
pub(super) const WAYS: usize = 4;

pub(super) const LIBRARY: usize = CONTEXTS * CALLS * WAYS;

/// The first columns of all tables that describe substitutions.
const SUBSTITUTION: [&str; 4] = ["SAMPLE_ALIAS", "LIBRARY", "REF_BASE", "ALT_BASE"];

const PRE_ADAPTER: [&str; 7] = [
    "CONTEXT",
    "PRO_REF_BASES",
    "PRO_ALT_BASES",
    "CON_REF_BASES",
    "CON_ALT_BASES",
    "ERROR_RATE",
    "QSCORE",
];

const BAIT_BIAS: [&str; 9] = [
    "CONTEXT",
    "FWD_CXT_REF_BASES",
    "FWD_CXT_ALT_BASES",
    "REV_CXT_REF_BASES",
    "REV_CXT_ALT_BASES",
    "FWD_ERROR_RATE",
    "REV_ERROR_RATE",
    "ERROR_RATE",
    "QSCORE",
];

const SUMMARY: [&str; 8] = [
    "TOTAL_QSCORE",
    "WORST_CXT",
    "WORST_CXT_QSCORE",
    "WORST_PRE_CXT",
    "WORST_PRE_CXT_QSCORE",
    "WORST_POST_CXT",
    "WORST_POST_CXT_QSCORE",
    "ARTIFACT_NAME",
];

const ERRORS: [&str; 6] =
    ["REF_BASE", "ALT_BASE", "SUBSTITUTION", "REF_COUNT", "ALT_COUNT", "SUBSTITUTION_RATE"];

/// Substitutions that Picard names, as the reference base and the called base, with the name.
type Named = (&'static [u8; 2], &'static str);
const PRE_ADAPTER_NAMES: [Named; 2] = [(b"GT", "OxoG"), (b"CT", "Deamination")];
const BAIT_BIAS_NAMES: [Named; 2] = [(b"GT", "Gref"), (b"CA", "Cref")];

const LETTERS: &[u8; 4] = b"ACGT";

/// Minimum error rate in the files, as in Picard. It limits QSCORE to 100.
const MIN_RATE: f64 = 1e-10;

/// Numbers of bases, by called base and by read of the pair with strand.
type Calls = [[u64; WAYS]; CALLS];

/// A base of the reference and the different base that was called, as digits.
#[derive(Clone, Copy)]
struct Substitution {
    reference: usize,
    called: usize,
}

impl Substitution {
    fn all() -> impl Iterator<Item = Self> {
        let pairs = (0..CALLS * CALLS).map(|n| (n / CALLS, n % CALLS));
        pairs
            .filter(|(reference, called)| reference != called)
            .map(|(reference, called)| Substitution { reference, called })
    }
}

/// The contexts that are counted together in a cell of a table.
#[derive(Clone, Copy)]
enum Contexts {
    One(usize),
    /// All contexts with the same base before and the same middle base.
    Before(usize),
    /// All contexts with the same middle base and the same base after.
    After(usize),
    /// All contexts with the same middle base.
    Middle(usize),
}

impl Contexts {
    fn contains(self, context: usize) -> bool {
        match self {
            Contexts::One(one) => context == one,
            Contexts::Before(one) => context >> 2 == one >> 2,
            Contexts::After(one) => context & 15 == one & 15,
            Contexts::Middle(middle) => context >> 2 & 3 == middle,
        }
    }

    /// Returns the three bases of the contexts, with N for a base that can be any.
    fn name(self) -> [u8; 3] {
        let letters = |one: usize| [4, 2, 0].map(|shift| LETTERS[one >> shift & 3]);
        match self {
            Contexts::One(one) => letters(one),
            Contexts::Before(one) => [letters(one)[0], letters(one)[1], b'N'],
            Contexts::After(one) => [b'N', letters(one)[1], letters(one)[2]],
            Contexts::Middle(middle) => [b'N', LETTERS[middle], b'N'],
        }
    }
}

/// Returns the context that the other strand has at the same place.
fn reverse_complement(context: usize) -> usize {
    let complement = !context;
    (complement & 3) << 4 | complement & 12 | complement >> 4 & 3
}

struct LibraryBases<'a> {
    name: &'a [u8],
    samples: &'a [u8],
    contexts: [Calls; CONTEXTS],
    is_tandem: bool,
}

/// Numbers of bases that are equal to the reference base and to the called base of a substitution.
#[derive(Clone, Copy, Default)]
struct SubstitutionCounts {
    reference: u64,
    called: u64,
}

impl SubstitutionCounts {
    fn total(self) -> u64 {
        self.reference + self.called
    }

    /// Returns the fraction of called bases, but at least [`MIN_RATE`].
    fn error_rate(self) -> f64 {
        if self.total() == 0 {
            return MIN_RATE;
        }
        MIN_RATE.max(self.called as f64 / self.total() as f64)
    }
}

/// The counts of one substitution in some contexts.
struct Observed {
    /// Bases of the reads, by read of the pair and strand, that support an artifact before the
    /// adapters were ligated (pre-adapter artifact), and of the reads that refute it.
    supporting: SubstitutionCounts,
    refuting: SubstitutionCounts,
    /// Bases where the forward strand of the reference has the context, and bases where the reverse
    /// strand has it.
    forward: SubstitutionCounts,
    reverse: SubstitutionCounts,
}

impl Observed {
    fn pre_adapter_rate(&self) -> f64 {
        let all = self.supporting.total() + self.refuting.total();
        if all == 0 {
            return MIN_RATE;
        }
        MIN_RATE.max((self.supporting.called as f64 - self.refuting.called as f64) / all as f64)
    }

    fn bait_bias_rate(&self) -> f64 {
        MIN_RATE.max(self.forward.error_rate() - self.reverse.error_rate())
    }
}

impl<'a> LibraryBases<'a> {
    fn new(counts: &[u64], name: &'a [u8], libraries: &'a Libraries, is_tandem: bool) -> Self {
        let at = |context, call, way| counts.get((context * CALLS + call) * WAYS + way);
        let contexts = from_fn(|context| {
            from_fn(|call| from_fn(|way| at(context, call, way).copied().unwrap_or(0)))
        });
        LibraryBases { name, samples: libraries.samples(), contexts, is_tandem }
    }

    fn sum_contexts(&self, of: Substitution, contexts: Contexts) -> Observed {
        let sum = |call: usize, is_reverse: bool| {
            let mut sum = [0; WAYS];
            for context in (0..CONTEXTS).filter(|&context| contexts.contains(context)) {
                let context = if is_reverse { reverse_complement(context) } else { context };
                let ways = self.contexts[context][call];
                sum.iter_mut().zip(ways).for_each(|(sum, more)| *sum += more);
            }
            sum
        };
        let counts = |count: &dyn Fn([u64; WAYS], [u64; WAYS]) -> u64| SubstitutionCounts {
            reference: count(sum(of.reference, false), sum(3 - of.reference, true)),
            called: count(sum(of.called, false), sum(3 - of.called, true)),
        };
        // The order of `WAYS` is: read 1 forward, read 1 reverse, read 2 forward, read 2 reverse.
        let same = |a: [u64; WAYS], b: [u64; WAYS]| a[0] + a[2] + b[1] + b[3];
        let other = |a: [u64; WAYS], b: [u64; WAYS]| a[1] + a[3] + b[0] + b[2];
        let facing = |a: [u64; WAYS], b: [u64; WAYS]| a[0] + a[3] + b[1] + b[2];
        let averted = |a: [u64; WAYS], b: [u64; WAYS]| a[1] + a[2] + b[0] + b[3];
        let (supporting, refuting) = if self.is_tandem {
            (counts(&same), counts(&other))
        } else {
            (counts(&facing), counts(&averted))
        };
        Observed {
            supporting,
            refuting,
            forward: counts(&|a, _| a.iter().sum()),
            reverse: counts(&|_, b| b.iter().sum()),
        }
    }

    fn begin_row(&self, of: Substitution) -> MetricsRow {
        let mut row = MetricsRow::default();
        row.push_text(self.samples).push_text(self.name);
        row.push_text(&[LETTERS[of.reference]]).push_text(&[LETTERS[of.called]]);
        row
    }

    /// Returns the row of a substitution in a summary. `rate` selects the rate of its artifact:
    /// pre-adapter or bait bias.
    fn summary_row(&self, of: Substitution, rate: fn(&Observed) -> f64, names: &[Named]) -> MetricsRow {
        let quality = |contexts| error_rate_to_phred(rate(&self.sum_contexts(of, contexts)));
        let mut row = self.begin_row(of);
        row.push_integer(quality(Contexts::Middle(of.reference)));
        let middle = of.reference << 2;
        let each: [&dyn Fn(usize) -> Contexts; 3] = [
            &|n| Contexts::One(n >> 2 << 4 | middle | n & 3),
            &|n| Contexts::Before(n >> 2 << 4 | middle),
            &|n| Contexts::After(middle | n & 3),
        ];
        for contexts in each {
            let all = (0..16).map(contexts).map(|it| (quality(it), it.name()));
            let (worst, name) = all.min().unwrap_or_default();
            row.push_text(&name).push_integer(worst);
        }
        let letters = [LETTERS[of.reference], LETTERS[of.called]];
        let name = names.iter().find(|(substitution, _)| **substitution == letters);
        row.push_text(name.map_or("NA", |(_, name)| name).as_bytes());
        row
    }
}

/// Sets the tables of the five files, in the order of the program's endings: details and summary of
/// pre-adapter artifacts, details and summary of bait bias, and the error summary.
pub(super) fn fill(
    files: &mut [MetricsFile; 5],
    counts: &[u64],
    libraries: &Libraries,
    is_tandem: bool,
) {
    let mut rows: [Vec<MetricsRow>; 5] = Default::default();
    let mut errors = [[SubstitutionCounts::default(); CALLS]; CALLS];
    for (number, name) in libraries.names.iter().enumerate() {
        let counts = counts.get(number * LIBRARY..(number + 1) * LIBRARY).unwrap_or_default();
        let is_found = number != libraries.unknown || libraries.has_unknown;
        if !is_found && counts.iter().all(|&count| count == 0) {
            continue;
        }
        let library = LibraryBases::new(counts, name, libraries, is_tandem);
        for of in Substitution::all() {
            let contexts = (0..CONTEXTS).filter(|context| context >> 2 & 3 == of.reference);
            for context in contexts.map(Contexts::One) {
                let it = library.sum_contexts(of, context);
                let mut row = library.begin_row(of);
                row.push_text(&context.name());
                for counts in [it.supporting, it.refuting] {
                    row.push_integer(counts.reference).push_integer(counts.called);
                }
                row.push_decimal(it.pre_adapter_rate())
                    .push_integer(error_rate_to_phred(it.pre_adapter_rate()));
                rows[0].push(row);
                let mut row = library.begin_row(of);
                row.push_text(&context.name());
                for counts in [it.forward, it.reverse] {
                    row.push_integer(counts.reference).push_integer(counts.called);
                }
                row.push_decimal(it.forward.error_rate()).push_decimal(it.reverse.error_rate());
                row.push_decimal(it.bait_bias_rate())
                    .push_integer(error_rate_to_phred(it.bait_bias_rate()));
                rows[2].push(row);
                // A substitution and its complement on the other strand are the same error.
                let strand = |base: usize| if of.reference >= 2 { 3 - base } else { base };
                let error = &mut errors[strand(of.reference)][strand(of.called)];
                error.reference += it.supporting.reference + it.refuting.reference;
                error.called += it.supporting.called + it.refuting.called;
            }
            rows[1].push(library.summary_row(of, Observed::pre_adapter_rate, &PRE_ADAPTER_NAMES));
            rows[3].push(library.summary_row(of, Observed::bait_bias_rate, &BAIT_BIAS_NAMES));
        }
    }
    if !rows[0].is_empty() {
        let each = Substitution::all().filter(|of| of.reference < 2);
        rows[4].extend(each.map(|of| error_row(of, errors[of.reference][of.called])));
    }
    let class = |name: &str| format!("picard.analysis.artifacts.SequencingArtifactMetrics${name}");
    let begin = |columns: &[&'static str]| [&SUBSTITUTION[..], columns].concat();
    let tables = [
        (class("PreAdapterDetailMetrics"), begin(&PRE_ADAPTER)),
        (class("PreAdapterSummaryMetrics"), begin(&SUMMARY)),
        (class("BaitBiasDetailMetrics"), begin(&BAIT_BIAS)),
        (class("BaitBiasSummaryMetrics"), begin(&SUMMARY)),
        ("picard.analysis.artifacts.ErrorSummaryMetrics".into(), ERRORS.to_vec()),
    ];
    for ((file, rows), (class, columns)) in files.iter_mut().zip(rows).zip(&tables) {
        file.set_table(class, columns, rows);
    }
}

fn error_row(of: Substitution, counts: SubstitutionCounts) -> MetricsRow {
    let (reference, called) = (LETTERS[of.reference], LETTERS[of.called]);
    let mut row = MetricsRow::default();
    row.push_text(&[reference]).push_text(&[called]).push_text(&[reference, b'>', called]);
    row.push_integer(counts.reference).push_integer(counts.called);
    row.push_decimal(crate::counts::divide_or_zero(counts.called as f64, counts.total() as f64));
    row
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_other_strand_is_read_backwards() {
        let name = |context| Contexts::One(context).name();
        for (context, other) in [(0, *b"TTT"), (0b00_01_10, *b"CGT"), (0b10_10_11, *b"ACC")] {
            assert_eq!(name(reverse_complement(context)), other);
        }
        assert_eq!(Contexts::Before(0b00_01_10).name(), *b"ACN");
        assert_eq!(Contexts::After(0b00_01_10).name(), *b"NCG");
    }
}
