//! `readmill merge-alignment`: merges an aligner's output into the unaligned reads, as Picard
//! MergeBamAlignment does.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use readmill::plan::{AlignedFile, Command, Merging, Resources, Steps, TemplateEnd};
use readmill::{Plan, memory};
use readmill_filters::merge_alignment::{
    ContaminantAlignments, MergeRules, OverlapClip, PairOrientation, PrimaryChoice,
};
use readmill_filters::optional_fields;
use readmill_process::console::Console;
use readmill_record::header::HeaderLine;
use readmill_record::tag::Tag;
use readmill_record::{Error, Result};

use super::common::OutputFlags;
use super::filter_flags::FilterFlags;
use super::front_source;
use super::shard::MakePlan;
use super::sort::OutputOrder;

#[derive(Args)]
#[command(
    after_help = "The rules are those of Picard MergeBamAlignment 3.4.0. The templates must be in the same order in all files. Aligners keep the order of the reads; if another program changed it, sort all files with readmill sort --sort queryname."
)]
pub struct MergeAlignmentArgs {
    /// SAM, BAM or CRAM file with the unaligned reads
    #[arg(value_name = "UNALIGNED")]
    unaligned: PathBuf,
    /// SAM, BAM or CRAM files with alignments of these reads; - for standard input
    #[arg(value_name = "ALIGNED")]
    aligned: Vec<PathBuf>,
    /// File with alignments of only read 1 of each pair
    ///
    /// All records count as read 1, regardless of their flags. Names may end in /1.
    #[arg(long, value_name = "FILE", conflicts_with = "aligned", requires = "last_aligned")]
    first_aligned: Vec<PathBuf>,
    /// File with alignments of only read 2 of each pair
    ///
    /// All records count as read 2, regardless of their flags. Names may end in /2.
    #[arg(long, value_name = "FILE", requires = "first_aligned")]
    last_aligned: Vec<PathBuf>,
    #[command(flatten)]
    fields: FieldFlags,
    #[command(flatten)]
    alignments: AlignmentFlags,
    #[command(flatten)]
    program: ProgramFlags,
    #[command(flatten)]
    sort: OutputOrder,
    #[command(flatten)]
    filters: FilterFlags,
    #[command(flatten)]
    output: OutputFlags,
}

#[derive(Args)]
#[command(next_help_heading = "Fields")]
struct FieldFlags {
    /// Keep these fields of the aligner. By default, fields that begin with X, Y, Z or a lower-case
    /// letter are dropped
    #[arg(long, value_name = "TAGS", value_parser = parse_tag_list)]
    keep_fields: Option<TagList>,
    /// Drop these fields of the aligner
    #[arg(long, value_name = "TAGS", value_parser = parse_tag_list)]
    drop_fields: Option<TagList>,
    /// Reverse these fields of reads on the reverse strand [default: OQ,U2]
    #[arg(long, value_name = "TAGS", value_parser = parse_tag_list)]
    reverse_fields: Option<TagList>,
    /// Reverse-complement these fields of reads on the reverse strand [default: E2,SQ]
    #[arg(long, value_name = "TAGS", value_parser = parse_tag_list)]
    complement_fields: Option<TagList>,
    /// Require that these @SQ fields, and LN, are equal in the alignments and in the reference
    /// dictionary [default: M5,LN]
    #[arg(long, value_name = "TAGS", value_parser = parse_tag_list)]
    match_dictionary: Option<TagList>,
}

