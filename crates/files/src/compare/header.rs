//! The levels of agreement, and the comparison of headers at levels L0 and L1. Level L2 uses the
//! result of L1, and L3 ignores headers.

use readmill_record::Header;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeaderResult {
    /// The strictest level that holds, L0 or L1; `None` if neither does.
    pub level: Option<AgreementLevel>,
    pub first: Option<[Option<String>; 2]>,
}

pub fn compare_headers(headers: &[Header; 2]) -> HeaderResult {
    let lines = headers.each_ref().map(compared_lines);
    let as_they_stand = first_difference(
        &lines.each_ref().map(|lines| lines.iter().map(|&l| (l.to_vec(), l)).collect()),
    );
    if as_they_stand.is_none() {
        return HeaderResult { level: Some(AgreementLevel::L0), first: None };
    }
    match first_difference(&lines.each_ref().map(|lines| sort_tags_and_lines(lines))) {
        None => HeaderResult { level: Some(AgreementLevel::L1), first: as_they_stand },
        first => HeaderResult { level: None, first },
    }
}

fn compared_lines(header: &Header) -> Vec<&[u8]> {
    let counts = header.lines().iter().filter(|line| !matches!(line.kind(), b"PG" | b"CO"));
    counts.map(|line| line.text()).collect()
}

type Compared<'a> = (Vec<u8>, &'a [u8]);

/// Sorts the tags within each line, and the lines by record type. Lines of the same type keep their
/// order.
fn sort_tags_and_lines<'a>(lines: &[&'a [u8]]) -> Vec<Compared<'a>> {
    let sorted = |&line: &&'a [u8]| {
        let mut parts: Vec<&[u8]> = line.split(|&b| b == b'\t').collect();
        parts[1..].sort_unstable();
        (parts.join(&b'\t'), line)
    };
    let mut lines: Vec<Compared<'_>> = lines.iter().map(sorted).collect();
    lines.sort_by(|(a, _), (b, _)| a.get(..3).cmp(&b.get(..3)));
    lines
}

fn first_difference([a, b]: &[Vec<Compared<'_>>; 2]) -> Option<[Option<String>; 2]> {
    let differ = |&i: &usize| a.get(i).map(|line| &line.0) != b.get(i).map(|line| &line.0);
    let at = (0..a.len().max(b.len())).find(differ)?;
    let shown = |line: &Compared<'_>| String::from_utf8_lossy(line.1).into_owned();
    Some([a, b].map(|lines| lines.get(at).map(shown)))
}

/// The level at which two files agree. A smaller level is stricter, and implies all larger levels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum AgreementLevel {
    /// The SAM text is equal, except for `@PG` and `@CO` lines.
    L0,
    /// Like `L0`, except for the order of tags.
    L1,
    /// Like `L1`, except for the order of reads with equal positions.
    L2,
    L3,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn t(a: &str, b: &str, expected: Option<AgreementLevel>) {
        let headers = [a, b].map(|text| Header::parse(text.as_bytes()).unwrap());
        assert_eq!(compare_headers(&headers).level, expected, "{a} {b}");
    }

    #[test]
    fn what_order_means() {
        t("@SQ\tSN:a\tLN:1\n@PG\tID:x\n", "@CO\ty\n@SQ\tSN:a\tLN:1\n", Some(AgreementLevel::L0));
        t("@SQ\tSN:a\tLN:1\n", "@SQ\tLN:1\tSN:a\n", Some(AgreementLevel::L1));
        t("@SQ\tSN:a\tLN:1\n@RG\tID:g\n", "@RG\tID:g\n@SQ\tSN:a\tLN:1\n", Some(AgreementLevel::L1));
        t("@SQ\tSN:a\tLN:1\n@SQ\tSN:b\tLN:1\n", "@SQ\tSN:b\tLN:1\n@SQ\tSN:a\tLN:1\n", None);
        t("@RG\tID:g\tSM:1\n", "@RG\tID:g\tSM:2\n", None);
        t("@RG\tID:g\n", "", None);
    }
}
