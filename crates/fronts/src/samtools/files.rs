//! Translates the samtools commands for references and headers: faidx, dict, head and reheader.

use readmill_record::Result;

use super::shared::{INPUT, THREADS, getopt_command, one_input};
use crate::grammar::{Opt, ParsedArguments, Takes};
use crate::line::NativeLine;
use crate::tool::ToolCommand;

pub const FAIDX: ToolCommand = getopt_command("faidx", &[FAIDX_OPTIONS, THREADS], translate_faidx);

const NO_FASTQ: &str = "readmill faidx reads only FASTA";

#[rustfmt::skip] // a row is a line
const FAIDX_OPTIONS: &[Opt] = &[
    Opt::native("-o --output", Takes::Value, "-o"),
    Opt::native("-n --length", Takes::Value, "-n"),
    Opt::refused("-c --continue", Takes::Nothing, "continues if a region is missing", "remove the region from the list"),
    Opt::built("-r --region-file", Takes::Value, "each line is a region; these regions are written before the operands"),
    Opt::refused("-i --reverse-complement", Takes::Nothing, "reverse-complements sequences", ""),
    Opt::harmless("--mark-strand", Takes::Value, "used only with -i"),
    Opt::native("--fai-idx", Takes::Value, "--fai-idx"),
    Opt::refused("--gzi-idx", Takes::Value, "sets the index of a compressed file", "omit it: readmill uses REF.gzi"),
    Opt::refused("-f --fastq", Takes::Nothing, "indexes FASTQ", NO_FASTQ),
    Opt::refused("--output-fmt-option", Takes::Values, "changes how sequences are compressed", "omit it: readmill writes plain text"),
    Opt::refused("--write-index", Takes::Nothing, "indexes the output", "use readmill faidx OUT afterwards"),
    Opt::built("-h --help", Takes::Nothing, "prints this table"),
];

fn translate_faidx(given: &ParsedArguments) -> Result<NativeLine> {
    let [reference, regions @ ..] = &given.operands[..] else {
        return Err(given.refusal_error("no FASTA file is given"));
    };
    // `-@` affects only compressed output, and the output is text here.
    let mut line = NativeLine::new("faidx");
    line.add(given.native_words());
    let listed = given.last_value("-r").map(|list| given.read_lines(list)).transpose()?;
    let regions: Vec<String> = listed.into_iter().flatten().chain(regions.iter().cloned()).collect();
    if regions.is_empty() && (given.is_set("-o") || given.is_set("-n")) {
        return Err(given.refusal_error("-o and -n apply to sequences, but no region is given"));
    }
    if given.is_set("--fai-idx") && !regions.is_empty() {
        return Err(given
            .refusal_error("--fai-idx is not supported with regions")
            .hint("omit it: readmill reads REF.fai"));
    }
    line.add_operands(std::iter::once(reference).chain(&regions).map(String::as_str));
    Ok(line)
}

pub const DICT: ToolCommand = getopt_command("dict", &[DICT_OPTIONS], translate_dict);

#[rustfmt::skip] // a row is a line
const DICT_OPTIONS: &[Opt] = &[
    Opt::native("-a --assembly", Takes::Value, "-a"),
    Opt::native("-A --alias --alternative-name", Takes::Nothing, "-A"),
    Opt::native("-H --no-header", Takes::Nothing, "-H"),
    Opt::refused("-l --alt", Takes::Value, "adds AH to alternate loci", "readmill align reads the file REF.alt"),
    Opt::native("-o --output", Takes::Value, "-o"),
    Opt::native("-s --species", Takes::Value, "-s"),
    Opt::native("-u --uri", Takes::Value, "-u"),
];

fn translate_dict(given: &ParsedArguments) -> Result<NativeLine> {
    let mut line = NativeLine::new("dict");
    line.add(given.native_words());
    line.add_operands([one_input(given, true)?]);
    Ok(line)
}

pub const HEAD: ToolCommand = getopt_command("head", &[HEAD_OPTIONS, THREADS, INPUT], translate_head);

#[rustfmt::skip] // a row is a line
const HEAD_OPTIONS: &[Opt] = &[
    Opt::native("-h --headers", Takes::Value, "-h"),
    Opt::native("-n --records", Takes::Value, "-n"),
    Opt::native("-T --reference", Takes::Value, "-T"),
];

fn translate_head(given: &ParsedArguments) -> Result<NativeLine> {
    // `-@` is omitted, because one thread reads the first records.
    let mut line = NativeLine::new("head");
    line.add(given.native_words());
    line.add_operands([one_input(given, true)?]);
    Ok(line)
}

pub const REHEADER: ToolCommand = getopt_command("reheader", &[REHEADER_OPTIONS], translate_reheader);

#[rustfmt::skip] // a row is a line
const REHEADER_OPTIONS: &[Opt] = &[
    Opt::native("-P --no-PG", Takes::Nothing, "-P"),
    Opt::refused("-i --in-place", Takes::Nothing, "changes the input", "write to another file: readmill reheader HEADER IN -o OUT"),
    Opt::refused("-c --command", Takes::Value, "passes the header through a program", "readmill head IN | CMD > new.sam; readmill reheader new.sam IN -o OUT"),
];

fn translate_reheader(given: &ParsedArguments) -> Result<NativeLine> {
    let [header, input] = &given.operands[..] else {
        return Err(given.refusal_error("give a file with the new header and a file with reads"));
    };
    let mut line = NativeLine::new("reheader");
    line.add(given.native_words());
    line.add_operands([header.as_str(), input]);
    Ok(line)
}
