//! Builds and finds index files: the code that all aligners share.
//!
//! An index is built in three steps:
//!
//! 1. [`for_each_fasta_line`] reads the sequences of the reference.
//! 2. [`sort_suffixes`] sorts the suffixes of both strands. This takes most of the time and memory.
//! 3. The aligner's module writes the files in its own format. A [`PartialIndexFile`] has a
//!    temporary name until all files of the index are complete.
//!
//! When reads are aligned, [`IndexFiles`] finds these files.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};

use flate2::bufread::MultiGzDecoder;
use libsais::SuffixArrayConstruction;
use readmill_record::header::text::ReadsFormat;
use readmill_record::{Error, Result, input_file};

use crate::IndexContig;

/// A stage of building an index, which the command line shows as progress.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IndexStage {
    Read,
    /// Sorting suffixes. This takes longest, and libsais does not report its progress.
    Sort,
    Write,
    /// All files are complete and synced to disk, and are renamed to their final names.
    Name,
}

/// Returns the memory in bytes for building an index of `bases` bases.
///
/// It is one byte per base of both strands, the suffix array of both strands (4 bytes per entry, or
/// 8 from 2^30 bases on), the packed bases, and 16 MiB for libsais.
pub fn index_build_bytes(bases: u64) -> u64 {
    let entry = if has_long_entries(bases) { 8 } else { 4 };
    2 * bases * (1 + entry) + bases / 4 + (16 << 20)
}

/// Returns an error if the reference has no bases, or if building its index needs more than
/// `memory` bytes.
pub(crate) fn check_build_memory(reference: &Path, bases: u64, memory: Option<u64>) -> Result<()> {
    if bases == 0 {
        return Err(Error::input("the reference has no bases").file(reference));
    }
    let needed = index_build_bytes(bases);
    if memory.is_some_and(|memory| memory < needed) {
        let needed = needed.div_ceil(1 << 20);
        let what = format!("building an index of {bases} bases needs {needed}M of memory");
        return Err(Error::usage(what).file(reference).hint("raise -m"));
    }
    Ok(())
}

/// A suffix array, without its entry for the empty suffix.
pub(crate) enum Suffixes {
    Short(Vec<i32>),
    Long(Vec<i64>),
}

/// Returns whether the suffix array of both strands needs 64-bit entries.
pub(crate) fn has_long_entries(bases: u64) -> bool {
    2 * bases >= i32::MAX as u64
}

/// Sorts the suffixes of a text whose letters are 0 to 3, on the calling thread.
pub(crate) fn sort_suffixes(text: &[u8]) -> Result<Suffixes> {
    let refused = |error: libsais::LibsaisError| Error::bug(format!("libsais: {error}"));
    let construction = SuffixArrayConstruction::for_text(text);
    if has_long_entries(text.len() as u64 / 2) {
        let sorted = construction.in_owned_buffer64().single_threaded().run().map_err(refused)?;
        Ok(Suffixes::Long(sorted.into_vec()))
    } else {
        let sorted = construction.in_owned_buffer32().single_threaded().run().map_err(refused)?;
        Ok(Suffixes::Short(sorted.into_vec()))
    }
}

impl Suffixes {
    /// Returns the start of the suffix in a row. Row 0 is the empty suffix, as in the transforms of
    /// both aligners.
    pub(crate) fn start(&self, row: usize) -> usize {
        match self {
            Suffixes::Short(starts) if row == 0 => starts.len(),
            Suffixes::Long(starts) if row == 0 => starts.len(),
            Suffixes::Short(starts) => starts[row - 1] as usize,
            Suffixes::Long(starts) => starts[row - 1] as usize,
        }
    }
}

/// Returns the name of a read format ("FASTQ", for example) if the file starts like one. `None` for
/// a file that cannot be read.
pub(crate) fn reads_format_of_file(file: &Path) -> Option<&'static str> {
    let mut start = Vec::new();
    let _ = File::open(file).ok()?.take(1 << 16).read_to_end(&mut start);
    if start.starts_with(GZIP) {
        let mut text = Vec::new();
        let _ = MultiGzDecoder::new(&start[..]).take(1 << 16).read_to_end(&mut text);
        start = text;
    }
    reads_format(&start)
}

