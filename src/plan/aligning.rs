//! Reads that are aligned first, or become records as they are.

use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

use readmill_fastq::{Encoding, Purpose, ReadStructure};
use readmill_filters::adapter::{AdapterRules, Marker};
use readmill_record::header::HeaderLine;
use readmill_record::tag::Tag;
use readmill_record::{Error, Result};

use super::trimming::Trimming;

/// Reads that are not aligned yet, and their aligner.
#[derive(Clone, Debug)]
pub struct Aligning {
    /// The reference: its index stands beside it. `None` where no read is aligned.
    pub reference: Option<PathBuf>,
    /// The reads.
    pub lanes: Vec<Lane>,
    /// How barcodes and comments become tags.
    pub read_tags: ReadTags,
    /// How reads are trimmed, if they are.
    pub trimming: Option<Trimming>,
    /// The aligner.
    pub aligner: Aligner,
    /// Its options that are not its defaults, for `@PG`.
    pub words: Vec<String>,
    /// Whether the order and the pairing of FASTQ files are taken as given, without a look at their first reads.
    pub as_given: bool,
    /// Warnings about the command line.
    pub warnings: Vec<String>,
}

impl Aligning {
    /// The files of reads that are SAM, BAM or CRAM; the others are FASTQ.
    pub fn record_files(&self) -> Vec<&PathBuf> {
        self.lanes.iter().filter(|lane| lane.records).flat_map(|lane| &lane.files).collect()
    }

    /// Its words in the command line of `@PG`.
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
        words.extend(self.read_tags.words());
        words.extend(self.trimming.iter().flat_map(|it| it.words.iter().cloned()));
        words
    }
}

/// How comments, barcodes and adapters of reads become tags of their records.
#[derive(Clone, Debug, Default)]
pub struct ReadTags {
    /// Comments, which are optional fields as SAM text has them.
    pub comments: bool,
    /// The field of barcodes in comments, which are those of Casava: `1:N:0:ACGT`.
    pub casava: Option<Tag>,
    /// UMIs at the end of names, after this separator, or, if that is `None`, where sequencers put them.
    pub name_umis: Option<Option<u8>>,
    /// The purpose of the bases of each read, one structure for each segment; empty if all bases are of the template.
    pub structures: Vec<ReadStructure>,
    /// The files of index reads that each lane has, and the purpose of their bases.
    pub index_reads: Vec<IndexReads>,
    /// The adapters to mark, if any.
    pub adapters: Option<AdapterRules>,
    /// How the rules differ from their defaults, as flags, for `@PG`.
    pub adapter_words: Vec<String>,
}

impl ReadTags {
    fn words(&self) -> Vec<String> {
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

    /// Checks that reads have a template, and index reads none.
    fn check_structures(&self) -> Result<()> {
        let has_template = |structure: &ReadStructure| structure.has(Purpose::Template);
        if let Some(structure) = self.structures.iter().find(|structure| !has_template(structure)) {
            let what = format!("the structure {structure} has no bases of the template (T)");
            return Err(Error::usage(what)
                .hint("a read has one piece T, such as +T or 8M+T; index reads (--umi-fastq, --i1, --i2) have none"));
        }
        let index = self.index_reads.iter().find(|index| has_template(&index.structure));
        index.map_or(Ok(()), |index| {
            let what = format!(
                "the structure {} of {} has bases of the template (T), and index reads are not aligned",
                index.structure, index.flag
            );
            Err(Error::usage(what).hint("use M, B, C and S, such as 9M or 4M2S+B"))
        })
    }

    /// Whether reads carry neither comments nor barcodes.
    pub fn is_nothing(&self) -> bool {
        let has_barcodes = self.name_umis.is_some() || !self.structures.is_empty();
        !self.comments && self.casava.is_none() && !has_barcodes && self.index_reads.is_empty()
    }
}

/// A kind of files that have an index read for each template, and no bases to be aligned.
#[derive(Clone, Debug)]
pub struct IndexReads {
    /// The flag that names the files.
    pub flag: &'static str,
    /// The purpose of their bases.
    pub structure: ReadStructure,
    /// The structure of files of this flag, unless another is given.
    pub usual: ReadStructure,
}

/// An aligner and its options.
#[derive(Clone, Debug)]
pub enum Aligner {
    /// None: reads become records as they are.
    None(Import),
    /// bwa mem.
    #[cfg(feature = "bwa")]
    Bwa(Box<readmill_align::bwa::BwaOptions>),
    /// minibwa.
    #[cfg(feature = "minibwa")]
    Minibwa(Box<readmill_align::minibwa::MinibwaOptions>),
}

impl Aligner {
    /// The flag that takes its options.
    fn flag(&self) -> Option<&'static str> {
        match *self {
            Aligner::None(_) => None,
            #[cfg(feature = "bwa")]
            Aligner::Bwa(_) => Some("--bwa"),
            #[cfg(feature = "minibwa")]
            Aligner::Minibwa(_) => Some("--minibwa"),
        }
    }

