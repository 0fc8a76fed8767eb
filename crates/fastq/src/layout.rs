//! Checks the layout of files by their first records: whether mates alternate in one file, and
//! which of two files has read 1. [`Claims::layout_doubt`](crate::Claims::layout_doubt) returns the
//! result.

use std::path::Path;

use readmill_record::Error;

use crate::line::{
    describe_name_fault, parse_mate_numbers, split_name_and_comment, strip_carriage_return,
    template_name,
};

const EXAMINED_RECORDS: usize = 64;

/// Minimum number of records that must agree if their names have no read numbers, so that equal
/// names are not due to chance. With read numbers, one pair is enough.
const MIN_UNNUMBERED: usize = 16;

const TAKE_ANYHOW: &str = "change the order of the files, or use --as-given if this order is correct";
const INTERLEAVED: &str =
    "use -p if the file has both reads of each pair, or --as-given if it has single reads";
const NOT_INTERLEAVED: &str = "omit -p, or use --as-given if the reads are pairs";
const SIDE_BY_SIDE: &str =
    "give R1 and R2 of each lane next to each other: lane1_R1 lane1_R2 lane2_R1 lane2_R2";

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FirstRead {
    name: Vec<u8>,
    /// 1 or 2 if the name or the comment has the read number.
    number: Option<u8>,
    bases: Vec<u8>,
}

impl FirstRead {
    pub(crate) fn name(&self) -> &[u8] {
        &self.name
    }
}

/// A certain or likely mistake in the layout of the files, found by
/// [`Claims::layout_doubt`](crate::Claims::layout_doubt).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LayoutDoubt {
    /// The layout is certainly wrong, and the run must not start. The error has a hint for the
    /// command line.
    Certain(Error),
    Likely(String),
}

/// Returns the byte that separates name and read number in names such as `SRR1.7.1` and `SRR1.7.2`,
/// if the names of all mates differ only in the same two numbers. A single pair must have the
/// numbers 1 and 2, because with other numbers it may be two unrelated reads.
pub(crate) fn find_numbering<'a>(
    mut mates: impl Iterator<Item = (&'a FirstRead, &'a FirstRead)>,
) -> Option<u8> {
    let numbers = |(first, last): (&FirstRead, &FirstRead)| parse_mate_numbers(&first.name, &last.name);
    let all @ (separator, of_first) = mates.next().and_then(numbers)?;
    let (mut count, mut are_so) = (1, true);
    mates.for_each(|pair| {
        count += 1;
        are_so &= numbers(pair) == Some(all);
    });
    (are_so && (count > 1 || of_first == *b"12")).then_some(separator)
}

/// Like [`find_numbering`], for an interleaved file in which there may be single reads among the
/// pairs.
pub(crate) fn find_numbering_of_neighbours(reads: &[FirstRead]) -> Option<u8> {
    let numbers = |two: &[FirstRead]| parse_mate_numbers(&two[0].name, &two[1].name);
    let (separator, of_mates) = reads.windows(2).find_map(numbers)?;
    let is_so = |read: &FirstRead| matches!(&read.name[..], [.., before, digit] if *before == separator && of_mates.contains(digit));
    let pairs = reads.windows(2).filter(|two| numbers(two) == Some((separator, of_mates))).count();
    (reads.iter().all(is_so) && (pairs > 1 || of_mates == *b"12")).then_some(separator)
}

pub(crate) fn adjacent_pairs(reads: &[FirstRead]) -> impl Iterator<Item = (&FirstRead, &FirstRead)> {
    reads.chunks_exact(2).map(|two| (&two[0], &two[1]))
}

