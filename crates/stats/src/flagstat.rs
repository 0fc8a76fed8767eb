//! Numbers of reads by FLAG, in the text, JSON and TSV formats of `samtools flagstat` (1.24).

use std::fmt::Write as _;

use readmill_format::report::DescribedReport;
use readmill_record::{Batch, RecordRef, Result, Tally};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::spec::{TallyReport, TallySpec};

/// The description of this tally, with the flag `--flagstat FILE`, the subcommand `flagstat`, and
/// its formats.
pub const SPEC: TallySpec = TallySpec {
    flag_help: Some("Write read counts by FLAG, as samtools flagstat does"),
    command_help: Some("Count reads by FLAG, as samtools flagstat does"),
    formats: &[("json", &JSON), ("tsv", &TSV)],
    ..TallySpec::new("flagstat", |_| {
        TallyReport::new(Flagstat, |counts, _| FlagstatReport(counts, FlagstatCounts::to_text))
    })
};

static JSON: TallySpec = TallySpec::new("flagstat", |_| {
    TallyReport::new(Flagstat, |counts, _| FlagstatReport(counts, FlagstatCounts::to_json))
});

static TSV: TallySpec = TallySpec::new("flagstat", |_| {
    TallyReport::new(Flagstat, |counts, _| FlagstatReport(counts, FlagstatCounts::to_tsv))
});

#[derive(Clone, Copy, Default)]
pub struct Flagstat;

/// The counts of each row of the report: first of reads that pass quality control, then of reads
/// that fail it (0x200).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FlagstatCounts([[u64; ROWS.len()]; 2]);

