//! The command lines of elPrep.

use std::path::Path;

use readmill_record::Result;

use super::grammar::{Grammar, Opt, ParsedArguments, Takes};
use super::headers;
use super::line::{NativeLine, format_of_name, standard_stream};
use super::tool::{LeadingArguments, Tool, ToolCommand, Translation};

pub const TOOL: Tool = Tool {
    name: "elprep",
    aliases: &[],
    version: "5.1.3",
    commands: COMMANDS,
    also: &[],
    parse_before: |_| Ok(LeadingArguments::default()),
};

const COMMANDS: &[ToolCommand] = &[
    ToolCommand {
        name: "filter",
        grammar: GO,
        options: &[STEPS, FILTER],
        make: Translation::Line(translate_filter),
    },
    ToolCommand {
        name: "sfm",
        grammar: GO,
        options: &[STEPS, SFM],
        make: Translation::Line(translate_filter),
    },
    ToolCommand {
        name: "split",
        grammar: GO,
        options: &[],
        make: Translation::Refused(NOT_SPLIT, SPLIT_WAY),
    },
    ToolCommand {
        name: "merge",
        grammar: GO,
        options: &[],
        make: Translation::Refused(NOT_SPLIT, MERGE_WAY),
    },
];

const GO: Grammar = Grammar::Go { operands: 2 };

const NOT_SPLIT: &str = "readmill limits its memory without split files, and has no spread file";
const SPLIT_WAY: &str = "readmill prep does everything in one run; to split a file by contigs, use readmill split IN --by contigs -o PREFIX";
const MERGE_WAY: &str =
    "readmill prep does everything in one run; to merge files, use readmill merge a.bam b.bam -o OUT";

#[rustfmt::skip] // a row is a line
const STEPS: &[Opt] = &[
    Opt::built("--output-type", Takes::Value, "-O"),
    Opt::native("--replace-reference-sequences", Takes::Value, "--sequence-dictionary"),
    Opt::native("--filter-unmapped-reads", Takes::Nothing, "--drop-unmapped"),
    Opt::native("--filter-unmapped-reads-strict", Takes::Nothing, "--drop-unmapped-strict"),
    Opt::native("--filter-mapping-quality", Takes::Value, "--min-mapq"),
    Opt::native("--filter-non-exact-mapping-reads", Takes::Nothing, "--exact-mapping"),
    Opt::native("--filter-non-exact-mapping-reads-strict", Takes::Nothing, "--exact-mapping-strict"),
    Opt::native("--filter-non-overlapping-reads", Takes::Value, "--overlap"),
    Opt::native("--replace-read-group", Takes::Value, "--read-group"),
    Opt::built("--mark-duplicates", Takes::Nothing, "--mark-duplicates --duplicate-mode coordinate; ties as in Picard (row 163 of parity)"),
    Opt::native("--mark-optical-duplicates", Takes::Value, "--metrics"),
    Opt::native("--optical-duplicates-pixel-distance", Takes::Value, "--optical-distance"),
    Opt::built("--remove-duplicates", Takes::Nothing, "--remove-duplicates; without --mark-duplicates, --exclude-flags 0x400"),
    Opt::native("--remove-optional-fields", Takes::Value, "--remove-optional-fields"),
    Opt::native("--keep-optional-fields", Takes::Value, "--keep-optional-fields"),
    Opt::built("--sorting-order", Takes::Value, "--sort coordinate or lexicographic; keep: default; unknown and unsorted are refused"),
    Opt::native("--clean-sam", Takes::Nothing, "--clean-sam"),
    Opt::built("--reference --bqsr-reference", Takes::Value, "--reference; for X.elfasta, the FASTA file in the same directory"),
    Opt::native("--quantize-levels", Takes::Value, "--quantize-quals"),
    Opt::built("--sqq", Takes::Value, "--static-quantized-quals, one by one"),
    Opt::native("--max-cycle", Takes::Value, "--maximum-cycle-value"),
    Opt::built("--known-sites", Takes::Value, "--known-sites, one by one; for X.elsites, the VCF or BED file in the same directory, if it exists"),
    Opt::built("--haplotypecaller", Takes::Value, "--call FILE --call-mode gvcf; the records of GATK 4.6.2.0, and FILE.tbi if FILE is compressed; needs --sorting-order coordinate or sorted reads"),
    Opt::built("--reference-confidence", Takes::Value, "--call-mode gvcf, bp or vcf; without --haplotypecaller, ignored"),
    Opt::built("--sample-name", Takes::Value, "nothing, if all reads are of this sample; otherwise refused"),
    Opt::refused("--activity-profile", Takes::Value, "writes the activity of each position", ""),
    Opt::refused("--assembly-regions", Takes::Value, "writes the assembled regions", ""),
    Opt::only("--assembly-region-padding", Takes::Value, &["100"], "changes the regions that are assembled", ""),
    Opt::refused("--target-regions", Takes::Value, "drops reads outside of the regions after duplicate marking", "readmill prep --overlap BED drops them before duplicate marking; --bqsr-intervals BED counts only reads in the regions, and --call-intervals BED calls variants only there"),
    Opt::native("--nr-of-threads", Takes::Value, "-@"),
    Opt::harmless("--timed", Takes::Nothing, "affects only messages"),
    Opt::harmless("--log-path", Takes::Value, "messages are written to standard error"),
];

