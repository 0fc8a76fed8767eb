//! The verdicts on each file, one per comparison, with their totals on a page and all verdicts in
//! data files.

use std::collections::BTreeMap;
use std::fmt::{self, Write};
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

/// Number of each verdict: blank, same, refused, numbered, as samtools', defect.
type VerdictCounts = [usize; 6];

fn verdict_class(verdict: &CorpusVerdict) -> usize {
    match verdict {
        CorpusVerdict::Blank => 0,
        CorpusVerdict::Same => 1,
        CorpusVerdict::Refused(_) => 2,
        CorpusVerdict::Numbered(..) => 3,
        CorpusVerdict::AsSamtools(_) => 4,
        CorpusVerdict::Defect(_) => 5,
    }
}

/// Describes the number of each verdict in a comparison.
pub fn describe_counts(rows: &[CorpusRow], comparison: usize) -> String {
    let mut counts = VerdictCounts::default();
    rows.iter().for_each(|row| counts[verdict_class(&row.verdicts[comparison])] += 1);
    let [_, same, refused, numbered, as_samtools, defects] = counts;
    let as_samtools = match as_samtools {
        0 => String::new(),
        number => format!(", {number} as samtools' CRAM"),
    };
    format!(
        "{same} ok, {refused} refused as they should be, {numbered} by a numbered row{as_samtools}, {defects} defects"
    )
}

/// The comparisons made for each file, and the text around their tables.
pub struct ReportLayout {
    /// Names of the comparisons, in column order.
    pub comparisons: &'static [&'static str],
    /// The text before the versions.
    pub introduction: &'static str,
    /// Explanation of the verdicts.
    pub legend: &'static str,
    /// Markdown heading marks for table titles.
    pub heading: &'static str,
    /// Prefix of the names of its data files.
    pub data_prefix: &'static str,
    /// Whether the totals of the first comparison are split by format.
    pub by_format: bool,
}

/// Where a report is written. By default, none is written.
#[derive(Clone, Copy, Default)]
pub struct ReportPaths<'a> {
    pub page: Option<&'a Path>,
    /// The directory of the data files, which have one row per file or per difference.
    pub tables: Option<&'a Path>,
}

impl ReportLayout {
    /// Writes the requested page and data files.
    pub fn write(&self, rows: &[CorpusRow], versions: &str, paths: ReportPaths<'_>) -> Result<()> {
        let write = |path: &Path, text: String| {
            fs::write(path, text).with_context(|| path.display().to_string())
        };
        if let Some(page) = paths.page {
            write(page, self.format_page(rows, versions))?;
        }
        if let Some(directory) = paths.tables {
            fs::create_dir_all(directory).with_context(|| directory.display().to_string())?;
            let path = |name: &str| directory.join(format!("{}{name}.tsv", self.data_prefix));
            write(&path("files"), self.format_files(rows))?;
            write(&path("differences"), self.format_differences(rows))?;
        }
        Ok(())
    }

    /// Formats the page: totals, explanation of the verdicts, directories and classes of
    /// differences.
    pub fn format_page(&self, rows: &[CorpusRow], versions: &str) -> String {
        let mut out = format!("{}{versions}.\n\n", self.introduction);
        self.write_totals(rows, &mut out);
        out.push_str(self.legend);
        self.write_directories(rows, &mut out);
        self.write_classes(rows, &mut out);
        out
    }

    /// Appends the totals by comparison and format. Only CRAM can have the verdict "as samtools'".
    fn write_totals(&self, rows: &[CorpusRow], out: &mut String) {
        let _ = writeln!(out, "{} Sums\n", self.heading);
        let has_as_samtools =
            rows.iter().flat_map(|row| &row.verdicts).any(|it| verdict_class(it) == AS_SAMTOOLS);
        let classes = Vec::from_iter((1..=5).filter(|&class| class != AS_SAMTOOLS || has_as_samtools));
        let names = Vec::from_iter(classes.iter().map(|class| CLASSES[class - 1]));
        write_table_header(out, &[&["comparison", "files"], &names[..]].concat());
        for (at, comparison) in self.comparisons.iter().enumerate() {
            let mut kinds: BTreeMap<&str, VerdictCounts> = BTreeMap::new();
            for row in rows {
                let key = if at == 0 && self.by_format { row.kind } else { "" };
                kinds.entry(key).or_default()[verdict_class(&row.verdicts[at])] += 1;
            }
            for (kind, counts) in kinds {
                let name = [comparison, kind].join(" ");
                let _ = write!(out, "| {} | {} |", name.trim(), counts[1..].iter().sum::<usize>());
                out.extend(classes.iter().map(|&class| format!(" {} |", counts[class])));
                out.push('\n');
            }
        }
        out.push('\n');
    }

