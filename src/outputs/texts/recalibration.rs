//! Parses recalibration tables: reported and empirical qualities.

use serde_json::{Value, json};

use super::cell;

/// Returns `{"qualities": [{"read_group": …, "reported": n, "empirical": x, "observations": n,
/// "errors": x}, …]}`: the rows of RecalTable1 for substitutions. The cycle and context covariates
/// are omitted because they are long.
pub fn recalibration(text: &str) -> Value {
    let lines = text.lines().skip_while(|line| !line.starts_with("#:GATKTable:RecalTable1:")).skip(2);
    let rows = lines.take_while(|line| !line.is_empty()).filter_map(|line| {
        // Read group names may contain blanks.
        let mut cells = line.split_whitespace().rev();
        let [errors, observations, empirical, event, reported] =
            [cells.next()?, cells.next()?, cells.next()?, cells.next()?, cells.next()?];
        let end = line.rfind(&format!(" {reported}  {event} ")).unwrap_or(0);
        let group = line.get(..end).unwrap_or("").trim_end();
        (event == "M").then(|| {
            json!({
                "read_group": group,
                "reported": cell(reported),
                "empirical": cell(empirical),
                "observations": cell(observations),
                "errors": cell(errors),
            })
        })
    });
    json!({ "qualities": rows.collect::<Vec<_>>() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn substitutions_by_reported_quality_are_read() {
        let text = "#:GATKReport.v1.1:5\n#:GATKTable:6:4:%s:%d:%s:%.4f:%d:%.2f:;\n#:GATKTable:RecalTable1:\n\
            ReadGroup  QualityScore  EventType  EmpiricalQuality  Observations  Errors   \n\
            unit 2                7  M                    7.0000            62       4.00\n\
            unit 2               45  D                   40.0000            62       4.00\n\
            a                    30  M                   27.5000       7441612   14337.50\n\n#:GATKTable:8:\nb 1 M 1 1 1\n";
        let row = |group: &str, reported: u32, empirical: f64, observations: u64, errors: f64| json!({"read_group": group, "reported": reported, "empirical": empirical, "observations": observations, "errors": errors});
        let wanted = [row("unit 2", 7, 7.0, 62, 4.0), row("a", 30, 27.5, 7_441_612, 14_337.5)];
        assert_eq!(recalibration(text), json!({ "qualities": wanted }));
        assert_eq!(recalibration(""), json!({ "qualities": [] }));
    }
}
