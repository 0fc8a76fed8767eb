//! The command lines of bwa and bwa-mem2.

use std::path::Path;

use readmill_record::Result;

use super::grammar::{Grammar, Opt, ParsedArguments, Takes};
use super::line::NativeLine;
use super::tool::{LeadingArguments, Tool, ToolCommand, Translation};

pub const TOOL: Tool = Tool {
    name: "bwa",
    aliases: &[],
    version: "0.7.17",
    commands: COMMANDS,
    also: &[],
    parse_before: |_| Ok(LeadingArguments::default()),
};

pub const TOOL2: Tool = Tool { name: "bwa-mem2", version: "2.2.1", ..TOOL };

const COMMANDS: &[ToolCommand] = &[
    ToolCommand {
        name: "mem",
        grammar: Grammar::Getopt,
        options: &[MEM, ALIGNER_OPTIONS],
        make: Translation::Line(translate_mem),
    },
    ToolCommand {
        name: "index",
        grammar: Grammar::Getopt,
        options: &[INDEX],
        make: Translation::Line(translate_index),
    },
];

/// Size of a batch of bwa mem without `-K`, in bases per thread.
const BATCH_BASES_PER_THREAD: u64 = 10_000_000;

#[rustfmt::skip] // a row is a line
const MEM: &[Opt] = &[
    Opt::built("-t", Takes::Value, "-@; without -K, also sets the batch size: 10,000,000 bases per thread"),
    Opt::built("-K", Takes::Value, "-K; default 10,000,000 × threads"),
    Opt::refused("-x", Takes::Value, "sets parameters for long reads or contigs", "give the parameters separately: -A -B -O -E -L -k -W -r"),
    Opt::native("-p", Takes::Nothing, "--interleaved"),
    Opt::native("-R", Takes::Value, "-R"),
    Opt::refused("-H", Takes::Value, "adds lines to the header", "readmill writes @HD, @SQ, @RG, @PG"),
    Opt::built("-o", Takes::Value, "-o; always SAM, regardless of the name"),
    Opt::refused("-j", Takes::Nothing, "ignores the list of alternate contigs", "move REF.alt to another directory"),
    Opt::harmless("-v", Takes::Value, "affects only messages"),
    Opt::native("-C", Takes::Nothing, "-C"),
    Opt::refused("-V", Takes::Nothing, "writes the name of the reference to XR", ""),
];

#[rustfmt::skip] // a row is a line
const ALIGNER_OPTIONS: &[Opt] = &[
    Opt::built("-k", Takes::Value, BY_LETTER),
    Opt::built("-w", Takes::Value, BY_LETTER),
    Opt::built("-d", Takes::Value, BY_LETTER),
    Opt::built("-r", Takes::Value, BY_LETTER),
    Opt::built("-y", Takes::Value, BY_LETTER),
    Opt::built("-c", Takes::Value, BY_LETTER),
    Opt::built("-D", Takes::Value, BY_LETTER),
    Opt::built("-W", Takes::Value, BY_LETTER),
    Opt::built("-m", Takes::Value, BY_LETTER),
    Opt::built("-S", Takes::Nothing, BY_LETTER),
    Opt::built("-P", Takes::Nothing, BY_LETTER),
    Opt::built("-A", Takes::Value, BY_LETTER),
    Opt::built("-B", Takes::Value, BY_LETTER),
    Opt::built("-O", Takes::Value, BY_LETTER),
    Opt::built("-E", Takes::Value, BY_LETTER),
    Opt::built("-L", Takes::Value, BY_LETTER),
    Opt::built("-U", Takes::Value, BY_LETTER),
    Opt::built("-5", Takes::Nothing, BY_LETTER),
    Opt::built("-q", Takes::Nothing, BY_LETTER),
    Opt::built("-T", Takes::Value, BY_LETTER),
    Opt::built("-h", Takes::Value, BY_LETTER),
    Opt::built("-a", Takes::Nothing, BY_LETTER),
    Opt::built("-Y", Takes::Nothing, BY_LETTER),
    Opt::built("-M", Takes::Nothing, BY_LETTER),
    Opt::built("-I", Takes::Value, BY_LETTER),
];

const BY_LETTER: &str = "--bwa, with the same letter";

/// Translates `bwa mem`. As in bwa, the batch size depends on the number of threads, so `-K` is
/// always written.
fn translate_mem(given: &ParsedArguments) -> Result<NativeLine> {
    let mut line = NativeLine::new("align --as-given --complete-index");
    line.add(given.native_words());
    let threads = given.last_value("-t").unwrap_or("1").trim();
    let number: u16 = threads
        .parse()
        .map_err(|_| given.refusal_error(&format!("-t {threads} is not a number of threads")))?;
    line.add_flag("-@", Some(&number.max(1).to_string()));
    let bases = (u64::from(number.max(1)) * BATCH_BASES_PER_THREAD).to_string();
    line.add_flag("-K", Some(given.last_value("-K").unwrap_or(&bases)));
    let mut letters = Vec::new();
    for option in ALIGNER_OPTIONS {
        let Some(value) = given.last_value(option.names) else { continue };
        letters.push(option.names);
        letters.extend((option.takes != Takes::Nothing).then_some(value));
    }
    if !letters.is_empty() {
        line.add([format!("--bwa={}", letters.join(" "))]);
    }
    line.add(["-o", given.last_value("-o").unwrap_or("-"), "-O", "sam"]);
    let operands = &given.operands[..];
    let operands = match operands {
        // With `-p`, bwa ignores a second file.
        [_, _, _] if given.is_set("-p") => &operands[..2],
        [_, _] | [_, _, _] => operands,
        _ => {
            return Err(given.refusal_error("give the index prefix, and one or two files with reads"));
        }
    };
    let prefix = find_index_prefix(given, &operands[0]);
    line.add_operands(std::iter::once(prefix.as_str()).chain(operands[1..].iter().map(String::as_str)));
    Ok(line)
}

/// Returns the prefix of the index files, as bwa finds them. An index built by `bwa index -6`
/// (`REF.64.*`) takes precedence, unless readmill has its own index and there is no list of
/// alternate contigs for the other index.
fn find_index_prefix(given: &ParsedArguments, reference: &str) -> String {
    let is_file = |ending: &str| Path::new(&format!("{reference}{ending}")).is_file();
    let is_of_bwa = given.command.starts_with("bwa ") && is_file(".64.bwt");
    let has_own = is_file(".bwt.2bit.64") && !is_file(".64.alt");
    if is_of_bwa && !has_own { format!("{reference}.64") } else { reference.to_string() }
}

#[rustfmt::skip] // a row is a line
const INDEX: &[Opt] = &[
    Opt::harmless("-a", Takes::Value, "affects only how the index is built"),
    Opt::native("-p", Takes::Value, "-o"),
    Opt::harmless("-b", Takes::Value, "affects only how the index is built"),
    Opt::refused("-6", Takes::Nothing, "names the index REF.64.*", "omit it: readmill align uses REF.*"),
];

fn translate_index(given: &ParsedArguments) -> Result<NativeLine> {
    let [reference] = &given.operands[..] else {
        return Err(given.refusal_error("give one FASTA file"));
    };
    let mut line = NativeLine::new("index");
    line.add(given.native_words()).add_operands([reference.as_str()]);
    Ok(line)
}
