//! The files of an index of any aligner: how they are found, opened and described.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use readmill_record::{Error, Result};

use crate::Contig;
use crate::fasta;

/// The names of an aligner's index files, and how to read them.
pub struct IndexFiles {
    /// The aligner, for messages.
    pub(crate) aligner: &'static str,
    /// The endings of the needed files.
    pub(crate) suffixes: &'static [&'static str],
    /// The command that makes them.
    pub(crate) hint: &'static str,
    /// Reads what describes an index of that prefix, and holds its files against it.
    pub(crate) check: fn(&Path) -> Result<Described>,
}

/// The content of the index files.
pub(crate) struct Described {
    pub(crate) contigs: Vec<Contig>,
    /// Bytes it takes in memory.
    pub(crate) bytes: u64,
}

impl Described {
    /// Bases of all its sequences.
    pub(crate) fn bases(&self) -> u64 {
        self.contigs.iter().map(|contig| contig.length).sum()
    }

    /// Whether these names and lengths in bases are those of its sequences.
    pub(crate) fn has<'a>(&'a self, loaded: impl Iterator<Item = (&'a [u8], u64)>) -> bool {
        loaded.eq(self.contigs.iter().map(|contig| (contig.name.as_bytes(), contig.length)))
    }
}

impl IndexFiles {
    /// The files that an index of that prefix lacks.
    pub fn missing(&self, prefix: &Path) -> Vec<PathBuf> {
        self.suffixes.iter().map(|suffix| named(prefix, suffix)).filter(|file| !file.is_file()).collect()
    }

    /// The prefix under which a reference has a whole index, or an error that says how to make one. It is the
    /// reference's own name, as the aligners call it, or, as others do, that name without `.gz`, or without `.fasta`,
    /// `.fa` or `.fna` too.
    pub fn find(&self, reference: &Path) -> Result<PathBuf> {
        let mut prefix = reference.to_path_buf();
        while !self.missing(&prefix).is_empty() {
            let extension = prefix.extension().and_then(|it| it.to_str()).unwrap_or_default();
            if !["gz", "bgz", "fasta", "fa", "fna"].contains(&extension) {
                return Err(self.not_found(reference));
            }
            prefix.set_extension("");
        }
        Ok(prefix)
    }

    /// The error of a reference without an index.
    fn not_found(&self, reference: &Path) -> Error {
        const FIRST: &str = "the reference comes first: readmill align REF READS...";
        let error = match (reference.metadata(), fasta::holds_reads(reference)) {
            (Err(error), _) => Error::io("the reference cannot be opened", &error)
                .hint("give the FASTA file from which `readmill index` made the index; it comes before the reads"),
            (Ok(about), _) if about.is_dir() => {
                Error::usage("this is a directory, and the reference is a FASTA file").hint(FIRST)
            }
            (_, Some(kind)) => {
                Error::usage(format!("this is {kind}, and stands where the reference is expected")).hint(FIRST)
            }
            _ => match &self.missing(reference)[..] {
                [lacking, ..] if self.missing(reference).len() < self.suffixes.len() => {
                    let lacking = lacking.display();
                    Error::usage(format!("its index for {} lacks {lacking}", self.aligner))
                }
                _ => Error::usage(format!("it has no index for {}", self.aligner)),
            }
            .hint(self.hint),
        };
        error.file(reference)
    }

    /// Bytes that an index of that prefix takes in memory, as its files say.
    pub fn bytes(&self, prefix: &Path) -> Result<u64> {
        (self.check)(prefix).map(|described| described.bytes)
    }
}

/// Appends `suffix` to the path `prefix`.
pub(crate) fn named(prefix: &Path, suffix: &str) -> PathBuf {
    let mut name = prefix.as_os_str().to_owned();
    name.push(OsStr::new(suffix));
    PathBuf::from(name)
}
