//! Chooses the files of read groups for `split` and `fastq`, and reduces headers to one read group.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use readmill_format::text::LineReader;
use readmill_record::header::HeaderLine;
use readmill_record::{Error, Header, Ledger, Result};

use crate::plan::group_names::{NO_GROUP, NamePattern, parse_file_table};
use crate::plan::{Split, SplitNames, SplitRest};

/// Returns the `@RG` lines that have an ID.
fn groups_with_id(header: &Header) -> impl Iterator<Item = &HeaderLine> {
    header.lines_of_kind(b"RG").filter(|line| line.get(b"ID").is_some())
}

fn read_group_id(group: &HeaderLine) -> String {
    group.get(b"ID").map(|id| String::from_utf8_lossy(id).into_owned()).unwrap_or_default()
}

/// Returns the files of a split by read group: one for each read group, in header order, and then
/// the file for reads without a read group, unless such reads are an error.
pub fn split_files(split: &Split, header: &Header, ledger: &Ledger) -> Result<Vec<PathBuf>> {
    let mut names = Names::default();
    match &split.names {
        SplitNames::Prefix(prefix) => {
            let of_rest = prefixed_file_name(prefix, NO_GROUP, split.output.format.spec().extension);
            names.reserve(of_rest);
            for group in groups_with_id(header) {
                let name = replace_special_characters(&read_group_id(group));
                names.add(
                    prefixed_file_name(prefix, &name, split.output.format.spec().extension),
                    read_group_id(group),
                )?;
            }
        }
        SplitNames::Pattern(pattern) => {
            names.reserve(pattern.path(None, 0, 1)?);
            for (number, group) in groups_with_id(header).enumerate() {
                names.add(pattern.path(Some(group), number, 1)?, read_group_id(group))?;
            }
        }
        SplitNames::Table(path) => add_table_files(path, header, ledger, &mut names)?,
    }
    let own = match &split.names {
        SplitNames::Table(_) => None,
        _ => names.reserved.clone(),
    };
    names.list.extend(match &split.rest {
        SplitRest::Named => own,
        SplitRest::File(path) => {
            names.ensure_is_not_group_file(path)?;
            Some(path.clone())
        }
        SplitRest::Refused => None,
    });
    Ok(names.list)
}

/// Adds the files listed in a table (`--split-table`).
///
/// # Errors
/// Fails if the table lacks a read group of the header, or contains one that is not in the header.
fn add_table_files(path: &Path, header: &Header, ledger: &Ledger, names: &mut Names) -> Result<()> {
    let (mut reader, mut lines) = (LineReader::open(path, ledger)?, Vec::new());
    let mut charge = ledger.empty_charge("names of files");
    while reader.advance_line()? {
        let line = String::from_utf8_lossy(reader.line().trim_ascii_end()).into_owned();
        // The table stores each line a second time, and its memory doubles when it grows.
        charge.grow((3 * line.len() + 4 * size_of::<PathBuf>()) as u64)?;
        lines.extend((!line.is_empty()).then_some(line));
    }
    let mut table = parse_file_table(lines.into_iter()).map_err(|error| error.file(path))?;
    for group in groups_with_id(header) {
        let id = read_group_id(group);
        let file = table.remove(&id).ok_or_else(|| {
            Error::input(format!("{} has no file for the read group {id:?}", path.display()))
                .hint("add a line for this read group")
        })?;
        names.add(file, id)?;
    }
    match table.into_keys().min() {
        Some(id) => Err(Error::input(format!(
            "{} has a file for the read group {id:?}, which is not in the header",
            path.display()
        ))
        .hint("remove this line")),
        None => Ok(()),
    }
}

