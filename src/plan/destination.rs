//! Where reads go: a main output with others beside it, or files that they are split among.

use std::path::{Path, PathBuf};

use readmill_format::fastq;
use readmill_record::{Error, Result};

use super::command::Command;
use super::group_names::NamePattern;
use super::{Format, Output};

/// Files that reads are split among, at most.
pub const MAX_SPLIT_FILES: usize = 500;

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
    pub path: PathBuf,
    pub format: Format,
    /// Which reads: `unmapped`, `discordant`, `duplicates`, `dropped`, or an expression.
    pub what: String,
    /// Whether they leave the main output.
    pub moves: bool,
}

/// All reads are split among files.
#[derive(Clone, Debug)]
pub struct Split {
    /// How files are named.
    pub names: SplitNames,
    /// The key that separates the files.
    pub by: SplitBy,
    /// Where reads without a read group go.
    pub rest: SplitRest,
    /// Format, codec, level, index of each; its path is not used.
    pub output: Output,
    /// Whether each file has the format that its name tells, instead of that of `output`.
    pub formats_by_name: bool,
}

/// The names of files that reads are split among.
#[derive(Clone, Debug)]
pub enum SplitNames {
    /// The beginning of each name; the key and the format follow.
    Prefix(PathBuf),
    /// A pattern with fields of the read group.
    Pattern(NamePattern),
    /// A file with the ID of each read group, and the name of its file.
    Table(PathBuf),
}

/// Where reads without a read group of the header go, if reads are split by read group.
#[derive(Clone, Debug)]
pub enum SplitRest {
    /// Into a file that is named as the others are.
    Named,
    /// Into this file, which has the whole header.
    File(PathBuf),
    /// They are an error.
    Refused,
}

/// All reads become FASTQ, by the ends of their templates.
#[derive(Clone, Debug)]
pub struct Fastq {
    pub files: FastqFiles,
    /// What becomes of ends without their other end.
    pub singles: LoneEnds,
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

/// The files of reads that become FASTQ.
#[derive(Clone, Debug)]
pub enum FastqFiles {
    /// For reads flagged as neither end or as both, first ends, last ends. Equal names are one file.
    Ends([PathBuf; 3]),
    /// Each read group has files of its own. What is neither end goes with first ends.
    PerReadGroup(NamePattern),
}

/// What becomes of ends of pairs whose other end is not there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LoneEnds {
    /// They go where other ends go.
    Stay,
    /// They go to this file.
    To(PathBuf),
    /// They are left out.
    Dropped,
    /// They are an error.
    Refused,
}

impl Fastq {
    /// The files whose names are known, each once, and which of them each kind of read goes to: neither, first, last,
    /// singles.
    pub fn places(&self) -> (Vec<&Path>, [usize; 4]) {
        let mut files: Vec<&Path> = Vec::new();
        let FastqFiles::Ends([other, first, last]) = &self.files else { return (files, [0; 4]) };
        let singles = match &self.singles {
            LoneEnds::To(file) => file,
            _ => first,
        };
        let places = [other, first, last, singles].map(|path| {
            files.iter().position(|file| file == path).unwrap_or_else(|| {
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
            _ => Err(format!("{number:?} is not a positive number")),
        });
        match (word, number.transpose()?) {
            ("read-group", None) => Ok(SplitBy::ReadGroup),
            ("contigs", most) => Ok(SplitBy::Contigs(most)),
            ("records", Some(most)) => Ok(SplitBy::Records(most)),
            ("records", None) => Err("records needs a number: records=1000000".to_string()),
            _ => Err(format!("{text:?} is not one of read-group, contigs, contigs=BASES, records=N")),
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

impl Split {
    fn check(&self) -> Result<()> {
        let is_named = !matches!((&self.names, &self.rest), (SplitNames::Prefix(_), SplitRest::Named));
        if is_named && self.by != SplitBy::ReadGroup {
            return Err(Error::usage(
                "files are named after read groups, but reads are not split by read group",
            )
            .hint("split by read group, or give a prefix of the file names with -o"));
        }
        if matches!(&self.names, SplitNames::Pattern(pattern) if pattern.has_end()) {
            return Err(Error::usage("{end} is for FASTQ: all reads of a group go to one file")
                .hint("remove {end}"));
        }
        self.output.check()
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
            Error::usage(format!("{text:?} does not have the form FILE=READS"))
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
        let (path, index) = (self.path.clone(), main.index.where_it_can_be());
        let output = Output { path, parts: 1, index, md5: false, in_place: false, ..main.clone() };
        output.in_format(self.format.clone())
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
    pub fn max_extra_files(&self) -> usize {
        match self {
            Destination::Main(_, selected) => selected.len(),
            Destination::Split(Split { by: SplitBy::Records(_), .. }) => 1, // one at a time
            Destination::Split(_) => MAX_SPLIT_FILES,
            Destination::Fastq(Fastq { files: FastqFiles::PerReadGroup(_), .. }) => MAX_SPLIT_FILES,
            Destination::Fastq(fastq) => fastq.places().0.len(),
            Destination::Nowhere => 0,
        }
    }

    /// Returns the formats of files that are known before anything is read: first that of the main output or the split.
    pub fn formats(&self) -> impl Iterator<Item = &Format> {
        let selected = match self {
            Destination::Main(_, selected) => &selected[..],
            _ => &[],
        };
        let settings = self.settings().map(|output| &output.format);
        settings.into_iter().chain(selected.iter().map(|chosen| &chosen.format))
    }

    /// Checks what can be checked before anything is opened.
    pub(super) fn check(&self) -> Result<()> {
        match self {
            Destination::Main(output, selected) => {
                output.check()?;
                selected.iter().try_for_each(|chosen| chosen.output(output).check())
            }
            Destination::Split(split) if split.output.is_in_parts() => {
                Err(Error::usage("split has no main output that could be divided into parts")
                    .hint("omit --out-parts"))
            }
            Destination::Split(split) => split.check(),
            Destination::Fastq(_) | Destination::Nowhere => Ok(()),
        }
    }

    /// How many times a batch may be copied on its way to extra outputs.
    pub fn max_copies(&self) -> usize {
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
    pub(super) fn words(&self, command: Command) -> Vec<String> {
        match self {
            Destination::Main(_, selected) => {
                let moves = selected.iter().filter(|chosen| chosen.moves);
                moves.map(|chosen| format!("--move '{}'", chosen.what)).collect()
            }
            Destination::Split(split) => {
                let flag = if command == Command::Split { "--by" } else { "--split-by" };
                vec![format!("{flag} {}", split.by.word())]
            }
            Destination::Fastq(_) | Destination::Nowhere => Vec::new(), // no file has a header
        }
    }
}
