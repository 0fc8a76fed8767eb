//! The programs that readmill is compared with. Finds them on this machine, or installs them with
//! their usual package clients (apt, Maven, Go, Cargo, pip). They are run as processes, never
//! linked.
//!
//! samtools, tabix, sambamba, samblaster, bwa, fastp, mosdepth and bamsormadup (part of biobambam2)
//! are taken from the PATH, or installed with `apt-get` if this process is root. All others have one
//! fixed version and are installed into `target/peers` (below `CARGO_TARGET_DIR` if that is set),
//! so that they are downloaded once and `cargo clean` removes them. Nothing is downloaded before a
//! program is requested. An interrupted installation starts over; an installation by another
//! process is waited for.
#![cfg_attr(test, allow(clippy::unwrap_used))]

mod compiled;
mod install;
mod maven;
mod pip;
mod samtools;
pub mod usage;

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use install::{ensure_header, find_or_install, output_of, word_after};

pub use install::Tool;

/// The directory of installed programs, with one method per program.
///
/// Methods for fixed versions install on first use and take a file lock, so that several processes
/// can call them concurrently. The others find the program on the PATH.
#[derive(Clone, Debug)]
pub struct Peers {
    cache: PathBuf,
}

impl Peers {
    pub fn new() -> Result<Self> {
        Self::in_directory(target_directory().join("peers"))
    }

    pub fn in_directory(cache: impl Into<PathBuf>) -> Result<Self> {
        let cache = cache.into();
        fs::create_dir_all(&cache).with_context(|| format!("cannot make {}", cache.display()))?;
        // Absolute, because callers run programs in other directories.
        let cache = cache.canonicalize()?;
        Ok(Self { cache })
    }

    pub fn samtools(&self) -> Result<Tool> {
        let program = find_or_install("samtools", "samtools")?;
        let version = samtools::parse_version(&output_of(Command::new(&program).arg("--version"))?)?;
        Ok(Tool::without_arguments("samtools", program, version))
    }

    /// Returns the system's tabix. Its package has bgzip, too.
    pub fn tabix(&self) -> Result<Tool> {
        find_versioned("tabix", "tabix", "(htslib)")
    }

    /// Returns samtools `samtools::VERSION`, built from source with readmill's libdeflate.
    pub fn newest_samtools(&self) -> Result<Tool> {
        let _installing = self.lock_install("samtools")?;
        samtools::build_samtools_release(&self.cache)
    }

    pub fn sambamba(&self) -> Result<Tool> {
        find_versioned("sambamba", "sambamba", "sambamba")
    }

    pub fn samblaster(&self) -> Result<Tool> {
        find_versioned("samblaster", "samblaster", "Version")
    }

    pub fn mosdepth(&self) -> Result<Tool> {
        let program = find_or_install("mosdepth", "mosdepth")?;
        let stated = || output_of(Command::new(&program).arg("--version"));
        let mut text = stated()?;
        if text.contains("libhts") {
            // Debian's mosdepth opens htslib under a name that only its development package has.
            ensure_header(&find_or_install("cc", "gcc")?, "htslib/hts.h", "libhts-dev")?;
            text = stated()?;
        }
        let version = word_after(&text, "mosdepth").context("mosdepth states no version")?;
        Ok(Tool::without_arguments("mosdepth", program, version))
    }

    pub fn bamsormadup(&self) -> Result<Tool> {
        find_versioned("bamsormadup", "biobambam2", "version")
    }

    /// Returns the system's bwa. Without a command, it prints its version and fails.
    pub fn bwa(&self) -> Result<Tool> {
        let program = find_or_install("bwa", "bwa")?;
        let text = output_of(&mut Command::new(&program))?;
        let version = word_after(&text, "Version:").context("bwa states no version")?;
        Ok(Tool::without_arguments("bwa", program, version))
    }

    pub fn fastp(&self) -> Result<Tool> {
        find_versioned("fastp", "fastp", "fastp")
    }

    pub fn fastqc(&self) -> Result<Tool> {
        let program = find_or_install("fastqc", "fastqc")?;
        let text = output_of(Command::new(&program).arg("--version"))?;
        let version = text.trim().strip_prefix("FastQC v").context("fastqc tells no version")?;
        // The script limits Java to 250 MB. That is too little for a long, ungrouped report, and
        // FastQC hangs. This variable overrides it.
        let mut tool = Tool::without_arguments("fastqc", program, version.into());
        tool.environment.push(("_JAVA_OPTIONS", "-Xmx2g".into()));
        Ok(tool)
    }

    pub fn minibwa(&self) -> Result<Tool> {
        let _installing = self.lock_install("minibwa")?;
        compiled::install_minibwa(&self.cache)
    }

    /// Returns bwa-mem2 `compiled::BWA_MEM2`, built from source for the processor of this machine.
    pub fn bwa_mem2(&self) -> Result<Tool> {
        let _installing = self.lock_install("bwa-mem2")?;
        compiled::install_bwa_mem2(&self.cache)
    }

    pub fn fgumi(&self) -> Result<Tool> {
        let _installing = self.lock_install("fgumi")?;
        compiled::FGUMI.install(&self.cache)
    }

    pub fn dupblaster(&self) -> Result<Tool> {
        let _installing = self.lock_install("dupblaster")?;
        compiled::DUPBLASTER.install(&self.cache)
    }

