//! Translates samtools import and reset.

use readmill_record::Result;

use super::shared::{
    INPUT, INPUT_FORMAT, NO_PG, OUTPUT, THREADS, getopt_command, one_input, read_group_line,
};
use crate::grammar::{Opt, ParsedArguments, Takes};
use crate::line::{NativeLine, add_samtools_text_output, same_input_flag, total_threads};
use crate::tool::ToolCommand;

pub const IMPORT: ToolCommand = getopt_command(
    "import",
    &[IMPORT_OPTIONS, NO_PG, OUTPUT, THREADS, INPUT, INPUT_FORMAT],
    translate_import,
);

const NO_INDEX_READS: &str = "samtools adds barcodes only to first reads; to write BC and QT to both reads, use readmill import --i1 I1 --i2 I2";

#[rustfmt::skip] // a row is a line
const IMPORT_OPTIONS: &[Opt] = &[
    Opt::built("-s", Takes::Value, "--ends-by-name"),
    Opt::built("-0", Takes::Value, "--ends-by-name"),
    Opt::built("-1 --r1", Takes::Value, "the first file of the pair; needs -2"),
    Opt::built("-2 --r2", Takes::Value, "the second file of the pair; needs -1"),
    Opt::refused("--i1", Takes::Value, "reads barcodes from separate files", NO_INDEX_READS),
    Opt::refused("--i2", Takes::Value, "reads barcodes from separate files", NO_INDEX_READS),
    Opt::harmless("-b", Takes::Nothing, "used only with --i1 and --i2"),
    Opt::built("-i", Takes::Nothing, "--casava"),
    Opt::refused("-U --UMI --umi", Takes::Nothing, "moves UMIs from names to RX", "use readmill import --umi-from-name, which copies UMIs and does not change names"),
    Opt::harmless("--UMI-tag", Takes::Value, "used only with -U"),
    Opt::built("--barcode-tag", Takes::Value, "--casava=TAG; ignored without -i"),
    Opt::harmless("--quality-tag", Takes::Value, "used only with --i1 and --i2"),
    Opt::refused("-N --name2", Takes::Nothing, "uses the names in comments", "remove the first names: sed 's/^@[^ ]* /@/' reads.fq | readmill import -"),
    Opt::built("-r --rg-line", Takes::Values, "-R; several are joined into one line"),
    Opt::built("-R --rg", Takes::Value, "-R, with this ID"),
    Opt::built("-T", Takes::Value, "-C, with --keep-optional-fields for a list; refused with -i"),
    Opt::built("-o", Takes::Value, "-o"),
    Opt::built("-u", Takes::Nothing, "-l 0"),
    Opt::native("--order", Takes::Value, "--number-records"),
];

/// The start of the `@CO` line in which samtools import states how to convert the records back.
const REVERSE_COMMENT: &str = "Reverse with: samtools fastq";

fn translate_import(given: &ParsedArguments) -> Result<NativeLine> {
    let mut line = NativeLine::new("import --as-given --require-reads");
    let (files, reverse) = read_files_and_options(given)?;
    if files.len() == 1 {
        line.add(["--ends-by-name"]);
    }
    let group = requested_read_group_line(given)?;
    line.add_flag("-R", group.as_deref());
    let barcodes = given.last_value("--barcode-tag").unwrap_or("BC");
    let mut comment = format!("{REVERSE_COMMENT}{reverse}");
    if given.is_set("-i") {
        line.add([format!("--casava={barcodes}")]);
        comment += " -i --index-format 'i*i*'";
    }
    match given.last_value("-T") {
        None => {}
        Some(_) if given.is_set("-i") => {
            return Err(given
                .refusal_error("-i and -T are not supported together")
                .hint("use two runs: readmill import --casava, and readmill import -C"));
        }
        Some("*" | "") => drop(line.add(["-C"])),
        Some(tags) => {
            let order = given.last_value("--order").map(|tag| tag.split(':').next().unwrap_or(tag));
            let more = group.as_ref().map(|_| "RG").into_iter().chain(order);
            let kept: Vec<&str> = tags.split(',').chain(more).collect();
            line.add(["-C", "--keep-optional-fields", &kept.join(",")]);
        }
    }
    line.add_flag("--comment", Some(&comment)).add(given.native_words());
    line.add_flag("-@", Some(&total_threads(given)?));
    let level = given.is_set("-u").then_some("0");
    add_samtools_text_output(&mut line, given, given.last_value("-o").unwrap_or("-"), level)?;
    line.add(same_input_flag(&files)).add_operands(files);
    Ok(line)
}

