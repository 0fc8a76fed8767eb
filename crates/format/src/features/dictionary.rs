//! The contigs that a file's header names.

use std::collections::HashMap;
use std::path::Path;

use readmill_record::header::Reference as Contig;
use readmill_record::{Error, Result};

/// Names and lengths of contigs, in the order of a file's header.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Dictionary(Vec<(Vec<u8>, Option<u32>)>);

impl Dictionary {
    /// Adds a contig; its length is in bases, where it is known.
    pub(super) fn push(&mut self, name: &[u8], length: Option<u32>) {
        self.0.push((name.to_vec(), length.filter(|&n| n > 0)));
    }

    /// Whether no contig is named.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Checks that the file is about the genome of the reads: they share a contig, and every one that they share
    /// is equally long in both (`SequenceDictionaryUtils.validateDictionaries` of GATK 4.6.2 in its standard
    /// setting; lengths of 0 are unknown). A file that names no contig passes.
    pub fn check(&self, contigs: &[Contig], file: &Path) -> Result<()> {
        let lengths: HashMap<&[u8], u32> = contigs.iter().map(|it| (&it.name[..], it.length)).collect();
        let mut shared = self.is_empty();
        for (name, length) in &self.0 {
            let Some(&reads) = lengths.get(&name[..]) else { continue };
            shared = true;
            if let Some(length) = length.filter(|&n| n != reads && reads != 0) {
                let name = String::from_utf8_lossy(name);
                let what = format!(
                    "contig {name} has {length} bases here, but {reads} in the header of the reads"
                );
                return Err(Error::input(what).file(file).hint(OTHER_BUILD));
            }
        }
        if shared { Ok(()) } else { Err(no_common_contig(&self.0[0].0, contigs, file)) }
    }
}

/// What to do about a file of another genome.
pub(crate) const OTHER_BUILD: &str =
    "it is of another build of the genome: give the file made for the one of the reads";

/// The error for a file whose contigs, one of which is `theirs`, are unknown to the reads.
pub(crate) fn no_common_contig(theirs: &[u8], contigs: &[Contig], file: &Path) -> Error {
    let theirs = String::from_utf8_lossy(theirs);
    let reads = contigs.first().map_or("none at all".into(), |it| String::from_utf8_lossy(&it.name));
    let what = format!(
        "it has no contig in common with the reads (here there is {theirs}, in the header of the reads {reads})"
    );
    Error::input(what)
        .file(file)
        .hint("are names with and without chr mixed? give the file made for this genome")
}
