//! Duplicate marks of two files, compared on every record.

use std::collections::BTreeSet;

use anyhow::{Context, Result, bail};

use super::commands::SampleDir;
use super::lines::Printed;

/// A record (name, flag without 0x400, RNAME and POS) and whether it is marked.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Mark {
    /// `QNAME FLAG RNAME POS`, separated by tabs.
    record: Box<str>,
    marked: bool,
}

/// The marks of a file, sorted, so that files in different orders can be compared.
pub struct Marks(Vec<Mark>);

/// Names of templates that only one of two files marks.
#[derive(Default)]
pub struct Differences {
    /// Marked only by readmill.
    pub ours: BTreeSet<String>,
    /// Marked only by the peer.
    pub theirs: BTreeSet<String>,
    records: usize,
}

impl Marks {
    /// Reads the marks of a file.
    pub fn of(dir: &SampleDir<'_>, file: &str) -> Result<Self> {
        let mut printed = Printed::samtools(dir, &format!("view {file}"))?;
        let (mut line, mut marks) = (Vec::new(), Vec::new());
        while printed.line(&mut line)? {
            let text = std::str::from_utf8(&line)?;
            let mut fields = text.split('\t');
            let mut field = || fields.next().context("a short line");
            let (name, flag, contig, position) =
                (field()?, field()?.parse::<u32>()?, field()?, field()?);
            let record = format!("{name}\t{}\t{contig}\t{position}", flag & !0x400).into();
            marks.push(Mark { record, marked: flag & 0x400 != 0 });
        }
        marks.sort_unstable();
        Ok(Marks(marks))
    }

    /// How many records there are and how many of them are marked.
    pub fn figures(&self) -> String {
        let marked = self.0.iter().filter(|mark| mark.marked).count();
        format!("{} records, {marked} duplicates", self.0.len())
    }

    /// The differences between our marks and theirs. Other records in one of them are an error.
    pub fn differences(&self, theirs: &Marks) -> Result<Differences> {
        if self.0.len() != theirs.0.len() {
            bail!("{} records, theirs has {}", self.0.len(), theirs.0.len());
        }
        let mut differences = Differences::default();
        for (own, other) in self.0.iter().zip(&theirs.0) {
            if own.record != other.record {
                bail!("other records: {:?}, theirs {:?}", own.record, other.record);
            }
            if own.marked != other.marked {
                let name = own.record.split('\t').next().unwrap_or_default().to_owned();
                let side = if own.marked { &mut differences.ours } else { &mut differences.theirs };
                side.insert(name);
                differences.records += 1;
            }
        }
        Ok(differences)
    }

    /// Checks that every record is marked alike; returns the figures.
    pub fn same(&self, theirs: &Marks) -> Result<String> {
        let differences = self.differences(theirs)?;
        if differences.records == 0 {
            return Ok(self.figures());
        }
        let some =
            |names: &BTreeSet<String>| names.iter().take(3).cloned().collect::<Vec<_>>().join(" ");
        bail!(
            "{} records differ; {} templates marked by us alone ({}), {} by them alone ({})",
            differences.records,
            differences.ours.len(),
            some(&differences.ours),
            differences.theirs.len(),
            some(&differences.theirs),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn marks(list: &[(&str, bool)]) -> Marks {
        Marks(list.iter().map(|&(record, marked)| Mark { record: record.into(), marked }).collect())
    }

    #[test]
    fn every_record_counts() {
        let ours = marks(&[("a\t0\tc\t1", true), ("b\t0\tc\t1", false)]);
        assert!(ours.same(&marks(&[("a\t0\tc\t1", true), ("b\t0\tc\t1", false)])).is_ok());
        assert!(ours.same(&marks(&[("a\t0\tc\t1", true), ("b\t0\tc\t2", false)])).is_err());
        assert!(ours.same(&marks(&[("a\t0\tc\t1", true)])).is_err());
        let other = marks(&[("a\t0\tc\t1", false), ("b\t0\tc\t1", true)]);
        assert!(ours.same(&other).is_err());
        let differences = ours.differences(&other).expect("the same records");
        assert_eq!((differences.ours.len(), differences.theirs.len()), (1, 1));
    }
}
