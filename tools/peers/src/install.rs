//! A program that is ready to run; finding it, asking the system's packages for what is absent, and running package
//! clients.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

/// A peer that is ready to run.
#[derive(Clone, Debug)]
pub struct Tool {
    /// The short name, such as `samtools`.
    pub name: &'static str,
    /// The version the tool itself states (Picard: that of its jar).
    pub version: String,
    program: PathBuf,
    /// Arguments before those of a call.
    pub arguments: Vec<OsString>,
    /// Additional environment variables.
    pub environment: Vec<(&'static str, OsString)>,
}

impl Tool {
    /// A tool that needs only its program.
    pub fn plain(name: &'static str, program: PathBuf, version: String) -> Self {
        Tool { name, version, program, arguments: Vec::new(), environment: Vec::new() }
    }

    /// A command to which the tool's own arguments are added (samtools, fgumi: the subcommand first;
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

/// The program's place, after installing its package where it is absent and this process may.
pub fn on_path_or_apt(program: &str, package: &str) -> Result<PathBuf> {
    if let Some(found) = on_path(program) {
        return Ok(found);
    }
    apt(&format!("{program} is not on the PATH"), package)?;
    on_path(program)
        .with_context(|| format!("package {package} is installed, yet {program} is not on the PATH"))
}

/// Sees to it that the C compiler finds a header, by installing its package where it is absent and
/// this process may.
pub fn header_or_apt(compiler: &Path, header: &str, package: &str) -> Result<()> {
    let is_found = || {
        let mut command = Command::new(compiler);
        command.args(["-fsyntax-only", "-include", header, "-x", "c", "/dev/null"]);
        let status = command.stdin(Stdio::null()).stderr(Stdio::null()).status();
        status.is_ok_and(|status| status.success())
    };
    if is_found() {
        return Ok(());
    }
    apt(&format!("the C compiler does not find {header}"), package)?;
    if !is_found() {
        bail!("package {package} is installed, yet the C compiler does not find {header}");
    }
    Ok(())
}

/// Installs a system package, or returns an error that says what the user can do about `lack`.
fn apt(lack: &str, package: &str) -> Result<()> {
    if !is_root() || on_path("apt-get").is_none() {
        bail!("{lack}; install it, for instance with: sudo apt-get install {package}");
    }
    eprintln!("peers: apt-get install {package}");
    // An old list often works; if not, the install reports the error.
    let _ = run(Command::new("apt-get").args(["-q", "update"]));
    run(Command::new("apt-get")
        .env("DEBIAN_FRONTEND", "noninteractive")
        .args(["-q", "install", "-y", package]))
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

/// Cargo: the one that runs this program, where one does.
pub fn cargo() -> Command {
    Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}

/// Runs a package client; what it prints goes to stderr and becomes part of the error.
pub fn run(command: &mut Command) -> Result<()> {
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

/// Puts the sources of a crate into `build/vendor`, by a package that depends on it.
pub fn vendored(build: &Path, name: &str, version: &str) -> Result<()> {
    // Its own workspace, so that Cargo does not count it as a part of readmill's.
    let manifest = format!(
        "[package]\nname = \"peer\"\nversion = \"0.0.0\"\nedition = \"2021\"\n[lib]\npath = \"lib.rs\"\n\
         [dependencies]\n{name} = \"={version}\"\n[workspace]\n"
    );
    fs::write(build.join("Cargo.toml"), manifest)?;
    fs::write(build.join("lib.rs"), "")?;
    run(cargo().current_dir(build).args(["vendor", "--quiet", "vendor"]))
}

/// Runs `make` in a directory, on all cores.
pub fn make(directory: &Path, arguments: &[&str]) -> Result<()> {
    let make = on_path_or_apt("make", "make")?;
    let jobs = std::thread::available_parallelism().map_or(1, |jobs| jobs.get());
    run(Command::new(make).current_dir(directory).arg(format!("-j{jobs}")).args(arguments))
}

/// Returns stdout and stderr of a command together, whether it succeeds or not.
pub fn output_of(command: &mut Command) -> Result<String> {
    let shown = format!("{command:?}");
    let output =
        command.stdin(Stdio::null()).output().with_context(|| format!("cannot start {shown}"))?;
    let mut text = String::from_utf8_lossy(&output.stdout).into_owned();
    text.push_str(&String::from_utf8_lossy(&output.stderr));
    Ok(text)
}

/// The first word that starts with a digit behind the word `mark`.
pub fn word_after(text: &str, mark: &str) -> Option<String> {
    let mut words = text.split_whitespace().skip_while(|word| *word != mark).skip(1);
    words.find(|word| word.starts_with(|first: char| first.is_ascii_digit())).map(str::to_owned)
}

/// An empty directory; removes files of an interrupted install.
pub fn fresh_directory(path: &Path) -> Result<()> {
    if path.exists() {
        fs::remove_dir_all(path).with_context(|| format!("cannot clear {}", path.display()))?;
    }
    fs::create_dir_all(path).with_context(|| format!("cannot make {}", path.display()))
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
        assert_eq!(word_after("samblaster: Version 0.1.26", "Version").as_deref(), Some("0.1.26"));
        assert_eq!(word_after("nothing", "version"), None);
    }
}
