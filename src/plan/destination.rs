//! Where reads go: a main output with others beside it, or files that they are split among.

use std::path::{Path, PathBuf};

use readmill_format::fastq;
use readmill_record::{Error, Result};

use super::{Format, Output};

/// Files that reads are split among, at most.
pub const MOST_SPLIT_FILES: usize = 500;

/// Where reads go.
#[derive(Clone, Debug)]
pub enum Destination {
    /// Into one output; those that are selected go into files of their own, beside it or in its place.
    Main(Output, Vec<ExtraFile>),
    /// They are split among files.
    Split(Split),
    /// They become FASTQ.
    Fastq(Fastq),
    /// They are read for tallies and tables alone.
    Nowhere,
}

/// A file of selected reads.
#[derive(Clone, Debug)]
pub struct ExtraFile {
    /// The file.
    pub path: PathBuf,
    /// Its format.
    pub format: Format,
    /// Which reads: `unmapped`, `discordant`, `duplicates`, `dropped`, or an expression.
    pub what: String,
    /// Whether they leave the main output.
    pub moves: bool,
}

/// All reads are split among files.
#[derive(Clone, Debug)]
pub struct Split {
    /// The beginning of the file names; the key and the format follow.
    pub prefix: PathBuf,
    /// The key that separates the files.
    pub by: SplitBy,
    /// Format, codec, level, index of each; its path is not used.
    pub output: Output,
}

/// All reads become FASTQ, by the ends of their templates.
#[derive(Clone, Debug)]
pub struct Fastq {
    /// For reads flagged as neither end or as both, first ends, last ends. Equal names are one file.
    pub files: [PathBuf; 3],
    /// For ends without their other end; `None` sends them where the other ends go.
    pub singles: Option<PathBuf>,
    /// Records with any of these flags are left out.
    pub exclude: u16,
    /// How reads are written.
    pub style: fastq::FastqStyle,
    /// Compression level of files that end in .gz.
    pub level: Option<u8>,
    /// Take the reads of a template to stand together, whatever the header says.
    pub grouped: bool,
    /// Stop at paired reads.
    pub single_end: bool,
}

impl Fastq {
    /// The files, each once, and which of them each kind of read goes to: neither, first, last, singles.
    pub fn places(&self) -> (Vec<&Path>, [usize; 4]) {
        let mut files: Vec<&Path> = Vec::new();
        let [other, first, last] = [0, 1, 2].map(|n| &*self.files[n]);
        let singles = self.singles.as_deref();
        let places = [other, first, last, singles.unwrap_or(first)].map(|path| {
            files.iter().position(|file| *file == path).unwrap_or_else(|| {
                files.push(path);
                files.len() - 1
            })
        });
        (files, places)
    }
}

/// By what reads are split.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SplitBy {
    /// By read group.
    ReadGroup,
    /// By groups of contigs, each of at most this many bases; `None` means the length of the longest contig.
    Contigs(Option<u64>),
    /// By number of records; records of one name that stand together stay together.
    Records(u64),
}

impl SplitBy {
    /// Reads `read-group`, `contigs`, `contigs=BASES` or `records=N`.
    pub fn parse(text: &str) -> Result<Self, String> {
        let (word, number) = match text.split_once('=') {
            Some((word, number)) => (word, Some(number)),
            None => (text, None),
        };
        let number = number.map(|number| match number.parse::<u64>() {
            Ok(number) if number > 0 => Ok(number),
            _ => Err(format!("{number:?} is not a number above zero")),
        });
        match (word, number.transpose()?) {
            ("read-group", None) => Ok(SplitBy::ReadGroup),
            ("contigs", most) => Ok(SplitBy::Contigs(most)),
            ("records", Some(most)) => Ok(SplitBy::Records(most)),
            ("records", None) => Err("records needs a number: records=1000000".to_string()),
            _ => Err(format!("{text:?} is none of read-group, contigs, contigs=BASES, records=N")),
        }
    }

    /// As it is written.
    pub fn word(self) -> String {
        match self {
            SplitBy::ReadGroup => "read-group".to_string(),
            SplitBy::Contigs(None) => "contigs".to_string(),
            SplitBy::Contigs(Some(most)) => format!("contigs={most}"),
            SplitBy::Records(most) => format!("records={most}"),
        }
    }
}

impl ExtraFile {
    /// The word for reads that filters drop.
    const DROPPED: &str = "dropped";

    /// A file of the reads that filters drop.
    pub fn of_dropped(path: PathBuf, format: Format) -> Self {
        ExtraFile { path, format, what: Self::DROPPED.to_string(), moves: true }
    }

    /// Whether it gets the reads that filters drop.
    pub fn is_of_dropped(&self) -> bool {
        self.what == Self::DROPPED
    }

