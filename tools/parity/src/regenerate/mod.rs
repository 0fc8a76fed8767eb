//! `./dev parity --regenerate`: rewrites the oracles below `tests/oracles` with the results of the
//! real tools.
//!
//! Inputs, remarks and accepted differences are written by hand and kept. Only expected results are
//! replaced. With the same tool versions, the files do not change.

mod asked;
mod bqsr;
mod bqsr_cases;
mod case_file;
mod fronts;
mod java;
mod marks;
mod options;
mod report;
mod sam;
mod whole_files;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use readmill_peers::{Peers, workspace};

use crate::commands::{Commands, SampleDir};
use asked::{RegenerateRequest, skip_first_line};

struct Oracle {
    file: &'static str,
    /// Returns the new text of the file, whose first line is replaced afterwards.
    make: fn(&RegenerateRequest<'_>, &Path) -> Result<String>,
}

const ORACLES: [Oracle; 24] = [
    Oracle { file: "picard/marks.txt", make: marks::regenerate_marks },
    Oracle { file: "picard/options.txt", make: options::regenerate_option_cases },
    Oracle { file: "picard/larger.txt", make: options::regenerate_option_cases },
    Oracle { file: "picard/adapters.txt", make: whole_files::regenerate_adapters },
    Oracle { file: "gatk/bqsr.txt", make: bqsr::regenerate_bqsr_cases },
    Oracle { file: "gatk/bqsr_random.txt", make: bqsr::regenerate_bqsr_cases },
    Oracle { file: "gatk/recalibration/gathered.table", make: whole_files::regenerate_gathered_report },
    Oracle { file: "gatk/recalibration/plot.csv", make: whole_files::regenerate_plot_data },
    Oracle { file: "mosdepth/coverage.txt", make: whole_files::regenerate_coverage },
    Oracle { file: "samtools/stats.txt", make: whole_files::regenerate_stats },
    Oracle { file: "fronts/options.txt", make: fronts::list_front_options },
    Oracle { file: "java/numbers.txt", make: java::hash_numbers },
    Oracle { file: "java/likelihoods.txt", make: java::hash_likelihoods },
    Oracle { file: "java/regions.txt", make: java::describe_regions },
    Oracle { file: "java/pairwise.txt", make: java::print_pairwise_cases },
    Oracle { file: "java/finalize.txt", make: java::print_finalized_reads },
    Oracle { file: "java/assembly.txt", make: java::print_assemblies },
    Oracle { file: "java/sequence_graphs.txt", make: java::print_sequence_graphs },
    Oracle { file: "java/pair_hmm.txt", make: java::print_kernel_likelihoods },
    Oracle { file: "java/read_likelihoods.txt", make: java::print_read_likelihoods },
    Oracle { file: "java/genotypes.txt", make: java::print_genotypes },
    Oracle { file: "java/annotations.txt", make: java::list_annotations },
    Oracle { file: "java/files.txt", make: java::list_files },
    Oracle { file: "java/references.txt", make: java::list_references },
];

impl Oracle {
    fn first_line(&self, peers: &Peers) -> Result<String> {
        let (tool, version) = match self.file.split('/').next() {
            Some("picard") => ("Picard", peers.picard()?.version),
            Some("mosdepth") => ("mosdepth", peers.mosdepth()?.version),
            Some("gatk") => ("GATK", peers.gatk()?.version),
            Some("fronts") => {
                return Ok("# Generated: names of options in the help of each tool, by `./dev parity \
                           --regenerate`; those of MarkDuplicatesSpark are kept by hand."
                    .to_owned());
            }
            Some("java") => {
                return Ok(format!(
                    "# Generated: results of Java 17 and GATK {} on an Intel processor, by `./dev parity \
                     --regenerate`.",
                    peers.gatk()?.version
                ));
            }
            _ => ("samtools", peers.newest_samtools()?.version),
        };
        let by_hand = "inputs and remarks are written by hand";
        Ok(format!(
            "# Generated: results of {tool} {version}, by `./dev parity --regenerate`; {by_hand}."
        ))
    }
}

/// Regenerates the oracles whose file names contain one of `names`, or all if `names` is empty.
/// Prints for each file whether it changed.
pub fn regenerate_oracles(
    names: &[String],
    only_case: Option<&str>,
    peers: &Peers,
    root: &Path,
) -> Result<()> {
    let is_asked =
        |oracle: &&Oracle| names.is_empty() || names.iter().any(|it| oracle.file.contains(it));
    let oracles: Vec<&Oracle> = ORACLES.iter().filter(is_asked).collect();
    let all = ORACLES.map(|oracle| oracle.file).join(", ");
    ensure!(!oracles.is_empty(), "no oracle has such a name; they are {all}");
    let commands = Commands::find_peers_only(peers)?;
    for oracle in oracles {
        let Oracle { file, make } = oracle;
        let path = oracles_directory().join(file);
        let dir = SampleDir::new(&commands, &root.join(file))?;
        let before = fs::read_to_string(&path).with_context(|| format!("no {}", path.display()))?;
        let after = make(&RegenerateRequest { dir, peers, only_case }, &path)
            .with_context(|| (*file).to_owned())?;
        let after = format!("{}\n{}", oracle.first_line(peers)?, skip_first_line(&after));
        if before == after {
            println!("same     {file}");
        } else {
            fs::write(&path, after)?;
            println!("changed  {file}: see git diff");
        }
    }
    Ok(())
}

fn oracles_directory() -> PathBuf {
    workspace().join("tests/oracles")
}
