//! Keeps or drops reads by a list of names.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use readmill_format::text;
use readmill_record::{Charge, Detail, Prepaid, RecordRef, Result, Step};

use crate::criterion::Criterion;
use crate::flag::{Flag, Value, with_value};
use crate::in_read_groups::listed;
use crate::spec::{Filter, FilterSpec, MakeContext};

/// Ledger name of lists.
const NAMES: &str = "names of reads";

pub(crate) const SPEC: FilterSpec = FilterSpec {
    flags: &[Flag::with_value(
        "qname-file",
        Value::File,
        "FILE",
        "Keep only reads whose names this file lists; ^FILE: drop those",
    )
    .samtools(&["N"])],
    parse: |given, filters| {
        filters.extend(given.path("qname-file").map(|list| ReadNamesRequest { list }));
        Ok(())
    },
};

#[derive(Debug)]
struct ReadNamesRequest {
    /// A file, after `^` one of names to drop.
    list: PathBuf,
}

impl ReadNamesRequest {
    /// The file, and whether its names are kept.
    fn file(&self) -> (&Path, bool) {
        match self.list.as_os_str().as_bytes().strip_prefix(b"^") {
            Some(name) => (Path::new(OsStr::from_bytes(name)), false),
            None => (&self.list, true),
        }
    }
}

impl Filter for ReadNamesRequest {
    fn words(&self) -> Vec<String> {
        with_value("--qname-file", self.list.display())
    }

    fn files(&self) -> Vec<PathBuf> {
        vec![self.file().0.to_path_buf()]
    }

    fn make(&self, context: &mut MakeContext<'_>) -> Result<Box<dyn Step>> {
        let (path, keep) = self.file();
        Ok(Box::new(ReadNames { names: WordSet::open(path, context)?, keep }.step()))
    }
}

/// The words of a file, charged to the ledger. Clones share them.
#[derive(Clone)]
pub struct WordSet {
    words: Arc<HashSet<Vec<u8>>>,
    _charge: Arc<Charge>,
}

impl WordSet {
    /// Reads the words of a file, and takes those given beside it, too.
    ///
    /// # Errors
    /// The file cannot be read, or the memory is not free.
    pub fn open(path: &Path, context: &MakeContext<'_>) -> Result<Self> {
        let mut prepaid = Prepaid::new(context.ledger.empty(NAMES));
        let text = text::read_all(path, &mut context.ledger.empty(NAMES))?;
        let mut list = Vec::new();
        listed(&text, &mut list, &mut prepaid).map_err(|e| e.file(path))?;
        // The table has room for twice as many.
        let table = 3 * list.len() * size_of::<Vec<u8>>();
        prepaid.charge().grow(table as u64).map_err(|e| e.file(path))?;
        Ok(Self::new(list, prepaid.into_charge()))
    }

    /// These words, whose memory is charged.
    pub fn new(words: Vec<Vec<u8>>, charge: Charge) -> Self {
        WordSet { words: Arc::new(words.into_iter().collect()), _charge: Arc::new(charge) }
    }

    /// Whether a word is among them.
    pub fn contains(&self, word: &[u8]) -> bool {
        self.words.contains(word)
    }
}

/// Keeps the reads whose names are in a list (`samtools view -N`), or drops them.
#[derive(Clone)]
pub struct ReadNames {
    names: WordSet,
    keep: bool,
}

impl Criterion for ReadNames {
    fn name(&self) -> &'static str {
        "qname-file"
    }

    fn dropped(&self) -> &'static str {
        "reads dropped by their names"
    }

    fn detail(&self) -> Detail {
        Detail::WithoutFields
    }

    #[inline]
    fn keeps(&mut self, record: RecordRef<'_>) -> Result<bool> {
        Ok(self.names.contains(record.qname()) == self.keep)
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{header, kept};
    use super::*;
    use readmill_record::Ledger;

    #[test]
    fn names_stay_or_go() {
        let header = header("@SQ SN:c LN:1000");
        let reads = ["a", "b", "aa"].map(|name| format!("{name} 0 c 7 60 4M * 0 0 ACGT IIII"));
        let reads: Vec<&str> = reads.iter().map(String::as_str).collect();
        let names = WordSet::new(vec![b"a".to_vec(), b"x".to_vec()], Ledger::unlimited().empty(NAMES));
        let left = |keep| kept(&mut ReadNames { names: names.clone(), keep }.step(), &header, &reads);
        assert_eq!((left(true), left(false)), ("a".into(), "b aa".into()));
    }
}
