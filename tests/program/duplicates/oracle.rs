//! Marks duplicates in a slow and simple way: every record is a line of text, and every set is searched
//! among all reads.
//!
//! Written only from the rules of Picard MarkDuplicates, without code of the program. Two rules are
//! ours, for cases in which Picard stops with an error: paired reads without a read group belong to the unknown
//! library, and of two reads that wait for a mate at the same position, the later one replaces the earlier.

use std::collections::HashMap;

use crate::support::{column, coordinate_key, number, records, references, split_header};

/// The properties of a read that decide on duplicates.
#[derive(Clone, Debug)]
pub struct TemplateEnd<'a> {
    pub library: &'a str,
    /// Reference sequence, unclipped 5′ position, reverse.
    pub at: (usize, i64, bool),
    score: i64,
    /// Tile, x, y; all -1 without a location.
    location: [i64; 3],
    /// Its rank among equals.
    index: usize,
    /// Its line.
    pub line: usize,
}

/// Score, the best first, location, and two numbers that decide between equal ones.
pub type Rank = (i64, [i64; 3], usize, usize);

impl TemplateEnd<'_> {
    /// The least of a set of single reads stays.
    pub fn rank(&self) -> Rank {
        (-self.score, self.location, self.index, self.line)
    }
}

/// The key of a set of pairs: library, reference sequences and 5′ positions, strands.
pub type Set<'a> = (&'a str, [(usize, i64); 2], (bool, bool));

/// Two mates: the key of their set, their rank in it, their lines.
pub struct MatePair<'a> {
    pub set: Set<'a>,
    rank: Rank,
    pub lines: [usize; 2],
    /// The ends in the order of the reads.
    pub met: [TemplateEnd<'a>; 2],
}

impl MatePair<'_> {
    /// The least of a set stays.
    pub fn rank(&self) -> (Rank, [usize; 2]) {
        (self.rank, self.lines)
    }
}

/// The reads of a text.
pub struct OracleReads<'a> {
    /// Those with a mate somewhere: all single reads at such an end are duplicates.
    pub ends: Vec<TemplateEnd<'a>>,
    pub fragments: Vec<TemplateEnd<'a>>,
    pub pairs: Vec<MatePair<'a>>,
    /// For each line its place: in coordinate order, or the place of its template.
    pub index: Vec<usize>,
}

/// The reads of SAM text. `whole_templates`: the text is grouped by name; else reads are taken in coordinate
/// order.
pub fn read(text: &str, whole_templates: bool) -> OracleReads<'_> {
    let lines = records(text);
    let (order, index) = order(text, &lines, whole_templates);
    let (mut ends, mut fragments, mut pairs) = (Vec::new(), Vec::new(), Vec::new());
    let mut waiting = HashMap::new();
    for &i in order.iter().filter(|&&i| number(lines[i], 1) & 0x904 == 0) {
        let line = lines[i];
        let end = end(text, line, index[i], i);
        if number(line, 1) & 0x9 != 0x1 {
            fragments.push(end);
            continue;
        }
        let next = if column(line, 6) == "=" { column(line, 2) } else { column(line, 6) };
        if next == "*" {
            fragments.push(end.clone());
        } else {
            ends.push(end.clone());
        }
        let name = (field(line, "RG:Z:"), column(line, 0));
        match waiting.remove(&(name, column(line, 2))) {
            Some(seen) => pairs.push(pair(seen, end)),
            None => drop(waiting.insert((name, next), end)),
        }
    }
    OracleReads { ends, fragments, pairs, index }
}

/// For each record of SAM text, whether it is flagged. `whole_templates`: the text is grouped by name
/// and all records of a template are flagged together; else reads are taken in coordinate order.
pub fn judge(text: &str, whole_templates: bool) -> Vec<bool> {
    let OracleReads { ends, fragments, pairs, index } = read(text, whole_templates);
    let mut flagged = vec![false; index.len()];
    for a in &pairs {
        if pairs.iter().any(|b| a.set == b.set && b.rank() < a.rank()) {
            a.lines.iter().for_each(|&line| flagged[line] = true);
        }
    }
    for a in &fragments {
        let same = |b: &&TemplateEnd<'_>| a.library == b.library && a.at == b.at;
        let better = fragments.iter().filter(same).any(|b| b.rank() < a.rank());
        flagged[a.line] |= better || ends.iter().any(|b| same(&b));
    }
    if whole_templates {
        flagged = shared(&flagged, &index);
    }
    flagged
}

