//! Commands of samtools whose output is an index, a report or FASTQ.

use readmill_record::Result;

use super::super::grammar::{Given, Opt, Takes, read_lines};
use super::super::line::{Line, threads_in_all};
use super::super::tool::Command;
use super::shared::{INPUT, INPUT_FORMAT, REFERENCE, THREADS, command, one_input};

pub const INDEX: Command = command("index", &[INDEX_OPTIONS, THREADS], index);

#[rustfmt::skip] // a row is a line
const INDEX_OPTIONS: &[Opt] = &[
    Opt::native("-b --bai", Takes::Nothing, "-b"),
    Opt::native("-c --csi", Takes::Nothing, "-c"),
    Opt::native("-m --min-shift", Takes::Value, "-m"),
    Opt::built("-M", Takes::Nothing, "all operands are inputs; without it the second is the index"),
    Opt::built("-o --output", Takes::Value, "-o"),
];

fn index(given: &Given) -> Result<Line> {
    let mut line = Line::new("index");
    line.add(given.native_words());
    line.flag("-@", Some(&threads_in_all(given)?));
    let (inputs, output) = match &given.operands[..] {
        [] => return Err(given.refuse("there is no input")),
        all if given.has("-M") => (all, None),
        [_] => (&given.operands[..], None),
        [_, index] => (&given.operands[..1], Some(index.as_str())),
        _ => return Err(given.refuse("there is one input and one index; say -M for several inputs")),
    };
    line.flag("-o", given.value("-o").or(output));
    line.operands(inputs.iter().map(String::as_str));
    Ok(line)
}

pub const FLAGSTAT: Command =
    command("flagstat", &[FLAGSTAT_OPTIONS, THREADS, INPUT, INPUT_FORMAT], |given| {
        tally("flagstat", given)
    });

#[rustfmt::skip] // a row is a line
const FLAGSTAT_OPTIONS: &[Opt] = &[Opt::only(
    "-O --output-fmt",
    Takes::Value,
    &["default"],
    "writes JSON or a table",
    "readmill flagstat writes the text alone",
)];

pub const IDXSTATS: Command =
    command("idxstats", &[IDXSTATS_OPTIONS, THREADS, INPUT, INPUT_FORMAT], |given| {
        tally("idxstats", given)
    });

#[rustfmt::skip] // a row is a line
const IDXSTATS_OPTIONS: &[Opt] =
    &[Opt::built("-X", Takes::Nothing, "the index behind the input is left out: the reads are counted")];

/// A report of one input.
fn tally(command: &str, given: &Given) -> Result<Line> {
    let mut line = Line::new(command);
    line.add(given.native_words());
    line.flag("-@", Some(&threads_in_all(given)?));
    let input = match &given.operands[..] {
        [input, _] if given.has("-X") => input.as_str(),
        _ => one_input(given, false)?,
    };
    line.operands([input]);
    Ok(line)
}

pub const STATS: Command =
    command("stats", &[STATS_OPTIONS, REFERENCE, THREADS, INPUT, INPUT_FORMAT], stats);

const BEFORE: &str = "readmill filter FILTERS IN -o - | readmill stats -";
const NO_SUCH_ROWS: &str = "readmill stats has no such rows";

#[rustfmt::skip] // a row is a line
const STATS_OPTIONS: &[Opt] = &[
    Opt::harmless("-c --coverage", Takes::Value, "readmill has no rows COV, with or without it (row 93 of parity)"),
    Opt::refused("-d --remove-dups", Takes::Nothing, "leaves duplicates out", "readmill filter -F DUP IN -o - | readmill stats -"),
    Opt::refused("-X --customized-index", Takes::Nothing, "names the index", "no index is read"),
    Opt::only("-f --required-flag", Takes::Value, &["0"], "counts some reads alone", BEFORE),
    Opt::only("-F --filtering-flag", Takes::Value, &["0"], "counts some reads alone", BEFORE),
    Opt::harmless("--GC-depth", Takes::Value, "readmill has no rows GCD, with or without it (row 93 of parity)"),
    Opt::built("-h --help", Takes::Nothing, "this table"),
    Opt::only("-i --insert-size", Takes::Value, &["8000"], "sets the largest insert size", NO_SUCH_ROWS),
    Opt::refused("-I --id", Takes::Value, "counts one read group alone", BEFORE),
    Opt::only("-l --read-length", Takes::Value, &["-1"], "counts reads of one length alone", BEFORE),
    Opt::only("-m --most-inserts", Takes::Value, &["0.99"], "sets the part of inserts that is reported", NO_SUCH_ROWS),
    Opt::refused("-P --split-prefix", Takes::Value, "belongs to -S", ""),
    Opt::only("-q --trim-quality", Takes::Value, &["0"], "counts bases that bwa would trim", NO_SUCH_ROWS),
    Opt::refused("-r --ref-seq", Takes::Value, "adds mismatches by cycle, and GC by the reference", NO_SUCH_ROWS),
    Opt::harmless("-s --sam", Takes::Nothing, "the format is told by content"),
    Opt::refused("-S --split", Takes::Value, "writes a report for each value of a field", "readmill split --by read-group, then readmill stats"),
    Opt::refused("-t --target-regions", Takes::Value, "counts regions alone", "readmill filter -L BED IN -o - | readmill stats -"),
    Opt::refused("-x --sparse", Takes::Nothing, "leaves out rows IS without inserts", ""),
    Opt::refused("-p --remove-overlaps", Takes::Nothing, "counts bases that both mates cover once", NO_SUCH_ROWS),
    Opt::only("-g --cov-threshold", Takes::Value, &["0"], "belongs to -t", ""),
    Opt::refused("--ref-stats", Takes::Nothing, "adds rows on the reference", NO_SUCH_ROWS),
    Opt::harmless("--ref-stats-chunk", Takes::Value, "it belongs to --ref-stats"),
];

