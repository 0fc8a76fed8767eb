//! The two source trees that are built: the base revision, and the working tree including
//! uncommitted changes, each in its own copy.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail, ensure};

/// Version number of both trees, so that `VN` of `@PG` is the same.
const VERSION: &str = "0.0.0";

/// A copy of a source tree, and its build. Both are kept for the next call.
pub struct Tree {
    source: PathBuf,
    target: PathBuf,
}

impl Tree {
    pub fn at(directory: &Path) -> Self {
        Self { source: directory.join("source"), target: directory.join("target") }
    }

    pub fn copy_revision(&self, root: &Path, revision: &str) -> Result<()> {
        let unpacked = tempfile::tempdir()?;
        let mut git = Command::new("git");
        let git = git.current_dir(root).args(["archive", "--format=tar", revision]);
        let mut git = git.stdout(Stdio::piped()).spawn().context("git does not start")?;
        let packed = git.stdout.take().context("git has no output")?;
        let tar = Command::new("tar").arg("-x").arg("-C").arg(unpacked.path()).stdin(packed).status();
        let is_unpacked = tar.context("tar does not start")?.success();
        ensure!(git.wait()?.success() && is_unpacked, "cannot take the files of {revision} from git");
        let mut names = Vec::new();
        list_files(unpacked.path(), Path::new(""), &mut names)?;
        self.mirror_files(unpacked.path(), &names)
    }

    /// Copies the working tree: files in git's index, and untracked files that are not ignored.
    pub fn copy_working_tree(&self, root: &Path) -> Result<()> {
        let arguments = ["ls-files", "-z", "--cached", "--others", "--exclude-standard"];
        let listed = Command::new("git").current_dir(root).args(arguments).output()?;
        ensure!(listed.status.success(), "git does not list the files of {}", root.display());
        let names = listed.stdout.split(|&byte| byte == 0).filter(|name| !name.is_empty());
        let names = names.map(|name| PathBuf::from(OsStr::from_bytes(name)));
        let names: Vec<PathBuf> = names.filter(|name| root.join(name).is_file()).collect();
        self.mirror_files(root, &names)
    }

    /// Makes the copy contain exactly these files. Unchanged files keep their modification time, so
    /// that Cargo does not rebuild them.
    fn mirror_files(&self, from: &Path, names: &[PathBuf]) -> Result<()> {
        fs::create_dir_all(&self.source)?;
        let mut old = Vec::new();
        list_files(&self.source, Path::new(""), &mut old)?;
        let wanted: BTreeSet<&PathBuf> = names.iter().collect();
        for name in old.iter().filter(|name| !wanted.contains(name)) {
            let file = self.source.join(name);
            fs::remove_file(&file)?;
            // Empty directories are removed as well, because Cargo could treat them as crates.
            let above = file.ancestors().skip(1).take_while(|above| *above != self.source);
            above.map_while(|above| fs::remove_dir(above).ok()).for_each(drop);
        }
        for name in names {
            let path = from.join(name);
            let mut bytes =
                fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
            if name == Path::new("Cargo.toml") {
                bytes = mask_version(&String::from_utf8(bytes)?)?.into_bytes();
            }
            let copy = self.source.join(name);
            if fs::read(&copy).is_ok_and(|there| there == bytes) {
                continue;
            }
            fs::create_dir_all(copy.parent().context("a file without a directory")?)?;
            fs::write(&copy, bytes).with_context(|| format!("cannot write {}", copy.display()))?;
        }
        Ok(())
    }

    fn is_cold(&self) -> bool {
        !self.target.join("debug/.fingerprint").is_dir()
    }

    /// Copies the built dependencies of another tree, unless this tree was already built. The
    /// crates of the workspace are rebuilt.
    pub fn seed_build_from(&self, other: &Path) -> Result<()> {
        if !self.is_cold() || !other.join("debug/.fingerprint").is_dir() {
            return Ok(());
        }
        let debug = self.target.join("debug");
        fs::create_dir_all(&debug)?;
        // The fingerprints get their name last: without them, Cargo rebuilds everything.
        let fingerprints = debug.join(".fingerprint.copy");
        for (part, copy) in [("deps", &debug), ("build", &debug), (".fingerprint", &fingerprints)] {
            let mut copied = Command::new("cp");
            copied.args(["-a", "--"]).arg(other.join("debug").join(part)).arg(copy);
            ensure!(copied.status()?.success(), "cannot copy {part} of {}", other.display());
        }
        // Cargo identifies a crate of the workspace by its path in the workspace, so it would take
        // those of the other tree for this tree's.
        for entry in fs::read_dir(&fingerprints)? {
            let entry = entry?;
            if entry.file_name().as_bytes().starts_with(b"readmill") {
                fs::remove_dir_all(entry.path())?;
            }
        }
        fs::rename(&fingerprints, debug.join(".fingerprint"))?;
        Ok(())
    }

