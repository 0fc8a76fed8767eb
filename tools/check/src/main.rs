//! Rules that the compiler, clippy and Cargo cannot enforce: no circular imports, no add-on names
//! in the core, no file too long, documents name existing paths, and names and docs follow the
//! rules of [`words`]. `readmill-check picture` draws the crates and modules into
//! docs/ARCHITECTURE.md, and `readmill-check rows` writes the index of accepted differences into
//! docs/parity.md.

#![cfg_attr(test, allow(clippy::unwrap_used))]

mod circles;
mod documents;
mod drawn;
mod files;
mod memory;
mod picture;
mod rings;
mod rows;
mod test_programs;
mod words;

use std::path::Path;

use anyhow::{Context, Result, bail};

/// Checks every rule and prints all violations.
fn main() -> Result<()> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).context("no workspace")?;
    match std::env::args().nth(1).as_deref() {
        Some("picture") => return picture::write(root),
        Some("rows") => return rows::write(root),
        Some(other) => bail!("there is no command {other}: the commands are picture and rows"),
        None => {}
    }
    let mut files = Vec::new();
    for place in files::SOURCE_DIRECTORIES {
        files::collect(&root.join(place), &mut files)?;
    }
    files.sort();
    let mut findings = circles::check(root, &files)?;
    for file in &files {
        findings.extend(files::check_length(file)?);
    }
    findings.extend(memory::check(root, &files)?);
    findings.extend(rings::check(root, &files)?);
    findings.extend(test_programs::check(root, &files)?);
    findings.extend(words::check(root, &files)?);
    findings.extend(documents::check(root)?);
    findings.extend(picture::check(root)?);
    findings.extend(rows::check(root)?);
    for finding in &findings {
        println!("{}", finding.replace(&format!("{}/", root.display()), ""));
    }
    if !findings.is_empty() {
        bail!("{} places break a rule", findings.len());
    }
    println!("{} files keep the rules", files.len());
    Ok(())
}
