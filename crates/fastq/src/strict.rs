//! Parses four-line records, which nearly all FASTQ has.
//!
//! This parser only accepts or refuses. A refused batch is read again by `general.rs`, which
//! accepts more and explains faults, and `batch_linker.rs` then compares the names of mates. So
//! each acceptance rule is in both places, and both parsers must read an accepted record in the
//! same way.

use std::ops::Range;

use readmill_record::{ReadBatch, ReadSpan};

use crate::line::{
    describe_name_fault, is_graphic, is_same_template, split_name_and_comment, strip_carriage_return,
    strip_read_number, template_name,
};

struct StrictRecords<'a> {
    text: &'a [u8],
    at: usize,
    /// Length of the last line of bases. The next line usually has the same length.
    guess: usize,
    numbering: Option<u8>,
}

pub(crate) struct FileParts {
    pub first: Range<usize>,
    pub second: Option<Range<usize>>,
    pub index: Vec<Range<usize>>,
}

/// Adds the reads in `text` to `reads`, alternating between two files if there are two, and the
/// index reads. If `numbering` is given, this byte and the read number after it are removed from
/// names.
///
/// Returns true if all parts were read to their ends, nothing is unusual, and the reads of each
/// template have the same name. Otherwise the content of `reads` must not be used.
pub(crate) fn parse_batch(
    text: &[u8],
    FileParts { first, second, index }: &FileParts,
    numbering: Option<u8>,
    reads: &mut ReadBatch,
) -> bool {
    let start = |range: &Range<usize>| StrictRecords {
        text: &text[..range.end],
        at: range.start,
        guess: 0,
        numbering: None,
    };
    let name = |span: ReadSpan| template_name(&text[span.name as usize..][..span.name_len as usize]);
    let mut index: Vec<_> = index.iter().map(start).collect();
    reads.expect_index_reads(index.len());
    let (mut files, paired) =
        ([start(first), start(&second.clone().unwrap_or(0..0))], reads.segments() == 2);
    files.iter_mut().for_each(|file| file.numbering = numbering);
    let mate = usize::from(second.is_some());
    while files[0].at < files[0].text.len() {
        let Some(one) = files[0].parse_record() else { return false };
        reads.push_span(one);
        if paired {
            let Some(other) = files[mate].parse_record() else { return false };
            reads.push_span(other);
            if name(one) != name(other) {
                return false;
            }
        }
        for file in &mut index {
            match file.parse_record() {
                Some(span) if is_same_template(name(span), name(one), numbering) => {
                    reads.push_index_span(span)
                }
                _ => return false,
            }
        }
    }
    files[1..].iter().chain(&index).all(|file| file.at == file.text.len())
}

