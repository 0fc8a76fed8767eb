//! The content of a file, independent of the IDs of read groups and programs.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result, ensure};

use super::headers::ids;
use crate::parity::raw::ReadsFile;

/// Header and records of a file, with the content of read groups and programs in place of their IDs.
pub struct ResolvedFile {
    /// The names of the sequences, in order.
    pub sequences: Vec<String>,
    lines: BTreeSet<String>,
    /// By ID, the fields of the read group without ID and program.
    groups: BTreeMap<String, String>,
    /// By ID, the fields of the program and of those before it.
    chains: BTreeMap<String, String>,
    comments: Vec<String>,
    /// The records, in order, with the content of their read groups and programs in place of IDs.
    pub records: Vec<String>,
}

fn field<'a>(line: &'a str, tag: &str) -> Option<&'a str> {
    line.split('\t').find_map(|field| field.strip_prefix(tag)?.strip_prefix(':'))
}

/// The fields of a line in order, without some.
fn said(line: &str, without: &[&str]) -> String {
    let mut fields: Vec<&str> = line.split('\t').skip(1).collect();
    fields.retain(|field| !without.iter().any(|tag| field.starts_with(&format!("{tag}:"))));
    fields.sort_unstable();
    fields.join(" ")
}

impl ResolvedFile {
    /// Resolves the IDs in these reads.
    pub fn of(reads: &ReadsFile) -> Result<Self> {
        let header = reads.header.join("\n");
        let of_kind = |kind: &'static str| {
            header.lines().filter(move |line| line.starts_with(&format!("{kind}\t")))
        };
        let by_id = |kind: &'static str| -> Result<BTreeMap<String, &str>> {
            let mut lines = BTreeMap::new();
            for line in of_kind(kind) {
                let id = field(line, "ID").context("a line without ID")?;
                ensure!(lines.insert(id.to_owned(), line).is_none(), "{kind} {id} stands twice");
            }
            Ok(lines)
        };
        let (groups, programs) = (by_id("@RG")?, by_id("@PG")?);
        let groups: BTreeMap<String, String> =
            groups.into_iter().map(|(id, line)| (id, said(line, &["ID", "PG"]))).collect();
        let chain = |id: &String| -> String {
            let (mut chain, mut next) = (Vec::new(), programs.get(id));
            while let Some(line) = next.filter(|_| chain.len() <= programs.len()) {
                chain.push(said(line, &["ID", "PP"]));
                next = field(line, "PP").and_then(|id| programs.get(id));
            }
            chain.join(" < ")
        };
        let chains: BTreeMap<String, String> =
            programs.keys().map(|id| (id.clone(), chain(id))).collect();
        let mut comments: Vec<String> = of_kind("@CO").map(str::to_owned).collect();
        comments.sort();
        let mut meaning = ResolvedFile {
            sequences: ids(&header, "@SQ").into_iter().map(str::to_owned).collect(),
            lines: of_kind("@SQ").map(|line| said(line, &[])).collect(),
            groups,
            chains,
            comments,
            records: Vec::new(),
        };
        for record in &reads.records {
            meaning.records.push(meaning.record(std::str::from_utf8(record)?));
        }
        Ok(meaning)
    }

    /// The record with its fields in alphabetical order. An ID that the header lacks is left out.
    fn record(&self, line: &str) -> String {
        let columns: Vec<&str> = line.split('\t').collect();
        let (columns, fields) = columns.split_at(columns.len().min(11));
        let mut said = Vec::new();
        for field in fields {
            let named = [("RG:Z:", &self.groups), ("PG:Z:", &self.chains)];
            match named.iter().find_map(|(tag, by_id)| Some((tag, by_id, field.strip_prefix(tag)?))) {
                None => said.push((*field).to_owned()),
                Some((tag, by_id, id)) => said.extend(by_id.get(id).map(|what| format!("{tag}{what}"))),
            }
        }
        said.sort();
        format!("{}\t{}", columns.join("\t"), said.join("\t"))
    }

    /// Checks that our file has the same meaning as theirs. The order of sequences and records can differ.
    pub fn same(&self, theirs: &ResolvedFile) -> Result<()> {
        let values = |by_id: &BTreeMap<String, String>| by_id.values().cloned().collect::<BTreeSet<_>>();
        for (what, ours, theirs) in [
            ("@SQ", self.lines.clone(), theirs.lines.clone()),
            ("@RG", values(&self.groups), values(&theirs.groups)),
            ("@PG", values(&self.chains), values(&theirs.chains)),
        ] {
            ensure!(ours == theirs, "{what}\n   ours: {ours:?}\n theirs: {theirs:?}");
        }
        let (ours, other) = (&self.comments, &theirs.comments);
        ensure!(ours == other, "@CO\n   ours: {ours:?}\n theirs: {other:?}");
        let sorted = |records: &[String]| {
            let mut sorted = records.to_vec();
            sorted.sort();
            sorted
        };
        let (ours, other) = (sorted(&self.records), sorted(&theirs.records));
        let differs = ours.iter().zip(&other).find(|(one, other)| one != other);
        ensure!(ours == other, "{} and {} records: {differs:?}", ours.len(), other.len());
        Ok(())
    }

    /// Whether the sequences of an input are here in the order of its header.
    pub fn keeps_order_of(&self, header: &str) -> bool {
        let place = |name: &&str| self.sequences.iter().position(|other| other == name);
        ids(header, "@SQ").iter().map(place).is_sorted()
    }

    /// The number of IDs that no input has.
    pub fn renamed(&self, headers: &[String]) -> usize {
        let unknown = |kind: &'static str, by_id: &BTreeMap<String, String>| {
            let known: BTreeSet<&str> = headers.iter().flat_map(|header| ids(header, kind)).collect();
            by_id.keys().filter(|id| !known.contains(id.as_str())).count()
        };
        unknown("@RG", &self.groups) + unknown("@PG", &self.chains)
    }
}
