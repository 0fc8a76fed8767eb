//! The common part of all aligners' indexes: their files, and how they are made.
//!
//! An index is made from the sequences of a FASTA file ([`fasta_lines`]) and the sorted suffixes of their bases
//! ([`Suffixes`]). Its files have their names only when all are whole ([`Partial`]); [`IndexFiles`] finds them again.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};

use flate2::bufread::MultiGzDecoder;
use libsais::SuffixArrayConstruction;
use readmill_record::header::text::ReadsFormat;
use readmill_record::{Error, Result, input_file};

use crate::Contig;

/// A stage of making an index, for progress reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// The reference is read.
    Read,
    /// Suffixes are sorted, which takes longest; no word of how far it is can be had.
    Sort,
    /// The transform is written.
    Write,
    /// All files are complete and on disk, and get their names.
    Name,
}

/// Bytes of memory that an index of so many bases takes to make: a base and its complement one byte each, an entry of
/// the suffix array of 4 bytes, or 8 from 2^30 bases on, for either; the packed bases; and room for libsais.
pub fn index_memory(bases: u64) -> u64 {
    let entry = if has_long_entries(bases) { 8 } else { 4 };
    2 * bases * (1 + entry) + bases / 4 + (16 << 20)
}

/// Refuses a reference without bases, and one that takes more than `memory` bytes.
pub(crate) fn check_memory(reference: &Path, bases: u64, memory: Option<u64>) -> Result<()> {
    if bases == 0 {
        return Err(Error::input("it has no bases").file(reference));
    }
    let needed = index_memory(bases);
    if memory.is_some_and(|memory| memory < needed) {
        let needed = needed.div_ceil(1 << 20);
        let what = format!("an index of its {bases} bases takes {needed}M of memory to make");
        return Err(Error::usage(what).file(reference).hint("allow that much with -m"));
    }
    Ok(())
}

/// Where the suffixes start, in their order, the empty one aside.
pub(crate) enum Suffixes {
    Short(Vec<i32>),
    Long(Vec<i64>),
}

/// Whether entries of the suffix array of both strands of so many bases need 8 bytes.
pub(crate) fn has_long_entries(bases: u64) -> bool {
    2 * bases >= i32::MAX as u64
}

/// Sorts the suffixes of a text of the letters 0 to 3.
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
    /// Where the suffix of a row starts; row 0 is of the empty one.
    pub(crate) fn start(&self, row: usize) -> usize {
        match self {
            Suffixes::Short(starts) if row == 0 => starts.len(),
            Suffixes::Long(starts) if row == 0 => starts.len(),
            Suffixes::Short(starts) => starts[row - 1] as usize,
            Suffixes::Long(starts) => starts[row - 1] as usize,
        }
    }
}

/// The name of what a file holds instead of a reference, if it starts like reads; a file that cannot be read has none.
pub(crate) fn holds_reads(file: &Path) -> Option<&'static str> {
    let mut start = Vec::new();
    let _ = File::open(file).ok()?.take(1 << 16).read_to_end(&mut start);
    if start.starts_with(GZIP) {
        let mut text = Vec::new();
        let _ = MultiGzDecoder::new(&start[..]).take(1 << 16).read_to_end(&mut text);
        start = text;
    }
    kind_of_reads(&start)
}

/// The name of what holds reads and starts so.
fn kind_of_reads(start: &[u8]) -> Option<&'static str> {
    ReadsFormat::of(start).map(ReadsFormat::name)
}

const GZIP: &[u8] = &[0x1f, 0x8b];

/// The kind of a line in a FASTA file.
pub(crate) enum FastaLine<'a> {
    /// A sequence begins: its name, and the text after the blank that follows it, if any.
    Head { name: &'a [u8], comment: Option<&'a [u8]> },
    /// More of its letters.
    Letters(&'a [u8]),
}

/// Gives each line of a file that may be gzipped to `take`, a head before any letters.
pub(crate) fn fasta_lines(file: &Path, mut take: impl FnMut(FastaLine<'_>) -> Result<()>) -> Result<()> {
    let failed = |error: std::io::Error| Error::io("reading it", &error).file(file);
    let open =
        input_file::open(file).map_err(|error| Error::io("cannot be opened", &error).file(file))?;
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
            && let Some(kind) = kind_of_reads(&line)
        {
            return Err(not_a_reference(kind, file));
        }
        let line = line.strip_suffix(b"\n").unwrap_or(&line);
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let wrong = |what: &str| Err(Error::input(format!("line {number}: {what}")).file(file));
        match line {
            [] => {}
            [b'>', head @ ..] => {
                begun = true;
                take(head_of(head)).map_err(|error| error.file(file))?;
            }
            [b'@' | b'+', ..] => return wrong("a reference is FASTA, not FASTQ or SAM"),
            _ if !begun => return wrong("a FASTA file begins with `>`"),
            letters => take(FastaLine::Letters(letters)).map_err(|error| error.file(file))?,
        }
    }
}

/// The error of making an index of reads.
fn not_a_reference(kind: &str, file: &Path) -> Error {
    let what = format!(
        "this is {kind}; `readmill index` makes the index that `align` needs, of a reference in FASTA"
    );
    let error = Error::input(what).file(file);
    if kind == "FASTQ" {
        return error.hint("give the FASTA file of the reference");
    }
    error.hint("the index of a BAM or CRAM file is written beside sorted output: readmill sort IN.bam -o OUT.bam --write-index")
}

