//! Translates samtools depth, coverage and bedcov.

use readmill_record::Result;

use super::shared::{INPUT, INPUT_FORMAT, REFERENCE, THREADS, getopt_command};
use crate::grammar::{Opt, ParsedArguments, Takes};
use crate::line::{NativeLine, same_input_flag, total_threads};
use crate::tool::ToolCommand;

pub const DEPTH: ToolCommand =
    getopt_command("depth", &[DEPTH_OPTIONS, REFERENCE, THREADS, INPUT, INPUT_FORMAT], translate_depth);

pub const COVERAGE: ToolCommand = getopt_command(
    "coverage",
    &[COVERAGE_OPTIONS, REFERENCE, THREADS, INPUT, INPUT_FORMAT],
    translate_coverage,
);

pub const BEDCOV: ToolCommand =
    getopt_command("bedcov", &[BEDCOV_OPTIONS, REFERENCE, INPUT, INPUT_FORMAT], translate_bedcov);

#[rustfmt::skip] // a row is a line
const DEPTH_OPTIONS: &[Opt] = &[
    Opt::built("-a", Takes::Nothing, "-a; if given twice, -a -a"),
    Opt::native("-r", Takes::Value, "-r"),
    Opt::native("-b", Takes::Value, "-b"),
    Opt::built("-f", Takes::Value, "-f; operands are then ignored"),
    Opt::built("-X", Takes::Nothing, "-X; without -r, readmill reads no index and ignores the index files"),
    Opt::native("-g", Takes::Values, "-g"),
    Opt::native("-G --excl-flags", Takes::Values, "-G"),
    Opt::native("--incl-flags", Takes::Values, "--incl-flags"),
    Opt::native("--require-flags", Takes::Values, "--require-flags"),
    Opt::native("-H", Takes::Nothing, "-H"),
    Opt::native("-l", Takes::Value, "-l"),
    Opt::built("-o", Takes::Value, "-o; if given several times, the first one counts"),
    Opt::native("-q --min-BQ --min-bq", Takes::Value, "-q"),
    Opt::native("-Q --min-MQ --min-mq", Takes::Value, "-Q"),
    Opt::native("-J", Takes::Nothing, "-J"),
    Opt::native("-s", Takes::Nothing, "-s"),
    Opt::harmless("-m", Takes::Value, "samtools no longer has a depth limit"),
    Opt::harmless("-d", Takes::Value, "samtools no longer has a depth limit"),
];

fn translate_depth(given: &ParsedArguments) -> Result<NativeLine> {
    let mut line = NativeLine::new("depth");
    line.add(given.native_words());
    line.add(given.values("-a").take(2).map(|_| "-a"));
    line.add_flag("-o", given.values("-o").next());
    line.add_flag("-@", Some(&total_threads(given)?));
    if given.last_value("-f").is_some() && given.is_set("-X") {
        return Err(given.refusal_error("-f and -X exclude each other"));
    }
    let operands = Vec::from_iter(given.operands.iter().map(String::as_str));
    if !given.is_set("-X") {
        return add_inputs(given, line, "-f", &operands);
    }
    if operands.is_empty() || !operands.len().is_multiple_of(2) {
        return Err(given.refusal_error("-X needs the inputs and then the same number of indexes"));
    }
    let (files, _) = operands.split_at(operands.len() / 2);
    if given.is_set("-r") {
        line.add(["-X"]).add(same_input_flag(files)).add_operands(operands);
        return Ok(line);
    }
    add_inputs(given, line, "-f", files)
}

/// Adds the input files: those in the list file, otherwise the operands. samtools accepts the same
/// file twice.
fn add_inputs(
    given: &ParsedArguments,
    mut line: NativeLine,
    list_flag: &str,
    operands: &[&str],
) -> Result<NativeLine> {
    if let Some(list) = given.last_value(list_flag) {
        let files = given.read_lines(list)?;
        let files = Vec::from_iter(files.iter().map(String::as_str));
        line.add(same_input_flag(&files)).add_flag(list_flag, Some(list));
        return Ok(line);
    }
    if operands.is_empty() {
        return Err(given.refusal_error("no input is given"));
    }
    line.add(same_input_flag(operands)).add_operands(operands.iter().copied());
    Ok(line)
}

#[rustfmt::skip] // a row is a line
const COVERAGE_OPTIONS: &[Opt] = &[
    Opt::built("-b --bam-list", Takes::Value, "-b; operands are then ignored"),
    Opt::native("-l --min-read-len", Takes::Value, "-l"),
    Opt::native("-q --min-MQ --min-mq", Takes::Value, "-q"),
    Opt::native("-Q --min-BQ --min-bq", Takes::Value, "-Q"),
    Opt::native("--rf --incl-flags", Takes::Value, "--rf"),
    Opt::native("--ff --excl-flags", Takes::Value, "--ff"),
    Opt::native("-d --depth", Takes::Value, "-d"),
    Opt::native("--min-depth", Takes::Value, "--min-depth"),
    Opt::native("-m --histogram", Takes::Nothing, "-m"),
    Opt::native("-D --plot-depth", Takes::Nothing, "-D"),
    Opt::native("-A --ascii", Takes::Nothing, "-A"),
    Opt::native("-o --output", Takes::Value, "-o"),
    Opt::native("-H --no-header", Takes::Nothing, "-H"),
    Opt::native("-w --n-bins", Takes::Value, "-w"),
    Opt::native("-r --region", Takes::Value, "-r"),
    Opt::built("-h --help", Takes::Nothing, "prints this table"),
];

fn translate_coverage(given: &ParsedArguments) -> Result<NativeLine> {
    let mut line = NativeLine::new("coverage");
    line.add(given.native_words());
    line.add_flag("-@", Some(&total_threads(given)?));
    let operands = Vec::from_iter(given.operands.iter().map(String::as_str));
    add_inputs(given, line, "-b", &operands)
}

#[rustfmt::skip] // a row is a line
const BEDCOV_OPTIONS: &[Opt] = &[
    Opt::native("-Q --min-MQ --min-mq", Takes::Value, "-Q"),
    Opt::native("-X", Takes::Nothing, "-X"),
    Opt::native("-g", Takes::Values, "-g"),
    Opt::native("-G", Takes::Values, "-G"),
    Opt::native("-j", Takes::Nothing, "-j"),
    Opt::refused("--max-depth", Takes::Value, "limits the depth, separately for each region", "omit it: readmill limits its memory without it"),
    Opt::native("-d", Takes::Value, "-d"),
    Opt::native("-c", Takes::Nothing, "-c"),
    Opt::native("-H", Takes::Nothing, "-H"),
];

fn translate_bedcov(given: &ParsedArguments) -> Result<NativeLine> {
    let mut line = NativeLine::new("bedcov");
    line.add(given.native_words());
    line.add(["-@", "1"]);
    let operands = Vec::from_iter(given.operands.iter().map(String::as_str));
    let [_, files @ ..] = &operands[..] else {
        return Err(given.refusal_error("no BED file is given"));
    };
    if files.is_empty() {
        return Err(given.refusal_error("no input is given"));
    }
    let reads = if given.is_set("-X") { &files[..files.len() / 2] } else { files };
    line.add(same_input_flag(reads)).add_operands(operands);
    Ok(line)
}
