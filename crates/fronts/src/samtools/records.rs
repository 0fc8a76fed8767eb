//! Translates the samtools commands that write alignments: sort, markdup, fixmate, merge, collate
//! and cat.

use std::path::Path;

use readmill_process::memory_size::parse_size;
use readmill_record::Result;

use super::shared::{
    INPUT, INPUT_FORMAT, MESSAGES, NO_PG, OUTPUT, REFERENCE, THREADS, WRITE_INDEX, getopt_command,
    one_input,
};
use crate::grammar::{Opt, ParsedArguments, Takes};
use crate::line::{NativeLine, add_samtools_output, same_input_flag, standard_stream, total_threads};
use crate::tool::ToolCommand;

/// Minimum total memory of a sort, even if `samtools sort -m`, which applies per thread, would give
/// less.
const MIN_SORT_MEMORY: u64 = 512 << 20;

const MIN_MEMORY_PER_THREAD: u64 = 1 << 20;

pub const SORT: ToolCommand = getopt_command(
    "sort",
    &[SORT_OPTIONS, NO_PG, OUTPUT, REFERENCE, THREADS, WRITE_INDEX, INPUT, INPUT_FORMAT],
    translate_sort,
);

#[rustfmt::skip] // a row is a line
const SORT_OPTIONS: &[Opt] = &[
    Opt::built("-l", Takes::Value, "-l; default 6"),
    Opt::built("-u", Takes::Nothing, "-l 0"),
    Opt::built("-m", Takes::Value, "-m SIZE × threads, at least 512M"),
    Opt::built("-M", Takes::Nothing, "-M; of -M, -n, -N and --template-coordinate, the last one counts"),
    Opt::refused("-R", Takes::Nothing, "does not reverse-complement reads for -M", "omit it: -M may reverse-complement unplaced reads"),
    Opt::only("-K", Takes::Value, &["20"], "sets the k-mer size of -M", "readmill sort -M uses 20"),
    Opt::refused("-I", Takes::Value, "orders minimisers by position in a reference", "readmill sort -M orders them by value"),
    Opt::only("-w", Takes::Value, &["100"], "is used only with -I", ""),
    Opt::refused("-H", Takes::Nothing, "compresses homopolymers in minimisers", ""),
    Opt::built("-n", Takes::Nothing, "-n, unless -N is given"),
    Opt::built("-N", Takes::Nothing, "-N"),
    Opt::built("-t", Takes::Value, "-t"),
    Opt::built("-o", Takes::Value, "-o"),
    Opt::built("-T", Takes::Value, "-T, the directory of the prefix"),
    Opt::built("--template-coordinate", Takes::Nothing, "--template-coordinate, unless -t is given or another order follows"),
];

fn translate_sort(given: &ParsedArguments) -> Result<NativeLine> {
    let mut line = NativeLine::new("sort");
    line.add(sort_order_flags(given)).add(given.native_words());
    let threads = total_threads(given)?;
    line.add_flag("-@", Some(&threads));
    if let Some(each) = given.last_value("-m") {
        let size = parse_size(each).map_err(|why| given.refusal_error(&format!("-m {each}: {why}")))?;
        if size < MIN_MEMORY_PER_THREAD {
            return Err(
                given.refusal_error(&format!("-m {each} is below 1 MiB, the minimum of samtools"))
            );
        }
        let all = size.saturating_mul(threads.parse().unwrap_or(1)).max(MIN_SORT_MEMORY);
        line.add_flag("-m", Some(&format!("{}M", all >> 20)));
    }
    line.add_flag("-T", given.last_value("-T").map(directory_of_prefix));
    let level = if given.is_set("-u") { Some("0") } else { given.last_value("-l") };
    add_samtools_output(
        &mut line,
        given,
        given.last_value("-o").unwrap_or("-"),
        given.last_value("-O"),
        level,
    )?;
    line.add_operands([one_input(given, true)?]);
    Ok(line)
}

