//! The verdicts on a file, one for each comparison, and tables of them in Markdown.

use std::collections::BTreeMap;
use std::fmt::{self, Write};

/// Verdicts as they are counted: blank, same, refused, numbered, as samtools', defects.
type VerdictCounts = [usize; 6];

fn class(verdict: &Verdict) -> usize {
    match verdict {
        Verdict::Blank => 0,
        Verdict::Same => 1,
        Verdict::Refused(_) => 2,
        Verdict::Numbered(..) => 3,
        Verdict::AsSamtools(_) => 4,
        Verdict::Defect(_) => 5,
    }
}

/// The number of each verdict in a comparison, in words.
pub fn counted(rows: &[CorpusRow], comparison: usize) -> String {
    let mut counts = VerdictCounts::default();
    rows.iter().for_each(|row| counts[class(&row.verdicts[comparison])] += 1);
    let [_, same, refused, numbered, as_samtools, defects] = counts;
    format!(
        "{same} ok, {refused} refused as they should be, {numbered} by a numbered row, {as_samtools} as samtools' \
         CRAM, {defects} defects"
    )
}

/// All tables.
pub fn markdown(rows: &[CorpusRow], versions: &str) -> String {
    let mut out = format!("{INTRODUCTION}{versions}.\n\n");
    sums(rows, &mut out);
    out.push_str(LEGEND);
    directories(rows, &mut out);
    reasons(rows, &mut out);
    files(rows, &mut out);
    out
}

const INTRODUCTION: &str = "\
# Test files of others

This page reports, for each test file of htslib, samtools and hts-specs, whether readmill reads and writes it as samtools does.

```
for name in htslib samtools hts-specs; do git clone --depth 1 https://github.com/samtools/$name corpus/$name; done
./dev parity --corpus corpus --report report.md
```

";

