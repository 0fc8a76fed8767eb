//! Flags that all subcommands that write reads share: inputs, output and resources. [`Io`] and
//! [`OutputFlags`] convert them to a [`Plan`].

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use readmill::Plan;
use readmill::formats::{ContigBases, FORMATS, join_words};
use readmill::plan::{
    self, Choice, Destination, FAST_LEVEL, Format, Index, MAX_PARTS, Output, Resources, Steps,
    Verbosity, choice_parser,
};
use readmill_cram::Cache;
use readmill_format::bam::index::IndexFormat;
use readmill_format::bgzf::Codec;
use readmill_format::reference::LazyReference;
use readmill_format::spill::Spill;
use readmill_format::spill_codec::SpillCodec;
use readmill_process::console::set_json_messages;
use readmill_process::limit;
use readmill_process::memory_size::parse_memory;
use readmill_record::Result;

use super::addons::GivenRun;
use super::hints;
use super::same_pass::SamePassFlags;

#[derive(Args)]
#[command(next_help_heading = clap::builder::Resettable::Reset)]
pub struct InputFlags {
    /// SAM, BAM or CRAM files to read [default: - (standard input)]
    ///
    /// The format is detected from the content. Without IN, standard input is read, unless it is a
    /// terminal. Several files are read one after the other, and their headers are merged.
    #[arg(value_name = "IN")]
    input: Vec<PathBuf>,
}

/// Inputs, output and resources of a command that reads SAM, BAM or CRAM.
#[derive(Args)]
pub struct Io {
    #[command(flatten)]
    input: InputFlags,
    #[command(flatten)]
    output: OutputFlags,
}

/// Output and resources. Commands with their own kind of input (`align`, `import`, `view`,
/// `merge-alignment`) use them without [`InputFlags`].
#[derive(Args)]
#[command(next_help_heading = "Output")]
pub struct OutputFlags {
    /// Write the output to FILE [default: - (standard output)]
    ///
    /// Most commands require this flag if several SAM, BAM or CRAM files are given.
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Write the output as N files: FILE.part-001 and so on
    ///
    /// Joining these files with cat gives the BAM file that is written without this flag. The flag
    /// works only if the same run sorts reads or marks duplicates.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=MAX_PARTS as i64))]
    out_parts: u16,
    #[arg(short = 'O', long, value_name = "FORMAT", value_parser = Format::parse, help = format_help("bam"), long_help = long_format_help())]
    output_format: Option<Format>,
    /// Compression level, from 0 to 12 [default: 6, or 0 for a pipe]
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u8).range(0..=12))]
    level: Option<u8>,
    /// Use compression level 1: about 60 % of the time, and 5 to 8 % more bytes
    #[arg(long, conflicts_with = "level")]
    fast: bool,
    /// Write uncompressed BAM (the same as --level 0)
    #[arg(short, long, conflicts_with_all = ["level", "fast"])]
    uncompressed: bool,
    /// Compression library of the output: libdeflate, zlib, or igzip (if the build includes it)
    #[arg(long, value_name = "CODEC", default_value_t)]
    codec: Codec,
    /// Write an index (the default for BAM files sorted by coordinate)
    #[arg(long, value_name = "KIND", num_args = 0..=1, require_equals = true, value_parser = choice_parser(INDEX_FORMATS))]
    write_index: Option<Option<IndexFormat>>,
    /// Do not write an index
    #[arg(long, conflicts_with = "write_index")]
    no_index: bool,
    /// Write the MD5 checksum of the output to FILE.md5 (hexadecimal)
    #[arg(long)]
    md5: bool,
    /// Allow -o to replace an input file (once the output is complete)
    #[arg(long, requires = "output")]
    in_place: bool,
    /// Do not add a @PG line to the header
    #[arg(long = "no-PG", alias = "no-pg")]
    no_pg: bool,
    #[command(flatten)]
    beside: SamePassFlags,
    #[command(flatten)]
    resources: ResourceFlags,
}

/// The flag `-m` of small commands that have no other flags for resources, such as `faidx` and
/// `report`.
#[derive(Args)]
pub struct MemoryFlag {
    /// Memory limit of the process, such as 512M [default: at most 2G]
    ///
    /// The default is 2G, or 3/4 of the memory limit of the control group (cgroup) if that is less.
    #[arg(short, long, value_name = "SIZE", value_parser = parse_memory, env = "READMILL_MEMORY")]
    memory: Option<u64>,
}