    pub fn riker(&self) -> Result<Tool> {
        find_or_install("clang", "clang")?;
        let _installing = self.lock_install("riker")?;
        compiled::RIKER.install(&self.cache)
    }

    pub fn umi_tools(&self) -> Result<Tool> {
        let _installing = self.lock_install("umi_tools")?;
        pip::install_umi_tools(&self.cache)
    }

    pub fn pysam(&self) -> Result<Tool> {
        let _installing = self.lock_install("pysam")?;
        pip::install_pysam(&self.cache)
    }

    pub fn picard(&self) -> Result<Tool> {
        let _installing = self.lock_install("picard")?;
        maven::install_picard(&self.cache)
    }

    /// Returns the same Picard with htsjdk `maven::HTSJDK`, which can read CRAM 3.1.
    pub fn picard_reading_cram_3_1(&self) -> Result<Tool> {
        let _installing = self.lock_install("picard")?;
        maven::install_picard_with_htsjdk(&self.cache)
    }

    /// Returns the parts of GATK `maven::GATK` that recalibrate base qualities and call variants.
    pub fn gatk(&self) -> Result<Tool> {
        let _installing = self.lock_install("gatk")?;
        maven::install_gatk(&self.cache)
    }

    pub fn elprep(&self) -> Result<Tool> {
        let _installing = self.lock_install("elprep")?;
        compiled::install_elprep(&self.cache)
    }

    pub fn multiqc(&self) -> Result<Tool> {
        let _installing = self.lock_install("multiqc")?;
        pip::install_multiqc(&self.cache)
    }

    pub fn nextflow(&self) -> Result<Tool> {
        let _installing = self.lock_install("nextflow")?;
        maven::install_nextflow(&self.cache)
    }

    pub fn snakemake(&self) -> Result<Tool> {
        let _installing = self.lock_install("snakemake")?;
        pip::install_snakemake(&self.cache)
    }

    pub fn dask(&self) -> Result<Tool> {
        let _installing = self.lock_install("dask")?;
        pip::install_dask(&self.cache)
    }

    pub fn simpy(&self) -> Result<Tool> {
        let _installing = self.lock_install("simpy")?;
        pip::install_simpy(&self.cache)
    }

    pub fn miniwdl(&self) -> Result<Tool> {
        let _installing = self.lock_install("miniwdl")?;
        pip::install_miniwdl(&self.cache)
    }

    pub fn slurm(&self, program: &'static str) -> Result<Tool> {
        let package = match program {
            "munged" => "munge",
            "slurmctld" | "slurmd" => program,
            _ => "slurm-client",
        };
        Ok(Tool::without_arguments(program, find_or_install(program, package)?, String::new()))
    }

    pub fn dot(&self) -> Result<Tool> {
        Ok(Tool::without_arguments("dot", find_or_install("dot", "graphviz")?, String::new()))
    }

    /// Waits until no other thread or process is installing this program, and makes others wait
    /// until the returned file is dropped. If this process dies, the system releases the lock.
    fn lock_install(&self, name: &str) -> Result<File> {
        let path = self.cache.join(format!("{name}.lock"));
        let file = File::create(&path).with_context(|| format!("cannot make {}", path.display()))?;
        file.lock().with_context(|| format!("cannot lock {}", path.display()))?;
        Ok(file)
    }
}

pub fn workspace() -> &'static Path {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    package.ancestors().nth(2).unwrap_or(package)
}

/// Returns the build directory: `CARGO_TARGET_DIR`, or `target` in this workspace.
pub fn target_directory() -> PathBuf {
    match std::env::var_os("CARGO_TARGET_DIR") {
        Some(directory) if !directory.is_empty() => workspace().join(directory),
        _ => workspace().join("target"),
    }
}

pub fn build_readmill() -> Result<PathBuf> {
    let arguments = ["build", "--release", "--package", "readmill"];
    let status = install::cargo().current_dir(workspace()).args(arguments).status()?;
    ensure!(status.success(), "readmill does not build");
    Ok(target_directory().join("release/readmill").canonicalize()?)
}

/// Finds the program `name`, or installs it from `package`. In its `--version` output, the version
/// follows the word `mark`.
fn find_versioned(name: &'static str, package: &str, mark: &str) -> Result<Tool> {
    let program = find_or_install(name, package)?;
    let text = output_of(Command::new(&program).arg("--version"))?;
    let version = word_after(&text, mark).with_context(|| format!("{name} states no version"))?;
    Ok(Tool::without_arguments(name, program, version.trim_end_matches('.').to_owned()))
}

#[cfg(test)]
mod tests {
    use super::{Peers, compiled, samtools};

    #[test]
    #[ignore = "fetches and builds for minutes"]
    fn what_is_built_from_source_runs_and_states_its_version() {
        let peers = Peers::new().unwrap();
        assert_eq!(peers.newest_samtools().unwrap().version, samtools::VERSION);
        assert_eq!(peers.bwa_mem2().unwrap().version, compiled::BWA_MEM2);
        assert_eq!(peers.fgumi().unwrap().version, compiled::FGUMI.version);
        assert_eq!(peers.dupblaster().unwrap().version, compiled::DUPBLASTER.version);
    }
}
