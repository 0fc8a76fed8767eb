//! Translates Picard MergeBamAlignment.

use readmill_record::Result;

use super::super::grammar::{Given, Opt, Takes};
use super::super::line::{Line, standard_stream};
use super::super::tool::Command;
use super::shared::{COMMON, MD5, STRINGENCY, command, common, order};

pub const MERGE_BAM_ALIGNMENT: Command =
    command("MergeBamAlignment", &[OPTIONS, MD5, STRINGENCY, COMMON], merge_bam_alignment);

#[rustfmt::skip] // a row is a line
const OPTIONS: &[Opt] = &[
    Opt::built("-UNMAPPED --UNMAPPED_BAM", Takes::Value, "the first input"),
    Opt::built("-ALIGNED --ALIGNED_BAM", Takes::Values, "the other inputs; one that is in another order than the reads is sorted by name first, as Picard does, unless it is a pipe"),
    Opt::built("-R1_ALIGNED --READ1_ALIGNED_BAM", Takes::Values, "--first-aligned"),
    Opt::built("-R2_ALIGNED --READ2_ALIGNED_BAM", Takes::Values, "--last-aligned"),
    Opt::built("-O --OUTPUT", Takes::Value, "-o"),
    Opt::built("-R --REFERENCE_SEQUENCE", Takes::Value, "--reference; must be given, as in Picard"),
    Opt::built("-SO --SORT_ORDER", Takes::Value, "--sort; coordinate without it, and then --nm-md-uq, too"),
    Opt::built("-PG --PROGRAM_RECORD_ID", Takes::Value, "--program-id; with it, PROGRAM_GROUP_VERSION and PROGRAM_GROUP_COMMAND_LINE must be given"),
    Opt::built("-PG_VERSION --PROGRAM_GROUP_VERSION", Takes::Value, "--program-version"),
    Opt::built("-PG_COMMAND --PROGRAM_GROUP_COMMAND_LINE", Takes::Value, "--program-command"),
    Opt::built("-PG_NAME --PROGRAM_GROUP_NAME", Takes::Value, "--program-name, with PROGRAM_RECORD_ID"),
    Opt::unless("--ADD_PG_TAG_TO_READS", "--no-program-field"),
    Opt::harmless("-PE --PAIRED_RUN", Takes::Truth, "Picard ignores it, too"),
    Opt::built("-ORIENTATIONS --EXPECTED_ORIENTATIONS", Takes::Values, "--orientations; FR without it"),
    Opt::built("-JUMP --JUMP_SIZE", Takes::Value, "--orientations RF, whatever the number, as in Picard"),
    Opt::built("--ALIGNER_PROPER_PAIR_FLAGS", Takes::Truth, "--aligner-proper-pairs"),
    Opt::unless("--CLIP_ADAPTERS", "--no-clip-adapters"),
    Opt::built("--CLIP_OVERLAPPING_READS", Takes::Truth, "--clip-overlaps none, if it is false"),
    Opt::built("--HARD_CLIP_OVERLAPPING_READS", Takes::Truth, "--clip-overlaps hard"),
    Opt::built("--CLIP_OVERLAPPING_READS_OPERATOR", Takes::Value, "--clip-overlaps hard, if it is H; of another release of Picard, as workflows of WARP write it"),
    Opt::built("--IS_BISULFITE_SEQUENCE", Takes::Truth, "refused with SORT_ORDER=coordinate, where it would count other differences in NM and UQ; nothing else"),
    Opt::native("--ALIGNED_READS_ONLY", Takes::Truth, "--aligned-only"),
    Opt::built("-MAX_GAPS --MAX_INSERTIONS_OR_DELETIONS", Takes::Value, "--max-gaps, none with -1; 1 without it"),
    Opt::built("--ATTRIBUTES_TO_RETAIN", Takes::Values, "--keep-fields"),
    Opt::built("--ATTRIBUTES_TO_REMOVE", Takes::Values, "--drop-fields"),
    Opt::built("-RV --ATTRIBUTES_TO_REVERSE", Takes::Values, "--reverse-fields, in addition to Picard's own, which null takes away"),
    Opt::built("-RC --ATTRIBUTES_TO_REVERSE_COMPLEMENT", Takes::Values, "--complement-fields, in addition to Picard's own, which null takes away"),
    Opt::built("-R1_TRIM --READ1_TRIM", Takes::Value, "the first number of --trimmed"),
    Opt::built("-R2_TRIM --READ2_TRIM", Takes::Value, "the second number of --trimmed"),
    Opt::built("--PRIMARY_ALIGNMENT_STRATEGY", Takes::Value, "--primary best-mapq, earliest-base, best-end-mapq or most-distant"),
    Opt::unless("--INCLUDE_SECONDARY_ALIGNMENTS", "--no-secondary"),
    Opt::unless("-MC --ADD_MATE_CIGAR", "--no-mate-cigar"),
    Opt::built("-UNMAP_CONTAM --UNMAP_CONTAMINANT_READS", Takes::Truth, "--unmap-contaminants"),
    Opt::built("--MIN_UNCLIPPED_BASES", Takes::Value, "the number of --unmap-contaminants; nothing without UNMAP_CONTAMINANT_READS"),
    Opt::built("--UNMAPPED_READ_STRATEGY", Takes::Value, "--contaminant-alignments leave, leave-all, copy or move; nothing without UNMAP_CONTAMINANT_READS"),
    Opt::built("--MATCHING_DICTIONARY_TAGS", Takes::Values, "--match-dictionary, in addition to M5 and LN"),
];

