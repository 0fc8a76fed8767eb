//! Tells a release build the commit that it is made of.

use std::path::Path;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    // Other builds would be made anew after each commit.
    if std::env::var("PROFILE").as_deref() != Ok("release") {
        return;
    }
    if let Some(commit) = read_packaged_commit().or_else(describe_checkout) {
        println!("cargo::rustc-env=READMILL_COMMIT={commit}");
    }
}

/// Reads the commit of a package that `cargo package` made.
fn read_packaged_commit() -> Option<String> {
    let text = std::fs::read_to_string(".cargo_vcs_info.json").ok()?;
    let (_, rest) = text.split_once("\"sha1\": \"")?;
    let commit = rest.get(..12)?;
    Some(if text.contains("\"dirty\": true") { format!("{commit}-dirty") } else { commit.into() })
}

/// Describes the commit of this checkout. Outside of a checkout there is none: git would look in the
/// directories above, which may belong to another project.
fn describe_checkout() -> Option<String> {
    if !Path::new(".git").exists() {
        return None;
    }
    println!("cargo::rerun-if-changed=.git/HEAD");
    println!("cargo::rerun-if-changed=.git/logs/HEAD");
    let described =
        Command::new("git").args(["describe", "--always", "--dirty", "--abbrev=12"]).output().ok()?;
    let commit = String::from_utf8(described.stdout).ok()?;
    described.status.success().then(|| commit.trim().to_string())
}
