//! Where reads are written: to a main output with optional extra outputs, to the files of a split,
//! or to FASTQ files.

use std::path::{Path, PathBuf};

use readmill_format::fastq;
use readmill_record::{Error, Result};

use super::command::Command;
use super::group_names::NamePattern;
use super::{Format, Output};

/// Maximum number of files that a split may write.
pub const MAX_SPLIT_FILES: usize = 500;

/// Where the reads of a run are written.
///
/// | destination | subcommand or flag |
/// |---|---|
/// | one output; selected reads also, or instead, in other files | most subcommands; `--copy-to`, `--move-to` |
/// | one file for each read group, group of contigs or number of records | `split`, `--split-by` |
/// | FASTQ files, by the ends of templates | `fastq` |
/// | nowhere, the reads are only counted | `flagstat`, `bqsr table` … |
#[derive(Clone, Debug)]
pub enum Destination {
    /// The main output, and the files for selected reads.
    Main(Output, Vec<ExtraFile>),
    Split(Split),
    Fastq(Fastq),
    /// Reads are only used for tallies and recalibration tables.
    Nowhere,
}

/// An additional output for selected reads (`--copy-to`, `--move-to`).
#[derive(Clone, Debug)]
pub struct ExtraFile {
    pub path: PathBuf,
    pub format: Format,
    /// The selected reads: `unmapped`, `discordant`, `duplicates`, `dropped`, or a filter
    /// expression.
    pub what: String,
    /// Whether the reads are removed from the main output (`--move-to`).
    pub moves: bool,
}

/// A split of all reads into several files.
#[derive(Clone, Debug)]
pub struct Split {
    pub names: SplitNames,
    pub by: SplitBy,
    /// Where reads without a read group of the header are written.
    pub rest: SplitRest,
    /// Format, codec, compression level and index of each file. Its path is unused.
    pub output: Output,
    /// Whether the format of each file follows from its name. Otherwise all files have the format
    /// of `output`.
    pub formats_by_name: bool,
}

/// How the files of a split are named.
#[derive(Clone, Debug)]
pub enum SplitNames {
    /// A prefix, to which the key and the extension are added.
    Prefix(PathBuf),
    /// A pattern with read group fields, such as `lanes/{PU}.bam`.
    Pattern(NamePattern),
    /// A table that maps the ID of each read group to a file name.
    Table(PathBuf),
}

/// How a split by read group treats reads whose read group is not in the header.
#[derive(Clone, Debug)]
pub enum SplitRest {
    /// Writes them to a file that is named like the others.
    Named,
    /// Writes them to this file, whose header lists all read groups.
    File(PathBuf),
    /// Fails at the first such read.
    Refused,
}

/// All reads are written as FASTQ, with read 1 and read 2 of a template in different files.
#[derive(Clone, Debug)]
pub struct Fastq {
    pub files: FastqFiles,
    /// How to treat paired reads whose mate is missing.
    pub singles: LoneEnds,
    /// Records with any of these flags are skipped.
    pub exclude: u16,
    pub style: fastq::FastqStyle,
    /// Compression level of files whose names end in `.gz`.
    pub level: Option<u8>,
    /// Assume that the reads of a template are adjacent, regardless of the header. Then reads are
    /// not sorted first.
    pub grouped: bool,
    /// Treat a paired read as an error.
    pub single_end: bool,
}

/// The files to which FASTQ is written.
#[derive(Clone, Debug)]
pub enum FastqFiles {
    /// The files for other reads (neither or both of flags 0x40 and 0x80 set), read 1 and read 2.
    /// Equal names mean the same file.
    Ends([PathBuf; 3]),
    /// A file, or a pair of files, for each read group. Reads that are neither read 1 nor read 2
    /// are written with read 1.
    PerReadGroup(NamePattern),
}

/// How to treat singletons: paired reads whose mate is missing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LoneEnds {
    /// Writes them to the file for their read number.
    Stay,
    To(PathBuf),
    Dropped,
    /// Fails at the first singleton.
    Refused,
}

