//! The native command line that a front writes.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use readmill_record::{Error, Result};

use super::grammar::ParsedArguments;

/// A readmill command line, and what must be done before and after it runs so that the files are
/// those of the other tool.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct NativeLine {
    pub words: Vec<String>,
    /// The current and the new name of an index that is renamed at the end, if it was written.
    pub renamed: Option<(PathBuf, PathBuf)>,
    /// Directories for temporary files that must be created first, as the tool does.
    pub directories: Vec<PathBuf>,
    /// A command line whose output this line reads through a pipe. The last argument of this line
    /// is then `-`.
    pub source: Option<Box<NativeLine>>,
}

impl NativeLine {
    pub fn new(words: &str) -> Self {
        NativeLine { words: words.split(' ').map(str::to_string).collect(), ..NativeLine::default() }
    }

    pub fn add<W: Into<String>>(&mut self, words: impl IntoIterator<Item = W>) -> &mut Self {
        self.words.extend(words.into_iter().map(Into::into));
        self
    }

    /// Adds a flag and its value, or nothing if the value is `None`.
    pub fn add_flag(&mut self, flag: &str, value: Option<&str>) -> &mut Self {
        if let Some(value) = value {
            self.add([flag, value]);
        }
        self
    }

    /// Inserts the flag for `bytes` of memory after the command name. It is `--memory` for `view`,
    /// where `-m` has a different meaning. The commands for recalibration tables have no such flag.
    pub fn insert_memory(&mut self, bytes: u64) {
        let names: Vec<&str> = self.words.iter().take(2).map(String::as_str).collect();
        let (at, flag) = match names[..] {
            ["bqsr", "gather" | "plot-data"] => return,
            ["bqsr", _] => (2, "-m"),
            ["view", ..] => (1, "--memory"),
            _ => (1, "-m"),
        };
        self.words.splice(at..at, [flag.to_string(), format!("{}M", bytes >> 20)]);
    }

    /// Adds operands, after `--` if one of them looks like a flag.
    pub fn add_operands<'a>(&mut self, operands: impl IntoIterator<Item = &'a str>) -> &mut Self {
        let operands: Vec<&str> = operands.into_iter().map(standard_stream).collect();
        if operands.iter().any(|word| word.len() > 1 && word.starts_with('-')) {
            self.add(["--"]);
        }
        self.add(operands)
    }

    /// Returns the line as it could be typed in a shell, including what is done before and after
    /// it.
    pub fn to_shell_line(&self) -> String {
        let line = self
            .words
            .iter()
            .fold("readmill".to_string(), |line, word| line + " " + &quote_for_shell(word));
        let line = match &self.source {
            Some(source) => format!("{} | {line}", source.to_shell_line()),
            None => line,
        };
        let made = self.directories.iter().filter(|directory| !directory.exists());
        let line = made.fold(line, |line, directory| {
            format!("mkdir -p {} && {line}", quote_for_shell(&directory.to_string_lossy()))
        });
        match &self.renamed {
            Some((from, to)) => {
                let [from, to] = [from, to].map(|path| quote_for_shell(&path.to_string_lossy()));
                format!("{line} && mv {from} {to}")
            }
            None => line,
        }
    }
}

/// Quotes a word for a shell, unless it contains only plain characters.
pub fn quote_for_shell(arg: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "-_=./,:@%+".contains(c);
    if !arg.is_empty() && arg.chars().all(plain) {
        return arg.to_string();
    }
    format!("'{}'", arg.replace('\'', r"'\''"))
}

/// Returns `-` for `/dev/stdin` and `/dev/stdout`, and any other path unchanged.
pub fn standard_stream(path: &str) -> &str {
    match path {
        "/dev/stdin" | "/dev/stdout" => "-",
        _ => path,
    }
}

/// Escapes the braces in `text` for a file name pattern such as `{ID}.bam`.
pub fn escape_for_pattern(text: &str) -> String {
    text.replace('{', "{{").replace('}', "}}")
}

#[derive(Default)]
pub struct OutputStyle {
    pub format: Option<String>,
    /// Options that follow the format in readmill's `-O`.
    pub words: Vec<String>,
    pub level: Option<String>,
}

impl OutputStyle {
    pub fn from_options(given: &ParsedArguments, format: Option<&str>) -> Result<Self> {
        let mut style = OutputStyle::default();
        if let Some(text) = format {
            let mut words = text.split(',');
            style.format = words.next().map(str::to_ascii_lowercase);
            words.try_for_each(|option| style.apply_option(given, option))?;
        }
        let mut options = given.values("--output-fmt-option");
        options.try_for_each(|option| style.apply_option(given, option))?;
        Ok(style)
    }

    fn apply_option(&mut self, given: &ParsedArguments, option: &str) -> Result<()> {
        let (name, value) = option.split_once('=').unwrap_or((option, ""));
        match (name, value) {
            ("level", level) => self.level = Some(level.to_string()),
            ("version", version) => self.words.push(format!("version={version}")),
            ("no_ref" | "no-ref", "" | "1") => self.words.push("no-ref".to_string()),
            ("fast" | "normal" | "small" | "archive", "" | "1") => self.words.push(name.to_string()),
            ("no_ref", "0") | ("nthreads", _) => {}
            _ => {
                return Err(given.refusal_error(&format!("the format option {option} is not supported")).hint(
                    "readmill supports level, version, no_ref, and the profiles fast, normal, small and archive",
                ));
            }
        }
        Ok(())
    }
}

