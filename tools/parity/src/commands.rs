//! Runs readmill and the peers. A command is one line of words, as in docs/parity.md. It
//! runs in the directory of its sample, so that file names are short and have no spaces.

use std::ffi::OsString;
use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use anyhow::{Context, Result, bail, ensure};
use readmill_peers::{Peers, Tool, build_readmill};

/// Files here are small, so Java starts fast rather than running fast.
const JAVA: &str = "-Xmx2g -XX:+UseSerialGC -XX:TieredStopAtLevel=1";

/// For files of a few records: in each call MarkDuplicates fills arrays that are a quarter of the heap.
const SMALL_JAVA: &str = "-Xmx200m -XX:+UseSerialGC -XX:TieredStopAtLevel=1";

/// A run of readmill that takes five minutes or 12 GiB of addresses hangs; it fails here before it
/// stops the whole machine.
const LIMITED: &str = "ulimit -v 12582912; exec timeout 300 \"$@\"";

/// The shell of the script engine that Picard brings along, and a script for it: it calls one tool after the other,
/// by the lines of a file, and prints their exit codes. For a tool that throws it prints -1 and the exception, whose lines
/// end with carriage returns.
const SHELL: &str = "org.openjdk.nashorn.tools.Shell";
const EACH: &str = r#"
var lines = new java.util.Scanner(new java.io.File(arguments[0]));
while (lines.hasNextLine()) {
    var words = String(lines.nextLine()).split(" ");
    var name = words[0].indexOf("picard.") == 0 ? words[0] : "picard.sam." + words[0];
    var tool = new (Java.type(name))();
    var given = ["QUIET=true", "VERBOSITY=ERROR", "VALIDATION_STRINGENCY=SILENT"].concat(words.slice(1));
    try {
        print(tool.instanceMain(Java.to(given, "java.lang.String[]")) + "\t");
    } catch (refused) {
        print("-1\t" + String(refused).replace(/\r?\n/g, "\r"));
    }
}
"#;

/// The programs.
#[derive(Clone)]
pub struct Commands {
    readmill: PathBuf,
    samtools: Tool,
    newest: Tool,
    picard: Tool,
}

impl Commands {
    /// Builds readmill, unless one is given, and finds the peers.
    pub fn find(readmill: Option<&Path>, peers: &Peers) -> Result<Self> {
        let readmill = match readmill {
            Some(given) => given.canonicalize().with_context(|| format!("no {}", given.display()))?,
            None => build_readmill()?,
        };
        let (samtools, newest) = (peers.samtools()?, peers.newest_samtools()?);
        Ok(Commands { readmill, samtools, newest, picard: peers.picard()? })
    }

    /// The same programs, but Picard with an htsjdk that reads CRAM 3.1.
    pub fn reading_cram_3_1(&self, peers: &Peers) -> Result<Self> {
        Ok(Commands { picard: peers.picard_reading_cram_3_1()?, ..self.clone() })
    }

    /// Finds the peers alone; readmill is not run.
    pub fn of_peers(peers: &Peers) -> Result<Self> {
        let newest = peers.newest_samtools()?;
        let readmill = PathBuf::from("readmill");
        Ok(Commands { readmill, samtools: newest.clone(), newest, picard: peers.picard()? })
    }

    /// One line with the versions that are compared.
    pub fn versions(&self) -> Result<String> {
        let own = Command::new(&self.readmill).arg("--version").output()?;
        let own = String::from_utf8_lossy(&own.stdout).trim().to_owned();
        let samtools = [&self.samtools.version[..], &self.newest.version].join(" and ");
        Ok(format!(
            "These results compare {own} with samtools {samtools} and Picard {}",
            self.picard.version
        ))
    }
}

/// The directory of one sample, in which the programs are run.
pub struct SampleDir<'a> {
    commands: &'a Commands,
    directory: PathBuf,
}

impl<'a> SampleDir<'a> {
    /// Makes the directory.
    pub fn new(commands: &'a Commands, directory: &Path) -> Result<Self> {
        fs::create_dir_all(directory)?;
        Ok(SampleDir { commands, directory: directory.canonicalize()? })
    }

    /// An empty directory below this one, in which the programs are run.
    pub fn below(&self, name: &str) -> Result<Self> {
        let directory = self.path(name);
        if directory.exists() {
            fs::remove_dir_all(&directory)?;
        }
        SampleDir::new(self.commands, &directory)
    }

    /// One line with the versions that are compared.
    pub fn versions(&self) -> Result<String> {
        self.commands.versions()
    }

    /// The directory itself.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// A file of this sample.
    pub fn path(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }

    /// Runs readmill; returns its standard error.
    pub fn readmill(&self, words: &str) -> Result<String> {
        self.finish(self.readmill_command(words))
    }

    /// readmill, not started yet.
    pub fn readmill_command(&self, words: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", LIMITED, "sh"]).arg(&self.commands.readmill);
        self.words(command, words)
    }

    /// The least memory that readmill accepts for a command, such as `38M`, from its message for less.
    pub fn least_memory(&self, words: &str) -> Result<String> {
        let output = self.readmill_command(&format!("{words} -m 1M")).output()?;
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        let least = said.split("at least -m ").nth(1).and_then(|rest| rest.split(' ').next());
        Ok(least.with_context(|| format!("no least memory is stated: {said}"))?.to_owned())
    }

    /// Runs readmill with a file as its standard input.
    pub fn readmill_from(&self, input: &str, words: &str) -> Result<String> {
        let mut command = self.readmill_command(words);
        command.stdin(File::open(self.path(input))?);
        self.finish(command)
    }

