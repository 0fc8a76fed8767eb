//! Compares annotations, the confidence in the reference, blocks and lines of VCF files with GATK's.

#[path = "../../../../crates/genotypes/tests/genotypes/records/annotations.rs"]
mod annotations;
#[path = "../../../../crates/genotypes/tests/genotypes/records/files.rs"]
mod files;
#[path = "../../../../crates/genotypes/tests/genotypes/records/references.rs"]
mod references;

use std::path::Path;

use anyhow::{Error, Result, ensure};
use readmill_peers::Peers;

use crate::java::run_java_source;
use crate::ledger::Ledger;

/// Runs of a Java program, each with its own seed.
const RUNS: usize = 10;

/// Compares random calls and regions, and files of HaplotypeCaller, with what `Annotations.java`,
/// `References.java` and `Files.java` in the folder `programs` print. Files are written below `root`.
pub fn compare_records(peers: &Peers, programs: &Path, root: &Path, ledger: &mut Ledger) {
    let run = |name: &str, words: &[&str]| run_java_source(peers, &programs.join(name), words);
    ledger.check("calling: annotations of random calls, and their lines", || {
        let count = sum_runs(|seed| {
            let text = run("Annotations.java", &[seed, "10000", "10000"])?;
            annotations::compare_annotations(&text).map_err(Error::msg)
        })?;
        ensure!(count > 0, "nothing was compared");
        Ok(format!("{count} results"))
    });
    ledger.check("calling: confidence in the reference, and blocks", || {
        let (mut positions, mut lines) = (0, 0);
        sum_runs(|seed| {
            let text = run("References.java", &[seed, "400", "400"])?;
            let counts = references::compare_references(&text).map_err(Error::msg)?;
            (positions, lines) = (positions + counts.0, lines + counts.1);
            Ok(0)
        })?;
        ensure!(positions > 0 && lines > 0, "nothing was compared");
        Ok(format!("{positions} positions, {lines} lines of blocks and variants"))
    });
    ledger.check("calling: VCF files of three modes, written again", || {
        let text = run("Files.java", &["2", "100000", &root.to_string_lossy()])?;
        let count = files::compare_files(&text).map_err(Error::msg)?;
        ensure!(count > 0, "nothing was compared");
        Ok(format!("{count} lines"))
    });
}

fn sum_runs(mut run: impl FnMut(&str) -> Result<usize>) -> Result<usize> {
    (1..=RUNS).map(|seed| run(&seed.to_string())).sum()
}
