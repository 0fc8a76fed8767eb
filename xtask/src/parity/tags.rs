//! Compares flags, DT, DS and DI of two files, record by record.

use std::collections::HashMap;

use anyhow::{Context, Result, bail};

use super::commands::Place;
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
struct Said<'a> {
    name: &'a str,
    flags: u32,
    dt: Option<&'a str>,
    ds: Option<&'a str>,
    di: Option<&'a str>,
}

impl<'a> Said<'a> {
    fn of(line: &'a [u8]) -> Result<Self> {
        let mut fields = std::str::from_utf8(line)?.split('\t');
        let name = fields.next().context("a short line")?;
        let flags = fields.next().context("a short line")?.parse()?;
        let mut said = Said { name, flags, ..Said::default() };
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
struct Counts {
    records: u64,
    marked: u64,
    optical: u64,
    in_sets: u64,
    /// Our names of sets by theirs, and theirs by ours.
    sets: [HashMap<String, String>; 2],
}

impl Counts {
    fn add(&mut self, ours: &Said<'_>, theirs: &Said<'_>, sets: Sets) -> Result<()> {
        let names_match = match sets {
            Sets::Numbered => ours.di == theirs.di,
            Sets::Renamed => ours.di.is_some() == theirs.di.is_some() && self.is_same_set(ours, theirs),
        };
        if !names_match || *ours != (Said { di: ours.di, ..*theirs }) {
            bail!("record {}\n   ours: {ours:?}\n theirs: {theirs:?}", self.records + 1);
        }
        self.records += 1;
        self.marked += u64::from(ours.flags & 0x400 != 0);
        self.optical += u64::from(ours.dt == Some("SQ"));
        self.in_sets += u64::from(ours.di.is_some());
        Ok(())
    }

    fn is_same_set(&mut self, ours: &Said<'_>, theirs: &Said<'_>) -> bool {
        let (Some(one), Some(other)) = (ours.di, theirs.di) else { return true };
        let mut knows = |side: usize, from: &str, to: &str| match self.sets[side].get(from) {
            Some(known) => known == to,
            None => self.sets[side].insert(from.to_owned(), to.to_owned()).is_none(),
        };
        knows(0, other, one) && knows(1, one, other)
    }
}

/// Checks that both files agree on every record; returns the figures.
pub fn same(place: &Place<'_>, ours: &str, theirs: &str, sets: Sets) -> Result<String> {
    let mut one = Printed::samtools(place, &format!("view {ours}"))?;
    let mut other = Printed::samtools(place, &format!("view {theirs}"))?;
    let (mut a, mut b, mut counts) = (Vec::new(), Vec::new(), Counts::default());
    loop {
        match (one.line(&mut a)?, other.line(&mut b)?) {
            (true, true) => counts.add(&Said::of(&a)?, &Said::of(&b)?, sets)?,
            (false, false) => break,
            _ => bail!("one has more than {} records, the other not", counts.records),
        }
    }
    let Counts { records, marked, optical, in_sets, .. } = counts;
    Ok(format!("{records} records, {marked} duplicates, {optical} of them optical, {in_sets} in sets"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(name: &str, flags: u32, tags: &str) -> Vec<u8> {
        format!("{name}\t{flags}\tc\t1\t60\t1M\t=\t1\t0\tA\tI\tRG:Z:a{tags}").into_bytes()
    }

    fn compare(pairs: &[(&str, &str)], sets: Sets) -> Result<()> {
        let mut counts = Counts::default();
        for (ours, theirs) in pairs {
            counts.add(&Said::of(&line("n", 99, ours))?, &Said::of(&line("n", 99, theirs))?, sets)?;
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
        let said = Said::of(&marked).unwrap();
        assert!(
            Counts::default()
                .add(&said, &Said::of(&line("n", 99, all)).unwrap(), Sets::Renamed)
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
