//! The flag `--fix-mates`: fill in the mate fields of paired reads, with the rules of Picard or
//! samtools.
//!
//! 1. `apply` creates a `PlannedRead` for each record of the batch.
//! 2. The rules (`picard` or `samtools`) change the planned reads of one template at a time.
//! 3. All records are rewritten according to their plans, so that each record is copied only once.

mod picard;
mod read;
mod samtools;
#[cfg(test)]
mod tests;

use std::ops::Range;
use std::str::FromStr;
use std::sync::Arc;

use readmill_record::header::ReferenceSequence;
use readmill_record::{Batch, Changes, Error, Flags, Header, Result, Span, Step, tag};

use crate::flag::{Flag, FlagValue, flag_with_value};
use crate::lone_mates::LoneMates;
use crate::spec::{Filter, FilterFacts, FilterSpec, MakeContext, PlanFacts};

use read::{CigarTexts, PlannedRead, SamtoolsExtras, TemplateOutcome};

pub(crate) const SPEC: FilterSpec = FilterSpec {
    flags: &[
        Flag::with_value(
            "fix-mates",
            FlagValue::OneOf(&[
                ("picard", "Follow Picard FixMateInformation"),
                ("samtools", "Follow samtools fixmate -m, with its default sanitising"),
            ]),
            "RULES",
            "Fix mate information (RNEXT, PNEXT, TLEN, flags, MC, MQ, ms) of reads that are grouped by name",
        ),
        Flag::switch(
            "template-cigar",
            "Write the CIGARs of both reads and their distance to the field ct, as samtools fixmate -c does",
        )
        .requires_flag("fix-mates"),
        Flag::switch(
            "drop-once-fixed",
            "Drop unmapped reads and secondary alignments after mates are fixed, as samtools fixmate -r does",
        )
        .requires_flag("fix-mates"),
    ],
    parse: |given, filters| {
        let Some(rules) = given.parse_value::<MateRules>("fix-mates")? else { return Ok(()) };
        let extras = SamtoolsExtras {
            template_cigar: given.is_given("template-cigar"),
            drops: given.is_given("drop-once-fixed"),
        };
        filters.add_filter(FixMatesRequest { rules, extras });
        Ok(())
    },
};

/// Memory in bytes of the planned reads of one thread if all reads have the minimum size: 120 bytes
/// for each of 27,000 reads.
const THREAD_MEMORY: u64 = 4 << 20;

/// The tool whose rules apply. The rules differ in TLEN, flags, fields, and in what they sanitise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MateRules {
    /// Picard 3.4.0 FixMateInformation with its default options.
    Picard,
    /// samtools 1.24 `fixmate -m`, with its default sanitising.
    Samtools,
}

impl MateRules {
    pub fn name(self) -> &'static str {
        match self {
            MateRules::Picard => "picard",
            MateRules::Samtools => "samtools",
        }
    }
}

impl FromStr for MateRules {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        let rules = [MateRules::Picard, MateRules::Samtools].into_iter().find(|it| it.name() == name);
        rules.ok_or_else(|| {
            Error::usage("the rules for mates are unknown").hint("use picard or samtools")
        })
    }
}

#[derive(Clone, Copy, Debug)]
struct FixMatesRequest {
    rules: MateRules,
    extras: SamtoolsExtras,
}

impl Filter for FixMatesRequest {
    fn command_words(&self) -> Vec<String> {
        let mut words = flag_with_value("--fix-mates", self.rules.name());
        words.extend(self.extras.template_cigar.then(|| "--template-cigar".to_string()));
        words.extend(self.extras.drops.then(|| "--drop-once-fixed".to_string()));
        words
    }

    fn make_step(&self, context: &mut MakeContext<'_>) -> Result<Box<dyn Step>> {
        let mut step = FixMates::new(self.rules, context.header);
        step.extras = self.extras;
        step.lone = Arc::clone(context.lone_mates.get_or_insert_default());
        Ok(Box::new(step))
    }

    fn facts(&self) -> FilterFacts {
        let thread_memory = Some(("mates", THREAD_MEMORY));
        FilterFacts { adjacent_mates: true, thread_memory, ..FilterFacts::default() }
    }

    fn check_plan(&self, _: PlanFacts) -> Result<()> {
        if self.rules == MateRules::Picard && self.extras != SamtoolsExtras::default() {
            return Err(Error::usage(
                "--template-cigar and --drop-once-fixed need the rules of samtools",
            )
            .hint("use --fix-mates samtools, or leave them out"));
        }
        Ok(())
    }
}

/// Updates RNEXT, PNEXT, TLEN, the flags 0x8 and 0x20, MC and MQ of reads whose mates are adjacent.
/// With the rules of samtools, also ms and 0x2.
///
/// Reads must be grouped by template, as in the output of aligners and name sorts. Reads without
/// their mate are counted. Picard's rules do not change them; samtools' rules mark them as having
/// no mate. [`LoneMates`] detects mates that are elsewhere in the input.
pub struct FixMates {
    rules: MateRules,
    extras: SamtoolsExtras,
    references: Arc<[ReferenceSequence]>,
    lone: Arc<LoneMates>,
    counts: MateCounts,
    scratch: TemplateBuffers,
}

#[derive(Clone, Copy, Default)]
struct MateCounts {
    fixed: u64,
    lone: u64,
    doubled: u64,
    dropped: u64,
}

/// The planned reads of a batch and their CIGAR strings. The memory is reused across batches.
#[derive(Default)]
struct TemplateBuffers {
    reads: Vec<PlannedRead>,
    texts: CigarTexts,
}

