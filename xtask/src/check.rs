//! The rules of the house, checked on the source: which crate may use which, how long a file may be,
//! where threads may start and `unsafe` may stand, and that documents name paths that exist.
//!
//! Only what the compiler and clippy cannot say is here. A rule names the file, the line and what to do.

mod circles;
mod crates;
mod documents;
mod files;
mod source;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use source::Source;

/// There is nothing to choose.
#[derive(clap::Args)]
pub struct Args {}

/// Where Rust source lies, below the root of the workspace.
const PLACES: [&str; 5] = ["src", "tests", "crates", "xtask", "fuzz"];

/// Checks every rule and lists what breaks one.
pub fn run(_: Args) -> Result<()> {
    let root =
        Path::new(env!("CARGO_MANIFEST_DIR")).parent().context("xtask has no parent directory")?;
    let sources = read_sources(root)?;
    let mut findings = crates::manifests(root)?;
    findings.extend(crates::sources(&sources));
    findings.extend(sources.iter().flat_map(files::check));
    findings.extend(circles::check(&sources));
    findings.extend(documents::check(root)?);
    for finding in &findings {
        println!("{finding}");
    }
    if !findings.is_empty() {
        bail!("{} places break a rule of the house", findings.len());
    }
    println!("{} files keep the rules of the house", sources.len());
    Ok(())
}

fn read_sources(root: &Path) -> Result<Vec<Source>> {
    let mut paths = Vec::new();
    for place in PLACES.map(|place| root.join(place)).iter().filter(|place| place.is_dir()) {
        collect(place, &mut paths)?;
    }
    paths.sort();
    let read = |path: PathBuf| {
        let text =
            std::fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
        let shown = path.strip_prefix(root).unwrap_or(&path).to_path_buf();
        Ok(Source::new(shown, text))
    };
    paths.into_iter().map(read).collect()
}

/// Adds the Rust files below a directory, leaving out what builds leave behind.
fn collect(directory: &Path, paths: &mut Vec<PathBuf>) -> Result<()> {
    for entry in std::fs::read_dir(directory)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if path.is_dir() && name != "target" && !name.starts_with('.') {
            collect(&path, paths)?;
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            paths.push(path);
        }
    }
    Ok(())
}
