//! Detects command lines written for samtools, Picard, fastp or other tools, and suggests the
//! equivalent readmill command.

use std::ffi::OsString;
use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};

use readmill::formats::{FORMATS, join_words};
use readmill::plan::{Format, check_index_mark};
use readmill_fronts::quote_for_shell;
use readmill_process::console::write_log_line;
use readmill_record::{Error, Result};

/// Maximum number of inputs for which an error message repeats the command line.
const MAX_REPEATED_INPUTS: usize = 8;

/// Returns whether messages are written as JSON (`--log-format json` or `READMILL_LOG_FORMAT`).
/// Called before the command line is parsed, so that parse errors are also written as JSON.
pub fn wants_json(args: &[OsString]) -> bool {
    let flag = "--log-format";
    let given = args.iter().enumerate().rev().find_map(|(at, arg)| match arg.to_str()? {
        arg if arg == flag => args.get(at + 1)?.to_str(),
        arg => arg.strip_prefix(flag)?.strip_prefix('='),
    });
    match given {
        Some(form) => form.eq_ignore_ascii_case("json"),
        None => std::env::var("READMILL_LOG_FORMAT").is_ok_and(|form| form.eq_ignore_ascii_case("json")),
    }
}

/// Returns whether messages on a terminal are coloured. They are not if `--no-color` is given, if
/// the variable NO_COLOR is set (no-color.org), or if the terminal does not support colours.
pub fn wants_colour(args: &[OsString]) -> bool {
    let is_set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    let is_dumb = std::env::var_os("TERM").is_none_or(|term| term == "dumb");
    !args.iter().any(|arg| arg == "--no-color") && !is_set("NO_COLOR") && !is_dumb
}

/// Removes or refuses `-h` next to other arguments, because it does not request help then. In
/// samtools view, it requests the header, which `filter` always writes. In samtools merge and
/// split, it takes a header file, which readmill does not support.
pub fn without_header_flag(mut args: Vec<OsString>) -> Result<Vec<OsString>> {
    let command = args.get(1).and_then(|command| command.to_str()).unwrap_or_default();
    let given = args.iter().skip(2);
    if !given.clone().any(|arg| arg == "-h") || given.clone().all(|arg| arg == "-h") {
        return Ok(args);
    }
    match command {
        "merge" | "split" => {
            let what = "-h prints help and does not take a header file as in samtools";
            Err(Error::usage(what).hint(
                "omit -h: the output header is merged from the headers of the inputs; for help, use --help",
            ))
        }
        "filter" => {
            args.retain(|arg| arg != "-h");
            Ok(args)
        }
        _ => Ok(args),
    }
}

const NO_ADAPTER_DETECTION: &str = "omit it: adapters of pairs are detected from the overlap of mates; to set an adapter, use --trim-adapter-sequence";