impl MemoryFlag {
    pub fn bytes(&self) -> u64 {
        self.memory.unwrap_or_else(limit::default_limit)
    }
}

#[derive(Args)]
#[command(next_help_heading = "Resources")]
pub struct ResourceFlags {
    /// Compression of temporary files: lz4, zstd or none
    #[arg(long, value_name = "CODEC", default_value_t)]
    spill_codec: SpillCodec,
    /// Total number of threads [default: all available]
    ///
    /// This is the total number, whereas samtools -@ is the number of additional threads. 0 means
    /// 1.
    #[arg(short = '@', long, value_name = "N", env = "READMILL_THREADS", allow_negative_numbers = true)]
    threads: Option<u16>,
    /// Memory limit of the process, such as 512M or 1.5G [default: at most 2G]
    ///
    /// The default, auto, is 2G, or 3/4 of the memory limit of the control group (cgroup) if that
    /// is less.
    #[arg(short, long, value_name = "SIZE", value_parser = parse_memory, env = "READMILL_MEMORY")]
    memory: Option<u64>,
    /// Directory for temporary files [default: $TMPDIR, or next to the output]
    ///
    /// Reads that do not fit into memory are written to temporary files. Repeat the flag to use
    /// several directories.
    #[arg(short = 'T', long = "temp-dir", value_name = "DIR")]
    temp_dir: Vec<PathBuf>,
    /// FASTA file with the reference sequences
    ///
    /// The file is plain text, or compressed with bgzip.
    #[arg(long, value_name = "FASTA")]
    reference: Option<PathBuf>,
    /// Accept a BAM file without its EOF block, or a CRAM file without its EOF container
    #[arg(long)]
    allow_missing_eof: bool,
    /// Allow the same input file to be given twice (it is read twice)
    ///
    /// Without this flag, giving the same file twice is an error.
    #[arg(long)]
    allow_same_input: bool,
    /// Before the run starts, print its plan and how its memory is divided
    #[arg(long)]
    explain: bool,
    /// Print only warnings and errors
    #[arg(short, long, conflicts_with = "verbose")]
    quiet: bool,
    /// Show progress even if standard error is not a terminal
    #[arg(short, long)]
    verbose: bool,
    /// Format of messages on standard error: text, or json (one object per line) [default: text]
    #[arg(long, value_name = "FORM", value_enum, env = "READMILL_LOG_FORMAT")]
    log_format: Option<LogFormat>,
    /// Do not use colours in messages
    ///
    /// The environment variable NO_COLOR has the same effect.
    #[arg(long)]
    no_color: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum LogFormat {
    Text,
    Json,
}

/// Returns the short help of `-O`. `usual` is the format if neither `-O` nor the output name
/// determines it.
pub fn format_help(usual: &str) -> String {
    let names = format_names(usual);
    format!("Output format: {names} [default: from the file name, else {usual}]")
}

/// Returns the long help of `-O`. Like the long help of other flags, it starts with the short help.
fn long_format_help() -> String {
    format!(
        "{}\n\nA format can be followed by options, as in {}. Without this flag, the extension of the output file decides. Without an extension, or with an unknown one, the format is bam. The extension of another file type, such as .txt, is an error.",
        format_help("bam"),
        format_examples()
    )
}

/// Lists the names of all formats, for example `bam, sam or cram`, starting with `usual`.
fn format_names(usual: &str) -> String {
    let mut names: Vec<&str> = FORMATS.iter().map(|spec| spec.name).collect();
    names.sort_by_key(|&name| name != usual);
    join_words(names, "or")
}

/// Lists examples of formats with options, for help texts.
pub fn format_examples() -> String {
    let with_options = FORMATS.iter().filter_map(|spec| Some((spec.name, spec.options.as_ref()?)));
    let examples = with_options.flat_map(|(name, options)| {
        options.examples.iter().map(move |example| format!("{name},{example}"))
    });
    join_words(examples, "or")
}

const INDEX_FORMATS: &[Choice<IndexFormat>] = &[
    Choice { value: IndexFormat::Bai, name: "bai", aliases: &[], help: "" },
    Choice { value: IndexFormat::Csi, name: "csi", aliases: &[], help: "" },
];

impl Io {
    pub fn reference(&self) -> Option<&PathBuf> {
        self.output.reference()
    }

