//! Translates Picard MergeBamAlignment.

use readmill_record::Result;

use super::shared::{COMMON, MD5, STRINGENCY, add_common_flags, barclay_command, translate_sort_order};
use crate::grammar::{Opt, ParsedArguments, Takes};
use crate::line::{NativeLine, standard_stream};
use crate::tool::ToolCommand;

pub const MERGE_BAM_ALIGNMENT: ToolCommand =
    barclay_command("MergeBamAlignment", &[OPTIONS, MD5, STRINGENCY, COMMON], translate_merge_alignment);

#[rustfmt::skip] // a row is a line
const OPTIONS: &[Opt] = &[
    Opt::built("-UNMAPPED --UNMAPPED_BAM", Takes::Value, "the first input"),
    Opt::built("-ALIGNED --ALIGNED_BAM", Takes::Values, "the other inputs; if the order differs from that of the reads, a file is sorted by name first, as in Picard; a pipe is not"),
    Opt::built("-R1_ALIGNED --READ1_ALIGNED_BAM", Takes::Values, "--first-aligned"),
    Opt::built("-R2_ALIGNED --READ2_ALIGNED_BAM", Takes::Values, "--last-aligned"),
    Opt::built("-O --OUTPUT", Takes::Value, "-o"),
    Opt::built("-R --REFERENCE_SEQUENCE", Takes::Value, "--reference; required, as in Picard"),
    Opt::built("-SO --SORT_ORDER", Takes::Value, "--sort; default coordinate, which also adds --nm-md-uq"),
    Opt::built("-PG --PROGRAM_RECORD_ID", Takes::Value, "--program-id; needs PROGRAM_GROUP_VERSION and PROGRAM_GROUP_COMMAND_LINE"),
    Opt::built("-PG_VERSION --PROGRAM_GROUP_VERSION", Takes::Value, "--program-version"),
    Opt::built("-PG_COMMAND --PROGRAM_GROUP_COMMAND_LINE", Takes::Value, "--program-command"),
    Opt::built("-PG_NAME --PROGRAM_GROUP_NAME", Takes::Value, "--program-name, with PROGRAM_RECORD_ID"),
    Opt::native_if_false("--ADD_PG_TAG_TO_READS", "--no-program-field"),
    Opt::harmless("-PE --PAIRED_RUN", Takes::Truth, "Picard also ignores it"),
    Opt::built("-ORIENTATIONS --EXPECTED_ORIENTATIONS", Takes::Values, "--orientations; default FR"),
    Opt::built("-JUMP --JUMP_SIZE", Takes::Value, "--orientations RF, for any number, as in Picard"),
    Opt::built("--ALIGNER_PROPER_PAIR_FLAGS", Takes::Truth, "--aligner-proper-pairs"),
    Opt::native_if_false("--CLIP_ADAPTERS", "--no-clip-adapters"),
    Opt::built("--CLIP_OVERLAPPING_READS", Takes::Truth, "--clip-overlaps none, if false"),
    Opt::built("--HARD_CLIP_OVERLAPPING_READS", Takes::Truth, "--clip-overlaps hard"),
    Opt::built("--CLIP_OVERLAPPING_READS_OPERATOR", Takes::Value, "--clip-overlaps hard, if H; an argument of another release of Picard that WARP workflows use"),
    Opt::built("--IS_BISULFITE_SEQUENCE", Takes::Truth, "refused with SORT_ORDER=coordinate, because it would change NM and UQ; otherwise ignored"),
    Opt::native("--ALIGNED_READS_ONLY", Takes::Truth, "--aligned-only"),
    Opt::built("-MAX_GAPS --MAX_INSERTIONS_OR_DELETIONS", Takes::Value, "--max-gaps; -1: no limit; default 1"),
    Opt::built("--ATTRIBUTES_TO_RETAIN", Takes::Values, "--keep-fields"),
    Opt::built("--ATTRIBUTES_TO_REMOVE", Takes::Values, "--drop-fields"),
    Opt::built("-RV --ATTRIBUTES_TO_REVERSE", Takes::Values, "--reverse-fields, in addition to Picard's defaults, which null removes"),
    Opt::built("-RC --ATTRIBUTES_TO_REVERSE_COMPLEMENT", Takes::Values, "--complement-fields, in addition to Picard's defaults, which null removes"),
    Opt::built("-R1_TRIM --READ1_TRIM", Takes::Value, "the first number of --trimmed"),
    Opt::built("-R2_TRIM --READ2_TRIM", Takes::Value, "the second number of --trimmed"),
    Opt::built("--PRIMARY_ALIGNMENT_STRATEGY", Takes::Value, "--primary best-mapq, earliest-base, best-end-mapq or most-distant"),
    Opt::native_if_false("--INCLUDE_SECONDARY_ALIGNMENTS", "--no-secondary"),
    Opt::native_if_false("-MC --ADD_MATE_CIGAR", "--no-mate-cigar"),
    Opt::built("-UNMAP_CONTAM --UNMAP_CONTAMINANT_READS", Takes::Truth, "--unmap-contaminants"),
    Opt::built("--MIN_UNCLIPPED_BASES", Takes::Value, "the number of --unmap-contaminants; ignored without UNMAP_CONTAMINANT_READS"),
    Opt::built("--UNMAPPED_READ_STRATEGY", Takes::Value, "--contaminant-alignments leave, leave-all, copy or move; ignored without UNMAP_CONTAMINANT_READS"),
    Opt::built("--MATCHING_DICTIONARY_TAGS", Takes::Values, "--match-dictionary, in addition to M5 and LN"),
];

