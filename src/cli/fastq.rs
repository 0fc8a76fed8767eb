//! `readmill fastq`: writes the reads of SAM, BAM or CRAM files to FASTQ.

use std::path::{Path, PathBuf};

use clap::Args;
use readmill::Plan;
use readmill::plan::group_names::NamePattern;
use readmill::plan::{Command, Destination, Fastq, FastqFiles, LoneEnds, Reports, Steps};
use readmill_filters::flag::GivenFlags;
use readmill_filters::optional_fields;
use readmill_filters::{FILTERS, Filters};
use readmill_format::fastq::{FastqStyle, TagSelection};
use readmill_format::fastq_trim::{ClipAction, FastqClip, FastqTrim};
use readmill_record::tag::Tag;
use readmill_record::{Error, Flags, Result};
use readmill_sort::Order;

use super::common::{InputFlags, ResourceFlags};
use super::hints::{is_named_as_records, missing_output_error};

/// Flags of secondary and supplementary records. They are excluded by default, because they repeat
/// bases of primary records.
const NOT_PRIMARY_FLAGS: &str = "0x900";

#[derive(Args)]
#[command(
    after_help = "The input can be in any order and does not need samtools collate. Input that is grouped by name, according to its header (SO:queryname, GO:query) or to --grouped, keeps its order. Other input is sorted by name. Files that end in .gz are compressed with BGZF, which any gzip program can decompress.",
    mut_arg("temp_dir", |arg| arg.short(None)),
)]
pub struct FastqArgs {
    #[command(flatten)]
    input: InputFlags,
    /// Write read 1 of pairs to this file
    #[arg(short = '1', value_name = "FILE", requires = "last")]
    first: Option<PathBuf>,
    /// Write read 2 of pairs to this file
    #[arg(short = '2', value_name = "FILE", requires = "first", id = "last")]
    last: Option<PathBuf>,
    /// Write reads that are neither read 1 nor read 2 to this file [default: standard output]
    ///
    /// These are reads with neither or both of the flags READ1 (0x40) and READ2 (0x80).
    #[arg(short = '0', value_name = "FILE")]
    other: Option<PathBuf>,
    /// Write singletons to this file [default: to the file for read 1 or read 2]
    ///
    /// A singleton is a paired read whose mate is not in the input. By default, it is written to
    /// the file for read 1 or read 2.
    #[arg(short = 's', long, value_name = "FILE")]
    singles: Option<PathBuf>,
    /// Do not write singletons
    #[arg(long, conflicts_with_all = ["singles", "refuse_singles"])]
    drop_singles: bool,
    /// Fail if the input has singletons
    #[arg(long, conflicts_with = "singles")]
    refuse_singles: bool,
    /// Write read 1 and read 2 to this file, interleaved [default: standard output]
    #[arg(short, long, value_name = "FILE", conflicts_with_all = ["first", "last"])]
    output: Option<PathBuf>,
    /// Write separate files for each read group, such as 'lanes/{ID}_{end}.fq.gz'
    ///
    /// {ID}, {PU} or another @RG field is replaced by its value; characters such as : and blanks in
    /// it become _. {end} is 1 for read 1 and single reads, and 2 for read 2. Without {end}, both
    /// are written to one file. Reads whose read group is missing or not in the header are written
    /// to lanes/no-read-group_1.fq.gz.
    #[arg(long, value_name = "PATTERN", value_parser = NamePattern::parse, conflicts_with_all = ["first", "last", "other", "singles", "output"])]
    per_read_group: Option<NamePattern>,
    /// Do not append /1 and /2 to names
    #[arg(short = 'n', conflicts_with = "suffix")]
    no_suffix: bool,
    /// Append /1 and /2 to names [default: only if both reads of a pair go to standard output]
    #[arg(short = 'N')]
    suffix: bool,
    /// Use the original qualities (OQ) of reads that have this field
    #[arg(short = 'O', long)]
    use_original_qualities: bool,
    /// Write the fields RG, BC and QT after the read name
    #[arg(short = 't')]
    copy_tags: bool,
    /// Write these optional fields after the read name, such as RG,BC, or * for all
    #[arg(long, value_name = "TAGS")]
    tags: Option<String>,
    /// Use this Phred quality for the bases of reads without qualities
    #[arg(long, value_name = "N", default_value = "33", value_parser = clap::value_parser!(u8).range(0..=93))]
    default_quality: u8,
    /// Exclude records with any of these flags
    #[arg(short = 'F', long, value_name = "FLAGS", default_value = NOT_PRIMARY_FLAGS)]
    exclude_flags: Flags,
    #[command(flatten)]
    choice: ChoiceFlags,
    /// Compression level, from 0 to 12
    #[arg(short = 'c', short_alias = 'l', long, value_name = "N", value_parser = clap::value_parser!(u8).range(0..=12))]
    level: Option<u8>,
    /// Treat the input as grouped by name, even if the header does not say so
    #[arg(long)]
    grouped: bool,
    /// Fail if the input has paired reads
    #[arg(long, conflicts_with_all = ["first", "last"])]
    single_end: bool,
    #[command(flatten)]
    trim: TrimFlags,
    /// Not supported: -T is a list of tags in samtools fastq, but a directory in other commands
    #[arg(short = 'T', value_name = "TAGS", hide = true)]
    t: Vec<String>,
    #[command(flatten)]
    resources: ResourceFlags,
}