struct RowLabel(&'static str, Option<usize>);

static ROWS: [RowLabel; 16] = [
    RowLabel("total (QC-passed reads + QC-failed reads)", None),
    RowLabel("primary", None),
    RowLabel("secondary", None),
    RowLabel("supplementary", None),
    RowLabel("duplicates", None),
    RowLabel("primary duplicates", None),
    RowLabel("mapped", Some(TOTAL)),
    RowLabel("primary mapped", Some(PRIMARY)),
    RowLabel("paired in sequencing", None),
    RowLabel("read1", None),
    RowLabel("read2", None),
    RowLabel("properly paired", Some(PAIRED)),
    RowLabel("with itself and mate mapped", None),
    RowLabel("singletons", Some(PAIRED)),
    RowLabel("with mate mapped to a different chr", None),
    RowLabel("with mate mapped to a different chr (mapQ>=5)", None),
];

const TOTAL: usize = 0;
const PRIMARY: usize = 1;
const SECONDARY: usize = 2;
const SUPPLEMENTARY: usize = 3;
const DUPLICATES: usize = 4;
const PRIMARY_DUPLICATES: usize = 5;
const MAPPED: usize = 6;
const PRIMARY_MAPPED: usize = 7;
const PAIRED: usize = 8;
const READ1: usize = 9;
const READ2: usize = 10;
const PROPER: usize = 11;
const BOTH_MAPPED: usize = 12;
const SINGLETONS: usize = 13;
const OTHER_CONTIG: usize = 14;
const OTHER_CONTIG_SURE: usize = 15;

/// Minimum mapping quality at which a read with its mate on another contig counts in the last row.
const MIN_SURE_MAPQ: u8 = 5;

impl FlagstatCounts {
    fn count_record(&mut self, record: RecordRef<'_>) {
        let flags = record.flags();
        let counts = &mut self.0[usize::from(flags.is_qc_fail())];
        let mut add = |row: usize, holds: bool| counts[row] += u64::from(holds);
        let mapped = !flags.is_unmapped();
        add(TOTAL, true);
        add(MAPPED, mapped);
        add(DUPLICATES, flags.is_duplicate());
        if !flags.is_primary() {
            add(SECONDARY, flags.is_secondary());
            return add(SUPPLEMENTARY, !flags.is_secondary());
        }
        add(PRIMARY, true);
        add(PRIMARY_MAPPED, mapped);
        add(PRIMARY_DUPLICATES, flags.is_duplicate());
        if !flags.is_paired() {
            return;
        }
        let both = mapped && !flags.is_mate_unmapped();
        let elsewhere = both && record.next_ref_id() != record.ref_id();
        add(PAIRED, true);
        add(READ1, flags.is_first());
        add(READ2, flags.is_last());
        add(PROPER, mapped && flags.is_proper());
        add(BOTH_MAPPED, both);
        add(SINGLETONS, mapped && flags.is_mate_unmapped());
        add(OTHER_CONTIG, elsewhere);
        add(OTHER_CONTIG_SURE, elsewhere && record.mapq() >= MIN_SURE_MAPQ);
    }

    pub fn to_text(&self) -> String {
        let mut text = String::new();
        for (i, RowLabel(name, of)) in ROWS.iter().enumerate() {
            let [pass, fail] = self.0.map(|counts| counts[i]);
            let place = if i == TOTAL { "in " } else { "" };
            let _ = write!(text, "{pass} + {fail} {place}{name}");
            if let Some(of) = of {
                let [pass, fail] = self.0.map(|counts| format_percent(counts[i], counts[*of]));
                let _ = write!(text, " ({pass} : {fail})");
            }
            text.push('\n');
        }
        text
    }

    pub fn to_tsv(&self) -> String {
        let mut text = String::new();
        for (i, RowLabel(name, of)) in ROWS.iter().enumerate() {
            let [pass, fail] = self.0.map(|counts| counts[i]);
            let _ = writeln!(text, "{pass}\t{fail}\t{name}");
            if let Some(of) = of {
                let [pass, fail] = self.0.map(|counts| format_percent(counts[i], counts[*of]));
                let _ = writeln!(text, "{pass}\t{fail}\t{name} %");
            }
        }
        text
    }

    /// Returns the JSON of `samtools flagstat -O json`, including its spaces at the ends of lines.
    pub fn to_json(&self) -> String {
        let mut parts = Vec::new();
        for (name, counts) in ["QC-passed reads", "QC-failed reads"].iter().zip(&self.0) {
            let mut rows = Vec::new();
            for (i, RowLabel(name, of)) in ROWS.iter().enumerate() {
                let name = match i {
                    TOTAL => "total".to_string(),
                    _ => name.replace("(mapQ>=5)", "(mapQ >= 5)"),
                };
                rows.push(format!("  \"{name}\": {}", counts[i]));
                rows.extend(of.map(|of| {
                    let share = format_percent(counts[i], counts[of]);
                    let share = if share == "N/A" { "null" } else { share.trim_end_matches('%') };
                    format!("  \"{name} %\": {share}")
                }));
            }
            parts.push(format!(" \"{name}\": {{ \n{} \n }}", rows.join(", \n")));
        }
        format!("{{\n{}\n}}\n", parts.join(",\n"))
    }
}

/// The counts, and the format of their file.
struct FlagstatReport(FlagstatCounts, fn(&FlagstatCounts) -> String);

impl DescribedReport for FlagstatReport {
    fn format_text(&self) -> Vec<u8> {
        self.1(&self.0).into_bytes()
    }

    /// Returns `{"in total": {"passed": n, "failed": n}, …}`. Percentages are omitted, because they
    /// follow from the counts.
    fn to_value(&self) -> Value {
        let row = |(i, RowLabel(name, _)): (usize, &RowLabel)| {
            let name = if i == TOTAL { "in total" } else { name };
            let [passed, failed] = self.0.0.map(|counts| counts[i]);
            (name.to_string(), json!({ "passed": passed, "failed": failed }))
        };
        Value::Object(ROWS.iter().enumerate().map(row).collect())
    }
}

/// Formats `n / of` in percent with two decimals, dividing in single precision as samtools does.
fn format_percent(n: u64, of: u64) -> String {
    if of == 0 {
        return "N/A".to_string();
    }
    format!("{:.2}%", f64::from(n as f32 / of as f32) * 100.0)
}

impl Tally for Flagstat {
    type Partial = FlagstatCounts;
    type Total = FlagstatCounts;

    fn observe(&self, partial: &mut FlagstatCounts, batch: &Batch) -> Result<()> {
        batch.records().for_each(|(_, record)| partial.count_record(record));
        Ok(())
    }

    fn merge(&self, into: &mut FlagstatCounts, from: FlagstatCounts) {
        for (into, from) in into.0.iter_mut().flatten().zip(from.0.iter().flatten()) {
            *into += from;
        }
    }

    fn finish(&self, total: FlagstatCounts) -> Result<FlagstatCounts> {
        Ok(total)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use readmill_record::{Stamp, edit};

    fn read(flags: u16, next_ref_id: i32, mapq: u8) -> Vec<u8> {
        let mut raw = vec![0u8; 36];
        (raw[12], raw[13]) = (2, mapq);
        edit::set_flags(&mut raw, flags);
        edit::set_next_ref_id(&mut raw, next_ref_id);
        raw.extend_from_slice(b"r\0");
        edit::set_block_size(&mut raw, 0);
        raw
    }

    #[test]
    fn rows_are_those_of_samtools() {
        let mut batch = Batch::default();
        let reads = [
            read(0x63, 0, 60),
            read(0x93 | 0x400, 0, 60),
            read(0x41, 1, 4),
            read(0x81, 1, 5),
            read(0x49, 0, 9),
            read(0x85, 0, 0),
            read(0x141, 0, 1),
            read(0x900, 0, 1),
            read(0x800, 0, 1),
            read(0x200, -1, 1),
        ];
        reads.iter().for_each(|raw| batch.push(raw, Stamp::default()).unwrap());
        let mut counts = FlagstatCounts::default();
        Flagstat.observe(&mut counts, &batch).unwrap();
        let stated = "9 + 1 in total (QC-passed reads + QC-failed reads)
6 + 1 primary
2 + 0 secondary
1 + 0 supplementary
1 + 0 duplicates
1 + 0 primary duplicates
8 + 1 mapped (88.89% : 100.00%)
5 + 1 primary mapped (83.33% : 100.00%)
6 + 0 paired in sequencing
3 + 0 read1
3 + 0 read2
2 + 0 properly paired (33.33% : N/A)
4 + 0 with itself and mate mapped
1 + 0 singletons (16.67% : N/A)
2 + 0 with mate mapped to a different chr
1 + 0 with mate mapped to a different chr (mapQ>=5)
";
        assert_eq!(counts.to_text(), stated);
        let table = counts.to_tsv();
        assert!(table.starts_with("9\t1\ttotal (QC-passed reads + QC-failed reads)\n6\t1\tprimary\n"));
        assert!(table.contains("\n8\t1\tmapped\n88.89%\t100.00%\tmapped %\n"), "{table}");
        let json = counts.to_json();
        assert!(json.starts_with("{\n \"QC-passed reads\": { \n  \"total\": 9, \n"), "{json}");
        assert!(json.contains("\"properly paired\": 0, \n  \"properly paired %\": null, \n"), "{json}");
        assert!(json.ends_with("(mapQ >= 5)\": 0 \n }\n}\n"), "{json}");
        let values = FlagstatReport(counts, FlagstatCounts::to_tsv).to_value();
        assert_eq!(values.as_object().unwrap().len(), 16);
        assert_eq!(values["in total"], json!({"passed": 9, "failed": 1}));
        let sure = "with mate mapped to a different chr (mapQ>=5)";
        assert_eq!(values[sure], json!({"passed": 1, "failed": 0}));
        let mut twice = counts;
        Flagstat.merge(&mut twice, counts);
        assert!(twice.to_text().starts_with("18 + 2 in total"));
    }
}
