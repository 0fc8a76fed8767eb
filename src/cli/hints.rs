//! Hints for command lines that users of other tools write by mistake.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use readmill::console::log;
use readmill::plan::{Format, check_index_mark};
use readmill_record::{Error, Result};

/// Longer lists of inputs are not repeated.
const MOST_SHOWN: usize = 8;

/// Whether messages shall be JSON: asked for here or by the environment, before the command line is parsed, so that what is wrong
/// with it is said in this form, too.
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

/// Whether messages on a terminal are coloured: not if `--no-color` is given here, or NO_COLOR is in the environment
/// (no-color.org), or the terminal has no colours.
pub fn wants_colour(args: &[OsString]) -> bool {
    let is_set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    let is_dumb = std::env::var_os("TERM").is_none_or(|term| term == "dumb");
    !args.iter().any(|arg| arg == "--no-color") && !is_set("NO_COLOR") && !is_dumb
}

/// The arguments of this process, as they count. Beside other arguments, `-h` asks samtools view for the header, which filter always
/// writes, and gives samtools merge and split a header, which readmill does not take: neither asks for help.
pub fn arguments(mut args: Vec<OsString>) -> Result<Vec<OsString>> {
    let command = args.get(1).and_then(|command| command.to_str()).unwrap_or_default();
    let given = args.iter().skip(2);
    if !given.clone().any(|arg| arg == "-h") || given.clone().all(|arg| arg == "-h") {
        return Ok(args);
    }
    match command {
        "merge" | "split" => {
            let what = "-h shows help and stands alone; a header cannot be given";
            Err(Error::usage(what).hint(
                "leave -h out: the header is made of those of the inputs; --help shows help anywhere",
            ))
        }
        "filter" => {
            args.retain(|arg| arg != "-h");
            Ok(args)
        }
        _ => Ok(args),
    }
}

/// The answer where fastp would guess adapters.
const NO_DETECTION: &str =
    "adapters are not guessed: mates tell them by their overlap, and --trim-adapter-sequence names one";

/// What users of other tools type, and what it is called here.
const NAMES: &[(&str, &str)] = &[
    ("mem", "readmill align REF R1.fq R2.fq does what bwa mem does"),
    ("aln", "readmill align REF READS.fq aligns, with the algorithm of bwa mem"),
    ("fastp", "readmill align REF R1.fq R2.fq --trim trims as fastp does, with its flags"),
    ("--detect_adapter_for_pe", NO_DETECTION),
    ("--detect-adapter-for-pe", NO_DETECTION),
    ("--adapter_fasta", "--trim-adapter-sequence and --trim-adapter-sequence-r2 name one adapter each"),
    ("--adapter-fasta", "--trim-adapter-sequence and --trim-adapter-sequence-r2 name one adapter each"),
    ("--umi_loc", "--read-structures 8M+T,+T takes UMIs off reads, before they are trimmed"),
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
    ("sfm", "readmill prep takes the whole sample in one pass"),
    ("--nr-of-threads", "-@ N is the number of threads in all"),
    ("--num-threads", "-@ N is the number of threads in all"),
    ("--nthreads", "-@ N is the number of threads in all"),
    ("--sorting-order", "--sort ORDER sorts"),
    ("--mark-optical-duplicates", "--metrics FILE counts optical duplicates, too"),
    ("--TMP_DIR", "--temp-dir DIR is where readmill spills"),
    ("--tmp-dir", "--temp-dir DIR is where readmill spills"),
    ("--tmpdir", "--temp-dir DIR is where readmill spills"),
    ("--CREATE_INDEX", "--write-index writes an index; sorted BAM gets one by itself"),
    ("--create-output-bam-index", "--write-index writes an index; sorted BAM gets one by itself"),
    ("--SORT_ORDER", "--sort ORDER sorts"),
    ("--ref", "--reference FASTA"),
    ("--java-options", "readmill needs no Java; -m SIZE limits its memory"),
];

/// Tips for words that clap does not know, and that another tool would.
pub fn of_other_tools(error: &clap::Error) -> Option<&'static str> {
    use clap::error::{ContextKind, ContextValue};
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
            "-m of view is the least length of reads, as in samtools; --memory SIZE is the memory",
        );
    }
    NAMES.iter().find(|(name, _)| name.eq_ignore_ascii_case(word)).map(|(_, tip)| *tip)
}

/// The refusal of several inputs without an output: each flag probably belongs in front of that input.
pub fn no_output(inputs: &[PathBuf], flags: &[(&str, &PathBuf)]) -> Error {
    let line = (inputs.len() <= MOST_SHOWN && !flags.is_empty()).then(|| with_flags(flags)).flatten();
    let hints = line.map_or(String::new(), |line| format!("; did you mean: {line}"));
    Error::usage(format!("there are {} inputs and no output{hints}", inputs.len()))
        .hint("give the output by -o FILE, or write the reads of all inputs to standard output by -o -")
}

/// Refuses a last of several inputs that is not there: it is probably the name of the output.
pub fn check_last(inputs: &[PathBuf]) -> Result<()> {
    match inputs {
        [_, .., last] if last.as_os_str() != "-" => std::fs::metadata(last).map(drop).map_err(|e| {
            Error::io(format!("{} cannot be read", last.display()), &e)
                .hint("if it is the output, name it by -o")
        }),
        _ => Ok(()),
    }
}

/// The format that the name of an output tells, with a way out where it is that of another kind of file. A name that
/// tells none is warned of.
pub fn named_format(path: &Path, way_out: &'static str) -> Result<Format> {
    check_index_mark(path)?;
    let (format, guessed) = Format::of_output(path).map_err(|error| error.hint(way_out))?;
    if guessed {
        log(&format!(
            "readmill: warning: the end of {} tells no format: BAM is written",
            path.display()
        ));
    }
    Ok(format)
}

/// Whether the file is called as SAM, BAM and CRAM files are.
pub fn is_named_as_records(path: &Path) -> bool {
    let name = path.to_string_lossy().to_ascii_lowercase();
    [".bam", ".sam", ".sam.gz", ".cram"].iter().any(|end| name.ends_with(end))
}

/// The command line of this process with each flag in front of the argument it belongs to.
fn with_flags(flags: &[(&str, &PathBuf)]) -> Option<String> {
    let mut args: Vec<OsString> = std::env::args_os().skip(1).collect();
    for (flag, path) in flags {
        let at = args.iter().rposition(|arg| Path::new(arg) == path.as_path())?;
        args.insert(at, flag.into());
    }
    let words = args.iter().map(|arg| quoted(&arg.to_string_lossy()));
    Some(words.fold("readmill".to_string(), |line, word| line + " " + &word))
}

/// An argument as a shell takes it.
pub fn quoted(arg: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "-_=./,:@%+".contains(c);
    if !arg.is_empty() && arg.chars().all(plain) {
        return arg.to_string();
    }
    format!("'{}'", arg.replace('\'', r"'\''"))
}
