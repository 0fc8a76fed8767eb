//! `readmill view`: prints or converts all reads or those in regions, with the flags of samtools
//! view.

use std::path::{Path, PathBuf};

use clap::{Arg, ArgAction, Args};
use readmill::Plan;
use readmill::addons::ReadTally;
use readmill::formats::{BamFormat, CramFormat, FORMATS, SamFormat, join_words};
use readmill::plan::{
    Command, Content, Destination, ExtraFile, Format, Index, RegionRequest, Steps, Verbosity,
};
use readmill_record::{Error, Result};
use readmill_stats::count;

use super::common::{OutputFlags, format_examples, format_help};
use super::filter_flags::{FilterFlags, add_samtools_names};
use super::hints;

/// Returns the long help of `-O`. The default differs from other commands, which write BAM if
/// neither `-O` nor the output name determines the format.
fn long_format_help() -> String {
    let mut specs = FORMATS.to_vec();
    specs.sort_by_key(|spec| !spec.goes_to_terminals);
    format!(
        "{}\n\nA format can be followed by options, as in {}. Without this flag, the extension of the output file decides: {}. For other names, the format is bam if a compression level is given, and sam otherwise.",
        format_help("sam"),
        format_examples(),
        join_words(specs.iter().map(|spec| spec.extension), "or")
    )
}

/// The flags of samtools view, and the flags for output and resources of other commands.
#[derive(Args)]
#[command(
    disable_help_flag = true,
    after_help = "\
A region is chr1, chr1:1000 (from base 1000 to the end), chr1:1000-2000, chr1:-2000 or {name:with:colons}:1-2. * means reads without a position, and . means all reads. Without -M, regions are read in the given order, and a record that \
overlaps two regions is written twice, as in samtools. -L without -M reads the whole file.

Short flags have the same meaning as in samtools view: -l is the library, -m the minimum length, -T the reference. Only -@ differs: it is the total number of threads. Without -v, only warnings are printed.",
    mut_arg("quiet", |arg| arg.short(None)),
    mut_arg("temp_dir", |arg| arg.short(None)),
    mut_arg("memory", |arg| arg.short(None)),
    mut_arg("level", |arg| arg.short(None)),
    mut_arg("reference", |arg| arg.short('T')),
    mut_arg("fast", |arg| arg.short('1')),
    mut_arg("out_parts", |arg| arg.hide(true)),
    mut_arg("output_format", |arg| arg.help(format_help("sam")).long_help(long_format_help())),
    mut_args(add_samtools_names),
    mut_args(add_view_letters),
)]
pub struct ViewArgs {
    /// SAM, BAM or CRAM file [default: - (standard input)]
    ///
    /// The format is detected from the content.
    #[arg(value_name = "IN")]
    input: Option<PathBuf>,
    /// Print only these regions, using an index (.bai, .csi, .crai)
    #[arg(value_name = "REGION", allow_hyphen_values = false)]
    regions: Vec<String>,
    /// Write BAM
    #[arg(short, long, help_heading = "Output", conflicts_with_all = ["cram", "output_format"])]
    bam: bool,
    /// Write CRAM
    #[arg(short = 'C', long, help_heading = "Output", conflicts_with = "output_format")]
    cram: bool,
    /// Write SAM with its header (BAM and CRAM always have one)
    #[arg(short = 'h', long, help_heading = "Output")]
    with_header: bool,
    /// Write only the header
    #[arg(short = 'H', long, help_heading = "Output", conflicts_with = "count")]
    header_only: bool,
    /// Write SAM without a header (the default)
    #[arg(long, hide = true, conflicts_with_all = ["with_header", "header_only"])]
    no_header: bool,
    /// Print only the number of records
    #[arg(short, long, help_heading = "Output", conflicts_with_all = ["bam", "cram", "output_format", "md5", "copy_to", "move_to", "write_index", "out_parts"])]
    count: bool,
    /// Write the reads that filters drop to this file
    ///
    /// The flags -b, -C and -O set its format. Without them, the extension of the file decides.
    #[arg(
        short = 'U',
        long,
        alias = "output-unselected",
        value_name = "FILE",
        help_heading = "Output",
        conflicts_with = "count"
    )]
    unoutput: Option<PathBuf>,
    /// Use the index to read the regions of -L; write each record once, in file order
    #[arg(short = 'M', long, help_heading = "Regions")]
    use_index: bool,
    /// Give the index file after the input: IN INDEX [REGION]...
    #[arg(short = 'X', long, help_heading = "Regions")]
    customized_index: bool,
    /// Keep a fraction of the templates. 42.1 means seed 42, fraction 0.1
    #[arg(short = 's', value_name = "SEED.FRACTION", help_heading = "Filters", conflicts_with_all = ["subsample", "subsample-seed"])]
    sample: Option<String>,
    /// Drop reads without a read group
    #[arg(
        short = 'n',
        long = "exclude-no-read-group",
        alias = "exclude-no-read_group",
        help_heading = "Filters"
    )]
    grouped: bool,
    /// Print help
    #[arg(long, short = '?', action = ArgAction::Help)]
    help: Option<bool>,
    /// Ignored, as in samtools
    #[arg(short = 'S', hide = true)]
    s: bool,
    #[arg(long, hide = true, value_name = "N")]
    verbosity: Option<String>,
    #[command(flatten)]
    refused: Refused,
    #[command(flatten)]
    output: OutputFlags,
    #[command(flatten)]
    filters: FilterFlags,
}

