//! A contender: the command lines that make a program do the measured work, and their measurement.
//!
//! A contender has stages, which run one after another; a stage is a pipe of calls. Wall time is
//! from the first start to the last exit. CPU time and peak memory are those that the kernel
//! reports for each process.
//!
//! ```text
//! Contender { stages: [[Call, Call, ...], [Call]] }
//!                      └─── a pipe ───┘   └─ then this
//! ```

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use readmill_peers::{Tool, usage};

#[derive(Clone)]
pub enum Program {
    /// A program of this repository: its name in command lines and its path.
    Own(&'static str, PathBuf),
    Peer(Tool),
}

/// A call of a program, with its arguments.
///
/// Calls are built like a `Command`: `Call::new(&samtools).add_words("sort -@ 2 -o").arg(path)`.
#[derive(Clone)]
pub struct Call {
    program: Program,
    arguments: Vec<OsString>,
    java: String,
    /// File for standard input, if the call is not in a pipe.
    input: Option<PathBuf>,
    output: Option<PathBuf>,
    /// Seconds after which `timeout` ends the call.
    limit: Option<u64>,
    path: Option<OsString>,
}

#[derive(Debug)]
pub struct TooLong {
    pub limit: u64,
}

impl std::fmt::Display for TooLong {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "not done after {} s", self.limit)
    }
}

impl std::error::Error for TooLong {}

impl Program {
    pub fn title(&self) -> String {
        match self {
            Program::Own(name, _) => name.to_string(),
            Program::Peer(tool) => format!("{} {}", tool.name, tool.version),
        }
    }

    fn name(&self) -> &'static str {
        match self {
            Program::Own(name, _) => name,
            Program::Peer(tool) => tool.name,
        }
    }
}

impl Call {
    pub fn new(program: &Program) -> Self {
        let (program, arguments, java) = (program.clone(), Vec::new(), String::new());
        Call { program, arguments, java, input: None, output: None, limit: None, path: None }
    }

    /// Adds each word of `words` as an argument. Words cannot contain spaces. Extra spaces are
    /// ignored, so optional flags may be formatted as empty strings.
    pub fn add_words(mut self, words: &str) -> Self {
        self.arguments.extend(words.split_whitespace().map(OsString::from));
        self
    }

    pub fn arg(mut self, argument: impl AsRef<OsStr>) -> Self {
        self.arguments.push(argument.as_ref().to_owned());
        self
    }

    /// Adds a name and a path as one argument, such as `INPUT=in.bam`.
    pub fn named_arg(self, name: &str, path: &Path) -> Self {
        let mut argument = OsString::from(name);
        argument.push(path);
        self.arg(argument)
    }

    /// Adds Java options, which only affect Picard and GATK.
    pub fn with_java_options(self, options: &str) -> Self {
        Call { java: options.to_owned(), ..self }
    }

    pub fn read_from(self, file: &Path) -> Self {
        Call { input: Some(file.to_owned()), ..self }
    }

    pub fn write_to(self, file: &Path) -> Self {
        Call { output: Some(file.to_owned()), ..self }
    }

    pub fn with_time_limit(self, seconds: u64) -> Self {
        Call { limit: Some(seconds), ..self }
    }

    pub fn with_path(self, path: OsString) -> Self {
        Call { path: Some(path), ..self }
    }

    /// Returns the command, wrapped in `timeout` if it has a time limit. Picard and GATK get their
    /// Java options through `JAVA_TOOL_OPTIONS`.
    pub fn command(&self) -> Command {
        let Some(seconds) = self.limit else { return self.command_without_limit() };
        let (inner, mut command) = (self.command_without_limit(), Command::new("timeout"));
        command.arg(seconds.to_string()).arg(inner.get_program()).args(inner.get_args());
        for (key, value) in inner.get_envs() {
            value.map(|value| command.env(key, value));
        }
        command
    }

