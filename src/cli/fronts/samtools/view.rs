//! samtools view.

use readmill_record::{Flags, Result};

use super::super::grammar::{Given, Opt, Takes};
use super::super::line::{
    Line, OutputStyle, SAMTOOLS_LEVEL, format_of_name, index_words, threads_in_all,
};
use super::super::tool::Command;
use super::shared::{INPUT, INPUT_FORMAT, NO_PG, OUTPUT, THREADS, WRITE_INDEX, command};

pub const VIEW: Command =
    command("view", &[OPTIONS, NO_PG, OUTPUT, THREADS, WRITE_INDEX, INPUT, INPUT_FORMAT], view);

const NO_WAY: &str = "no native command does this";

#[rustfmt::skip] // a row is a line
const OPTIONS: &[Opt] = &[
    Opt::built("-b --bam", Takes::Nothing, "-O bam, unless --output-fmt says another"),
    Opt::built("-C --cram", Takes::Nothing, "-O cram, unless --output-fmt says another"),
    Opt::built("-1 --fast", Takes::Nothing, "--level 1"),
    Opt::built("-u --uncompressed", Takes::Nothing, "--level 0"),
    Opt::built("-h --with-header", Takes::Nothing, "-h"),
    Opt::native("-H --header-only", Takes::Nothing, "-H"),
    Opt::built("--no-header", Takes::Nothing, "the default; of it and -h the last counts"),
    Opt::native("-c --count", Takes::Nothing, "-c"),
    Opt::refused("--save-counts", Takes::Value, "writes counts of kept and dropped records", "readmill view -c counts the kept ones"),
    Opt::built("-o --output", Takes::Value, "-o"),
    Opt::built("-U --unoutput --output-unselected", Takes::Value, "--move-to FILE=EXPRESSION; BAM or CRAM, beside -q -f -F -G --rf and -e alone"),
    Opt::refused("-p --unmap", Takes::Nothing, "unmaps reads instead of dropping them", NO_WAY),
    Opt::refused("-P --fetch-pairs", Takes::Nothing, "adds mates from outside of regions", "make a list of the names in the regions (readmill view IN REGION | cut -f1 > names), and readmill view -N names IN"),
    Opt::refused("-t --fai-reference", Takes::Value, "makes the header of a list of sequences", "give SAM text its header: cat header.sam in.sam | readmill view -b -"),
    Opt::native("-M --use-index", Takes::Nothing, "-M"),
    Opt::native("--region-file --regions-file", Takes::Value, "-M -L"),
    Opt::native("-X --customized-index", Takes::Nothing, "-X"),
    Opt::native("-L --target-file --targets-file", Takes::Value, "-L"),
    Opt::native("-N --qname-file", Takes::Value, "-N"),
    Opt::native("-r --read-group", Takes::Values, "-r"),
    Opt::native("-R --read-group-file", Takes::Value, "-R"),
    Opt::native("-n --exclude-no-read_group", Takes::Nothing, "-n"),
    Opt::native("-d --tag", Takes::Values, "-d"),
    Opt::native("-D --tag-file", Takes::Values, "-D"),
    Opt::built("-q --min-MQ", Takes::Value, "-q"),
    Opt::native("-l --library", Takes::Value, "-l"),
    Opt::native("-m --min-qlen", Takes::Value, "-m"),
    Opt::built("-e --expr", Takes::Value, "-e"),
    Opt::built("-f --require-flags", Takes::Values, "-f"),
    Opt::built("-F --excl-flags --exclude-flags", Takes::Values, "-F"),
    Opt::built("--rf --incl-flags --include-flags", Takes::Values, "--rf"),
    Opt::built("-G", Takes::Values, "-G"),
    Opt::built("--subsample", Takes::Value, "--subsample; 0, and 1, keep all reads"),
    Opt::built("--subsample-seed", Takes::Value, "--subsample-seed; auto is the default"),
    Opt::built("-s", Takes::Value, "-s; SEED.0 keeps all reads"),
    Opt::native("--add-flags", Takes::Values, "--add-flags"),
    Opt::native("--remove-flags", Takes::Values, "--remove-flags"),
    Opt::native("-x --remove-tag", Takes::Values, "-x"),
    Opt::native("--keep-tag", Takes::Values, "--keep-tag"),
    Opt::refused("-B --remove-B", Takes::Nothing, "joins CIGAR operators B", NO_WAY),
    Opt::only("-z --sanitize", Takes::Value, &["off", "0"], "repairs records", "readmill filter --fix-mates samtools repairs them, too"),
    Opt::harmless("-S", Takes::Nothing, "the format is detected from the content"),
    Opt::native("-T --reference", Takes::Value, "--reference"),
    Opt::built("-? --help", Takes::Nothing, "this table"),
];