fn head_of(head: &[u8]) -> FastaLine<'_> {
    match head.iter().position(u8::is_ascii_whitespace) {
        Some(end) => FastaLine::Head {
            name: &head[..end],
            comment: Some(&head[end + 1..]).filter(|text| !text.is_empty()),
        },
        None => FastaLine::Head { name: head, comment: None },
    }
}

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
    /// Warnings about the files.
    pub(crate) warnings: Vec<String>,
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
    /// The files of an index of that prefix.
    pub fn files(&self, prefix: &Path) -> Vec<PathBuf> {
        self.suffixes.iter().map(|suffix| named(prefix, suffix)).collect()
    }

    /// The files that an index of that prefix lacks.
    pub fn missing(&self, prefix: &Path) -> Vec<PathBuf> {
        self.files(prefix).into_iter().filter(|file| !file.is_file()).collect()
    }

    /// The prefix under which a reference has a whole index, or an error that says how to make one. It is the
    /// reference's own name, as the aligners call it, or, as others do, that name without `.gz`, or without `.fasta`,
    /// `.fa` or `.fna` too.
    pub fn find(&self, reference: &Path) -> Result<PathBuf> {
        let (mut prefix, mut nearest) = (reference.to_path_buf(), None);
        loop {
            let missing = self.missing(&prefix).len();
            if missing == 0 {
                return Ok(prefix);
            }
            if missing < self.suffixes.len() && nearest.is_none() {
                nearest = Some(prefix.clone());
            }
            let extension = prefix.extension().and_then(|it| it.to_str()).unwrap_or_default();
            if !["gz", "bgz", "fasta", "fa", "fna"].contains(&extension) {
                return Err(self.not_found(reference, nearest.as_deref().unwrap_or(reference)));
            }
            prefix.set_extension("");
        }
    }

    /// Returns the error for a reference whose index is missing or lacks some of the files named `prefix`.
    fn not_found(&self, reference: &Path, prefix: &Path) -> Error {
        const FIRST: &str = "the reference comes first: readmill align REF READS...";
        let missing = self.missing(prefix);
        let is_partial = missing.len() < self.suffixes.len();
        let error = match (reference.metadata(), holds_reads(reference)) {
            (Err(error), _) if !is_partial => Error::io("the reference cannot be opened", &error)
                .hint("give the FASTA file from which `readmill index` made the index; it comes before the reads"),
            (Ok(about), _) if about.is_dir() => {
                Error::usage("this is a directory, and the reference is a FASTA file").hint(FIRST)
            }
            (_, Some(kind)) => {
                Error::usage(format!("this is {kind}, and stands where the reference is expected")).hint(FIRST)
            }
            _ => match &missing[..] {
                [lacking] if lacking.to_string_lossy().ends_with(".bwt.2bit.64") => {
                    let what = format!("it has an index of bwa alone, which lacks {}", lacking.display());
                    return Error::usage(what).file(reference).hint(
                        "add --complete-index, which makes this file first, or make the index with `readmill index REF`",
                    );
                }
                [_, ..] if is_partial => {
                    let lacking: Vec<String> = missing.iter().map(|file| file.display().to_string()).collect();
                    Error::usage(format!("its index for {} lacks {}", self.aligner, lacking.join(" and ")))
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

/// A temporary file next to its final path; it is removed on drop unless it is kept.
pub(crate) struct Partial {
    place: PathBuf,
    partial: PathBuf,
    out: BufWriter<File>,
    kept: bool,
}

/// The temporary names of the files that will become `prefix` with these suffixes.
pub(crate) fn partial_names(prefix: &Path, suffixes: &[&str]) -> Vec<PathBuf> {
    suffixes.iter().map(|suffix| in_work(&named(prefix, suffix))).collect()
}

fn in_work(place: &Path) -> PathBuf {
    named(place, &format!(".{}.partial", std::process::id()))
}

impl Partial {
    pub(crate) fn new(prefix: &Path, suffix: &str) -> Result<Self> {
        let place = named(prefix, suffix);
        let partial = in_work(&place);
        let failed = |error: std::io::Error| {
            let taken = error.kind() == ErrorKind::AlreadyExists;
            let error = Error::io("creating it", &error).file(&partial);
            if taken { error.hint("remove it, if no other run is making this index") } else { error }
        };
        // A link is not followed, and a file that another run writes is left alone.
        let file = File::create_new(&partial).map_err(failed)?;
        Ok(Partial { place, partial, out: BufWriter::with_capacity(1 << 20, file), kept: false })
    }

    /// A file of these bytes.
    #[cfg(feature = "bwa")]
    pub(crate) fn whole(prefix: &Path, suffix: &str, bytes: &[u8]) -> Result<Self> {
        let mut file = Self::new(prefix, suffix)?;
        file.write(bytes)?;
        Ok(file)
    }

    pub(crate) fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.out.write_all(bytes).map_err(|error| Error::io("writing it", &error).file(&self.partial))
    }

    /// Makes sure that all files are on the disk, then gives them their names. `report` is called between.
    pub(crate) fn keep_all(files: Vec<Self>, report: &mut dyn FnMut(Stage)) -> Result<()> {
        let mut files = files;
        files.iter_mut().try_for_each(Self::sync)?;
        report(Stage::Name);
        files.into_iter().try_for_each(Self::keep)
    }

    fn sync(&mut self) -> Result<()> {
        let synced = self.out.flush().and_then(|()| self.out.get_ref().sync_all());
        synced.map_err(|error| Error::io("writing it", &error).file(&self.place))
    }

    fn keep(mut self) -> Result<()> {
        let named = std::fs::rename(&self.partial, &self.place);
        named.map_err(|error| Error::io("writing it", &error).file(&self.place))?;
        self.kept = true;
        Ok(())
    }
}

impl Drop for Partial {
    fn drop(&mut self) {
        if !self.kept {
            let _ = std::fs::remove_file(&self.partial);
        }
    }
}