    fn command_without_limit(&self) -> Command {
        let mut command = match &self.program {
            Program::Own(_, path) => Command::new(path),
            Program::Peer(tool) => tool.command(),
        };
        match self.program.name() {
            "picard" => command.env("JAVA_TOOL_OPTIONS", self.java_options()),
            "gatk" => {
                command.env("JAVA_TOOL_OPTIONS", format!("{GATK_OPTIONS} {}", self.java_options()))
            }
            _ => &mut command,
        };
        if let Some(path) = &self.path {
            command.env("PATH", path);
        }
        command.args(&self.arguments);
        command
    }

    fn java_options(&self) -> String {
        format!("{JAVA_OPTIONS} {}", self.java).trim_end().to_owned()
    }

    fn shown_program(&self) -> String {
        match self.program.name() {
            "picard" => format!("picard {}", self.java_options()),
            "gatk" => format!("gatk --java-options '{}'", self.java_options()),
            name => name.to_owned(),
        }
    }

    /// Returns the call as a command line for the report, with file names without directories.
    fn command_line(&self) -> String {
        let mut words = vec![self.shown_program()];
        for argument in &self.arguments {
            let word = file_name_alone(&argument.to_string_lossy()).replace('\t', "\\t");
            let plain = !word.contains([' ', '\\', '\'', '"', '*']);
            words.push(if plain { word } else { format!("'{word}'") });
        }
        for (sign, file) in [("<", &self.input), (">", &self.output)] {
            words.extend(
                file.iter().map(|f| format!("{sign} {}", file_name_alone(&f.to_string_lossy()))),
            );
        }
        words.join(" ")
    }
}

/// Shortens `/a/b.bam` to `b.bam`, and `INPUT=/a/b.bam` to `INPUT=b.bam`. Devices keep their path.
pub fn file_name_alone(word: &str) -> String {
    let (name, value) = match word.split_once("=/") {
        Some((name, _)) => word.split_at(name.len() + 1),
        None => ("", word),
    };
    let file =
        Path::new(value).file_name().filter(|_| value.starts_with('/') && !value.starts_with("/dev/"));
    format!("{name}{}", file.map_or(value.into(), OsStr::to_string_lossy))
}

/// Java's heap limit. Java's default is a quarter of the machine's memory.
const JAVA_OPTIONS: &str = "-Xmx4g";

/// Java options that GATK's own launcher (the script `gatk` of 4.6.2.0) sets before those of
/// `--java-options`.
const GATK_OPTIONS: &str = "-Dsamjdk.use_async_io_read_samtools=false -Dsamjdk.use_async_io_write_samtools=true \
    -Dsamjdk.use_async_io_write_tribble=false";

/// One way to do the measured work. The module docs describe its structure.
///
/// `table::rounds` measures contenders in turns and removes their output after each run.
#[derive(Clone)]
pub struct Contender {
    pub name: String,
    pub stages: Vec<Vec<Call>>,
    /// The file whose size is reported. A contender that leaves no such file has failed.
    pub output: PathBuf,
    pub runs: usize,
    /// Whether the call measures itself, to exclude its preparations. It then prints the seconds of
    /// wall time and of CPU time.
    pub measures_itself: bool,
}

#[derive(Clone, Copy, Debug, Default)]
pub struct Measurement {
    pub wall: Duration,
    pub cpu: Duration,
    /// Peak memory in bytes: the sum over the processes of a stage, and the maximum over the
    /// stages; 0 if unknown.
    pub peak: u64,
    pub bytes: u64,
    pub log_summary: Option<LogSummary>,
}

impl Contender {
    pub fn new(name: &str, runs: usize, output: PathBuf, stages: Vec<Vec<Call>>) -> Self {
        Contender { name: name.into(), stages, output, runs, measures_itself: false }
    }

    pub fn self_timed(name: &str, runs: usize, output: PathBuf, call: Call) -> Self {
        Contender { measures_itself: true, ..Contender::new(name, runs, output, vec![vec![call]]) }
    }

    pub fn command_lines(&self) -> Vec<String> {
        let line =
            |stage: &Vec<Call>| stage.iter().map(Call::command_line).collect::<Vec<_>>().join(" | ");
        self.stages.iter().map(line).collect()
    }

