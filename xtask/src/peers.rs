//! The programs readmill is compared with: found on this machine, or installed by their ordinary
//! package clients (apt, Maven, Go), by name.
//!
//! samtools and sambamba come from the PATH, or from `apt-get` when this process is root. Picard
//! comes by Maven and elPrep by Go, each at one fixed version, into `target/peers` (below
//! `CARGO_TARGET_DIR` where that is set), so that they are fetched once and go with `cargo clean`.
//! Nothing is fetched before a tool is asked for.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};

use anyhow::{Context, Result, bail};

/// The Picard release whose duplicate marks are the reference.
pub const PICARD: &str = "3.4.0";
/// The elPrep release that is measured against.
pub const ELPREP: &str = "5.1.3";

const PICARD_MAIN: &str = "picard.cmdline.PicardCommandLine";

/// One install at a time inside a process.
static INSTALLING: Mutex<()> = Mutex::new(());

/// A peer that is ready to run.
#[derive(Clone, Debug)]
pub struct Tool {
    /// The short name, such as `samtools`.
    pub name: &'static str,
    /// The version the tool itself states (Picard: that of its jar).
    pub version: String,
    program: PathBuf,
    arguments: Vec<OsString>,
    environment: Vec<(&'static str, OsString)>,
}

impl Tool {
    /// A command to which the tool's own arguments are added (samtools: the subcommand first;
    /// Picard: the name of the Picard tool first; options for Java itself go in by the
    /// variable `JAVA_TOOL_OPTIONS`).
    pub fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command.args(&self.arguments);
        for (key, value) in &self.environment {
            command.env(key, value);
        }
        command
    }
}

/// The place where peers are kept.
#[derive(Clone, Debug)]
pub struct Peers {
    cache: PathBuf,
}

impl Peers {
    /// Peers in `target/peers` of this workspace; makes the directory.
    pub fn new() -> Result<Self> {
        let target = match std::env::var_os("CARGO_TARGET_DIR") {
            Some(directory) if !directory.is_empty() => PathBuf::from(directory),
            _ => Path::new(env!("CARGO_MANIFEST_DIR"))
                .parent()
                .context("xtask has no parent directory")?
                .join("target"),
        };
        Self::at(target.join("peers"))
    }

    /// Peers in a directory of the caller's choice; makes the directory.
    pub fn at(cache: impl Into<PathBuf>) -> Result<Self> {
        let cache = cache.into();
        fs::create_dir_all(&cache).with_context(|| format!("cannot make {}", cache.display()))?;
        // Absolute, since callers may run the tools in another directory.
        let cache = cache.canonicalize()?;
        Ok(Self { cache })
    }

    /// samtools, whatever version the PATH or the system's packages have.
    pub fn samtools(&self) -> Result<Tool> {
        let program = on_path_or_apt("samtools", "samtools")?;
        let text = output_of(Command::new(&program).arg("--version"))?;
        let version = word_after(&text, "samtools").context("samtools states no version")?;
        Ok(plain("samtools", program, version))
    }

    /// sambamba, whatever version the PATH or the system's packages have.
    pub fn sambamba(&self) -> Result<Tool> {
        let program = on_path_or_apt("sambamba", "sambamba")?;
        let text = output_of(Command::new(&program).arg("--version"))?;
        let version = word_after(&text, "sambamba").context("sambamba states no version")?;
        Ok(plain("sambamba", program, version))
    }

    /// Picard at [`PICARD`], by Maven.
    pub fn picard(&self) -> Result<Tool> {
        let java = on_path_or_apt("java", "openjdk-17-jre-headless")?;
        let home = self.cache.join(format!("picard-{PICARD}"));
        let libraries = home.join("lib");
        let jar = libraries.join(format!("picard-{PICARD}.jar"));
        // The stamp comes last: a directory without it is an install that was cut short.
        let stamp = home.join("complete");
        let guard = INSTALLING.lock().unwrap_or_else(PoisonError::into_inner);
        if !(stamp.exists() && jar.exists()) {
            let maven = on_path_or_apt("mvn", "maven")?;
            fs::create_dir_all(&home)?;
            let pom = home.join("pom.xml");
            fs::write(&pom, picard_pom())?;
            eprintln!("peers: fetching Picard {PICARD} by Maven into {}", home.display());
            let mut output = OsString::from("-DoutputDirectory=");
            output.push(&libraries);
            run(Command::new(maven)
                .args(["-q", "-B", "-f"])
                .arg(&pom)
                .args(["dependency:copy-dependencies", "-DincludeScope=runtime"])
                .arg(output))?;
            if !jar.exists() {
                bail!("Maven ended well but {} is not there", jar.display());
            }
            fs::write(&stamp, "")?;
        }
        drop(guard);
        let mut arguments = vec![OsString::from("-cp"), libraries.join("*").into_os_string()];
        arguments.push(PICARD_MAIN.into());
        Ok(Tool {
            name: "picard",
            version: PICARD.to_owned(),
            program: java,
            arguments,
            environment: Vec::new(),
        })
    }