/// Parses the first records of a text that may end within a record. Stops at the first record that
/// does not have four lines.
pub(crate) fn parse_first_reads(text: &[u8]) -> Vec<FirstRead> {
    let mut lines =
        text.split_inclusive(|&byte| byte == b'\n').map_while(|line| line.strip_suffix(b"\n"));
    let mut reads = Vec::new();
    while reads.len() < EXAMINED_RECORDS {
        let mut next = || lines.next().map(strip_carriage_return);
        let (Some([b'@', head @ ..]), Some(bases), Some([b'+', ..]), Some(qualities)) =
            (next(), next(), next(), next())
        else {
            break;
        };
        let (len, comment) = split_name_and_comment(head);
        let name = &head[..len];
        if describe_name_fault(name).is_some() || qualities.len() != bases.len() {
            break;
        }
        let number = find_read_number(name, &head[comment..]);
        reads.push(FirstRead { name: template_name(name).to_vec(), number, bases: bases.to_vec() });
    }
    reads
}

/// Returns the read number, from `/1` or `/2` at the end of the name or from a comment such as
/// `1:N:0:ACGT`. `None` if there is no number, or if name and comment contradict each other.
pub(crate) fn find_read_number(name: &[u8], comment: &[u8]) -> Option<u8> {
    let digit = |byte: u8| matches!(byte, b'1' | b'2').then(|| byte - b'0');
    let of_name = match name {
        [_, .., b'/', last] => digit(*last),
        _ => None,
    };
    let of_comment = match comment {
        [first, b':', b'Y' | b'N', b':', b'0'..=b'9', ..] => digit(*first),
        _ => None,
    };
    match (of_name, of_comment) {
        (Some(one), Some(other)) if one != other => None,
        (one, other) => one.or(other),
    }
}

pub(crate) fn check_single(file: &Path, reads: &[FirstRead]) -> Option<LayoutDoubt> {
    let (pairs, mates) = (reads.len() / 2, count_mates(reads));
    if is_interleaved(reads) {
        let what = "each read is followed by its mate, but the file is read as single reads";
        return Some(LayoutDoubt::Certain(Error::input(what).file(file).hint(INTERLEAVED)));
    }
    if reads.len() >= 4 && find_numbering(adjacent_pairs(reads)).is_some() {
        let [one, two] = [0, 1].map(|at| String::from_utf8_lossy(&reads[at].name).into_owned());
        let file = file.display();
        return Some(LayoutDoubt::Likely(format!(
            "{file}: reads are named like mates ({one}, {two} and so on), but are aligned as single reads; use -p if they are pairs"
        )));
    }
    let beside = reads.windows(2).filter(|two| are_mates(two)).count();
    (mates > 0 && mates == pairs || beside > 0 && read_numbers(reads).any(|it| it == 2)).then(|| {
        let (file, n) = (file.display(), reads.len());
        LayoutDoubt::Likely(format!(
            "{file}: {beside} of the first {n} reads are next to a read with the same name, but are aligned as single reads; use -p if they are pairs"
        ))
    })
}

pub(crate) fn check_interleaved(file: &Path, reads: &[FirstRead]) -> Option<LayoutDoubt> {
    let mut pairs = reads.chunks_exact(2).peekable();
    pairs.peek()?;
    let certain =
        |what: &str, hint| Some(LayoutDoubt::Certain(Error::input(what).file(file).hint(hint)));
    if pairs.clone().all(|two| are_mates(two) && (two[0].number, two[1].number) == (Some(2), Some(1))) {
        return certain("the second read (R2) of each pair is before the first read (R1)", TAKE_ANYHOW);
    }
    let apart = pairs.all(|two| !are_mates(two));
    match common_number(reads) {
        Some(1) if apart => certain("the file has only first reads (R1), and no pairs", NOT_INTERLEAVED),
        Some(2) if apart => {
            certain("the file has only second reads (R2), and no pairs", NOT_INTERLEAVED)
        }
        _ => None,
    }
}