impl FixMates {
    /// Creates the step. `header` is the header of the reads; the step needs its reference
    /// sequences.
    pub fn new(rules: MateRules, header: &Header) -> Self {
        let references = header.references().into();
        let (counts, scratch) = Default::default();
        let (extras, lone) = Default::default();
        FixMates { rules, extras, references, lone, counts, scratch }
    }

    /// Plans the changes for one template, whose reads are in `range`, and counts its outcome.
    fn fix_template(&mut self, batch: &Batch, range: Range<usize>) {
        let TemplateBuffers { reads, texts } = &mut self.scratch;
        let spans = &batch.spans[range.clone()];
        let reads = &mut reads[range];
        let outcome = match self.rules {
            MateRules::Picard => picard::fix_by_picard(reads, batch, spans, texts),
            MateRules::Samtools => {
                samtools::fix_by_samtools(reads, batch, spans, texts, &self.references, self.extras)
            }
        };
        match outcome {
            TemplateOutcome::Single => {}
            TemplateOutcome::Fixed => self.counts.fixed += 1,
            TemplateOutcome::Doubled => self.counts.doubled += 1,
            TemplateOutcome::Lone => self.counts.lone += 1,
        }
        if outcome == TemplateOutcome::Lone || has_unequal_ends(reads) {
            self.lone.note_name(batch.record(spans[0]).qname());
        }
    }
}

/// Returns whether the numbers of primary records for read 1 and read 2 differ. Such a template is
/// noted in [`LoneMates`] even if the rules could fix a part of it.
fn has_unequal_ends(reads: &[PlannedRead]) -> bool {
    let primaries = reads.iter().filter(|read| read.has_flag(Flags::PAIRED) && read.is_primary());
    let (mut first, mut last) = (0, 0);
    primaries.for_each(|read| match (read.has_flag(Flags::FIRST), read.has_flag(Flags::LAST)) {
        (true, false) => first += 1,
        (false, true) => last += 1,
        _ => {}
    });
    first != last
}

/// Returns the ranges of adjacent reads of the same template.
fn template_ranges(spans: &[Span]) -> impl Iterator<Item = Range<usize>> + '_ {
    let mut at = 0;
    spans.chunk_by(|a, b| a.stamp.template() == b.stamp.template()).map(move |template| {
        at += template.len();
        at - template.len()..at
    })
}

impl Step for FixMates {
    fn name(&self) -> &'static str {
        "fix-mates"
    }

    fn fork_for_thread(&self) -> Box<dyn Step> {
        let (references, lone) = (Arc::clone(&self.references), Arc::clone(&self.lone));
        let (counts, scratch) = Default::default();
        let FixMates { rules, extras, .. } = *self;
        Box::new(FixMates { rules, extras, references, lone, counts, scratch })
    }

    /// Maximum growth of a record: MQ, ms, the tag and type of MC, and the mate's CIGAR as text,
    /// which has at most ten letters for each operator of four bytes. Memory is reserved as if all
    /// reads had the minimum size of 37 bytes, so this is the growth for each 37 bytes of a
    /// template.
    fn max_growth_bytes(&self) -> usize {
        let cigar = 37 * 10 / 4;
        // ct consists of tag and type, number, strand and CIGAR of each read, and their distance.
        let template_cigar = if self.extras.template_cigar { 4 + 5 + 11 + 2 * cigar } else { 0 };
        7 + 7 + 4 + cigar + template_cigar
    }

    fn changes(&self) -> Changes {
        let tags = [tag::MC, *b"MQ", *b"ms", *b"NM", *b"MD", *b"SM", tag::CG, *b"ct"];
        let tags = match self.rules {
            MateRules::Picard => &tags[..2],
            MateRules::Samtools if self.extras.template_cigar => &tags[..],
            MateRules::Samtools => &tags[..7],
        };
        Changes { reads: self.extras.drops, flags: true, alignment: true, ..Changes::of_tags(tags) }
    }

    fn apply(&mut self, batch: &mut Batch) -> Result<()> {
        self.scratch.texts.clear();
        self.scratch.reads.clear();
        self.scratch.reads.extend(batch.records().map(|(_, record)| PlannedRead::from_record(record)));
        let ranges: Vec<Range<usize>> = template_ranges(&batch.spans).collect();
        let before = self.counts;
        for range in ranges {
            self.fix_template(batch, range);
        }
        let lone = self.counts.lone - before.lone;
        let whole = self.counts.fixed - before.fixed + self.counts.doubled - before.doubled;
        self.lone.add_counts(lone, lone + whole);
        let TemplateBuffers { reads, texts } = &self.scratch;
        let (mut reads, appends) = (reads.iter(), self.rules == MateRules::Samtools);
        batch.rewrite_records(|_, record, out| {
            if let Some(read) = reads.next() {
                read.write_record(record, texts, appends, out);
            }
            Ok(())
        })?;
        if self.extras.drops {
            let before = batch.len();
            batch.retain(|_, record| record.flags().0 & (Flags::UNMAPPED | Flags::SECONDARY) == 0);
            self.counts.dropped += (before - batch.len()) as u64;
        }
        Ok(())
    }

    fn counts(&self) -> Vec<(&'static str, u64)> {
        let mut counts = vec![
            ("templates with updated mate information", self.counts.fixed),
            ("templates that lack a mate", self.counts.lone),
        ];
        if self.counts.doubled > 0 {
            let what = "templates with two primary reads of one end, left unchanged";
            counts.push((what, self.counts.doubled));
        }
        if self.extras.drops {
            counts.push(("unmapped reads and secondary alignments dropped", self.counts.dropped));
        }
        counts
    }
}
