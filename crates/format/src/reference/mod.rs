//! The reference: an indexed FASTA, plain or BGZF. Only the pages in use are kept in memory.
//!
//! - [`Reference`] is the file with its index, and [`LazyReference`] is a reference that is opened
//!   on first use.
//! - [`ReferenceWindow`] reads bases; each thread has its own.
//! - [`Matched`] maps the contigs of the reads to those of the reference, and checks that they are
//!   the same.

mod bytes;
mod entry;
mod index;
mod index_files;
mod matched;
mod scan;
mod window;

use std::fmt;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use readmill_record::{Error, Header, Ledger, Result, input_file};

use bytes::{FastaLayout, append_suffix};
use entry::FaiEntry;
use index::FaiEntries;
pub use index_files::{FastaIndex, make_index};
pub use matched::Matched;
use window::{OpenFasta, SAME_REFERENCE_HINT};
pub use window::{ReferenceWindow, WINDOW_BYTES};

pub struct ReferenceFiles {
    pub fasta: File,
    pub fai: Option<Box<dyn Read + Send>>,
    /// The index of the BGZF blocks, if there is one. Ignored for an uncompressed FASTA.
    pub gzi: Option<Box<dyn Read + Send>>,
}

impl ReferenceFiles {
    /// Opens the FASTA at `path`, and its index files if they exist.
    ///
    /// # Errors
    /// Fails if a file exists but cannot be opened.
    pub fn open(path: &Path) -> Result<Self> {
        let index = |ending| {
            let path = append_suffix(path, ending);
            let file = path.exists().then(|| input_file::open_input(&path)).transpose();
            let file = file.map_err(|e| Error::io("cannot be opened", &e).file(&path))?;
            Ok(file.map(|file| Box::new(file) as Box<dyn Read + Send>))
        };
        Ok(ReferenceFiles { fasta: Self::open_fasta(path)?, fai: index(".fai")?, gzi: index(".gzi")? })
    }

    fn open_fasta(path: &Path) -> Result<File> {
        input_file::open_input(path)
            .map_err(|e| Error::io("the reference cannot be opened", &e).file(path))
    }
}

/// A FASTA file with random access by contig and position. Clones share the file and its index.
///
/// ```
/// use readmill_format::reference::Reference;
/// use readmill_record::Ledger;
///
/// let path = std::env::temp_dir().join(format!("readmill-example-{}.fa", std::process::id()));
/// std::fs::write(&path, ">chr1 test\nACGT\nNNac\n>chr2\nTT\n").unwrap();
///
/// let reference = Reference::open(&path, &Ledger::unlimited())?;
/// let contigs: Vec<_> = reference.contigs().collect();
/// assert_eq!(contigs, [(&b"chr1"[..], 8), (b"chr2", 2)]);
///
/// let mut window = reference.code_window();
/// assert_eq!(window.codes(0, 2, 8)?, [2, 3, 4, 4, 0, 1], "G T N N A C");
/// assert_eq!(reference.letter_window().codes(0, 2, 8)?, b"GTNNAC");
/// # std::fs::remove_file(&path).unwrap();
/// # Ok::<(), readmill_record::Error>(())
/// ```
#[derive(Clone)]
pub struct Reference(Arc<OpenFasta>);

impl fmt::Debug for Reference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Reference({})", self.path().display())
    }
}

impl Reference {
    /// Opens the FASTA at `path`, which may be compressed by bgzip.
    ///
    /// `path`.fai (and `path`.gzi for a compressed file) is used if it exists and matches.
    /// Otherwise the index is built in memory by reading the file once, and [`Self::notes`]
    /// mentions this. No file is ever written. An index that refers to positions beyond the end of
    /// the file is an error, because the FASTA is then truncated.
    pub fn open(path: &Path, ledger: &Ledger) -> Result<Self> {
        Self::from_files(path, ReferenceFiles::open(path)?, ledger)
    }

    /// Creates a reference from open files. `path` is the path of the FASTA, for messages. The
    /// index stays charged to `ledger` as long as a clone exists.
    ///
    /// # Errors
    /// The same as for [`Self::open`].
    pub fn from_files(path: &Path, files: ReferenceFiles, ledger: &Ledger) -> Result<Self> {
        let mut notes = Vec::new();
        let layout = FastaLayout::new(path, files.fasta, files.gzi, &mut notes, ledger)?;
        let FaiEntries { list, charge } =
            index::read_or_make_entries(path, files.fai, &layout, &mut notes, ledger)?;
        let path = path.to_path_buf();
        Ok(Reference(Arc::new(OpenFasta { path, layout, sequences: list, notes, charge })))
    }

    pub fn path(&self) -> &Path {
        &self.0.path
    }

    /// Returns the names and lengths (in bases) of the contigs, in file order.
    pub fn contigs(&self) -> impl ExactSizeIterator<Item = (&[u8], u32)> {
        self.0.sequences.iter().map(|it| (&it.name[..], it.length))
    }

    /// Returns the number of bases in a full line of a contig. `readmill faidx` wraps its output at
    /// this width.
    pub fn line_bases(&self, contig: u32) -> usize {
        self.0.sequences.get(contig as usize).map_or(0, |it| it.line_bases as usize)
    }

    /// Returns notes for the user about opening the file, as sentences: the index was built in
    /// memory, or contigs were ignored.
    pub fn notes(&self) -> &[String] {
        &self.0.notes
    }