pub(crate) fn check_file_pair(files: [&Path; 2], reads: [&[FirstRead]; 2]) -> Option<LayoutDoubt> {
    let certain = |what: String, hint| Some(LayoutDoubt::Certain(Error::input(what).hint(hint)));
    for (file, reads) in files.into_iter().zip(reads) {
        if is_interleaved(reads) && read_numbers(reads).next().is_some() {
            let what = "each read is followed by its mate, but the file was given as one of two files";
            return Some(LayoutDoubt::Certain(Error::input(what).file(file).hint(INTERLEAVED)));
        }
    }
    let n = reads[0].len().min(reads[1].len());
    let both = || reads[0].iter().zip(reads[1]);
    if n == 0 {
        return None;
    }
    let [one, two] = files.map(Path::display);
    let same_names = both().all(|(one, two)| one.name == two.name);
    let same_bases = both().all(|(one, two)| one.bases == two.bases);
    let kind = |number| if number == 1 { "first reads (R1)" } else { "second reads (R2)" };
    match reads.map(common_number) {
        [Some(2), Some(1)] => {
            return certain(
                format!(
                    "{one} has second reads (R2), but {two}, which was given after it, has first reads (R1)"
                ),
                TAKE_ANYHOW,
            );
        }
        [Some(first), Some(last)] if first == last && same_names && same_bases => {
            return certain(format!("{one} and {two} have the same reads"), SIDE_BY_SIDE);
        }
        [Some(first), Some(last)] if first == last && !same_names => {
            return certain(
                format!("{one} and {two} were given as a pair, but both have {}", kind(first)),
                SIDE_BY_SIDE,
            );
        }
        [Some(first), Some(last)] if first == last => {
            let kind = kind(first);
            return Some(LayoutDoubt::Likely(format!(
                "the read names in {one} and in {two} mark {kind}; the files are aligned as R1 and R2 of pairs"
            )));
        }
        _ => {}
    }
    if same_names && same_bases && n >= MIN_UNNUMBERED {
        return certain(format!("{one} and {two} have the same reads"), SIDE_BY_SIDE);
    }
    let wrong = |at: usize, number| reads[at].iter().filter(|it| it.number == Some(number)).count();
    let (last_in_first, first_in_last) = (wrong(0, 2), wrong(1, 1));
    (last_in_first + first_in_last > 0).then(|| {
        LayoutDoubt::Likely(format!(
            "{last_in_first} of the first {} reads of {one} are numbered 2, and {first_in_last} of the first {} of \
             {two} are numbered 1; {one} is used as R1, and {two} as R2",
            reads[0].len(),
            reads[1].len()
        ))
    })
}

/// Returns whether two reads have the same name, and different read numbers or none.
fn are_mates(two: &[FirstRead]) -> bool {
    let [one, two] = two else { return false };
    one.name == two.name && (one.number.is_none() || one.number != two.number)
}

/// Counts the mates among records 1 and 2, 3 and 4, and so on.
fn count_mates(reads: &[FirstRead]) -> usize {
    reads.chunks_exact(2).filter(|two| are_mates(two)).count()
}

/// Returns whether each read is followed by its mate. Without read numbers, at least
/// [`MIN_UNNUMBERED`] records are needed to decide.
fn is_interleaved(reads: &[FirstRead]) -> bool {
    let pairs = reads.len() / 2;
    let numbered = reads[..2 * pairs].iter().all(|read| read.number.is_some());
    pairs > 0 && count_mates(reads) == pairs && (numbered || reads.len() >= MIN_UNNUMBERED)
}

fn read_numbers(reads: &[FirstRead]) -> impl Iterator<Item = u8> {
    reads.iter().filter_map(|read| read.number)
}