    /// Returns a plan that applies `steps` to the reads of the inputs.
    pub fn build_plan(&self, command: plan::Command, steps: Steps) -> Result<Plan> {
        self.output.build_plan(command, self.inputs(command)?, steps)
    }

    /// Returns the inputs. Several inputs without `-o` are an error, because one of them is
    /// probably meant as the output: the first for `merge`, as in samtools merge, otherwise the
    /// last.
    fn inputs(&self, command: plan::Command) -> Result<Vec<PathBuf>> {
        let inputs = self.input.inputs()?;
        if self.output.output.is_some() || inputs.len() < 2 {
            return Ok(inputs);
        }
        let output =
            if command == plan::Command::Merge { &inputs[0] } else { &inputs[inputs.len() - 1] };
        Err(hints::missing_output_error(&inputs, &[("-o", output)]))
    }

    /// Returns the plan of a command that splits reads into several outputs. The value of `-o` is
    /// their prefix, unless `is_named` is set because a pattern or a table names them.
    pub fn build_plan_of_several_outputs(
        &self,
        command: plan::Command,
        steps: Steps,
        is_named: bool,
    ) -> Result<Plan> {
        let format = self.output.choose_format(|path| Ok(Format::from_file_name(path)))?;
        let inputs = if is_named { self.input.inputs()? } else { self.inputs(command)? };
        self.output.assemble_plan(format, command, inputs, steps)
    }

    pub fn has_format(&self) -> bool {
        self.output.has_format()
    }
}

impl OutputFlags {
    pub fn reference(&self) -> Option<&PathBuf> {
        self.resources.reference()
    }

    #[cfg(any(feature = "bwa", feature = "minibwa"))]
    pub fn threads(&self) -> usize {
        self.resources.threads()
    }

    pub fn memory(&self) -> Option<u64> {
        self.resources.memory
    }

    #[cfg(any(feature = "bwa", feature = "minibwa"))]
    pub fn is_quiet(&self) -> bool {
        self.resources.quiet
    }

    /// Returns the path of the output; `-` is standard output.
    fn path(&self) -> &Path {
        self.output.as_deref().unwrap_or(Path::new("-"))
    }

    pub fn is_named(&self) -> bool {
        self.output.is_some()
    }

    /// Returns a plan that applies `steps` to the reads of `inputs`. The output name determines the
    /// format, unless `-O` is given. The extension of another file type is an error.
    pub fn build_plan(
        &self,
        command: plan::Command,
        inputs: Vec<PathBuf>,
        steps: Steps,
    ) -> Result<Plan> {
        let way_out =
            format!("use a name that ends in {}, or give the format with -O", hints::known_extensions());
        let format = self.choose_format(|path| hints::format_from_name(path, way_out))?;
        self.assemble_plan(format, command, inputs, steps)
    }

    /// Returns a plan like [`OutputFlags::plan`]. The format is `format`, unless `-O` is given.
    pub fn build_plan_in_format(
        &self,
        format: Format,
        command: plan::Command,
        inputs: Vec<PathBuf>,
        steps: Steps,
    ) -> Result<Plan> {
        let format = self.choose_format(|_| Ok(format))?;
        self.assemble_plan(format, command, inputs, steps)
    }

    /// Returns whether `-O` is given.
    pub fn has_format(&self) -> bool {
        self.output_format.is_some()
    }

    /// Returns whether a compression level is given. `view` then writes BAM instead of SAM.
    pub fn has_compression_level(&self) -> bool {
        self.level.is_some() || self.fast || self.uncompressed
    }

    /// Returns whether the run writes reports or other files in addition to the output.
    pub fn writes_extra_files(&self) -> bool {
        !self.beside.is_empty()
    }

    pub fn is_verbose(&self) -> bool {
        self.resources.verbose
    }

    pub fn output_path(&self) -> &Path {
        self.path()
    }

    /// Returns the format given by `-O`, otherwise the format that `of_name` derives from the
    /// output name.
    fn choose_format(&self, of_name: impl FnOnce(&Path) -> Result<Format>) -> Result<Format> {
        plan::check_index_mark(self.path())?;
        self.output_format.clone().map_or_else(|| of_name(self.path()), Ok)
    }