    /// Appends, for each directory and comparison, the number of equal files and of compared files.
    fn write_directories(&self, rows: &[CorpusRow], out: &mut String) {
        let _ = writeln!(out, "{} By directory\n", self.heading);
        out.push_str(
            "This table shows how many files give the same result. \"2 of 5\" means that 3 of the 5 compared files differ.\n\n",
        );
        write_table_header(out, &[&["directory", "files"], self.comparisons].concat());
        let mut all: BTreeMap<&str, Vec<&CorpusRow>> = BTreeMap::new();
        for row in rows {
            let directory = row.shown.rsplit_once('/').map_or(".", |(directory, _)| directory);
            all.entry(directory).or_default().push(row);
        }
        for (directory, rows) in all {
            let _ = write!(out, "| {directory} | {} |", rows.len());
            for at in 0..self.comparisons.len() {
                let of = |is: fn(usize) -> bool| {
                    rows.iter().filter(|row| is(verdict_class(&row.verdicts[at]))).count()
                };
                let (same, compared) = (of(|class| class == 1), of(|class| class > 0));
                let _ = match (same, compared) {
                    (_, 0) => write!(out, " – |"),
                    _ if same == compared => write!(out, " {same} |"),
                    _ => write!(out, " {same} of {compared} |"),
                };
            }
            out.push('\n');
        }
        out.push('\n');
    }

    /// Counts the files with each verdict other than "ok", and names the data files.
    fn write_classes(&self, rows: &[CorpusRow], out: &mut String) {
        let (heading, prefix) = (self.heading, self.data_prefix);
        let _ = writeln!(out, "{heading} Not the same\n");
        let _ = writeln!(
            out,
            "[{prefix}differences.tsv](data/corpus/{prefix}differences.tsv) lists each of these files with the \
             reason, and [{prefix}files.tsv](data/corpus/{prefix}files.tsv) lists all files.\n"
        );
        write_table_header(out, &["comparison", "verdict", "files"]);
        for (at, comparison) in self.comparisons.iter().enumerate() {
            let mut counts: BTreeMap<(usize, u32), (String, usize)> = BTreeMap::new();
            for verdict in rows.iter().map(|row| &row.verdicts[at]) {
                let number = if let CorpusVerdict::Numbered(number, _) = verdict { *number } else { 0 };
                let count = counts.entry((verdict_class(verdict), number));
                count.or_insert_with(|| (verdict.to_string(), 0)).1 += 1;
            }
            for (verdict, count) in counts.into_iter().filter(|it| it.0.0 > 1).map(|it| it.1) {
                let _ = writeln!(out, "| {comparison} | {verdict} | {count} |");
            }
        }
    }

    /// Returns the data file of differences: one row with the reason for each comparison of a file
    /// that is not the same.
    fn format_differences(&self, rows: &[CorpusRow]) -> String {
        let mut out = "file\tcomparison\tverdict\treason\n".to_owned();
        for row in rows {
            for (verdict, comparison) in row.verdicts.iter().zip(self.comparisons) {
                if let Some(why) = verdict.reason() {
                    let why: String = why.chars().take(300).collect();
                    let why = why.replace(['\t', '\n'], " ");
                    let _ = writeln!(out, "{}\t{comparison}\t{verdict}\t{why}", row.shown);
                }
            }
        }
        out
    }

    /// Returns the data file of files: one row per file, with its verdicts.
    fn format_files(&self, rows: &[CorpusRow]) -> String {
        let mut out = format!("file\t{}\n", self.comparisons.join("\t"));
        for row in rows {
            out.push_str(&row.shown);
            out.extend(row.verdicts.iter().map(|verdict| format!("\t{verdict}")));
            out.push('\n');
        }
        out
    }
}

