//! Mends header lines that other programs cannot read, if their meaning is clear; otherwise refuses
//! them.
//!
//! The target is what samtools 1.24 and htsjdk 4.2 accept. First each line is mended on its own
//! (`fields.rs`), then lines that contradict each other (`between.rs`). Each change is noted with its
//! line number, so that the command line can print a warning.

mod between;
mod blanks;
mod fields;
mod known;
mod notes;

use std::borrow::Cow;

use crate::error::{Error, Result};
pub(super) use between::mend_conflicts;
use fields::mend_fields;
use known::{KNOWN_KINDS, LineResult, NoteSink, quote_start};
pub use notes::HeaderNotes;

const FIX_HINT: &str = "fix this line; in a BAM or CRAM file: run readmill head FILE > header.sam, fix header.sam, then \
    run readmill reheader header.sam FILE > NEW";

fn line_error(line: usize, what: &str, text: &[u8]) -> Error {
    Error::input(format!("header line {line}: {what}: {}", quote_start(text))).hint(FIX_HINT)
}

/// Returns `line` in a form that samtools and htsjdk accept.
///
/// # Errors
/// Fails if the meaning of the line is not clear.
pub(super) fn mend_line<'a>(
    line: &'a [u8],
    number: usize,
    notes: &mut HeaderNotes,
) -> Result<Cow<'a, [u8]>> {
    let mended = mend_kind(line, &mut |what| notes.add_line_note(|| number, || what));
    mended.map_err(|what| line_error(number, &what, line))
}

fn mend_kind<'a>(line: &'a [u8], note: &mut NoteSink<'_>) -> LineResult<Cow<'a, [u8]>> {
    if line.starts_with(b"@CO") {
        return mend_comment(line, note);
    }
    let is_kind = matches!(line, [b'@', a, b, rest @ ..]
        if a.is_ascii_alphabetic() && b.is_ascii_alphabetic() && rest.first().is_none_or(|c| b"\t ".contains(c)));
    if !is_kind {
        return Err(
            "this is neither a header line (@, two letters, a tab) nor a record with 11 columns".into(),
        );
    }
    let kind = line[1..3].to_ascii_uppercase();
    if kind == b"CO" {
        note("changed the letters after @ to upper case".into());
        let line = [b"@CO", &line[3..]].concat();
        return mend_comment(&line, note).map(|line| Cow::Owned(line.into_owned()));
    }
    if !KNOWN_KINDS.iter().any(|known| known.kind == &kind[..]) {
        return turn_into_comment(line, note).map(Cow::Owned);
    }
    if kind == line[1..3] {
        return mend_fields(line, note);
    }
    note("changed the letters after @ to upper case".into());
    let line = [b"@", &kind[..], &line[3..]].concat();
    mend_fields(&line, note).map(|line| Cow::Owned(line.into_owned()))
}

fn mend_comment<'a>(line: &'a [u8], note: &mut NoteSink<'_>) -> LineResult<Cow<'a, [u8]>> {
    match &line[3..] {
        [b'\t', ..] => Ok(Cow::Borrowed(line)),
        // samtools cannot read a header that starts with a bare @CO; elsewhere it turns such a line into
        // an empty comment.
        [] => Ok(Cow::Borrowed(b"@CO\t")),
        [b' ', text @ ..] => {
            note("replaced the blank after @CO by a tab".into());
            Ok(Cow::Owned([b"@CO\t", text].concat()))
        }
        text if !text.contains(&b'\t') => {
            note("added a tab after @CO".into());
            Ok(Cow::Owned([b"@CO\t", text].concat()))
        }
        _ => Err("no tab follows @CO, and the line does not have the 11 columns of a record".into()),
    }
}

/// Turns a line of an unknown kind into a comment, which all programs keep.
fn turn_into_comment(line: &[u8], note: &mut NoteSink<'_>) -> LineResult<Vec<u8>> {
    let has_keys = line[3..].split(|&byte| byte == b'\t').skip(1).all(fields::has_key);
    let is_bare = line.len() == 3;
    if !is_bare && (line[3] != b'\t' || !has_keys) {
        return Err("this is neither a known header line (@HD, @SQ, @RG, @PG, @CO) nor a record".into());
    }
    let kind = String::from_utf8_lossy(&line[..3]).into_owned();
    note(format!(
        "{kind} is not a known header line type; changed the line to a comment (@CO), because other programs reject it"
    ));
    Ok([b"@CO\t", line].concat())
}

#[cfg(test)]
mod tests;