    /// Does the work once. Standard error of the i-th call of a stage goes to `i.err` in
    /// `directory`, and its standard output to `i.out`, unless it goes to a pipe or a file.
    pub fn measure(&self, directory: &Path) -> Result<Measurement> {
        let mut sample = Measurement::default();
        let started = Instant::now();
        for stage in &self.stages {
            let (cpu, peak) = run_pipe(stage, directory).with_context(|| self.name.clone())?;
            sample.cpu += cpu;
            sample.peak = sample.peak.max(peak);
        }
        sample.wall = started.elapsed();
        if self.measures_itself {
            (sample.wall, sample.cpu) = read_own_times(&directory.join("0.out"))?;
            sample.peak = 0;
        }
        sample.bytes = fs::metadata(&self.output)
            .with_context(|| format!("{} left no {}", self.name, self.output.display()))?
            .len();
        let log = fs::read(directory.join("0.err")).unwrap_or_default();
        sample.log_summary = LogSummary::from_log(&String::from_utf8_lossy(&log));
        Ok(sample)
    }
}

/// Runs the calls as one pipe. Returns their CPU time and the sum of their peak memory in bytes.
///
/// If a call fails, the error has the last 15 lines of its messages, or is [`TooLong`].
fn run_pipe(calls: &[Call], directory: &Path) -> Result<(Duration, u64)> {
    let mut children: Vec<Child> = Vec::new();
    for (i, call) in calls.iter().enumerate() {
        let mut command = call.command();
        let before = children.last_mut().and_then(|child| child.stdout.take());
        match (before, &call.input) {
            (Some(before), _) => command.stdin(before),
            (None, Some(input)) => command.stdin(File::open(input)?),
            (None, None) => command.stdin(Stdio::null()),
        };
        match &call.output {
            _ if i + 1 < calls.len() => command.stdout(Stdio::piped()),
            Some(output) => command.stdout(File::create(output)?),
            None => command.stdout(File::create(directory.join(format!("{i}.out")))?),
        };
        command.stderr(File::create(directory.join(format!("{i}.err")))?);
        let child = command.spawn().with_context(|| format!("cannot start {}", call.command_line()))?;
        children.push(child);
    }
    let (mut cpu, mut peak, mut failed) = (Duration::ZERO, 0, None);
    for (i, child) in children.into_iter().enumerate() {
        let (status, used) = usage::wait_with_usage(child)?;
        cpu += used.cpu;
        peak += used.peak;
        if !status.success() {
            failed.get_or_insert((i, status));
        }
    }
    if let Some((i, status)) = failed {
        // `timeout` exits with 124 if it ended the command.
        if let Some(limit) = calls[i].limit.filter(|_| status.code() == Some(124)) {
            return Err(TooLong { limit }.into());
        }
        let said = fs::read_to_string(directory.join(format!("{i}.err"))).unwrap_or_default();
        let lines: Vec<&str> = said.lines().collect();
        let tail = lines[lines.len().saturating_sub(15)..].join("\n");
        bail!("{} failed ({status}):\n{tail}", calls[i].command_line());
    }
    Ok((cpu, peak))
}

fn read_own_times(said: &Path) -> Result<(Duration, Duration)> {
    let text = fs::read_to_string(said)?;
    let mut figures = text.split_whitespace().map(str::parse::<f64>);
    match (figures.next(), figures.next()) {
        (Some(Ok(wall)), Some(Ok(cpu))) => {
            Ok((Duration::from_secs_f64(wall), Duration::from_secs_f64(cpu)))
        }
        _ => bail!("no figures in {text:?}"),
    }
}

/// The summary that readmill logs in its last line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LogSummary {
    /// Peak resident memory (VmHWM) in MiB, rounded up.
    pub peak: u64,
    pub spilled: u64,
    /// Number of sorted runs that were merged from disk.
    pub runs: u64,
}