/// Picard's values of PRIMARY_ALIGNMENT_STRATEGY, with readmill's values of `--primary`.
const PRIMARY_STRATEGIES: [(&str, &str); 4] = [
    ("BestMapq", "best-mapq"),
    ("EarliestFragment", "earliest-base"),
    ("BestEndMapq", "best-end-mapq"),
    ("MostDistant", "most-distant"),
];
/// Picard's values of UNMAPPED_READ_STRATEGY, with readmill's values of `--contaminant-alignments`.
const CONTAMINANT_STRATEGIES: [(&str, &str); 4] = [
    ("DO_NOT_CHANGE", "leave"),
    ("DO_NOT_CHANGE_INVALID", "leave-all"),
    ("COPY_TO_TAG", "copy"),
    ("MOVE_TO_TAG", "move"),
];

/// Arguments that take a list of fields: Picard's name, readmill's flag, and Picard's default.
const FIELD_LISTS: [(&str, &str, &str); 5] = [
    ("--ATTRIBUTES_TO_RETAIN", "--keep-fields", ""),
    ("--ATTRIBUTES_TO_REMOVE", "--drop-fields", ""),
    ("--ATTRIBUTES_TO_REVERSE", "--reverse-fields", "OQ,U2"),
    ("--ATTRIBUTES_TO_REVERSE_COMPLEMENT", "--complement-fields", "E2,SQ"),
    ("--MATCHING_DICTIONARY_TAGS", "--match-dictionary", "M5,LN"),
];

