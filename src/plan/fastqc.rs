//! The modules of FastQC in the same pass: the request.

use std::path::{Path, PathBuf};

use readmill_fastqc::FastqcOptions;
use readmill_record::{Error, Result};

/// The reports of FastQC of all inputs.
#[derive(Clone, Debug)]
pub struct FastqcRequest {
    /// Options of all modules.
    pub options: FastqcOptions,
    /// The reports, one for each input.
    pub reports: Vec<FastqcReport>,
}

/// The report of an input.
#[derive(Clone, Debug)]
pub struct FastqcReport {
    pub input: PathBuf,
    /// The name of the input in it.
    pub name: String,
    /// Its file of numbers.
    pub data: PathBuf,
    /// Its file of verdicts.
    pub summary: PathBuf,
}

/// Endings of files that the names of reports leave out, in this order: as FastQC, and for formats that it does not
/// read.
const ENDINGS: [&str; 11] =
    [".gz", ".bz2", ".zst", ".txt", ".fastq", ".fq", ".csfastq", ".sam", ".bam", ".cram", ".ubam"];

impl FastqcRequest {
    /// A request for the reports of these inputs, each in a directory of its own in `directory`.
    ///
    /// # Errors
    /// The directory is no name of one.
    pub fn new(directory: &Path, inputs: &[PathBuf], options: FastqcOptions) -> Result<Self> {
        if directory.as_os_str() == "-" || directory.as_os_str().is_empty() {
            let what = "the FastQC reports are several files, so they need a directory";
            return Err(Error::usage(what).hint("give a directory: --fastqc DIR"));
        }
        let report = |input: &PathBuf| {
            let name = match input.file_name() {
                Some(name) if name != "-" => name.to_string_lossy().into_owned(),
                _ => "stdin".into(),
            };
            let stem =
                ENDINGS.iter().fold(&name[..], |name, end| name.strip_suffix(end).unwrap_or(name));
            let own = directory.join(format!("{stem}_fastqc"));
            let (data, summary) = (own.join("fastqc_data.txt"), own.join("summary.txt"));
            FastqcReport { input: input.clone(), name, data, summary }
        };
        Ok(FastqcRequest { options, reports: inputs.iter().map(report).collect() })
    }

    /// The number of the report of an input.
    pub fn number(&self, input: &Path) -> Option<usize> {
        self.reports.iter().position(|report| report.input == input)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_are_named_as_those_of_fastqc() {
        let of = |name: &str| {
            let request =
                FastqcRequest::new(Path::new("qc"), &[name.into()], FastqcOptions::default()).unwrap();
            let report = &request.reports[0];
            (report.name.clone(), report.data.display().to_string())
        };
        let named =
            |name: &str, stem: &str| (name.to_string(), format!("qc/{stem}_fastqc/fastqc_data.txt"));
        assert_eq!(of("a/R1.fastq.gz"), named("R1.fastq.gz", "R1"));
        assert_eq!(of("x.fq"), named("x.fq", "x"));
        assert_eq!(of("x.gz.fq"), named("x.gz.fq", "x.gz"));
        assert_eq!(of("s.bam"), named("s.bam", "s"));
        assert_eq!(of("s"), named("s", "s"));
        assert_eq!(of("-"), named("stdin", "stdin"));
        assert!(FastqcRequest::new(Path::new("-"), &[], FastqcOptions::default()).is_err());
    }
}
