//! A request to regenerate oracles: the cases, and the directory in which the real tools run.

use std::path::Path;

use anyhow::Result;
use readmill_peers::Peers;

use super::case_file::{Case, CaseFile};
use crate::commands::SampleDir;

/// The tool of Picard that marks duplicates.
pub const MARK_DUPLICATES: &str = "picard.sam.markduplicates.MarkDuplicates";

/// How the real tools are asked.
pub struct Asked<'a> {
    /// Where they are run.
    pub dir: SampleDir<'a>,
    pub peers: &'a Peers,
    /// Only cases whose names contain this.
    pub only_case: Option<&'a str>,
}

impl Asked<'_> {
    /// Whether a case is asked for.
    pub fn has(&self, case: &Case) -> bool {
        self.only_case.is_none_or(|text| case.name().contains(text))
    }

    /// The file of cases, and the numbers of those that are asked for.
    pub fn cases(&self, path: &Path) -> Result<(CaseFile, Vec<usize>)> {
        let file = CaseFile::read(path)?;
        let asked = (0..file.cases.len()).filter(|&n| self.has(&file.cases[n])).collect();
        Ok((file, asked))
    }
}

/// A text without its first line.
pub fn below_first_line(text: &str) -> &str {
    text.split_once('\n').map_or("", |(_, rest)| rest)
}
