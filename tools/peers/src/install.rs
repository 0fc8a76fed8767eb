//! A program that is ready to run, and helpers to find, fetch and build programs.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

#[derive(Clone, Debug)]
pub struct Tool {
    pub name: &'static str,
    pub version: String,
    program: PathBuf,
    pub arguments: Vec<OsString>,
    pub environment: Vec<(&'static str, OsString)>,
}

impl Tool {
    pub fn without_arguments(name: &'static str, program: PathBuf, version: String) -> Self {
        Tool { name, version, program, arguments: Vec::new(), environment: Vec::new() }
    }

    /// Returns a command to which the caller adds arguments. For samtools and fgumi the first
    /// argument is the subcommand, for Picard the name of the Picard tool. Java's own options go
    /// into the environment variable `JAVA_TOOL_OPTIONS`.
    pub fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command.args(&self.arguments);
        for (key, value) in &self.environment {
            command.env(key, value);
        }
        command
    }
}

/// Returns the path of a program. If it is not on the PATH, installs its package, which needs root.
pub fn find_or_install(program: &str, package: &str) -> Result<PathBuf> {
    if let Some(found) = find_on_path(program) {
        return Ok(found);
    }
    install_package(&format!("{program} is not on the PATH"), package)?;
    find_on_path(program)
        .with_context(|| format!("package {package} is installed, yet {program} is not on the PATH"))
}

/// Ensures that the C compiler finds a header. If not, installs its package, which needs root.
pub fn ensure_header(compiler: &Path, header: &str, package: &str) -> Result<()> {
    let is_found = || {
        let mut command = Command::new(compiler);
        command.args(["-fsyntax-only", "-include", header, "-x", "c", "/dev/null"]);
        let status = command.stdin(Stdio::null()).stderr(Stdio::null()).status();
        status.is_ok_and(|status| status.success())
    };
    if is_found() {
        return Ok(());
    }
    install_package(&format!("the C compiler does not find {header}"), package)?;
    if !is_found() {
        bail!("package {package} is installed, yet the C compiler does not find {header}");
    }
    Ok(())
}

/// Installs a system package. Without root, returns an error that says what is missing and how to
/// install it.
fn install_package(lack: &str, package: &str) -> Result<()> {
    if !is_root() || find_on_path("apt-get").is_none() {
        bail!("{lack}; install it, for instance with: sudo apt-get install {package}");
    }
    eprintln!("peers: apt-get install {package}");
    // An outdated package list often suffices; if not, the installation reports the error.
    let _ = run_client(Command::new("apt-get").args(["-q", "update"]));
    run_client(
        Command::new("apt-get")
            .env("DEBIAN_FRONTEND", "noninteractive")
            .args(["-q", "install", "-y", package]),
    )
}

fn find_on_path(program: &str) -> Option<PathBuf> {
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

pub fn cargo() -> Command {
    Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}

/// Runs a package client. Its output is only shown if it fails, as part of the error.
pub fn run_client(command: &mut Command) -> Result<()> {
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

/// Downloads the sources of a crate into `build/vendor`, using a package that depends on it.
pub fn vendor_crate(build: &Path, name: &str, version: &str) -> Result<()> {
    // A workspace of its own, so that Cargo does not treat the package as a member of readmill's.
    let manifest = format!(
        "[package]\nname = \"peer\"\nversion = \"0.0.0\"\nedition = \"2021\"\n[lib]\npath = \"lib.rs\"\n\
         [dependencies]\n{name} = \"={version}\"\n[workspace]\n"
    );
    fs::write(build.join("Cargo.toml"), manifest)?;
    fs::write(build.join("lib.rs"), "")?;
    run_client(cargo().current_dir(build).args(["vendor", "--quiet", "vendor"]))
}

pub fn run_make(directory: &Path, arguments: &[&str]) -> Result<()> {
    let make = find_or_install("make", "make")?;
    let jobs = std::thread::available_parallelism().map_or(1, |jobs| jobs.get());
    run_client(Command::new(make).current_dir(directory).arg(format!("-j{jobs}")).args(arguments))
}

/// Returns standard output and standard error together, even if the command fails.
pub fn output_of(command: &mut Command) -> Result<String> {
    let shown = format!("{command:?}");
    let output =
        command.stdin(Stdio::null()).output().with_context(|| format!("cannot start {shown}"))?;
    let mut text = String::from_utf8_lossy(&output.stdout).into_owned();
    text.push_str(&String::from_utf8_lossy(&output.stderr));
    Ok(text)
}

/// Returns the first word after `mark` that starts with a digit.
pub fn word_after(text: &str, mark: &str) -> Option<String> {
    let mut words = text.split_whitespace().skip_while(|word| *word != mark).skip(1);
    words.find(|word| word.starts_with(|first: char| first.is_ascii_digit())).map(str::to_owned)
}

/// Creates an empty directory, removing the files of an interrupted installation.
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
