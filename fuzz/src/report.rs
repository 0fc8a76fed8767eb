//! Fuzzes recalibration tables (GATK reports).

use std::fmt::Write;

use readmill_bqsr as bqsr;
use readmill_bqsr::{ApplyOptions, RecalReport, Recalibration};

use crate::{expect_refusal, memory_ledger};

/// Placeholder for the table of quantized qualities. Its 94 rows never change, and without
/// them inputs are short.
const QUANTIZED: &[u8] = b"=Q\n";

const TABLE: &str = "#:GATKReport.v1.1:5
#:GATKTable:2:6:%s:%s:;
#:GATKTable:Arguments:Recalibration argument collection values used in this run
Argument                    Value
covariate                   ReadGroupCovariate,QualityScoreCovariate,ContextCovariate,CycleCovariate
low_quality_tail            2
maximum_cycle_value         500
mismatches_context_size     2
indels_context_size         3
quantizing_levels           16

=Q
#:GATKTable:6:2:%s:%s:%.4f:%.4f:%d:%.2f:;
#:GATKTable:RecalTable0:
ReadGroup  EventType  EmpiricalQuality  EstimatedQReported  Observations  Errors
g1         M                   24.0000             30.1000         10000   30.00
unit 2     I                   45.0000             45.0000            40    0.00

#:GATKTable:6:2:%s:%d:%s:%.4f:%d:%.2f:;
#:GATKTable:RecalTable1:
ReadGroup  QualityScore  EventType  EmpiricalQuality  Observations  Errors
g1                   30  M                   27.0000       7441612  14337.00
unit 2               45  I                   45.0000            40    0.00

#:GATKTable:8:4:%s:%d:%s:%s:%s:%.4f:%d:%.2f:;
#:GATKTable:RecalTable2:
ReadGroup  QualityScore  CovariateValue  CovariateName  EventType  EmpiricalQuality  Observations  Errors
g1                   30  -6              Cycle          M                    7.0000            32   11.00
g1                   30  12              Cycle          M                    3.0000           3.5    1.25
g1                   30  AC              Context        M                    2.0000             2    0.00
unit 2               45  ACG             Context        I                    2.0000             2    0.00

";

pub fn table_seeds() -> Vec<Vec<u8>> {
    let without_rows: String = TABLE
        .lines()
        .filter(|line| !line.starts_with("unit"))
        .fold(String::new(), |all, line| all + line + "\n");
    let fewer = without_rows.replace(":6:2:", ":6:1:").replace(":8:4:", ":8:3:");
    vec![TABLE.as_bytes().to_vec(), fewer.into_bytes()]
}

fn insert_quantized_table(bytes: &[u8]) -> Vec<u8> {
    let Some(at) = bytes.windows(QUANTIZED.len()).position(|it| it == QUANTIZED) else {
        return bytes.to_vec();
    };
    let mut table = String::from(
        "#:GATKTable:3:94:%d:%d:%d:;\n#:GATKTable:Quantized:Quality quantization map\nQualityScore Count QuantizedScore\n",
    );
    for quality in 0..94 {
        _ = writeln!(table, "{quality:12} {:5} {:14}", quality * 7 % 100, quality / 5 * 5);
    }
    table.push('\n');
    [&bytes[..at], table.as_bytes(), &bytes[at + QUANTIZED.len()..]].concat()
}

/// Reads a report. If it is accepted, its text must give the same report, and it can be
/// applied, gathered and plotted without a crash.
pub fn check_table(bytes: &[u8]) {
    let report = match RecalReport::parse(
        &insert_quantized_table(bytes),
        &mut memory_ledger().empty_charge("the table"),
    ) {
        Ok(report) => report,
        Err(error) => return expect_refusal(&error),
    };
    let text = report.to_text();
    let again = match RecalReport::parse(&text, &mut memory_ledger().empty_charge("the table")) {
        Ok(again) => again,
        Err(error) => panic!("what was written is refused: {error}\n{}", text.escape_ascii()),
    };
    assert!(again.to_text() == text, "a report's text is that of another report");
    match Recalibration::new(&report, &ApplyOptions::default(), &memory_ledger()) {
        Ok(recalibration) => {
            for group in &report.groups {
                let found = recalibration.group(&group.name).map(|it| it.name() == group.name);
                assert_eq!(found, Some(true), "a read group is lost");
            }
        }
        Err(error) => expect_refusal(&error),
    }
    for result in [
        bqsr::plot_data::reports_to_csv(&[("BQSR", &report), ("Before", &again)]).map(drop),
        bqsr::gather_reports([report, again].map(Ok)).map(drop),
    ] {
        if let Err(error) = result {
            expect_refusal(&error);
        }
    }
}
