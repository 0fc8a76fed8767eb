//! Finds molecules by UMIs in a slow and simple way: compares all UMIs of a position with each other, and searches
//! every set among all templates.
//!
//! Written from the program's documentation, without its code. Reads, their ends and their rank are
//! those of the oracle of duplicates.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt::Debug;

use crate::support::{column, number, records};
use crate::umi::reads::{self, MatePair, OracleReads, TemplateEnd, cigar, field};

/// The rule for molecules.
#[derive(Clone, Copy, Debug)]
pub struct MoleculeRule {
    /// As `--umi` has it.
    pub source: &'static str,
    /// As `--umi-method` has it.
    pub method: &'static str,
    /// As `--umi-edits` has it.
    pub edits: usize,
}

impl MoleculeRule {
    /// Whether the program refuses it: a duplex UMI on only one end.
    pub fn is_refused(self) -> bool {
        self.method == "paired" && inline(self.source).is_some_and(|[_, last]| last == 0)
    }
}

/// The expected flag of each record, and its molecule if there is exactly one.
#[derive(Debug, Default)]
pub struct Expected {
    pub flagged: Vec<bool>,
    /// An arbitrary number of the molecule, and the strand.
    pub molecules: Vec<Option<(usize, &'static str)>>,
    /// Records in two sets, of which the program names one.
    pub ambiguous: Vec<bool>,
}

/// UMIs of a position: the number of templates with each, and the place of the first one.
type UmiCounts = BTreeMap<String, (usize, usize)>;

/// Flags and molecules that the oracle computes.
struct OracleResult {
    flagged: Vec<bool>,
    /// The molecules of each record.
    molecules: Vec<BTreeSet<(usize, &'static str)>>,
    /// Numbers of molecules.
    numbers: HashMap<String, usize>,
}

impl OracleResult {
    /// The number of the molecule with this root at this position.
    fn number(&mut self, position: &impl Debug, root: &str) -> usize {
        let next = self.numbers.len();
        *self.numbers.entry(format!("{position:?} {root}")).or_insert(next)
    }
}

/// Finds the molecules and duplicates of SAM text; see `reads::judge`.
pub fn judge(text: &str, whole: bool, rule: MoleculeRule) -> Expected {
    let lines = records(text);
    let reads = reads::read(text, whole);
    let (flagged, molecules) = (vec![false; lines.len()], vec![BTreeSet::new(); lines.len()]);
    let mut found = OracleResult { flagged, molecules, numbers: HashMap::new() };
    let of_pair: Vec<Template> = reads.pairs.iter().map(|pair| template(&lines, pair, rule)).collect();
    judge_pairs(&reads, &of_pair, rule, &mut found);
    judge_single_reads(&lines, &reads, &of_pair, rule, &mut found);
    let OracleResult { mut flagged, mut molecules, .. } = found;
    if whole {
        let index = &reads.index;
        flagged = reads::shared(&flagged, index);
        let own = molecules.clone();
        for i in 0..lines.len() {
            let others = (0..lines.len()).filter(|&j| index[j] == index[i]);
            molecules[i] = others.flat_map(|j| own[j].clone()).collect();
        }
    }
    Expected {
        flagged,
        ambiguous: molecules.iter().map(|of| of.len() > 1).collect(),
        molecules: molecules.iter().map(|of| of.first().copied()).collect(),
    }
}

fn judge_pairs(
    reads: &OracleReads<'_>,
    of_pair: &[Template],
    rule: MoleculeRule,
    found: &mut OracleResult,
) {
    let mut positions = BTreeMap::new();
    for (pair, of) in reads.pairs.iter().zip(of_pair) {
        let beside: &mut Vec<_> = positions.entry((pair.set, of.apart)).or_default();
        beside.push((pair, of));
    }
    for (position, beside) in &positions {
        let mut seen = UmiCounts::new();
        beside.iter().for_each(|(_, of)| count(&mut seen, &of.umi, of.place));
        let roots = roots(&seen, rule);
        for (pair, of) in beside {
            let root = &roots[&of.umi];
            // of each strand of a molecule one template stays
            let strand = suffix(root, of, rule);
            let better = |(b, of_b): &(&MatePair<'_>, &Template)| {
                roots[&of_b.umi] == *root && suffix(root, of_b, rule) == strand && b.rank() < pair.rank()
            };
            let molecule = (found.number(position, root), strand);
            for line in pair.lines {
                found.flagged[line] |= beside.iter().any(better);
                found.molecules[line].insert(molecule);
            }
        }
    }
}

/// Single reads are duplicates of all pairs that have an end there and the same molecule, else of a better one.
fn judge_single_reads(
    lines: &[&str],
    reads: &OracleReads<'_>,
    of_pair: &[Template],
    rule: MoleculeRule,
    found: &mut OracleResult,
) {
    // a duplex UMI is compared with that of the end itself first
    let own_first = |umi: String, is_last: bool| {
        let turned = if rule.method == "paired" && is_last { swapped(&umi) } else { None };
        turned.unwrap_or(umi)
    };
    let mut umi_of_end: HashMap<usize, String> = HashMap::new();
    for (pair, of) in reads.pairs.iter().zip(of_pair) {
        let umi = |line| own_first(of.as_read.clone(), line != of.place);
        umi_of_end.extend(pair.lines.map(|line| (line, umi(line))));
    }
    let single = |end: &TemplateEnd<'_>| {
        let line = lines[end.line];
        own_first(
            umi_of_single(line, rule),
            number(line, 1) & 0x81 == 0x81 && number(line, 1) & 0x40 == 0,
        )
    };
    let mut positions = BTreeMap::new();
    for a in &reads.fragments {
        positions.entry((a.library, a.at)).or_insert_with(Vec::new).push((a, single(a)));
    }
    for (position, beside) in &positions {
        let paired = reads.ends.iter().filter(|b| (b.library, b.at) == *position);
        let paired = paired.map(|b| umi_of_end.get(&b.line).map_or_else(|| single(b), Clone::clone));
        let paired: Vec<String> = paired.collect();
        let mut seen = UmiCounts::new();
        beside.iter().for_each(|(a, umi)| count(&mut seen, umi, a.line));
        paired.iter().for_each(|umi| count(&mut seen, umi, usize::MAX));
        let roots = roots(&seen, rule);
        for (a, umi) in beside {
            let root = &roots[umi];
            let mut others = beside.iter().filter(|(_, other)| roots[other] == *root);
            found.flagged[a.line] |= others.any(|(b, _)| b.rank() < a.rank());
            found.flagged[a.line] |= paired.iter().any(|other| roots[other] == *root);
            let strand = if rule.method == "paired" { "/A" } else { "" };
            let molecule = (found.number(position, root), strand);
            found.molecules[a.line].insert(molecule);
        }
    }
}

/// The UMIs of a pair.
struct Template {
    /// The UMI, that of the first segment first.
    as_read: String,
    /// The same; where strands are one molecule, that of the lower end first.
    umi: String,
    /// Whether the first segment is at the higher end.
    is_b: bool,
    /// Whether it differs from templates with the same ends for another reason than its UMI.
    apart: bool,
    /// Its place in the input.
    place: usize,
}

fn template(lines: &[&str], pair: &MatePair<'_>, rule: MoleculeRule) -> Template {
    let [first, last] = in_order(lines, &pair.met);
    let (low, high) = ((first.at.0, first.at.1), (last.at.0, last.at.1));
    let is_b = low > high || low == high && first.at.2;
    let as_read =
        joined(umi_of_read(lines[first.line], rule), umi_of_read(lines[last.line], rule), rule);
    let joins = rule.method == "paired";
    let turned = if joins && is_b { swapped(&as_read) } else { None };
    let umi = turned.unwrap_or_else(|| as_read.clone());
    Template { as_read, umi, is_b, apart: is_b && !joins, place: first.line }
}

/// The first segment, then the last one.
fn in_order<'a, 'b>(
    lines: &[&str],
    [seen, arriving]: &'b [TemplateEnd<'a>; 2],
) -> [&'b TemplateEnd<'a>; 2] {
    let is_first = number(lines[arriving.line], 1) & 0x40 != 0;
    if is_first { [arriving, seen] } else { [seen, arriving] }
}

