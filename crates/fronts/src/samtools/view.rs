//! Translates samtools view.

use readmill_record::Result;

use super::shared::{INPUT, INPUT_FORMAT, NO_PG, OUTPUT, THREADS, WRITE_INDEX, getopt_command};
use crate::grammar::{Opt, ParsedArguments, Takes};
use crate::line::{
    DEFAULT_SAMTOOLS_LEVEL, NativeLine, OutputStyle, format_of_name, total_threads, write_index_flag,
};
use crate::tool::ToolCommand;

pub const VIEW: ToolCommand = getopt_command(
    "view",
    &[OPTIONS, NO_PG, OUTPUT, THREADS, WRITE_INDEX, INPUT, INPUT_FORMAT],
    translate_view,
);

const NO_WAY: &str = "no command of readmill does this";

#[rustfmt::skip] // a row is a line
const OPTIONS: &[Opt] = &[
    Opt::built("-b --bam", Takes::Nothing, "-O bam, unless --output-fmt sets another format"),
    Opt::built("-C --cram", Takes::Nothing, "-O cram, unless --output-fmt sets another format"),
    Opt::built("-1 --fast", Takes::Nothing, "--level 1"),
    Opt::built("-u --uncompressed", Takes::Nothing, "--level 0"),
    Opt::built("-h --with-header", Takes::Nothing, "-h"),
    Opt::built("-H --header-only", Takes::Nothing, "-H, unless --no-header follows"),
    Opt::built("--no-header", Takes::Nothing, "default; it cancels -h and -H before it"),
    Opt::native("-c --count", Takes::Nothing, "-c"),
    Opt::refused("--save-counts", Takes::Value, "writes counts of kept and dropped records", "to count kept records, use readmill view -c"),
    Opt::built("-o --output", Takes::Value, "-o"),
    Opt::built("-U --unoutput --output-unselected", Takes::Value, "-U, or --move-to FILE=dropped if its name has the ending of another format; with -c, nothing is written"),
    Opt::refused("-p --unmap", Takes::Nothing, "unmaps reads instead of dropping them", NO_WAY),
    Opt::refused("-P --fetch-pairs", Takes::Nothing, "adds mates from outside of regions", "write the names of the reads in the regions to a file (readmill view IN REGION | cut -f1 > names), then use readmill view -N names IN"),
    Opt::refused("-t --fai-reference", Takes::Value, "makes the header from a list of sequences", "add a header to the SAM text: cat header.sam in.sam | readmill view -b -"),
    Opt::native("-M --use-index", Takes::Nothing, "-M"),
    Opt::built("--region-file --regions-file", Takes::Value, "-M -L; of --region-file and -L, the last one counts"),
    Opt::native("-X --customized-index", Takes::Nothing, "-X"),
    Opt::built("-L --target-file --targets-file", Takes::Value, "-L"),
    Opt::native("-N --qname-file", Takes::Values, "-N"),
    Opt::native("-r --read-group", Takes::Values, "-r"),
    Opt::native("-R --read-group-file", Takes::Values, "-R"),
    Opt::native("-n --exclude-no-read_group", Takes::Nothing, "-n"),
    Opt::native("-d --tag", Takes::Values, "-d"),
    Opt::native("-D --tag-file", Takes::Values, "-D"),
    Opt::native("-q --min-MQ", Takes::Value, "-q"),
    Opt::native("-l --library", Takes::Value, "-l"),
    Opt::native("-m --min-qlen", Takes::Value, "-m"),
    Opt::native("-e --expr", Takes::Value, "-e"),
    Opt::native("-f --require-flags", Takes::Values, "-f"),
    Opt::native("-F --excl-flags --exclude-flags", Takes::Values, "-F"),
    Opt::native("--rf --incl-flags --include-flags", Takes::Values, "--rf"),
    Opt::native("-G", Takes::Values, "-G"),
    Opt::built("--subsample", Takes::Value, "--subsample; 0 and 1 keep all reads"),
    Opt::built("--subsample-seed", Takes::Value, "--subsample-seed; auto: default"),
    Opt::built("-s", Takes::Value, "-s; SEED.0 keeps all reads"),
    Opt::native("--add-flags", Takes::Values, "--add-flags"),
    Opt::native("--remove-flags", Takes::Values, "--remove-flags"),
    Opt::native("-x --remove-tag", Takes::Values, "-x"),
    Opt::native("--keep-tag", Takes::Values, "--keep-tag"),
    Opt::refused("-B --remove-B", Takes::Nothing, "removes CIGAR operators B", NO_WAY),
    Opt::only("-z --sanitize", Takes::Value, &["off", "0"], "repairs records", "use readmill filter --fix-mates samtools, which also repairs records"),
    Opt::harmless("-S", Takes::Nothing, "readmill detects the format from the content"),
    Opt::native("-T --reference", Takes::Value, "--reference"),
    Opt::built("-? --help", Takes::Nothing, "prints this table"),
];