impl StrictRecords<'_> {
    /// Parses the next record; `None` if it is unusual in any way. The spans refer to the text of
    /// the batch.
    fn parse_record(&mut self) -> Option<ReadSpan> {
        let at = self.at;
        if self.text.get(at) != Some(&b'@') {
            return None;
        }
        let name = at + 1;
        let end = self.end_of_line(name);
        let line = strip_carriage_return(&self.text[name..end]);
        let (name_len, comment) = split_name_and_comment(line);
        let comment_len = line.len() - comment;
        if describe_name_fault(&line[..name_len]).is_some() {
            return None;
        }
        let name_len = strip_read_number(&line[..name_len], self.numbering).len();
        let bases = end + 1;
        let end = self.find_printable_line_end(bases)?;
        self.guess = end - bases;
        let len = strip_carriage_return(&self.text[bases..end]).len();
        if len > 0 && matches!(self.text[bases], b'@' | b'>' | b'+') {
            return None;
        }
        let plus = end + 1;
        if self.text.get(plus) != Some(&b'+') {
            return None;
        }
        let qualities = self.end_of_line(plus) + 1;
        let end = self.find_printable_line_end(qualities)?;
        if strip_carriage_return(&self.text[qualities..end]).len() != len {
            return None;
        }
        self.at = self.text.len().min(end + 1);
        Some(ReadSpan {
            name: name as u32,
            name_len: name_len as u32,
            comment: (name + comment) as u32,
            comment_len: comment_len as u32,
            bases: bases as u32,
            len: len as u32,
            qualities: qualities as u32,
        })
    }

    fn end_of_line(&self, at: usize) -> usize {
        memchr::memchr(b'\n', &self.text[at..]).map_or(self.text.len(), |n| at + n)
    }

    /// Returns the end of a line of bases or qualities. Tries the length of the last line first.
    /// `None` if there is no such line or it has a character that is not printable.
    fn find_printable_line_end(&self, at: usize) -> Option<usize> {
        let is_fine = |end| is_graphic(strip_carriage_return(&self.text[at..end]));
        let guess = at + self.guess;
        // A newline is not printable, so the line does not end earlier.
        if self.text.get(guess) == Some(&b'\n') && is_fine(guess) {
            return Some(guess);
        }
        (at < self.text.len()).then(|| self.end_of_line(at)).filter(|&end| is_fine(end))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Owned = [Vec<u8>; 4];

    fn records(text: &[u8]) -> Option<Vec<Owned>> {
        let mut reads = ReadBatch::new(1, 0);
        let clean = parse_batch(
            text,
            &FileParts { first: 0..text.len(), second: None, index: Vec::new() },
            None,
            &mut reads,
        );
        reads.text_mut().extend_from_slice(text);
        let owned = reads.iter().map(|read| {
            let [name, comment, bases, qualities] =
                [read.name, read.comment, read.bases, read.qualities.unwrap_or_default()];
            [name, comment, bases, qualities].map(<[u8]>::to_vec)
        });
        clean.then(|| owned.collect())
    }

    #[test]
    fn four_lines_are_a_record() {
        let read = |name: &str, comment: &str, bases: &str, qualities: &str| {
            [name, comment, bases, qualities].map(|part| part.as_bytes().to_vec())
        };
        let text = b"@a 1:N\nACG\n+\n@II\n@b\t\tx y\r\nA\r\n+b\r\n+\r\n@c\n\n+\n\n@d\nAC\n+\n>I";
        let expected = vec![
            read("a", "1:N", "ACG", "@II"),
            read("b", "x y", "A", "+"),
            read("c", "", "", ""),
            read("d", "", "AC", ">I"),
        ];
        assert_eq!(records(text), Some(expected));
        assert_eq!(records(b""), Some(Vec::new()));
    }

    #[test]
    fn a_guess_that_meets_another_newline_is_none() {
        // The second record has 3 bases, the first one 9. Nine bytes after the start of its bases
        // is the newline of its qualities.
        let text = b"@a\nACGTACGTA\n+\nIIIIIIIII\n@b\nACG\n+x\nIII\n@c\nA\n+\nI\n";
        assert_eq!(records(text).map(|all| all.len()), Some(3));
    }

    #[test]
    fn all_else_is_refused() {
        let bad: [&[u8]; 14] = [
            b"a\nA\n+\nI\n",
            b"@a\nA\nI\n+\n",
            b"@a\nAC\n+\nI\n",
            b"@a\nA\n+\nII\n",
            b"@a\n@\n+\nI\n",
            b"@a\n>\n+\nI\n",
            b"@a\nA C\n+\nIII\n",
            b"@a\nACC\n+\nI I\n",
            b"@a\nA\n+\n",
            b"@a\nA\n+",
            b"@a\nA",
            b"@a",
            b"@\nA\n+\nI\n",
            b"\n@a\nA\n+\nI\n",
        ];
        for text in bad {
            assert_eq!(records(text), None, "{:?}", String::from_utf8_lossy(text));
        }
        let long = [b"@".to_vec(), b"n".repeat(255), b"/1\nA\n+\nI\n".to_vec()].concat();
        assert_eq!(records(&long), None);
    }
}
