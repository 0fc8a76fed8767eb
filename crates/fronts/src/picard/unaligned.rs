//! Translates the Picard tools for unaligned reads: FastqToSam and
//! MarkIlluminaAdapters.

use std::path::Path;

use readmill_record::Result;

use super::shared::{
    COMMON, MD5, REFERENCE, STRINGENCY, add_common_flags, barclay_command, read_group_line,
    translate_sort_order,
};
use crate::grammar::{Opt, ParsedArguments, Takes};
use crate::headers;
use crate::line::NativeLine;
use crate::tool::ToolCommand;

pub const FASTQ_TO_SAM: ToolCommand = barclay_command(
    "FastqToSam",
    &[FASTQ_TO_SAM_OPTIONS, REFERENCE, MD5, STRINGENCY, COMMON],
    translate_fastq_to_sam,
);

#[rustfmt::skip] // a row is a line
const FASTQ_TO_SAM_OPTIONS: &[Opt] = &[
    Opt::built("-F1 --FASTQ", Takes::Value, "the reads; if names contain the read number, R1 is the first file"),
    Opt::built("-F2 --FASTQ2", Takes::Value, "the mates"),
    Opt::built("-O --OUTPUT", Takes::Value, "-o"),
    Opt::built("-SM --SAMPLE_NAME", Takes::Value, "SM of -R"),
    Opt::built("-RG --READ_GROUP_NAME", Takes::Value, "ID of -R; default A"),
    Opt::built("-LB --LIBRARY_NAME", Takes::Value, "LB of -R"),
    Opt::built("-PL --PLATFORM", Takes::Value, "PL of -R"),
    Opt::built("-PU --PLATFORM_UNIT", Takes::Value, "PU of -R"),
    Opt::built("-PM --PLATFORM_MODEL", Takes::Value, "PM of -R"),
    Opt::built("-PI --PREDICTED_INSERT_SIZE", Takes::Value, "PI of -R"),
    Opt::built("-PG --PROGRAM_GROUP", Takes::Value, "PG of -R"),
    Opt::built("-CN --SEQUENCING_CENTER", Takes::Value, "CN of -R"),
    Opt::built("-DS --DESCRIPTION", Takes::Value, "DS of -R"),
    Opt::built("-DT --RUN_DATE", Takes::Value, "DT of -R; a date without time means 00:00 UTC"),
    Opt::native("-CO --COMMENT", Takes::Values, "--comment"),
    Opt::built("-V --QUALITY_FORMAT", Takes::Value, "--quality-encoding; default detect"),
    Opt::native("--MIN_Q", Takes::Value, "--min-quality"),
    Opt::native("--MAX_Q", Takes::Value, "--max-quality"),
    Opt::built("-SO --SORT_ORDER", Takes::Value, "--sort; default queryname"),
    Opt::built("--USE_SEQUENTIAL_FASTQS", Takes::Truth, "also reads X_002.fastq.gz, X_003.fastq.gz and so on, as lanes"),
    Opt::built("--ALLOW_EMPTY_FASTQ", Takes::Truth, "without it, --require-reads"),
    Opt::harmless("--ALLOW_AND_IGNORE_EMPTY_LINES", Takes::Truth, "readmill always accepts empty lines between records"),
    Opt::harmless("--STRIP_UNPAIRED_MATE_NUMBER", Takes::Truth, "Picard also ignores it: /1 and /2 are always removed from names"),
];

const READ_GROUP_FIELDS: [(&str, &str); 11] = [
    ("ID", "--READ_GROUP_NAME"),
    ("SM", "--SAMPLE_NAME"),
    ("LB", "--LIBRARY_NAME"),
    ("PL", "--PLATFORM"),
    ("PU", "--PLATFORM_UNIT"),
    ("CN", "--SEQUENCING_CENTER"),
    ("PI", "--PREDICTED_INSERT_SIZE"),
    ("DS", "--DESCRIPTION"),
    ("DT", "--RUN_DATE"),
    ("PM", "--PLATFORM_MODEL"),
    ("PG", "--PROGRAM_GROUP"),
];

fn translate_fastq_to_sam(given: &ParsedArguments) -> Result<NativeLine> {
    let (first, last) = (given.require_value("--FASTQ")?, given.last_value("--FASTQ2"));
    let output = given.require_value("--OUTPUT")?;
    given.require_value("--SAMPLE_NAME")?;
    let usual = |field: &str| (field == "ID").then_some("A");
    let values = READ_GROUP_FIELDS
        .iter()
        .map(|&(field, option)| (field, given.last_value(option).or(usual(field))));
    let group = read_group_line(given, values)?;
    let mut line = NativeLine::new("import");
    if !given.is_set("--ALLOW_EMPTY_FASTQ") {
        line.add(["--require-reads"]);
    }
    line.add_flag("-R", Some(&group)).add(given.native_words());
    let encoding = match given.last_value("--QUALITY_FORMAT") {
        None => "detect",
        Some("Standard") => "standard",
        Some("Illumina") => "illumina",
        Some("Solexa") => "solexa",
        Some(other) => {
            return Err(given.refusal_error(&format!(
                "QUALITY_FORMAT {other} is not one of Solexa, Illumina and Standard"
            )));
        }
    };
    line.add_flag("--quality-encoding", Some(encoding));
    line.add_flag(
        "--sort",
        Some(translate_sort_order(given, given.last_value("--SORT_ORDER").unwrap_or("queryname"))?),
    );
    let is_sequential = given.is_set("--USE_SEQUENTIAL_FASTQS");
    let files = |base: &str| match is_sequential {
        true => list_numbered_files(given, base),
        false => Ok(vec![base.to_string()]),
    };
    let firsts = files(first)?;
    let lasts = last.map(files).transpose()?;
    let reads: Vec<&str> = match &lasts {
        None => firsts.iter().map(String::as_str).collect(),
        Some(lasts) if lasts.len() == firsts.len() => {
            firsts.iter().zip(lasts).flat_map(|(first, last)| [first.as_str(), last]).collect()
        }
        Some(lasts) => {
            let (one, other) = (firsts.len(), lasts.len());
            return Err(given.refusal_error(&format!(
                "FASTQ is a sequence of {one} files, but FASTQ2 is a sequence of {other}"
            )));
        }
    };
    if lasts.is_none() && reads.len() > 1 {
        line.add(["--single"]);
    }
    add_common_flags(&mut line, given, output);
    line.add_operands(reads);
    Ok(line)
}