fn reads_format(start: &[u8]) -> Option<&'static str> {
    ReadsFormat::recognize(start).map(ReadsFormat::name)
}

const GZIP: &[u8] = &[0x1f, 0x8b];

pub(crate) enum FastaLine<'a> {
    /// A sequence begins. `comment` is the text after the first blank of the line.
    Head { name: &'a [u8], comment: Option<&'a [u8]> },
    /// A line of bases of the current sequence, without its line end.
    Letters(&'a [u8]),
}

/// Calls `take` for each line of a FASTA file, which may be gzipped. A `Head` always precedes the
/// first `Letters`.
///
/// # Errors
/// The file holds reads or is not FASTA (the message names the line), or `take` fails.
pub(crate) fn for_each_fasta_line(
    file: &Path,
    mut take: impl FnMut(FastaLine<'_>) -> Result<()>,
) -> Result<()> {
    let failed = |error: std::io::Error| Error::io("reading failed", &error).file(file);
    let open = input_file::open_input(file)
        .map_err(|error| Error::io("cannot be opened", &error).file(file))?;
    let mut plain = BufReader::with_capacity(1 << 18, open);
    let gzipped = plain.fill_buf().map_err(failed)?.starts_with(GZIP);
    let inner: Box<dyn Read> =
        if gzipped { Box::new(MultiGzDecoder::new(plain)) } else { Box::new(plain) };
    let (mut input, mut line) = (BufReader::with_capacity(1 << 18, inner), Vec::new());
    let (mut begun, mut number) = (false, 0u64);
    loop {
        line.clear();
        if input.read_until(b'\n', &mut line).map_err(failed)? == 0 {
            return Ok(());
        }
        number += 1;
        if number == 1
            && let Some(kind) = reads_format(&line)
        {
            return Err(not_a_reference_error(kind, file));
        }
        let line = line.strip_suffix(b"\n").unwrap_or(&line);
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let wrong = |what: &str| Err(Error::input(format!("line {number}: {what}")).file(file));
        match line {
            [] => {}
            [b'>', head @ ..] => {
                begun = true;
                take(parse_head(head)).map_err(|error| error.file(file))?;
            }
            [b'@' | b'+', ..] => return wrong("a reference is FASTA, not FASTQ or SAM"),
            _ if !begun => return wrong("a FASTA file must begin with `>`"),
            letters => take(FastaLine::Letters(letters)).map_err(|error| error.file(file))?,
        }
    }
}

/// Returns the error for reads that are given instead of a reference.
fn not_a_reference_error(kind: &str, file: &Path) -> Error {
    let what = format!("this is {kind}, but the index for `readmill align` is built from a FASTA file");
    let error = Error::input(what).file(file);
    if kind == "FASTQ" {
        return error.hint("give the FASTA file of the reference");
    }
    error.hint("to index reads, sort the file: readmill sort IN.bam -o OUT.bam --write-index")
}

fn parse_head(head: &[u8]) -> FastaLine<'_> {
    match head.iter().position(u8::is_ascii_whitespace) {
        Some(end) => FastaLine::Head {
            name: &head[..end],
            comment: Some(&head[end + 1..]).filter(|text| !text.is_empty()),
        },
        None => FastaLine::Head { name: head, comment: None },
    }
}

/// The file names of an aligner's index, and the function that describes such an index.
pub struct IndexFiles {
    pub(crate) aligner: &'static str,
    pub(crate) suffixes: &'static [&'static str],
    /// The hint of the error for a missing index. `REF` stands for the reference.
    pub(crate) hint: &'static str,
    /// Reads the description of the index with this prefix, and checks the sizes of its files
    /// against it.
    pub(crate) check: fn(&Path) -> Result<IndexDescription>,
}

/// A summary of an index, read from its files without loading it.
pub(crate) struct IndexDescription {
    pub(crate) contigs: Vec<IndexContig>,
    pub(crate) warnings: Vec<String>,
    pub(crate) bytes: u64,
}

impl IndexDescription {
    pub(crate) fn bases(&self) -> u64 {
        self.contigs.iter().map(|contig| contig.length).sum()
    }