/// Appends the header of a table.
fn write_table_header(out: &mut String, columns: &[&str]) {
    let _ = writeln!(out, "| {} |\n|{}", columns.join(" | "), "---|".repeat(columns.len()));
}

/// Index of the class for which htsjdk treats samtools' CRAM in the same way.
const AS_SAMTOOLS: usize = 4;

/// Names of the verdict classes, from 1 on.
const CLASSES: [&str; 5] = ["ok", "refused", "row", "as samtools'", "DEFECT"];

/// The result of one comparison.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum CorpusVerdict {
    #[default]
    Blank,
    /// The compared outputs are the same.
    Same,
    /// Correctly refused: the other program also refuses it, or the specification's own tests
    /// require it.
    Refused(String),
    /// An accepted difference: a row of docs/parity.md.
    Numbered(u32, String),
    /// htsjdk treats samtools' CRAM of the file in the same way.
    AsSamtools(String),
    Defect(String),
}

impl CorpusVerdict {
    /// Returns the reason, or `None` if the outputs are the same.
    pub fn reason(&self) -> Option<&str> {
        match self {
            CorpusVerdict::Blank | CorpusVerdict::Same => None,
            CorpusVerdict::Refused(why)
            | CorpusVerdict::Numbered(_, why)
            | CorpusVerdict::AsSamtools(why)
            | CorpusVerdict::Defect(why) => Some(why),
        }
    }

    pub fn is_defect(&self) -> bool {
        matches!(self, CorpusVerdict::Defect(_))
    }
}

impl fmt::Display for CorpusVerdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CorpusVerdict::Blank => f.write_str("–"),
            CorpusVerdict::Same => f.write_str("ok"),
            CorpusVerdict::Refused(_) => f.write_str("refused"),
            CorpusVerdict::Numbered(row, _) => write!(f, "row {row}"),
            CorpusVerdict::AsSamtools(_) => f.write_str("as samtools'"),
            CorpusVerdict::Defect(_) => f.write_str("DEFECT"),
        }
    }
}

/// A corpus file with its verdicts, one per comparison of its report.
#[derive(Clone, Debug)]
pub struct CorpusRow {
    /// Path relative to the corpus.
    pub shown: String,
    /// SAM, BAM or CRAM, according to its name.
    pub kind: &'static str,
    pub verdicts: Vec<CorpusVerdict>,
}

#[cfg(test)]
mod tests {
    use super::*;

    const REPORT: ReportLayout = ReportLayout {
        comparisons: &["read", "write"],
        introduction: "",
        legend: "",
        heading: "##",
        data_prefix: "",
        by_format: false,
    };

    fn rows() -> Vec<CorpusRow> {
        let row = |shown: &str, read| CorpusRow {
            shown: shown.into(),
            kind: "SAM",
            verdicts: vec![read, CorpusVerdict::Blank],
        };
        let numbered = |why: &str| CorpusVerdict::Numbered(96, why.into());
        vec![
            row("a/1.sam", CorpusVerdict::Same),
            row("a/2.sam", numbered("long\tcontig")),
            row("a/3.sam", CorpusVerdict::Refused("no SN".into())),
            row("b/4.sam", numbered("long contig")),
        ]
    }

    #[test]
    fn the_page_counts_classes_and_has_no_row_for_each_file() {
        let page = REPORT.format_page(&rows(), "readmill");
        assert!(page.contains("| read | refused | 1 |\n| read | row 96 | 2 |\n"), "{page}");
        assert!(!page.contains(".sam") && page.contains("| a | 3 | 1 of 3 | – |"), "{page}");
    }

    #[test]
    fn data_files_have_every_file_and_every_reason() {
        let directory = tempfile::tempdir().unwrap();
        let tables = directory.path().join("corpus");
        let paths = ReportPaths { page: None, tables: Some(&tables) };
        REPORT.write(&rows(), "readmill", paths).unwrap();
        let files = fs::read_to_string(tables.join("files.tsv")).unwrap();
        assert!(files.starts_with("file\tread\twrite\na/1.sam\tok\t–\n") && files.lines().count() == 5);
        let differences = fs::read_to_string(tables.join("differences.tsv")).unwrap();
        assert!(differences.contains("\na/2.sam\tread\trow 96\tlong contig\n"));
        assert_eq!(differences.lines().count(), 4);
    }
}
