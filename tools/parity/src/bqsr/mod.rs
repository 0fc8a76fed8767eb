//! Compares recalibrated base qualities with GATK: tables as text, and records with all their
//! fields.
//!
//! GATK reads the file that readmill has sorted and marked. Other comparisons check that this file
//! is correct.

mod reads;

use std::fs;

use anyhow::{Context, Result, ensure};
use readmill_peers::Peers;

use crate::commands::SampleDir;
use crate::gatk::Gatk;
use crate::ledger::Ledger;
use crate::outputs::{ProgramLines, compare_bam_records, compare_files, compare_lines};
use crate::samples::{self, Sample, SampleFiles};

/// One run of BaseRecalibrator or ApplyBQSR. readmill accepts GATK's options under the same names.
struct GatkCase {
    name: &'static str,
    about: &'static str,
    options: &'static str,
}

const TABLE_CASES: [GatkCase; 3] = [
    GatkCase { name: "plain", about: "as it is", options: "" },
    GatkCase {
        name: "indels",
        about: "insertions and deletions, other contexts, tails, levels and least quality",
        options: "--compute-indel-bqsr-tables --mismatches-context-size 3 --indels-context-size 4 \
                  --low-quality-tail 12 --quantizing-levels 4 --preserve-qscores-less-than 3",
    },
    GatkCase { name: "original", about: "original qualities", options: "--use-original-qualities" },
];

const APPLY_CASES: [GatkCase; 4] = [
    GatkCase { name: "plain", about: "as it is", options: "" },
    GatkCase {
        name: "static",
        about: "fixed levels, OQ written",
        options: "--static-quantized-quals 10 --static-quantized-quals 20 --static-quantized-quals 30 \
                  --static-quantized-quals 40 --emit-original-quals",
    },
    GatkCase {
        name: "down",
        about: "fixed levels, rounded down, original qualities",
        options: "--static-quantized-quals 2 --static-quantized-quals 23 --static-quantized-quals 37 \
                  --round-down-quantized --use-original-qualities",
    },
    GatkCase {
        name: "levels",
        about: "eight levels, one prior for all",
        options: "--quantize-quals 8 --global-qscore-prior 25 --preserve-qscores-less-than 12",
    },
];

/// Compares recalibration with GATK on two inputs: unusual reads, to which every rule often
/// applies, and simulated reads.
pub fn compare_simulated(
    odd: &SampleDir<'_>,
    dir: &SampleDir<'_>,
    peers: &Peers,
    quick: bool,
    ledger: &mut Ledger,
) {
    let (reads, pairs) = if quick { (10_000, 4_000) } else { (100_000, 50_000) };
    ledger.print_heading("bases", "base qualities of odd reads");
    ledger.check("base qualities: odd reads", || {
        reads::write_inputs(odd, reads)?;
        Ok(format!("{reads} reads"))
    });
    compare_all_cases(
        odd,
        peers,
        &SampleFiles::with_reference_and_sites("ref.fasta", "known.vcf"),
        quick,
        ledger,
    );
    let reads = samples::sample_with_libraries(2, pairs);
    ledger.print_heading("bases.simulated", "base qualities of simulated reads");
    ledger.check("base qualities: simulated reads", || {
        reads.write_input_bam(dir)?;
        Ok(format!("{pairs} templates"))
    });
    compare_sample(dir, peers, &reads, quick, ledger);
}

/// Compares base qualities on one sample. A sample without a reference or known sites is reported
/// as skipped.
pub fn compare_sample(
    dir: &SampleDir<'_>,
    peers: &Peers,
    sample: &Sample,
    quick: bool,
    ledger: &mut Ledger,
) {
    match sample.prepare_known_files(dir) {
        Ok(Some(known)) => compare_all_cases(dir, peers, &known, quick, ledger),
        Ok(None) => println!("      base qualities: no ref.fasta.gz and known.vcf.gz next to the file"),
        Err(error) => ledger.check("base qualities: reference and known sites", || Err(error)),
    }
}