#[derive(Args)]
#[command(next_help_heading = "Alignments")]
struct AlignmentFlags {
    /// Orientations of proper pairs: FR, RF, TANDEM
    #[arg(long, value_name = "LIST", default_value = "FR", value_delimiter = ',')]
    orientations: Vec<PairOrientation>,
    /// Keep the proper-pair flag (0x2) of the aligner
    #[arg(long, conflicts_with = "orientations")]
    aligner_proper_pairs: bool,
    /// Do not clip adapters (they start at the position in XT)
    #[arg(long)]
    no_clip_adapters: bool,
    /// Clip bases of a read that extend beyond the start of its mate
    ///
    /// Values: none, soft, or hard. With hard, the clipped bases are kept in XB and their qualities
    /// in XQ.
    #[arg(long, value_name = "HOW", default_value = "soft")]
    clip_overlaps: OverlapClip,
    /// Do not write templates without an alignment
    #[arg(long)]
    aligned_only: bool,
    /// Drop alignments with more than N insertions and deletions [default: no limit]
    #[arg(long, value_name = "N")]
    max_gaps: Option<usize>,
    /// Strategy to choose the primary alignment
    ///
    /// Values: best-mapq (mates are matched by HI), earliest-base (only for single reads),
    /// best-end-mapq, or most-distant.
    #[arg(long, value_name = "HOW", default_value = "best-mapq")]
    primary: PrimaryChoice,
    /// Do not write secondary alignments
    #[arg(long)]
    no_secondary: bool,
    /// Do not write MC fields
    #[arg(long)]
    no_mate_cigar: bool,
    /// Mark templates as unmapped if they probably come from another species
    ///
    /// These are templates whose primary alignment has fewer than N bases between two clips
    /// [default without N: 32].
    #[arg(long, value_name = "N", num_args = 0..=1, require_equals = true, default_missing_value = "32")]
    unmap_contaminants: Option<u32>,
    /// What to do with the alignments of unmapped contaminants: leave, leave-all, copy or move
    ///
    /// leave keeps the position, but not CIGAR and MAPQ. leave-all keeps the whole alignment. copy
    /// also writes the alignment to OA. move writes it to OA and removes the position.
    #[arg(long, value_name = "HOW", default_value = "leave", requires = "unmap_contaminants")]
    contaminant_alignments: ContaminantAlignments,
    /// Numbers of bases trimmed from the start of read 1 and read 2 before alignment, such as 5,0
    #[arg(long, value_name = "N,N", num_args = 1, value_parser = parse_trimmed_bases)]
    trimmed: Option<TrimmedBases>,
}

#[derive(Args)]
#[command(next_help_heading = "Aligner")]
struct ProgramFlags {
    /// ID of the aligner in @PG [default: from ALIGNED, if it has only one @PG line]
    #[arg(long, value_name = "ID")]
    program_id: Option<String>,
    /// Name of the aligner in @PG (PN)
    #[arg(long, value_name = "NAME", requires = "program_id")]
    program_name: Option<String>,
    /// Version of the aligner in @PG (VN)
    #[arg(long, value_name = "VERSION", requires = "program_id")]
    program_version: Option<String>,
    /// Command line of the aligner in @PG (CL)
    #[arg(long, value_name = "COMMAND", requires = "program_id")]
    program_command: Option<String>,
    /// Do not add PG fields, which name the aligner, to records
    #[arg(long)]
    no_program_field: bool,
}

#[derive(Clone)]
struct TagList(Vec<Tag>);

fn parse_tag_list(text: &str) -> Result<TagList, String> {
    let tag = |word: &str| optional_fields::parse_tag(word).map_err(|error| error.what);
    text.split(',').filter(|word| !word.is_empty()).map(tag).collect::<Result<_, _>>().map(TagList)
}

/// The value of `--trimmed`: the numbers of bases removed from the start of read 1 and of read 2.
#[derive(Clone, Copy)]
struct TrimmedBases([u32; 2]);

fn parse_trimmed_bases(text: &str) -> Result<TrimmedBases, String> {
    let wrong = || format!("{text:?} is not two numbers, such as 5,0");
    let (first, last) = text.split_once(',').ok_or_else(wrong)?;
    let number = |text: &str| text.parse().map_err(|_| wrong());
    Ok(TrimmedBases([number(first)?, number(last)?]))
}

