//! The plan for unaligned input: reads are aligned, or converted to unaligned records.

use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

use readmill_fastq::{Purpose, QualityEncoding, ReadStructure};
use readmill_filters::adapter::{AdapterRules, Marker};
use readmill_record::header::HeaderLine;
use readmill_record::tag::Tag;
use readmill_record::{Error, Result};

use super::trimming::Trimming;

/// Plan for unaligned input: its files, how reads become records, and the aligner. `readmill align`
/// and `readmill import` build it from their flags.
#[derive(Clone, Debug)]
pub struct Aligning {
    /// The FASTA file of the reference. The index files have the same name with other suffixes.
    /// `None` if the reads are not aligned.
    pub reference: Option<PathBuf>,
    pub lanes: Vec<LaneInput>,
    pub read_tags: ReadTags,
    pub trimming: Option<Trimming>,
    pub aligner: Aligner,
    /// Aligner options that differ from their defaults, for the `@PG` command line.
    pub words: Vec<String>,
    /// Do not check from the first reads that the FASTQ files are in order and paired
    /// (`--as-given`).
    pub as_given: bool,
    /// Warnings about the command line, which are logged when the run starts.
    pub warnings: Vec<String>,
}

impl Aligning {
    /// Returns the input files in SAM, BAM or CRAM. All other input files are FASTQ.
    pub fn record_files(&self) -> Vec<&PathBuf> {
        self.lanes.iter().filter(|lane| lane.records).flat_map(|lane| &lane.files).collect()
    }

    /// Returns the alignment flags of the `@PG` command line, without those at their default value.
    pub fn command_words(&self) -> Vec<String> {
        let mut words = Vec::new();
        match self.aligner.flag() {
            None => words.extend(self.words.iter().cloned()),
            Some(flag) => {
                if flag == "--minibwa" {
                    words.push("--kernel minibwa".to_string());
                }
                if !self.words.is_empty() {
                    words.push(format!("{flag} '{}'", self.words.join(" ")));
                }
            }
        }
        words.extend(self.read_tags.command_words());
        words.extend(self.trimming.iter().flat_map(|it| it.words.iter().cloned()));
        words
    }
}

/// How comments, barcodes and adapters of FASTQ reads become optional fields.
#[derive(Clone, Debug, Default)]
pub struct ReadTags {
    /// FASTQ comments are optional fields in SAM text, and are copied to the record (`-C`).
    pub comments: bool,
    /// The field for the barcode of a Casava comment such as `1:N:0:ACGT`. `None` if comments do
    /// not have this form.
    pub casava: Option<Tag>,
    /// `Some` if read names end in a UMI. The inner value is the separator before the UMI; `None`
    /// means the position at which sequencing instruments write it.
    pub name_umis: Option<Option<u8>>,
    /// The read structures, one for each read of a template. Empty if all bases are template bases.
    pub structures: Vec<ReadStructure>,
    pub index_reads: Vec<IndexReads>,
    pub adapters: Option<AdapterRules>,
    /// The adapter rules that differ from their defaults, as flags for `@PG`.
    pub adapter_words: Vec<String>,
}

impl ReadTags {
    fn command_words(&self) -> Vec<String> {
        let separator =
            |it: &Option<u8>| it.map_or(String::new(), |byte| format!("={}", char::from(byte)));
        let are_usual = self.index_reads.iter().all(|index| index.structure == index.usual);
        let of_index = self.index_reads.iter().map(|index| &index.structure).filter(|_| !are_usual);
        let structures: Vec<String> =
            self.structures.iter().chain(of_index).map(ToString::to_string).collect();
        [
            self.comments.then(|| "-C".to_string()),
            self.casava.map(|tag| match &tag {
                b"BC" => "--casava".to_string(),
                other => format!("--casava={}", String::from_utf8_lossy(other)),
            }),
            self.name_umis.as_ref().map(|it| format!("--umi-from-name{}", separator(it))),
            (!structures.is_empty()).then(|| format!("--read-structures {}", structures.join(","))),
            (!self.index_reads.is_empty())
                .then(|| self.index_reads.iter().map(|index| index.flag).collect::<Vec<_>>().join(" ")),
            self.adapters.as_ref().map(|_| {
                let marked = std::iter::once("--mark-adapters");
                let words = marked.chain(self.adapter_words.iter().map(String::as_str));
                words.collect::<Vec<_>>().join(" ")
            }),
        ]
        .into_iter()
        .flatten()
        .collect()
    }

    fn check_read_structures(&self) -> Result<()> {
        let has_template = |structure: &ReadStructure| structure.has_purpose(Purpose::Template);
        if let Some(structure) = self.structures.iter().find(|structure| !has_template(structure)) {
            let what = format!("the structure {structure} has no template bases (T)");
            return Err(Error::usage(what)
                .hint("the structure of a read needs exactly one T segment, such as +T or 8M+T; only index reads (--umi-fastq, --i1, --i2) have none"));
        }
        let index = self.index_reads.iter().find(|index| has_template(&index.structure));
        index.map_or(Ok(()), |index| {
            let what = format!(
                "the structure {} of {} has template bases (T), but index reads are not aligned",
                index.structure, index.flag
            );
            Err(Error::usage(what).hint("use only M, B, C and S, such as 9M or 4M2S+B"))
        })
    }

    pub fn is_empty(&self) -> bool {
        let has_barcodes = self.name_umis.is_some() || !self.structures.is_empty();
        !self.comments && self.casava.is_none() && !has_barcodes && self.index_reads.is_empty()
    }
}

#[derive(Clone, Debug)]
pub struct IndexReads {
    pub flag: &'static str,
    pub structure: ReadStructure,
    pub usual: ReadStructure,
}

