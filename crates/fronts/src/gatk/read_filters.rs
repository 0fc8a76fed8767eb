//! The read filters of BaseRecalibrator and HaplotypeCaller. Filters of `--read-filter` are translated
//! to a run of `readmill filter`, from which the command reads through a pipe.

use readmill_record::Result;

use crate::grammar::{Opt, ParsedArguments, Takes};

/// The filters of a tool.
pub struct ToolFilters {
    /// The filters that readmill always applies, as the tool does by default.
    pub defaults: &'static [&'static str],
    /// The minimum of MappingQualityReadFilter.
    pub min_mapping_quality: u8,
    /// What readmill cannot do with reads that other default filters drop.
    pub cannot: &'static str,
    /// A native command that drops reads first.
    pub way: &'static str,
}

pub const BASE_RECALIBRATOR_FILTERS: ToolFilters = ToolFilters {
    defaults: &[
        "MappedReadFilter",
        "MappingQualityAvailableReadFilter",
        "MappingQualityNotZeroReadFilter",
        "NotDuplicateReadFilter",
        "NotSecondaryAlignmentReadFilter",
        "PassesVendorQualityCheckReadFilter",
        "WellformedReadFilter",
    ],
    min_mapping_quality: 10,
    cannot: "readmill cannot count such reads",
    way: COUNT_WAY,
};

pub const HAPLOTYPE_CALLER_FILTERS: ToolFilters = ToolFilters {
    defaults: &[
        "GoodCigarReadFilter",
        "MappedReadFilter",
        "MappingQualityAvailableReadFilter",
        "MappingQualityReadFilter",
        "NonZeroReferenceLengthAlignmentReadFilter",
        "NotDuplicateReadFilter",
        "NotSecondaryAlignmentReadFilter",
        "PassesVendorQualityCheckReadFilter",
        "WellformedReadFilter",
    ],
    min_mapping_quality: 20,
    cannot: "readmill does not use such reads for variants",
    way: CALL_WAY,
};

