//! Translates the samtools commands that write an index, a report or FASTQ.

use readmill_record::Result;

use super::shared::{INPUT, INPUT_FORMAT, REFERENCE, THREADS, getopt_command, one_input};
use crate::grammar::{Opt, ParsedArguments, Takes};
use crate::headers;
use crate::line::{NativeLine, total_threads};
use crate::tool::ToolCommand;

pub const INDEX: ToolCommand = getopt_command("index", &[INDEX_OPTIONS, THREADS], translate_index);

#[rustfmt::skip] // a row is a line
const INDEX_OPTIONS: &[Opt] = &[
    Opt::native("-b --bai", Takes::Nothing, "-b"),
    Opt::native("-c --csi", Takes::Nothing, "-c"),
    Opt::native("-m --min-shift", Takes::Value, "-m"),
    Opt::built("-M", Takes::Nothing, "all operands are inputs; without it, the second operand is the index"),
    Opt::built("-o --output", Takes::Value, "-o"),
];

fn translate_index(given: &ParsedArguments) -> Result<NativeLine> {
    let mut line = NativeLine::new("index");
    line.add(given.native_words());
    line.add_flag("-@", Some(&total_threads(given)?));
    let (inputs, output) = match &given.operands[..] {
        [] => return Err(given.refusal_error("no input is given")),
        [_, second, ..] if given.is_set("-o") => {
            return Err(given
                .refusal_error(&format!("-o is the index of one input, but {second} is also given"))
                .hint("run samtools index separately for each input"));
        }
        [_, second]
            if !given.is_set("-M")
                && headers::read_header(given, second).is_ok_and(|header| header.is_some()) =>
        {
            return Err(given
                .refusal_error(&format!(
                    "{second} is a file with reads, and would be overwritten by the index"
                ))
                .hint("for several inputs, add -M"));
        }
        all if given.is_set("-M") => (all, None),
        [_] => (&given.operands[..], None),
        [_, index] => (&given.operands[..1], Some(index.as_str())),
        _ => {
            return Err(given.refusal_error(
                "unexpected third file; give one input and one index, or add -M for several inputs",
            ));
        }
    };
    if let Some(path) = inputs.iter().find(|path| is_fasta(path)) {
        return Err(given.refusal_error(&format!("{path} is FASTA, but samtools index is only for files with reads")).hint(
            format!(
                "to write {path}.fai, use readmill faidx {path}; to build the index of the aligner, use readmill index {path}"
            ),
        ));
    }
    line.add_flag("-o", given.last_value("-o").or(output));
    line.add_operands(inputs.iter().map(String::as_str));
    Ok(line)
}

fn is_fasta(path: &str) -> bool {
    let name = path.strip_suffix(".gz").unwrap_or(path);
    [".fa", ".fasta", ".fna"].iter().any(|end| name.ends_with(end))
}

pub const FLAGSTAT: ToolCommand =
    getopt_command("flagstat", &[FLAGSTAT_OPTIONS, THREADS, INPUT, INPUT_FORMAT], |given| {
        translate_report("flagstat", given)
    });

#[rustfmt::skip] // a row is a line
const FLAGSTAT_OPTIONS: &[Opt] = &[Opt::native("-O --output-fmt", Takes::Value, "--output-format")];

pub const IDXSTATS: ToolCommand =
    getopt_command("idxstats", &[IDXSTATS_OPTIONS, THREADS, INPUT, INPUT_FORMAT], |given| {
        translate_report("idxstats", given)
    });

#[rustfmt::skip] // a row is a line
const IDXSTATS_OPTIONS: &[Opt] =
    &[Opt::built("-X", Takes::Nothing, "ignores the index after the input; readmill counts the reads")];

fn translate_report(command: &str, given: &ParsedArguments) -> Result<NativeLine> {
    let mut line = NativeLine::new(command);
    line.add(given.native_words());
    line.add_flag("-@", Some(&total_threads(given)?));
    let input = match &given.operands[..] {
        [input, _] if given.is_set("-X") => input.as_str(),
        _ => one_input(given, false)?,
    };
    line.add_operands([input]);
    Ok(line)
}

pub const STATS: ToolCommand =
    getopt_command("stats", &[STATS_OPTIONS, REFERENCE, THREADS, INPUT, INPUT_FORMAT], translate_stats);