fn stats(given: &Given) -> Result<Line> {
    if let [_, region, ..] = &given.operands[..] {
        return Err(given
            .refuse(&format!("regions are not taken: {region}"))
            .hint("readmill view -u IN REGION | readmill stats -"));
    }
    let mut line = Line::new("stats");
    line.add(given.native_words());
    line.flag("-@", Some(&threads_in_all(given)?));
    line.operands([one_input(given, true)?]);
    Ok(line)
}

pub const FASTQ: Command =
    command("fastq", &[FASTQ_OPTIONS, REFERENCE, THREADS, INPUT, INPUT_FORMAT], fastq);

const FILTERED: &str = "readmill filter FILTERS IN -o - | readmill fastq -";
const NO_INDEX_READS: &str =
    "readmill fastq writes no files of barcodes; -t and --tags write fields behind names";

#[rustfmt::skip] // a row is a line
const FASTQ_OPTIONS: &[Opt] = &[
    Opt::native("-0", Takes::Value, "-0"),
    Opt::native("-1", Takes::Value, "-1"),
    Opt::native("-2", Takes::Value, "-2"),
    Opt::native("-o", Takes::Value, "-o"),
    Opt::refused("-d --tag", Takes::Values, "keeps reads with a field", FILTERED),
    Opt::refused("-D --tag-file", Takes::Values, "keeps reads whose field is in a file", FILTERED),
    Opt::only("-f --require-flags", Takes::Value, &["0"], "keeps some reads alone", FILTERED),
    Opt::native("-F --excl-flags --exclude-flags", Takes::Value, "-F"),
    Opt::only("--rf --incl-flags --include-flags", Takes::Value, &["0"], "keeps some reads alone", FILTERED),
    Opt::only("-G", Takes::Value, &["0"], "drops some reads", FILTERED),
    Opt::native("-n", Takes::Nothing, "-n"),
    Opt::native("-N", Takes::Nothing, "-N"),
    Opt::refused("--no-sc", Takes::Nothing, "cuts soft clips off", ""),
    Opt::harmless("--sc-aux", Takes::Value, "it belongs to --no-sc"),
    Opt::harmless("--no-sc-bkp", Takes::Nothing, "it belongs to --no-sc"),
    Opt::native("-O", Takes::Nothing, "-O"),
    Opt::native("-s", Takes::Value, "-s"),
    Opt::native("-t", Takes::Nothing, "-t"),
    Opt::native("-T", Takes::Value, "--tags"),
    Opt::native("-v", Takes::Value, "--default-quality"),
    Opt::refused("-i", Takes::Nothing, "adds Casava's fields to names", NO_INDEX_READS),
    Opt::refused("-U --UMI", Takes::Nothing, "adds UMIs to names", "-T RX writes them behind names"),
    Opt::harmless("--UMI-tag", Takes::Value, "it belongs to -U"),
    Opt::native("-c", Takes::Value, "-c"),
    Opt::refused("--i1", Takes::Value, "writes index reads", NO_INDEX_READS),
    Opt::refused("--i2", Takes::Value, "writes index reads", NO_INDEX_READS),
    Opt::harmless("--barcode-tag", Takes::Value, "it belongs to --i1, --i2 and -i"),
    Opt::harmless("--quality-tag", Takes::Value, "it belongs to --i1, --i2 and -i"),
    Opt::harmless("--index-format", Takes::Value, "it belongs to --i1, --i2 and -i"),
];

fn fastq(given: &Given) -> Result<Line> {
    let mut line = Line::new("fastq --grouped");
    line.add(given.native_words());
    line.flag("-@", Some(&threads_in_all(given)?));
    line.operands([one_input(given, true)?]);
    Ok(line)
}

