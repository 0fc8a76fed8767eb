//! Compares flags, DT, DS and DI of two files, record by record.

use std::collections::HashMap;

use anyhow::{Context, Result, bail};

use super::commands::SampleDir;
use super::lines::Printed;

/// How the numbers of duplicate sets (DI) are compared.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Sets {
    /// The same number.
    Numbered,
    /// The same sets, whatever their numbers.
    Renamed,
}

/// The compared fields of a record.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct RecordTags<'a> {
    name: &'a str,
    flags: u32,
    dt: Option<&'a str>,
    ds: Option<&'a str>,
    di: Option<&'a str>,
}

impl<'a> RecordTags<'a> {
    fn of(line: &'a [u8]) -> Result<Self> {
        let mut fields = std::str::from_utf8(line)?.split('\t');
        let name = fields.next().context("a short line")?;
        let flags = fields.next().context("a short line")?.parse()?;
        let mut said = RecordTags { name, flags, ..RecordTags::default() };
        for field in fields.skip(9) {
            for (tag, value) in
                [("DT:Z:", &mut said.dt), ("DS:i:", &mut said.ds), ("DI:i:", &mut said.di)]
            {
                if let Some(found) = field.strip_prefix(tag) {
                    *value = Some(found);
                }
            }
        }
        Ok(said)
    }
}

/// Totals over all records.
#[derive(Default)]
struct TagCounts {
    records: u64,
    marked: u64,
    optical: u64,
    in_sets: u64,
    /// Our names of sets by theirs, and theirs by ours.
    sets: [HashMap<String, String>; 2],
}

impl TagCounts {
    fn add(&mut self, ours: &RecordTags<'_>, theirs: &RecordTags<'_>, sets: Sets) -> Result<()> {
        let names_match = match sets {
            Sets::Numbered => ours.di == theirs.di,
            Sets::Renamed => ours.di.is_some() == theirs.di.is_some() && self.is_same_set(ours, theirs),
        };
        if !names_match || *ours != (RecordTags { di: ours.di, ..*theirs }) {
            bail!("record {}\n   ours: {ours:?}\n theirs: {theirs:?}", self.records + 1);
        }
        self.records += 1;
        self.marked += u64::from(ours.flags & 0x400 != 0);
        self.optical += u64::from(ours.dt == Some("SQ"));
        self.in_sets += u64::from(ours.di.is_some());
        Ok(())
    }

    fn is_same_set(&mut self, ours: &RecordTags<'_>, theirs: &RecordTags<'_>) -> bool {
        let (Some(one), Some(other)) = (ours.di, theirs.di) else { return true };
        let mut knows = |side: usize, from: &str, to: &str| match self.sets[side].get(from) {
            Some(known) => known == to,
            None => self.sets[side].insert(from.to_owned(), to.to_owned()).is_none(),
        };
        knows(0, other, one) && knows(1, one, other)
    }
}

/// Checks that both files agree on every record; returns the figures.
pub fn same(dir: &SampleDir<'_>, ours: &str, theirs: &str, sets: Sets) -> Result<String> {
    let mut one = Printed::samtools(dir, &format!("view {ours}"))?;
    let mut other = Printed::samtools(dir, &format!("view {theirs}"))?;
    let (mut a, mut b, mut counts) = (Vec::new(), Vec::new(), TagCounts::default());
    loop {
        match (one.line(&mut a)?, other.line(&mut b)?) {
            (true, true) => counts.add(&RecordTags::of(&a)?, &RecordTags::of(&b)?, sets)?,
            (false, false) => break,
            _ => bail!("one has more than {} records, the other not", counts.records),
        }
    }
    let TagCounts { records, marked, optical, in_sets, .. } = counts;
    Ok(format!("{records} records, {marked} duplicates, {optical} of them optical, {in_sets} in sets"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(name: &str, flags: u32, tags: &str) -> Vec<u8> {
        format!("{name}\t{flags}\tc\t1\t60\t1M\t=\t1\t0\tA\tI\tRG:Z:a{tags}").into_bytes()
    }

    fn compare(pairs: &[(&str, &str)], sets: Sets) -> Result<()> {
        let mut counts = TagCounts::default();
        for (ours, theirs) in pairs {
            counts.add(
                &RecordTags::of(&line("n", 99, ours))?,
                &RecordTags::of(&line("n", 99, theirs))?,
                sets,
            )?;
        }
        Ok(())
    }

    #[test]
    fn every_field_counts() {
        let all = "\tDI:i:7\tDS:i:2\tDT:Z:SQ";
        assert!(compare(&[(all, all)], Sets::Numbered).is_ok());
        for other in
            ["", "\tDI:i:8\tDS:i:2\tDT:Z:SQ", "\tDI:i:7\tDS:i:3\tDT:Z:SQ", "\tDI:i:7\tDS:i:2\tDT:Z:LB"]
        {
            assert!(compare(&[(all, other)], Sets::Numbered).is_err(), "{other}");
        }
        let marked = line("n", 99 | 0x400, all);
        let said = RecordTags::of(&marked).unwrap();
        assert!(
            TagCounts::default()
                .add(&said, &RecordTags::of(&line("n", 99, all)).unwrap(), Sets::Renamed)
                .is_err()
        );
    }

    #[test]
    fn sets_may_be_renamed_but_neither_joined_nor_divided() {
        let set = |number| format!("\tDI:i:{number}");
        let compare = |pairs: &[(u32, u32)]| {
            let text: Vec<_> = pairs.iter().map(|&(a, b)| (set(a), set(b))).collect();
            let text: Vec<_> = text.iter().map(|(a, b)| (a.as_str(), b.as_str())).collect();
            compare(&text, Sets::Renamed)
        };
        assert!(compare(&[(1, 4), (2, 1), (1, 4)]).is_ok());
        assert!(compare(&[(1, 4), (2, 4)]).is_err());
        assert!(compare(&[(1, 4), (1, 5)]).is_err());
        assert!(super::tests::compare(&[("", "\tDI:i:1")], Sets::Renamed).is_err());
    }
}