/// Returns the existing files `X_001.fastq`, `X_002.fastq` and so on, up to the first missing one.
fn list_numbered_files(given: &ParsedArguments, base: &str) -> Result<Vec<String>> {
    let endings = [".fastq", ".fastq.gz", ".fq", ".fq.gz"];
    let found =
        endings.iter().find_map(|end| Some((base.strip_suffix(end)?.strip_suffix("_001")?, end)));
    let Some((stem, end)) = found else {
        return Err(given
            .refusal_error(&format!("USE_SEQUENTIAL_FASTQS: the name of {base} does not end in _001.fastq or a similar ending"))
            .hint(
                "use the names X_001.fastq.gz, X_002.fastq.gz and so on (or .fastq, .fq, .fq.gz)",
            ));
    };
    let numbered = (2..1000).map(|number| format!("{stem}_{number:03}{end}"));
    let more = numbered.take_while(|path| Path::new(path).is_file());
    Ok(std::iter::once(base.to_string()).chain(more).collect())
}

pub const MARK_ILLUMINA_ADAPTERS: ToolCommand = barclay_command(
    "MarkIlluminaAdapters",
    &[ADAPTER_OPTIONS, REFERENCE, MD5, STRINGENCY, COMMON],
    translate_mark_adapters,
);

#[rustfmt::skip] // a row is a line
const ADAPTER_OPTIONS: &[Opt] = &[
    Opt::built("-I --INPUT", Takes::Value, "the input: unaligned pairs with adjacent mates, or single reads"),
    Opt::built("-O --OUTPUT", Takes::Value, "-o; without it, only metrics"),
    Opt::native("-M --METRICS", Takes::Value, "--adapter-metrics"),
    Opt::built("--ADAPTERS", Takes::Values, "--adapters, in addition to Picard's defaults, which null removes"),
    Opt::built("--FIVE_PRIME_ADAPTER", Takes::Value, "--five-prime-adapter; ignored without THREE_PRIME_ADAPTER"),
    Opt::built("--THREE_PRIME_ADAPTER", Takes::Value, "--three-prime-adapter; ignored without FIVE_PRIME_ADAPTER"),
    Opt::native("--ADAPTER_TRUNCATION_LENGTH", Takes::Value, "--adapter-truncation-length"),
    Opt::native("--MAX_ERROR_RATE_PE", Takes::Value, "--max-error-rate-pe"),
    Opt::native("--MAX_ERROR_RATE_SE", Takes::Value, "--max-error-rate-se"),
    Opt::native("--MIN_MATCH_BASES_PE", Takes::Value, "--min-match-bases-pe"),
    Opt::native("--MIN_MATCH_BASES_SE", Takes::Value, "--min-match-bases-se"),
    Opt::native("--NUM_ADAPTERS_TO_KEEP", Takes::Value, "--num-adapters-to-keep"),
    Opt::native("-APT --PRUNE_ADAPTER_LIST_AFTER_THIS_MANY_ADAPTERS_SEEN", Takes::Value, "--prune-adapters-after"),
    Opt::harmless("-PE --PAIRED_RUN", Takes::Truth, "Picard also ignores it"),
];

const DEFAULT_ADAPTERS: [&str; 3] = ["INDEXED", "DUAL_INDEXED", "PAIRED_END"];

fn translate_mark_adapters(given: &ParsedArguments) -> Result<NativeLine> {
    let input = given.require_value("--INPUT")?;
    given.require_value("--METRICS")?;
    let mut line = NativeLine::new("import --unaligned --mark-adapters");
    line.add(given.native_words());
    let own = if given.is_default_removed("--ADAPTERS") { &[][..] } else { &DEFAULT_ADAPTERS };
    let adapters: Vec<&str> = own.iter().copied().chain(given.values("--ADAPTERS")).collect();
    if adapters.is_empty() && given.last_value("--THREE_PRIME_ADAPTER").is_none() {
        return Err(given.refusal_error("ADAPTERS is empty, so there is no adapter to search for"));
    }
    line.add_flag(
        "--adapters",
        Some(&adapters.join(",")).filter(|_| adapters != DEFAULT_ADAPTERS).map(String::as_str),
    );
    if let (Some(five), Some(three)) =
        (given.last_value("--FIVE_PRIME_ADAPTER"), given.last_value("--THREE_PRIME_ADAPTER"))
    {
        line.add(["--five-prime-adapter", five, "--three-prime-adapter", three]);
    }
    let is_named = headers::read_sort_order(given, input)?.as_deref() == Some("queryname");
    line.add_flag("--sort", is_named.then_some("queryname"));
    match given.last_value("--OUTPUT") {
        Some(output) => add_common_flags(&mut line, given, output),
        None => drop(line.add(["-o", "/dev/null", "-O", "sam"])),
    }
    line.add_operands([input]);
    Ok(line)
}