fn translate_view(given: &ParsedArguments) -> Result<NativeLine> {
    let mut line = NativeLine::new("view");
    let is_header_only = given.last_given_of(&["-H", "--no-header"]) == Some(0);
    line.add(is_header_only.then_some("-H")).add(given.native_words());
    line.add(bed_flags(given));
    if is_header_only && given.is_set("-c") {
        return Err(given.refusal_error("-H and -c exclude each other here"));
    }
    let output = given.last_value("-o").unwrap_or("-");
    let (output, index) = match output.split_once("##idx##") {
        Some((output, index)) => (output, Some(index)),
        None => (output, None),
    };
    let style = OutputStyle::from_options(given, given.last_value("-O"))?;
    let format = output_format(given, &style, output);
    line.add(dropped_reads_flags(given, &style, &format)?);
    line.add(subsample_flags(given)?);
    line.add_flag("-@", Some(&total_threads(given)?));
    // `-b`, `-C`, `-u` and `-1` also enable the header, which matters only if `--output-fmt` then
    // selects text.
    let is_binary = style.format.is_some() && given.last_given_of(&["-b", "-C", "-u", "-1"]).is_some();
    if given
        .last_given_of(&["-h", "--no-header"])
        .map_or(is_binary && !is_header_only && !given.is_set("-c"), |at| at == 0)
    {
        line.add(["-h"]);
    }
    line.add_flag("-o", given.last_value("-o").map(|_| output));
    if !given.is_set("-c") {
        let words = std::iter::once(&format).chain(&style.words).map(String::as_str);
        line.add_flag("-O", Some(&words.collect::<Vec<_>>().join(",")));
        let asked = given.last_given_of(&["-u", "-1"]).map(|at| ["0", "1"][at]);
        let usual = (format == "bam").then_some(DEFAULT_SAMTOOLS_LEVEL);
        if format != "sam" {
            line.add_flag("--level", style.level.as_deref().or(asked).or(usual));
        }
    }
    if given.is_set("--write-index") {
        line.add([write_index_flag(given, output, &format, index)?]);
    }
    match &given.operands[..] {
        [] => line.add_operands(["-"]),
        some => line.add_operands(some.iter().map(String::as_str)),
    };
    Ok(line)
}

/// Returns the flags for a BED file. samtools has one such file, the last of `-L` and
/// `--region-file`, and the latter also requests `-M`.
fn bed_flags(given: &ParsedArguments) -> Vec<&str> {
    let file = given.last_given_of(&["-L", "--region-file"]).map(|at| ["-L", "--region-file"][at]);
    let uses_index = given.is_set("--region-file") && !given.is_set("-M");
    let file = file.and_then(|name| given.last_value(name)).map(|file| ["-L", file]);
    uses_index.then_some("-M").into_iter().chain(file.into_iter().flatten()).collect()
}

/// Returns the output format. It is the first of these that applies: `--output-fmt`; the last of
/// `-b` and `-C`; the file name suffix; BAM with `-u` or `-1`; SAM.
fn output_format(given: &ParsedArguments, style: &OutputStyle, output: &str) -> String {
    let asked = given.last_given_of(&["-b", "-C"]).map(|at| ["bam", "cram"][at]);
    let compressed = given.last_given_of(&["-u", "-1"]).map(|_| "bam");
    let usual = || asked.or(format_of_name(output)).or(compressed).unwrap_or("sam").to_string();
    style.format.clone().unwrap_or_else(usual)
}

/// Returns the flags that write the reads that filters drop (`-U`). `format` is the format of the
/// main output.
fn dropped_reads_flags(
    given: &ParsedArguments,
    style: &OutputStyle,
    format: &str,
) -> Result<Vec<String>> {
    // With `-c`, samtools does not write this file.
    let Some(file) = given.last_value("-U").filter(|_| !given.is_set("-c")) else {
        return Ok(Vec::new());
    };
    if file == "-" {
        let what = "-U - is not supported: dropped reads cannot be written to standard output";
        return Err(given.refusal_error(what).hint("give a file name: -U dropped.bam"));
    }
    let own = self::output_format(given, style, file);
    if own == format {
        return Ok(vec!["-U".to_string(), file.to_string()]);
    }
    if format_of_name(file) != Some(&own) {
        let what = format!("-U {file} would be {own}, but the output is {format}");
        return Err(given
            .refusal_error(&what)
            .hint("use a name that ends in .sam, .bam or .cram, or set the format with -O"));
    }
    Ok(vec!["--move-to".to_string(), format!("{file}=dropped")])
}

fn subsample_flags(given: &ParsedArguments) -> Result<Vec<String>> {
    if given.is_set("-s") && (given.is_set("--subsample") || given.is_set("--subsample-seed")) {
        return Err(given.refusal_error("-s and --subsample exclude each other here"));
    }
    let mut words = Vec::new();
    if let Some(fraction) = given.last_value("--subsample") {
        let wrong =
            || given.refusal_error(&format!("--subsample {fraction} is not a number from 0 to 1"));
        let number: f64 = fraction.parse().map_err(|_| wrong())?;
        if !(0.0..=1.0).contains(&number) {
            return Err(wrong());
        }
        if number > 0.0 && number < 1.0 {
            words.extend(["--subsample", fraction].map(str::to_string));
            let seed = given.last_value("--subsample-seed").filter(|&seed| seed != "auto");
            words.extend(
                seed.into_iter().flat_map(|seed| ["--subsample-seed", seed]).map(str::to_string),
            );
        }
    }
    let keeps_all = |text: &&str| {
        let fraction = text.split_once('.').map_or("", |(_, fraction)| fraction);
        !fraction.is_empty() && fraction.bytes().all(|digit| digit == b'0')
    };
    if let Some(text) = given.last_value("-s").filter(|text| !keeps_all(text)) {
        words.extend(["-s", text].map(str::to_string));
    }
    Ok(words)
}
