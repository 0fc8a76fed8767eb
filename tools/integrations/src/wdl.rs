//! Checks of the WDL workflow, which miniwdl runs without containers.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Result, ensure};
use readmill_peers::{Peers, workspace};

use crate::cohort::{Cohort, PAIRED};
use crate::killer::Killer;
use crate::outcome::{CheckCounts, run_to_end};

const INPUTS: &str = r#"{
  "fastq_to_cram.samples": [
    {"name": "patient1", "lanes": [
      {"name": "L1", "fastq_1": "one_1.fq", "fastq_2": "one_2.fq"},
      {"name": "L10", "fastq_1": "two_1.fq", "fastq_2": "two_2.fq"}
    ]},
    {"name": "patient2", "lanes": [{"name": "L1", "fastq_1": "three_1.fq"}]}
  ],
  "fastq_to_cram.fasta": "ref.fa",
  "fastq_to_cram.known_sites": ["known.vcf"],
  "fastq_to_cram.cpu": 2,
  "fastq_to_cram.memory_mib": 1000,
  "fastq_to_cram.index_memory_mib": 500
}
"#;

/// Suffix of an output file, and the name of the workflow output that contains it.
const KINDS: [(&str, &str); 6] = [
    (".cram", "cram"),
    (".cram.crai", "crai"),
    (".cram.metrics.txt", "metrics"),
    (".cram.flagstat", "flagstat"),
    (".cram.stats.txt", "stats"),
    (".cram.recal.table", "table"),
];

/// Returns the file with this name below a directory, in which miniwdl numbers the files of a list.
fn find_file(directory: &Path, name: &str) -> Option<PathBuf> {
    let paths = fs::read_dir(directory).ok()?.filter_map(|entry| Some(entry.ok()?.path()));
    let mut paths = paths.filter_map(|path| match path.is_dir() {
        true => find_file(&path, name),
        false => (path.file_name()? == name).then_some(path),
    });
    paths.next()
}

pub fn check_wdl(cohort: &Cohort, peers: &Peers, outcome: &mut CheckCounts) -> Result<()> {
    let tool = peers.miniwdl()?;
    outcome.print_title(&format!("miniwdl {}, without containers", tool.version));
    let directory = cohort.make_directory("wdl", false)?;
    let killer = Killer::new(&cohort.readmill, &directory)?;
    let home = workspace().join("integrations/wdl");
    let log = directory.join("miniwdl.log");
    outcome.check("the workflow is valid", || {
        let mut check = tool.command();
        run_to_end(
            check.args(["check", "--no-shellcheck", "--strict"]).arg(home.join("readmill.wdl")),
            &log,
        )?
        .expect_success()?;
        Ok("miniwdl check --strict".to_owned())
    });
    outcome.check("a task that is killed runs again; every file is that of a direct run", || {
        fs::write(directory.join("inputs.json"), INPUTS)?;
        let mut command = tool.command();
        command.current_dir(&directory).env("READMILL", &killer.program).arg("run");
        command.arg(home.join("readmill.wdl")).args(["-i", "inputs.json", "-d", "run/."]);
        run_to_end(&mut command, &log)?.expect_success()?;
        let memory = killer.memory_of_attempts()?;
        ensure!(memory == ["1000M", "1000M"], "-m was {memory:?}");
        cohort.compare_outputs(|sample, end| {
            let kind = KINDS.iter().find(|(known, _)| *known == end).map(|(_, kind)| *kind);
            let kind = kind.unwrap_or(if end.contains("mosdepth") { "coverage" } else { "qc" });
            let number = if sample == PAIRED { "0" } else { "1" };
            let (home, name) =
                (directory.join("run/out").join(kind).join(number), format!("{sample}{end}"));
            find_file(&home, &name).unwrap_or_else(|| home.join(name))
        })
    });
    outcome.check("the workflow ends with the page of all samples", || {
        let out = directory.join("run/out");
        cohort.check_page(&out.join("page/cohort.html"), &out.join("multiqc/cohort_mqc.json"))
    });
    Ok(())
}