pub const QUICKCHECK: Command = command("quickcheck", &[QUICKCHECK_OPTIONS], quickcheck);

#[rustfmt::skip] // a row is a line
const QUICKCHECK_OPTIONS: &[Opt] = &[
    Opt::native("-v", Takes::Nothing, "-v"),
    Opt::native("-q", Takes::Nothing, "-q"),
    Opt::native("-u", Takes::Nothing, "-u"),
];

fn quickcheck(given: &Given) -> Result<Line> {
    let mut line = Line::new("quickcheck");
    line.add(given.native_words());
    if given.operands.is_empty() {
        return Err(given.refuse("there is no input"));
    }
    line.operands(given.operands.iter().map(String::as_str));
    Ok(line)
}

pub const DEPTH: Command =
    command("depth", &[DEPTH_OPTIONS, REFERENCE, THREADS, INPUT, INPUT_FORMAT], depth);

#[rustfmt::skip] // a row is a line
const DEPTH_OPTIONS: &[Opt] = &[
    Opt::built("-a", Takes::Nothing, "-a, once or twice"),
    Opt::native("-r", Takes::Value, "-r"),
    Opt::native("-b", Takes::Value, "-b"),
    Opt::built("-f", Takes::Value, "its lines are inputs"),
    Opt::refused("-X", Takes::Nothing, "names indexes", "put them beside their files"),
    Opt::refused("-g", Takes::Values, "counts reads of some flags, too", "-G, --incl-flags and --require-flags choose reads"),
    Opt::native("-G --excl-flags", Takes::Values, "-G"),
    Opt::native("--incl-flags", Takes::Value, "--incl-flags"),
    Opt::native("--require-flags", Takes::Value, "--require-flags"),
    Opt::native("-H", Takes::Nothing, "-H"),
    Opt::native("-l", Takes::Value, "-l"),
    Opt::native("-o", Takes::Value, "-o"),
    Opt::native("-q --min-BQ", Takes::Value, "-q"),
    Opt::native("-Q --min-MQ", Takes::Value, "-Q"),
    Opt::native("-J", Takes::Nothing, "-J"),
    Opt::native("-s", Takes::Nothing, "-s"),
    Opt::harmless("-d -m", Takes::Value, "samtools ignores it, too"),
];

fn depth(given: &Given) -> Result<Line> {
    let mut line = Line::new("depth");
    line.add(given.native_words());
    line.add(given.all("-a").map(|_| "-a"));
    line.flag("-@", Some(&threads_in_all(given)?));
    inputs(given, "-f", line)
}

/// The inputs: those of a list, then the operands.
fn inputs(given: &Given, list: &str, mut line: Line) -> Result<Line> {
    let mut inputs = Vec::new();
    for list in given.all(list) {
        inputs.extend(read_lines(list)?);
    }
    inputs.extend(given.operands.iter().cloned());
    if inputs.is_empty() {
        return Err(given.refuse("there is no input"));
    }
    line.operands(inputs.iter().map(String::as_str));
    Ok(line)
}

pub const COVERAGE: Command =
    command("coverage", &[COVERAGE_OPTIONS, REFERENCE, INPUT, INPUT_FORMAT], coverage);

const NO_PICTURE: &str = "readmill coverage writes the table";

#[rustfmt::skip] // a row is a line
const COVERAGE_OPTIONS: &[Opt] = &[
    Opt::built("-b --bam-list", Takes::Value, "its lines are inputs"),
    Opt::native("-l --min-read-len", Takes::Value, "-l"),
    Opt::native("-q --min-MQ", Takes::Value, "-q"),
    Opt::native("-Q --min-BQ", Takes::Value, "-Q"),
    Opt::native("--rf", Takes::Value, "--rf"),
    Opt::native("--ff", Takes::Value, "--ff"),
    Opt::native("-d --depth", Takes::Value, "-d"),
    Opt::only("--min-depth", Takes::Value, &["1"], "sets the least depth that counts", ""),
    Opt::refused("-m --histogram", Takes::Nothing, "draws a picture", NO_PICTURE),
    Opt::refused("-D --plot-depth", Takes::Nothing, "draws a picture", NO_PICTURE),
    Opt::harmless("-A --ascii", Takes::Nothing, "it belongs to -m"),
    Opt::native("-o --output", Takes::Value, "-o"),
    Opt::native("-H --no-header", Takes::Nothing, "-H"),
    Opt::harmless("-w --n-bins", Takes::Value, "it belongs to -m"),
    Opt::native("-r --region", Takes::Value, "-r"),
    Opt::built("-h --help", Takes::Nothing, "this table"),
];

fn coverage(given: &Given) -> Result<Line> {
    let mut line = Line::new("coverage");
    line.add(given.native_words());
    inputs(given, "-b", line)
}