/// The compression level that samtools uses for BAM by default. The native line always contains it.
pub const DEFAULT_SAMTOOLS_LEVEL: &str = "6";

/// Adds the flags for output, format, level and index that match samtools' choices. `format` is the
/// value of `-O`, and `level` the level that other options request.
pub fn add_samtools_output(
    line: &mut NativeLine,
    given: &ParsedArguments,
    output: &str,
    format: Option<&str>,
    level: Option<&str>,
) -> Result<()> {
    let mut asked = OutputStyle::from_options(given, format)?;
    let (output, index) = match output.split_once("##idx##") {
        Some((output, index)) => (output, Some(index)),
        None => (output, None),
    };
    let output = standard_stream(output);
    let named = format_of_name(output);
    if asked.format.is_none() && (!asked.words.is_empty() || named.is_none() && output != "-") {
        asked.format = Some(named.unwrap_or("bam").to_string());
    }
    let written = asked.format.as_deref().or(named).unwrap_or("bam").to_string();
    line.add_flag("-o", Some(output));
    if let Some(format) = asked.format {
        let words: Vec<String> = std::iter::once(format).chain(asked.words.drain(..)).collect();
        line.add_flag("-O", Some(&words.join(",")));
    }
    if written != "sam" {
        let usual = (written == "bam").then_some(DEFAULT_SAMTOOLS_LEVEL);
        line.add_flag("-l", asked.level.as_deref().or(level).or(usual));
    }
    if !given.is_set("--write-index") {
        line.add(["--no-index"]);
        return Ok(());
    }
    line.add([write_index_flag(given, output, &written, index)?]);
    Ok(())
}

/// Like [`add_samtools_output`], for commands that write SAM unless the output name or `-O` selects
/// another format.
pub fn add_samtools_text_output(
    line: &mut NativeLine,
    given: &ParsedArguments,
    output: &str,
    level: Option<&str>,
) -> Result<()> {
    let is_named = format_of_name(output.split("##idx##").next().unwrap_or_default()).is_some();
    let format = given.last_value("-O").or((!is_named).then_some("sam"));
    add_samtools_output(line, given, output, format, level)
}

/// Returns the flag that writes the index `index` for an output in this format. Without a name,
/// samtools writes a CSI index for BAM.
pub fn write_index_flag(
    given: &ParsedArguments,
    output: &str,
    format: &str,
    index: Option<&str>,
) -> Result<String> {
    let kind = match index {
        None if format == "cram" => "",
        None => "=csi",
        Some(index) if index == format!("{output}.bai") => "=bai",
        Some(index) if index == format!("{output}.csi") => "=csi",
        Some(index) if index == format!("{output}.crai") => "",
        Some(index) => {
            return Err(given
                .refusal_error(&format!("the index cannot have the name {index}"))
                .hint("the index must be named after its file: X.bam.bai, X.bam.csi or X.cram.crai"));
        }
    };
    Ok(format!("--write-index{kind}"))
}

/// Returns the format that htslib and htsjdk derive from a file name.
pub fn format_of_name(path: &str) -> Option<&'static str> {
    let name = path.to_ascii_lowercase();
    [(".bam", "bam"), (".sam", "sam"), (".sam.gz", "sam.gz"), (".cram", "cram")]
        .into_iter()
        .find_map(|(end, format)| name.ends_with(end).then_some(format))
}

/// Returns the name that htsjdk gives the index of a BAM file: `out.bai` for `out.bam`, and
/// `out.bin.bai` for `out.bin`.
pub fn htsjdk_index_name(bam: &str) -> String {
    format!("{}.bai", bam.strip_suffix(".bam").unwrap_or(bam))
}

/// Adds the flags for output, format, level and index that match Picard's and GATK's choices. These
/// tools name the index `out.bai`, not `out.bam.bai`.
pub fn add_htsjdk_output(line: &mut NativeLine, output: &str, level: &str, is_indexed: bool) {
    let output = standard_stream(output);
    let named = format_of_name(output);
    line.add_flag("-o", Some(output));
    if named.is_none() && output != "-" {
        line.add(["-O", "bam"]);
    }
    if !matches!(named, Some("sam")) {
        line.add_flag("-l", Some(level));
    }
    if !is_indexed {
        line.add(["--no-index"]);
    } else if output != "-" && matches!(named, None | Some("bam")) {
        // For reads in coordinate order, readmill writes an index by default, as Picard does.
        let (own, theirs) = (format!("{output}.bai"), htsjdk_index_name(output));
        line.renamed = (own != theirs).then(|| (own.into(), theirs.into()));
    } else if named == Some("cram") {
        line.add(["--write-index"]);
    }
}

/// Returns `--allow-same-input` if the same file is given twice, even under two names. The other
/// tools accept this; readmill does so only with the flag.
pub fn same_input_flag(inputs: &[&str]) -> Option<&'static str> {
    let mut seen = HashSet::new();
    let mut is_again =
        |path: &Path| !seen.insert(path.canonicalize().unwrap_or_else(|_| path.to_path_buf()));
    inputs.iter().any(|path| is_again(Path::new(path))).then_some("--allow-same-input")
}

/// Returns the total number of threads. In samtools, `-@` is the number of additional threads.
pub fn total_threads(given: &ParsedArguments) -> Result<String> {
    let additional = given.last_value("-@").unwrap_or("0");
    let number: u16 = additional.trim().parse().map_err(|_| {
        Error::usage(format!("{} -@ {additional} is not a number of threads", given.command))
    })?;
    Ok(number.saturating_add(1).to_string())
}