/// Returns the flags for the sort order. In samtools, the last of `-n`, `-N`, `-M` and
/// `--template-coordinate` counts; if it is `-n` or `-N` and both are given, it is `-N`. `-t`
/// takes precedence, and of the others only `-n` and `-N` change its order.
fn sort_order_flags(given: &ParsedArguments) -> Vec<&str> {
    let order = match given.last_given_of(&["-M", "--template-coordinate", "-n", "-N"]) {
        Some(0) => Some("-M"),
        Some(1) => Some("--template-coordinate"),
        Some(_) => Some(if given.is_set("-N") { "-N" } else { "-n" }),
        None => None,
    };
    match given.last_value("-t") {
        Some(tag) => {
            ["-t", tag].into_iter().chain(order.filter(|flag| ["-n", "-N"].contains(flag))).collect()
        }
        None => order.into_iter().collect(),
    }
}

fn directory_of_prefix(prefix: &str) -> &str {
    if Path::new(prefix).is_dir() {
        return prefix;
    }
    match prefix.rsplit_once('/') {
        Some(("", _)) => "/",
        Some((directory, _)) => directory,
        None => ".",
    }
}

pub const MARKDUP: ToolCommand = getopt_command(
    "markdup",
    &[MARKDUP_OPTIONS, NO_PG, OUTPUT, REFERENCE, THREADS, WRITE_INDEX, INPUT, INPUT_FORMAT],
    translate_markdup,
);

#[rustfmt::skip] // a row is a line
const MARKDUP_OPTIONS: &[Opt] = &[
    Opt::built("--as-picard", Takes::Nothing, "only in readmill: uses Picard's rules instead of --rules samtools"),
    Opt::native("-r", Takes::Nothing, "--remove-duplicates"),
    Opt::harmless("-l", Takes::Value, "readmill does not need the maximum read length"),
    Opt::built("-S", Takes::Nothing, "--duplicate-mode template; without it, coordinate"),
    Opt::built("-s", Takes::Nothing, "--metrics /dev/stderr, unless -f is given"),
    Opt::built("-f", Takes::Value, "--metrics, or --metrics-json with --json; with --as-picard, in the format of Picard"),
    Opt::built("--json", Takes::Nothing, "--metrics-json instead of --metrics"),
    Opt::built("-T", Takes::Value, "-T, the directory of the prefix"),
    Opt::built("-d", Takes::Value, "--optical-distance, unless 0; with --as-picard, also --tag-duplicates all, which writes DT"),
    Opt::built("-c", Takes::Nothing, "--clear-marks; with --as-picard ignored, because Picard's rules always reset 0x400"),
    Opt::built("-m --mode", Takes::Value, "t: --ends template, s: --ends sequence"),
    Opt::built("-u", Takes::Nothing, "-l 0"),
    Opt::built("--include-fails", Takes::Nothing, "--include-fails; with --as-picard ignored, because Picard's rules include these reads"),
    Opt::built("--no-multi-dup", Takes::Nothing, "--no-multi-dup; with --as-picard ignored, because it affects only dt and do"),
    Opt::built("--read-coords", Takes::Value, "--read-coords, if -d is given"),
    Opt::built("--coords-order", Takes::Value, "--coords-order, if -d and --read-coords are given"),
    Opt::native("--barcode-tag", Takes::Value, "--barcode-tag"),
    Opt::refused("--barcode-name", Takes::Nothing, "reads UMIs from names", "use readmill markdup --umi name --umi-method exact, with Picard's rules"),
    Opt::refused("--barcode-rgx", Takes::Value, "reads UMIs from names", "use readmill markdup --umi name --umi-method exact, with Picard's rules"),
    Opt::refused("--move-umi-to-tag", Takes::Nothing, "moves UMIs to RX", "use readmill align --umi-from-name for this"),
    Opt::refused("--umi-separator", Takes::Value, "sets the separator before the UMI in names", "use readmill markdup --umi name:SEPARATOR, with Picard's rules"),
    Opt::built("--use-read-groups", Takes::Nothing, "--use-read-groups; refused with --as-picard, and with -s, -f and --json"),
    Opt::native("-t", Takes::Nothing, "--tag-original"),
    Opt::native("--duplicate-count", Takes::Nothing, "--duplicate-count"),
];

