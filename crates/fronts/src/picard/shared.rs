//! Options that all Picard tools share, and the flags for their output.

use readmill_record::Result;

use crate::grammar::{Grammar, Opt, ParsedArguments, Takes};
use crate::line::{NativeLine, add_htsjdk_output, standard_stream};
use crate::tool::{ToolCommand, Translation};

pub const DEFAULT_LEVEL: &str = "5";

pub const BARCLAY: Grammar = Grammar::Barclay { legacy: true };

pub const fn barclay_command(
    name: &'static str,
    options: &'static [&'static [Opt]],
    make: fn(&ParsedArguments) -> Result<NativeLine>,
) -> ToolCommand {
    ToolCommand { name, grammar: BARCLAY, options, make: Translation::Line(make) }
}

#[rustfmt::skip] // a row is a line
pub const COMMON: &[Opt] = &[
    Opt::built("--arguments_file", Takes::Values, "replaced by the arguments in the file"),
    Opt::built("--COMPRESSION_LEVEL", Takes::Value, "-l; default 5"),
    Opt::built("--CREATE_INDEX", Takes::Truth, "writes X.bai for X.bam, and OUT.bai for other names; without it, --no-index"),
    Opt::built("-h --help", Takes::Truth, "prints this table"),
    Opt::harmless("--MAX_RECORDS_IN_RAM", Takes::Value, "readmill limits memory with -m"),
    Opt::native("--QUIET", Takes::Truth, "--quiet"),
    Opt::built("--TMP_DIR", Takes::Values, "--temp-dir, created if it does not exist"),
    Opt::harmless("-use_jdk_deflater --USE_JDK_DEFLATER", Takes::Truth, "affects only Java"),
    Opt::harmless("-use_jdk_inflater --USE_JDK_INFLATER", Takes::Truth, "affects only Java"),
    Opt::harmless("--VERBOSITY", Takes::Value, "affects only messages"),
    Opt::built("--version", Takes::Truth, "prints the version"),
    Opt::harmless("--showHidden", Takes::Truth, "affects only help"),
];

/// The option for records that violate the SAM specification. readmill has its own checks.
#[rustfmt::skip] // a row is a line
pub const STRINGENCY: &[Opt] =
    &[Opt::harmless("--VALIDATION_STRINGENCY", Takes::Value, "readmill has its own checks (row 161 of parity)")];

#[rustfmt::skip] // a row is a line
pub const MD5: &[Opt] = &[Opt::native("--CREATE_MD5_FILE", Takes::Truth, "--md5")];

#[rustfmt::skip] // a row is a line
pub const NO_MD5: &[Opt] = &[Opt::refused("--CREATE_MD5_FILE", Takes::Truth, "writes OUT.md5", "use md5sum OUT > OUT.md5")];

#[rustfmt::skip] // a row is a line
pub const REFERENCE: &[Opt] = &[Opt::native("-R --REFERENCE_SEQUENCE", Takes::Value, "--reference")];

/// Adds the output with its level and index, and the directories for temporary files, for tools
/// that write alignments.
pub fn add_common_flags(line: &mut NativeLine, given: &ParsedArguments, output: &str) {
    add_temp_dirs(line, given);
    let level = given.last_value("--COMPRESSION_LEVEL").unwrap_or(DEFAULT_LEVEL);
    add_htsjdk_output(line, output, level, given.is_set("--CREATE_INDEX"));
}

/// Adds the directories for temporary files. Picard creates them if they are missing.
pub fn add_temp_dirs(line: &mut NativeLine, given: &ParsedArguments) {
    for directory in given.values("--TMP_DIR") {
        line.add_flag("--temp-dir", Some(directory)).directories.push(directory.into());
    }
}

pub fn add_input_and_output(line: &mut NativeLine, given: &ParsedArguments) -> Result<()> {
    let (input, output) = (given.require_value("--INPUT")?, given.require_value("--OUTPUT")?);
    add_common_flags(line, given, output);
    line.add_operands([standard_stream(input)]);
    Ok(())
}

pub fn translate_sort_order(given: &ParsedArguments, name: &str) -> Result<&'static str> {
    match name {
        "unsorted" => Ok("none"),
        _ => translate_sorted_order(given, name, "use coordinate, queryname or unsorted"),
    }
}

/// Like [`translate_sort_order`], but refuses `unsorted`. `way` says what to use instead of a
/// refused order.
pub fn translate_sorted_order(given: &ParsedArguments, name: &str, way: &str) -> Result<&'static str> {
    match name {
        "coordinate" => Ok("coordinate"),
        "queryname" => Ok("queryname"),
        _ => {
            let similar = match name {
                "duplicate" => "; readmill sort --template-coordinate is similar to duplicate",
                _ => "",
            };
            Err(given
                .refusal_error(&format!("SORT_ORDER {name} is not supported"))
                .hint(format!("{way}{similar}")))
        }
    }
}

/// Returns an `@RG` line with the fields that have a value, in readmill's notation (tabs as `\t`).
pub fn read_group_line<'a>(
    given: &ParsedArguments,
    fields: impl IntoIterator<Item = (&'a str, Option<&'a str>)>,
) -> Result<String> {
    let mut group = "@RG".to_string();
    for (field, value) in fields {
        let Some(value) = value else { continue };
        if value.contains("\\t") {
            return Err(given
                .refusal_error(&format!("{field} {value} is not supported: readmill reads \\t as a tab"))
                .hint("use a value without \\t"));
        }
        group += &format!("\\t{field}:{value}");
        if field == "DT" && is_date(value) {
            group += "T00:00:00+0000"; // as Picard writes it in the time zone UTC
        }
    }
    Ok(group)
}

fn is_date(text: &str) -> bool {
    let form: String = text.chars().map(|c| if c.is_ascii_digit() { '0' } else { c }).collect();
    form == "0000-00-00"
}