impl Fastq {
    /// Returns the files whose names are known in advance, without repetition, and the index of the
    /// file for each kind of read: other, read 1, read 2, singletons.
    pub fn known_files(&self) -> (Vec<&Path>, [usize; 4]) {
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

/// The criterion for splitting reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SplitBy {
    ReadGroup,
    /// Groups of contigs with at most this number of bases. `None` means the length of the longest
    /// contig.
    Contigs(Option<u64>),
    /// Number of records in each file. Adjacent records with the same name stay together.
    Records(u64),
}

impl SplitBy {
    /// Parses the value of `--by`: `read-group`, `contigs`, `contigs=BASES` or `records=N`.
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
            ("contigs", max_bases) => Ok(SplitBy::Contigs(max_bases)),
            ("records", Some(max_records)) => Ok(SplitBy::Records(max_records)),
            ("records", None) => Err("records needs a number: records=1000000".to_string()),
            _ => Err(format!("{text:?} is not one of read-group, contigs, contigs=BASES and records=N")),
        }
    }

    /// Returns the value as it is written on the command line; [`SplitBy::parse`] reads it back.
    pub fn command_word(self) -> String {
        match self {
            SplitBy::ReadGroup => "read-group".to_string(),
            SplitBy::Contigs(None) => "contigs".to_string(),
            SplitBy::Contigs(Some(max_bases)) => format!("contigs={max_bases}"),
            SplitBy::Records(max_records) => format!("records={max_records}"),
        }
    }
}

impl Split {
    fn check_options(&self) -> Result<()> {
        let is_named = !matches!((&self.names, &self.rest), (SplitNames::Prefix(_), SplitRest::Named));
        if is_named && self.by != SplitBy::ReadGroup {
            return Err(Error::usage(
                "file names contain read group fields, but reads are not split by read group",
            )
            .hint("split by read group, or give a prefix of the file names with -o"));
        }
        if matches!(&self.names, SplitNames::Pattern(pattern) if pattern.has_end()) {
            return Err(Error::usage(
                "{end} works only with FASTQ: here, all reads of a group are written to one file",
            )
            .hint("remove {end}"));
        }
        self.output.check()
    }
}

impl ExtraFile {
    /// The value of [`ExtraFile::what`] for reads that filters drop.
    const DROPPED: &str = "dropped";

    /// Creates an extra output for the reads that filters drop.
    pub fn for_dropped_reads(path: PathBuf, format: Format) -> Self {
        ExtraFile { path, format, what: Self::DROPPED.to_string(), moves: true }
    }

    pub fn is_for_dropped_reads(&self) -> bool {
        self.what == Self::DROPPED
    }

    /// Parses `FILE=READS`, the value of `--copy-to` (`moves` is false) and `--move-to` (`moves` is
    /// true). The file name determines the format.
    ///
    /// # Errors
    /// Fails if the value has a different form, or if dropped reads are to be copied: they are not
    /// in the main output, so they can only be moved.
    pub fn parse(text: &str, moves: bool) -> Result<Self> {
        let parts = text.split_once('=').filter(|(file, what)| !file.is_empty() && !what.is_empty());
        let (file, what) = parts.ok_or_else(|| {
            Error::usage(format!("{text:?} does not have the form FILE=READS"))
                .hint("write FILE=unmapped, FILE=discordant, FILE=duplicates, or FILE=EXPRESSION")
        })?;
        let (path, what) = (PathBuf::from(file), what.trim().to_string());
        let chosen = ExtraFile { format: Format::from_file_name(&path), path, what, moves };
        if chosen.is_for_dropped_reads() && !moves {
            return Err(Error::usage(
                "reads dropped by filters are not in the main output, so they cannot be copied",
            )
            .hint(format!("use --move-to {file}=dropped")));
        }
        Ok(chosen)
    }

    /// Returns the output settings of this file: those of the main output, but with its own path
    /// and format, in one part, and without an MD5 file.
    pub fn to_output(&self, main: &Output) -> Output {
        let (path, index) = (self.path.clone(), main.index.if_possible());
        let output = Output { path, parts: 1, index, md5: false, in_place: false, ..main.clone() };
        output.in_format(self.format.clone())
    }
}