    /// Runs samtools 1.24, whose orders are the reference.
    pub fn newest(&self, words: &str) -> Result<String> {
        let mut command = self.newest_command(words);
        command.stdin(Stdio::null());
        self.finish(command)
    }

    /// samtools 1.24, not started yet.
    pub fn newest_command(&self, words: &str) -> Command {
        self.words(self.commands.newest.command(), words)
    }

    /// Runs samtools of the system.
    pub fn samtools(&self, words: &str) -> Result<String> {
        let mut command = self.samtools_command(words);
        command.stdin(Stdio::null());
        self.finish(command)
    }

    /// samtools, not started yet.
    pub fn samtools_command(&self, words: &str) -> Command {
        self.words(self.commands.samtools.command(), words)
    }

    /// Runs a Picard tool.
    pub fn picard(&self, words: &str) -> Result<String> {
        self.finish(self.picard_command(words))
    }

    /// A Picard tool, not started yet.
    pub fn picard_command(&self, words: &str) -> Command {
        let mut command = self.words(self.commands.picard.command(), words);
        command.env("JAVA_TOOL_OPTIONS", JAVA);
        command
    }

    /// Runs tools of Picard one after the other in one process, since Java starts slowly. Each call is the tool's name,
    /// with its package unless that is `picard.sam`, and its arguments. Returns their exit codes.
    pub fn picard_each(&self, calls: &[String]) -> Result<Vec<i32>> {
        let ends = self.picard_each_said(calls)?;
        Ok(ends.into_iter().map(|(code, _)| code).collect())
    }

    /// As [`Self::picard_each`], with the exception of each call as one line.
    pub fn picard_each_said(&self, calls: &[String]) -> Result<Vec<(i32, String)>> {
        let ends = self.picard_ends(calls, JAVA)?.into_iter();
        let joined = |said: String| said.split_whitespace().collect::<Vec<_>>().join(" ");
        Ok(ends.map(|(code, said)| (code, joined(said))).collect())
    }

    /// As [`Self::picard_each`], for files of a few records, with the first line of the exception of each call, as it is.
    pub fn picard_each_small(&self, calls: &[String]) -> Result<Vec<(i32, String)>> {
        let ends = self.picard_ends(calls, SMALL_JAVA)?.into_iter();
        let first = |said: String| said.split('\r').next().unwrap_or_default().to_owned();
        Ok(ends.map(|(code, said)| (code, first(said))).collect())
    }

    /// The search path, with an R that draws nothing: Picard wants one for its charts.
    pub fn path_with_r(&self) -> Result<String> {
        let bin = self.path("bin");
        fs::create_dir_all(&bin)?;
        let script = bin.join("Rscript");
        fs::write(&script, "#!/bin/sh\nexit 0\n")?;
        fs::set_permissions(&script, fs::Permissions::from_mode(0o755))?;
        Ok(format!("{}:{}", bin.display(), std::env::var("PATH")?))
    }

    fn picard_ends(&self, calls: &[String], java: &str) -> Result<Vec<(i32, String)>> {
        let lines: String = calls.iter().map(|call| format!("{call}\n")).collect();
        fs::write(self.path("picard.calls"), lines)?;
        fs::write(self.path("picard.js"), EACH)?;
        let mut tool = self.commands.picard.clone();
        if let Some(main) = tool.arguments.last_mut() {
            *main = OsString::from(SHELL);
        }
        let mut command = self.words(tool.command(), "picard.js -- picard.calls");
        command.env("JAVA_TOOL_OPTIONS", java).env("PATH", self.path_with_r()?).stdin(Stdio::null());
        let output = self.output(command)?;
        let ends = String::from_utf8_lossy(&output.stdout).into_owned();
        let end = |line: &str| {
            let (code, said) = line.split_once('\t')?;
            Some((code.parse().ok()?, said.to_string()))
        };
        let ends: Vec<(i32, String)> = ends.lines().filter_map(end).collect();
        ensure!(ends.len() == calls.len(), "{} of {} calls of Picard ended", ends.len(), calls.len());
        Ok(ends)
    }

    /// Runs a peer that few parts need.
    pub fn peer(&self, tool: &Tool, words: &str) -> Result<String> {
        let mut command = self.peer_command(tool, words);
        command.stdin(Stdio::null());
        self.finish(command)
    }

    /// A peer that few parts need, not started yet.
    pub fn peer_command(&self, tool: &Tool, words: &str) -> Command {
        self.words(tool.command(), words)
    }

    /// The bytes of a BAM file without its compression.
    pub fn inflated(&self, file: &str) -> Command {
        self.words(Command::new("gzip"), &format!("-dc {file}"))
    }

    fn words(&self, mut command: Command, words: &str) -> Command {
        command.current_dir(&self.directory).args(words.split(' ').filter(|word| !word.is_empty()));
        command
    }

    /// Runs a command; returns its standard error.
    pub fn finish(&self, command: Command) -> Result<String> {
        Ok(String::from_utf8_lossy(&self.output(command)?.stderr).into_owned())
    }

    fn output(&self, mut command: Command) -> Result<Output> {
        let shown = shown(&command);
        let output = command.output().with_context(|| format!("{shown} does not start"))?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr);
            let lines: Vec<&str> = said.lines().collect();
            let last = lines[lines.len().saturating_sub(6)..].join("\n      ");
            bail!("{shown} failed ({}):\n      {last}", output.status);
        }
        Ok(output)
    }
}

/// A command as it may be typed: from the program's own name on.
pub fn shown(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    let words: Vec<String> = words.map(|word| word.to_string_lossy().into_owned()).collect();
    let is_program = |word: &String| word.ends_with("/readmill") || word.starts_with("picard.");
    let first = words.iter().position(is_program).unwrap_or(0);
    words[first..].join(" ")
}
