//! Options that many GATK tools share.

use readmill_record::Result;

use crate::grammar::{Grammar, Opt, ParsedArguments, Takes};
use crate::line::NativeLine;
use crate::tool::{ToolCommand, Translation};

pub const DEFAULT_LEVEL: &str = "2";

pub const fn barclay_command(
    name: &'static str,
    options: &'static [&'static [Opt]],
    make: fn(&ParsedArguments) -> Result<NativeLine>,
) -> ToolCommand {
    ToolCommand {
        name,
        grammar: Grammar::Barclay { legacy: false },
        options,
        make: Translation::Line(make),
    }
}

#[rustfmt::skip] // a row is a line
pub const COMMON: &[Opt] = &[
    Opt::built("--arguments_file", Takes::Values, "replaced by the arguments in the file"),
    Opt::harmless("--gatk-config-file", Takes::Value, "affects only Java"),
    Opt::harmless("-gcs-retries --gcs-max-retries", Takes::Value, "readmill reads only local files"),
    Opt::harmless("--gcs-project-for-requester-pays", Takes::Value, "readmill reads only local files"),
    Opt::built("-h --help", Takes::Truth, "prints this table"),
    Opt::built("--QUIET", Takes::Truth, "--quiet"),
    Opt::built("--tmp-dir", Takes::Value, "--temp-dir"),
    Opt::harmless("-jdk-deflater --use-jdk-deflater", Takes::Truth, "affects only Java"),
    Opt::harmless("-jdk-inflater --use-jdk-inflater", Takes::Truth, "affects only Java"),
    Opt::harmless("--verbosity", Takes::Value, "affects only messages"),
    Opt::built("--version", Takes::Truth, "prints the version"),
    Opt::harmless("--showHidden", Takes::Truth, "affects only help"),
];

pub const NO_FILTER: &str = "use readmill filter FILTERS first";

/// Options for variants and intervals that have no effect in tools that write no variants.
#[rustfmt::skip] // a row is a line
pub const NO_VARIANTS: &[Opt] = &[
    Opt::harmless("--add-output-vcf-command-line", Takes::Truth, "readmill writes no VCF here"),
    Opt::harmless("-OVI --create-output-variant-index", Takes::Truth, "readmill writes no VCF here"),
    Opt::harmless("-OVM --create-output-variant-md5", Takes::Truth, "readmill writes no VCF here"),
    Opt::harmless("--max-variants-per-shard", Takes::Value, "readmill writes no VCF here"),
    Opt::harmless("--sites-only-vcf-output", Takes::Truth, "readmill writes no VCF here"),
    Opt::harmless("-imr --interval-merging-rule", Takes::Value, "readmill always merges intervals"),
];