    /// elPrep at [`ELPREP`], built by Go. It writes logs below `$HOME`, so it runs with a home of
    /// its own inside the cache.
    pub fn elprep(&self) -> Result<Tool> {
        let directory = self.cache.join(format!("elprep-{ELPREP}"));
        let program = directory.join("elprep");
        let guard = INSTALLING.lock().unwrap_or_else(PoisonError::into_inner);
        if !program.exists() {
            let go = on_path_or_apt("go", "golang-go")?;
            fs::create_dir_all(&directory)?;
            // Not `go install module@version`: that also reads the module's list of versions,
            // which not every proxy serves. A module that requires one version needs no list.
            fs::write(directory.join("go.mod"), elprep_module())?;
            fs::write(directory.join("tools.go"), ELPREP_TOOLS)?;
            eprintln!("peers: building elPrep {ELPREP} by Go in {}", directory.display());
            let partial = directory.join("elprep.partial");
            run(Command::new(go)
                .current_dir(&directory)
                .args(["build", "-mod=mod", "-o"])
                .arg(&partial)
                .arg("github.com/exascience/elprep/v5"))?;
            fs::rename(&partial, &program)?;
        }
        drop(guard);
        let home = directory.join("home");
        fs::create_dir_all(&home)?;
        // Without a command elPrep states its version and ends with a failure.
        let output = Command::new(&program).env("HOME", &home).output()?;
        let mut text = String::from_utf8_lossy(&output.stdout).into_owned();
        text.push_str(&String::from_utf8_lossy(&output.stderr));
        let version = word_after(&text, "version").context("elPrep states no version")?;
        let mut tool = plain("elprep", program, version);
        tool.environment.push(("HOME", home.into_os_string()));
        Ok(tool)
    }
}

fn plain(name: &'static str, program: PathBuf, version: String) -> Tool {
    Tool { name, version, program, arguments: Vec::new(), environment: Vec::new() }
}

fn picard_pom() -> String {
    format!(
        r#"<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>readmill.peers</groupId>
  <artifactId>picard-peer</artifactId>
  <version>1</version>
  <packaging>pom</packaging>
  <dependencies>
    <dependency>
      <groupId>com.github.broadinstitute</groupId>
      <artifactId>picard</artifactId>
      <version>{PICARD}</version>
    </dependency>
  </dependencies>
</project>
"#
    )
}

fn elprep_module() -> String {
    format!("module readmillpeers\n\ngo 1.16\n\nrequire github.com/exascience/elprep/v5 v{ELPREP}\n")
}

/// Names elPrep as something the module needs; never compiled itself.
const ELPREP_TOOLS: &str =
    "//go:build tools\n\npackage tools\n\nimport _ \"github.com/exascience/elprep/v5\"\n";

/// The program's place, after installing its package where it is absent and this process may.
fn on_path_or_apt(program: &str, package: &str) -> Result<PathBuf> {
    if let Some(found) = on_path(program) {
        return Ok(found);
    }
    if !is_root() || on_path("apt-get").is_none() {
        bail!(
            "{program} is not on the PATH; install it, for instance with: sudo apt-get install {package}"
        );
    }
    eprintln!("peers: apt-get install {package}");
    // A stale list still serves often enough; the install says what is wrong if not.
    let _ = run(Command::new("apt-get").args(["-q", "update"]));
    run(Command::new("apt-get")
        .env("DEBIAN_FRONTEND", "noninteractive")
        .args(["-q", "install", "-y", package]))?;
    on_path(program)
        .with_context(|| format!("package {package} is installed, yet {program} is not on the PATH"))
}

fn on_path(program: &str) -> Option<PathBuf> {
    use std::os::unix::fs::PermissionsExt;
    std::env::split_paths(&std::env::var_os("PATH")?).map(|directory| directory.join(program)).find(
        |path| {
            fs::metadata(path).is_ok_and(|data| data.is_file() && data.permissions().mode() & 0o111 != 0)
        },
    )
}

fn is_root() -> bool {
    output_of(Command::new("id").arg("-u")).is_ok_and(|text| text.trim() == "0")
}

/// Runs a package client; what it prints goes to stderr and becomes part of the error.
fn run(command: &mut Command) -> Result<()> {
    let shown = format!("{command:?}");
    let output =
        command.stdin(Stdio::null()).output().with_context(|| format!("cannot start {shown}"))?;
    if !output.status.success() {
        let mut text = String::from_utf8_lossy(&output.stdout).into_owned();
        text.push_str(&String::from_utf8_lossy(&output.stderr));
        let lines: Vec<&str> = text.lines().collect();
        let tail = lines[lines.len().saturating_sub(15)..].join("\n");
        bail!("{shown} failed ({}):\n{tail}", output.status);
    }
    Ok(())
}

/// What a command prints, stdout and stderr together.
fn output_of(command: &mut Command) -> Result<String> {
    let shown = format!("{command:?}");
    let output =
        command.stdin(Stdio::null()).output().with_context(|| format!("cannot start {shown}"))?;
    let mut text = String::from_utf8_lossy(&output.stdout).into_owned();
    text.push_str(&String::from_utf8_lossy(&output.stderr));
    Ok(text)
}

/// The first word that starts with a digit behind the word `mark`.
fn word_after(text: &str, mark: &str) -> Option<String> {
    let mut words = text.split_whitespace().skip_while(|word| *word != mark).skip(1);
    words.find(|word| word.starts_with(|first: char| first.is_ascii_digit())).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::word_after;

    #[test]
    fn versions_are_read_from_what_the_tools_print() {
        assert_eq!(
            word_after("samtools 1.16.1\nUsing htslib 1.16", "samtools").as_deref(),
            Some("1.16.1")
        );
        assert_eq!(word_after("\nsambamba 1.0.0\n by", "sambamba").as_deref(), Some("1.0.0"));
        assert_eq!(
            word_after("elprep version 5.1.3 compiled with go1.26", "version").as_deref(),
            Some("5.1.3")
        );
        assert_eq!(word_after("nothing", "version"), None);
    }
}