    /// How reads become records, if they are not aligned.
    pub fn import(&self) -> Option<&Import> {
        match self {
            Aligner::None(import) => Some(import),
            #[cfg(any(feature = "bwa", feature = "minibwa"))]
            _ => None,
        }
    }
}

/// How reads become records that are not aligned.
#[derive(Clone, Debug)]
pub struct Import {
    /// How FASTQ writes qualities; `None` if the first records are to tell.
    pub encoding: Option<Encoding>,
    /// The Phred scores that qualities of FASTQ may have.
    pub qualities: RangeInclusive<u8>,
    /// Texts of `@CO` lines.
    pub comments: Vec<String>,
    /// Whether files without any read are an error.
    pub needs_reads: bool,
    /// Whether names of single reads say which end of its template each is.
    pub ends_by_name: bool,
}

/// The reads of one sequencing unit.
#[derive(Clone, Debug)]
pub struct Lane {
    /// One file, or the two that have the first and the last segments; `-` is standard input.
    pub files: Vec<PathBuf>,
    /// Files that have an index read for each template, as [`ReadTags::index_reads`] describes them.
    pub index_files: Vec<PathBuf>,
    /// Whether one file has both segments of each template, one after the other.
    pub interleaved: bool,
    /// Whether the one file is SAM, BAM or CRAM, of reads that are not aligned.
    pub records: bool,
    /// The `@RG` line of its reads.
    pub group: Option<HeaderLine>,
}

impl Lane {
    /// Reads of each template.
    pub fn segments(&self) -> usize {
        if self.interleaved { 2 } else { self.files.len() }
    }

    /// Its files, and those of its index reads.
    pub fn all_files(&self) -> impl Iterator<Item = &PathBuf> {
        self.files.iter().chain(&self.index_files)
    }

    /// Whether its reads get no read group and bring none.
    pub fn lacks_group(&self) -> bool {
        self.group.is_none() && !self.records
    }

    /// The ID of the read group.
    pub fn group_id(&self) -> Option<&[u8]> {
        self.group.as_ref()?.get(b"ID")
    }
}

impl Aligning {
    /// The reference that reads are aligned to.
    pub fn reference(&self) -> Result<&Path> {
        self.reference.as_deref().ok_or_else(|| Error::bug("an aligner without a reference"))
    }

    fn check_trimming(&self) -> Result<()> {
        let Some(trimming) = &self.trimming else { return Ok(()) };
        let is_single = |lane: &Lane| !lane.records && lane.segments() == 1;
        let singles = self.lanes.iter().find(|lane| is_single(lane));
        let may_have_pairs = !self.lanes.iter().all(is_single);
        trimming.check(singles.map(|lane| &*lane.files[0]), may_have_pairs)
    }

    /// Checks what can be checked before anything is opened.
    pub fn check(&self) -> Result<()> {
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
                "{} is FASTQ, and {} is not",
                fastq.files[0].display(),
                records.files[0].display()
            );
            return Err(
                Error::usage(what).hint("take them apart, and join what comes out: readmill merge")
            );
        }
        self.read_tags.check_structures()?;
        for (at, lane) in self.lanes.iter().enumerate() {
            if let Some(reference) =
                self.reference.as_ref().filter(|it| lane.all_files().any(|file| file == *it))
            {
                return Err(Error::usage("it is given as reads, and as the reference")
                    .file(reference)
                    .hint("the reference comes first, and once: readmill align REF READS..."));
            }
            if structures > 0 && !lane.records && structures != lane.segments() {
                let what = format!(
                    "there are {structures} structures for {} reads of a template",
                    lane.segments()
                );
                return Err(Error::usage(what)
                    .hint("give one for each, as in 8M+T,+T for pairs, and 8M+T for single reads; those of index reads come last"));
            }
            let others = &self.lanes[..at];
            let clash = others.iter().filter_map(|it| it.group.as_ref()).find(|group| {
                lane.group
                    .as_ref()
                    .is_some_and(|own| own.get(b"ID") == group.get(b"ID") && own != *group)
            });
            if clash.is_some() {
                let id = String::from_utf8_lossy(lane.group_id().unwrap_or_default()).into_owned();
                return Err(Error::usage(format!("two read groups are called {id}")));
            }
        }
        Ok(())
    }
}
