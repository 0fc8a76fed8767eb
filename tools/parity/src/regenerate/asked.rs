//! A request to regenerate oracles: the selected cases, and the directory in which the real tools
//! run.

use std::path::Path;

use anyhow::Result;
use readmill_peers::Peers;

use super::case_file::{Case, CaseFile};
use crate::commands::SampleDir;

pub const MARK_DUPLICATES: &str = "picard.sam.markduplicates.MarkDuplicates";

pub struct RegenerateRequest<'a> {
    pub dir: SampleDir<'a>,
    pub peers: &'a Peers,
    /// Only cases whose names contain this text (`--only-case`); `None` selects all.
    pub only_case: Option<&'a str>,
}

impl RegenerateRequest<'_> {
    pub fn is_selected(&self, case: &Case) -> bool {
        self.only_case.is_none_or(|text| case.name().contains(text))
    }

    pub fn read_cases(&self, path: &Path) -> Result<(CaseFile, Vec<usize>)> {
        let file = CaseFile::read(path)?;
        let asked = (0..file.cases.len()).filter(|&n| self.is_selected(&file.cases[n])).collect();
        Ok((file, asked))
    }
}

pub fn skip_first_line(text: &str) -> &str {
    text.split_once('\n').map_or("", |(_, rest)| rest)
}
