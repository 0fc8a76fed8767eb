//! Checks that different choices are only ties: row 8 of docs/parity.md.
//!
//! Two templates tie fully if library, ends, score and location are equal. Then only the order of the
//! file decides, and a file sorted by Picard has another order than its source.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result, bail};

use super::commands::SampleDir;
use super::lines::Printed;
use super::marks::Differences;

/// Everything of a template that decides whether it is a duplicate and which of a set is kept.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct TieKey {
    library: String,
    /// Contig, unclipped 5' position and strand of each end.
    ends: Vec<(String, i64, bool)>,
    score: i32,
    /// Tile, x and y where the name has them.
    location: Option<[i16; 3]>,
}

/// Checks that each template that only one side marks has an equal one on the other side.
pub fn only(dir: &SampleDir<'_>, input: &str, differences: &Differences) -> Result<String> {
    let names: BTreeSet<&String> = differences.ours.union(&differences.theirs).collect();
    if names.is_empty() {
        return Ok("no template differs".to_owned());
    }
    let portraits = portraits(dir, input, &names)?;
    let side = |names: &BTreeSet<String>| {
        let mut side: Vec<&TieKey> = names.iter().filter_map(|name| portraits.get(name)).collect();
        side.sort();
        side
    };
    let (ours, theirs) = (side(&differences.ours), side(&differences.theirs));
    if ours != theirs {
        let lone = ours.iter().find(|one| !theirs.contains(one)).or_else(|| theirs.first());
        bail!("{} templates differ, and not by full ties alone: {lone:?}", names.len());
    }
    Ok(format!("{} sets keep another template of equal score and location", ours.len()))
}

fn portraits(
    dir: &SampleDir<'_>,
    input: &str,
    names: &BTreeSet<&String>,
) -> Result<BTreeMap<String, TieKey>> {
    let libraries = libraries(dir, input)?;
    let mut portraits: BTreeMap<String, TieKey> = BTreeMap::new();
    let mut printed = Printed::samtools(dir, &format!("view -F 0x904 {input}"))?;
    let mut line = Vec::new();
    while printed.line(&mut line)? {
        let text = std::str::from_utf8(&line)?;
        let fields: Vec<&str> = text.split('\t').collect();
        let name = fields[0].to_owned();
        if !names.contains(&name) {
            continue;
        }
        let portrait = portraits.entry(name).or_default();
        let group = fields.iter().find_map(|field| field.strip_prefix("RG:Z:"));
        portrait.library = group.and_then(|group| libraries.get(group)).cloned().unwrap_or_default();
        portrait.ends.push(end(&fields)?);
        portrait.ends.sort();
        portrait.score += score(&fields)?;
        portrait.location = location(fields[0]);
    }
    Ok(portraits)
}

fn libraries(dir: &SampleDir<'_>, input: &str) -> Result<BTreeMap<String, String>> {
    let header = Printed::samtools(dir, &format!("view -H {input}"))?.text()?;
    let field = |line: &str, key: &str| {
        line.split('\t').find_map(|field| field.strip_prefix(key)).unwrap_or_default().to_owned()
    };
    let groups = header.lines().filter(|line| line.starts_with("@RG\t"));
    Ok(groups.map(|line| (field(line, "ID:"), field(line, "LB:"))).collect())
}

fn end(fields: &[&str]) -> Result<(String, i64, bool)> {
    let reverse = fields[1].parse::<u32>()? & 0x10 != 0;
    let mut operations = Vec::new();
    for operation in fields[5].split_inclusive(|c: char| !c.is_ascii_digit()) {
        let (length, kind) = operation.split_at(operation.len() - 1);
        operations.push((length.parse::<i64>().unwrap_or(0), kind));
    }
    let clips = |run: &mut dyn Iterator<Item = &(i64, &str)>| -> i64 {
        run.take_while(|(_, kind)| "SH".contains(kind)).map(|(length, _)| length).sum()
    };
    let covered: i64 = operations.iter().filter(|(_, k)| "MDN=X".contains(k)).map(|(n, _)| n).sum();
    let start: i64 = fields[3].parse()?;
    let five = if reverse {
        start + covered - 1 + clips(&mut operations.iter().rev())
    } else {
        start - clips(&mut operations.iter())
    };
    Ok((fields[2].to_owned(), five, reverse))
}

fn score(fields: &[&str]) -> Result<i32> {
    let qualities = fields.get(10).context("a record without QUAL")?.bytes().map(|b| i32::from(b) - 33);
    let sum = qualities.filter(|&quality| quality >= 15).sum::<i32>().min(16383);
    let failed = fields[1].parse::<u32>()? & 0x200 != 0;
    Ok(if failed { sum - 16384 } else { sum })
}

/// As Picard 3.4.0 has it, with 16 bits each.
fn location(name: &str) -> Option<[i16; 3]> {
    let fields: Vec<&str> = name.split(':').collect();
    if !matches!(fields.len(), 5 | 7) {
        return None;
    }
    let number = |field: &str| -> Option<i16> {
        let digits = field.len() - field.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        Some(field[..digits].parse::<i64>().ok()? as i16)
    };
    let [.., tile, x, y] = fields[..] else { return None };
    Some([number(tile)?, number(x)?, number(y)?])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_are_unclipped_and_scores_leave_out_low_qualities() {
        let fields =
            |flag, cigar, qual| vec!["n", flag, "c", "101", "60", cigar, "=", "1", "0", "*", qual];
        let five = |flag, cigar| end(&fields(flag, cigar, "I")).expect("a record").1;
        assert_eq!(five("0", "2H3S10M4S"), 96);
        assert_eq!(five("16", "2H3S10M2D4S1H"), 117);
        assert_eq!(score(&fields("0", "4M", "I/0!")).expect("a score"), 40 + 15);
        assert_eq!(score(&fields("512", "1M", "I")).expect("a score"), 40 - 16384);
    }

    #[test]
    fn locations_have_sixteen_bits_and_need_five_or_seven_fields() {
        assert_eq!(location("i:1:f:2:1101:40000:7"), Some([1101, -25536, 7]));
        assert_eq!(location("i:2:1101:16:7#ACGT/1"), Some([1101, 16, 7]));
        assert_eq!(location("i:1:f:2:1101:4:7:ACG"), None);
    }
}