const NO_SUCH_ROWS: &str = "readmill stats has no such rows";

#[rustfmt::skip] // a row is a line
const STATS_OPTIONS: &[Opt] = &[
    Opt::native("-c --coverage", Takes::Value, "-c"),
    Opt::native("-d --remove-dups", Takes::Nothing, "-d"),
    Opt::built("-X --customized-index", Takes::Nothing, "--region-index; ignored without regions, because readmill then reads no index"),
    Opt::native("-f --required-flag", Takes::Value, "-f"),
    Opt::native("-F --filtering-flag", Takes::Values, "-F"),
    Opt::native("--GC-depth", Takes::Value, "--GC-depth"),
    Opt::built("-h --help", Takes::Nothing, "prints this table"),
    Opt::native("-i --insert-size", Takes::Value, "-i"),
    Opt::native("-I --id", Takes::Value, "-I"),
    Opt::built("-l --read-length", Takes::Value, "-l; -1: default"),
    Opt::native("-m --most-inserts", Takes::Value, "--most-inserts"),
    Opt::refused("-P --split-prefix", Takes::Value, "is used only with -S", ""),
    Opt::native("-q --trim-quality", Takes::Value, "--trim-quality"),
    Opt::refused("-r --ref-seq", Takes::Value, "adds mismatches per cycle and GC content of the reference", NO_SUCH_ROWS),
    Opt::harmless("-s --sam", Takes::Nothing, "readmill detects the format from the content"),
    Opt::refused("-S --split", Takes::Value, "writes a separate report for each value of a field", "use -I to count one read group, or readmill split --by read-group, then readmill stats"),
    Opt::native("-t --target-regions", Takes::Value, "-t"),
    Opt::native("-x --sparse", Takes::Nothing, "-x"),
    Opt::native("-p --remove-overlaps", Takes::Nothing, "-p"),
    Opt::native("-g --cov-threshold", Takes::Value, "-g"),
    Opt::refused("--ref-stats", Takes::Nothing, "adds rows about the reference", NO_SUCH_ROWS),
    Opt::harmless("--ref-stats-chunk", Takes::Value, "used only with --ref-stats"),
];

fn translate_stats(given: &ParsedArguments) -> Result<NativeLine> {
    let mut line = NativeLine::new("stats");
    line.add(given.native_words());
    line.add_flag("-l", given.last_value("-l").filter(|&length| length != "-1"));
    line.add_flag("-@", Some(&total_threads(given)?));
    let operands = Vec::from_iter(given.operands.iter().map(String::as_str));
    let (input, rest) = operands.split_first().map_or(("-", &[][..]), |(&input, rest)| (input, rest));
    let (index, regions) = match rest.split_first() {
        Some((&index, regions)) if given.is_set("-X") => (Some(index), regions),
        None if given.is_set("-X") => {
            return Err(given.refusal_error("-X needs the index file after the input"));
        }
        _ => (None, rest),
    };
    for region in regions {
        line.add_flag("--region", Some(region));
    }
    line.add_flag("--region-index", index.filter(|_| !regions.is_empty()));
    line.add_operands([input]);
    Ok(line)
}

pub const FASTQ: ToolCommand =
    getopt_command("fastq", &[FASTQ_OPTIONS, REFERENCE, THREADS, INPUT, INPUT_FORMAT], translate_fastq);

pub const BAM2FQ: ToolCommand =
    getopt_command("bam2fq", &[FASTQ_OPTIONS, REFERENCE, THREADS, INPUT, INPUT_FORMAT], translate_fastq);

const NO_INDEX_READS: &str =
    "readmill fastq writes no barcode files; to write fields after names, use -t or --tags";

