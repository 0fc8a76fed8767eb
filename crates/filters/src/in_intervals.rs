//! The flags `--in-intervals` and `--outside-intervals`: keep reads that overlap intervals, like
//! GATK's `-L` and `-XL`.

use std::path::{Path, PathBuf};

use readmill_format::intervals::{IntervalArguments, Intervals, is_unmapped};
use readmill_record::{Detail, Error, Header, Ledger, RecordRef, Result, Step};

use crate::criterion::Criterion;
use crate::flag::{Flag, FlagValue, flag_with_value, shell_quote};
use crate::spec::{Filter, FilterSpec, MakeContext};

pub(crate) const SPEC: FilterSpec = FilterSpec {
    flags: &[
        Flag::with_value(
            "in-intervals",
            FlagValue::Text,
            "REGION|FILE",
            "Keep only reads that overlap this region (chr1:5-9) or the regions of FILE (BED, interval list, or .list), as GATK -L does. unmapped selects reads without a position. May be repeated",
        )
        .repeatable(),
        Flag::with_value(
            "outside-intervals",
            FlagValue::Text,
            "REGION|FILE",
            "Exclude this region, or the regions of FILE, from --in-intervals or from all contigs, as GATK -XL does. May be repeated",
        )
        .repeatable(),
        Flag::with_value(
            "in-intervals-padding",
            FlagValue::U32,
            "N",
            "Extend the regions of --in-intervals by N bases on both sides [default: 0]",
        )
        .requires_flag("in-intervals"),
        Flag::with_value(
            "outside-intervals-padding",
            FlagValue::U32,
            "N",
            "Extend the regions of --outside-intervals by N bases on both sides [default: 0]",
        )
        .requires_flag("outside-intervals"),
    ],
    parse: |given, filters| {
        let request = InIntervalsRequest {
            include: given.parse_values("in-intervals")?,
            exclude: given.parse_values("outside-intervals")?,
            padding: given.parse_value("in-intervals-padding")?.unwrap_or(0),
            exclusion_padding: given.parse_value("outside-intervals-padding")?.unwrap_or(0),
        };
        if !request.include.is_empty() || !request.exclude.is_empty() {
            filters.add_filter(request);
        }
        Ok(())
    },
};

#[derive(Debug)]
struct InIntervalsRequest {
    include: Vec<String>,
    exclude: Vec<String>,
    padding: u32,
    exclusion_padding: u32,
}

impl Filter for InIntervalsRequest {
    fn command_words(&self) -> Vec<String> {
        let each = |flag: &str, values: &[String]| {
            Vec::from_iter(values.iter().flat_map(|value| flag_with_value(flag, shell_quote(value))))
        };
        let padding = |flag: &str, bases: u32| match bases {
            0 => Vec::new(),
            bases => flag_with_value(flag, bases),
        };
        [
            each("--in-intervals", &self.include),
            each("--outside-intervals", &self.exclude),
            padding("--in-intervals-padding", self.padding),
            padding("--outside-intervals-padding", self.exclusion_padding),
        ]
        .concat()
    }

    fn input_files(&self) -> Vec<PathBuf> {
        let files = self.include.iter().chain(&self.exclude).map(Path::new);
        files.filter(|path| path.is_file()).map(Path::to_path_buf).collect()
    }

    fn make_step(&self, context: &mut MakeContext<'_>) -> Result<Box<dyn Step>> {
        if self.padding > 0 && self.include.iter().all(|argument| is_unmapped(argument)) {
            let what = "--in-intervals-padding has no effect on reads without a position";
            context.host.print_warning(what);
        }
        Ok(Box::new(InIntervals::new(self, context.header, context.ledger)?.into_step()))
    }
}

/// Drops reads that overlap none of the intervals, as GATK 4.6.2 does with `-L` and `-XL`. An
/// unmapped read with a position, and a read without aligned bases, count as one base long.
#[derive(Clone)]
struct InIntervals {
    /// `None` if only reads without a position are kept (`--in-intervals unmapped` alone).
    intervals: Option<Intervals>,
    unplaced: bool,
}

impl InIntervals {
    fn new(request: &InIntervalsRequest, header: &Header, ledger: &Ledger) -> Result<Self> {
        let unplaced = request.include.iter().any(|argument| is_unmapped(argument));
        if unplaced && request.include.iter().all(|argument| is_unmapped(argument)) {
            return match &request.exclude[..] {
                [] => Ok(InIntervals { intervals: None, unplaced }),
                _ => Err(Error::usage("--outside-intervals has no effect on reads without a position")
                    .hint("omit it")),
            };
        }
        let chosen = IntervalArguments {
            include: &request.include,
            exclude: &request.exclude,
            padding: request.padding,
            exclusion_padding: request.exclusion_padding,
        };
        Ok(InIntervals {
            intervals: Some(Intervals::from_arguments(&chosen, header, ledger)?),
            unplaced,
        })
    }
}