    fn assemble_plan(
        &self,
        format: Format,
        command: plan::Command,
        inputs: Vec<PathBuf>,
        steps: Steps,
    ) -> Result<Plan> {
        let resources = self.resources.build_resources(self.path())?;
        // `align` always has a reference, namely REF.
        let has_reference = resources.reference.is_some() || command == plan::Command::Align;
        let reports = self.beside.reports(&GivenRun { inputs: &inputs, has_reference })?;
        Ok(Plan {
            command,
            inputs,
            regions: None,
            aligning: None,
            merging: None,
            steps,
            destination: Destination::Main(
                self.build_output(format, &resources),
                self.beside.selected_read_files()?,
            ),
            reports,
            resources,
        })
    }

    fn build_output(&self, format: Format, resources: &Resources) -> Output {
        let reference = resources.reference.clone();
        let bases = ContigBases { reference, cache: Cache::from_environment() };
        let index = match self.write_index {
            Some(None) => Index::Wanted,
            Some(Some(format)) => Index::Kind(format),
            None if self.no_index => Index::No,
            None => Index::Auto,
        };
        let level = match (self.uncompressed, self.fast) {
            (true, _) => Some(0),
            (_, true) => Some(FAST_LEVEL),
            _ => self.level,
        };
        let (codec, no_pg) = (self.codec, self.no_pg);
        let parts = usize::from(self.out_parts);
        let (md5, in_place, path) = (self.md5, self.in_place, self.path());
        Output { parts, format, codec, level, index, no_pg, bases, md5, in_place, ..Output::new(path) }
    }
}

impl InputFlags {
    /// Returns the inputs, or standard input (`-`) if none is given.
    ///
    /// # Errors
    /// Fails if no input is given, and standard input is a terminal or `/dev/null`.
    pub fn inputs(&self) -> Result<Vec<PathBuf>> {
        match &self.input[..] {
            [] if hints::has_no_standard_input() => Err(hints::missing_input_error(
                "give a SAM, BAM or CRAM file, or pipe reads to standard input; --help shows examples",
            )),
            [] => Ok(vec!["-".into()]),
            inputs => {
                hints::refuse_picard_arguments(inputs)?;
                Ok(inputs.to_vec())
            }
        }
    }
}

impl ResourceFlags {
    pub fn reference(&self) -> Option<&PathBuf> {
        self.reference.as_ref()
    }

    pub fn memory(&self) -> Option<u64> {
        self.memory
    }

    pub fn threads(&self) -> usize {
        self.threads.map_or_else(limit::available_threads, |threads| usize::from(threads).max(1))
    }

    /// Returns the resources of a run that writes to `output`. By default, temporary files are
    /// written next to `output`. Also applies `--log-format` to messages.
    pub fn build_resources(&self, output: &Path) -> Result<Resources> {
        if let Some(form) = self.log_format {
            set_json_messages(form == LogFormat::Json);
        }
        let default = Resources::default_for_output(output);
        let verbosity = match (self.quiet, self.verbose) {
            (true, _) => Verbosity::Quiet,
            (_, true) => Verbosity::Verbose,
            _ => Verbosity::Normal,
        };
        Ok(Resources {
            threads: self.threads(),
            memory: self.memory.unwrap_or(default.memory),
            temp_dirs: self.usable_temp_dirs(output)?,
            spill_codec: self.spill_codec,
            allow_missing_eof: self.allow_missing_eof,
            allow_same_input: self.allow_same_input,
            reference: self.reference.as_deref().map(LazyReference::new),
            explain: self.explain,
            verbosity,
        })
    }

    /// Returns the directories for temporary files. Directories given by `-T` or `TMPDIR` must be
    /// usable, even if the run may not need temporary files.
    fn usable_temp_dirs(&self, output: &Path) -> Result<Vec<PathBuf>> {
        let wanted = match &self.temp_dir[..] {
            [] => Vec::from_iter(plan::environment_temp_dir()),
            dirs => dirs.to_vec(),
        };
        Spill::new(&wanted).create_files().map_err(|mut error| {
            if self.temp_dir.is_empty() {
                error.what.insert_str(0, "TMPDIR: ");
            }
            error
        })?;
        Ok(if wanted.is_empty() { plan::default_temp_dirs(output) } else { wanted })
    }
}
