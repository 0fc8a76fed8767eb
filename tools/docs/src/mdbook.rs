//! mdBook, which makes the pages of the site.

use std::path::{Path, PathBuf};
use std::process::{Child, Command};

use anyhow::{Context, Result, ensure};
use readmill_peers::target_directory;

/// Design note 0022 says why mdBook was chosen.
const VERSION: &str = "0.5.4";

/// Finds mdBook in the build directory. Installs it there if it is missing or has another version.
pub fn find_or_install() -> Result<PathBuf> {
    let home = target_directory().join("tools");
    let program = home.join("bin/mdbook");
    let version = Command::new(&program).arg("--version").output().map(|output| output.stdout);
    if version.is_ok_and(|version| version.trim_ascii() == format!("mdbook v{VERSION}").as_bytes()) {
        return Ok(program);
    }
    println!("installing mdBook {VERSION} into {}; this takes a few minutes, once", home.display());
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    // A debug build makes the site in seconds, and is built in half the time.
    let status = Command::new(cargo)
        .args(["install", "--locked", "--debug", "--quiet", "--root"])
        .arg(&home)
        .arg(format!("mdbook@{VERSION}"))
        .status()
        .context("cannot start Cargo")?;
    ensure!(status.success(), "mdBook cannot be installed");
    Ok(program)
}

/// Builds the site from the staged files.
pub fn build_site(program: &Path, staged: &Path, site: &Path) -> Result<()> {
    let status = Command::new(program)
        .arg("build")
        .arg(staged)
        .arg("--dest-dir")
        .arg(site)
        .env("MDBOOK_LOG", "warn")
        .status()
        .with_context(|| format!("cannot start {}", program.display()))?;
    ensure!(status.success(), "mdBook failed");
    Ok(())
}

/// Starts a server of the site, which builds it again when a staged file changes.
pub fn start_server(program: &Path, staged: &Path, site: &Path, port: u16) -> Result<Child> {
    Command::new(program)
        .arg("serve")
        .arg(staged)
        .arg("--dest-dir")
        .arg(site)
        .args(["--port", &port.to_string()])
        .spawn()
        .with_context(|| format!("cannot start {}", program.display()))
}