impl ProgramFlags {
    /// Returns the aligner's `@PG` line from the flags; `None` if the line in the alignment file is
    /// used.
    ///
    /// # Errors
    /// Fails if a value is empty, or if it contains a tab or a line break.
    fn program_line(&self) -> Result<Option<HeaderLine>> {
        let Some(id) = &self.program_id else { return Ok(None) };
        let mut text = format!("@PG\tID:{id}");
        let fields =
            [("PN", &self.program_name), ("VN", &self.program_version), ("CL", &self.program_command)];
        for (tag, value) in fields.iter().filter_map(|(tag, value)| Some((tag, value.as_ref()?))) {
            text += &format!("\t{tag}:{value}");
        }
        let given = [Some(id), self.program_name.as_ref(), self.program_version.as_ref()];
        let breaks = given.into_iter().flatten().chain(&self.program_command);
        if let Some(value) = { breaks }.find(|value| value.contains(['\t', '\n', '\r'])) {
            return Err(Error::usage(format!(
                "{value:?} contains a tab or a line break, which is not allowed in @PG"
            ))
            .hint("write tabs as \\t"));
        }
        let given = [("--program-id", Some(id)), ("--program-name", self.program_name.as_ref())];
        let others = [
            ("--program-version", self.program_version.as_ref()),
            ("--program-command", self.program_command.as_ref()),
        ];
        let is_empty = |(_, value): &(&str, Option<&String>)| value.is_some_and(String::is_empty);
        if let Some((flag, _)) = given.into_iter().chain(others).find(is_empty) {
            return Err(Error::usage(format!(
                "{flag} is empty, and other tools reject @PG lines with empty fields"
            ))
            .hint("give a value, or omit the flag"));
        }
        Ok(Some(HeaderLine::new(text)))
    }
}

impl MergeAlignmentArgs {
    fn to_merge_rules(&self) -> MergeRules {
        let (fields, alignments) = (&self.fields, &self.alignments);
        let list = |given: &Option<TagList>, usual: Vec<Tag>| {
            given.as_ref().map_or(usual, |tags| tags.0.clone())
        };
        let usual = MergeRules::default();
        let orientations = alignments.orientations.clone();
        MergeRules {
            kept_tags: list(&fields.keep_fields, usual.kept_tags),
            dropped_tags: list(&fields.drop_fields, usual.dropped_tags),
            reversed_tags: list(&fields.reverse_fields, usual.reversed_tags),
            complemented_tags: list(&fields.complement_fields, usual.complemented_tags),
            orientations: Some(orientations).filter(|_| !alignments.aligner_proper_pairs),
            clip_adapters: !alignments.no_clip_adapters,
            overlap: alignments.clip_overlaps,
            aligned_only: alignments.aligned_only,
            max_gaps: alignments.max_gaps,
            primary: alignments.primary,
            secondary: !alignments.no_secondary,
            mate_cigar: !alignments.no_mate_cigar,
            min_unclipped: alignments.unmap_contaminants,
            contaminants: alignments.contaminant_alignments,
            trimmed_bases: alignments.trimmed.map_or([0; 2], |trimmed| trimmed.0),
            program: None,
        }
    }

    /// Runs the command with `process`. If the order of the only alignment file differs from that
    /// of the reads, sorts the file and runs the command again:
    ///
    /// 1. A second process of this program sorts the file by name and writes it to a pipe.
    /// 2. This process reads the pipe instead of the file. Each process has half of the memory.
    ///
    /// This happens only if both files can be read again and nothing has been written to the
    /// output. `make` returns the plan of a command line, from which the memory of the second
    /// process is determined.
    pub fn run_or_sort_first(
        &self,
        process: impl Fn(&Plan) -> Result<ExitCode>,
        make: MakePlan,
    ) -> Result<ExitCode> {
        let mut plan = self.build_plan()?;
        let done = process(&plan);
        let [aligned] = &self.aligned[..] else { return done };
        // An error without a record was found in the headers, before anything was written.
        let in_header = |error: &Error| error.place.record.is_none();
        let output = self.output.output_path();
        let is_file = output.as_os_str() != "-" && (!output.exists() || output.is_file());
        let is_clean = is_file || plan.holds_everything() || done.as_ref().is_err_and(in_header);
        let are_files = aligned.is_file() && self.unaligned.is_file(); // because both files are read a second time
        if !is_clean || !are_files || !done.as_ref().is_err_and(readmill::is_order_error) {
            return done;
        }
        let console = Console::new(plan.resources.verbosity);
        console.write_line(&format!(
            "readmill: {} is in a different order; sorting it by name first",
            aligned.display()
        ));
        plan.resources.memory /= 2;
        self.require_half_memory(&plan, aligned, make)?;
        let (path, mut source) =
            front_source::start_second_process(&sort_arguments(aligned, &plan.resources))?;
        if let Some(merging) = &mut plan.merging {
            merging.aligned = vec![AlignedFile { path: path.clone(), end: None }];
            plan.inputs = merging.all_files().cloned().collect();
        }
        let done = process(&plan).map_err(|error| self.relocate_sorted_error(error, &path, aligned));
        source.wait_for_failure().map_or(done, Ok) // the sorting process has logged its error
    }