    /// Returns whether a loaded index has exactly these sequences, with the same names and lengths
    /// in this order.
    pub(crate) fn has_contigs<'a>(&'a self, loaded: impl Iterator<Item = (&'a [u8], u64)>) -> bool {
        loaded.eq(self.contigs.iter().map(|contig| (contig.name.as_bytes(), contig.length)))
    }
}

impl IndexFiles {
    pub fn file_paths(&self, prefix: &Path) -> Vec<PathBuf> {
        self.suffixes.iter().map(|suffix| with_suffix(prefix, suffix)).collect()
    }

    /// Returns the paths of files that an index with this prefix needs but that do not exist.
    pub fn missing_files(&self, prefix: &Path) -> Vec<PathBuf> {
        self.file_paths(prefix).into_iter().filter(|file| !file.is_file()).collect()
    }

    /// Returns the prefix of a complete index of this reference.
    ///
    /// The prefix is the name of the reference itself, as in bwa and minibwa, or that name without
    /// `.gz` and without `.fasta`, `.fa` or `.fna`, as in other programs.
    ///
    /// # Errors
    /// There is no complete index. The message lists the missing files and says how to build them.
    pub fn find_prefix(&self, reference: &Path) -> Result<PathBuf> {
        let (mut prefix, mut nearest) = (reference.to_path_buf(), None);
        loop {
            let missing = self.missing_files(&prefix).len();
            if missing == 0 {
                return Ok(prefix);
            }
            if missing < self.suffixes.len() && nearest.is_none() {
                nearest = Some(prefix.clone());
            }
            let extension = prefix.extension().and_then(|it| it.to_str()).unwrap_or_default();
            if !["gz", "bgz", "fasta", "fa", "fna"].contains(&extension) {
                return Err(self.not_found_error(reference, nearest.as_deref().unwrap_or(reference)));
            }
            prefix.set_extension("");
        }
    }

    /// Returns the error for a reference without a complete index. `prefix` is the prefix for which
    /// some files exist.
    fn not_found_error(&self, reference: &Path, prefix: &Path) -> Error {
        const FIRST: &str = "give the reference first: readmill align REF READS...";
        let missing = self.missing_files(prefix);
        let is_partial = missing.len() < self.suffixes.len();
        // Without the FASTA file, an index cannot be built from it.
        let shown =
            if reference.is_file() { reference.display().to_string() } else { "REF".to_string() };
        let error = match (reference.metadata(), reads_format_of_file(reference)) {
            (Err(error), _) if !is_partial => Error::io("the reference cannot be opened", &error)
                .hint("give the FASTA file that you indexed with `readmill index` as the first file, before the reads"),
            (Ok(about), _) if about.is_dir() => {
                Error::usage("this is a directory, but the reference must be a FASTA file").hint(FIRST)
            }
            (_, Some(kind)) => {
                Error::usage(format!("this is {kind}, but the first file must be the reference")).hint(FIRST)
            }
            _ => match &missing[..] {
                [lacking] if lacking.to_string_lossy().ends_with(".bwt.2bit.64") => {
                    let what = format!("there is only a bwa 0.7 index, which lacks {}", lacking.display());
                    return Error::missing_file(what).file(reference).hint(format!(
                        "add --complete-index, which builds this file first, or build the index with `readmill index {shown}`"
                    ));
                }
                [_, ..] if is_partial => {
                    let lacking: Vec<String> = missing.iter().map(|file| file.display().to_string()).collect();
                    Error::missing_file(format!("the index for {} lacks {}", self.aligner, lacking.join(" and ")))
                }
                _ => Error::missing_file(format!("there is no index for {}", self.aligner)),
            }
            .hint(self.hint.replace("REF", &shown)),
        };
        error.file(reference)
    }

    /// Returns the memory of the loaded index of this reference in bytes, computed from its files
    /// without loading it.
    ///
    /// # Errors
    /// There is no complete index, its files are damaged, or it cannot be of this reference.
    pub fn memory_bytes(&self, reference: &Path) -> Result<u64> {
        let description = (self.check)(&self.find_prefix(reference)?)?;
        refuse_shorter_reference(reference, description.bases())?;
        Ok(description.bytes)
    }
}