impl LogSummary {
    /// Finds the summary in a log: readmill's last line with its peak memory. `None` for other
    /// programs.
    pub fn from_log(log: &str) -> Option<Self> {
        let line =
            log.lines().rfind(|line| line.starts_with("readmill: ") && line.contains("peak memory"))?;
        let number = |mark: &str, behind: bool| -> Option<u64> {
            let (before, after) = line.split_once(mark)?;
            let word = if behind { after.split(' ').next() } else { before.rsplit(' ').next() };
            word?.parse().ok()
        };
        Some(LogSummary {
            peak: number("peak memory ", true)?,
            spilled: number(" MiB spilled in ", false)?,
            runs: number(" MiB spilled in ", true)?,
        })
    }
}

pub fn parse_min_memory(log: &str) -> Result<u64> {
    let word = log.split_once("at least -m ").and_then(|(_, rest)| rest.split('M').next());
    word.and_then(|word| word.parse().ok()).with_context(|| format!("no least memory in: {log}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Call {
        Call::new(&Program::Own("sh", "/bin/sh".into())).arg("-c").arg(script)
    }

    #[test]
    fn a_pipe_is_one_run_and_its_peaks_are_added() {
        let directory = tempfile::tempdir().unwrap();
        let output = directory.path().join("out");
        let write = shell(&format!("cat > {}", output.display()));
        let two = vec![vec![shell("true")], vec![shell("echo hello"), write.clone()]];
        let sample = Contender::new("two", 1, output.clone(), two).measure(directory.path()).unwrap();
        assert_eq!(sample.bytes, 6);
        let (_, one) = run_pipe(&[shell("true")], directory.path()).unwrap();
        assert!(sample.peak > one);
    }

    #[test]
    fn a_failure_anywhere_in_a_pipe_is_told() {
        let directory = tempfile::tempdir().unwrap();
        let calls = [shell("echo sad >&2; exit 4"), shell("cat")];
        let error = run_pipe(&calls, directory.path()).unwrap_err().to_string();
        assert!(error.contains("exit status: 4") && error.contains("sad"), "{error}");
    }

    #[test]
    fn a_call_that_takes_too_long_is_ended() {
        let directory = tempfile::tempdir().unwrap();
        let error = run_pipe(&[shell("sleep 60").with_time_limit(1)], directory.path()).unwrap_err();
        assert_eq!(error.downcast_ref::<TooLong>().unwrap().limit, 1);
        assert!(run_pipe(&[shell("true").with_time_limit(60)], directory.path()).is_ok());
    }

    #[test]
    fn standard_input_and_output_can_be_files() {
        let directory = tempfile::tempdir().unwrap();
        let (from, to) = (directory.path().join("from"), directory.path().join("to"));
        fs::write(&from, "hello").unwrap();
        let call = shell("cat").read_from(&from).write_to(&to);
        assert_eq!(call.command_line(), "sh -c cat < from > to");
        run_pipe(&[call], directory.path()).unwrap();
        assert_eq!(fs::read_to_string(to).unwrap(), "hello");
    }

    #[test]
    fn calls_are_shown_as_typed() {
        let call = shell("a b").named_arg("I=", Path::new("/x/in.bam")).add_words("-@ 2");
        assert_eq!(call.command_line(), "sh -c 'a b' I=in.bam -@ 2");
        let gatk = Program::Peer(Tool::without_arguments("gatk", "/bin/java".into(), "4".into()));
        let call = Call::new(&gatk).with_java_options("-Dlevel=1").add_words("SortSam");
        assert_eq!(call.command_line(), "gatk --java-options '-Xmx4g -Dlevel=1' SortSam");
    }

    #[test]
    fn the_last_line_is_read() {
        let log = "readmill 0.1.0 sort: a -> b; 512 MiB of memory in total\nreadmill: 601449 records read, \
               601449 written in 1.3 s; peak memory 242 MiB; 17 MiB spilled in 3 runs\n";
        assert_eq!(LogSummary::from_log(log), Some(LogSummary { peak: 242, spilled: 17, runs: 3 }));
        assert_eq!(LogSummary::from_log("[bam_sort_core] merging from 3 files"), None);
    }

    #[test]
    fn the_least_memory_is_read() {
        let log = "readmill: error: this command needs at least -m 51M with 2 threads, but -m is 1M";
        assert_eq!(parse_min_memory(log).unwrap(), 51);
        assert!(parse_min_memory("readmill: error: no").is_err());
    }
}