fn translate_markdup(given: &ParsedArguments) -> Result<NativeLine> {
    let [input, output] = &given.operands[..] else {
        return Err(given.refusal_error("give one input and one output"));
    };
    let by_picard = given.is_set("--as-picard");
    let mut line = NativeLine::new(if by_picard { "markdup" } else { "markdup --rules samtools" });
    line.add(given.native_words());
    let mode = if given.is_set("-S") { "template" } else { "coordinate" };
    line.add_flag("--duplicate-mode", Some(mode));
    match given.last_value("-m") {
        None | Some("t") => {}
        Some("s") if by_picard => {
            return Err(given
                .refusal_error("-m s compares sequence starts, but Picard's rules compare templates"));
        }
        Some("s") => {
            line.add(["--ends", "sequence"]);
        }
        Some(_) => return Err(given.refusal_error("-m must be t or s")),
    }
    add_optical_flags(&mut line, given, by_picard)?;
    for (option, word) in [
        ("-c", "--clear-marks"),
        ("--include-fails", "--include-fails"),
        ("--no-multi-dup", "--no-multi-dup"),
    ] {
        if given.is_set(option) && !by_picard {
            line.add([word]);
        }
    }
    if given.is_set("--use-read-groups") {
        line.add(["--use-read-groups"]); // with --as-picard, the native line refuses it
    }
    if given.is_set("-s") || given.is_set("-f") || given.is_set("--json") {
        let metrics = if given.is_set("--json") { "--metrics-json" } else { "--metrics" };
        line.add_flag(metrics, Some(given.last_value("-f").unwrap_or("/dev/stderr")));
    }
    line.add_flag("-T", given.last_value("-T").map(directory_of_prefix));
    line.add_flag("-@", Some(&total_threads(given)?));
    let level = given.is_set("-u").then_some("0");
    add_samtools_output(&mut line, given, output, given.last_value("-O"), level)?;
    line.add_operands([input.as_str()]);
    Ok(line)
}

/// Adds the flags for optical duplicates, which `-d` requests. samtools detects none if the
/// distance is 0 or less.
fn add_optical_flags(line: &mut NativeLine, given: &ParsedArguments, by_picard: bool) -> Result<()> {
    let Some(distance) = given.last_value("-d") else { return Ok(()) };
    let pixels: i32 =
        distance.parse().map_err(|_| given.refusal_error("-d must be a number of pixels"))?;
    if pixels <= 0 {
        return Ok(());
    }
    line.add_flag("--optical-distance", Some(distance));
    if by_picard {
        line.add_flag("--tag-duplicates", Some("all"));
    }
    if let Some(regex) = given.last_value("--read-coords") {
        line.add_flag("--read-coords", Some(regex));
        line.add_flag("--coords-order", given.last_value("--coords-order"));
    }
    Ok(())
}

pub const FIXMATE: ToolCommand = getopt_command(
    "fixmate",
    &[FIXMATE_OPTIONS, NO_PG, OUTPUT, REFERENCE, THREADS, INPUT, INPUT_FORMAT],
    translate_fixmate,
);

#[rustfmt::skip] // a row is a line
const FIXMATE_OPTIONS: &[Opt] = &[
    Opt::native("-r", Takes::Nothing, "--drop-once-fixed"),
    Opt::refused("-p", Takes::Nothing, "does not change 0x2", "readmill clears it if reads do not face each other"),
    Opt::native("-c", Takes::Nothing, "--template-cigar"),
    Opt::built("-m", Takes::Nothing, "--fix-mates samtools; without it, ms is removed"),
    Opt::built("-u", Takes::Nothing, "-l 0"),
    Opt::only("-z --sanitize", Takes::Value, &["all", "on"], "repairs only some problems", "readmill repairs the same problems as samtools by default"),
    Opt::refused("-M", Takes::Nothing, "repairs MM, ML and MN", ""),
];

fn translate_fixmate(given: &ParsedArguments) -> Result<NativeLine> {
    let [input, output] = &given.operands[..] else {
        return Err(
            given.refusal_error("give one input and one output, - for standard input and output")
        );
    };
    let mut line = NativeLine::new("filter --fix-mates samtools");
    line.add(given.native_words());
    if !given.is_set("-m") {
        line.add(["--remove-optional-fields", "ms"]);
    }
    line.add_flag("-@", Some(&total_threads(given)?));
    let level = given.is_set("-u").then_some("0");
    add_samtools_output(&mut line, given, output, given.last_value("-O"), level)?;
    line.add_operands([input.as_str()]);
    Ok(line)
}