/// Returns the files for read 1 and for read 2. Each list has one file for each read group, in
/// header order, and then the file for reads without a read group. If the pattern has no `{end}`,
/// both lists are equal.
///
/// # Errors
/// Fails if the header has no read groups, or if two read groups would have the same file.
pub fn fastq_files(pattern: &NamePattern, header: &Header) -> Result<[Vec<PathBuf>; 2]> {
    if groups_with_id(header).next().is_none() {
        return Err(Error::input("files are written per read group, but the header has no read group")
            .hint("name the files instead: -1 R1.fq.gz -2 R2.fq.gz"));
    }
    let mut names = Names::default();
    let mut of_end = |end: u8| {
        let rest = pattern.path(None, 0, end)?;
        names.reserve(rest.clone());
        let mut list = Vec::new();
        for (number, group) in groups_with_id(header).enumerate() {
            let path = pattern.path(Some(group), number, end)?;
            names.add(path.clone(), read_group_id(group))?;
            list.push(path);
        }
        list.push(rest);
        Ok(list)
    };
    let firsts = of_end(1)?;
    let lasts = if pattern.has_end() { of_end(2)? } else { firsts.clone() };
    Ok([firsts, lasts])
}

/// File names that must differ, with the read group of each.
#[derive(Default)]
struct Names {
    list: Vec<PathBuf>,
    owners: HashMap<PathBuf, String>,
    /// The file for reads without a read group.
    reserved: Option<PathBuf>,
}

impl Names {
    fn reserve(&mut self, path: PathBuf) {
        self.owners.insert(path.clone(), "none".to_string());
        self.reserved = Some(path);
    }

    fn add(&mut self, path: PathBuf, id: String) -> Result<()> {
        if let Some(other) = self.owners.insert(path.clone(), id.clone()) {
            return Err(Error::input(format!(
                "the read groups {other:?} and {id:?} would have the same file name {}",
                path.display()
            ))
            .hint("rename one of them in the header, or use another field in file names"));
        }
        self.list.push(path);
        Ok(())
    }

    /// Checks that the file for reads without a read group is not the file of a read group.
    fn ensure_is_not_group_file(&self, rest: &Path) -> Result<()> {
        if !self.list.iter().any(|path| path == rest) {
            return Ok(());
        }
        let group = self.owners.get(rest).map_or("", String::as_str);
        Err(Error::usage(format!(
            "{} is the file of the read group {group:?}, and cannot also have the reads without a read group",
            rest.display()
        ))
        .hint("give another name for the reads without a read group"))
    }
}

/// Replaces characters that may be special to file systems or shells by `_`.
fn replace_special_characters(id: &str) -> String {
    let fits = |c: char| c.is_ascii_alphanumeric() || "._-+".contains(c);
    id.chars().map(|c| if fits(c) { c } else { '_' }).collect()
}

/// Returns `prefix.name` with the extension, or a file in the directory `prefix` if it ends in a
/// slash.
pub fn prefixed_file_name(prefix: &Path, name: &str, extension: &str) -> PathBuf {
    let mut path = prefix.as_os_str().to_os_string();
    let is_directory = path.as_encoded_bytes().ends_with(b"/");
    if !path.is_empty() && !is_directory {
        path.push(".");
    }
    path.push(name);
    path.push(extension);
    path.into()
}

/// Removes all read groups from a header except the one with index `number`.
pub fn keep_one_group(header: &mut Header, number: usize) -> Result<()> {
    let own = groups_with_id(header).nth(number).cloned();
    header.replace_lines(b"RG", own.into_iter().collect(), &[b"PG", b"CO"])
}

#[cfg(test)]
mod tests {
    use super::Names;

    #[test]
    fn the_file_of_the_rest_is_not_the_file_of_a_group() {
        let mut names = Names::default();
        names.reserve("in_rest.bam".into());
        names.add("in_0.bam".into(), "a".to_string()).unwrap();
        let error = names.ensure_is_not_group_file("in_0.bam".as_ref()).unwrap_err();
        assert!(error.what.starts_with("in_0.bam is the file of the read group \"a\""), "{error}");
        names.ensure_is_not_group_file("in_rest.bam".as_ref()).unwrap();
        names.ensure_is_not_group_file("x.bam".as_ref()).unwrap();
    }
}
