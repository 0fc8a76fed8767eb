//! Rules for accepted differences in reading. Each rule uses the contents of the file or a message,
//! never the file name. The constants are row numbers of docs/parity.md.

use std::fs;
use std::process::Stdio;

use anyhow::Result;

use crate::corpus::file::{CorpusFile, SamOutput, find_first_difference, record_lines};
use crate::corpus::report::CorpusVerdict;

/// Files without their last block or container.
const NO_END: u32 = 95;
/// Contigs that BAM cannot hold.
const LONG_CONTIGS: u32 = 96;
/// Positions below -1 in BAM.
const NEGATIVE: u32 = 97;
/// Headers and contig names that samtools refuses.
const HEADERS: u32 = 98;
const EMPTY_NAMES: u32 = 99;
/// U in SAM text.
const URACIL: u32 = 100;

/// Returns the verdict on a file, from the records or the error messages of both programs.
pub fn judge_reading(
    file: &CorpusFile<'_>,
    kind: &str,
    ours: &SamOutput,
    theirs: &SamOutput,
) -> Result<CorpusVerdict> {
    Ok(match (ours, theirs) {
        (Ok(ours), Ok(theirs)) => match find_first_difference(ours, theirs) {
            None => CorpusVerdict::Same,
            Some(what) => judge_different_records(file, kind, ours, theirs, what)?,
        },
        (Err(said), Err(_)) => CorpusVerdict::Refused(said.clone()),
        (Err(said), Ok(theirs)) => judge_own_refusal(file, theirs, said.clone())?,
        (Ok(_), Err(said)) => judge_samtools_refusal(file, said.clone())?,
    })
}

/// Judges a file that readmill refuses but samtools reads.
fn judge_own_refusal(file: &CorpusFile<'_>, theirs: &[String], said: String) -> Result<CorpusVerdict> {
    let ours = || file.read_with_readmill(file.path, "--allow-missing-eof");
    let is_same =
        |ours: &SamOutput| ours.as_ref().is_ok_and(|ours| find_first_difference(ours, theirs).is_none());
    Ok(match () {
        // hts-specs has directories of this name for files that a reader must refuse.
        () if file.path.components().any(|part| part.as_os_str() == "failed") => {
            CorpusVerdict::Refused(said)
        }
        () if has_no_end(file)? && is_same(&ours()?) => CorpusVerdict::Numbered(NO_END, said),
        () if has_long_contigs(file)? => CorpusVerdict::Numbered(LONG_CONTIGS, said),
        () if theirs.iter().any(|line| has_negative_position(line)) => {
            CorpusVerdict::Numbered(NEGATIVE, said)
        }
        () => CorpusVerdict::Defect(format!("readmill alone refuses it: {said}")),
    })
}

/// Returns whether `samtools quickcheck` reports a missing end.
fn has_no_end(file: &CorpusFile<'_>) -> Result<bool> {
    let mut command = file.dir.samtools_1_24_command("quickcheck -v");
    let output = command.arg(file.path).stdin(Stdio::null()).output()?;
    let said = [output.stdout, output.stderr].concat();
    Ok(String::from_utf8_lossy(&said).contains("missing EOF block"))
}

/// Returns the header lines as samtools prints them.
fn read_header(file: &CorpusFile<'_>) -> Result<String> {
    let mut command = file.dir.samtools_1_24_command("view -H");
    let output = command.arg(file.path).stdin(Stdio::null()).output()?;
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

fn has_long_contigs(file: &CorpusFile<'_>) -> Result<bool> {
    let header = read_header(file)?;
    let fields =
        header.lines().filter(|line| line.starts_with("@SQ\t")).flat_map(|line| line.split('\t'));
    let mut lengths = fields.filter_map(|field| field.strip_prefix("LN:")?.parse::<u64>().ok());
    Ok(lengths.any(|length| length > i32::MAX as u64))
}

fn has_negative_position(line: &str) -> bool {
    let columns: Vec<&str> = line.split('\t').collect();
    [3, 7].iter().any(|&at| columns.get(at).is_some_and(|position| position.starts_with('-')))
}

/// Judges a file that samtools refuses but readmill reads: because of its header, or of a contig
/// name.
fn judge_samtools_refusal(file: &CorpusFile<'_>, said: String) -> Result<CorpusVerdict> {
    let text = fs::read(file.path)?;
    let text = String::from_utf8_lossy(&text);
    let fields = text.lines().filter(|line| line.starts_with("@SQ\t")).flat_map(|line| line.split('\t'));
    let mut names = fields.filter_map(|field| field.strip_prefix("SN:"));
    let known = said.contains("fail to read the header") || names.any(|name| !is_name(name));
    Ok(if known {
        CorpusVerdict::Numbered(HEADERS, said)
    } else {
        CorpusVerdict::Defect(format!("samtools alone refuses it: {said}"))
    })
}

/// Returns whether a contig may have this name (SAM specification, section 1.2.1).
fn is_name(name: &str) -> bool {
    let may_be = |c: char| c.is_ascii_graphic() && !"\\,\"`'()[]{}<>".contains(c);
    !name.starts_with(['*', '=']) && !name.is_empty() && name.chars().all(may_be)
}

/// Judges a file that both programs read, but differently.
fn judge_different_records(
    file: &CorpusFile<'_>,
    kind: &str,
    ours: &[String],
    theirs: &[String],
    what: String,
) -> Result<CorpusVerdict> {
    let text = if kind == "SAM" { fs::read(file.path)? } else { Vec::new() };
    let source = record_lines(&text);
    let all = |rule: fn(&[&str], &[&str], &[&str]) -> bool| {
        let columns = |lines: &'_ [String], at: usize| -> Vec<String> {
            lines.get(at).map(|line| line.split('\t').map(str::to_string).collect()).unwrap_or_default()
        };
        ours.len() == theirs.len()
            && (0..ours.len()).filter(|&at| ours[at] != theirs[at]).all(|at| {
                let three = [columns(ours, at), columns(theirs, at), columns(&source, at)];
                let [a, b, c] =
                    three.each_ref().map(|it| it.iter().map(String::as_str).collect::<Vec<_>>());
                a.len() == b.len() && rule(&a, &b, &c)
            })
    };
    Ok(match () {
        () if all(|a, b, _| a[0] == "*" && b[0].is_empty() && a[1..] == b[1..]) => {
            CorpusVerdict::Numbered(EMPTY_NAMES, what)
        }
        () if all(is_uracil) => CorpusVerdict::Numbered(URACIL, what),
        () => CorpusVerdict::Defect(what),
    })
}

/// Returns whether two records differ only where the text has U, which one reads as N and the other
/// as T.
fn is_uracil(ours: &[&str], theirs: &[&str], source: &[&str]) -> bool {
    const SEQ: usize = 9;
    let (Some(a), Some(b), Some(c)) = (ours.get(SEQ), theirs.get(SEQ), source.get(SEQ)) else {
        return false;
    };
    let bases = a.bytes().zip(b.bytes()).zip(c.bytes());
    let rest = |columns: &[&str]| [&columns[..SEQ], &columns[SEQ + 1..]].concat().join("\t");
    rest(ours) == rest(theirs)
        && (a.len(), b.len()) == (c.len(), c.len())
        && bases
            .into_iter()
            .all(|((a, b), c)| a == b || (a, b, c.to_ascii_uppercase()) == (b'N', b'T', b'U'))
}