/// Flags that select records. They have the letters of samtools fastq, which differ from the
/// letters of `filter`.
#[derive(Args)]
#[command(next_help_heading = "Filters")]
struct ChoiceFlags {
    /// Write only records with all of these flags. May be repeated
    #[arg(short = 'f', long, value_name = "FLAGS")]
    require_flags: Vec<Flags>,
    /// Write only records with any of these flags. May be repeated
    #[arg(long, visible_alias = "rf", alias = "incl-flags", value_name = "FLAGS")]
    include_flags: Vec<Flags>,
    /// Exclude records with all of these flags. May be repeated
    #[arg(short = 'G', long, value_name = "FLAGS")]
    exclude_all_flags: Vec<Flags>,
    /// Write only records with this optional field, or with this value of it. May be repeated for
    /// more values
    #[arg(short = 'd', long, alias = "tag", value_name = "TAG[:VALUE]")]
    with_tag: Vec<String>,
    /// Write only records whose value of this optional field is listed in FILE
    #[arg(short = 'D', long, alias = "tag-file", value_name = "TAG:FILE")]
    with_tag_in: Vec<String>,
}

impl ChoiceFlags {
    /// Returns the filters for these flags. They are built from command line words, because each
    /// filter parses its own flags.
    fn to_filters(&self) -> Result<Filters> {
        let bits = [
            ("--require-flags", &self.require_flags),
            ("--include-flags", &self.include_flags),
            ("--exclude-all-flags", &self.exclude_all_flags),
        ];
        let bits = bits
            .into_iter()
            .flat_map(|(flag, all)| all.iter().map(move |bits| [flag.to_string(), bits.0.to_string()]));
        let of_tags = |flag: &str, list: &[String]| -> Vec<[String; 2]> {
            list.iter().map(|value| [flag.to_string(), value.clone()]).collect()
        };
        let tags = [of_tags("--with-tag", &self.with_tag), of_tags("--with-tag-in", &self.with_tag_in)];
        let words: Vec<String> = bits.chain(tags.concat()).flatten().collect();
        let flags = FILTERS.iter().flat_map(|spec| spec.flags);
        Filters::from_given_flags(&GivenFlags::from_words(flags, words)?)
    }
}

#[derive(Args)]
#[command(next_help_heading = "Clips and ends")]
struct TrimFlags {
    /// Clip each read from the position in this field, such as XT, to its end
    #[arg(long, value_name = "TAG", value_parser = parse_tag, requires = "clip_action")]
    clip_tag: Option<Tag>,
    /// Clipped bases are removed (cut), replaced by N (mask), or get this Phred quality (a number)
    #[arg(long, value_name = "WHAT", value_parser = parse_clip_action, requires = "clip_tag")]
    clip_action: Option<ClipAction>,
    /// Keep at least the bases before position N (1-based), even if the field has a smaller value
    #[arg(long, value_name = "N", default_value_t = 0, requires = "clip_tag")]
    clip_least: usize,
    /// Cut N bases off the start of read 1 and single reads
    #[arg(long, value_name = "N", default_value_t = 0)]
    skip_first: usize,
    /// Cut N bases off the start of read 2
    #[arg(long, value_name = "N", default_value_t = 0)]
    skip_last: usize,
    /// Trim low-quality ends with this Phred threshold, as bwa aln -q does, but keep at least one
    /// base [default: off]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    trim_quality: Option<i32>,
    /// Write at most N bases of read 1 and single reads [default: all]
    #[arg(long, value_name = "N")]
    most_first: Option<usize>,
    /// Write at most N bases of read 2 [default: all]
    #[arg(long, value_name = "N")]
    most_last: Option<usize>,
    /// Write reads in reference direction instead of sequencing direction
    #[arg(long)]
    as_aligned: bool,
}

fn parse_tag(text: &str) -> std::result::Result<Tag, String> {
    optional_fields::parse_tag(text).map_err(|error| error.what)
}

fn parse_clip_action(text: &str) -> std::result::Result<ClipAction, String> {
    match text {
        "cut" => Ok(ClipAction::Cut),
        "mask" => Ok(ClipAction::Mask),
        number => match number.parse() {
            Ok(quality) if quality <= 93 => Ok(ClipAction::Quality(quality)),
            _ => Err(format!("{text:?} is not cut, mask or a quality from 0 to 93")),
        },
    }
}