    pub fn target(&self) -> &Path {
        &self.target
    }

    pub fn build(&self, features: &[String]) -> Result<PathBuf> {
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let mut command = Command::new(cargo);
        command.current_dir(&self.source).env("CARGO_TARGET_DIR", &self.target);
        command.args(["build", "--quiet", "--package", "readmill", "--bin", "readmill"]);
        if !features.is_empty() {
            command.arg("--features").arg(features.join(","));
        }
        if !command.status().context("cargo does not start")?.success() {
            bail!("{} does not build", self.source.display());
        }
        Ok(self.target.join("debug/readmill").canonicalize()?)
    }
}

/// Returns the manifest with [`VERSION`] for the version of the workspace, also where crates of the
/// workspace are named as dependencies.
fn mask_version(manifest: &str) -> Result<String> {
    let mut section = "";
    let (mut versions, mut lines) = (Vec::new(), Vec::new());
    for line in manifest.lines() {
        if line.starts_with('[') {
            section = line.trim_end();
        }
        let version = line.strip_prefix("version = \"").and_then(|rest| rest.strip_suffix('"'));
        if section == "[workspace.package]"
            && let Some(version) = version
        {
            versions.push(version);
            lines.push(format!("version = \"{VERSION}\""));
        } else {
            lines.push(line.to_owned());
        }
    }
    let count = versions.len();
    let [version] = versions[..] else {
        bail!("Cargo.toml states {count} versions of the workspace, and must state one")
    };
    // Crates depend on each other by the exact version.
    let text = lines.join("\n") + "\n";
    Ok(text.replace(&format!("version = \"={version}\""), &format!("version = \"={VERSION}\"")))
}

fn list_files(root: &Path, below: &Path, names: &mut Vec<PathBuf>) -> Result<()> {
    for entry in fs::read_dir(root.join(below))? {
        let entry = entry?;
        let name = below.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            list_files(root, &name, names)?;
        } else {
            names.push(name);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_of_the_workspace_alone_is_masked() {
        let manifest = "[workspace.package]\nversion = \"0.2.0-dev\"\nedition = \"2024\"\n\n[dependencies]\n\
                        clap = { version = \"4.5\" }\nengine = { version = \"=0.2.0-dev\" }\n[x]\nversion = \"1\"\n";
        let masked = manifest.replace("0.2.0-dev", "0.0.0");
        assert_eq!(mask_version(manifest).unwrap(), masked);
        assert!(mask_version("[package]\nversion = \"1\"\n").is_err());
    }

    #[test]
    fn a_copy_follows_its_tree_and_touches_only_what_changed() {
        let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let write = |name: &str, text: &str| {
            let path = from.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        let tree = Tree::at(to.path());
        let copy = |name: &str| to.path().join("source").join(name);
        write("Cargo.toml", "[workspace.package]\nversion = \"1.2.3\"\n");
        write("src/a.rs", "a");
        write("old/crate/b.rs", "b");
        let names = ["Cargo.toml", "src/a.rs", "old/crate/b.rs"].map(PathBuf::from);
        tree.mirror_files(from.path(), &names).unwrap();
        assert_eq!(
            fs::read_to_string(copy("Cargo.toml")).unwrap(),
            "[workspace.package]\nversion = \"0.0.0\"\n"
        );

        let long_ago = std::time::SystemTime::UNIX_EPOCH;
        for name in ["Cargo.toml", "src/a.rs"] {
            let file = fs::File::options().write(true).open(copy(name)).unwrap();
            file.set_modified(long_ago).unwrap();
        }
        write("src/a.rs", "A");
        tree.mirror_files(from.path(), &names[..2]).unwrap();
        assert_eq!(fs::read_to_string(copy("src/a.rs")).unwrap(), "A");
        assert!(fs::metadata(copy("src/a.rs")).unwrap().modified().unwrap() > long_ago);
        assert_eq!(fs::metadata(copy("Cargo.toml")).unwrap().modified().unwrap(), long_ago);
        assert!(!copy("old").exists());
    }
}