/// Commands and flags of other tools that readmill does not have, each with a hint about the
/// alternative.
const OTHER_TOOL_HINTS: &[(&str, &str)] = &[
    ("mem", "use readmill align REF R1.fq R2.fq, which aligns as bwa mem does"),
    ("aln", "use readmill align REF READS.fq, which aligns with the algorithm of bwa mem"),
    ("fastp", "use readmill align REF R1.fq R2.fq --trim, which trims as fastp does and has its flags"),
    ("--detect_adapter_for_pe", NO_ADAPTER_DETECTION),
    ("--detect-adapter-for-pe", NO_ADAPTER_DETECTION),
    (
        "--adapter_fasta",
        "use --trim-adapter-sequence and --trim-adapter-sequence-r2, which set one adapter each",
    ),
    (
        "--adapter-fasta",
        "use --trim-adapter-sequence and --trim-adapter-sequence-r2, which set one adapter each",
    ),
    (
        "--umi_loc",
        "use --read-structures 8M+T,+T, which removes UMIs from reads before they are trimmed",
    ),
    ("fixmate", "readmill prep in.bam -o out.bam --fix-mates"),
    ("FixMateInformation", "readmill prep in.bam -o out.bam --fix-mates"),
    ("FastqToSam", "readmill import R1.fq R2.fq -R '@RG\\tID:lane1\\tSM:sample' -o unaligned.bam"),
    ("RevertSam", "readmill prep --revert --sort queryname in.bam -o unaligned.bam"),
    (
        "MarkIlluminaAdapters",
        "readmill import --mark-adapters --adapter-metrics FILE unaligned.bam -o out.bam",
    ),
    ("rmdup", "readmill markdup --remove-duplicates in.bam -o out.bam"),
    ("dedup", "readmill markdup in.bam -o out.bam"),
    ("MarkDuplicates", "readmill markdup in.bam -o out.bam --metrics FILE"),
    ("MarkDuplicatesSpark", "readmill prep --sort coordinate --mark-duplicates in.bam -o out.bam"),
    ("SortSam", "readmill sort in.bam -o out.bam, or by name with --sort queryname"),
    ("MergeSamFiles", "readmill merge in1.bam in2.bam -o out.bam"),
    (
        "BaseRecalibrator",
        "readmill bqsr table in.bam --reference FASTA --known-sites VCF -o recal.table",
    ),
    ("ApplyBQSR", "readmill bqsr apply --bqsr-table recal.table in.bam -o out.bam"),
    ("GatherBQSRReports", "readmill bqsr gather"),
    ("bam2fq", "readmill fastq in.bam -1 R1.fq.gz -2 R2.fq.gz"),
    ("bamshuf", "readmill collate in.bam -o out.bam"),
    ("SamToFastq", "readmill fastq in.bam -1 R1.fq.gz -2 R2.fq.gz"),
    ("sfm", "use readmill prep, which processes the whole sample in one run"),
    ("--nr-of-threads", "use -@ N, the total number of threads"),
    ("--num-threads", "use -@ N, the total number of threads"),
    ("--nthreads", "use -@ N, the total number of threads"),
    ("--sorting-order", "use --sort ORDER"),
    ("--mark-optical-duplicates", "use --metrics FILE, which also reports optical duplicates"),
    ("--TMP_DIR", "use --temp-dir DIR, the directory for temporary files"),
    ("--tmp-dir", "use --temp-dir DIR, the directory for temporary files"),
    ("--tmpdir", "use --temp-dir DIR, the directory for temporary files"),
    ("--CREATE_INDEX", "use --write-index; for sorted BAM, the index is written by default"),
    ("--create-output-bam-index", "use --write-index; for sorted BAM, the index is written by default"),
    ("--SORT_ORDER", "use --sort ORDER"),
    ("--ref", "--reference FASTA"),
    ("--java-options", "omit it, because readmill does not use Java; -m SIZE limits the memory"),
];

/// Returns a hint for a word that clap does not know but another tool does. `native_way` returns
/// the hint for a command of another tool, if there is one.
pub fn hint_for_other_tool(
    error: &clap::Error,
    native_way: impl Fn(&str) -> Option<String>,
) -> Option<String> {
    use clap::error::{ContextKind, ContextValue, ErrorKind};
    let kinds = [ContextKind::InvalidSubcommand, ContextKind::InvalidArg];
    let word = kinds.into_iter().find_map(|kind| match error.get(kind) {
        Some(ContextValue::String(word)) => Some(word.split(['=', ' ']).next().unwrap_or_default()),
        _ => None,
    })?;
    if let Some(ContextValue::String(value)) = error.get(ContextKind::InvalidValue)
        && word == "--min-query-length"
        && value.ends_with(|c: char| "kKmMgG".contains(c))
    {
        return Some(
            "-m of view is the minimum read length, as in samtools; to limit memory, use --memory SIZE"
                .into(),
        );
    }
    let known = OTHER_TOOL_HINTS.iter().find(|(name, _)| name.eq_ignore_ascii_case(word));
    let tip = known.map(|(_, tip)| tip.to_string());
    tip.or_else(|| native_way(word).filter(|_| error.kind() == ErrorKind::InvalidSubcommand))
}

/// Removes clap's own suggestions from an error, such as `demo` for `mem`, if the meaning of the
/// word in another tool is known.
pub fn remove_suggestions(mut error: clap::Error) -> clap::Error {
    use clap::error::ContextKind;
    for kind in [ContextKind::SuggestedSubcommand, ContextKind::SuggestedArg, ContextKind::Suggested] {
        error.remove(kind);
    }
    error
}