pub const MERGE: ToolCommand = getopt_command(
    "merge",
    &[MERGE_OPTIONS, NO_PG, OUTPUT, REFERENCE, THREADS, WRITE_INDEX, INPUT, INPUT_FORMAT],
    translate_merge,
);

#[rustfmt::skip] // a row is a line
const MERGE_OPTIONS: &[Opt] = &[
    Opt::built("-n", Takes::Nothing, "-n, unless -N is given"),
    Opt::built("-N", Takes::Nothing, "-N"),
    Opt::built("-t", Takes::Value, "-t"),
    Opt::native("-r", Takes::Nothing, "--group-by-file"),
    Opt::built("-u", Takes::Nothing, "-l 0"),
    Opt::built("-f", Takes::Nothing, "overwrites the output; without it, an existing output is an error"),
    Opt::built("-o", Takes::Value, "-o; without it, the first operand is the output"),
    Opt::built("-1", Takes::Nothing, "-l 1"),
    Opt::built("-l", Takes::Value, "-l; default 6"),
    Opt::refused("-R", Takes::Value, "merges only a region", "use readmill view on each file, then readmill merge"),
    Opt::refused("-h", Takes::Value, "uses the header of a file", "omit it: the output header is merged from the headers of the inputs; to replace it afterwards, use readmill reheader HEADER OUT"),
    Opt::harmless("-c", Takes::Nothing, "readmill always merges equal read groups, and never different ones"),
    Opt::harmless("-p", Takes::Nothing, "readmill always merges equal programs, and never different ones"),
    Opt::harmless("-s", Takes::Value, "new IDs are never random in readmill"),
    Opt::built("-b", Takes::Values, "each line is an input"),
    Opt::refused("-X", Takes::Nothing, "gives index files", "readmill reads no index here"),
    Opt::refused("-L", Takes::Value, "merges only regions", "use readmill filter -L BED a.bam b.bam -o OUT"),
    Opt::built("--template-coordinate", Takes::Nothing, "--template-coordinate, unless -t is given or another order follows"),
];

fn translate_merge(given: &ParsedArguments) -> Result<NativeLine> {
    let mut line = NativeLine::new("merge");
    line.add(sort_order_flags(given)).add(given.native_words());
    let operands: Vec<&str> = given.operands.iter().map(String::as_str).collect();
    let (output, named) = match (given.last_value("-o"), &operands[..]) {
        (Some(output), named) => (output, named),
        (None, [output, named @ ..]) => (*output, named),
        (None, []) => return Err(given.refusal_error("no output is given")),
    };
    if !given.is_set("-f") && output != "-" && Path::new(output).is_file() {
        return Err(given
            .refusal_error(&format!("{output} already exists"))
            .hint("to overwrite it, add -f"));
    }
    let mut inputs: Vec<String> = Vec::new();
    for list in given.values("-b") {
        inputs.extend(given.read_lines(list)?);
    }
    inputs.extend(named.iter().map(|input| input.to_string()));
    if inputs.is_empty() {
        return Err(given.refusal_error("no input is given"));
    }
    line.add_flag("-@", Some(&total_threads(given)?));
    let level = match given.last_value("-l") {
        _ if given.is_set("-u") => Some("0"),
        _ if given.is_set("-1") => Some("1"),
        level => level,
    };
    add_samtools_output(&mut line, given, output, given.last_value("-O"), level)?;
    let inputs: Vec<&str> = inputs.iter().map(String::as_str).collect();
    line.add(same_input_flag(&inputs)).add_operands(inputs);
    Ok(line)
}

pub const COLLATE: ToolCommand = getopt_command(
    "collate",
    &[COLLATE_OPTIONS, NO_PG, COLLATE_OUTPUT, REFERENCE, THREADS, INPUT, INPUT_FORMAT],
    translate_collate,
);

pub const BAMSHUF: ToolCommand = getopt_command(
    "bamshuf",
    &[COLLATE_OPTIONS, NO_PG, COLLATE_OUTPUT, REFERENCE, THREADS, INPUT, INPUT_FORMAT],
    translate_collate,
);