/// Returns the read files, and the options of samtools fastq in the `@CO` line for these files.
fn read_files_and_options(given: &ParsedArguments) -> Result<(Vec<&str>, &'static str)> {
    let operands: Vec<&str> = given.operands.iter().map(String::as_str).collect();
    let named = ["-s", "-0", "-1", "-2"].map(|name| given.last_value(name));
    match (&operands[..], named) {
        (&[single], [None, None, None, None]) | (&[], [Some(single), None, None, None]) => {
            Ok((vec![single], " -n -o paired.fastq"))
        }
        (&[], [None, Some(single), None, None]) => Ok((vec![single], " -0 unpaired.fastq")),
        (&[first, last], [None, None, None, None]) | (&[], [None, None, Some(first), Some(last)]) => {
            Ok((vec![first, last], " -1 R1.fastq -2 R2.fastq"))
        }
        (&[], [None, None, None, None]) => Err(given.refusal_error("no reads are given")),
        (&[], [None, None, _, _]) => Err(given
            .refusal_error("-1 and -2 must be given together")
            .hint("-0 accepts only one file; its reads are flagged as first or last by /1 or /2 in their names")),
        (&[_, _, more, ..], [None, None, None, None]) => {
            Err(given.refusal_error(&format!("unexpected third file: {more}")))
        }
        _ => Err(given
            .refusal_error("pairs and single reads together are not supported; give one file, or two files of pairs")
            .hint("import pairs and single reads separately, then join the outputs: readmill cat a.bam b.bam -o OUT")),
    }
}

fn requested_read_group_line(given: &ParsedArguments) -> Result<Option<String>> {
    let texts: Vec<&str> = given.values("-r").collect();
    match (&texts[..], given.last_value("-R")) {
        ([], None) => Ok(None),
        ([], Some(id)) => Ok(Some(format!("@RG\\tID:{id}"))),
        (texts, _) => read_group_line(given, texts).map(Some),
    }
}

pub const RESET: ToolCommand = getopt_command(
    "reset",
    &[RESET_OPTIONS, NO_PG, OUTPUT, RESET_REFERENCE, THREADS, INPUT, INPUT_FORMAT],
    translate_reset,
);

#[rustfmt::skip] // a row is a line
const RESET_REFERENCE: &[Opt] = &[Opt::native("-T --reference", Takes::Value, "--reference")];

#[rustfmt::skip] // a row is a line
const RESET_OPTIONS: &[Opt] = &[
    Opt::built("-o", Takes::Value, "-o"),
    Opt::built("-x --remove-tag", Takes::Values, "--revert-clear, in addition to samtools' defaults; ^LIST becomes --keep-tag"),
    Opt::built("--keep-tag", Takes::Values, "--keep-optional-fields"),
    Opt::built("--reject-PG", Takes::Value, "--revert-programs-before, which replaces --revert-keep programs"),
    Opt::built("--no-RG", Takes::Nothing, "--revert-read-groups, and RG not in --keep-optional-fields"),
    Opt::native("--dupflag", Takes::Nothing, "--revert-keep duplicates"),
];

/// Fields that samtools reset removes by default.
const ALIGNMENT_FIELDS: &str = "AS,CC,CG,CP,H1,H2,HI,H0,IH,MC,MD,MQ,NM,SA,TS";

fn translate_reset(given: &ParsedArguments) -> Result<NativeLine> {
    // Other commands of samtools use the last value; reset stops.
    if let Some(name) = ["-o", "--reject-PG"].iter().find(|name| given.values(name).nth(1).is_some()) {
        return Err(given.refusal_error(&format!("{name} is given twice")));
    }
    let mut line = NativeLine::new(
        "filter --revert --revert-keep qualities --revert-keep hard-clips --revert-reverse , --revert-complement ,",
    );
    match given.last_value("--reject-PG").filter(|id| !id.is_empty()) {
        Some(id) => line.add(["--revert-programs-before", id]),
        None => line.add(["--revert-keep", "programs"]),
    };
    let removed: Vec<&str> = given.values("-x").filter(|list| !list.starts_with('^')).collect();
    let without = given.values("-x").filter_map(|list| list.strip_prefix('^'));
    let mut kept: Vec<&str> =
        without.chain(given.values("--keep-tag")).flat_map(|list| list.split(',')).collect();
    let (is_list, without_groups) = (!kept.is_empty(), given.is_set("--no-RG"));
    kept.retain(|tag| !(without_groups && *tag == "RG"));
    // If the fields to keep are listed, no other list has an effect.
    let cleared: Vec<&str> =
        if is_list { Vec::new() } else { [ALIGNMENT_FIELDS].into_iter().chain(removed).collect() };
    let cleared = if cleared.is_empty() { ",".to_string() } else { cleared.join(",") };
    line.add_flag("--revert-clear", Some(&cleared));
    if without_groups {
        line.add(["--revert-read-groups"]);
    }
    if is_list {
        let list = if kept.is_empty() { "none".to_string() } else { kept.join(",") };
        line.add_flag("--keep-optional-fields", Some(&list));
    }
    line.add(given.native_words());
    line.add_flag("-@", Some(&total_threads(given)?));
    add_samtools_text_output(&mut line, given, given.last_value("-o").unwrap_or("-"), None)?;
    line.add_operands([one_input(given, true)?]);
    Ok(line)
}