fn view(given: &Given) -> Result<Line> {
    let mut line = Line::new("view");
    line.add(given.native_words());
    if given.has("-H") && given.has("-c") {
        return Err(given.refuse("-H and -c exclude each other here"));
    }
    let output = given.value("-o").unwrap_or("-");
    let (output, index) = match output.split_once("##idx##") {
        Some((output, index)) => (output, Some(index)),
        None => (output, None),
    };
    let style = OutputStyle::of(given, given.value("-O"))?;
    let format = format(given, &style, output);
    match given.value("-U") {
        Some(rest) => line.add(moved(given, rest, &format)?),
        None => line.add(filters(given)),
    };
    line.add(sampled(given)?);
    line.flag("-@", Some(&threads_in_all(given)?));
    // (-b, -C, -u and -1 ask for the header, too, which shows where --output-fmt makes text of it.)
    let is_binary = style.format.is_some() && given.last_of(&["-b", "-C", "-u", "-1"]).is_some();
    if given
        .last_of(&["-h", "--no-header"])
        .map_or(is_binary && !given.has("-H") && !given.has("-c"), |at| at == 0)
    {
        line.add(["-h"]);
    }
    line.flag("-o", given.value("-o").map(|_| output));
    if !given.has("-c") {
        let words = std::iter::once(&format).chain(&style.words).map(String::as_str);
        line.flag("-O", Some(&words.collect::<Vec<_>>().join(",")));
        let asked = given.last_of(&["-u", "-1"]).map(|at| ["0", "1"][at]);
        let usual = (format == "bam").then_some(SAMTOOLS_LEVEL);
        if format != "sam" {
            line.flag("--level", style.level.as_deref().or(asked).or(usual));
        }
    }
    if given.has("--write-index") {
        line.add([index_words(given, output, &format, index)?]);
    }
    match &given.operands[..] {
        [] => line.operands(["-"]),
        some => line.operands(some.iter().map(String::as_str)),
    };
    Ok(line)
}

/// The format of the output: what --output-fmt says, else the last of -b and -C, else what the output is called, else BAM
/// for -u and -1, else text.
fn format(given: &Given, style: &OutputStyle, output: &str) -> String {
    let asked = given.last_of(&["-b", "-C"]).map(|at| ["bam", "cram"][at]);
    let compressed = given.last_of(&["-u", "-1"]).map(|_| "bam");
    let usual = || asked.or(format_of_name(output)).or(compressed).unwrap_or("sam").to_string();
    style.format.clone().unwrap_or_else(usual)
}

/// Options that choose reads by their fields, and what is true of the reads that each drops; `{}` is the value.
const CHOICES: [(&str, &str); 6] = [
    ("-q", "mapq<{}"),
    ("-f", "(flag&{})!={}"),
    ("-F", "(flag&{})!=0"),
    ("--rf", "(flag&{})==0"),
    ("-G", "(flag&{})=={}"),
    ("-e", "!({})"),
];

/// The filters of these options.
fn filters(given: &Given) -> Vec<String> {
    let words = |name: &str| -> Vec<String> {
        let last = usize::from(["-q", "-e"].contains(&name));
        let values: Vec<&str> = given.all(name).collect();
        let values = if last == 1 { values.last().into_iter().copied().collect() } else { values };
        values.into_iter().flat_map(|value| [name.to_string(), value.to_string()]).collect()
    };
    CHOICES.iter().flat_map(|(name, _)| words(name)).collect()
}