#[derive(Clone, Debug)]
pub enum Aligner {
    None(Import),
    #[cfg(feature = "bwa")]
    Bwa(Box<readmill_align::bwa::BwaOptions>),
    #[cfg(feature = "minibwa")]
    Minibwa(Box<readmill_align::minibwa::MinibwaOptions>),
}

impl Aligner {
    /// Returns the flag that takes the options of the aligner as one text.
    fn flag(&self) -> Option<&'static str> {
        match *self {
            Aligner::None(_) => None,
            #[cfg(feature = "bwa")]
            Aligner::Bwa(_) => Some("--bwa"),
            #[cfg(feature = "minibwa")]
            Aligner::Minibwa(_) => Some("--minibwa"),
        }
    }

    /// Returns how reads are converted if they are not aligned, otherwise `None`.
    pub fn import(&self) -> Option<&Import> {
        match self {
            Aligner::None(import) => Some(import),
            #[cfg(any(feature = "bwa", feature = "minibwa"))]
            _ => None,
        }
    }
}

#[derive(Clone, Debug)]
pub struct Import {
    /// How qualities are encoded in FASTQ. If `None`, the encoding is detected from the
    /// first records.
    pub encoding: Option<QualityEncoding>,
    /// Allowed Phred scores. A read with any other quality is an error.
    pub qualities: RangeInclusive<u8>,
    pub comments: Vec<String>,
    /// Whether input without any reads is an error.
    pub needs_reads: bool,
    /// Whether the `/1` or `/2` at the end of a read name determines whether an unpaired read is
    /// read 1 or read 2 (`--ends-by-name`).
    pub ends_by_name: bool,
}

/// The reads of one sequencing unit, usually a lane of a flow cell: one file or a pair of files,
/// with their read group.
#[derive(Clone, Debug)]
pub struct LaneInput {
    /// One file, or two files with read 1 and read 2 of the templates. `-` is standard input.
    pub files: Vec<PathBuf>,
    /// The files of index reads, in the order of [`ReadTags::index_reads`].
    pub index_files: Vec<PathBuf>,
    pub interleaved: bool,
    /// Whether the file contains unaligned SAM, BAM or CRAM records.
    pub records: bool,
    pub group: Option<HeaderLine>,
}

impl LaneInput {
    pub fn reads_per_template(&self) -> usize {
        if self.interleaved { 2 } else { self.files.len() }
    }

    pub fn all_files(&self) -> impl Iterator<Item = &PathBuf> {
        self.files.iter().chain(&self.index_files)
    }

    /// Returns whether neither the command line nor the input file gives the reads a read group.
    pub fn has_no_read_group(&self) -> bool {
        self.group.is_none() && !self.records
    }

    pub fn read_group_id(&self) -> Option<&[u8]> {
        self.group.as_ref()?.get(b"ID")
    }
}

impl Aligning {
    /// Returns the reference that reads are aligned to.
    ///
    /// # Errors
    /// Returns an internal error if there is no reference.
    pub fn reference(&self) -> Result<&Path> {
        self.reference.as_deref().ok_or_else(|| Error::bug("the aligner has no reference"))
    }

    fn check_trimming(&self) -> Result<()> {
        let Some(trimming) = &self.trimming else { return Ok(()) };
        let is_single = |lane: &LaneInput| !lane.records && lane.reads_per_template() == 1;
        let singles = self.lanes.iter().find(|lane| is_single(lane));
        let may_have_pairs = !self.lanes.iter().all(is_single);
        trimming.check_options(singles.map(|lane| &*lane.files[0]), may_have_pairs)
    }

    /// Checks everything that can be checked before a file is opened.
    ///
    /// # Errors
    /// Returns a usage error for options that contradict each other or do not fit the
    /// reads.
    pub fn check_options(&self) -> Result<()> {
        #[cfg(any(feature = "bwa", feature = "minibwa"))]
        if let Some(flag) = self.aligner.flag() {
            readmill_align::check_processor(flag == "--bwa")?;
        }
        self.read_tags.adapters.as_ref().map(Marker::new).transpose()?;
        self.check_trimming()?;
        let structures = self.read_tags.structures.len();
        if let Some(records) = self.lanes.iter().find(|lane| lane.records)
            && let Some(fastq) = self.lanes.iter().find(|lane| !lane.records)
        {
            let what = format!(
                "{} is FASTQ, but {} is not",
                fastq.files[0].display(),
                records.files[0].display()
            );
            return Err(Error::usage(what)
                .hint("run the command once for each format, and join the outputs: readmill merge"));
        }
        self.read_tags.check_read_structures()?;
        for (at, lane) in self.lanes.iter().enumerate() {
            if let Some(reference) =
                self.reference.as_ref().filter(|it| lane.all_files().any(|file| file == *it))
            {
                return Err(Error::usage("given both as reads and as the reference")
                    .file(reference)
                    .hint(
                        "give the reference once, as the first argument: readmill align REF READS...",
                    ));
            }
            if structures > 0 && !lane.records && structures != lane.reads_per_template() {
                let what = format!(
                    "{structures} read structures are given, but a template has {} reads",
                    lane.reads_per_template()
                );
                return Err(Error::usage(what)
                    .hint("give one per read, such as 8M+T,+T for pairs and 8M+T for single reads, then one per index read"));
            }
            let others = &self.lanes[..at];
            let clash = others.iter().filter_map(|it| it.group.as_ref()).find(|group| {
                lane.group
                    .as_ref()
                    .is_some_and(|own| own.get(b"ID") == group.get(b"ID") && own != *group)
            });
            if clash.is_some() {
                let id = String::from_utf8_lossy(lane.read_group_id().unwrap_or_default()).into_owned();
                return Err(Error::usage(format!("two different read groups have the ID {id}")));
            }
        }
        Ok(())
    }
}