fn common_number(reads: &[FirstRead]) -> Option<u8> {
    let first = reads.first()?.number?;
    reads.iter().all(|read| read.number == Some(first)).then_some(first)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Parses records with these header lines. Each record has different bases.
    fn reads(heads: &[&str]) -> Vec<FirstRead> {
        let bases =
            |at: usize| format!("{:0>12}", format!("{at:b}")).replace('0', "A").replace('1', "C");
        let record = |(at, head): (usize, &&str)| format!("@{head}\n{0}\n+\n{0}\n", bases(at));
        parse_first_reads(heads.iter().enumerate().map(record).collect::<String>().as_bytes())
    }

    /// Returns the message, after `!` for an error and `?` for a warning.
    fn said(doubt: Option<LayoutDoubt>) -> String {
        match doubt {
            None => String::new(),
            Some(LayoutDoubt::Certain(error)) => format!("!{}", error.what),
            Some(LayoutDoubt::Likely(what)) => format!("?{what}"),
        }
    }

    fn single(heads: &[&str]) -> String {
        said(check_single(Path::new("x"), &reads(heads)))
    }

    fn interleaved(heads: &[&str]) -> String {
        said(check_interleaved(Path::new("x"), &reads(heads)))
    }

    fn pair(one: &[&str], two: &[&str]) -> String {
        // The bases of mates differ, because the second file starts with an additional record.
        let two = [&["first"], two].concat();
        said(check_file_pair([Path::new("x"), Path::new("y")], [&reads(one), &reads(&two)[1..]]))
    }

    #[test]
    fn numbers_are_those_of_names_or_comments() {
        let number = |head| reads(&[head])[0].number;
        for (head, wanted) in [
            ("r/1", Some(1)),
            ("r/2 x", Some(2)),
            ("r 1:N:0:ACGT", Some(1)),
            ("r 2:Y:18:1", Some(2)),
            ("r/2 2:N:0:1", Some(2)),
            ("r/1 2:N:0:1", None),
            ("r/3", None),
            ("/1", None),
            ("r 1:N", None),
            ("r 1:X:0:A", None),
            ("r", None),
        ] {
            assert_eq!(number(head), wanted, "{head}");
        }
    }

    #[test]
    fn all_first_mates_are_numbered_or_none_is() {
        let separator = |one: &[&str], two: &[&str]| {
            let (one, two) = (reads(one), reads(two));
            find_numbering(one.iter().zip(&two))
        };
        assert_eq!(separator(&["S.1.1", "S.2.1"], &["S.1.2", "S.2.2"]), Some(b'.'));
        assert_eq!(separator(&["S.1_1", "S.2_1"], &["S.1_4", "S.2_4"]), Some(b'_'));
        assert_eq!(separator(&["S.1.1"], &["S.1.2"]), Some(b'.'));
        assert_eq!(separator(&["S.1"], &["S.3"]), None);
        assert_eq!(separator(&["S.1", "S.2"], &["S.2", "S.3"]), None, "a read is missing");
        assert_eq!(separator(&["S.1.1", "S.2.1"], &["S.1.2", "S.2.3"]), None);
        assert_eq!(separator(&["S", "T"], &["S", "T"]), None);
        assert_eq!(separator(&[], &[]), None);
        let alternating = |names: &[&str]| find_numbering_of_neighbours(&reads(names));
        assert_eq!(alternating(&["S.1.1", "S.2.1", "S.2.2", "S.3.2", "S.4.1", "S.4.2"]), Some(b'.'));
        assert_eq!(alternating(&["S.1", "S.2"]), Some(b'.'));
        assert_eq!(alternating(&["S.1", "S.2", "S.3", "S.4"]), None, "single reads");
        assert_eq!(alternating(&["S.1.1", "S.2.1"]), None);
        assert!(
            single(&["S.1.1", "S.1.2", "S.2.1", "S.2.2"])
                .starts_with("?x: reads are named like mates (S.1.1, S.1.2")
        );
    }

    #[test]
    fn only_whole_records_of_four_lines_are_looked_at() {
        assert_eq!(reads(&["a/1", "b/1"]).len(), 2);
        assert_eq!(parse_first_reads(b"@a/1\nAC\n+\nII\n@b/1\nAC\n+\nII").len(), 1);
        assert_eq!(parse_first_reads(b"@a/1\r\nAC\r\n+\r\nII\r\n")[0].bases, b"AC");
        assert_eq!(parse_first_reads(b"@a\nAC\nGT\n+\nIIII\n"), []);
        assert_eq!(parse_first_reads(b">a\nAC\n"), []);
        assert_eq!(parse_first_reads(b"@a\nA\n+\nI\n".repeat(1000).as_slice()).len(), EXAMINED_RECORDS);
    }

    #[test]
    fn a_file_of_single_reads_that_alternate_is_interleaved() {
        let certain = "!each read is followed by its mate, but the file is read as single reads";
        assert_eq!(single(&["a/1", "a/2", "b/1", "b/2", "c/1"]), certain);
        assert_eq!(single(&["a 1:N:0:A", "a 2:N:0:A"]), certain);
        let unnumbered: Vec<String> = (0..MIN_UNNUMBERED).map(|at| format!("r{}", at / 2)).collect();
        let unnumbered: Vec<&str> = unnumbered.iter().map(String::as_str).collect();
        assert_eq!(single(&unnumbered), certain);
        assert!(single(&["a", "a", "b", "b"]).starts_with("?x: 2 of the first 4 reads"));
        assert!(single(&["s/1", "a/1", "a/2", "b/1"]).starts_with("?x: 1 of the first 4 reads"));
        for fine in [&["a/1", "b/1", "c/1"][..], &["a/2", "b/2"], &["a", "b", "c"], &["a/1"], &[]] {
            assert_eq!(single(fine), "", "{fine:?}");
        }
    }

    #[test]
    fn a_file_of_pairs_has_first_reads_first() {
        assert_eq!(
            interleaved(&["a/2", "a/1"]),
            "!the second read (R2) of each pair is before the first read (R1)"
        );
        assert_eq!(interleaved(&["a/1", "b/1"]), "!the file has only first reads (R1), and no pairs");
        for fine in [&["a/1", "a/2"][..], &["a", "a"], &["a"], &[]] {
            assert_eq!(interleaved(fine), "", "{fine:?}");
        }
    }

    #[test]
    fn of_two_files_the_first_has_first_reads() {
        assert_eq!(
            pair(&["a 2:N:0:A", "b 2:N:0:A"], &["a 1:N:0:A", "b 1:N:0:A"]),
            "!x has second reads (R2), but y, which was given after it, has first reads (R1)"
        );
        assert_eq!(
            pair(&["a/1", "b/1"], &["c/1", "d/1"]),
            "!x and y were given as a pair, but both have first reads (R1)"
        );
        assert_eq!(
            pair(&["a/1", "a/2"], &["a/1", "a/2"]),
            "!each read is followed by its mate, but the file was given as one of two files"
        );
        assert!(
            pair(&["a/1", "b/1"], &["a/1", "b/1"])
                .starts_with("?the read names in x and in y mark first reads (R1)")
        );
        assert!(pair(&["a/2", "b/1"], &["a/1", "b/2"]).starts_with("?1 of the first 2 reads of x"));
        for (one, two) in
            [(["a/1", "b/1"], ["a/2", "b/2"]), (["a", "b"], ["a", "b"]), (["a/1", "b/1"], ["a", "b"])]
        {
            assert_eq!(pair(&one, &two), "", "{one:?} {two:?}");
        }
    }

    #[test]
    fn the_same_reads_twice_are_no_pairs() {
        let twice = |heads: &[&str]| {
            let reads = reads(heads);
            said(check_file_pair([Path::new("x"), Path::new("y")], [&reads, &reads]))
        };
        assert_eq!(twice(&["a/1", "b/1"]), "!x and y have the same reads");
        assert_eq!(twice(&["a", "b"]), "", "two reads may be alike");
        let many: Vec<String> = (0..MIN_UNNUMBERED).map(|at| format!("r{at}")).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        assert_eq!(twice(&many), "!x and y have the same reads");
    }
}
