//! Adds UMIs to random reads: a few molecules, and errors that make their UMIs similar.

use crate::support::random::TestRandom;
use crate::support::{column, number, records, split_header, with_header};

/// The place and form of UMIs.
pub struct UmiStyle {
    /// As `--umi` has it.
    pub source: &'static str,
    /// The correct UMIs, and the number of symbols that can be wrong.
    roots: Vec<String>,
    errors: usize,
}

const SOURCES: [&str; 10] = [
    "tag:RX",
    "tag:RX",
    "tag:BX",
    "name",
    "name:_",
    "inline:3",
    "inline:0+3",
    "inline:2+2",
    "inline:2+2",
    "inline:1+3",
];

impl UmiStyle {
    /// For the method `paired`, or for another.
    pub fn new(random: &mut TestRandom, paired: bool) -> Self {
        let source = random.pick(&SOURCES);
        let halves = paired || random.once_in(3);
        let length = 2 + random.below(3);
        let roots = 1 + random.below(3);
        let roots = (0..roots).map(|_| {
            let mut half =
                || (0..length).map(|_| random.pick(&['A', 'C', 'G', 'T'])).collect::<String>();
            if halves { format!("{}-{}", half(), half()) } else { half() + &half() }
        });
        UmiStyle { source, roots: roots.collect(), errors: 1 + random.below(3) }
    }

    /// SAM text with UMIs, mostly the same in all records of a template.
    pub fn dress(&self, random: &mut TestRandom, text: &str) -> String {
        let mut lines = Vec::new();
        let (mut name, mut umi, mut eighth) = ("", String::new(), false);
        for line in records(text) {
            if column(line, 0) != name {
                (name, umi, eighth) = (column(line, 0), self.umi(random), random.once_in(2));
            }
            lines.push(match self.source.split_once(':') {
                Some(("tag", tag)) => self.in_field(random, line, tag, &umi),
                Some(("inline", _)) => in_bases(random, line, &umi),
                _ => self.in_name(line, &umi, eighth),
            });
        }
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        with_header(split_header(text).0, &lines)
    }

    /// The UMI of a molecule, from one strand or the other, with errors.
    fn umi(&self, random: &mut TestRandom) -> String {
        let mut umi = self.roots[random.below(self.roots.len())].clone();
        if let Some((first, last)) = umi.split_once('-').filter(|_| random.once_in(2)) {
            umi = format!("{last}-{first}");
        }
        for _ in 0..random.below(2 + self.errors).saturating_sub(1) {
            let at = random.below(umi.len());
            if &umi[at..=at] != "-" {
                umi.replace_range(at..=at, random.pick(&["A", "C", "G", "T", "T", "N"]));
            }
        }
        if random.once_in(12) {
            umi.pop(); // another length
        }
        umi
    }

    fn in_field(&self, random: &mut TestRandom, line: &str, tag: &str, umi: &str) -> String {
        match random.below(40) {
            0 => line.to_string(), // this record says nothing
            1 => format!("{line}\t{tag}:Z:"),
            2 => format!("{line}\t{tag}:Z:{}", umi.to_lowercase()),
            3 => format!("{line}\t{tag}:Z:{}", umi.replace('-', "+")),
            4 => format!("{line}\t{tag}:Z:{}", self.umi(random)), // mates disagree
            _ => format!("{line}\t{tag}:Z:{umi}"),
        }
    }

    fn in_name(&self, line: &str, umi: &str, eighth: bool) -> String {
        let (name, rest) = line.split_once('\t').expect("columns");
        let name = name.strip_suffix(":UMI").unwrap_or(name);
        let umi = if umi.is_empty() { "N" } else { umi };
        let eighth = eighth && name.split(':').count() == 7 && self.source == "name";
        let umi = umi.replace('-', "+");
        if eighth { format!("{name}:{}\t{rest}", marked(&umi)) } else { format!("{name}_{umi}\t{rest}") }
    }
}

/// BCL Convert's form of a reverse-complemented UMI; the UMI itself decides which ones, so that all
/// records of a template have one name.
fn marked(umi: &str) -> String {
    let part = |part: &str| match part.starts_with('G') {
        true => {
            let complement = |base: char| match base {
                'A' => 'T',
                'C' => 'G',
                'G' => 'C',
                'T' => 'A',
                other => other,
            };
            format!("r{}", part.chars().rev().map(complement).collect::<String>())
        }
        false => part.to_string(),
    };
    umi.split('+').map(part).collect::<Vec<_>>().join("+")
}

/// The first half at the start of the first segment, the last half at the start of the last one.
fn in_bases(random: &mut TestRandom, line: &str, umi: &str) -> String {
    let flag = number(line, 1);
    let half = match umi.split_once('-') {
        Some((_, last)) if flag & 0x80 != 0 => last,
        Some((first, _)) => first,
        None => umi,
    };
    let mut bases: Vec<u8> = half.bytes().chain(b"ACGTACGTAC".iter().copied()).collect();
    bases.truncate(column(line, 9).len());
    if random.once_in(15)
        && let Some(base) = bases.first_mut()
    {
        *base = random.pick(b"ACGTNRM");
    }
    if flag & 0x10 != 0 {
        bases.reverse();
        for base in &mut bases {
            *base = match *base {
                b'A' => b'T',
                b'C' => b'G',
                b'G' => b'C',
                b'T' => b'A',
                other => other,
            };
        }
    }
    let mut columns: Vec<&str> = line.split('\t').collect();
    let bases = String::from_utf8(bases).expect("bases");
    columns[9] = &bases;
    columns.join("\t")
}
