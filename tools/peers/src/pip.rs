//! Peers by pip, each in a virtual environment of its own.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use super::install::{Tool, fresh_directory, on_path_or_apt, output_of, run, word_after};
use super::samtools::PYSAM;

/// The release of umi_tools whose groups of UMIs are the reference.
pub const UMI_TOOLS: &str = "1.1.6";

/// Packages that the build of umi_tools needs but does not declare. Newer setuptools lack `pkg_resources`;
/// without it the build tries to download setuptools 10 from a place that no longer exists.
const UMI_TOOLS_BUILD: [&str; 4] = ["setuptools<81", "wheel", "cython", "numpy"];

/// umi_tools at [`UMI_TOOLS`], below `cache`.
pub fn install_umi_tools(cache: &Path) -> Result<Tool> {
    let home = cache.join(format!("umi_tools-{UMI_TOOLS}"));
    let program = home.join("bin/umi_tools");
    // The stamp comes last: a directory without it is an install that was cut short.
    let stamp = home.join("complete");
    if !(stamp.exists() && program.exists()) {
        let python = on_path_or_apt("python3", "python3-venv")?;
        on_path_or_apt("cc", "gcc")?;
        fresh_directory(&home)?;
        eprintln!("peers: installing umi_tools {UMI_TOOLS} by pip in {}", home.display());
        run(Command::new(python).args(["-m", "venv"]).arg(&home))?;
        let pip = || {
            let mut pip = Command::new(home.join("bin/pip"));
            pip.args(["install", "--quiet", "--disable-pip-version-check"]);
            pip
        };
        run(pip().args(UMI_TOOLS_BUILD))?;
        run(pip().arg("--no-build-isolation").arg(format!("umi_tools=={UMI_TOOLS}")))?;
        fs::write(&stamp, "")?;
    }
    let text = output_of(Command::new(&program).arg("--version"))?;
    let version = word_after(&text, "version:").context("umi_tools states no version")?;
    Ok(Tool::plain("umi_tools", program, version))
}

/// Python with pysam at [`PYSAM`], which has the tabix of samtools' release, below `cache`.
pub fn install_pysam(cache: &Path) -> Result<Tool> {
    let home = environment(cache, &format!("pysam-{PYSAM}"), &[format!("pysam=={PYSAM}")])?;
    Ok(Tool::plain("python3", home.join("bin/python3"), PYSAM.to_owned()))
}

/// The release of MultiQC whose reading is checked.
pub const MULTIQC: &str = "1.35";

/// MultiQC at [`MULTIQC`] with all it depends on, 1 GB, below `cache`. It is no tool to compare with but a reader of our
/// metrics.
pub fn install_multiqc(cache: &Path) -> Result<Tool> {
    let wanted = [format!("multiqc=={MULTIQC}")];
    let program = environment(cache, &format!("multiqc-{MULTIQC}"), &wanted)?.join("bin/multiqc");
    let text = output_of(Command::new(&program).arg("--version"))?;
    if word_after(&text, "version").as_deref() != Some(MULTIQC) {
        bail!("not MultiQC {MULTIQC}:\n{text}");
    }
    let mut tool = Tool::plain("multiqc", program, MULTIQC.to_owned());
    tool.environment = vec![("MULTIQC_NO_VERSION_CHECK", "true".into())];
    Ok(tool)
}

/// The release of Snakemake that runs what `integrations/snakemake` has.
pub const SNAKEMAKE: &str = "9.27.1";

/// Snakemake at [`SNAKEMAKE`], 140 MB, below `cache`.
pub fn install_snakemake(cache: &Path) -> Result<Tool> {
    let wanted = [format!("snakemake=={SNAKEMAKE}")];
    let home = environment(cache, &format!("snakemake-{SNAKEMAKE}"), &wanted)?;
    let mut tool = Tool::plain("snakemake", home.join("bin/snakemake"), SNAKEMAKE.to_owned());
    // It keeps sources of wrappers there, which a test must not take from an earlier run.
    tool.environment = vec![("XDG_CACHE_HOME", home.join("cache").into_os_string())];
    Ok(tool)
}

/// The release of Dask's scheduler and workers that `python/readmill` is tested with.
pub const DASK: &str = "2026.8.0";

/// The release of what starts its workers as jobs of SLURM.
const DASK_JOBQUEUE: &str = "0.9.0";

/// The release of what makes its keys for TLS.
const CRYPTOGRAPHY: &str = "50.0.2";

/// The release of pytest that runs `python/tests`.
const PYTEST: &str = "9.2.0";

/// Python with Dask at [`DASK`], all that `python/readmill` can use, and pytest, 90 MB, below `cache`.
pub fn install_dask(cache: &Path) -> Result<Tool> {
    let wanted = [
        format!("distributed=={DASK}"),
        format!("dask-jobqueue=={DASK_JOBQUEUE}"),
        format!("cryptography=={CRYPTOGRAPHY}"),
        format!("pytest=={PYTEST}"),
    ];
    let home = environment(cache, &format!("dask-{DASK}-jobqueue-{DASK_JOBQUEUE}"), &wanted)?;
    Ok(Tool::plain("python3", home.join("bin/python3"), DASK.to_owned()))
}

/// What `experiments/cluster` needs, one package and its release a line.
const CLUSTER: &str = include_str!("../../../experiments/cluster/requirements.txt");

/// Python with SimPy and pytest, below `cache`.
pub fn install_simpy(cache: &Path) -> Result<Tool> {
    let wanted = Vec::from_iter(CLUSTER.lines().map(str::to_owned));
    let version = wanted.iter().find_map(|package| package.strip_prefix("simpy=="));
    let version = version.context("experiments/cluster/requirements.txt has no simpy")?;
    let home = environment(cache, &format!("simpy-{version}"), &wanted)?;
    Ok(Tool::plain("python3", home.join("bin/python3"), version.to_owned()))
}

/// The release of miniwdl that runs what `integrations/wdl` has.
pub const MINIWDL: &str = "1.16.0";

/// The release of its backend that runs tasks without containers.
const MINIWDL_BARE: &str = "0.0.1";

/// miniwdl at [`MINIWDL`], with a backend that runs tasks without containers, below `cache`.
pub fn install_miniwdl(cache: &Path) -> Result<Tool> {
    let wanted = [format!("miniwdl=={MINIWDL}"), format!("miniwdl-backend-bare=={MINIWDL_BARE}")];
    let home = environment(cache, &format!("miniwdl-{MINIWDL}"), &wanted)?;
    let mut tool = Tool::plain("miniwdl", home.join("bin/miniwdl"), MINIWDL.to_owned());
    tool.environment = vec![("MINIWDL__SCHEDULER__CONTAINER_BACKEND", "bare".into())];
    Ok(tool)
}

/// A virtual environment below `cache` with these packages, and all that they depend on.
fn environment(cache: &Path, name: &str, packages: &[String]) -> Result<PathBuf> {
    let home = cache.join(name);
    // The stamp comes last: a directory without it is an install that was cut short.
    let stamp = home.join("complete");
    if !stamp.exists() {
        let python = on_path_or_apt("python3", "python3-venv")?;
        fresh_directory(&home)?;
        eprintln!("peers: fetching {} by pip into {}", packages.join(" and "), home.display());
        run(Command::new(python).args(["-m", "venv"]).arg(&home))?;
        run(Command::new(home.join("bin/pip"))
            .args(["install", "--quiet", "--no-compile"])
            .args(packages))?;
        fs::write(&stamp, "")?;
    }
    Ok(home)
}
