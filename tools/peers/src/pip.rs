//! Peers from pip, each in its own virtual environment.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use super::install::{Tool, find_or_install, fresh_directory, output_of, run_client, word_after};
use super::samtools::PYSAM;

/// The umi_tools release whose UMI groups are the reference for ours.
pub const UMI_TOOLS: &str = "1.1.6";

/// Packages that the umi_tools build needs but does not declare. Newer setuptools lack
/// `pkg_resources`; without it, the build tries to download setuptools 10 from a server that no
/// longer exists.
const UMI_TOOLS_BUILD: [&str; 4] = ["setuptools<81", "wheel", "cython", "numpy"];

pub fn install_umi_tools(cache: &Path) -> Result<Tool> {
    let home = cache.join(format!("umi_tools-{UMI_TOOLS}"));
    let program = home.join("bin/umi_tools");
    // The stamp is written last, so a directory without it is an interrupted installation.
    let stamp = home.join("complete");
    if !(stamp.exists() && program.exists()) {
        let python = find_or_install("python3", "python3-venv")?;
        find_or_install("cc", "gcc")?;
        fresh_directory(&home)?;
        eprintln!("peers: installing umi_tools {UMI_TOOLS} by pip in {}", home.display());
        run_client(Command::new(python).args(["-m", "venv"]).arg(&home))?;
        let pip = || {
            let mut pip = Command::new(home.join("bin/pip"));
            pip.args(["install", "--quiet", "--disable-pip-version-check"]);
            pip
        };
        run_client(pip().args(UMI_TOOLS_BUILD))?;
        run_client(pip().arg("--no-build-isolation").arg(format!("umi_tools=={UMI_TOOLS}")))?;
        fs::write(&stamp, "")?;
    }
    let text = output_of(Command::new(&program).arg("--version"))?;
    let version = word_after(&text, "version:").context("umi_tools states no version")?;
    Ok(Tool::without_arguments("umi_tools", program, version))
}

/// Installs Python with pysam [`PYSAM`] below `cache`. It includes tabix of the same samtools
/// release.
pub fn install_pysam(cache: &Path) -> Result<Tool> {
    let home = make_environment(cache, &format!("pysam-{PYSAM}"), &[format!("pysam=={PYSAM}")])?;
    Ok(Tool::without_arguments("python3", home.join("bin/python3"), PYSAM.to_owned()))
}

/// The MultiQC release that must be able to read our metrics.
pub const MULTIQC: &str = "1.35";

/// Installs MultiQC [`MULTIQC`] with all its dependencies below `cache` (1 GB). It is not compared
/// with readmill but reads its metrics.
pub fn install_multiqc(cache: &Path) -> Result<Tool> {
    let wanted = [format!("multiqc=={MULTIQC}")];
    let program = make_environment(cache, &format!("multiqc-{MULTIQC}"), &wanted)?.join("bin/multiqc");
    let text = output_of(Command::new(&program).arg("--version"))?;
    if word_after(&text, "version").as_deref() != Some(MULTIQC) {
        bail!("not MultiQC {MULTIQC}:\n{text}");
    }
    let mut tool = Tool::without_arguments("multiqc", program, MULTIQC.to_owned());
    tool.environment = vec![("MULTIQC_NO_VERSION_CHECK", "true".into())];
    Ok(tool)
}

/// The Snakemake release that runs the workflows of `integrations/snakemake`.
pub const SNAKEMAKE: &str = "9.27.1";

pub fn install_snakemake(cache: &Path) -> Result<Tool> {
    let wanted = [format!("snakemake=={SNAKEMAKE}")];
    let home = make_environment(cache, &format!("snakemake-{SNAKEMAKE}"), &wanted)?;
    let mut tool =
        Tool::without_arguments("snakemake", home.join("bin/snakemake"), SNAKEMAKE.to_owned());
    // Snakemake caches the sources of wrappers there. A test must not use those of an earlier run.
    tool.environment = vec![("XDG_CACHE_HOME", home.join("cache").into_os_string())];
    Ok(tool)
}

/// The Dask release that `python/readmill` is tested with.
pub const DASK: &str = "2026.8.0";

/// The dask-jobqueue release. It starts Dask workers as SLURM jobs.
const DASK_JOBQUEUE: &str = "0.9.0";

const CRYPTOGRAPHY: &str = "50.0.2";

/// The pytest release that runs `python/tests`.
const PYTEST: &str = "9.2.0";

/// Installs Python with Dask [`DASK`], pytest, and all optional packages of `python/readmill` below
/// `cache` (90 MB).
pub fn install_dask(cache: &Path) -> Result<Tool> {
    let wanted = [
        format!("distributed=={DASK}"),
        format!("dask-jobqueue=={DASK_JOBQUEUE}"),
        format!("cryptography=={CRYPTOGRAPHY}"),
        format!("pytest=={PYTEST}"),
    ];
    let home = make_environment(cache, &format!("dask-{DASK}-jobqueue-{DASK_JOBQUEUE}"), &wanted)?;
    Ok(Tool::without_arguments("python3", home.join("bin/python3"), DASK.to_owned()))
}

/// Packages of `experiments/cluster` with their versions, one per line.
const CLUSTER: &str = include_str!("../../../experiments/cluster/requirements.txt");

pub fn install_simpy(cache: &Path) -> Result<Tool> {
    let wanted = Vec::from_iter(CLUSTER.lines().map(str::to_owned));
    let version = wanted.iter().find_map(|package| package.strip_prefix("simpy=="));
    let version = version.context("experiments/cluster/requirements.txt has no simpy")?;
    let home = make_environment(cache, &format!("simpy-{version}"), &wanted)?;
    Ok(Tool::without_arguments("python3", home.join("bin/python3"), version.to_owned()))
}

/// The miniwdl release that runs the workflow of `integrations/wdl`.
pub const MINIWDL: &str = "1.16.0";

const MINIWDL_BARE: &str = "0.0.1";

/// Installs miniwdl [`MINIWDL`] below `cache`, with a backend that runs tasks without containers.
pub fn install_miniwdl(cache: &Path) -> Result<Tool> {
    let wanted = [format!("miniwdl=={MINIWDL}"), format!("miniwdl-backend-bare=={MINIWDL_BARE}")];
    let home = make_environment(cache, &format!("miniwdl-{MINIWDL}"), &wanted)?;
    let mut tool = Tool::without_arguments("miniwdl", home.join("bin/miniwdl"), MINIWDL.to_owned());
    tool.environment = vec![("MINIWDL__SCHEDULER__CONTAINER_BACKEND", "bare".into())];
    Ok(tool)
}

/// Creates a virtual environment below `cache` with these packages and their dependencies, unless
/// it exists. Returns its directory.
fn make_environment(cache: &Path, name: &str, packages: &[String]) -> Result<PathBuf> {
    let home = cache.join(name);
    // The stamp is written last, so a directory without it is an interrupted installation.
    let stamp = home.join("complete");
    if !stamp.exists() {
        let python = find_or_install("python3", "python3-venv")?;
        fresh_directory(&home)?;
        eprintln!("peers: fetching {} by pip into {}", packages.join(" and "), home.display());
        run_client(Command::new(python).args(["-m", "venv"]).arg(&home))?;
        run_client(
            Command::new(home.join("bin/pip"))
                .args(["install", "--quiet", "--no-compile"])
                .args(packages),
        )?;
        fs::write(&stamp, "")?;
    }
    Ok(home)
}