#[rustfmt::skip] // a row is a line
pub const READS: &[Opt] = &[
    Opt::harmless("-CIPB --cloud-index-prefetch-buffer", Takes::Value, "readmill reads only local files"),
    Opt::harmless("-CPB --cloud-prefetch-buffer", Takes::Value, "readmill reads only local files"),
    Opt::harmless("-DBIC --disable-bam-index-caching", Takes::Truth, "readmill reads no index here"),
    Opt::harmless("--disable-sequence-dictionary-validation", Takes::Truth, "readmill always checks the contigs that it needs"),
    Opt::only("-isr --interval-set-rule", Takes::Value, &["UNION"], "uses the intersection of intervals", "use bedtools intersect first"),
    Opt::harmless("-LE --lenient", Takes::Truth, "readmill is always lenient here"),
    Opt::harmless("--read-index", Takes::Values, "readmill reads no index here"),
    Opt::harmless("-VS --read-validation-stringency", Takes::Value, "readmill has its own checks (row 161 of parity)"),
    Opt::harmless("--seconds-between-progress-updates", Takes::Value, "affects only messages"),
    Opt::refused("--sequence-dictionary", Takes::Value, "uses another dictionary than that of the reference", ""),
    Opt::harmless("--ambig-filter-bases", Takes::Value, ONLY_WITH_REFUSED_FILTER),
    Opt::harmless("--ambig-filter-frac", Takes::Value, ONLY_WITH_REFUSED_FILTER),
    Opt::harmless("--max-clipped-bases", Takes::Value, ONLY_WITH_REFUSED_FILTER),
    Opt::harmless("--read-filter-max-hmer", Takes::Value, ONLY_WITH_REFUSED_FILTER),
    Opt::harmless("--keep-intervals", Takes::Values, ONLY_WITH_REFUSED_FILTER),
    Opt::harmless("--read-filter-expression", Takes::Values, ONLY_WITH_REFUSED_FILTER),
    Opt::harmless("--mate-too-distant-length", Takes::Value, ONLY_WITH_REFUSED_FILTER),
    Opt::harmless("--dont-require-soft-clips-both-ends", Takes::Truth, ONLY_WITH_REFUSED_FILTER),
    Opt::harmless("--filter-too-short", Takes::Value, ONLY_WITH_REFUSED_FILTER),
    Opt::harmless("--platform-filter-name", Takes::Values, ONLY_WITH_REFUSED_FILTER),
    Opt::harmless("--black-listed-lanes", Takes::Values, ONLY_WITH_REFUSED_FILTER),
    Opt::harmless("--read-group-black-list", Takes::Values, ONLY_WITH_REFUSED_FILTER),
    Opt::harmless("--read-filter-tag", Takes::Value, ONLY_WITH_REFUSED_FILTER),
    Opt::harmless("--read-filter-tag-comp", Takes::Value, ONLY_WITH_REFUSED_FILTER),
    Opt::harmless("--read-filter-tag-op", Takes::Value, ONLY_WITH_REFUSED_FILTER),
    Opt::harmless("--sample", Takes::Values, ONLY_WITH_REFUSED_FILTER),
    Opt::harmless("--max-soft-clipped-leading-trailing-ratio", Takes::Value, ONLY_WITH_REFUSED_FILTER),
    Opt::harmless("--max-soft-clipped-ratio", Takes::Value, ONLY_WITH_REFUSED_FILTER),
];

/// The read filter options of tools in which readmill cannot change the filters.
#[rustfmt::skip] // a row is a line
pub const NO_READ_FILTERS: &[Opt] = &[
    Opt::refused("-DF --disable-read-filter", Takes::Values, "includes reads that the tool excludes", ""),
    Opt::refused("-XRF --inverted-read-filter", Takes::Values, "drops reads", NO_FILTER),
    Opt::refused("--disable-tool-default-read-filters", Takes::Truth, "includes reads that the tool excludes", ""),
    Opt::harmless("--max-fragment-length", Takes::Value, ONLY_WITH_REFUSED_FILTER),
    Opt::harmless("--min-fragment-length", Takes::Value, ONLY_WITH_REFUSED_FILTER),
    Opt::harmless("--library", Takes::Values, ONLY_WITH_REFUSED_FILTER),
    Opt::harmless("--maximum-mapping-quality", Takes::Value, ONLY_WITH_REFUSED_FILTER),
    Opt::harmless("--minimum-mapping-quality", Takes::Value, ONLY_WITH_REFUSED_FILTER),
    Opt::harmless("--keep-read-group", Takes::Value, ONLY_WITH_REFUSED_FILTER),
    Opt::harmless("--max-read-length", Takes::Value, ONLY_WITH_REFUSED_FILTER),
    Opt::harmless("--min-read-length", Takes::Value, ONLY_WITH_REFUSED_FILTER),
    Opt::harmless("--read-name", Takes::Values, ONLY_WITH_REFUSED_FILTER),
    Opt::harmless("--keep-reverse-strand-only", Takes::Truth, ONLY_WITH_REFUSED_FILTER),
];

const ONLY_WITH_REFUSED_FILTER: &str = "used only with a filter of --read-filter that is refused";

pub fn add_common_flags(line: &mut NativeLine, given: &ParsedArguments) {
    if given.is_set("--QUIET") {
        line.add(["--quiet"]);
    }
    line.add_flag("--temp-dir", given.last_value("--tmp-dir"));
}