/// Flags of samtools view that readmill does not support. They are parsed, so that the error
/// message can name an alternative.
#[derive(Args)]
struct Refused {
    #[arg(long, hide = true, value_name = "FILE")]
    save_counts: Option<PathBuf>,
    #[arg(short = 'p', long, hide = true)]
    unmap: bool,
    #[arg(short = 'P', long, hide = true)]
    fetch_pairs: bool,
    #[arg(short = 't', long, hide = true, value_name = "FILE")]
    fai_reference: Option<PathBuf>,
    #[arg(long, alias = "region-file", hide = true, value_name = "FILE")]
    regions_file: Option<PathBuf>,
    #[arg(short = 'B', long = "remove-B", hide = true)]
    remove_b: bool,
    #[arg(short = 'z', long, hide = true, value_name = "FLAGS")]
    sanitize: Option<String>,
    #[arg(long, hide = true, value_name = "OPT")]
    input_fmt_option: Vec<String>,
    #[arg(long, hide = true, value_name = "OPT")]
    output_fmt_option: Vec<String>,
}

impl Refused {
    fn refuse_unsupported_flags(&self) -> Result<()> {
        let flags = [
            (
                self.save_counts.is_some(),
                "--save-counts",
                "use -v, which prints the numbers of reads that were read, dropped and written",
            ),
            (
                self.unmap,
                "-p, which makes filtered reads unmapped instead of dropping them",
                "drop these reads, or write them to another file with --move-to",
            ),
            (
                self.fetch_pairs,
                "-P, which also writes mates outside of the regions",
                "list the read names in the regions (readmill view IN REGION | cut -f1 > names), then print their records: readmill view -N names IN",
            ),
            (
                self.fai_reference.is_some(),
                "-t, which makes a header from a .fai file",
                "add a header with @SQ lines: cat header.sam in.sam | readmill view -b -",
            ),
            (self.regions_file.is_some(), "--regions-file", "use -M -L FILE, which does the same"),
            (self.remove_b, "-B, which collapses backward CIGAR operators", "no aligner writes them"),
            (
                self.sanitize.is_some(),
                "-z",
                "--clean-sam clips alignments at the ends of contigs; --fix-mates samtools sanitises as samtools fixmate",
            ),
            (
                !self.input_fmt_option.is_empty(),
                "--input-fmt-option",
                "omit it, because the format is detected from the content",
            ),
            (
                !self.output_fmt_option.is_empty(),
                "--output-fmt-option",
                "give format options with -O (-O cram,no-ref), and the level with --level N",
            ),
        ];
        match flags.into_iter().find(|(given, ..)| *given) {
            Some((_, flag, way)) => Err(Error::usage(format!("readmill view has no {flag}")).hint(way)),
            None => Ok(()),
        }
    }
}

/// Gives an argument the short flag that only samtools view has, or removes a name that means a
/// different filter in samtools view.
fn add_view_letters(arg: Arg) -> Arg {
    match arg.get_id().as_str() {
        "library" => arg.short('l'),
        "min-query-length" => arg.short('m'),
        "in-read-group" => arg.alias("read-group"),
        "in-read-groups" => arg.alias("read-group-file"),
        "read-group" => arg.long("replace-read-group").alias(None),
        _ => arg,
    }
}

impl ViewArgs {
    pub fn build_plan(&self) -> Result<Plan> {
        self.refused.refuse_unsupported_flags()?;
        let (input, mut regions) = self.parse_regions()?;
        let steps = Steps {
            filters: self.filters.parse_filters_with(&self.implied_filters()?)?,
            ..Steps::default()
        };
        if let Some(request) = &mut regions {
            let looks_at_neighbours = steps.filters.facts().any(|facts| facts.adjacent_mates);
            request.in_any_order =
                self.count && !looks_at_neighbours && !self.output.writes_extra_files();
        }
        let mut plan = self.output.build_plan_in_format(
            self.default_format(),
            Command::View,
            vec![input],
            steps,
        )?;
        plan.regions = regions;
        if !self.output.is_verbose() {
            plan.resources.verbosity = Verbosity::Quiet;
        }
        if self.count {
            let count = ReadTally::new(&count::SPEC, self.output.output_path());
            plan.reports.add_ons.push(count);
            plan.destination = Destination::Nowhere;
        }
        if let Destination::Main(output, others) = &mut plan.destination {
            others.extend(self.unoutput.clone().map(|path| {
                let says_format = self.bam || self.cram || self.output.has_format();
                let format = if says_format { output.format.clone() } else { self.format_of(&path) };
                ExtraFile::for_dropped_reads(path, format)
            }));
            output.content = match (self.header_only, self.with_header) {
                (true, _) => Content::Header,
                (_, true) => Content::All,
                _ => Content::Records,
            };
            if output.index == Index::Auto {
                output.index = Index::No;
            }
        }
        Ok(plan)
    }

