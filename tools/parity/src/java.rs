//! Runs Java programs of `tests/oracles/java` from their source, with GATK's classes.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};
use readmill_peers::{Peers, workspace};

/// Returns the path of a Java program.
pub fn java_source(name: &str) -> PathBuf {
    workspace().join("tests/oracles/java").join(name)
}

/// Returns what the program prints. It needs a JDK 17, and an Intel processor, because the last bit of
/// Java's logarithms depends on the maker of the processor.
pub fn run_java_source<A: AsRef<OsStr>>(peers: &Peers, source: &Path, words: &[A]) -> Result<String> {
    if let Some(why) = missing_for_java_source()? {
        bail!(why);
    }
    let mut tool = peers.gatk()?;
    if let Some(main) = tool.arguments.last_mut() {
        *main = source.into();
    }
    let output = tool.command().args(words).output()?;
    let errors = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{} failed: {errors}", source.display());
    Ok(String::from_utf8(output.stdout)?)
}

/// Returns why this machine cannot run such programs, or `None` if it can.
pub fn missing_for_java_source() -> Result<Option<String>> {
    let processor = fs::read_to_string("/proc/cpuinfo").context("/proc/cpuinfo")?;
    if !processor.contains("GenuineIntel") {
        return Ok(Some("the expected results are those of an Intel processor".to_owned()));
    }
    let Ok(version) = Command::new("javac").arg("-version").output() else {
        return Ok(Some("no javac; install a JDK 17 (openjdk-17-jdk-headless)".to_owned()));
    };
    let version = String::from_utf8_lossy(&version.stdout).into_owned();
    Ok((!version.starts_with("javac 17."))
        .then(|| format!("the expected results are those of Java 17, not of {}", version.trim())))
}