fn umi_of_single(line: &str, rule: MoleculeRule) -> String {
    let umi = umi_of_read(line, rule);
    let is_last = number(line, 1) & 0x81 == 0x81;
    if is_last { joined(String::new(), umi, rule) } else { joined(umi, String::new(), rule) }
}

/// The UMI of a template, from its segments.
fn joined(first: String, last: String, rule: MoleculeRule) -> String {
    let [of_first, of_last] = inline(rule.source).unwrap_or_default();
    if of_first > 0 && of_last > 0 && !(first.is_empty() && last.is_empty()) {
        return format!("{first}-{last}");
    }
    if first.is_empty() { last } else { first }
}

/// Bases at the start of the first and of the last segment.
fn inline(source: &str) -> Option<[usize; 2]> {
    let lengths = source.strip_prefix("inline:")?;
    let (first, last) = lengths.split_once('+').unwrap_or((lengths, "0"));
    Some([first, last].map(|length| length.parse().expect("a length")))
}

/// Returns the UMI of one record: upper case, with a dash between halves.
fn umi_of_read(line: &str, rule: MoleculeRule) -> String {
    if let Some([first, last]) = inline(rule.source) {
        let is_last = number(line, 1) & 0x81 == 0x81;
        return of_bases(line, if is_last { last } else { first });
    }
    let plain = |text: &str| text.to_uppercase().replace('+', "-");
    let name = column(line, 0);
    match rule.source {
        "name" | "name:_" if name.contains('_') => plain(name.rsplit('_').next().unwrap_or_default()),
        "name" => {
            let parts = name.rsplit(':').next().unwrap_or_default().split('+');
            let part = |part: &str| match part.strip_prefix('r') {
                Some(part) => part.chars().rev().map(complement).collect(),
                None => part.to_string(),
            };
            parts.map(part).collect::<Vec<String>>().join("-")
        }
        tag => plain(field(line, &format!("{}:Z:", &tag[4..])).unwrap_or_default()),
    }
}

