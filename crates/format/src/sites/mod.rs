//! Known sites: positions of known variants, where a mismatch does not count as a sequencing error.
//!
//! All files become one set: sites that overlap are merged (they mask the same bases of a read); adjacent sites
//! stay separate (an insertion of a read may lie between them). The set is read once and kept in the spill file in
//! blocks of 1 KiB, two bytes for most sites; only the index of the blocks stays in memory.

mod block;
mod collector;
mod cursor;
mod gather;
mod merge;
mod site_index;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use readmill_record::{Header, Ledger, Result};

use crate::features::{FeatureFormat, Features, OTHER_BUILD, no_common_contig};
use crate::spill::Spill;
pub use collector::SiteCollector;
pub use cursor::{CURSOR_BYTES, Cursor};
use gather::Gather;
use site_index::SiteIndex;

/// The sites of all files. Clones share them.
#[derive(Clone)]
pub struct Sites {
    shared: Arc<SiteIndex>,
    files: Arc<[SiteFile]>,
}

/// The sites of one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SiteFile {
    /// The file.
    pub path: PathBuf,
    /// Its format.
    pub kind: FeatureFormat,
    /// Sites on contigs of the reads.
    pub sites: u64,
    /// Sites on other contigs, which are ignored.
    pub elsewhere: u64,
}

impl Sites {
    /// Reads the files at `paths` (VCF, BCF, BED, interval lists; plain or compressed; no index is needed) for
    /// reads with `header`. Sites in any order are accepted, but disorder costs a little time and space.
    /// Nothing else may append to `spill` meanwhile. The memory is charged to `ledger` first, the index as long as
    /// a clone of it exists.
    ///
    /// # Errors
    /// A file has contigs (##contig, @SQ) of other lengths, or none in common with the reads, and so belongs to
    /// another genome; or a file cannot be read, or there is too little memory.
    pub fn read(
        paths: &[PathBuf],
        header: &Header,
        spill: &Arc<Spill>,
        ledger: &Ledger,
    ) -> Result<Self> {
        let mut gather = Gather::new(header.references().len(), spill, ledger)?;
        let mut files = Vec::with_capacity(paths.len());
        for path in paths {
            files.push(read_file(path, header, &mut gather, ledger)?);
        }
        let shared = merge::merge(Arc::clone(spill), gather.finish()?, ledger)?;
        Ok(Sites { shared: Arc::new(shared), files: files.into() })
    }

    /// The sites of each file.
    pub fn files(&self) -> &[SiteFile] {
        &self.files
    }

    /// Whether there are no sites.
    pub fn is_empty(&self) -> bool {
        self.shared.blocks.is_empty()
    }

    /// Bytes that the index takes in memory: some 3 MB for 60 million sites.
    pub fn memory(&self) -> usize {
        self.shared.memory()
    }

    /// A reader for one thread.
    pub fn cursor(&self) -> Cursor {
        Cursor::new(Arc::clone(&self.shared))
    }
}

/// Bytes of a contig's name to remember. (A longer name is looked up for every site.)
const MAX_NAME: usize = 1 << 10;

/// Adds the sites of a file to `gather`.
fn read_file(path: &Path, header: &Header, gather: &mut Gather, ledger: &Ledger) -> Result<SiteFile> {
    let mut features = Features::open(path, ledger)?;
    features.dictionary().check(header, path)?;
    let mut found = SiteFile { path: path.to_path_buf(), kind: features.kind(), sites: 0, elsewhere: 0 };
    let (mut name, mut number) = (Vec::new(), None);
    while let Some(place) = features.next_place()? {
        if place.contig != name || name.is_empty() {
            number = header.reference_id(place.contig);
            name.clear();
            name.extend_from_slice(&place.contig[..place.contig.len().min(MAX_NAME)]);
        }
        let Some(contig) = number else {
            found.elsewhere += 1;
            continue;
        };
        let (start, end) = (place.start, place.end);
        let length = header.references()[contig as usize].length;
        if start > length && length > 0 {
            let name = String::from_utf8_lossy(&name);
            let what =
                format!("base {} lies beyond the end of contig {name}, which has {length}", start + 1);
            return Err(features.wrong(what).hint(OTHER_BUILD));
        }
        found.sites += 1;
        if start < end {
            gather.push(contig as u32, start, end).map_err(|e| e.file(path))?;
        }
    }
    if found.sites == 0 && found.elsewhere > 0 {
        return Err(no_common_contig(&name, header, path));
    }
    Ok(found)
}

#[cfg(test)]
mod tests;