/// Returns an error if the FASTA file has fewer bytes than the bases of its index: it was replaced
/// after the index was built. Checks only uncompressed files that exist, because the aligner itself
/// needs only the index.
fn refuse_shorter_reference(reference: &Path, indexed_bases: u64) -> Result<()> {
    let mut first = [0];
    let opened = File::open(reference).and_then(|mut file| {
        file.read_exact(&mut first)?;
        file.metadata()
    });
    match opened {
        Ok(about) if about.is_file() && first == *b">" && about.len() < indexed_bases => {
            Err(Error::input(format!(
                "this file has {} bytes, but its index was built from {indexed_bases} bases",
                about.len()
            ))
            .file(reference)
            .hint(format!(
                "if the file was replaced, build its index again: readmill index {}",
                reference.display()
            )))
        }
        _ => Ok(()),
    }
}

pub(crate) fn with_suffix(prefix: &Path, suffix: &str) -> PathBuf {
    let mut name = prefix.as_os_str().to_owned();
    name.push(OsStr::new(suffix));
    PathBuf::from(name)
}

/// An index file that is being written under a temporary name next to its final path.
///
/// [`PartialIndexFile::rename_all_to_final`] renames it; dropping it before that removes it. So a
/// file with a final name is always complete.
pub(crate) struct PartialIndexFile {
    final_path: PathBuf,
    temporary_path: PathBuf,
    out: BufWriter<File>,
    is_renamed: bool,
}

/// Returns the temporary paths of the files with these suffixes, to remove them if the process is
/// killed.
pub(crate) fn partial_paths(prefix: &Path, suffixes: &[&str]) -> Vec<PathBuf> {
    suffixes.iter().map(|suffix| partial_path(&with_suffix(prefix, suffix))).collect()
}

fn partial_path(place: &Path) -> PathBuf {
    with_suffix(place, &format!(".{}.partial", std::process::id()))
}

impl PartialIndexFile {
    pub(crate) fn new(prefix: &Path, suffix: &str) -> Result<Self> {
        let place = with_suffix(prefix, suffix);
        let partial = partial_path(&place);
        let failed = |error: std::io::Error| {
            let taken = error.kind() == ErrorKind::AlreadyExists;
            let error = Error::io("cannot be created", &error).file(&partial);
            if taken {
                error.hint("remove this file if no other run is building the index")
            } else {
                error
            }
        };
        // `create_new` does not follow a link, and does not overwrite a file that another run is
        // writing.
        let file = File::create_new(&partial).map_err(failed)?;
        Ok(PartialIndexFile {
            final_path: place,
            temporary_path: partial,
            out: BufWriter::with_capacity(1 << 20, file),
            is_renamed: false,
        })
    }

    /// Creates a temporary file and writes all of `bytes` to it.
    #[cfg(feature = "bwa")]
    pub(crate) fn create_with(prefix: &Path, suffix: &str, bytes: &[u8]) -> Result<Self> {
        let mut file = Self::new(prefix, suffix)?;
        file.write(bytes)?;
        Ok(file)
    }

    pub(crate) fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.out
            .write_all(bytes)
            .map_err(|error| Error::io("writing failed", &error).file(&self.temporary_path))
    }

    /// Syncs all files to disk, calls `report`, then renames the files to their final names.
    pub(crate) fn rename_all_to_final(
        files: Vec<Self>,
        report: &mut dyn FnMut(IndexStage),
    ) -> Result<()> {
        let mut files = files;
        files.iter_mut().try_for_each(Self::sync_to_disk)?;
        report(IndexStage::Name);
        files.into_iter().try_for_each(Self::rename_to_final)
    }

    fn sync_to_disk(&mut self) -> Result<()> {
        let synced = self.out.flush().and_then(|()| self.out.get_ref().sync_all());
        synced.map_err(|error| Error::io("writing failed", &error).file(&self.final_path))
    }

    fn rename_to_final(mut self) -> Result<()> {
        let named = std::fs::rename(&self.temporary_path, &self.final_path);
        named.map_err(|error| Error::io("writing failed", &error).file(&self.final_path))?;
        self.is_renamed = true;
        Ok(())
    }
}

impl Drop for PartialIndexFile {
    fn drop(&mut self) {
        if !self.is_renamed {
            let _ = std::fs::remove_file(&self.temporary_path);
        }
    }
}