/// The first bases as sequenced.
fn of_bases(line: &str, length: usize) -> String {
    let is_reverse = number(line, 1) & 0x10 != 0;
    let cigar = cigar(column(line, 5));
    let outermost = if is_reverse { cigar.last() } else { cigar.first() };
    let clipped = outermost.is_some_and(|op| op.1 == 'H');
    let mut bases: Vec<char> = column(line, 9).chars().collect();
    if is_reverse {
        bases = bases.into_iter().rev().map(complement).collect();
    }
    if clipped || bases.len() < length {
        return String::new();
    }
    let known = |base: &char| if "ACGT".contains(*base) { *base } else { 'N' };
    bases[..length].iter().map(known).collect()
}

fn complement(base: char) -> char {
    "ACGT".find(base).map_or('N', |at| char::from(b"TGCA"[at]))
}

fn count(seen: &mut UmiCounts, umi: &str, place: usize) {
    let (count, first) = seen.entry(umi.to_string()).or_insert((0, usize::MAX));
    (*count, *first) = (*count + 1, place.min(*first));
}

/// Symbols in which two UMIs differ, where length and dashes are the same.
fn distance(a: &str, b: &str) -> Option<usize> {
    let dashes = |umi: &str| umi.match_indices('-').map(|it| it.0).collect::<Vec<_>>();
    let alike = a.len() == b.len() && dashes(a) == dashes(b);
    alike.then(|| a.bytes().zip(b.bytes()).filter(|(a, b)| a != b).count())
}

fn swapped(umi: &str) -> Option<String> {
    let (first, last) = umi.split_once('-')?;
    Some(format!("{last}-{first}")).filter(|_| !last.contains('-'))
}

/// The strand of a molecule that a template comes from.
fn suffix(root: &str, of: &Template, rule: MoleculeRule) -> &'static str {
    if rule.method != "paired" {
        return "";
    }
    let as_it_is = distance(root, &of.umi).unwrap_or(usize::MAX);
    let other = swapped(&of.umi).and_then(|swapped| distance(root, &swapped));
    let drifted = other.is_some_and(|other| root != of.umi && other + 2 * (rule.edits + 1) <= as_it_is);
    if of.is_b ^ drifted { "/B" } else { "/A" }
}

/// The root of the molecule of each UMI of a position.
fn roots(seen: &UmiCounts, rule: MoleculeRule) -> HashMap<String, String> {
    let mut all: Vec<&String> = seen.keys().collect();
    all.sort_by_key(|umi| (usize::MAX - seen[*umi].0, umi.as_str()));
    let mut seeds = all.clone();
    if rule.method == "directional" {
        seeds.sort_by_key(|umi| (usize::MAX - seen[*umi].0, seen[*umi].1, umi.as_str()));
    }
    let near = |a: &str, b: &str| distance(a, b).is_some_and(|distance| distance <= rule.edits);
    let linked = |a: &str, b: &str| {
        let (parent, child) = (seen[a].0, seen[b].0);
        near(a, b)
            && match rule.method {
                "exact" => a == b,
                "directional" => parent + 1 >= 2 * child,
                "paired" => child <= parent / 2 + 1,
                _ => true,
            }
    };
    let mut roots = HashMap::new();
    for seed in seeds {
        if roots.contains_key(seed) {
            continue;
        }
        let mut group = BTreeSet::from([seed]);
        loop {
            let free = |umi: &&String| !group.contains(*umi) && !roots.contains_key(*umi);
            let next = all.iter().filter(|umi| free(umi)).find(|b| group.iter().any(|a| linked(a, b)));
            match next {
                Some(next) => drop(group.insert(next)),
                None => break,
            }
        }
        let ranked: Vec<&String> = all.iter().copied().filter(|umi| group.contains(umi)).collect();
        let leads = if rule.method == "adjacency" { leads(&ranked, rule) } else { &ranked[..1] };
        for umi in &ranked {
            let near =
                leads.iter().find(|lead| lead == &umi || rule.method == "adjacency" && near(lead, umi));
            let lead = if leads.contains(umi) { umi } else { near.unwrap_or(&ranked[0]) };
            roots.insert(umi.to_string(), lead.to_string());
        }
    }
    roots
}

/// The smallest number of the first UMIs that are near all.
fn leads<'a, 'b>(ranked: &'a [&'b String], rule: MoleculeRule) -> &'a [&'b String] {
    let near = |a: &str, b: &str| distance(a, b).is_some_and(|distance| distance <= rule.edits);
    let covers = |n: usize| ranked.iter().all(|umi| ranked[..n].iter().any(|lead| near(lead, umi)));
    &ranked[..(1..=ranked.len()).find(|&n| covers(n)).expect("all cover all")]
}