/// Filters that have no effect in addition to the default filters: the parts of
/// WellformedReadFilter, a filter that accepts all reads, and a smaller minimum of the mapping quality.
const REDUNDANT_FILTERS: &[&str] = &[
    "AlignmentAgreesWithHeaderReadFilter",
    "AllowAllReadsReadFilter",
    "CigarContainsNoNOperator",
    "HasReadGroupReadFilter",
    "MappingQualityNotZeroReadFilter",
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

const COUNT_WAY: &str = "readmill filter -e EXPRESSION IN -o - | readmill bqsr table - …";
const CALL_WAY: &str = "readmill filter -e EXPRESSION IN -o - | readmill call - …";

const RF: &str = "filter -e EXPRESSION before the command; filters of the tool itself and of WellformedReadFilter are already applied; other filters are refused";
const DF: &str = "filter --remove-flags for NotDuplicateReadFilter, NotSecondaryAlignmentReadFilter and PassesVendorQualityCheckReadFilter; other filters of the tool are refused";
const SINGLE_WAY: &str = "disable single filters, such as --disable-read-filter NotDuplicateReadFilter";

/// The filters of BaseRecalibrator.
#[rustfmt::skip] // a row is a line
pub const COUNT_FILTERS: &[Opt] = &[
    Opt::built("-RF --read-filter", Takes::Values, RF),
    Opt::built("-DF --disable-read-filter", Takes::Values, DF),
    Opt::refused("-XRF --inverted-read-filter", Takes::Values, "drops reads", COUNT_WAY),
    Opt::refused("--disable-tool-default-read-filters", Takes::Truth, "counts reads that readmill cannot count", SINGLE_WAY),
    Opt::built("--maximum-mapping-quality", Takes::Value, "MappingQualityReadFilter"),
    Opt::built("--minimum-mapping-quality", Takes::Value, "MappingQualityReadFilter; default 10"),
];

/// The filters of HaplotypeCaller.
#[rustfmt::skip] // a row is a line
pub const CALL_FILTERS: &[Opt] = &[
    Opt::built("-RF --read-filter", Takes::Values, RF),
    Opt::built("-DF --disable-read-filter", Takes::Values, DF),
    Opt::refused("-XRF --inverted-read-filter", Takes::Values, "drops reads", CALL_WAY),
    Opt::refused("--disable-tool-default-read-filters", Takes::Truth, "uses reads that readmill does not use", SINGLE_WAY),
    Opt::built("--maximum-mapping-quality", Takes::Value, "filter -e EXPRESSION before the command"),
    Opt::built("--minimum-mapping-quality", Takes::Value, "filter -e EXPRESSION before the command; less than 20 is refused"),
];

/// The arguments of filters that `readmill filter` has.
#[rustfmt::skip] // a row is a line
pub const FILTER_ARGUMENTS: &[Opt] = &[
    Opt::built("--library", Takes::Values, "LibraryReadFilter"),
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
pub fn filter_arguments(given: &ParsedArguments, tool: &ToolFilters) -> Result<Vec<String>> {
    let mut words = Vec::new();
    for name in given.values("--read-filter") {
        if tool.defaults.contains(&name) || REDUNDANT_FILTERS.contains(&name) {
            continue;
        }
        let expression = match FILTER_EXPRESSIONS.iter().find(|(own, _)| *own == name) {
            Some((_, expression)) => expression.to_string(),
            None if FILTERS_WITH_ARGUMENTS.contains(&name) => {
                expression_with_arguments(given, name, tool)?
            }
            None => {
                return Err(given
                    .refusal_error(&format!("--read-filter {name} is not supported"))
                    .hint(format!("drop the reads first: {}", tool.way)));
            }
        };
        words.extend(["-e".to_string(), expression]);
    }
    for name in given.values("--disable-read-filter") {
        match DISABLEABLE_FILTERS.iter().find(|(own, _)| *own == name) {
            Some((_, flag)) => words.extend(["--remove-flags".to_string(), flag.to_string()]),
            None if !tool.defaults.contains(&name) => {} // GATK only warns that the tool does not have this filter
            None => {
                return Err(given
                    .refusal_error(&format!("--disable-read-filter {name} is not supported: {}", tool.cannot))
                    .hint("omit it; only NotDuplicateReadFilter, NotSecondaryAlignmentReadFilter and PassesVendorQualityCheckReadFilter can be disabled"));
            }
        }
    }
    Ok(words)
}

/// Adds the arguments of `readmill filter` for the mapping qualities of a tool that has
/// MappingQualityReadFilter among its default filters.
pub fn add_mapping_quality(
    given: &ParsedArguments,
    tool: &ToolFilters,
    words: &mut Vec<String>,
) -> Result<()> {
    let option = "--minimum-mapping-quality";
    let is_set = given.is_set(option) || given.is_set("--maximum-mapping-quality");
    if !is_set {
        return Ok(());
    }
    let min = tool.min_mapping_quality;
    let text = given.last_value(option);
    if text.and_then(|text| text.parse().ok()).is_some_and(|asked: i64| asked < i64::from(min)) {
        let what = format!("{option} {} is not supported: {}", text.unwrap_or_default(), tool.cannot);
        return Err(given.refusal_error(&what).hint(format!("use {min} or more, or omit it")));
    }
    words
        .extend(["-e".to_string(), expression_with_arguments(given, "MappingQualityReadFilter", tool)?]);
    Ok(())
}

fn expression_with_arguments(given: &ParsedArguments, name: &str, tool: &ToolFilters) -> Result<String> {
    let number = |option: &'static str, usual: Option<i64>| -> Result<Option<i64>> {
        let Some(text) = given.last_value(option) else { return Ok(usual) };
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
            let longest = needed(number("--max-fragment-length", Some(1_000_000))?, "a length")?;
            let shortest = needed(number("--min-fragment-length", Some(0))?, "a length")?;
            Ok(format!(
                "!flag.paired || (tlen <= {longest} && tlen >= -{longest} && (tlen >= {shortest} || tlen <= -{shortest}))"
            ))
        }
        "MappingQualityReadFilter" => {
            let min_mapq = needed(
                number("--minimum-mapping-quality", Some(i64::from(tool.min_mapping_quality)))?,
                "a quality",
            )?;
            let max_mapq = number("--maximum-mapping-quality", None)?;
            let max_condition =
                max_mapq.map_or(String::new(), |max_mapq| format!(" && mapq <= {max_mapq}"));
            Ok(format!("mapq >= {min_mapq}{max_condition}"))
        }
        "ReadLengthReadFilter" => {
            let longest = needed(number("--max-read-length", None)?, "--max-read-length")?;
            let shortest = needed(number("--min-read-length", Some(1))?, "a length")?;
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