impl Destination {
    /// Returns the main output, or `None` for a split, for FASTQ, and if no reads are written.
    pub fn main_output(&self) -> Option<&Output> {
        match self {
            Destination::Main(output, _) => Some(output),
            _ => None,
        }
    }

    /// Returns the output whose format, level and other settings apply: the main output, or the
    /// common settings of a split.
    pub fn common_settings(&self) -> Option<&Output> {
        match self {
            Destination::Main(output, _) => Some(output),
            Destination::Split(split) => Some(&split.output),
            Destination::Fastq(_) | Destination::Nowhere => None,
        }
    }

    /// Returns the paths of the extra files that are known before anything is read. The files of a
    /// split depend on the header.
    pub fn extra_paths(&self) -> Vec<&Path> {
        match self {
            Destination::Main(_, selected) => selected.iter().map(|chosen| &*chosen.path).collect(),
            Destination::Fastq(fastq) => fastq.known_files().0,
            Destination::Split(_) | Destination::Nowhere => Vec::new(),
        }
    }

    /// Returns the maximum number of extra files that are open at the same time, for which memory
    /// is reserved for their buffers.
    pub fn max_extra_files(&self) -> usize {
        match self {
            Destination::Main(_, selected) => selected.len(),
            Destination::Split(Split { by: SplitBy::Records(_), .. }) => 1, // one at a time
            Destination::Split(_) => MAX_SPLIT_FILES,
            Destination::Fastq(Fastq { files: FastqFiles::PerReadGroup(_), .. }) => MAX_SPLIT_FILES,
            Destination::Fastq(fastq) => fastq.known_files().0.len(),
            Destination::Nowhere => 0,
        }
    }

    /// Returns the formats that are known before anything is read. The first is the format of the
    /// main output or of the split.
    pub fn formats(&self) -> impl Iterator<Item = &Format> {
        let selected = match self {
            Destination::Main(_, selected) => &selected[..],
            _ => &[],
        };
        let settings = self.common_settings().map(|output| &output.format);
        settings.into_iter().chain(selected.iter().map(|chosen| &chosen.format))
    }

    /// Returns a usage error if options contradict each other. Opens no file.
    pub(super) fn check_options(&self) -> Result<()> {
        match self {
            Destination::Main(output, selected) => {
                output.check()?;
                selected.iter().try_for_each(|chosen| chosen.to_output(output).check())
            }
            Destination::Split(split) if split.output.is_in_parts() => {
                Err(Error::usage("split has no main output that can be divided into parts")
                    .hint("omit --out-parts"))
            }
            Destination::Split(split) => split.check_options(),
            Destination::Fastq(_) | Destination::Nowhere => Ok(()),
        }
    }

    /// Returns the maximum number of copies of a batch's reads in memory: the batch itself, and one
    /// copy for each extra file that receives copied or dropped reads.
    pub fn max_copies(&self) -> usize {
        match self {
            Destination::Main(_, selected) => {
                let copies =
                    selected.iter().filter(|chosen| !chosen.moves || chosen.is_for_dropped_reads());
                copies.count() + 1
            }
            _ => 1,
        }
    }

    /// Returns the index of the extra file for the reads that filters drop, if there is one.
    pub fn dropped_reads_index(&self) -> Option<usize> {
        match self {
            Destination::Main(_, selected) => selected.iter().position(ExtraFile::is_for_dropped_reads),
            _ => None,
        }
    }

    /// Returns the flags of the `@PG` command line: the reads that are moved out of the main
    /// output, or the key of the split. Copies do not change the main output, so `--copy-to` is
    /// left out.
    pub(super) fn command_words(&self, command: Command) -> Vec<String> {
        match self {
            Destination::Main(_, selected) => {
                let moves = selected.iter().filter(|chosen| chosen.moves);
                moves.map(|chosen| format!("--move '{}'", chosen.what)).collect()
            }
            Destination::Split(split) => {
                let flag = if command == Command::Split { "--by" } else { "--split-by" };
                vec![format!("{flag} {}", split.by.command_word())]
            }
            Destination::Fastq(_) | Destination::Nowhere => Vec::new(), // no file has a header
        }
    }
}
