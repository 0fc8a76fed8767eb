//! Jobs in stages: their output is, byte for byte, that of one run, whatever is divided, killed, damaged or repeated; or
//! they are refused with a reason.
#![allow(clippy::unwrap_used)]

#[cfg(feature = "bwa")]
mod align;
mod borders;
mod clean;
mod damage;
mod exchanged;
mod file_servers;
mod identity;
#[cfg(debug_assertions)] // of which alone the program waits for a test
mod kills;
mod matrix;
mod memory;
#[cfg(target_os = "linux")] // which has strace
mod power_loss;
mod refusals;
mod samples;
mod steps;
mod workflows;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::faults::fixtures::{Ended, TestFolders};

/// The files of a folder, by their names.
pub type Files = BTreeMap<String, Vec<u8>>;

/// A command on some inputs, in folders of its own. Its inputs are in `in`, its outputs in `out`, the files of its stages
/// in `work`.
pub struct Scene {
    pub folders: TestFolders,
    pub command: Vec<String>,
}

impl Scene {
    /// A command; `in/*` in it stands for all inputs.
    pub fn new(inputs: &[(&str, Vec<u8>)], command: &str) -> Self {
        let folders = TestFolders::new();
        inputs.iter().for_each(|(name, bytes)| drop(folders.input(name, bytes)));
        let all = || inputs.iter().map(|(name, _)| format!("in/{name}"));
        let words = command.split_whitespace().flat_map(|word| match word {
            "in/*" => all().collect(),
            word => vec![word.to_string()],
        });
        let command = words.chain(["-q", "-@", "2", "-m", "256M"].map(String::from)).collect();
        Scene { folders, command }
    }

    /// A path from the folder in which the program runs.
    pub fn path(&self, name: &str) -> PathBuf {
        self.folders.tmp().with_file_name(name)
    }

    /// The file of a stage.
    pub fn stage(&self, name: &str) -> PathBuf {
        self.path("work").join(name)
    }

    /// Runs the command without stages, and takes its outputs away.
    pub fn plain(&self) -> Files {
        self.folders.readmill(&self.command).succeeds();
        let files = self.outputs();
        files.keys().for_each(|name| std::fs::remove_file(self.folders.out(name)).unwrap());
        assert!(!files.is_empty(), "{:?} writes nothing", self.command);
        files
    }

    /// Runs `readmill shard` with these words.
    pub fn shard(&self, line: &str) -> Ended {
        self.folders.readmill(["shard"].into_iter().chain(line.split_whitespace()))
    }

    /// Plans the command into a directory, divided as these flags say.
    pub fn plan_into(&self, work: &str, division: &str) -> Ended {
        let words = ["shard", "plan", "--work", work].into_iter().chain(division.split_whitespace());
        self.folders.readmill(words.chain(self.command.iter().map(String::as_str)))
    }

    /// Plans the command, divided as these flags say.
    pub fn plan(&self, division: &str) -> Ended {
        self.plan_into("work", division)
    }

    /// Runs all stages that are missing.
    pub fn run(&self) -> Ended {
        self.shard("run --work work -q")
    }

    /// The command with `--resume work`.
    pub fn resuming(&self) -> Vec<String> {
        self.command.iter().cloned().chain(["--resume", "work"].map(String::from)).collect()
    }

    /// Runs the command with `--resume work`.
    pub fn resume(&self) -> Ended {
        self.folders.readmill(self.resuming())
    }

    /// The files that the command has written.
    pub fn outputs(&self) -> Files {
        files(&self.folders.out(""))
    }

    /// The names of files of stages, in order.
    pub fn stages(&self) -> Vec<String> {
        files(&self.path("work")).into_keys().collect()
    }

    /// Asserts that the stages, divided as these flags say, write what the command writes without them. Returns the
    /// number of slices.
    #[track_caller]
    pub fn same(&self, expected: &Files, division: &str) -> usize {
        self.plan(division).succeeds();
        let (slices, _) = self.division();
        self.run().succeeds();
        self.is_written(expected, division);
        self.shard("clean --work work").succeeds();
        assert!(!self.path("work").exists(), "{division}: the directory of the stages is left");
        slices
    }

    /// Asserts that these outputs are there, and takes them away.
    #[track_caller]
    pub fn is_written(&self, expected: &Files, what: &str) {
        let written = self.outputs();
        let names = |files: &Files| files.keys().cloned().collect::<Vec<_>>();
        assert_eq!(names(&written), names(expected), "{:?}, {what}", self.command);
        for (name, bytes) in expected {
            let at = bytes.iter().zip(&written[name]).position(|(a, b)| a != b);
            let differs = *bytes != written[name];
            assert!(!differs, "{:?}, {what}: {name} differs at byte {at:?}", self.command);
        }
        expected.keys().for_each(|name| std::fs::remove_file(self.folders.out(name)).unwrap());
    }

    /// Number of slices and of ranges of the planned job.
    pub fn division(&self) -> (usize, usize) {
        let job = std::fs::read(self.stage("job.json")).unwrap();
        let job: serde_json::Value = serde_json::from_slice(&job).unwrap();
        (job["slices"].as_array().unwrap().len(), job["ranges"].as_u64().unwrap() as usize)
    }
}

/// The files of a folder; none if it is not there.
pub fn files(folder: &Path) -> Files {
    let Ok(entries) = std::fs::read_dir(folder) else { return Files::new() };
    let file = |entry: std::io::Result<std::fs::DirEntry>| {
        let entry = entry.unwrap();
        (entry.file_name().into_string().unwrap(), std::fs::read(entry.path()).unwrap())
    };
    entries.map(file).collect()
}