impl Criterion for InIntervals {
    fn name(&self) -> &'static str {
        "in-intervals"
    }

    fn dropped_label(&self) -> &'static str {
        "reads outside the intervals dropped"
    }

    fn detail(&self) -> Detail {
        Detail::Places
    }

    #[inline]
    fn keeps_read(&mut self, record: RecordRef<'_>) -> Result<bool> {
        let (Ok(contig), Ok(start)) = (u32::try_from(record.ref_id()), u32::try_from(record.pos()))
        else {
            return Ok(self.unplaced);
        };
        let end = record.end().min(u32::MAX.into()) as u32;
        Ok(self.intervals.as_ref().is_some_and(|intervals| intervals.overlaps(contig, start, end)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flag::GivenFlags;
    use crate::spec::Filters;
    use crate::testing::{header, kept, warnings_of};

    const HEADER: &str = "@SQ SN:c LN:100;@SQ SN:d LN:50";
    const READS: [&str; 7] = [
        "a 0 c 7 60 4M * 0 0 ACGT IIII", // 7-10
        "b 0 c 8 60 4M * 0 0 ACGT IIII",
        "e 0 c 20 60 4M * 0 0 ACGT IIII",
        "f 0 c 21 60 4M * 0 0 ACGT IIII",
        "g 0 d 50 60 1M3S * 0 0 ACGT IIII",
        "p 4 c 15 0 * * 0 0 ACGT IIII",
        "u 4 * 0 0 * * 0 0 ACGT IIII",
    ];

    #[test]
    fn padding_without_intervals_is_reported() {
        let warned = |word| {
            let words = ["--in-intervals", word, "--in-intervals-padding", "5"];
            warnings_of(&words, HEADER).unwrap()
        };
        assert_eq!(
            warned("unmapped"),
            ["--in-intervals-padding has no effect on reads without a position"]
        );
        assert_eq!(warned("c:5-9"), [""; 0]);
    }

    fn keeps(words: &[&str]) -> Result<String> {
        let given = GivenFlags::from_words(SPEC.flags.iter(), words)?;
        let request = InIntervalsRequest {
            include: given.parse_values("in-intervals")?,
            exclude: given.parse_values("outside-intervals")?,
            padding: given.parse_value("in-intervals-padding")?.unwrap_or(0),
            exclusion_padding: given.parse_value("outside-intervals-padding")?.unwrap_or(0),
        };
        let mut filters = Filters::default();
        (SPEC.parse)(&given, &mut filters)?;
        let said = filters.command_words(crate::spec::FilterStage::BeforeSort);
        assert_eq!(said, request.command_words(), "{words:?}");
        let header = header(HEADER);
        let step = InIntervals::new(&request, &header, &Ledger::unlimited())?;
        Ok(kept(&mut step.into_step(), &header, &READS))
    }

    #[test]
    fn reads_of_regions_stay_as_with_gatk() {
        assert_eq!(keeps(&["--in-intervals", "c:11-20"]).unwrap(), "b e p");
        assert_eq!(
            keeps(&["--in-intervals", "c:11-20", "--in-intervals-padding", "1"]).unwrap(),
            "a b e f p"
        );
        assert_eq!(keeps(&["--in-intervals", "d", "--in-intervals", "c:7"]).unwrap(), "a g");
        assert_eq!(keeps(&["--in-intervals", "c", "--outside-intervals", "c:9-22"]).unwrap(), "a b e f");
        assert_eq!(keeps(&["--outside-intervals", "c"]).unwrap(), "g");
        assert_eq!(
            keeps(&["--outside-intervals", "c:12-19", "--outside-intervals-padding", "3"]).unwrap(),
            "a b e f g"
        );
        assert!(keeps(&["--in-intervals", "x:1-5"]).is_err());
    }

    #[test]
    fn unmapped_means_reads_without_a_position() {
        assert_eq!(keeps(&["--in-intervals", "unmapped"]).unwrap(), "u");
        assert_eq!(keeps(&["--in-intervals", "d", "--in-intervals", "unmapped"]).unwrap(), "g u");
        assert!(keeps(&["--in-intervals", "unmapped", "--outside-intervals", "c"]).is_err());
    }
}
