//! The read filters of BaseRecalibrator. Filters of `--read-filter` are translated to a run of
//! `readmill filter`, from which the recalibration reads through a pipe.

use readmill_record::Result;

use crate::grammar::{Opt, ParsedArguments, Takes};

/// The default filters of BaseRecalibrator, which readmill always applies when it counts bases.
const DEFAULT_FILTERS: &[&str] = &[
    "MappedReadFilter",
    "MappingQualityAvailableReadFilter",
    "MappingQualityNotZeroReadFilter",
    "NotDuplicateReadFilter",
    "NotSecondaryAlignmentReadFilter",
    "PassesVendorQualityCheckReadFilter",
    "WellformedReadFilter",
];

/// Filters that have no effect in addition to the default filters: the parts of
/// WellformedReadFilter, and a filter that accepts all reads.
const REDUNDANT_FILTERS: &[&str] = &[
    "AlignmentAgreesWithHeaderReadFilter",
    "AllowAllReadsReadFilter",
    "CigarContainsNoNOperator",
    "HasReadGroupReadFilter",
    "MatchingBasesAndQualsReadFilter",
    "ReadLengthEqualsCigarLengthReadFilter",
    "SeqIsStoredReadFilter",
    "ValidAlignmentEndReadFilter",
    "ValidAlignmentStartReadFilter",
];

/// Filters without arguments, with the equivalent filter expressions of readmill. As in samtools,
/// `&&` and `||` have the same precedence.
const FILTER_EXPRESSIONS: &[(&str, &str)] = &[
    ("FirstOfPairReadFilter", "flag.paired && flag.read1"),
    (
        "MateDifferentStrandReadFilter",
        "flag.paired && !flag.unmap && !flag.munmap && !flag.reverse != !flag.mreverse",
    ),
    (
        "MateOnSameContigOrNoMappedMateReadFilter",
        "!flag.paired || flag.munmap || (!flag.unmap && refid == mrefid)",
    ),
    ("NotProperlyPairedReadFilter", "flag.paired && !flag.proper_pair"),
    ("NotSupplementaryAlignmentReadFilter", "!flag.supplementary"),
    ("PairedReadFilter", "flag.paired"),
    ("PrimaryLineReadFilter", "!flag.secondary && !flag.supplementary"),
    ("ProperlyPairedReadFilter", "flag.paired && flag.proper_pair"),
    ("SecondOfPairReadFilter", "flag.paired && flag.read2"),
];

const FILTERS_WITH_ARGUMENTS: &[&str] = &[
    "FragmentLengthReadFilter",
    "LibraryReadFilter",
    "MappingQualityReadFilter",
    "ReadGroupReadFilter",
    "ReadLengthReadFilter",
    "ReadNameReadFilter",
    "ReadStrandFilter",
];

/// Default filters that can be disabled, with the FLAG bit that they test. `readmill filter` clears
/// this bit before the recalibration.
const DISABLEABLE_FILTERS: &[(&str, &str)] = &[
    ("NotDuplicateReadFilter", "0x400"),
    ("NotSecondaryAlignmentReadFilter", "0x100"),
    ("PassesVendorQualityCheckReadFilter", "0x200"),
];

const WAY: &str = "readmill filter -e EXPRESSION IN -o - | readmill bqsr table - …";

#[rustfmt::skip] // a row is a line
pub const READ_FILTERS: &[Opt] = &[
    Opt::built("-RF --read-filter", Takes::Values, "filter -e EXPRESSION before the command; filters of the tool itself and of WellformedReadFilter are already applied; other filters are refused"),
    Opt::built("-DF --disable-read-filter", Takes::Values, "filter --remove-flags for NotDuplicateReadFilter, NotSecondaryAlignmentReadFilter and PassesVendorQualityCheckReadFilter; other filters of the tool are refused"),
    Opt::refused("-XRF --inverted-read-filter", Takes::Values, "drops reads", WAY),
    Opt::refused("--disable-tool-default-read-filters", Takes::Truth, "counts reads that readmill cannot count", "disable single filters, such as --disable-read-filter NotDuplicateReadFilter"),
    Opt::built("--library", Takes::Values, "LibraryReadFilter"),
    Opt::built("--maximum-mapping-quality", Takes::Value, "MappingQualityReadFilter"),
    Opt::built("--minimum-mapping-quality", Takes::Value, "MappingQualityReadFilter; default 10"),
    Opt::built("--max-fragment-length", Takes::Value, "FragmentLengthReadFilter; default 1000000"),
    Opt::built("--min-fragment-length", Takes::Value, "FragmentLengthReadFilter; default 0"),
    Opt::built("--keep-read-group", Takes::Value, "ReadGroupReadFilter"),
    Opt::built("--max-read-length", Takes::Value, "ReadLengthReadFilter"),
    Opt::built("--min-read-length", Takes::Value, "ReadLengthReadFilter; default 1"),
    Opt::built("--read-name", Takes::Values, "ReadNameReadFilter"),
    Opt::built("--keep-reverse-strand-only", Takes::Truth, "ReadStrandFilter"),
];

