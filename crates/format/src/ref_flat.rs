//! refFlat, UCSC's transcript table: eleven tab-separated columns, one transcript per line.
//! Positions are 0-based and half-open.

use std::path::Path;

use readmill_record::{Error, Ledger, Result};

use crate::features::parse_java_int;
use crate::text::LineReader;

const COLUMNS: usize = 11;

/// Reads a refFlat file line by line, for the genes of Picard's RNA metrics.
pub struct RefFlatReader(LineReader);

/// A transcript, as a line of the file describes it. Ranges are 0-based and half-open.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RefFlatRow {
    pub gene: Vec<u8>,
    pub name: Vec<u8>,
    pub contig: Vec<u8>,
    /// The strand column, `+` or `-`; it is not checked here.
    pub strand: Vec<u8>,
    /// The transcript from start to end (txStart, txEnd), including introns.
    pub transcribed: (u32, u32),
    /// The coding region (cdsStart, cdsEnd); empty for a non-coding transcript.
    pub coding: (u32, u32),
    pub exons: Vec<(u32, u32)>,
    /// Whether the exonCount column differs from the number of exons in the line.
    pub is_miscounted: bool,
}

impl RefFlatReader {
    /// Opens a file, which may be compressed. Its buffers are charged to `ledger`.
    ///
    /// # Errors
    /// Fails if the file cannot be opened, or the memory is not available.
    pub fn open(path: &Path, ledger: &Ledger) -> Result<Self> {
        Ok(RefFlatReader(LineReader::open(path, ledger)?))
    }

    /// Returns the next transcript on a contig for which `is_known` returns true; `None` at the end
    /// of the file. Lines for other contigs are skipped without parsing them.
    ///
    /// # Errors
    /// Fails if a line does not have eleven columns, or a position is not a number.
    pub fn next_row(&mut self, is_known: impl Fn(&[u8]) -> bool) -> Result<Option<RefFlatRow>> {
        while self.0.advance_line()? {
            let line = self.0.line();
            let line = line.strip_suffix(b"\r").unwrap_or(line);
            if line.is_empty() || line.starts_with(b"#") {
                continue;
            }
            let columns: Vec<&[u8]> = line.split(|&byte| byte == b'\t').collect();
            if columns.len() != COLUMNS {
                let what = format!(
                    "a refFlat line must have {COLUMNS} columns, but this one has {}",
                    columns.len()
                );
                return Err(self.0.line_error(what));
            }
            if is_known(columns[2]) {
                return parse_row(&columns).map(Some).map_err(|what| self.0.line_error(what));
            }
        }
        Ok(None)
    }

    pub fn line_error(&self, what: &str) -> Error {
        self.0.line_error(what)
    }
}

fn parse_row(columns: &[&[u8]]) -> std::result::Result<RefFlatRow, String> {
    let shown = |text: &[u8]| String::from_utf8_lossy(&text[..text.len().min(60)]).into_owned();
    let of =
        |text: &[u8]| parse_java_int(text).ok_or_else(|| format!("{:?} is not a position", shown(text)));
    let list = |text: &[u8]| -> std::result::Result<Vec<u32>, String> {
        let text = text.strip_suffix(b",").unwrap_or(text);
        text.split(|&byte| byte == b',').map(of).collect()
    };
    let (starts, ends) = (list(columns[9])?, list(columns[10])?);
    let count = of(columns[8])? as usize;
    Ok(RefFlatRow {
        gene: columns[0].to_vec(),
        name: columns[1].to_vec(),
        contig: columns[2].to_vec(),
        strand: columns[3].to_vec(),
        transcribed: (of(columns[4])?, of(columns[5])?),
        coding: (of(columns[6])?, of(columns[7])?),
        is_miscounted: starts.len() != count || ends.len() != count,
        exons: starts.into_iter().zip(ends).collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Vec<RefFlatRow>> {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.refflat");
        std::fs::write(&path, text).unwrap();
        let mut reader = RefFlatReader::open(&path, &Ledger::unlimited())?;
        let mut rows = Vec::new();
        while let Some(row) = reader.next_row(|contig| contig != b"other")? {
            rows.push(row);
        }
        Ok(rows)
    }

    #[test]
    fn lines_are_transcripts() {
        let rows = read(
            "#geneName\tname\n\ng\tt\tc1\t-\t10\t90\t20\t80\t2\t10,50,\t30,90,\n\
             h\tx\tother\t+\tq\t\t\t\t\t\t\ng\tu\tc1\t+\t0\t5\t5\t5\t2\t0\t5\r\n",
        )
        .unwrap();
        assert_eq!(rows.len(), 2);
        assert_eq!(rows[0].exons, [(10, 30), (50, 90)]);
        assert_eq!((rows[0].transcribed, rows[0].coding), ((10, 90), (20, 80)));
        assert_eq!((&rows[0].strand[..], rows[0].is_miscounted), (&b"-"[..], false));
        assert!(rows[1].is_miscounted);
    }

    #[test]
    fn wrong_lines_are_named() {
        for (text, why) in [
            ("g\tt\tc1\t+\t1\t2\n", "line 1: a refFlat line must have 11 columns, but this one has 6"),
            ("g\tt\tc1\t+\tx\t90\t20\t80\t1\t10,\t30,\n", "line 1: \"x\" is not a position"),
            ("g\tt\tc1\t+\t1\t90\t20\t80\t1\t10,,\t30,\n", "line 1: \"\" is not a position"),
        ] {
            let error = read(text).unwrap_err().to_string();
            assert!(error.contains(why), "{error:?} does not say {why:?}");
        }
    }
}