    /// Returns the index in this FASTA of each contig of `header`, by name; `None` for a contig
    /// that the FASTA lacks.
    ///
    /// The rules follow GATK 4.6.2 (`SequenceDictionaryUtils.validateDictionaries`): the
    /// dictionaries must have a contig in common, and common contigs must have the same length if
    /// both lengths are known (LN:0 is unknown). The order may differ, and each dictionary may have
    /// further contigs. [`Self::missing_contig_error`] is the error for a read on a contig that the
    /// FASTA lacks, if its bases are needed.
    pub fn match_contigs(&self, header: &Header) -> Result<Vec<Option<u32>>> {
        let found = self.resolve_contigs(header)?;
        let contigs = header.references().iter().zip(&found);
        for (contig, number) in contigs.filter_map(|(contig, number)| Some((contig, (*number)?))) {
            let length = self.contig_length(number);
            if length != contig.length && length != 0 && contig.length != 0 {
                return Err(self.unequal_length_error(&contig.name, contig.length, length));
            }
        }
        Ok(found)
    }

    /// Does the same as [`Self::match_contigs`], but without comparing lengths.
    pub fn resolve_contigs(&self, header: &Header) -> Result<Vec<Option<u32>>> {
        let mut found = vec![None; header.references().len()];
        for (number, (name, _)) in (0..).zip(self.contigs()) {
            if let Some(id) = header.reference_id(name) {
                found[id as usize] = Some(number);
            }
        }
        if found.iter().all(Option::is_none) && !found.is_empty() {
            let (theirs, ours) = (&header.references()[0].name, self.contigs().next());
            let ours = ours.map_or("none".into(), |it| String::from_utf8_lossy(it.0));
            let theirs = String::from_utf8_lossy(theirs);
            let what = format!(
                "the reference and the reads have no contig in common (the first contig is {ours} here, {theirs} in the reads)"
            );
            return Err(Error::input(what).file(self.path()).hint(SAME_REFERENCE_HINT));
        }
        Ok(found)
    }

    pub fn contig_length(&self, number: u32) -> u32 {
        self.0.sequences.get(number as usize).map_or(0, |sequence| sequence.length)
    }

    fn unequal_length_error(&self, name: &[u8], reads: u32, reference: u32) -> Error {
        let name = String::from_utf8_lossy(name);
        let what =
            format!("contig {name} has {reference} bases here, but {reads} in the header of the reads");
        Error::input(what).file(self.path()).hint(SAME_REFERENCE_HINT)
    }

    pub fn missing_contig_error(&self, name: &[u8]) -> Error {
        let what =
            format!("contig {} of the reads is not in the reference", String::from_utf8_lossy(name));
        Error::input(what).file(self.path()).hint(SAME_REFERENCE_HINT)
    }

    /// Opens a file that contains only the bases of a single contig, as in the reference cache of
    /// CRAM, which stores contigs by their MD5.
    pub fn open_bases(path: &Path, name: &[u8], ledger: &Ledger) -> Result<Self> {
        let layout =
            FastaLayout::new(path, ReferenceFiles::open_fasta(path)?, None, &mut Vec::new(), ledger)?;
        let length =
            u32::try_from(layout.max_text_bytes()).ok().filter(|&n| n > 0 && !layout.is_compressed());
        let length = length.ok_or_else(|| {
            Error::input("the file does not contain the bases of a contig")
                .file(path)
                .hint(SAME_REFERENCE_HINT)
        })?;
        let (bases, width) = (u64::from(length), u64::from(length));
        let sequences = vec![FaiEntry {
            name: name.to_vec(),
            length,
            offset: 0,
            line_bases: bases,
            line_bytes: width,
        }];
        Ok(Reference(Arc::new(OpenFasta {
            path: path.to_path_buf(),
            layout,
            sequences,
            notes: Vec::new(),
            charge: ledger.empty_charge(bytes::LEDGER_NAME),
        })))
    }

    /// Returns a reader for one thread, which returns base codes: 0 A, 1 C, 2 G, 3 T, 4 anything
    /// else.
    pub fn code_window(&self) -> ReferenceWindow {
        ReferenceWindow::new(Arc::clone(&self.0), &window::CODES)
    }

    /// Returns a reader for one thread, which returns the codes of BAM's alphabet; 0 for a byte
    /// outside the alphabet.
    pub fn bam_code_window(&self) -> ReferenceWindow {
        ReferenceWindow::new(Arc::clone(&self.0), &window::SEQ_CODES)
    }

    /// Returns a reader for one thread, which returns upper-case letters instead of codes.
    pub fn letter_window(&self) -> ReferenceWindow {
        ReferenceWindow::new(Arc::clone(&self.0), &window::LETTERS)
    }
}

/// A FASTA file that is opened on first use. Clones share it, so it is opened only once.
#[derive(Clone, Debug)]
pub struct LazyReference(Arc<(PathBuf, OnceLock<Result<Reference>>)>);

impl LazyReference {
    pub fn new(path: &Path) -> Self {
        LazyReference(Arc::new((path.to_path_buf(), OnceLock::new())))
    }

    pub fn path(&self) -> &Path {
        &self.0.0
    }

    /// Opens the file, or returns the result of the first call. The index is charged to the
    /// `ledger` of the first call.
    pub fn open(&self, ledger: &Ledger) -> Result<Reference> {
        let (path, opened) = &*self.0;
        opened.get_or_init(|| Reference::open(path, ledger).map_err(|e| e.file(path))).clone()
    }
}

#[cfg(test)]
mod tests;