    /// Reads `FILE=WHAT`.
    pub fn parse(text: &str, moves: bool) -> Result<Self> {
        let parts = text.split_once('=').filter(|(file, what)| !file.is_empty() && !what.is_empty());
        let (file, what) = parts.ok_or_else(|| {
            Error::usage(format!("{text:?} does not say which reads go into which file"))
                .hint("write FILE=unmapped, FILE=discordant, FILE=duplicates, or FILE=EXPRESSION")
        })?;
        let (path, what) = (PathBuf::from(file), what.trim().to_string());
        let chosen = ExtraFile { format: Format::by_name(&path), path, what, moves };
        if chosen.is_of_dropped() && !moves {
            return Err(Error::usage(
                "reads that filters drop are not in the main output, so they cannot be copied",
            )
            .hint(format!("write --move-to {file}=dropped")));
        }
        Ok(chosen)
    }

    /// The output, where `main` is the main one.
    pub fn output(&self, main: &Output) -> Output {
        let (path, format) = (self.path.clone(), self.format);
        let index = main.index.where_it_can_be();
        let output = Output { path, parts: 1, format, index, md5: false, ..main.clone() };
        if format.is_compressed() { output } else { output.without_codec() }
    }
}

impl Destination {
    /// The main output, if there is one.
    pub fn main(&self) -> Option<&Output> {
        match self {
            Destination::Main(output, _) => Some(output),
            _ => None,
        }
    }

    /// The format, level and other settings of the files.
    pub fn settings(&self) -> Option<&Output> {
        match self {
            Destination::Main(output, _) => Some(output),
            Destination::Split(split) => Some(&split.output),
            Destination::Fastq(_) | Destination::Nowhere => None,
        }
    }

    /// The extra files whose names are known before anything is read.
    pub fn extra_paths(&self) -> Vec<&Path> {
        match self {
            Destination::Main(_, selected) => selected.iter().map(|chosen| &*chosen.path).collect(),
            Destination::Fastq(fastq) => fastq.places().0,
            Destination::Split(_) | Destination::Nowhere => Vec::new(),
        }
    }

    /// The most extra files that there may be.
    pub fn most_extra_files(&self) -> usize {
        match self {
            Destination::Main(_, selected) => selected.len(),
            Destination::Split(Split { by: SplitBy::Records(_), .. }) => 1, // one at a time
            Destination::Split(_) => MOST_SPLIT_FILES,
            Destination::Fastq(fastq) => fastq.places().0.len(),
            Destination::Nowhere => 0,
        }
    }

    /// Whether any file is known to be CRAM.
    pub fn writes_cram(&self) -> bool {
        let selected = match self {
            Destination::Main(_, selected) => &selected[..],
            _ => &[],
        };
        let mut formats = selected.iter().map(|chosen| chosen.format);
        let settings = self.settings().map(|output| output.format);
        settings == Some(Format::Cram) || formats.any(|format| format == Format::Cram)
    }

    /// Checks what can be checked before anything is opened.
    pub(super) fn check(&self) -> Result<()> {
        match self {
            Destination::Main(output, selected) => {
                output.check()?;
                selected.iter().try_for_each(|chosen| chosen.output(output).check())
            }
            Destination::Split(split) if split.output.is_in_parts() => {
                Err(Error::usage("a split has no main output that could be cut into parts")
                    .hint("drop --out-parts"))
            }
            Destination::Split(split) => split.output.check(),
            Destination::Fastq(_) | Destination::Nowhere => Ok(()),
        }
    }

    /// How many times a batch may be copied on its way to extra outputs.
    pub fn most_copies(&self) -> usize {
        match self {
            Destination::Main(_, selected) => {
                let copies = selected.iter().filter(|chosen| !chosen.moves || chosen.is_of_dropped());
                copies.count() + 1
            }
            _ => 1,
        }
    }

    /// The number of the extra file that gets the reads which filters drop.
    pub fn place_of_dropped(&self) -> Option<usize> {
        match self {
            Destination::Main(_, selected) => selected.iter().position(ExtraFile::is_of_dropped),
            _ => None,
        }
    }

    /// Words of the canonical command line: which reads leave the main output, or how all are split.
    pub(super) fn words(&self) -> Vec<String> {
        match self {
            Destination::Main(_, selected) => {
                let moves = selected.iter().filter(|chosen| chosen.moves);
                moves.map(|chosen| format!("--move '{}'", chosen.what)).collect()
            }
            Destination::Split(split) => vec![format!("--by {}", split.by.word())],
            Destination::Fastq(_) | Destination::Nowhere => Vec::new(), // no file has a header
        }
    }
}