/// Replaces the flag in an error about its value by the environment variable that gave the value, if
/// the flag is not on the command line.
pub fn name_environment_variable(mut error: clap::Error, words: &[OsString]) -> clap::Error {
    use clap::error::{ContextKind, ContextValue};
    const VARIABLES: [(&str, &str, &str); 3] = [
        ("--threads", "-@", "READMILL_THREADS"),
        ("--memory", "-m", "READMILL_MEMORY"),
        ("--log-format", "--log-format", "READMILL_LOG_FORMAT"),
    ];
    let Some(ContextValue::String(flag)) = error.get(ContextKind::InvalidArg) else { return error };
    let found = VARIABLES.iter().find(|(long, ..)| flag.split(' ').next() == Some(*long));
    if let Some((long, short, variable)) = found
        && std::env::var_os(variable).is_some()
        && !words.iter().any(|word| {
            let word = word.as_encoded_bytes();
            word.starts_with(long.as_bytes()) || word.starts_with(short.as_bytes())
        })
    {
        error.insert(ContextKind::InvalidArg, ContextValue::String((*variable).into()));
    }
    error
}

/// Returns the error for several inputs without an output. It suggests a command line with a flag
/// before each file, because one of the inputs is probably meant as the output.
pub fn missing_output_error(inputs: &[PathBuf], flags: &[(&str, &PathBuf)]) -> Error {
    let line = (inputs.len() <= MAX_REPEATED_INPUTS && !flags.is_empty())
        .then(|| insert_flags(flags))
        .flatten();
    let hints = line.map_or(String::new(), |line| format!("; did you mean: {line}"));
    Error::usage(format!("{} inputs are given, but no output{hints}", inputs.len())).hint(
        "give the output with -o FILE, or write the reads of all inputs to standard output with -o -",
    )
}

/// Picard's argument names, with the readmill flag for each. An empty flag means an input, or an
/// argument that is not needed.
const PICARD_ARGUMENTS: &[(&str, &str)] = &[
    ("I", ""),
    ("INPUT", ""),
    ("O", "-o"),
    ("OUTPUT", "-o"),
    ("F", "-1"),
    ("FASTQ", "-1"),
    ("F2", "-2"),
    ("SECOND_END_FASTQ", "-2"),
    ("M", "--metrics"),
    ("METRICS_FILE", "--metrics"),
    ("R", "--reference"),
    ("REFERENCE_SEQUENCE", "--reference"),
    ("SO", "--sort"),
    ("SORT_ORDER", "--sort"),
    ("TMP_DIR", "--temp-dir"),
    ("REMOVE_DUPLICATES", "--REMOVE_DUPLICATES"),
    ("VALIDATION_STRINGENCY", ""),
    ("CREATE_INDEX", ""),
];

/// readmill commands, each with the equivalent Picard program.
const PICARD_PROGRAMS: &[(&str, &str)] = &[
    ("sort", "SortSam"),
    ("merge", "MergeSamFiles"),
    ("markdup", "MarkDuplicates"),
    ("prep", "MarkDuplicates"),
    ("fastq", "SamToFastq"),
    ("import", "FastqToSam"),
    ("index", "BuildBamIndex"),
    ("dict", "CreateSequenceDictionary"),
    ("merge-alignment", "MergeBamAlignment"),
];

/// Returns an error for inputs such as `I=in.bam`, which are arguments in Picard's notation.
/// Accepts an existing file with such a name.
pub fn refuse_picard_arguments(inputs: &[PathBuf]) -> Result<()> {
    let is_of_picard = |path: &&PathBuf| {
        let name = path.to_str().and_then(|text| text.split_once('=')).map_or("", |(name, _)| name);
        PICARD_ARGUMENTS.iter().any(|(known, _)| *known == name) && !path.exists()
    };
    let Some(first) = inputs.iter().find(is_of_picard) else { return Ok(()) };
    let args: Vec<String> =
        std::env::args_os().skip(1).map(|arg| arg.to_string_lossy().into_owned()).collect();
    let what = format!("{} looks like a Picard argument, and no such file exists", first.display());
    Err(Error::usage(what).hint(picard_line_hint(&args)))
}