/// Picard's values of PRIMARY_ALIGNMENT_STRATEGY, and readmill's values of `--primary`.
const STRATEGIES: [(&str, &str); 4] = [
    ("BestMapq", "best-mapq"),
    ("EarliestFragment", "earliest-base"),
    ("BestEndMapq", "best-end-mapq"),
    ("MostDistant", "most-distant"),
];
/// Picard's values of UNMAPPED_READ_STRATEGY, and readmill's values of
/// `--contaminant-alignments`.
const CONTAMINANTS: [(&str, &str); 4] = [
    ("DO_NOT_CHANGE", "leave"),
    ("DO_NOT_CHANGE_INVALID", "leave-all"),
    ("COPY_TO_TAG", "copy"),
    ("MOVE_TO_TAG", "move"),
];

/// Arguments that take a list of fields: Picard's name, readmill's flag, and Picard's
/// default.
const LISTS: [(&str, &str, &str); 5] = [
    ("--ATTRIBUTES_TO_RETAIN", "--keep-fields", ""),
    ("--ATTRIBUTES_TO_REMOVE", "--drop-fields", ""),
    ("--ATTRIBUTES_TO_REVERSE", "--reverse-fields", "OQ,U2"),
    ("--ATTRIBUTES_TO_REVERSE_COMPLEMENT", "--complement-fields", "E2,SQ"),
    ("--MATCHING_DICTIONARY_TAGS", "--match-dictionary", "M5,LN"),
];

