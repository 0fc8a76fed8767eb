//! Runs readmill and the peers. A command is a string of words separated by spaces, as in
//! docs/parity.md. It runs in the directory of its sample, so that file names are short and without
//! spaces.

use std::ffi::OsString;
use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use anyhow::{Context, Result, bail, ensure};
use readmill_peers::{Peers, Tool, build_readmill};

/// JVM options for normal runs: the files are small, so a fast start matters more than compiled
/// code.
const JVM_OPTIONS: &str = "-Xmx2g -XX:+UseSerialGC -XX:TieredStopAtLevel=1";

/// JVM options for files of a few records. MarkDuplicates allocates arrays of a quarter of
/// the heap in each call, so a small heap is faster.
const SMALL_JVM_OPTIONS: &str = "-Xmx200m -XX:+UseSerialGC -XX:TieredStopAtLevel=1";

/// Shell script that limits readmill to 12 GiB of address space and five minutes. A run that needs
/// more has a bug, and fails before it affects the whole machine.
const LIMIT_SCRIPT: &str = "ulimit -v 12582912; exec timeout 300 \"$@\"";

/// The main class of Nashorn, the JavaScript engine in Picard's archive. It runs
/// [`PICARD_CALLS_SCRIPT`].
const NASHORN_SHELL: &str = "org.openjdk.nashorn.tools.Shell";
/// A Nashorn script that calls the Picard tools listed in a file, one per line, in a single JVM. It
/// prints one line per call: the exit code, or -1 and the exception. Line ends inside an exception
/// become carriage returns.
const PICARD_CALLS_SCRIPT: &str = r#"
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

/// The programs that are compared. Two versions of samtools are used: the system's, and 1.24, which
/// defines most of the sort orders.
#[derive(Clone)]
pub struct Commands {
    readmill: PathBuf,
    samtools: Tool,
    samtools_1_24: Tool,
    picard: Tool,
}

impl Commands {
    /// Finds the peers and builds readmill, unless `readmill` is the path of a built program.
    pub fn find_or_build(readmill: Option<&Path>, peers: &Peers) -> Result<Self> {
        let readmill = match readmill {
            Some(given) => given.canonicalize().with_context(|| format!("no {}", given.display()))?,
            None => build_readmill()?,
        };
        let (samtools, newest) = (peers.samtools()?, peers.newest_samtools()?);
        Ok(Commands { readmill, samtools, samtools_1_24: newest, picard: peers.picard()? })
    }

    pub fn reading_cram_3_1(&self, peers: &Peers) -> Result<Self> {
        Ok(Commands { picard: peers.picard_reading_cram_3_1()?, ..self.clone() })
    }

    /// Finds only the peers. `--regenerate` writes oracles with them and never runs readmill.
    pub fn find_peers_only(peers: &Peers) -> Result<Self> {
        let newest = peers.newest_samtools()?;
        let readmill = PathBuf::from("readmill");
        Ok(Commands {
            readmill,
            samtools: newest.clone(),
            samtools_1_24: newest,
            picard: peers.picard()?,
        })
    }

    /// Returns a line with the versions of all programs, for the first line of the output and for
    /// reports.
    pub fn versions_line(&self) -> Result<String> {
        let own = Command::new(&self.readmill).arg("--version").output()?;
        let own = String::from_utf8_lossy(&own.stdout).trim().to_owned();
        let samtools = [&self.samtools.version[..], &self.samtools_1_24.version].join(" and ");
        Ok(format!(
            "These results compare {own} with samtools {samtools} and Picard {}",
            self.picard.version
        ))
    }
}

pub struct SampleDir<'a> {
    commands: &'a Commands,
    directory: PathBuf,
}

impl<'a> SampleDir<'a> {
    pub fn new(commands: &'a Commands, directory: &Path) -> Result<Self> {
        fs::create_dir_all(directory)?;
        Ok(SampleDir { commands, directory: directory.canonicalize()? })
    }

    /// Creates an empty subdirectory in which programs can run. An existing one is removed first.
    pub fn make_empty_subdirectory(&self, name: &str) -> Result<Self> {
        let directory = self.path(name);
        if directory.exists() {
            fs::remove_dir_all(&directory)?;
        }
        SampleDir::new(self.commands, &directory)
    }

    pub fn versions_line(&self) -> Result<String> {
        self.commands.versions_line()
    }

    pub fn directory(&self) -> &Path {
        &self.directory
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }

    pub fn run_readmill(&self, words: &str) -> Result<String> {
        self.run_to_end(self.readmill_command(words))
    }

    pub fn readmill_command(&self, words: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", LIMIT_SCRIPT, "sh"]).arg(&self.commands.readmill);
        self.with_words(command, words)
    }

    /// Returns the minimum memory of a command, such as `38M`. readmill prints it when it refuses
    /// `-m 1M`.
    pub fn query_min_memory(&self, words: &str) -> Result<String> {
        let output = self.readmill_command(&format!("{words} -m 1M")).output()?;
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        let min_memory = said.split("at least -m ").nth(1).and_then(|rest| rest.split(' ').next());
        Ok(min_memory.with_context(|| format!("no least memory is stated: {said}"))?.to_owned())
    }

    pub fn run_readmill_from(&self, input: &str, words: &str) -> Result<String> {
        let mut command = self.readmill_command(words);
        command.stdin(File::open(self.path(input))?);
        self.run_to_end(command)
    }

    /// Runs samtools 1.24, which defines most of the sort orders, and returns its standard error.
    pub fn run_samtools_1_24(&self, words: &str) -> Result<String> {
        let mut command = self.samtools_1_24_command(words);
        command.stdin(Stdio::null());
        self.run_to_end(command)
    }

