//! A FASTQ record of four lines, parsed from a file or from text.

use std::io;

use readmill_record::{ReadBatch, ReadSpan};

use super::fault::wrong;
use super::source::Source;

/// Finds the next end of a line from a place on; the place behind it.
type Search = fn(&[u8], usize) -> Option<usize>;

/// Reads a record character by character, and parses it on the way. Its lines are appended to the text.
pub fn read(file: &mut Source, text: &mut Vec<u8>) -> io::Result<Option<ReadSpan>> {
    let (start, mut ends, mut lines, mut odd) = (text.len(), [0; 4], 0, false);
    file.characters(|byte| {
        text.push(byte);
        if byte == b'\n' {
            ends[lines] = text.len();
            lines += 1;
        } else {
            odd |= lines == 1 && !byte.is_ascii_alphabetic();
        }
        lines == 4
    });
    if odd {
        return Err(wrong("not a base"));
    }
    if !file.check(lines, text.len() - start)? {
        return Ok(None);
    }
    span(text, start, ends).map(Some)
}

/// The next end of a line, character by character.
pub fn by_character(text: &[u8], from: usize) -> Option<usize> {
    let line = text.get(from..)?;
    let mut at = 0;
    while *line.get(at)? != b'\n' {
        at += 1;
    }
    Some(from + at + 1)
}

/// The next end of a line, with vector instructions.
pub fn with_memchr(text: &[u8], from: usize) -> Option<usize> {
    memchr::memchr(b'\n', text.get(from..)?).map(|at| from + at + 1)
}

/// Parses the records of both files, those of the second from `second` on. Spaces behind a file's records are padding.
pub fn pairs(text: &[u8], second: usize, search: Search, reads: &mut ReadBatch) -> io::Result<()> {
    let (one, two) = (text.get(..second).unwrap_or(text), text);
    let (mut first, mut mate) = (0, second);
    let ended = |text: &[u8], at: usize| text.get(at).is_none_or(|&byte| byte == b' ');
    while !ended(one, first) && !ended(two, mate) {
        for (text, at) in [(one, &mut first), (two, &mut mate)] {
            let mut ends = [*at; 4];
            for i in 0..4 {
                let from = if i == 0 { *at } else { ends[i - 1] };
                ends[i] = search(text, from).ok_or_else(|| wrong("a record has no end"))?;
            }
            reads.push_span(span(text, *at, ends)?);
            *at = ends[3];
        }
    }
    if ended(one, first) && ended(two, mate) {
        return Ok(());
    }
    Err(wrong("one file has more records than the other"))
}

/// Parses records whose lines end where is said, those of the second file behind those of the first.
pub fn between(text: &[u8], ends: &[usize], reads: &mut ReadBatch) -> io::Result<()> {
    if !ends.len().is_multiple_of(8) {
        return Err(wrong("one file has more records than the other"));
    }
    let middle = ends.len() / 2;
    for line in (0..middle).step_by(4) {
        for line in [line, line + middle] {
            let start = if line == 0 { 0 } else { ends[line - 1] };
            reads.push_span(span(
                text,
                start,
                [ends[line], ends[line + 1], ends[line + 2], ends[line + 3]],
            )?);
        }
    }
    Ok(())
}

/// The record from `start`, whose lines end at `ends`; the name reaches to the first blank.
fn span(text: &[u8], start: usize, ends: [usize; 4]) -> io::Result<ReadSpan> {
    let [name_end, bases_end, plus_end, end] = ends;
    let (len, qualities) = (bases_end - name_end - 1, end - plus_end - 1);
    if text[start] != b'@' || text[bases_end] != b'+' || len != qualities {
        return Err(wrong("not a FASTQ record of four lines"));
    }
    let line = &text[start + 1..name_end - 1];
    let name = line.iter().position(|byte| byte.is_ascii_whitespace()).unwrap_or(line.len());
    let comment = (name + 1).min(line.len());
    Ok(ReadSpan {
        name: start as u32 + 1,
        name_len: name as u32,
        comment: (start + 1 + comment) as u32,
        comment_len: (line.len() - comment) as u32,
        bases: name_end as u32,
        len: len as u32,
        qualities: plus_end as u32,
    })
}