/// Returns a hint with the readmill command line for arguments in Picard's notation, and with the
/// command line for `readmill picard`.
fn picard_line_hint(args: &[String]) -> String {
    let native = args.iter().map(|arg| {
        let known = arg.split_once('=').and_then(|(name, value)| {
            let (_, flag) = PICARD_ARGUMENTS.iter().find(|(known, _)| *known == name)?;
            Some((name, *flag, value))
        });
        match known {
            None => quote_for_shell(arg),
            Some(("VALIDATION_STRINGENCY" | "CREATE_INDEX", ..)) => String::new(),
            Some((_, "", value)) => quote_for_shell(value),
            Some((_, flag, value)) => format!("{flag} {}", quote_for_shell(value)),
        }
    });
    let native = native
        .filter(|word| !word.is_empty())
        .fold("readmill".to_string(), |line, word| line + " " + &word);
    let command = args.first().map_or("", String::as_str);
    let program = PICARD_PROGRAMS.iter().find(|(name, _)| *name == command);
    let behind =
        args.iter().skip(1).fold(String::new(), |line, word| line + " " + &quote_for_shell(word));
    match program {
        // For `import`, FASTQ files are inputs, but the table maps them to `-1` and `-2`, which are
        // output flags.
        Some((_, program)) if command == "import" => {
            format!("use: readmill picard {program}{behind}")
        }
        Some((_, program)) => {
            format!("use: {native}; or, with Picard's syntax: readmill picard {program}{behind}")
        }
        None => format!("use: {native}"),
    }
}

/// Returns whether standard input cannot have data: it is a terminal, closed, or `/dev/null`, as in
/// a cron job.
pub fn has_no_standard_input() -> bool {
    use std::os::unix::fs::MetadataExt as _;
    // If standard input is closed, the Rust runtime opens `/dev/null` instead before `main`.
    let is_null = || {
        let null = std::fs::metadata("/dev/null").ok()?;
        let own = std::fs::metadata("/dev/stdin").ok()?;
        Some(own.rdev() == null.rdev() && !own.is_file() && null.rdev() != 0)
    };
    std::io::stdin().is_terminal() || is_null().unwrap_or(false)
}

/// Returns the error for a command without input. `way_out` is its hint.
pub fn missing_input_error(way_out: &'static str) -> Error {
    let why = if std::io::stdin().is_terminal() {
        ""
    } else {
        ": no file is given, and standard input is /dev/null"
    };
    Error::usage(format!("no input{why}")).hint(way_out)
}

/// Returns an error if the last of several inputs does not exist. Its hint says that this file may
/// be meant as the output.
pub fn require_last_input(inputs: &[PathBuf]) -> Result<()> {
    match inputs {
        [_, .., last] if last.as_os_str() != "-" => std::fs::metadata(last).map(drop).map_err(|e| {
            Error::io(format!("{} cannot be read", last.display()), &e)
                .hint("if this file is the output, give it with -o")
        }),
        _ => Ok(()),
    }
}

/// Lists the extensions that select an output format.
pub fn known_extensions() -> String {
    join_words(FORMATS.iter().map(|spec| spec.extension), "or")
}

/// Returns the format that the output name selects, otherwise BAM with a warning. `way_out` is the
/// hint for the extension of a different file type.
pub fn format_from_name(path: &Path, way_out: String) -> Result<Format> {
    check_index_mark(path)?;
    let (format, guessed) = Format::for_output_name(path).map_err(|error| error.hint(way_out))?;
    if guessed {
        write_log_line(&format!(
            "readmill: warning: the name of {} does not imply a format; writing BAM",
            path.display()
        ));
    }
    Ok(format)
}

/// Returns whether a file name has a SAM, BAM or CRAM extension.
pub fn is_named_as_records(path: &Path) -> bool {
    let name = path.to_string_lossy().to_ascii_lowercase();
    [".bam", ".sam", ".sam.gz", ".cram"].iter().any(|end| name.ends_with(end))
}

/// Returns the command line of this process with each flag inserted before its file. Returns `None`
/// if the command line does not contain one of the files.
fn insert_flags(flags: &[(&str, &PathBuf)]) -> Option<String> {
    let mut args: Vec<OsString> = std::env::args_os().skip(1).collect();
    for (flag, path) in flags {
        let at = args.iter().rposition(|arg| Path::new(arg) == path.as_path())?;
        args.insert(at, flag.into());
    }
    let words = args.iter().map(|arg| quote_for_shell(&arg.to_string_lossy()));
    Some(words.fold("readmill".to_string(), |line, word| line + " " + &word))
}