/// The same filters as an expression of the reads that they drop, which go to another file.
fn moved(given: &Given, rest: &str, format: &str) -> Result<Vec<String>> {
    let may_stand = [
        "-b",
        "-C",
        "-1",
        "-u",
        "-h",
        "--no-header",
        "-o",
        "-U",
        "-S",
        "-T",
        "--no-PG",
        "-O",
        "--output-fmt-option",
        "-@",
        "--verbosity",
        "--input-fmt",
    ];
    let known = |name: &&str| {
        let of = |names: &[&str]| names.iter().any(|own| given.is_name_of(own, name));
        !of(&may_stand) && !of(&CHOICES.map(|(name, _)| name))
    };
    let way = "write the reads that an expression holds for into another file: readmill view IN -o KEPT.bam --move-to \
               DROPPED.bam='!(mapq >= 20)'";
    if given.value("-N").is_some() {
        let names = "write them in two runs: readmill view -N NAMES IN -o SELECTED.bam, and readmill view -N ^NAMES IN -o \
                     OTHERS.bam";
        return Err(given.refuse("-U is not supported beside -N").hint(names));
    }
    if let Some(other) = given.given_names().find(known) {
        return Err(given.refuse(&format!("-U is not supported beside {other}")).hint(way));
    }
    if let [_, region, ..] = &given.operands[..] {
        return Err(given.refuse(&format!("-U is not supported beside the region {region}")).hint(way));
    }
    if format == "sam" || format_of_name(rest) != Some(format) {
        let what = format!(
            "-U is supported for BAM and CRAM whose names tell the format; {rest} would be {format}"
        );
        return Err(given.refuse(&what).hint(way));
    }
    let mut dropped = Vec::new();
    for (name, expression) in CHOICES {
        let value = match name {
            "-q" | "-e" => given.value(name).map(str::to_string),
            _ => bits(given, name)?.filter(|&bits| bits != 0).map(|bits| bits.to_string()),
        };
        dropped.extend(value.map(|value| expression.replace("{}", &value)));
    }
    // (Without a filter no read is dropped.)
    let expression = if dropped.is_empty() { "0".to_string() } else { dropped.join("||") };
    Ok(vec!["--move-to".to_string(), format!("{rest}={expression}")])
}

/// The bits that the values of an option have together.
fn bits(given: &Given, name: &str) -> Result<Option<u16>> {
    let mut bits = None;
    for value in given.all(name) {
        let flags: Flags = value.parse().map_err(|why| given.refuse(&format!("{name}: {why}")))?;
        bits = Some(bits.unwrap_or(0) | flags.0);
    }
    Ok(bits)
}

/// The flags of a sample of the templates.
fn sampled(given: &Given) -> Result<Vec<String>> {
    if given.has("-s") && (given.has("--subsample") || given.has("--subsample-seed")) {
        return Err(given.refuse("-s and --subsample exclude each other here"));
    }
    let mut words = Vec::new();
    if let Some(fraction) = given.value("--subsample") {
        let wrong = || given.refuse(&format!("--subsample {fraction}: not a number from 0 to 1"));
        let number: f64 = fraction.parse().map_err(|_| wrong())?;
        if !(0.0..=1.0).contains(&number) {
            return Err(wrong());
        }
        if number > 0.0 && number < 1.0 {
            words.extend(["--subsample", fraction].map(str::to_string));
            let seed = given.value("--subsample-seed").filter(|&seed| seed != "auto");
            words.extend(
                seed.into_iter().flat_map(|seed| ["--subsample-seed", seed]).map(str::to_string),
            );
        }
    }
    let keeps_all = |text: &&str| {
        let fraction = text.split_once('.').map_or("", |(_, fraction)| fraction);
        !fraction.is_empty() && fraction.bytes().all(|digit| digit == b'0')
    };
    if let Some(text) = given.value("-s").filter(|text| !keeps_all(text)) {
        words.extend(["-s", text].map(str::to_string));
    }
    Ok(words)
}
