//! Translates the samtools commands for references and headers: faidx, dict, head and
//! reheader.

use readmill_record::Result;

use super::super::grammar::{Given, Opt, Takes};
use super::super::line::Line;
use super::super::tool::Command;
use super::shared::{INPUT, THREADS, command, one_input};

pub const FAIDX: Command = command("faidx", &[FAIDX_OPTIONS, THREADS], faidx);

const NO_FASTQ: &str = "readmill faidx takes FASTA";

#[rustfmt::skip] // a row is a line
const FAIDX_OPTIONS: &[Opt] = &[
    Opt::native("-o --output", Takes::Value, "-o"),
    Opt::native("-n --length", Takes::Value, "-n"),
    Opt::refused("-c --continue", Takes::Nothing, "goes on where a region is missing", "take its name out of the list"),
    Opt::built("-r --region-file", Takes::Value, "its lines are regions"),
    Opt::refused("-i --reverse-complement", Takes::Nothing, "turns sequences round", ""),
    Opt::harmless("--mark-strand", Takes::Value, "it belongs to -i"),
    Opt::native("--fai-idx", Takes::Value, "--fai-idx"),
    Opt::refused("--gzi-idx", Takes::Value, "names the index of a compressed file", "leave it out: it is REF.gzi"),
    Opt::refused("-f --fastq", Takes::Nothing, "indexes FASTQ", NO_FASTQ),
    Opt::refused("--output-fmt-option", Takes::Values, "changes how sequences are compressed", "leave it out: they are written as text"),
    Opt::refused("--write-index", Takes::Nothing, "indexes the output", "readmill faidx OUT, then"),
    Opt::built("-h --help", Takes::Nothing, "this table"),
];

fn faidx(given: &Given) -> Result<Line> {
    let [reference, regions @ ..] = &given.operands[..] else {
        return Err(given.refuse("there is no FASTA file"));
    };
    // `-@` only has an effect on a compressed output, and the output is text here.
    let mut line = Line::new("faidx");
    line.add(given.native_words());
    let mut regions: Vec<String> = regions.to_vec();
    if let Some(list) = given.value("-r") {
        regions.extend(given.read_lines(list)?);
    }
    if regions.is_empty() && (given.has("-o") || given.has("-n")) {
        return Err(given.refuse("-o and -n are for sequences, and no region is given"));
    }
    if given.has("--fai-idx") && !regions.is_empty() {
        return Err(given
            .refuse("--fai-idx is not supported beside regions")
            .hint("leave it out: the index REF.fai is read"));
    }
    line.operands(std::iter::once(reference).chain(&regions).map(String::as_str));
    Ok(line)
}

pub const DICT: Command = command("dict", &[DICT_OPTIONS], dict);

#[rustfmt::skip] // a row is a line
const DICT_OPTIONS: &[Opt] = &[
    Opt::native("-a --assembly", Takes::Value, "-a"),
    Opt::native("-A --alias --alternative-name", Takes::Nothing, "-A"),
    Opt::native("-H --no-header", Takes::Nothing, "-H"),
    Opt::refused("-l --alt", Takes::Value, "adds AH to alternate loci", "readmill align reads REF.alt itself"),
    Opt::native("-o --output", Takes::Value, "-o"),
    Opt::native("-s --species", Takes::Value, "-s"),
    Opt::native("-u --uri", Takes::Value, "-u"),
];

fn dict(given: &Given) -> Result<Line> {
    let mut line = Line::new("dict");
    line.add(given.native_words());
    line.operands([one_input(given, true)?]);
    Ok(line)
}

pub const HEAD: Command = command("head", &[HEAD_OPTIONS, THREADS, INPUT], head);

#[rustfmt::skip] // a row is a line
const HEAD_OPTIONS: &[Opt] = &[
    Opt::native("-h --headers", Takes::Value, "-h"),
    Opt::native("-n --records", Takes::Value, "-n"),
    Opt::native("-T --reference", Takes::Value, "-T"),
];

fn head(given: &Given) -> Result<Line> {
    // `-@` is left out: the first records are read by one thread.
    let mut line = Line::new("head");
    line.add(given.native_words());
    line.operands([one_input(given, true)?]);
    Ok(line)
}

pub const REHEADER: Command = command("reheader", &[REHEADER_OPTIONS], reheader);

#[rustfmt::skip] // a row is a line
const REHEADER_OPTIONS: &[Opt] = &[
    Opt::native("-P --no-PG", Takes::Nothing, "-P"),
    Opt::refused("-i --in-place", Takes::Nothing, "changes the input", "readmill reheader HEADER IN -o OUT writes another file"),
    Opt::refused("-c --command", Takes::Value, "sends the header through a program", "readmill head IN | CMD > new.sam; readmill reheader new.sam IN -o OUT"),
];

fn reheader(given: &Given) -> Result<Line> {
    let [header, input] = &given.operands[..] else {
        return Err(given.refuse("give a file with the new header, and a file of reads"));
    };
    let mut line = Line::new("reheader");
    line.add(given.native_words());
    line.operands([header.as_str(), input]);
    Ok(line)
}
