//! Tells a release build the commit that it is made of.

use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    // Other builds would be made anew after each commit.
    if std::env::var("PROFILE").as_deref() != Ok("release") {
        return;
    }
    println!("cargo::rerun-if-changed=.git/HEAD");
    println!("cargo::rerun-if-changed=.git/logs/HEAD");
    let commit = Command::new("git").args(["describe", "--always", "--dirty", "--abbrev=12"]).output();
    if let Ok(commit) = commit
        && commit.status.success()
        && let Ok(commit) = String::from_utf8(commit.stdout)
    {
        println!("cargo::rustc-env=READMILL_COMMIT={}", commit.trim());
    }
}
