//! Rules that the compiler, clippy and Cargo cannot hold: imports do not go in a circle, no file is too long, and documents
//! name paths that exist.

mod circles;
mod documents;
mod files;

use std::path::Path;

use anyhow::{Context, Result, bail};

/// Options of `check`: there are none.
#[derive(clap::Args)]
pub struct Args {}

/// Checks every rule and prints the places that break one.
pub fn run(_: Args) -> Result<()> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().context("xtask has no parent")?;
    let mut files = Vec::new();
    for place in files::PLACES {
        files::collect(&root.join(place), &mut files)?;
    }
    files.sort();
    let mut findings = circles::check(root, &files)?;
    for file in &files {
        findings.extend(files::check_length(file)?);
    }
    findings.extend(documents::check(root)?);
    for finding in &findings {
        println!("{}", finding.replace(&format!("{}/", root.display()), ""));
    }
    if !findings.is_empty() {
        bail!("{} places break a rule", findings.len());
    }
    println!("{} files keep the rules", files.len());
    Ok(())
}
