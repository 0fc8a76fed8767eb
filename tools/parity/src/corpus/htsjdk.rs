//! htsjdk reads readmill's CRAM files, and readmill reads the CRAM files that htsjdk writes from
//! them.

use std::collections::HashSet;
use std::fs;

use anyhow::Result;

use crate::commands::SampleDir;
use crate::corpus::file::{self, CorpusFile, find_first_difference, judge_foreign_cram, record_lines};
use crate::corpus::reading::{HTSJDKS, OURS, OURS_BY_HTSJDK};
use crate::corpus::report::{CorpusRow, CorpusVerdict};

/// The records that htsjdk read from a CRAM file, or its message.
type HtsjdkResult = std::result::Result<Vec<String>, String>;

/// A CRAM file of readmill that htsjdk reads differently.
struct HtsjdkDifference {
    /// Index of the file.
    at: usize,
    read: HtsjdkResult,
    ours: Vec<String>,
    what: String,
}

/// Fills in the verdicts on all files written as CRAM.
pub fn compare_with_htsjdk(
    dir: &SampleDir<'_>,
    files: &[CorpusFile<'_>],
    rows: &mut [CorpusRow],
) -> Result<()> {
    let some: Vec<usize> =
        (0..rows.len()).filter(|&at| rows[at].verdicts[OURS] == CorpusVerdict::Same).collect();
    let crams: Vec<(String, &CorpusFile<'_>)> =
        some.iter().map(|&at| (files[at].own_cram_name(), &files[at])).collect();
    let read = read_crams(dir, &crams)?;
    let mut again = Vec::new();
    for (&at, theirs) in some.iter().zip(read) {
        let file = &files[at];
        let ours = file.read_with_readmill(&dir.path(&file.own_cram_name()), "")?.unwrap_or_default();
        let ours: Vec<String> = ours.iter().map(|line| file::normalise_for_htsjdk(line)).collect();
        match describe_htsjdk_difference(&theirs, &ours) {
            None => rows[at].verdicts[OURS_BY_HTSJDK] = CorpusVerdict::Same,
            Some(what) => again.push(HtsjdkDifference { at, read: theirs, ours, what }),
        }
    }
    judge_difference(dir, files, rows, again)?;
    for (at, verdict) in some.iter().zip(write_and_read_back(dir, &crams)?) {
        rows[*at].verdicts[HTSJDKS] = verdict;
    }
    Ok(())
}

/// Describes the difference between the records that htsjdk and readmill read.
fn describe_htsjdk_difference(theirs: &HtsjdkResult, ours: &[String]) -> Option<String> {
    let theirs = match theirs {
        Ok(theirs) => theirs,
        Err(said) => return Some(format!("htsjdk refuses it: {said}")),
    };
    find_first_difference(theirs, ours).map(|what| format!("htsjdk and readmill: {what}"))
}

/// Judges a difference: checks whether htsjdk treats samtools' CRAM of the file, in the same
/// version, in the same way.
fn judge_difference(
    dir: &SampleDir<'_>,
    files: &[CorpusFile<'_>],
    rows: &mut [CorpusRow],
    again: Vec<HtsjdkDifference>,
) -> Result<()> {
    let mut crams = Vec::new();
    for &HtsjdkDifference { at, .. } in &again {
        let name = format!("samtools3.{at}.cram");
        let _ = files[at].write_by_samtools(&name, &format!(",{}", files[at].cram))?;
        // htsjdk reads an existing index even if it does not need it.
        if dir.path(&format!("{}.crai", files[at].own_cram_name())).exists() {
            let _ = dir.run_samtools_1_24(&format!("index {name}"));
        }
        crams.push((name, &files[at]));
    }
    for (it, of_theirs) in again.into_iter().zip(read_crams(dir, &crams)?) {
        let same = match (&it.read, &of_theirs) {
            (Ok(a), Ok(b)) => is_explained(a, b, &it.ours),
            (Err(a), Err(b)) => exception_class(a) == exception_class(b),
            _ => false,
        };
        let verdict = if same { CorpusVerdict::AsSamtools } else { CorpusVerdict::Defect };
        rows[it.at].verdicts[OURS_BY_HTSJDK] = verdict(it.what);
    }
    Ok(())
}

/// Returns whether every field that htsjdk reads from readmill's file equals the field that
/// readmill reads from it, or the one that htsjdk reads from samtools' file. Where these two agree,
/// htsjdk must agree with both.
fn is_explained(read: &[String], of_theirs: &[String], ours: &[String]) -> bool {
    let fields = |line: &str| -> HashSet<(usize, String)> {
        // The order of optional fields is irrelevant.
        line.split('\t').enumerate().map(|(at, field)| (at.min(11), field.to_string())).collect()
    };
    let line = |((a, b), c): ((&String, &String), &String)| {
        let (a, b, c) = (fields(a), fields(b), fields(c));
        a.iter().all(|field| b.contains(field) || c.contains(field))
            && b.intersection(&c).all(|it| a.contains(it))
    };
    read.len() == ours.len()
        && read.len() == of_theirs.len()
        && read.iter().zip(of_theirs).zip(ours).all(line)
}

/// Returns the exception class of a message.
fn exception_class(said: &str) -> &str {
    said.split(':').next().unwrap_or_default()
}

/// Reads CRAM files with htsjdk.
fn read_crams(dir: &SampleDir<'_>, crams: &[(String, &CorpusFile<'_>)]) -> Result<Vec<HtsjdkResult>> {
    let calls = crams.iter().map(|(name, file)| {
        let reference = file.write_options().map(|it| format!(" R={it}")).unwrap_or_default();
        format!("SamFormatConverter I={name} O=htsjdk.{name}.sam{reference}")
    });
    let ends = dir.run_picard_calls_verbose(&calls.collect::<Vec<_>>())?;
    let read = crams.iter().zip(ends).map(|((name, _), (code, said))| {
        if code != 0 {
            return Ok(Err(said));
        }
        let text = fs::read(dir.path(&format!("htsjdk.{name}.sam")))?;
        Ok(Ok(record_lines(&text).iter().map(|line| file::normalise_for_htsjdk(line)).collect()))
    });
    read.collect()
}

/// Writes CRAM with htsjdk, which needs a reference, and reads it with readmill and samtools.
fn write_and_read_back(
    dir: &SampleDir<'_>,
    crams: &[(String, &CorpusFile<'_>)],
) -> Result<Vec<CorpusVerdict>> {
    let calls = crams.iter().filter_map(|(name, file)| {
        let reference = file.write_options()?;
        Some(format!("SamFormatConverter I={name} O=htsjdk.{name}.cram R={reference}"))
    });
    let mut ends = dir.run_picard_calls_verbose(&calls.collect::<Vec<_>>())?.into_iter();
    let verdicts = crams.iter().map(|(name, file)| {
        let written = file.write_options().is_some() && ends.next().is_some_and(|(code, _)| code == 0);
        if !written {
            return Ok(CorpusVerdict::Blank);
        }
        let path = dir.path(&format!("htsjdk.{name}.cram"));
        Ok(judge_foreign_cram(&file.read_with_readmill(&path, "")?, &file.read_with_samtools(&path)?))
    });
    verdicts.collect()
}