    /// Returns whether the command writes files, that is, whether it has an output other than
    /// standard output.
    pub fn writes_files(&self) -> bool {
        self.output.output_path().as_os_str() != "-"
            || self.unoutput.is_some()
            || self.output.writes_extra_files()
    }

    /// Returns the output format if `-O` is not given: BAM with `-b`, CRAM with `-C`, otherwise the
    /// format that the output name selects. For other names, it is BAM if a compression level is
    /// given, and SAM otherwise.
    fn default_format(&self) -> Format {
        self.format_of(self.output.output_path())
    }

    fn format_of(&self, path: &Path) -> Format {
        match Format::of_extension(path) {
            _ if self.bam => Format::new(BamFormat),
            _ if self.cram => Format::new(CramFormat::default()),
            Some(named) => named,
            None if self.output.has_compression_level() => Format::new(BamFormat),
            None => Format::new(SamFormat { is_compressed: false }),
        }
    }

    /// Returns the input and the regions to read from it, or `None` to read the whole file.
    fn parse_regions(&self) -> Result<(PathBuf, Option<RegionRequest>)> {
        let (input, marked) = self.split_input_name()?;
        let mut texts = self.regions.clone();
        let index = match self.customized_index {
            true if texts.is_empty() => {
                return Err(Error::usage("-X expects the index after the input")
                    .hint("write readmill view -X IN INDEX REGION"));
            }
            true => Some(texts.remove(0).into()),
            false => marked,
        };
        let file = self.filters.path_value("overlap").filter(|_| self.use_index);
        if file.is_some() && !texts.is_empty() {
            return Err(Error::usage(
                "-M takes regions from -L or from the command line, not from both",
            )
            .hint("put all regions in the BED file, or omit -M"));
        }
        let any = !texts.is_empty() || file.is_some();
        let each_once = self.use_index;
        let request = RegionRequest { texts, file, each_once, in_any_order: false, index };
        Ok((input, any.then_some(request)))
    }

    /// Returns the input, and the index that its name contains after `##idx##`, as in htslib.
    fn split_input_name(&self) -> Result<(PathBuf, Option<PathBuf>)> {
        let Some(input) = &self.input else {
            if hints::has_no_standard_input() {
                return Err(hints::missing_input_error(
                    "readmill view FILE [REGION]..., or readmill view --help",
                ));
            }
            return Ok((PathBuf::from("-"), None));
        };
        match input.to_str().and_then(|text| text.split_once("##idx##")) {
            Some((file, index)) => Ok((file.into(), Some(Path::new(index).to_path_buf()))),
            None => Ok((input.clone(), None)),
        }
    }

    /// Returns the filters, with their values, that correspond to `-s` and `-n`.
    fn implied_filters(&self) -> Result<Vec<(&'static str, String)>> {
        let mut more = Vec::new();
        if let Some(text) = &self.sample {
            let (seed, fraction) = parse_seed_and_fraction(text)?;
            more.push(("subsample", format!("0.{fraction}")));
            more.extend(seed.map(|seed| ("subsample-seed", seed)));
        }
        if self.grouped {
            more.push(("include", "[RG]".to_string()));
        }
        Ok(more)
    }
}

/// Splits the value of `-s`, such as `42.1`, into the seed and the digits of the fraction. The seed
/// is `None` for `auto.1`.
fn parse_seed_and_fraction(text: &str) -> Result<(Option<String>, String)> {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let parts = text.split_once('.').filter(|(_, fraction)| digits(fraction));
    match parts {
        Some(("auto", fraction)) => Ok((None, fraction.to_string())),
        Some(("", fraction)) => Ok((Some("0".to_string()), fraction.to_string())),
        Some((seed, fraction)) if digits(seed) => Ok((Some(seed.to_string()), fraction.to_string())),
        _ => Err(Error::usage(format!("-s {text} is not a seed and a fraction"))
            .hint("for example, -s 42.1 keeps a tenth of the templates, chosen with seed 42")),
    }
}

#[cfg(test)]
mod tests {
    use super::parse_seed_and_fraction;

    #[test]
    fn a_sample_is_a_seed_and_a_fraction() {
        let of = |text: &str| parse_seed_and_fraction(text).ok();
        let some = |seed: &str, fraction: &str| Some((Some(seed.to_string()), fraction.to_string()));
        assert_eq!(of("42.1"), some("42", "1"));
        assert_eq!(of("0.25"), some("0", "25"));
        assert_eq!(of(".5"), some("0", "5"));
        assert_eq!(of("auto.5"), Some((None, "5".to_string())));
        for bad in ["42", "", ".", "x.5", "1.x", "-1.5"] {
            assert_eq!(of(bad), None, "{bad}");
        }
    }
}
