//! The flag `--whole-templates`: drop templates that are incomplete or contradictory.

use std::sync::Arc;

use readmill_record::{Batch, Changes, Error, RecordRef, Result, Step};

use crate::discarded::DiscardLimit;
use crate::flag::{Flag, FlagValue};
use crate::lone_mates::LoneMates;
use crate::route::template_starts;
use crate::spec::{Filter, FilterFacts, FilterSpec, MakeContext};

/// The default of `--max-discarded`, as in Picard RevertSam.
const DEFAULT_MAX_SHARE: f64 = 0.01;

pub(crate) const SPEC: FilterSpec = FilterSpec {
    flags: &[
        Flag::switch(
            "whole-templates",
            "Drop templates without a mate or qualities, or with several copies of read 1 or read 2 (Picard RevertSam SANITIZE). Reads must be grouped by name",
        ),
        Flag::switch("first-of-each-end", "Keep the first copy of read 1 and read 2 if a template has several copies")
            .requires_flag("whole-templates"),
        Flag::with_value(
            "max-discarded",
            FlagValue::F64,
            "SHARE",
            "Fail if --whole-templates drops more than this fraction of the reads, from 0 to 1 [default: 0.01]",
        )
        .requires_flag("whole-templates"),
    ],
    parse: |given, filters| {
        if given.is_given("whole-templates") {
            let share = given.parse_value("max-discarded")?.unwrap_or(DEFAULT_MAX_SHARE);
            if !(0.0..=1.0).contains(&share) {
                return Err(Error::usage(format!("--max-discarded cannot be {share}"))
                    .hint("give a fraction from 0 to 1, such as 0.01"));
            }
            filters.add_filter(WholeTemplatesRequest {
                keep_first: given.is_given("first-of-each-end"),
                share,
            });
        }
        Ok(())
    },
};

#[derive(Debug)]
struct WholeTemplatesRequest {
    keep_first: bool,
    share: f64,
}

impl Filter for WholeTemplatesRequest {
    fn command_words(&self) -> Vec<String> {
        let mut words = vec!["--whole-templates".to_string()];
        words.extend(self.keep_first.then(|| "--first-of-each-end".to_string()));
        if self.share != DEFAULT_MAX_SHARE {
            words.extend(["--max-discarded".to_string(), self.share.to_string()]);
        }
        words
    }

    fn facts(&self) -> FilterFacts {
        FilterFacts { adjacent_mates: true, ..FilterFacts::default() }
    }

    fn make_step(&self, context: &mut MakeContext<'_>) -> Result<Box<dyn Step>> {
        let discarded = Arc::new(DiscardLimit::new(self.share));
        context.discard_limit = Some(Arc::clone(&discarded));
        let lone = Arc::clone(context.lone_mates.get_or_insert_default());
        Ok(Box::new(WholeTemplates { keep_first: self.keep_first, dropped: 0, discarded, lone }))
    }
}

/// Drops all reads of a template unless it has exactly one read 1 and one read 2, or one single
/// read, each with qualities for its bases, as in Picard RevertSam 3.4.0 with SANITIZE. (As in
/// Picard, a template with both mates also keeps single reads with its name.) [`LoneMates`] detects
/// dropped templates whose other reads are elsewhere in the input.
#[derive(Clone)]
struct WholeTemplates {
    keep_first: bool,
    dropped: u64,
    discarded: Arc<DiscardLimit>,
    lone: Arc<LoneMates>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TemplateFate {
    All,
    None,
    /// No read stays, because read 1 or read 2 is missing in this place of the input.
    Lone,
    /// The first copies of read 1 and read 2 or, if there are only single reads, the first of
    /// these.
    First,
}

impl WholeTemplates {
    fn choose_kept_reads<'a>(&self, reads: impl Iterator<Item = RecordRef<'a>>) -> TemplateFate {
        let (mut firsts, mut lasts, mut singles) = (0, 0, 0);
        for read in reads {
            if read.l_seq() > 0 && read.qual().first() == Some(&0xff) {
                return TemplateFate::None;
            }
            let flags = read.flags();
            firsts += u32::from(flags.is_paired() && flags.is_first());
            lasts += u32::from(flags.is_paired() && flags.is_last());
            singles += u32::from(!flags.is_paired());
        }
        match (firsts, lasts, singles) {
            (1, 1, _) | (0, 0, 0..=1) => TemplateFate::All,
            (0, 0, _) if self.keep_first => TemplateFate::First,
            (1.., 1.., _) if self.keep_first => TemplateFate::First,
            (0, 1.., _) | (1.., 0, _) => TemplateFate::Lone,
            _ => TemplateFate::None,
        }
    }
}

