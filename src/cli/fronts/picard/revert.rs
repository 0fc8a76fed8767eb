//! RevertSam.

use readmill_record::Result;

use super::super::grammar::{Given, Opt, Takes};
use super::super::headers;
use super::super::line::{Line, standard_stream};
use super::super::tool::Command;
use super::shared::{COMMON, MD5, REFERENCE, command, common, order, temporary};

pub const REVERT_SAM: Command = command("RevertSam", &[OPTIONS, REFERENCE, MD5, COMMON], revert_sam);

const PER_GROUP: &str = "readmill split IN --by read-group -o PREFIX, then RevertSam of each file";

#[rustfmt::skip] // a row is a line
const OPTIONS: &[Opt] = &[
    Opt::built("-I --INPUT", Takes::Value, "the input"),
    Opt::built("-O --OUTPUT", Takes::Value, "-o"),
    Opt::refused("-OM --OUTPUT_MAP", Takes::Value, "names files by read group", PER_GROUP),
    Opt::refused("-OBR --OUTPUT_BY_READGROUP", Takes::Truth, "writes files by read group", PER_GROUP),
    Opt::harmless("-OBRFF --OUTPUT_BY_READGROUP_FILE_FORMAT", Takes::Value, "it belongs to OUTPUT_BY_READGROUP"),
    Opt::built("-SO --SORT_ORDER", Takes::Value, "prep --sort; queryname without it"),
    Opt::unless("-OQ --RESTORE_ORIGINAL_QUALITIES", "--revert-keep qualities"),
    Opt::unless("--REMOVE_DUPLICATE_INFORMATION", "--revert-keep duplicates"),
    Opt::unless("--REMOVE_ALIGNMENT_INFORMATION", "--revert-keep alignments"),
    Opt::unless("-RHC --RESTORE_HARDCLIPS", "--revert-keep hard-clips"),
    Opt::built("--ATTRIBUTE_TO_CLEAR", Takes::Values, "--revert-clear, in addition to Picard's own, which null takes away"),
    Opt::built("-RV --ATTRIBUTE_TO_REVERSE", Takes::Values, "--revert-reverse, in addition to Picard's own, which null takes away"),
    Opt::built("-RC --ATTRIBUTE_TO_REVERSE_COMPLEMENT", Takes::Values, "--revert-complement, in addition to Picard's own, which null takes away"),
    Opt::built("--SANITIZE", Takes::Truth, "--whole-templates; behind a sort by name, unless the header says that names stand together"),
    Opt::built("--MAX_DISCARD_FRACTION", Takes::Value, "--max-discarded; if more are dropped, there is no output"),
    Opt::built("--KEEP_FIRST_DUPLICATE", Takes::Truth, "--first-of-each-end"),
    Opt::native("-ALIAS --SAMPLE_ALIAS", Takes::Value, "--set-sample"),
    Opt::native("-LIB --LIBRARY_NAME", Takes::Value, "--set-library"),
];

/// Lists of fields: the option, the native flag, and what Picard has by itself.
const LISTS: [(&str, &str, &str); 3] = [
    ("--ATTRIBUTE_TO_CLEAR", "--revert-clear", "NM,UQ,PG,MD,MQ,SA,MC,AS"),
    ("--ATTRIBUTE_TO_REVERSE", "--revert-reverse", "OQ,U2"),
    ("--ATTRIBUTE_TO_REVERSE_COMPLEMENT", "--revert-complement", "E2,SQ"),
];

fn revert_sam(given: &Given) -> Result<Line> {
    let (input, output) = (given.needed("--INPUT")?, given.needed("--OUTPUT")?);
    let is_false = |name: &str| given.value(name) == Some("false");
    if is_false("--REMOVE_ALIGNMENT_INFORMATION") && !is_false("--RESTORE_HARDCLIPS") {
        return Err(given
            .refuse("RESTORE_HARDCLIPS must be false where REMOVE_ALIGNMENT_INFORMATION is")
            .hint("add RESTORE_HARDCLIPS=false"));
    }
    let sort = order(given, given.value("--SORT_ORDER").unwrap_or("queryname"))?;
    let sanitize = sanitize_words(given, sort)?;
    let mut line = Line::new("prep --revert");
    line.add(given.native_words());
    for (option, flag, own) in LISTS {
        let usual = (!given.is_emptied(option)).then_some(own);
        let tags: Vec<&str> = usual.into_iter().chain(given.all(option)).collect();
        let list = if tags.is_empty() { ",".to_string() } else { tags.join(",") };
        line.flag(flag, Some(&list).filter(|list| *list != own).map(String::as_str));
    }
    line.flag("--sort", Some(sort));
    if sanitize.is_empty() {
        common(&mut line, given, output);
        line.operands([standard_stream(input)]);
        return Ok(line);
    }
    let header = headers::header(given, input)?;
    if header.is_some_and(|header| header.claims_name_groups()) {
        line.add(sanitize);
        common(&mut line, given, output);
        line.operands([standard_stream(input)]);
        return Ok(line);
    }
    temporary(&mut line, given);
    line.add(
        ["--quiet", "--no-index", "-O", "bam", "-l", "0", "-o", "-"]
            .into_iter()
            .skip(usize::from(given.has("--QUIET"))),
    );
    line.operands([standard_stream(input)]);
    let mut last = Line::new("filter");
    last.add(sanitize).add(given.has("--QUIET").then_some("--quiet"));
    common(&mut last, given, output);
    last.operands(["-"]);
    last.source = Some(Box::new(line));
    Ok(last)
}

/// The words that drop templates which are not whole; none if that is not asked for.
fn sanitize_words(given: &Given, sort: &str) -> Result<Vec<String>> {
    if !given.has("--SANITIZE") {
        let other = given.has("--KEEP_FIRST_DUPLICATE");
        return if other {
            Err(given.refuse("KEEP_FIRST_DUPLICATE needs SANITIZE"))
        } else {
            Ok(Vec::new())
        };
    }
    if sort != "queryname" {
        return Err(given.refuse("SANITIZE needs SORT_ORDER=queryname"));
    }
    let mut words = vec!["--whole-templates".to_string()];
    words.extend(given.has("--KEEP_FIRST_DUPLICATE").then(|| "--first-of-each-end".to_string()));
    if let Some(share) = given.value("--MAX_DISCARD_FRACTION") {
        words.extend(["--max-discarded".to_string(), share.to_string()]);
    }
    Ok(words)
}