    pub fn samtools_1_24_command(&self, words: &str) -> Command {
        self.with_words(self.commands.samtools_1_24.command(), words)
    }

    pub fn run_samtools(&self, words: &str) -> Result<String> {
        let mut command = self.samtools_command(words);
        command.stdin(Stdio::null());
        self.run_to_end(command)
    }

    pub fn samtools_command(&self, words: &str) -> Command {
        self.with_words(self.commands.samtools.command(), words)
    }

    pub fn run_picard(&self, words: &str) -> Result<String> {
        self.run_to_end(self.picard_command(words))
    }

    pub fn picard_command(&self, words: &str) -> Command {
        let mut command = self.with_words(self.commands.picard.command(), words);
        command.env("JAVA_TOOL_OPTIONS", JVM_OPTIONS);
        command
    }

    /// Runs several Picard tools in one JVM, because starting Java is slow, and returns their exit
    /// codes. A call is a tool name (with its package, unless that is `picard.sam`) and its
    /// arguments.
    pub fn run_picard_calls(&self, calls: &[String]) -> Result<Vec<i32>> {
        let ends = self.run_picard_calls_verbose(calls)?;
        Ok(ends.into_iter().map(|(code, _)| code).collect())
    }

    /// Runs Picard tools like [`Self::run_picard_calls`]. Returns each exit code with the
    /// exception, joined into one line.
    pub fn run_picard_calls_verbose(&self, calls: &[String]) -> Result<Vec<(i32, String)>> {
        let ends = self.run_picard_script(calls, JVM_OPTIONS)?.into_iter();
        let joined = |said: String| said.split_whitespace().collect::<Vec<_>>().join(" ");
        Ok(ends.map(|(code, said)| (code, joined(said))).collect())
    }

    /// Runs Picard tools like [`Self::run_picard_calls`], with a small heap for files of a few
    /// records. Returns each exit code with the first line of the exception, unchanged.
    pub fn run_small_picard_calls(&self, calls: &[String]) -> Result<Vec<(i32, String)>> {
        let ends = self.run_picard_script(calls, SMALL_JVM_OPTIONS)?.into_iter();
        let first = |said: String| said.split('\r').next().unwrap_or_default().to_owned();
        Ok(ends.map(|(code, said)| (code, first(said))).collect())
    }

    /// Returns a search path whose first entry has an `Rscript` that does nothing. Picard's
    /// collectors run R for their charts, which are not compared.
    pub fn search_path_with_fake_r(&self) -> Result<String> {
        let bin = self.path("bin");
        fs::create_dir_all(&bin)?;
        let script = bin.join("Rscript");
        fs::write(&script, "#!/bin/sh\nexit 0\n")?;
        fs::set_permissions(&script, fs::Permissions::from_mode(0o755))?;
        Ok(format!("{}:{}", bin.display(), std::env::var("PATH")?))
    }

    fn run_picard_script(&self, calls: &[String], java: &str) -> Result<Vec<(i32, String)>> {
        let lines: String = calls.iter().map(|call| format!("{call}\n")).collect();
        fs::write(self.path("picard.calls"), lines)?;
        fs::write(self.path("picard.js"), PICARD_CALLS_SCRIPT)?;
        let mut tool = self.commands.picard.clone();
        if let Some(main) = tool.arguments.last_mut() {
            *main = OsString::from(NASHORN_SHELL);
        }
        let mut command = self.with_words(tool.command(), "picard.js -- picard.calls");
        command
            .env("JAVA_TOOL_OPTIONS", java)
            .env("PATH", self.search_path_with_fake_r()?)
            .stdin(Stdio::null());
        let output = self.run_checked(command)?;
        let ends = String::from_utf8_lossy(&output.stdout).into_owned();
        let end = |line: &str| {
            let (code, said) = line.split_once('\t')?;
            Some((code.parse().ok()?, said.to_string()))
        };
        let ends: Vec<(i32, String)> = ends.lines().filter_map(end).collect();
        ensure!(ends.len() == calls.len(), "{} of {} calls of Picard ended", ends.len(), calls.len());
        Ok(ends)
    }

    pub fn run_peer(&self, tool: &Tool, words: &str) -> Result<String> {
        let mut command = self.peer_command(tool, words);
        command.stdin(Stdio::null());
        self.run_to_end(command)
    }

    pub fn peer_command(&self, tool: &Tool, words: &str) -> Command {
        self.with_words(tool.command(), words)
    }

    pub fn inflate_command(&self, file: &str) -> Command {
        self.with_words(Command::new("gzip"), &format!("-dc {file}"))
    }

    fn with_words(&self, mut command: Command, words: &str) -> Command {
        command.current_dir(&self.directory).args(words.split(' ').filter(|word| !word.is_empty()));
        command
    }

    /// Runs a command to its end and returns its standard error. If it fails, the error has the
    /// command and its last six lines of output.
    pub fn run_to_end(&self, command: Command) -> Result<String> {
        Ok(String::from_utf8_lossy(&self.run_checked(command)?.stderr).into_owned())
    }

    fn run_checked(&self, mut command: Command) -> Result<Output> {
        let shown = command_line(&command);
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

/// Returns a command line as a user would type it: without the shell and JVM options before the
/// program.
pub fn command_line(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    let words: Vec<String> = words.map(|word| word.to_string_lossy().into_owned()).collect();
    let is_program = |word: &String| word.ends_with("/readmill") || word.starts_with("picard.");
    let first = words.iter().position(is_program).unwrap_or(0);
    words[first..].join(" ")
}