#[rustfmt::skip] // a row is a line
const FASTQ_OPTIONS: &[Opt] = &[
    Opt::native("-0", Takes::Value, "-0"),
    Opt::built("-1", Takes::Value, "-1; of -1 and -o, the last one counts"),
    Opt::built("-2", Takes::Value, "-2; of -2 and -o, the last one counts"),
    Opt::built("-o", Takes::Value, "-o, instead of -1 and -2"),
    Opt::native("-d --tag", Takes::Values, "-d"),
    Opt::native("-D --tag-file", Takes::Values, "-D"),
    Opt::native("-f --require-flags", Takes::Values, "-f"),
    Opt::native("-F --excl-flags --exclude-flags", Takes::Value, "-F"),
    Opt::native("--rf --incl-flags --include-flags", Takes::Values, "--rf"),
    Opt::native("-G", Takes::Values, "-G"),
    Opt::built("-n", Takes::Nothing, "-n, unless -N is given"),
    Opt::native("-N", Takes::Nothing, "-N"),
    Opt::refused("--no-sc", Takes::Nothing, "removes soft-clipped bases", ""),
    Opt::harmless("--sc-aux", Takes::Value, "used only with --no-sc"),
    Opt::harmless("--no-sc-bkp", Takes::Nothing, "used only with --no-sc"),
    Opt::native("-O", Takes::Nothing, "-O"),
    Opt::native("-s", Takes::Value, "-s"),
    Opt::native("-t", Takes::Nothing, "-t"),
    Opt::built("-T", Takes::Value, "--tags; without a name, all fields"),
    Opt::native("-v", Takes::Value, "--default-quality"),
    Opt::refused("-i", Takes::Nothing, "adds Casava fields to names", NO_INDEX_READS),
    Opt::refused("-U --UMI", Takes::Nothing, "adds UMIs to names", "to write UMIs after names, use -T RX"),
    Opt::harmless("--UMI-tag", Takes::Value, "used only with -U"),
    Opt::native("-c", Takes::Value, "-c"),
    Opt::refused("--i1", Takes::Value, "writes index reads", NO_INDEX_READS),
    Opt::refused("--i2", Takes::Value, "writes index reads", NO_INDEX_READS),
    Opt::harmless("--barcode-tag", Takes::Value, "used only with --i1, --i2 and -i"),
    Opt::harmless("--quality-tag", Takes::Value, "used only with --i1, --i2 and -i"),
    Opt::harmless("--index-format", Takes::Value, "used only with --i1, --i2 and -i"),
];

fn translate_fastq(given: &ParsedArguments) -> Result<NativeLine> {
    let mut line = NativeLine::new("fastq --grouped");
    line.add(read_file_flags(given)).add(given.native_words());
    if given.is_set("-n") && !given.is_set("-N") {
        line.add(["-n"]);
    }
    line.add_flag("--tags", given.last_value("-T").map(|tags| if tags.is_empty() { "*" } else { tags }));
    line.add_flag("-@", Some(&total_threads(given)?));
    line.add_operands([one_input(given, true)?]);
    Ok(line)
}

/// Returns the flags for the files of read 1 and read 2. In samtools, `-o` sets both `-1` and `-2`,
/// and the last one given counts. Reads without a file are written to standard output.
fn read_file_flags(given: &ParsedArguments) -> Vec<&str> {
    let file_of = |end: &'static str| given.last_given_of(&[end, "-o"]).map(|at| [end, "-o"][at]);
    match [file_of("-1"), file_of("-2")] {
        [None, None] => Vec::new(),
        [Some("-o"), Some("-o")] => {
            given.last_value("-o").map_or_else(Vec::new, |file| vec!["-o", file])
        }
        [first, last] => {
            let file =
                |name: Option<&'static str>| name.and_then(|name| given.last_value(name)).unwrap_or("-");
            vec!["-1", file(first), "-2", file(last)]
        }
    }
}

pub const QUICKCHECK: ToolCommand =
    getopt_command("quickcheck", &[QUICKCHECK_OPTIONS], translate_quickcheck);

#[rustfmt::skip] // a row is a line
const QUICKCHECK_OPTIONS: &[Opt] = &[
    Opt::native("-v", Takes::Nothing, "-v"),
    Opt::native("-q", Takes::Nothing, "-q"),
    Opt::native("-u", Takes::Nothing, "-u"),
];

fn translate_quickcheck(given: &ParsedArguments) -> Result<NativeLine> {
    let mut line = NativeLine::new("quickcheck");
    line.add(given.native_words());
    if given.operands.is_empty() {
        return Err(given.refusal_error("no input is given"));
    }
    line.add_operands(given.operands.iter().map(String::as_str));
    Ok(line)
}