const LEGEND: &str = "\
| verdict | meaning |
|---|---|
| ok | the records are the same |
| refused | refused, as it should be: samtools refuses it, too, or the specification's tests ask for it |
| row N | an accepted difference, [by its number](parity.md#accepted-differences) |
| as samtools' | htsjdk does the same with samtools' CRAM of the file |
| – | there was nothing to compare |

[How the files are compared](parity.md#test-files-of-others).

";

/// A table's head.
fn head(out: &mut String, columns: &[&str]) {
    let _ = writeln!(out, "| {} |\n|{}", columns.join(" | "), "---|".repeat(columns.len()));
}

const CLASSES: [&str; 5] = ["ok", "refused", "row", "as samtools'", "DEFECT"];

/// By comparison and by format.
fn sums(rows: &[CorpusRow], out: &mut String) {
    out.push_str("## Sums\n\n");
    head(out, &[&["comparison", "files"], &CLASSES[..]].concat());
    for (at, comparison) in COMPARISONS.iter().enumerate() {
        let mut kinds: BTreeMap<&str, VerdictCounts> = BTreeMap::new();
        for row in rows {
            let key = if at == 0 { row.kind } else { "" };
            kinds.entry(key).or_default()[class(&row.verdicts[at])] += 1;
        }
        for (kind, counts) in kinds {
            let [_, rest @ ..] = counts;
            let name = [comparison, kind].join(" ");
            let _ = write!(out, "| {} | {} |", name.trim(), rest.iter().sum::<usize>());
            out.push_str(&rest.map(|n| format!(" {n} |")).concat());
            out.push('\n');
        }
    }
    out.push('\n');
}

/// By directory: for each comparison the number of equal files and of compared files.
fn directories(rows: &[CorpusRow], out: &mut String) {
    out.push_str("## By directory\n\nFiles that are the same, of those that were compared.\n\n");
    head(out, &[&["directory", "files"], &COMPARISONS[..]].concat());
    let mut all: BTreeMap<&str, Vec<&CorpusRow>> = BTreeMap::new();
    for row in rows {
        let directory = row.shown.rsplit_once('/').map_or(".", |(directory, _)| directory);
        all.entry(directory).or_default().push(row);
    }
    for (directory, rows) in all {
        let _ = write!(out, "| {directory} | {} |", rows.len());
        for at in 0..COMPARISONS.len() {
            let of =
                |is: fn(usize) -> bool| rows.iter().filter(|row| is(class(&row.verdicts[at]))).count();
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

/// Every file that is not the same in all comparisons, and why.
fn reasons(rows: &[CorpusRow], out: &mut String) {
    out.push_str("## Not the same\n\n");
    head(out, &["file", "comparison", "verdict", "reason"]);
    for row in rows {
        for (verdict, comparison) in row.verdicts.iter().zip(COMPARISONS) {
            if let Some(why) = verdict.reason() {
                let why: String = why.chars().take(300).collect();
                let why = why.replace('|', "\\|").replace('`', "'");
                let _ = writeln!(out, "| {} | {comparison} | {verdict} | `{why}` |", row.shown);
            }
        }
    }
    out.push('\n');
}

/// Every file.
fn files(rows: &[CorpusRow], out: &mut String) {
    out.push_str("## Every file\n\n");
    head(out, &[&["file"], &COMPARISONS[..]].concat());
    for row in rows {
        let _ = write!(out, "| {} |", row.shown);
        out.push_str(&row.verdicts.each_ref().map(|verdict| format!(" {verdict} |")).concat());
        out.push('\n');
    }
}

/// The comparisons of a file, in the order of the report's columns.
pub const COMPARISONS: [&str; 5] = [
    "read",
    "our CRAM by samtools",
    "samtools' CRAM by readmill",
    "our CRAM by htsjdk",
    "htsjdk's CRAM by readmill",
];

/// Read by readmill as by samtools.
pub const READ: usize = 0;
/// Written as CRAM by readmill: samtools and readmill read what was written.
pub const OURS: usize = 1;
/// Written as CRAM by samtools, in its own version: readmill reads it as samtools does.
pub const THEIRS: usize = 2;
/// htsjdk reads readmill's CRAM.
pub const OURS_BY_HTSJDK: usize = 3;
/// readmill reads htsjdk's CRAM as samtools does.
pub const HTSJDKS: usize = 4;

/// How one comparison ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Verdict {
    /// There was nothing to compare.
    #[default]
    Blank,
    /// The records are the same.
    Same,
    /// Refused, as it should be: samtools refuses it, too, or the specification's own tests require it.
    Refused(String),
    /// Different on purpose: a row of the accepted differences in docs/parity.md.
    Numbered(u32, String),
    /// htsjdk does the same with samtools' CRAM of the file.
    AsSamtools(String),
    /// A defect.
    Defect(String),
}

impl Verdict {
    /// The reason if it is not the same, else `None`.
    pub fn reason(&self) -> Option<&str> {
        match self {
            Verdict::Blank | Verdict::Same => None,
            Verdict::Refused(why)
            | Verdict::Numbered(_, why)
            | Verdict::AsSamtools(why)
            | Verdict::Defect(why) => Some(why),
        }
    }

    /// Whether it is a defect.
    pub fn is_defect(&self) -> bool {
        matches!(self, Verdict::Defect(_))
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Verdict::Blank => f.write_str("–"),
            Verdict::Same => f.write_str("ok"),
            Verdict::Refused(_) => f.write_str("refused"),
            Verdict::Numbered(row, _) => write!(f, "row {row}"),
            Verdict::AsSamtools(_) => f.write_str("as samtools'"),
            Verdict::Defect(_) => f.write_str("DEFECT"),
        }
    }
}

/// A file of the corpus and its verdicts, one for each of [`COMPARISONS`].
#[derive(Clone, Debug)]
pub struct CorpusRow {
    /// Its path below the corpus.
    pub shown: String,
    /// SAM, BAM or CRAM, by its name.
    pub kind: &'static str,
    /// The verdicts.
    pub verdicts: [Verdict; COMPARISONS.len()],
}