fn compare_all_cases(
    dir: &SampleDir<'_>,
    peers: &Peers,
    known: &SampleFiles,
    quick: bool,
    ledger: &mut Ledger,
) {
    let (tables, applied) = if quick {
        (&TABLE_CASES[..2], &APPLY_CASES[..2])
    } else {
        (&TABLE_CASES[..], &APPLY_CASES[..])
    };
    let it = RecalibrationInput { dir, known };
    ledger.check("base qualities: GATK's own", || {
        it.make_gatk_inputs()?;
        let gatk = Gatk::find_or_install(peers)?;
        gatk.run_calls(dir, &it.gatk_calls(tables, applied)?)?;
        Ok(format!("GATK {}", gatk.version()))
    });
    for case in tables {
        ledger.check(&format!("base qualities: table, {}", case.about), || {
            it.run_bqsr_table("marked.bam", &format!("ours.{}.table", case.name), case.options)?;
            compare_texts(
                dir,
                &format!("ours.{0}.table", case.name),
                &format!("gatk.{0}.table", case.name),
            )
        });
    }
    for case in applied {
        ledger.check(&format!("base qualities: applied, {}", case.about), || it.compare_applied(case));
    }
    ledger.check("base qualities: from our own table the same bytes", || it.compare_own_table());
    ledger.check("base qualities: in one command", || it.compare_single_command());
    ledger.check("base qualities: the same bytes with 1, 2 and 8 threads, and the least memory", || {
        it.compare_resources()
    });
    ledger.check("base qualities: tables of parts, and gathered", || it.compare_gathered());
    ledger.check("base qualities: the data of plots", || {
        let tables = "--before gatk.plain.table --after gatk.after.table --table gatk.gathered.table";
        dir.run_readmill(&format!("bqsr plot-data {tables} -o ours.csv"))?;
        compare_texts(dir, "ours.csv", "gatk.csv")
    });
}

struct RecalibrationInput<'a> {
    dir: &'a SampleDir<'a>,
    known: &'a SampleFiles,
}

