//! Drives Chromium with puppeteer-core and axe-core, npm packages that are installed once into the
//! target directory.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

const PACKAGES: [&str; 2] = ["puppeteer-core@25.16.0", "axe-core@4.14.1"];

/// The script that opens a page and reports its faults.
const CHECK: &str = include_str!("check.mjs");

/// The script that uses a page of many samples as a reader would.
const USE_PLATE: &str = include_str!("plate.mjs");

const CHROMIUM_NAMES: [&str; 3] = ["chromium", "chromium-browser", "google-chrome"];

pub struct Browser {
    home: PathBuf,
    program: PathBuf,
}

impl Browser {
    /// Finds Chromium, and installs the npm packages if they are missing.
    pub fn new() -> Result<Self> {
        let target = std::env::var_os("CARGO_TARGET_DIR").map(PathBuf::from);
        let target =
            target.unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target"));
        let home = target.join("page");
        std::fs::create_dir_all(&home)?;
        let home = home.canonicalize()?;
        std::fs::write(home.join("check.mjs"), CHECK)?;
        std::fs::write(home.join("plate.mjs"), USE_PLATE)?;
        let is_here = |package: &str| {
            let name = package.split('@').next().unwrap_or_default();
            home.join("node_modules").join(name).is_dir()
        };
        if !PACKAGES.iter().all(|package| is_here(package)) {
            let mut command = Command::new("npm");
            command.args(["install", "--no-audit", "--no-fund", "--prefix"]).arg(&home).args(PACKAGES);
            let done = command.output().context("npm does not start")?;
            ensure!(done.status.success(), "npm: {}", String::from_utf8_lossy(&done.stderr));
        }
        let paths = std::env::var_os("PATH").unwrap_or_default();
        let mut programs =
            std::env::split_paths(&paths).flat_map(|dir| CHROMIUM_NAMES.map(|name| dir.join(name)));
        let program = programs.find(|path| path.is_file()).context("there is no chromium on PATH")?;
        Ok(Browser { home, program })
    }

    /// Opens a page created from these run files, and returns the findings of `check.mjs`.
    /// Screenshots are written next to the page.
    pub fn inspect_page(&self, page: &Path, runs: &[&Path]) -> Result<Value> {
        let runs = runs.iter().map(|run| run.as_os_str());
        self.run_script("check.mjs", page, runs)
    }

    /// Uses a page of many samples, and returns the checks and measurements of `plate.mjs`. The samples
    /// of these numbers have planted faults. `is_thorough` tries all widths of windows and axe-core, too.
    pub fn use_plate(&self, page: &Path, is_thorough: bool, planted: &[usize]) -> Result<Value> {
        let planted = planted.iter().map(usize::to_string);
        let words: Vec<String> = std::iter::once(is_thorough.to_string()).chain(planted).collect();
        self.run_script("plate.mjs", page, words.iter().map(OsStr::new))
    }

    fn run_script<'a>(
        &self,
        script: &str,
        page: &Path,
        words: impl Iterator<Item = &'a OsStr>,
    ) -> Result<Value> {
        let mut command = Command::new("node");
        command.arg(self.home.join(script)).arg(&self.program).arg(page).args(words);
        let done = command.output().context("node does not start")?;
        ensure!(done.status.success(), "{}: {}", page.display(), String::from_utf8_lossy(&done.stderr));
        serde_json::from_slice(&done.stdout).with_context(|| format!("{script} prints JSON"))
    }
}