impl TrimFlags {
    fn to_trim(&self) -> FastqTrim {
        let clip = self.clip_tag.zip(self.clip_action);
        FastqTrim {
            clip: clip.map(|(tag, action)| FastqClip { tag, action, min_position: self.clip_least }),
            skip: [self.skip_first, self.skip_last],
            quality: self.trim_quality,
            max_bases: [self.most_first, self.most_last],
            as_aligned: self.as_aligned,
        }
    }
}

/// Extensions of formats other than FASTQ, or of compression other than gzip. Such outputs are
/// refused.
const UNSUPPORTED_SUFFIXES: [&str; 14] = [
    ".bam", ".sam", ".sam.gz", ".cram", ".zst", ".bz2", ".xz", ".zip", ".lz4", ".7z", ".tar", ".tgz",
    ".fa", ".fasta",
];

fn parse_tag_list(text: &str) -> Result<Vec<Tag>> {
    text.split(',').map(optional_fields::parse_tag).collect()
}

fn check_output_name(path: &Path) -> Result<()> {
    let name = path.to_string_lossy().to_ascii_lowercase();
    if UNSUPPORTED_SUFFIXES.iter().any(|end| name.ends_with(end)) {
        return Err(Error::usage(format!(
            "{} cannot be written: FASTQ output is plain text or .gz",
            path.display()
        ))
        .hint("use a name that ends in .fq or .fq.gz; for zstd, pipe the output: -o - | zstd"));
    }
    Ok(())
}

impl FastqArgs {
    fn names_both_ends(&self) -> bool {
        self.first.is_some() || self.output.is_some() || self.per_read_group.is_some()
    }

    fn lone_ends(&self) -> LoneEnds {
        match &self.singles {
            Some(file) => LoneEnds::To(file.clone()),
            None if self.drop_singles => LoneEnds::Dropped,
            None if self.refuse_singles => LoneEnds::Refused,
            None => LoneEnds::Stay,
        }
    }

    fn selected_tags(&self) -> Result<TagSelection> {
        let mut tags = if self.copy_tags { vec![*b"RG", *b"BC", *b"QT"] } else { Vec::new() };
        match self.tags.as_deref() {
            Some("*") => return Ok(TagSelection::All),
            Some(list) => tags.extend(parse_tag_list(list)?),
            None => {}
        }
        Ok(TagSelection::Some(tags))
    }

    /// Returns a usage error for flags and outputs that cannot be used together, or that are
    /// probably a mistake.
    fn check_flags(&self) -> Result<()> {
        if !self.t.is_empty() {
            let what = "fastq has no -T: it is a list of tags in samtools fastq, but a directory in other commands";
            return Err(Error::usage(what)
                .hint("use --tags RX,BX for tags, or --temp-dir DIR for temporary files"));
        }
        let files = [&self.first, &self.last, &self.other, &self.singles, &self.output];
        files.into_iter().flatten().try_for_each(|path| check_output_name(path))?;
        let inputs = self.input.inputs()?;
        if let Some(pattern) = &self.per_read_group {
            check_output_name(Path::new(pattern.pattern_text()))?;
        }
        let is_named = self.names_both_ends() || self.other.is_some();
        if is_named || inputs.len() < 2 {
            return Ok(());
        }
        let hints = match &inputs[1..] {
            [.., last] if is_named_as_records(last) => vec![],
            [last] => vec![("-o", last)],
            [.., first, last] => vec![("-1", first), ("-2", last)],
            [] => vec![],
        };
        Err(missing_output_error(&inputs, &hints))
    }

    pub fn build_plan(&self) -> Result<Plan> {
        self.check_flags()?;
        let stdout = || PathBuf::from("-");
        let both = self.output.clone().unwrap_or_else(stdout);
        let first = self.first.clone().unwrap_or_else(|| both.clone());
        let last = self.last.clone().unwrap_or(both);
        let style = FastqStyle {
            suffix: self.suffix || !(self.names_both_ends() || self.no_suffix),
            tags: self.selected_tags()?,
            original_qualities: self.use_original_qualities,
            default_quality: self.default_quality,
            trim: self.trim.to_trim(),
        };
        let (files, beside) = match &self.per_read_group {
            Some(pattern) => (FastqFiles::PerReadGroup(pattern.clone()), pattern.pattern_text().into()),
            None => {
                let other = self.other.clone().unwrap_or_else(stdout);
                (FastqFiles::Ends([other, first.clone(), last]), first)
            }
        };
        let fastq = Fastq {
            files,
            singles: self.lone_ends(),
            exclude: self.exclude_flags.0,
            style,
            level: self.level,
            grouped: self.grouped,
            single_end: self.single_end,
        };
        Ok(Plan {
            command: Command::Fastq,
            inputs: self.input.inputs()?,
            regions: None,
            aligning: None,
            merging: None,
            steps: Steps {
                filters: self.choice.to_filters()?,
                sort: Some(Order::Lexicographic),
                ..Steps::default()
            },
            destination: Destination::Fastq(fastq),
            reports: Reports::default(),
            resources: self.resources.build_resources(&beside)?,
        })
    }
}