impl RecalibrationInput<'_> {
    /// Creates the files that GATK needs: `marked.bam` (`in.bam` sorted and marked) with its index,
    /// and the FASTA index and dictionary of the reference.
    fn make_gatk_inputs(&self) -> Result<()> {
        let SampleFiles { reference, dictionary, .. } = self.known;
        self.dir.run_readmill("prep in.bam --sort coordinate --mark-duplicates -o marked.bam -m 1G")?;
        self.dir.run_samtools("index marked.bam")?;
        self.dir.run_samtools(&format!("faidx {reference}"))?;
        self.dir.run_samtools(&format!("dict -o {dictionary} {reference}")).map(drop)
    }

    fn gatk_calls(&self, tables: &[GatkCase], applied: &[GatkCase]) -> Result<Vec<String>> {
        let SampleFiles { reference, sites, .. } = self.known;
        let train = |input: &str, output: &str, more: &str| {
            let files = format!("-I {input} -R {reference} --known-sites {sites} -O {output}");
            format!("walkers.bqsr.BaseRecalibrator {files} {more}")
        };
        let mut calls = Vec::new();
        if !sites.ends_with(".gz") {
            calls.push(format!("IndexFeatureFile -I {sites}"));
        }
        for GatkCase { name, options, .. } in tables {
            calls.push(train("marked.bam", &format!("gatk.{name}.table"), options));
        }
        for GatkCase { name, options, .. } in applied {
            let files = format!("-I marked.bam -bqsr gatk.plain.table -O gatk.{name}.bam");
            calls.push(format!("walkers.bqsr.ApplyBQSR {files} {options}"));
        }
        calls.push(train("gatk.plain.bam", "gatk.after.table", ""));
        let mut parts = String::new();
        for (nth, contigs) in self.contig_parts()?.iter().enumerate() {
            calls.push(train("marked.bam", &format!("gatk.part{nth}.table"), contigs));
            parts += &format!(" -I gatk.part{nth}.table");
        }
        calls.push(format!("walkers.bqsr.GatherBQSRReports{parts} -O gatk.gathered.table"));
        let reports = "-before gatk.plain.table -after gatk.after.table -bqsr gatk.gathered.table";
        calls.push(format!("walkers.bqsr.AnalyzeCovariates {reports} -csv gatk.csv"));
        Ok(calls)
    }

    /// Returns two `-L` option sets: the first contig, and all others. GATK creates tables for both
    /// parts, which are then gathered.
    fn contig_parts(&self) -> Result<[String; 2]> {
        let header = ProgramLines::start_samtools(self.dir, "view -H marked.bam")?.read_text()?;
        let name = |line: &str| {
            let fields = line.strip_prefix("@SQ\t")?;
            fields
                .split('\t')
                .find_map(|field| field.strip_prefix("SN:"))
                .map(|name| format!("-L {name}"))
        };
        let mut names = header.lines().filter_map(name);
        let first = names.next().context("no contig")?;
        Ok([first, names.collect::<Vec<_>>().join(" ")])
    }

    fn run_bqsr_table(&self, input: &str, output: &str, options: &str) -> Result<()> {
        let SampleFiles { reference, sites, .. } = self.known;
        let files = format!("--reference {reference} --known-sites {sites} -o {output}");
        self.dir.run_readmill(&format!("bqsr table {input} {files} {options}")).map(drop)
    }

    fn run_bqsr_apply(&self, table: &str, output: &str, options: &str) -> Result<()> {
        let files = format!("bqsr apply marked.bam --bqsr-table {table} -o {output}");
        self.dir.run_readmill(&format!("{files} {options}")).map(drop)
    }

    fn compare_applied(&self, case: &GatkCase) -> Result<String> {
        let GatkCase { name, options, .. } = case;
        let output = format!("ours.{name}.bam");
        self.run_bqsr_apply("gatk.plain.table", &output, &format!("--gatk-drop-malformed {options}"))?;
        let ours = ProgramLines::start_samtools(self.dir, &format!("view {output}"))?;
        let theirs = ProgramLines::start_samtools(self.dir, &format!("view gatk.{name}.bam"))?;
        Ok(format!("{} records", compare_lines(ours, theirs, sort_fields)?))
    }

    fn compare_own_table(&self) -> Result<String> {
        self.run_bqsr_apply("ours.plain.table", "again.bam", "--gatk-drop-malformed")?;
        Ok(format!("{} bytes", compare_bam_records(self.dir, "again.bam", "ours.plain.bam")?))
    }

    /// Sorts, marks and recalibrates in one command. The table must equal GATK's, and the records
    /// must equal the result of separate commands.
    fn compare_single_command(&self) -> Result<String> {
        self.run_prep("prep.table", "prep.bam", "-m 1G")?;
        let rows = compare_texts(self.dir, "prep.table", "gatk.plain.table")?;
        self.run_bqsr_apply("gatk.plain.table", "kept.bam", "")?;
        Ok(format!("{rows}; {} bytes", compare_bam_records(self.dir, "prep.bam", "kept.bam")?))
    }

    fn run_prep(&self, table: &str, output: &str, resources: &str) -> Result<()> {
        self.dir
            .run_readmill(&format!("{} {resources}", self.prep_command_line(table, output)))
            .map(drop)
    }

    fn prep_command_line(&self, table: &str, output: &str) -> String {
        let SampleFiles { reference, sites, .. } = self.known;
        let steps = "prep in.bam --sort coordinate --mark-duplicates --bqsr";
        let files = format!("--reference {reference} --known-sites {sites} --bqsr-table {table}");
        format!("{steps} {files} -o {output}")
    }

    fn compare_resources(&self) -> Result<String> {
        let min_memory = self
            .dir
            .query_min_memory(&format!("{} -@ 1", self.prep_command_line("other.table", "other.bam")))?;
        let mut bytes = 0;
        for resources in
            [format!("-@ 1 -m {min_memory}"), "-@ 2 -m 1G".to_owned(), "-@ 8 -m 1G".to_owned()]
        {
            self.run_prep("other.table", "other.bam", &resources)?;
            compare_files(self.dir, "other.table", "prep.table").with_context(|| resources.clone())?;
            bytes = compare_bam_records(self.dir, "other.bam", "prep.bam").with_context(|| resources)?;
        }
        Ok(format!("-m {min_memory}, {bytes} bytes"))
    }

    fn compare_gathered(&self) -> Result<String> {
        for (nth, contigs) in self.contig_parts()?.iter().enumerate() {
            self.run_bqsr_table("marked.bam", &format!("ours.part{nth}.table"), contigs)?;
            compare_texts(self.dir, &format!("ours.part{nth}.table"), &format!("gatk.part{nth}.table"))?;
        }
        self.dir.run_readmill("bqsr gather ours.part0.table ours.part1.table -o ours.gathered.table")?;
        compare_texts(self.dir, "ours.gathered.table", "gatk.gathered.table")
    }
}

/// Sorts the optional fields of a record by name, because GATK writes them in a different order.
fn sort_fields(line: &mut Vec<u8>) -> bool {
    let mut fields: Vec<&[u8]> = line.split(|&b| b == b'\t').collect();
    let first = fields.len().min(11);
    fields[first..].sort_unstable();
    *line = fields.join(&b'\t');
    true
}

fn compare_texts(dir: &SampleDir<'_>, ours: &str, theirs: &str) -> Result<String> {
    let [ours, theirs] =
        [ours, theirs].map(|name| fs::read(dir.path(name)).with_context(|| format!("no {name}")));
    let (ours, theirs) = (ours?, theirs?);
    let mut lines = 0;
    for (a, b) in ours.split(|&b| b == b'\n').zip(theirs.split(|&b| b == b'\n')) {
        lines += 1;
        let show = |line: &[u8]| String::from_utf8_lossy(line).into_owned();
        ensure!(a == b, "line {lines} differs\n   ours: {}\n theirs: {}", show(a), show(b));
    }
    ensure!(ours.len() == theirs.len(), "{} bytes and not {}", ours.len(), theirs.len());
    Ok(format!("{} lines", lines - 1))
}