/// Marks all records of a template if one is marked.
pub fn shared(flagged: &[bool], index: &[usize]) -> Vec<bool> {
    let marked: Vec<usize> = (0..flagged.len()).filter(|&i| flagged[i]).map(|i| index[i]).collect();
    index.iter().map(|first| marked.contains(first)).collect()
}

/// The order of the reads, and for each line its place: in coordinate
/// order, or the place of its template.
fn order(text: &str, lines: &[&str], whole_templates: bool) -> (Vec<usize>, Vec<usize>) {
    let mut order: Vec<usize> = (0..lines.len()).collect();
    let mut index = vec![0; lines.len()];
    if whole_templates {
        for i in 1..lines.len() {
            let same = column(lines[i], 0) == column(lines[i - 1], 0);
            index[i] = if same { index[i - 1] } else { i };
        }
    } else {
        let names = references(text);
        order.sort_by_key(|&i| coordinate_key(lines[i], &names));
        order.iter().enumerate().for_each(|(place, &i)| index[i] = place);
    }
    (order, index)
}

fn end<'a>(text: &'a str, line: &'a str, index: usize, i: usize) -> TemplateEnd<'a> {
    let place = coordinate_key(line, &references(text)).0;
    let reverse = number(line, 1) & 0x10 != 0;
    let (cigar, pos) = (cigar(column(line, 5)), number(line, 3));
    let clip = |op: &&(i64, char)| matches!(op.1, 'S' | 'H');
    let covered = cigar.iter().filter(|op| "MDN=X".contains(op.1)).map(|op| op.0).sum::<i64>();
    let five_prime = if reverse {
        pos + covered - 1 + cigar.iter().rev().take_while(clip).map(|op| op.0).sum::<i64>()
    } else {
        pos - cigar.iter().take_while(clip).map(|op| op.0).sum::<i64>()
    };
    let quals = column(line, 10).bytes().map(|b| i64::from(b) - 33).filter(|&q| q >= 15);
    let sum = if column(line, 10) == "*" { 0 } else { quals.sum::<i64>() };
    let score = sum.min(16383) - if number(line, 1) & 0x200 != 0 { 16384 } else { 0 };
    let location = location(column(line, 0));
    let library = library(text, field(line, "RG:Z:"));
    TemplateEnd { library, at: (place, five_prime, reverse), score, location, index, line: i }
}

fn pair<'a>(seen: TemplateEnd<'a>, arriving: TemplateEnd<'a>) -> MatePair<'a> {
    let place = |end: &TemplateEnd<'_>| (end.at.0, end.at.1);
    let (library, location, score) = (seen.library, seen.location, seen.score + arriving.score);
    let keeps = place(&arriving) >= place(&seen);
    let met = [seen.clone(), arriving.clone()];
    let (one, two) = if keeps { (seen, arriving) } else { (arriving, seen) };
    let mut strands = (one.at.2, two.at.2);
    if place(&one) == place(&two) && strands == (true, false) {
        strands = (false, true);
    }
    MatePair {
        set: (library, [place(&one), place(&two)], strands),
        rank: (-score, location, one.index, two.index),
        lines: [one.line, two.line],
        met,
    }
}

/// The value of an optional field.
pub fn field<'a>(line: &'a str, start: &str) -> Option<&'a str> {
    line.split('\t').find_map(|field| field.strip_prefix(start))
}

fn library<'a>(text: &'a str, group: Option<&str>) -> &'a str {
    let mut groups = split_header(text).0.lines().filter(|line| line.starts_with("@RG"));
    let line = groups.find(|line| group.is_some() && field(line, "ID:") == group);
    line.and_then(|line| field(line, "LB:")).unwrap_or("Unknown Library")
}

/// Numbers and letters of a CIGAR.
pub fn cigar(text: &str) -> Vec<(i64, char)> {
    let ops = text.split_inclusive(|c: char| c.is_ascii_alphabetic() || c == '=');
    let op = |op: &str| Some((op[..op.len() - 1].parse().ok()?, op.chars().last()?));
    ops.filter_map(op).collect()
}

/// The last three of five or seven fields, in 16 bits; other text can follow a number.
fn location(name: &str) -> [i64; 3] {
    let fields: Vec<&str> = name.split(':').collect();
    if !matches!(fields.len(), 5 | 7) {
        return [-1; 3];
    }
    let number = |n: usize| {
        let text = fields[fields.len() - n];
        let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
        text[..end].parse::<i64>().ok().map(|n| i64::from(n as i16))
    };
    match [number(3), number(2), number(1)] {
        [Some(tile), Some(x), Some(y)] => [tile, x, y],
        _ => [-1; 3],
    }
}
