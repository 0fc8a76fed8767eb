//! Peers that are compiled here: by Cargo, by Go, or by their own Makefiles from sources in a
//! crate.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};

use super::install::{
    Tool, cargo, ensure_header, find_or_install, fresh_directory, output_of, run_client, run_make,
    vendor_crate, word_after,
};

pub struct Crate {
    pub name: &'static str,
    /// Name of the program, which it prints before its version.
    pub program: &'static str,
    pub version: &'static str,
}

/// Sorts BAM files. Needs Rust 1.93, which is newer than readmill's minimum; Cargo reports an older
/// Rust.
pub const FGUMI: Crate = Crate { name: "fgumi", program: "fgumi", version: "0.9.0" };

/// Marks duplicates in a pipe after an aligner.
pub const DUPBLASTER: Crate = Crate { name: "dupblaster", program: "dupblaster", version: "0.3.0" };

/// Computes Picard's quality metrics in one pass.
pub const RIKER: Crate = Crate { name: "riker-ngs", program: "riker", version: "0.2.0" };

impl Crate {
    /// Builds the program below `cache` with its locked dependencies and its default features. Does
    /// nothing if it is already built.
    pub fn install(&self, cache: &Path) -> Result<Tool> {
        let Crate { name, program: binary, version } = self;
        let home = cache.join(format!("{name}-{version}"));
        // Cargo moves the program here when it is complete.
        let program = home.join("bin").join(binary);
        if !program.exists() {
            find_or_install("cc", "gcc")?;
            let build = home.join("build");
            fresh_directory(&build)?;
            eprintln!("peers: building {name} {version} by Cargo in {}, some minutes", home.display());
            run_client(
                cargo()
                    .args(["install", name, "--locked", "--version", version, "--root"])
                    .arg(&home)
                    .arg("--target-dir")
                    .arg(&build),
            )?;
            fs::remove_dir_all(&build)?;
        }
        let text = output_of(Command::new(&program).arg("--version"))?;
        let stated = word_after(&text, binary).with_context(|| format!("{name} states no version"))?;
        Ok(Tool::without_arguments(binary, program, stated))
    }
}

pub const ELPREP: &str = "5.1.3";

/// Builds elPrep [`ELPREP`] below `cache`. elPrep writes logs below `$HOME`, so its home is a
/// directory there.
pub fn install_elprep(cache: &Path) -> Result<Tool> {
    let directory = cache.join(format!("elprep-{ELPREP}"));
    let program = directory.join("elprep");
    if !program.exists() {
        let go = find_or_install("go", "golang-go")?;
        fs::create_dir_all(&directory)?;
        // Not `go install module@version`, which also reads the module's version list, and not
        // every proxy serves it. A module that requires one version needs no list.
        fs::write(directory.join("go.mod"), elprep_module())?;
        fs::write(directory.join("tools.go"), ELPREP_TOOLS)?;
        eprintln!("peers: building elPrep {ELPREP} by Go in {}", directory.display());
        let partial = directory.join("elprep.partial");
        run_client(
            Command::new(go)
                .current_dir(&directory)
                .args(["build", "-mod=mod", "-o"])
                .arg(&partial)
                .arg("github.com/exascience/elprep/v5"),
        )?;
        fs::rename(&partial, &program)?;
    }
    let home = directory.join("home");
    fs::create_dir_all(&home)?;
    // Without a command, elPrep prints its version and fails.
    let text = output_of(Command::new(&program).env("HOME", &home))?;
    let version = word_after(&text, "version").context("elPrep states no version")?;
    let mut tool = Tool::without_arguments("elprep", program, version);
    tool.environment.push(("HOME", home.into_os_string()));
    Ok(tool)
}

fn elprep_module() -> String {
    format!("module readmillpeers\n\ngo 1.16\n\nrequire github.com/exascience/elprep/v5 v{ELPREP}\n")
}

/// Go source that declares elPrep as a dependency of the module. It is not compiled.
const ELPREP_TOOLS: &str =
    "//go:build tools\n\npackage tools\n\nimport _ \"github.com/exascience/elprep/v5\"\n";

/// The bwa-mem2 release to compare with. Its index is the reference for ours.
pub const BWA_MEM2: &str = "2.2.1";

/// The release of bwa-mem2-sys that contains it.
const BWA_MEM2_SYS: &str = "0.1.1";

/// Builds bwa-mem2 [`BWA_MEM2`] below `cache` with its own Makefile, for the processor of this
/// machine, as the launcher of its releases would choose. The crate's library is not built.
pub fn install_bwa_mem2(cache: &Path) -> Result<Tool> {
    let home = cache.join(format!("bwa-mem2-{BWA_MEM2}"));
    let program = home.join("bwa-mem2");
    if !program.exists() {
        let compiler = find_or_install("g++", "g++")?;
        ensure_header(&compiler, "zlib.h", "zlib1g-dev")?;
        let build = home.join("build");
        fresh_directory(&build)?;
        eprintln!("peers: building bwa-mem2 {BWA_MEM2} from source in {}", build.display());
        vendor_crate(&build, "bwa-mem2-sys", BWA_MEM2_SYS)?;
        let source = build.join("vendor/bwa-mem2-sys/vendor/bwa-mem2");
        run_make(&source, &["arch=native", "CXX=g++", "all"])?;
        let built = source.join("bwa-mem2");
        if bwa_mem2_version(&built)? != BWA_MEM2 {
            bail!("bwa-mem2-sys {BWA_MEM2_SYS} does not carry bwa-mem2 {BWA_MEM2}");
        }
        // The program is moved last, so a directory without it is an interrupted installation.
        fs::rename(&built, &program)?;
        fs::remove_dir_all(&build)?;
    }
    let version = bwa_mem2_version(&program)?;
    Ok(Tool::without_arguments("bwa-mem2", program, version))
}

fn bwa_mem2_version(program: &Path) -> Result<String> {
    let text = output_of(Command::new(program).arg("version"))?;
    word_after(&format!("bwa-mem2 {text}"), "bwa-mem2").context("bwa-mem2 states no version")
}

/// The minibwa-sys release, from which readmill's kernel is also built.
const MINIBWA_SYS: &str = "0.2.0";

pub fn install_minibwa(cache: &Path) -> Result<Tool> {
    let home = cache.join(format!("minibwa-sys-{MINIBWA_SYS}"));
    let program = home.join("minibwa");
    if !program.exists() {
        let compiler = find_or_install("gcc", "gcc")?;
        ensure_header(&compiler, "zlib.h", "zlib1g-dev")?;
        let build = home.join("build");
        fresh_directory(&build)?;
        eprintln!("peers: building minibwa from source in {}", build.display());
        vendor_crate(&build, "minibwa-sys", MINIBWA_SYS)?;
        let source = build.join("vendor/minibwa-sys/vendor/minibwa");
        // The crate lacks mimalloc and, for licence reasons, bwa's indexer.
        run_make(&source, &["mimalloc=0", "gpl=0", "minibwa"])?;
        // The program is moved last, so a directory without it is an interrupted installation.
        fs::rename(source.join("minibwa"), &program)?;
        fs::remove_dir_all(&build)?;
    }
    let text = output_of(Command::new(&program).arg("version"))?;
    let version =
        word_after(&format!("minibwa {text}"), "minibwa").context("minibwa states no version")?;
    Ok(Tool::without_arguments("minibwa", program, version))
}