#[rustfmt::skip] // a row is a line
const FILTER: &[Opt] = &[Opt::built("--bqsr", Takes::Value, "--bqsr --bqsr-table TABLE; qualities as in GATK (row 164 of parity)")];

#[rustfmt::skip] // a row is a line
const SFM: &[Opt] = &[
    Opt::built("--bqsr", Takes::Value, "--bqsr --bqsr-table TABLE; qualities as in GATK (row 164 of parity)"),
    Opt::harmless("--intermediate-files-output-prefix", Takes::Value, "readmill does not write such files"),
    Opt::harmless("--intermediate-files-output-type", Takes::Value, "readmill does not write such files"),
    Opt::native("--tmp-path", Takes::Value, "--temp-dir"),
    Opt::harmless("--single-end", Takes::Nothing, "readmill does not split files here"),
    Opt::harmless("--contig-group-size", Takes::Value, "readmill does not split files here"),
];

/// Translates `filter` and `sfm`, which differ only in how elPrep divides the work.
fn translate_filter(given: &ParsedArguments) -> Result<NativeLine> {
    let [input, output] = &given.operands[..] else {
        return Err(given.refusal_error("give one input and one output"));
    };
    let mut line = NativeLine::new("prep");
    line.add(given.native_words());
    if given.is_set("--mark-duplicates") {
        line.add(["--mark-duplicates", "--duplicate-mode", "coordinate"]);
        line.add(given.is_set("--remove-duplicates").then_some("--remove-duplicates"));
    } else if given.is_set("--mark-optical-duplicates") {
        return Err(given.refusal_error("--mark-optical-duplicates needs --mark-duplicates"));
    } else if given.is_set("--remove-duplicates") {
        // elPrep then drops the reads that the input marks, and marks no others.
        line.add(["--exclude-flags", "0x400"]);
    }
    match given.last_value("--sorting-order").unwrap_or("keep") {
        "keep" => {}
        "coordinate" => drop(line.add(["--sort", "coordinate"])),
        "queryname" => drop(line.add(["--sort", "lexicographic"])),
        order => {
            return Err(given
                .refusal_error(&format!(
                    "--sorting-order {order} is not supported: it changes only the header"
                ))
                .hint("use keep, coordinate or queryname"));
        }
    }
    let levels = given.last_value("--sqq").map_or("", |list| list.trim_matches(['[', ']']));
    for level in levels.split(',').map(str::trim).filter(|level| !level.is_empty()) {
        line.add_flag("--static-quantized-quals", Some(level));
    }
    if let Some(table) = given.last_value("--bqsr") {
        line.add(["--bqsr", "--bqsr-table", table]);
    }
    if let Some(reference) = given.last_value("--reference") {
        line.add_flag(
            "--reference",
            Some(&require_original_file(
                given,
                reference,
                "elfasta",
                &["fasta", "fa", "fasta.gz", "fa.gz"],
            )?),
        );
    }
    if let Some(file) = given.last_value("--haplotypecaller") {
        let mode = translate_call_mode(given, input)?;
        line.add(["--call", file, "--call-mode", mode]);
    }
    for sites in given.last_value("--known-sites").into_iter().flat_map(|list| list.split(',')) {
        // readmill also reads elPrep's own sites format, but the file from which it was made
        // contains more information.
        let sites = sites.trim();
        let made_from = find_original_file(sites, "elsites", &["vcf.gz", "vcf", "bed", "bed.gz"]);
        line.add_flag("--known-sites", Some(made_from.as_deref().unwrap_or(sites)));
    }
    let output = standard_stream(output);
    line.add_flag("-o", Some(output)).add(["--no-index"]);
    let format = given.last_value("--output-type").map(str::to_ascii_lowercase);
    let unnamed = (format_of_name(output).is_none() && output != "-").then(|| "bam".to_string());
    line.add_flag("-O", format.or(unnamed).as_deref());
    line.add_operands([standard_stream(input)]);
    Ok(line)
}