/// In collate, `-O` selects standard output, not a format.
#[rustfmt::skip] // a row is a line
const COLLATE_OUTPUT: &[Opt] = &[
    Opt::built("--output-fmt", Takes::Value, "-O, in lower case, with level=, version=, no_ref and profiles"),
    Opt::built("--output-fmt-option", Takes::Values, "-l and -O, for level=, version=, no_ref and profiles"),
];

#[rustfmt::skip] // a row is a line
const COLLATE_OPTIONS: &[Opt] = &[
    Opt::built("-O", Takes::Nothing, "-o -"),
    Opt::built("-o", Takes::Value, "-o; without -o and -O, PREFIX with the format as ending"),
    Opt::built("-u", Takes::Nothing, "-l 0"),
    Opt::refused("-f", Takes::Nothing, "keeps only pairs of primary alignments", "use readmill filter -F 0x900 -f 1 IN -o - | readmill collate - -o OUT"),
    Opt::harmless("-r", Takes::Value, "used only with -f"),
    Opt::built("-l", Takes::Value, "-l; default 1"),
    Opt::harmless("-n", Takes::Value, "affects only the number of temporary files"),
    Opt::built("-T", Takes::Value, "-T, the directory of the prefix"),
];

fn translate_collate(given: &ParsedArguments) -> Result<NativeLine> {
    let format = given.last_value("--output-fmt");
    let (input, prefix) = match &given.operands[..] {
        [input] => (input.as_str(), None),
        [input, prefix] => {
            let ending = format.and_then(|text| text.split(',').next()).unwrap_or("bam");
            (input.as_str(), Some(format!("{prefix}.{}", ending.to_ascii_lowercase())))
        }
        _ => return Err(given.refusal_error("give one input, and a prefix unless -o or -O is given")),
    };
    let output = match given.last_value("-o") {
        Some(output) => output.to_string(),
        None if given.is_set("-O") => "-".to_string(),
        None => prefix.ok_or_else(|| given.refusal_error("give -o FILE, -O or a prefix"))?,
    };
    let mut line = NativeLine::new("collate");
    line.add(given.native_words());
    line.add_flag("-@", Some(&total_threads(given)?));
    line.add_flag("-T", given.last_value("-T").map(directory_of_prefix));
    let level = if given.is_set("-u") { "0" } else { given.last_value("-l").unwrap_or("1") };
    add_samtools_output(&mut line, given, &output, format, Some(level))?;
    line.add_operands([input]);
    Ok(line)
}

pub const CAT: ToolCommand = getopt_command("cat", &[CAT_OPTIONS, NO_PG, MESSAGES], translate_cat);

const CRAM_PARTS: &str = "reads parts of CRAM files";

#[rustfmt::skip] // a row is a line
const CAT_OPTIONS: &[Opt] = &[
    Opt::native("-b", Takes::Values, "-b"),
    Opt::native("-h", Takes::Value, "-h"),
    Opt::native("-o", Takes::Value, "-o"),
    Opt::refused("-r", Takes::Value, CRAM_PARTS, "use readmill view IN REGION"),
    Opt::refused("-p", Takes::Value, CRAM_PARTS, "use readmill view IN REGION"),
    Opt::refused("-f", Takes::Nothing, CRAM_PARTS, "use readmill view IN REGION"),
    Opt::refused("-q", Takes::Nothing, "counts containers of CRAM files", ""),
    Opt::refused("--output-fmt-option", Takes::Values, "changes how CRAM is written", "use readmill merge for CRAM output"),
];

fn translate_cat(given: &ParsedArguments) -> Result<NativeLine> {
    let mut line = NativeLine::new("cat");
    line.add(given.native_words());
    if given.operands.is_empty() && !given.is_set("-b") {
        return Err(given.refusal_error("no input is given"));
    }
    if given.operands.iter().any(|input| standard_stream(input) == "-") {
        let error =
            given.refusal_error("standard input is not supported, because each file is opened twice");
        return Err(error.hint("use readmill merge - OTHER.bam -o OUT"));
    }
    line.add_operands(given.operands.iter().map(String::as_str));
    Ok(line)
}
