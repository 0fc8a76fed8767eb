//! The programs readmill is compared with: found on this machine, or installed by their ordinary
//! package clients (apt, Maven, Go, Cargo, pip), by name. They are run as processes, never linked.
//!
//! samtools, sambamba, samblaster, bwa, fastp, mosdepth and bamsormadup (of biobambam2) come from the PATH, or from `apt-get` when
//! this process is root. The others come at one fixed version each into `target/peers` (below `CARGO_TARGET_DIR`
//! where that is set), so that they are fetched once and go with `cargo clean`. Nothing is fetched before a tool is
//! asked for. An install that is cut short starts again from its beginning; one that is under way in another process
//! is waited for.
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
use install::{header_or_apt, on_path_or_apt, output_of, word_after};

pub use install::Tool;

/// The place where peers are kept.
#[derive(Clone, Debug)]
pub struct Peers {
    cache: PathBuf,
}

impl Peers {
    /// Peers in `target/peers` of this workspace; makes the directory.
    pub fn new() -> Result<Self> {
        Self::at(target_directory().join("peers"))
    }

    /// Peers in a directory of the caller's choice; makes the directory.
    pub fn at(cache: impl Into<PathBuf>) -> Result<Self> {
        let cache = cache.into();
        fs::create_dir_all(&cache).with_context(|| format!("cannot make {}", cache.display()))?;
        // Absolute, since callers may run the tools in another directory.
        let cache = cache.canonicalize()?;
        Ok(Self { cache })
    }

    /// samtools, whatever version the PATH or the system's packages have.
    pub fn samtools(&self) -> Result<Tool> {
        let program = on_path_or_apt("samtools", "samtools")?;
        let version = samtools::stated(&output_of(Command::new(&program).arg("--version"))?)?;
        Ok(Tool::plain("samtools", program, version))
    }

    /// samtools at `samtools::VERSION`, built from source with the libdeflate that readmill uses.
    pub fn newest_samtools(&self) -> Result<Tool> {
        let _installing = self.installing("samtools")?;
        samtools::install(&self.cache)
    }

    /// sambamba, whatever version the PATH or the system's packages have.
    pub fn sambamba(&self) -> Result<Tool> {
        on_system("sambamba", "sambamba", "sambamba")
    }

    /// samblaster, whatever version the PATH or the system's packages have.
    pub fn samblaster(&self) -> Result<Tool> {
        on_system("samblaster", "samblaster", "Version")
    }

    /// mosdepth, whatever version the PATH or the system's packages have.
    pub fn mosdepth(&self) -> Result<Tool> {
        let program = on_path_or_apt("mosdepth", "mosdepth")?;
        let stated = || output_of(Command::new(&program).arg("--version"));
        let mut text = stated()?;
        if text.contains("libhts") {
            // That of Debian opens htslib by a name that only its development package has.
            header_or_apt(&on_path_or_apt("cc", "gcc")?, "htslib/hts.h", "libhts-dev")?;
            text = stated()?;
        }
        let version = word_after(&text, "mosdepth").context("mosdepth states no version")?;
        Ok(Tool::plain("mosdepth", program, version))
    }

    /// bamsormadup, whatever version the PATH or the system's packages have.
    pub fn bamsormadup(&self) -> Result<Tool> {
        on_system("bamsormadup", "biobambam2", "version")
    }

    /// bwa, whatever version the PATH or the system's packages have. Without a command it states its version and ends
    /// with a failure.
    pub fn bwa(&self) -> Result<Tool> {
        let program = on_path_or_apt("bwa", "bwa")?;
        let text = output_of(&mut Command::new(&program))?;
        let version = word_after(&text, "Version:").context("bwa states no version")?;
        Ok(Tool::plain("bwa", program, version))
    }

    /// fastp, whatever version the PATH or the system's packages have.
    pub fn fastp(&self) -> Result<Tool> {
        on_system("fastp", "fastp", "fastp")
    }

    /// FastQC of the distribution.
    pub fn fastqc(&self) -> Result<Tool> {
        let program = on_path_or_apt("fastqc", "fastqc")?;
        let text = output_of(Command::new(&program).arg("--version"))?;
        let version = text.trim().strip_prefix("FastQC v").context("fastqc tells no version")?;
        // The script gives Java 250 MB, which a long page without groups exceeds: then it hangs. This variable is stronger.
        let mut tool = Tool::plain("fastqc", program, version.into());
        tool.environment.push(("_JAVA_OPTIONS", "-Xmx2g".into()));
        Ok(tool)
    }

    /// minibwa, built from the sources of readmill's kernel of that name.
    pub fn minibwa(&self) -> Result<Tool> {
        let _installing = self.installing("minibwa")?;
        compiled::install_minibwa(&self.cache)
    }

    /// bwa-mem2 at `compiled::BWA_MEM2`, built from source for the processor of this machine.
    pub fn bwa_mem2(&self) -> Result<Tool> {
        let _installing = self.installing("bwa-mem2")?;
        compiled::install_bwa_mem2(&self.cache)
    }

    /// fgumi at the release of `compiled::FGUMI`, built by Cargo.
    pub fn fgumi(&self) -> Result<Tool> {
        let _installing = self.installing("fgumi")?;
        compiled::FGUMI.install(&self.cache)
    }

    /// dupblaster at the release of `compiled::DUPBLASTER`, built by Cargo.
    pub fn dupblaster(&self) -> Result<Tool> {
        let _installing = self.installing("dupblaster")?;
        compiled::DUPBLASTER.install(&self.cache)
    }