/// Returns the arguments of `readmill filter` for the read filters on the command line. Empty if no
/// filtering is needed.
pub fn filter_arguments(given: &ParsedArguments) -> Result<Vec<String>> {
    let mut words = Vec::new();
    for name in given.values("--read-filter") {
        if DEFAULT_FILTERS.contains(&name) || REDUNDANT_FILTERS.contains(&name) {
            continue;
        }
        let expression = match FILTER_EXPRESSIONS.iter().find(|(own, _)| *own == name) {
            Some((_, expression)) => expression.to_string(),
            None if FILTERS_WITH_ARGUMENTS.contains(&name) => expression_with_arguments(given, name)?,
            None => {
                return Err(given
                    .refusal_error(&format!("--read-filter {name} is not supported"))
                    .hint(format!("drop the reads first: {WAY}")));
            }
        };
        words.extend(["-e".to_string(), expression]);
    }
    for name in given.values("--disable-read-filter") {
        match DISABLEABLE_FILTERS.iter().find(|(own, _)| *own == name) {
            Some((_, flag)) => words.extend(["--remove-flags".to_string(), flag.to_string()]),
            None if !DEFAULT_FILTERS.contains(&name) => {} // GATK only warns that the tool does not have this filter
            None => {
                return Err(given
                    .refusal_error(&format!("--disable-read-filter {name} is not supported: readmill cannot count such reads"))
                    .hint("omit it; only NotDuplicateReadFilter, NotSecondaryAlignmentReadFilter and PassesVendorQualityCheckReadFilter can be disabled"));
            }
        }
    }
    Ok(words)
}

fn expression_with_arguments(given: &ParsedArguments, name: &str) -> Result<String> {
    let number = |option: &'static str, usual: Option<&'static str>| -> Result<Option<i64>> {
        let Some(text) = given.last_value(option).or(usual) else { return Ok(None) };
        let wrong = || given.refusal_error(&format!("{option} {text} is not a number"));
        text.parse().map(Some).map_err(|_| wrong())
    };
    let needed = |what: Option<i64>, option: &str| {
        what.ok_or_else(|| given.refusal_error(&format!("--read-filter {name} needs {option}")))
    };
    let any_of = |variable: &str, option: &'static str| -> Result<String> {
        let values: Vec<String> = given
            .values(option)
            .map(|value| format!("{variable} == {}", quote_literal(value)))
            .collect();
        match values.is_empty() {
            true => Err(given.refusal_error(&format!("--read-filter {name} needs {option}"))),
            false => Ok(values.join(" || ")),
        }
    };
    match name {
        "FragmentLengthReadFilter" => {
            let longest = needed(number("--max-fragment-length", Some("1000000"))?, "a length")?;
            let shortest = needed(number("--min-fragment-length", Some("0"))?, "a length")?;
            Ok(format!(
                "!flag.paired || (tlen <= {longest} && tlen >= -{longest} && (tlen >= {shortest} || tlen <= -{shortest}))"
            ))
        }
        "MappingQualityReadFilter" => {
            let min_mapq = needed(number("--minimum-mapping-quality", Some("10"))?, "a quality")?;
            let max_mapq = number("--maximum-mapping-quality", None)?;
            let max_condition =
                max_mapq.map_or(String::new(), |max_mapq| format!(" && mapq <= {max_mapq}"));
            Ok(format!("mapq >= {min_mapq}{max_condition}"))
        }
        "ReadLengthReadFilter" => {
            let longest = needed(number("--max-read-length", None)?, "--max-read-length")?;
            let shortest = needed(number("--min-read-length", Some("1"))?, "a length")?;
            Ok(format!("length(seq) >= {shortest} && length(seq) <= {longest}"))
        }
        "ReadStrandFilter" => {
            match given.last_value("--keep-reverse-strand-only") {
                Some("true") => Ok("flag.reverse".to_string()),
                Some(_) => Ok("!flag.reverse".to_string()),
                None => Err(given
                    .refusal_error("--read-filter ReadStrandFilter needs --keep-reverse-strand-only")),
            }
        }
        "LibraryReadFilter" => any_of("library", "--library"),
        "ReadGroupReadFilter" => any_of("[RG]", "--keep-read-group"),
        _ => any_of("qname", "--read-name"),
    }
}

fn quote_literal(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}