    /// Makes an error about the sorted records in `pipe` one about the file `aligned`, which the user
    /// has given. The record number is that of the pipe, so it is left out.
    fn relocate_sorted_error(&self, mut error: Error, pipe: &Path, aligned: &Path) -> Error {
        if error.place.file.as_deref() != Some(pipe) {
            return error;
        }
        (error.place.file, error.place.record) = (Some(aligned.to_path_buf()), None);
        if !readmill::is_order_error(&error) {
            return error;
        }
        let unaligned = self.unaligned.display();
        error.what = format!("{unaligned} lacks the read of this alignment, or is not sorted by name");
        error.hint(format!(
            "give the reads that were aligned; to sort them: readmill sort --sort queryname {unaligned} -o SORTED"
        ))
    }

    /// Returns a usage error if half of the memory is too little for the merge or for the sort.
    fn require_half_memory(&self, plan: &Plan, aligned: &Path, make: MakePlan) -> Result<()> {
        let words = sort_arguments(aligned, &plan.resources);
        let words: Vec<String> = words.iter().map(|word| word.to_string_lossy().into_owned()).collect();
        let sort = make(&words)?;
        let half = plan.resources.memory;
        let both = memory::min_memory_bytes(plan).max(memory::min_memory_bytes(&sort));
        if both <= half {
            return Ok(());
        }
        let (min_mib, given) = ((2 * both).div_ceil(1 << 20), (2 * half) >> 20);
        let what = format!(
            "{} is in a different order and must be sorted by a second process, and each process gets half of the memory; this needs at least -m {min_mib}M, but -m is {given}M",
            aligned.display()
        );
        Err(Error::usage(what)
            .hint("raise -m, or sort the file first: readmill sort --sort queryname IN -o SORTED"))
    }

    fn build_plan(&self) -> Result<Plan> {
        let file =
            |end: Option<TemplateEnd>| move |path: &PathBuf| AlignedFile { path: path.clone(), end };
        let aligned = self.aligned.iter().map(file(None));
        let first = self.first_aligned.iter().map(file(Some(TemplateEnd::First)));
        let last = self.last_aligned.iter().map(file(Some(TemplateEnd::Last)));
        let aligned: Vec<AlignedFile> = aligned.chain(first).chain(last).collect();
        if aligned.is_empty() {
            return Err(Error::usage("no file with alignments is given").hint(
                "use readmill merge-alignment UNALIGNED ALIGNED -o OUT; for a pipe, ALIGNED is -",
            ));
        }
        let matching = self
            .fields
            .match_dictionary
            .as_ref()
            .map_or(Merging::DEFAULT_MATCHING_TAGS.to_vec(), |it| it.0.clone());
        let merging = Merging {
            unaligned: self.unaligned.clone(),
            aligned,
            rules: self.to_merge_rules(),
            program: self.program.program_line()?,
            names_program: !self.program.no_program_field,
            matching,
        };
        let steps = Steps {
            filters: self.filters.parse_filters()?,
            sort: self.sort.requested_order(),
            ..Steps::default()
        };
        let files = merging.all_files().cloned().collect();
        let mut plan = self.output.build_plan(Command::MergeAlignment, files, steps)?;
        if self.output.memory().is_none() {
            let more = memory::merging_bytes(&merging, plan.resources.threads);
            plan.resources.memory = plan.resources.memory.saturating_add(more);
        }
        plan.merging = Some(merging);
        Ok(plan)
    }
}

/// Returns the arguments of the second process, which sorts `file` by name.
fn sort_arguments(file: &Path, resources: &Resources) -> Vec<OsString> {
    let numbers = [format!("{}M", resources.memory >> 20), resources.threads.to_string()];
    let [memory, threads] = &numbers;
    let words = [
        "sort",
        "--sort",
        "queryname",
        "--quiet",
        "--no-PG",
        "--no-index",
        "-O",
        "bam",
        "-u",
        "-m",
        memory,
        "-@",
        threads,
    ];
    let mut words: Vec<OsString> = words.into_iter().map(OsString::from).collect();
    for directory in &resources.temp_dirs {
        words.extend(["--temp-dir".into(), directory.into()]);
    }
    words.extend(["-o".into(), "-".into(), "--".into(), file.into()]);
    words
}