/// Translates the value of an argument by a table of names. Returns `None` if the argument is not
/// given.
fn translate_value(
    given: &ParsedArguments,
    option: &str,
    names: &[(&str, &'static str)],
) -> Result<Option<&'static str>> {
    let Some(value) = given.last_value(option) else { return Ok(None) };
    let found = names.iter().find(|(name, _)| *name == value).map(|(_, own)| *own);
    let all = names.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ");
    found.map(Some).ok_or_else(|| given.refusal_error(&format!("{option} {value} is not one of {all}")))
}

fn translate_merge_alignment(given: &ParsedArguments) -> Result<NativeLine> {
    let (unaligned, output) = (given.require_value("--UNMAPPED_BAM")?, given.require_value("--OUTPUT")?);
    let reference = given.require_value("--REFERENCE_SEQUENCE")?;
    let sort = translate_sort_order(given, given.last_value("--SORT_ORDER").unwrap_or("coordinate"))?;
    if sort != "coordinate" && given.is_set("--CREATE_INDEX") {
        return Err(given
            .refusal_error("CREATE_INDEX needs SORT_ORDER=coordinate")
            .hint("omit CREATE_INDEX, or sort by coordinate"));
    }
    if sort == "coordinate" && given.is_set("--IS_BISULFITE_SEQUENCE") {
        return Err(given
            .refusal_error("IS_BISULFITE_SEQUENCE is not supported: readmill would compute NM and UQ as for other reads")
            .hint("merge with SORT_ORDER=unsorted, which does not compute NM and UQ, then sort: readmill sort IN -o OUT"));
    }
    let mut line = NativeLine::new("merge-alignment");
    line.add(given.native_words());
    for (option, flag, own) in FIELD_LISTS {
        let usual = (!given.is_default_removed(option) && !own.is_empty()).then_some(own);
        let tags: Vec<&str> = usual.into_iter().chain(given.values(option)).collect();
        let list = if tags.is_empty() { ",".to_string() } else { tags.join(",") };
        let is_usual = list == own || own.is_empty() && tags.is_empty();
        line.add_flag(flag, Some(list.as_str()).filter(|_| !is_usual));
    }
    add_pair_flags(&mut line, given)?;
    add_alignment_flags(&mut line, given)?;
    add_program_flags(&mut line, given)?;
    line.add_flag("--reference", Some(reference)).add_flag("--sort", Some(sort));
    if sort == "coordinate" {
        line.add(["--nm-md-uq"]);
    }
    add_common_flags(&mut line, given, output);
    let ends = ["--READ1_ALIGNED_BAM", "--READ2_ALIGNED_BAM"]
        .map(|name| given.values(name).collect::<Vec<_>>());
    let aligned: Vec<&str> = given.values("--ALIGNED_BAM").collect();
    match (&aligned[..], &ends) {
        ([], [first, last]) if !first.is_empty() && !last.is_empty() => {
            for (flag, files) in [("--first-aligned", first), ("--last-aligned", last)] {
                files.iter().for_each(|file| {
                    line.add_flag(flag, Some(standard_stream(file)));
                });
            }
        }
        ([_, ..], [first, last]) if first.is_empty() && last.is_empty() => {}
        ([_, ..], _) => {
            return Err(given.refusal_error(
                "ALIGNED_BAM and READ1_ALIGNED_BAM, READ2_ALIGNED_BAM exclude each other",
            ));
        }
        _ => {
            return Err(given.refusal_error(
                "ALIGNED_BAM, or both READ1_ALIGNED_BAM and READ2_ALIGNED_BAM, must be given",
            ));
        }
    }
    line.add_operands(std::iter::once(unaligned).chain(aligned));
    Ok(line)
}

fn add_pair_flags(line: &mut NativeLine, given: &ParsedArguments) -> Result<()> {
    let orientations: Vec<&str> = given.values("--EXPECTED_ORIENTATIONS").collect();
    let jumps = given.last_value("--JUMP_SIZE").is_some();
    if jumps && !orientations.is_empty() {
        return Err(given
            .refusal_error("JUMP_SIZE and EXPECTED_ORIENTATIONS exclude each other")
            .hint("JUMP_SIZE is the same as EXPECTED_ORIENTATIONS=RF"));
    }
    if given.is_set("--ALIGNER_PROPER_PAIR_FLAGS") {
        line.add(["--aligner-proper-pairs"]);
    } else if jumps {
        line.add(["--orientations", "RF"]);
    } else if !orientations.is_empty() && orientations != ["FR"] {
        line.add_flag("--orientations", Some(&orientations.join(",")));
    }
    let is_hard = match given.last_value("--CLIP_OVERLAPPING_READS_OPERATOR") {
        None | Some("S") => given.is_set("--HARD_CLIP_OVERLAPPING_READS"),
        Some("H") => true,
        Some(other) => {
            return Err(
                given.refusal_error(&format!("CLIP_OVERLAPPING_READS_OPERATOR {other} is not S or H"))
            );
        }
    };
    let how = match (given.last_value("--CLIP_OVERLAPPING_READS"), is_hard) {
        (Some("false"), _) => Some("none"),
        (_, true) => Some("hard"),
        _ => None,
    };
    line.add_flag("--clip-overlaps", how);
    Ok(())
}

fn add_alignment_flags(line: &mut NativeLine, given: &ParsedArguments) -> Result<()> {
    let max_gaps = given.last_value("--MAX_INSERTIONS_OR_DELETIONS").unwrap_or("1");
    line.add_flag("--max-gaps", Some(max_gaps).filter(|max_gaps| *max_gaps != "-1"));
    let primary = translate_value(given, "--PRIMARY_ALIGNMENT_STRATEGY", &PRIMARY_STRATEGIES)?;
    line.add_flag("--primary", primary.filter(|name| *name != "best-mapq"));
    let contaminants = translate_value(given, "--UNMAPPED_READ_STRATEGY", &CONTAMINANT_STRATEGIES)?;
    if given.is_set("--UNMAP_CONTAMINANT_READS") {
        let min_unclipped = given.last_value("--MIN_UNCLIPPED_BASES").unwrap_or("32");
        line.add([format!("--unmap-contaminants={min_unclipped}")]);
        line.add_flag("--contaminant-alignments", contaminants.filter(|name| *name != "leave"));
    }
    let [first, last] =
        ["--READ1_TRIM", "--READ2_TRIM"].map(|name| given.last_value(name).unwrap_or("0"));
    if [first, last] != ["0", "0"] {
        line.add_flag("--trimmed", Some(&format!("{first},{last}")));
    }
    Ok(())
}

/// Adds the aligner's `@PG` line. Picard requires its three arguments together.
fn add_program_flags(line: &mut NativeLine, given: &ParsedArguments) -> Result<()> {
    let [id, version, call] =
        ["--PROGRAM_RECORD_ID", "--PROGRAM_GROUP_VERSION", "--PROGRAM_GROUP_COMMAND_LINE"]
            .map(|name| given.last_value(name));
    match (id, version, call) {
        (None, None, None) => {}
        (Some(_), Some(_), Some(_)) => {
            line.add_flag("--program-id", id);
            line.add_flag("--program-name", given.last_value("--PROGRAM_GROUP_NAME"));
            line.add_flag("--program-version", version).add_flag("--program-command", call);
        }
        _ => {
            return Err(given.refusal_error(
                "PROGRAM_RECORD_ID, PROGRAM_GROUP_VERSION and PROGRAM_GROUP_COMMAND_LINE must be given together",
            ));
        }
    }
    Ok(())
}