/// Translates the value of an argument with a table of names. Returns `None` if the
/// argument is not given.
fn named(given: &Given, option: &str, names: &[(&str, &'static str)]) -> Result<Option<&'static str>> {
    let Some(value) = given.value(option) else { return Ok(None) };
    let found = names.iter().find(|(name, _)| *name == value).map(|(_, own)| *own);
    let all = names.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ");
    found.map(Some).ok_or_else(|| given.refuse(&format!("{option} {value} is none of {all}")))
}

fn merge_bam_alignment(given: &Given) -> Result<Line> {
    let (unaligned, output) = (given.needed("--UNMAPPED_BAM")?, given.needed("--OUTPUT")?);
    let reference = given.needed("--REFERENCE_SEQUENCE")?;
    let sort = order(given, given.value("--SORT_ORDER").unwrap_or("coordinate"))?;
    if sort != "coordinate" && given.has("--CREATE_INDEX") {
        return Err(given
            .refuse("CREATE_INDEX needs SORT_ORDER=coordinate")
            .hint("leave CREATE_INDEX out, or sort by coordinate"));
    }
    if sort == "coordinate" && given.has("--IS_BISULFITE_SEQUENCE") {
        return Err(given
            .refuse("IS_BISULFITE_SEQUENCE is not supported: NM and UQ would be counted as for other reads")
            .hint("merge with SORT_ORDER=unsorted, which counts nothing, then sort: readmill sort IN -o OUT"));
    }
    let mut line = Line::new("merge-alignment");
    line.add(given.native_words());
    for (option, flag, own) in LISTS {
        let usual = (!given.is_emptied(option) && !own.is_empty()).then_some(own);
        let tags: Vec<&str> = usual.into_iter().chain(given.all(option)).collect();
        let list = if tags.is_empty() { ",".to_string() } else { tags.join(",") };
        let is_usual = list == own || own.is_empty() && tags.is_empty();
        line.flag(flag, Some(list.as_str()).filter(|_| !is_usual));
    }
    pairs(&mut line, given)?;
    alignments(&mut line, given)?;
    program(&mut line, given)?;
    line.flag("--reference", Some(reference)).flag("--sort", Some(sort));
    if sort == "coordinate" {
        line.add(["--nm-md-uq"]);
    }
    common(&mut line, given, output);
    let ends =
        ["--READ1_ALIGNED_BAM", "--READ2_ALIGNED_BAM"].map(|name| given.all(name).collect::<Vec<_>>());
    let aligned: Vec<&str> = given.all("--ALIGNED_BAM").collect();
    match (&aligned[..], &ends) {
        ([], [first, last]) if !first.is_empty() && !last.is_empty() => {
            for (flag, files) in [("--first-aligned", first), ("--last-aligned", last)] {
                files.iter().for_each(|file| {
                    line.flag(flag, Some(standard_stream(file)));
                });
            }
        }
        ([_, ..], [first, last]) if first.is_empty() && last.is_empty() => {}
        ([_, ..], _) => {
            return Err(
                given.refuse("ALIGNED_BAM and READ1_ALIGNED_BAM, READ2_ALIGNED_BAM exclude each other")
            );
        }
        _ => {
            return Err(
                given.refuse("ALIGNED_BAM, or READ1_ALIGNED_BAM and READ2_ALIGNED_BAM, must be given")
            );
        }
    }
    line.operands(std::iter::once(unaligned).chain(aligned));
    Ok(line)
}

fn pairs(line: &mut Line, given: &Given) -> Result<()> {
    let orientations: Vec<&str> = given.all("--EXPECTED_ORIENTATIONS").collect();
    let jumps = given.value("--JUMP_SIZE").is_some();
    if jumps && !orientations.is_empty() {
        return Err(given
            .refuse("JUMP_SIZE and EXPECTED_ORIENTATIONS exclude each other")
            .hint("JUMP_SIZE is the same as EXPECTED_ORIENTATIONS=RF"));
    }
    if given.has("--ALIGNER_PROPER_PAIR_FLAGS") {
        line.add(["--aligner-proper-pairs"]);
    } else if jumps {
        line.add(["--orientations", "RF"]);
    } else if !orientations.is_empty() && orientations != ["FR"] {
        line.flag("--orientations", Some(&orientations.join(",")));
    }
    let is_hard = match given.value("--CLIP_OVERLAPPING_READS_OPERATOR") {
        None | Some("S") => given.has("--HARD_CLIP_OVERLAPPING_READS"),
        Some("H") => true,
        Some(other) => {
            return Err(
                given.refuse(&format!("CLIP_OVERLAPPING_READS_OPERATOR {other} is none of S and H"))
            );
        }
    };
    let how = match (given.value("--CLIP_OVERLAPPING_READS"), is_hard) {
        (Some("false"), _) => Some("none"),
        (_, true) => Some("hard"),
        _ => None,
    };
    line.flag("--clip-overlaps", how);
    Ok(())
}

fn alignments(line: &mut Line, given: &Given) -> Result<()> {
    let most = given.value("--MAX_INSERTIONS_OR_DELETIONS").unwrap_or("1");
    line.flag("--max-gaps", Some(most).filter(|most| *most != "-1"));
    let primary = named(given, "--PRIMARY_ALIGNMENT_STRATEGY", &STRATEGIES)?;
    line.flag("--primary", primary.filter(|name| *name != "best-mapq"));
    let contaminants = named(given, "--UNMAPPED_READ_STRATEGY", &CONTAMINANTS)?;
    if given.has("--UNMAP_CONTAMINANT_READS") {
        let least = given.value("--MIN_UNCLIPPED_BASES").unwrap_or("32");
        line.add([format!("--unmap-contaminants={least}")]);
        line.flag("--contaminant-alignments", contaminants.filter(|name| *name != "leave"));
    }
    let [first, last] = ["--READ1_TRIM", "--READ2_TRIM"].map(|name| given.value(name).unwrap_or("0"));
    if [first, last] != ["0", "0"] {
        line.flag("--trimmed", Some(&format!("{first},{last}")));
    }
    Ok(())
}

/// Adds the `@PG` line of the aligner. Picard requires its arguments together.
fn program(line: &mut Line, given: &Given) -> Result<()> {
    let [id, version, call] =
        ["--PROGRAM_RECORD_ID", "--PROGRAM_GROUP_VERSION", "--PROGRAM_GROUP_COMMAND_LINE"]
            .map(|name| given.value(name));
    match (id, version, call) {
        (None, None, None) => {}
        (Some(_), Some(_), Some(_)) => {
            line.flag("--program-id", id);
            line.flag("--program-name", given.value("--PROGRAM_GROUP_NAME"));
            line.flag("--program-version", version).flag("--program-command", call);
        }
        _ => {
            return Err(given.refuse(
                "PROGRAM_RECORD_ID, PROGRAM_GROUP_VERSION and PROGRAM_GROUP_COMMAND_LINE are given together, or not at all",
            ));
        }
    }
    Ok(())
}