impl Step for WholeTemplates {
    fn name(&self) -> &'static str {
        "whole-templates"
    }

    fn fork_for_thread(&self) -> Box<dyn Step> {
        Box::new(self.clone())
    }

    fn changes(&self) -> Changes {
        Changes::dropping_reads()
    }

    fn apply(&mut self, batch: &mut Batch) -> Result<()> {
        let starts = template_starts(batch);
        let mut keeps = vec![true; batch.len()];
        for range in starts.windows(2).map(|ends| ends[0]..ends[1]) {
            let record = |at: usize| batch.record(batch.spans[at]);
            match self.choose_kept_reads(range.clone().map(record)) {
                TemplateFate::All => {}
                TemplateFate::None => keeps[range].fill(false),
                TemplateFate::Lone => {
                    self.lone.note_name(record(range.start).qname());
                    keeps[range].fill(false);
                }
                TemplateFate::First => {
                    let ends = |at: usize| {
                        let flags = record(at).flags();
                        [
                            !flags.is_paired(),
                            flags.is_paired() && flags.is_first(),
                            flags.is_paired() && flags.is_last(),
                        ]
                    };
                    let has_ends = range.clone().any(|at| !ends(at)[0]);
                    let mut seen = [has_ends, false, false];
                    for at in range {
                        let own = ends(at);
                        keeps[at] = own.iter().zip(&seen).any(|(own, seen)| *own && !seen);
                        seen.iter_mut().zip(own).for_each(|(seen, own)| *seen |= own);
                    }
                }
            }
        }
        let dropped = keeps.iter().filter(|keeps| !**keeps).count() as u64;
        self.dropped += dropped;
        self.discarded.add_counts(dropped, batch.len() as u64);
        let mut keeps = keeps.into_iter();
        batch.retain(|_, _| keeps.next().unwrap_or(true));
        Ok(())
    }

    fn counts(&self) -> Vec<(&'static str, u64)> {
        vec![("reads of incomplete templates dropped", self.dropped)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{header, kept};

    const READS: [&str; 14] = [
        "a 77 * 0 0 * * 0 0 A I",
        "a 141 * 0 0 * * 0 0 C I",
        "b 77 * 0 0 * * 0 0 A I",
        "c 4 * 0 0 * * 0 0 A I",
        "d 4 * 0 0 * * 0 0 A I",
        "d 4 * 0 0 * * 0 0 C I",
        "e 77 * 0 0 * * 0 0 A I",
        "e 77 * 0 0 * * 0 0 C I",
        "e 4 * 0 0 * * 0 0 C I",
        "e 141 * 0 0 * * 0 0 C I",
        "f 77 * 0 0 * * 0 0 A I",
        "f 141 * 0 0 * * 0 0 C *",
        "g 77 * 0 0 * * 0 0 * *",
        "g 141 * 0 0 * * 0 0 C I",
    ];

    fn step(keep_first: bool, max_share: f64) -> WholeTemplates {
        let discarded = Arc::new(DiscardLimit::new(max_share));
        WholeTemplates { keep_first, dropped: 0, discarded, lone: Arc::default() }
    }

    #[test]
    fn whole_templates_stay() {
        let header = header("@HD VN:1.6");
        let mut step = step(false, 0.5);
        assert_eq!(kept(&mut step, &header, &READS), "a a c g g");
        let error = step.discarded.check_share().unwrap_err();
        assert!(error.what.contains("drops 9 of 14 reads (64.286 %), more than 50.000 %"), "{error}");
    }

    #[test]
    fn the_limit_is_a_fraction() {
        let parse = |share| crate::Filters::from_words(["--whole-templates", "--max-discarded", share]);
        for wrong in ["nan", "-0.1", "1.5", "inf"] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
        assert!(parse("0").is_ok() && parse("1").is_ok());
    }

    #[test]
    fn templates_in_several_places_are_found() {
        let header = header("@HD VN:1.6");
        let mut step = step(false, 1.0);
        assert_eq!(kept(&mut step, &header, &READS), "a a c g g");
        assert_eq!(step.lone.check_adjacent(), Ok(()));
        let mut other = step.fork_for_thread();
        assert_eq!(kept(&mut *other, &header, &["b 141 * 0 0 * * 0 0 A I"]), "");
        let error = step.lone.check_adjacent().unwrap_err();
        assert!(error.what.contains("are not adjacent"), "{error}");
    }

    #[test]
    fn the_first_read_of_each_end_can_stay() {
        let header = header("@HD VN:1.6");
        let mut step = step(true, 0.5);
        assert_eq!(kept(&mut step, &header, &READS), "a a c d e e g g");
        assert_eq!(step.discarded.check_share(), Ok(()));
    }
}
