//! Data files: the figures of a table as tab-separated text, one row per contender.
//!
//! `--tables DIR` writes them in addition to the printed tables. `docs/data/benchmarks` has the
//! figures of `docs/benchmarks.md`. A file has one set of columns and the tables of several runs,
//! so each row begins with three columns about its origin: the table title, the command that
//! measured it, and the machine with the input.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};

use crate::contender::file_name_alone;

/// The origin columns at the start of every file.
const ORIGIN: [&str; 3] = ["table", "command", "setting"];

/// Flags whose values are paths on this machine and say nothing about the figures.
const PLACES: [&str; 3] = ["--tables", "--directory", "--binary"];

pub struct DataTable<'a> {
    /// File name without extension.
    pub file: &'a str,
    /// Its title, as printed.
    pub title: &'a str,
    /// Column names, each with its unit.
    pub columns: &'a [&'a str],
    /// The cells of its rows. A dash or an empty cell means that the figure is missing.
    pub rows: Vec<Vec<String>>,
}

impl DataTable<'_> {
    /// Adds the table to its file in `directory`.
    ///
    /// If the file already has a table with this title and command, the new rows replace the old
    /// ones. So rerunning a command does not make the file longer.
    pub fn add_to(&self, directory: &Path, command: &str, setting: &str) -> Result<()> {
        fs::create_dir_all(directory).with_context(|| directory.display().to_string())?;
        let path = directory.join(format!("{}.tsv", self.file));
        let old = match path.exists() {
            true => fs::read_to_string(&path).with_context(|| path.display().to_string())?,
            false => String::new(),
        };
        let text =
            self.merge_into(&old, command, setting).with_context(|| path.display().to_string())?;
        fs::write(&path, text).with_context(|| path.display().to_string())
    }

    /// Returns the text of the file after adding the table to `old`.
    fn merge_into(&self, old: &str, command: &str, setting: &str) -> Result<String> {
        let head = join(ORIGIN.iter().chain(self.columns));
        let (old_head, old_rows) = old.split_once('\n').unwrap_or_default();
        ensure!(old.is_empty() || old_head == head, "the file has other columns; remove it first");
        let origin = [self.title, command, setting];
        let replaced = format!("{}\t", join(&origin[..2]));
        let mut text = format!("{head}\n");
        for row in old_rows.lines().filter(|row| !row.starts_with(&replaced)) {
            text += &format!("{row}\n");
        }
        for row in &self.rows {
            let cells = row.iter().map(|cell| if cell == "–" { "" } else { cell.as_str() });
            text += &format!("{}\n", join(origin.into_iter().chain(cells)));
        }
        Ok(text)
    }
}

/// Joins cells with tabs. Tabs and line ends inside a cell become spaces.
fn join<T: AsRef<str>>(cells: impl IntoIterator<Item = T>) -> String {
    let cells = cells.into_iter().map(|cell| cell.as_ref().replace(['\t', '\n'], " "));
    cells.collect::<Vec<_>>().join("\t")
}

/// Returns the command line of this process as a user would type it, without flags that only name
/// paths.
pub fn command_line(arguments: impl IntoIterator<Item = String>) -> String {
    let mut words = vec!["./dev bench".to_owned()];
    let mut arguments = arguments.into_iter();
    while let Some(argument) = arguments.next() {
        let name = argument.split_once('=').map_or(&argument[..], |(name, _)| name);
        match PLACES.contains(&name) {
            true if name == argument => drop(arguments.next()),
            true => {}
            false => words.push(file_name_alone(&argument)),
        }
    }
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(cell: &str) -> DataTable<'_> {
        let rows = vec![vec!["readmill".into(), cell.into()]];
        DataTable { file: "sort", title: "Sort", columns: &["contender", "cpu_s"], rows }
    }

    #[test]
    fn a_table_that_is_measured_again_replaces_its_rows() {
        let add = |old: &str, cell: &str, command: &str| table(cell).merge_into(old, command, "here");
        let one = add("", "7.88", "sort -l 6").unwrap();
        assert_eq!(
            one,
            "table\tcommand\tsetting\tcontender\tcpu_s\nSort\tsort -l 6\there\treadmill\t7.88\n"
        );
        let two = add(&one, "–", "sort -l 1").unwrap();
        assert!(two.starts_with(&one) && two.ends_with("Sort\tsort -l 1\there\treadmill\t\n"));
        let again = add(&two, "7.5", "sort -l 6").unwrap();
        assert!(again.lines().count() == 3 && again.contains("7.5") && !again.contains("7.88"));
        assert!(add("other\tcolumns\n", "1", "sort").is_err());
    }

    #[test]
    fn a_table_is_added_to_its_file() {
        let directory = tempfile::tempdir().unwrap();
        let data = directory.path().join("benchmarks");
        table("1").add_to(&data, "sort", "here").unwrap();
        table("2").add_to(&data, "floor", "here").unwrap();
        assert_eq!(fs::read_to_string(data.join("sort.tsv")).unwrap().lines().count(), 3);
    }

    #[test]
    fn a_command_line_names_no_places() {
        let words =
            "sort --pairs 9 --tables docs/x --directory=/tmp/y --data /z/in.bam --binary /b -m 1G";
        let shown = command_line(words.split(' ').map(str::to_owned));
        assert_eq!(shown, "./dev bench sort --pairs 9 --data in.bam -m 1G");
    }
}
