//! Compares whole VCF files with those of GATK HaplotypeCaller.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

mod call;
mod sam;

use std::fs;
use std::path::PathBuf;

use readmill_caller::CallerOptions;
use readmill_jmath::{CpuMaker, JavaMath};

use call::{MODES, call_text, find_difference};

/// Compares our files with those of GATK for `NAME.fa`, `NAME.sam` and `NAME.MODE.vcf` in a directory.
/// The file names end in the values of `-ERC`. Returns the number of files of GATK.
fn compare_directory(directory: PathBuf) -> usize {
    let mut differences = Vec::new();
    let (mut files, mut compared) = (0, 0);
    let paths = fs::read_dir(&directory).unwrap().map(|entry| entry.unwrap().path());
    let mut inputs = Vec::from_iter(paths.filter(|path| path.extension().is_some_and(|it| it == "sam")));
    inputs.sort();
    for input in inputs {
        let sam = fs::read_to_string(&input).unwrap();
        let fasta = fs::read_to_string(input.with_extension("fa")).unwrap();
        for (name, mode) in MODES {
            let Ok(gatk) = fs::read_to_string(input.with_extension(format!("{name}.vcf"))) else {
                continue;
            };
            let math = JavaMath::of_maker(CpuMaker::Intel).unwrap();
            let ours = call_text(&fasta, &sam, &CallerOptions { math, ..CallerOptions::new(mode) });
            let ours = ours.unwrap_or_else(|error| error.to_string());
            let records = gatk.lines().filter(|line| !line.starts_with('#')).count();
            println!("{} {name}: {records} records", input.display());
            compared += records;
            files += 1;
            if let Some(difference) = find_difference(&ours, &gatk) {
                differences.push(format!("{} {name}:\n{difference}", input.display()));
            }
        }
    }
    assert!(compared > 0, "no files to compare in {}", directory.display());
    assert!(differences.is_empty(), "{}", differences.join("\n"));
    files
}

#[test]
fn records_equal_those_of_gatk() {
    let directory = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/caller/data");
    assert_eq!(compare_directory(directory), MODES.len());
}

/// Compares further files, in the directory that the variable `READMILL_CALLER_DATA` names.
#[test]
#[ignore = "needs files that GATK made"]
fn records_equal_those_of_gatk_in_a_directory() {
    let directory =
        std::env::var_os("READMILL_CALLER_DATA").expect("READMILL_CALLER_DATA names a directory");
    compare_directory(directory.into());
}