/// Returns the value of `--call-mode`. Refuses what readmill cannot do when it calls variants.
fn translate_call_mode(given: &ParsedArguments, input: &str) -> Result<&'static str> {
    if !given.is_set("--reference") {
        return Err(given.refusal_error("--haplotypecaller needs --reference"));
    }
    if given.last_value("--sorting-order") == Some("queryname") {
        return Err(given
            .refusal_error("--haplotypecaller is not supported with --sorting-order queryname")
            .hint("sort by coordinate: --sorting-order coordinate"));
    }
    if let Some(sample) = given.last_value("--sample-name") {
        let is_sample = match given.last_value("--replace-read-group") {
            Some(group) => {
                group.split_whitespace().any(|field| field.strip_prefix("SM:") == Some(sample))
            }
            None => headers::has_only_sample(given, input, sample)?,
        };
        if !is_sample {
            return Err(headers::other_sample_error(given, input, sample));
        }
    }
    match given.last_value("--reference-confidence").unwrap_or("GVCF").to_ascii_uppercase().as_str() {
        "GVCF" => Ok("gvcf"),
        "BP_RESOLUTION" => Ok("bp"),
        "NONE" => Ok("vcf"),
        other => {
            let what = format!("--reference-confidence {other} is not a mode");
            Err(given.refusal_error(&what).hint("use GVCF, BP_RESOLUTION or NONE"))
        }
    }
}

/// Returns the file from which elPrep's own file `path` was made: the same name with one of the
/// suffixes `others` instead of `end`. `None` if there is no such file.
fn find_original_file(path: &str, end: &str, others: &[&str]) -> Option<String> {
    let stem = path.strip_suffix(end)?;
    others.iter().map(|other| format!("{stem}{other}")).find(|file| Path::new(file).exists())
}

/// Like [`find_original_file`], but returns an error if the original file does not exist. A path
/// without the suffix `end` is returned unchanged.
fn require_original_file(
    given: &ParsedArguments,
    path: &str,
    end: &str,
    others: &[&str],
) -> Result<String> {
    let Some(stem) = path.strip_suffix(end) else { return Ok(path.to_string()) };
    find_original_file(path, end, others).ok_or_else(|| {
        let names: Vec<String> = others.iter().map(|other| format!("{stem}{other}")).collect();
        given
            .refusal_error(&format!(
                "readmill cannot read {path}, and none of these files exists: {}",
                names.join(", ")
            ))
            .hint("give the original file instead")
    })
}