    /// riker at the release of `compiled::RIKER`, built by Cargo. Its build needs libclang.
    pub fn riker(&self) -> Result<Tool> {
        on_path_or_apt("clang", "clang")?;
        let _installing = self.installing("riker")?;
        compiled::RIKER.install(&self.cache)
    }

    /// umi_tools at `pip::UMI_TOOLS`, by pip.
    pub fn umi_tools(&self) -> Result<Tool> {
        let _installing = self.installing("umi_tools")?;
        pip::install_umi_tools(&self.cache)
    }

    /// Python with pysam at `samtools::PYSAM`, by pip.
    pub fn pysam(&self) -> Result<Tool> {
        let _installing = self.installing("pysam")?;
        pip::install_pysam(&self.cache)
    }

    /// Picard at `maven::PICARD`, by Maven.
    pub fn picard(&self) -> Result<Tool> {
        let _installing = self.installing("picard")?;
        maven::install_picard(&self.cache)
    }

    /// The same Picard with htsjdk at `maven::HTSJDK`, which reads CRAM 3.1.
    pub fn picard_reading_cram_3_1(&self) -> Result<Tool> {
        let _installing = self.installing("picard")?;
        maven::install_picard_with_htsjdk(&self.cache)
    }

    /// GATK at `maven::GATK`, by Maven: its tools for base qualities.
    pub fn gatk(&self) -> Result<Tool> {
        let _installing = self.installing("gatk")?;
        maven::install_gatk(&self.cache)
    }

    /// elPrep at `compiled::ELPREP`, built by Go.
    pub fn elprep(&self) -> Result<Tool> {
        let _installing = self.installing("elprep")?;
        compiled::install_elprep(&self.cache)
    }

    /// MultiQC at `pip::MULTIQC`, by pip.
    pub fn multiqc(&self) -> Result<Tool> {
        let _installing = self.installing("multiqc")?;
        pip::install_multiqc(&self.cache)
    }

    /// Nextflow at `maven::NEXTFLOW`, by Maven.
    pub fn nextflow(&self) -> Result<Tool> {
        let _installing = self.installing("nextflow")?;
        maven::install_nextflow(&self.cache)
    }

    /// Snakemake at `pip::SNAKEMAKE`, by pip.
    pub fn snakemake(&self) -> Result<Tool> {
        let _installing = self.installing("snakemake")?;
        pip::install_snakemake(&self.cache)
    }

    /// Python with Dask at `pip::DASK`, by pip.
    pub fn dask(&self) -> Result<Tool> {
        let _installing = self.installing("dask")?;
        pip::install_dask(&self.cache)
    }

    /// Python with what `experiments/cluster` needs, by pip.
    pub fn simpy(&self) -> Result<Tool> {
        let _installing = self.installing("simpy")?;
        pip::install_simpy(&self.cache)
    }

    /// miniwdl at `pip::MINIWDL`, by pip, with a backend that needs no containers.
    pub fn miniwdl(&self) -> Result<Tool> {
        let _installing = self.installing("miniwdl")?;
        pip::install_miniwdl(&self.cache)
    }

    /// A program of SLURM, or munge, whatever version the PATH or the system's packages have.
    pub fn slurm(&self, program: &'static str) -> Result<Tool> {
        let package = match program {
            "munged" => "munge",
            "slurmctld" | "slurmd" => program,
            _ => "slurm-client",
        };
        Ok(Tool::plain(program, on_path_or_apt(program, package)?, String::new()))
    }

    /// `dot` of Graphviz, whatever version the PATH or the system's packages have.
    pub fn dot(&self) -> Result<Tool> {
        Ok(Tool::plain("dot", on_path_or_apt("dot", "graphviz")?, String::new()))
    }

    /// Waits until no other thread or process installs this peer, and keeps others
    /// waiting until the answer is dropped. The system ends the wait of others if this process dies.
    fn installing(&self, name: &str) -> Result<File> {
        let path = self.cache.join(format!("{name}.lock"));
        let file = File::create(&path).with_context(|| format!("cannot make {}", path.display()))?;
        file.lock().with_context(|| format!("cannot lock {}", path.display()))?;
        Ok(file)
    }
}

/// The directory of this workspace.
pub fn workspace() -> &'static Path {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    package.ancestors().nth(2).unwrap_or(package)
}

/// Where Cargo puts what it builds of this workspace.
pub fn target_directory() -> PathBuf {
    match std::env::var_os("CARGO_TARGET_DIR") {
        Some(directory) if !directory.is_empty() => workspace().join(directory),
        _ => workspace().join("target"),
    }
}

/// Builds the release of readmill in this workspace, as users get it.
pub fn build_readmill() -> Result<PathBuf> {
    let arguments = ["build", "--release", "--package", "readmill"];
    let status = install::cargo().current_dir(workspace()).args(arguments).status()?;
    ensure!(status.success(), "readmill does not build");
    Ok(target_directory().join("release/readmill").canonicalize()?)
}

/// A program of the PATH or of one of the system's packages, which prints its version behind a word.
fn on_system(name: &'static str, package: &str, mark: &str) -> Result<Tool> {
    let program = on_path_or_apt(name, package)?;
    let text = output_of(Command::new(&program).arg("--version"))?;
    let version = word_after(&text, mark).with_context(|| format!("{name} states no version"))?;
    Ok(Tool::plain(name, program, version.trim_end_matches('.').to_owned()))
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
