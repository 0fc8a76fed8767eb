//! Parses Picard's metrics files: tables of metrics, and histograms.

use serde_json::{Value, json};

use super::{columns, row};

/// Returns `{"class": …, "rows": [{…}, …], "histograms": [{column: [value, …]}, …]}`. Columns have
/// Picard's names. The class is Picard's, without its package, or null if there is no table.
pub fn metrics(text: &str) -> Value {
    let (mut class, mut rows, mut histograms) = (Value::Null, Vec::<Value>::new(), Vec::<Value>::new());
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        if let Some(name) = line.strip_prefix("## METRICS CLASS\t") {
            class = json!(name.rsplit(['.', '$']).next().unwrap_or(name));
            let names: Vec<&str> = lines.next().unwrap_or_default().split('\t').collect();
            rows.extend(section(&mut lines).map(|line| row(&names, line)));
        } else if line.starts_with("## HISTOGRAM\t") {
            histograms.push(columns(section(&mut lines)));
        }
    }
    // Moved, because `json!` would copy the rows.
    let fields = [("class", class), ("rows", rows.into()), ("histograms", histograms.into())];
    Value::Object(fields.into_iter().map(|(name, value)| (name.to_string(), value)).collect())
}

/// Returns the lines before the next empty line.
fn section<'a, 'b>(lines: &'b mut impl Iterator<Item = &'a str>) -> impl Iterator<Item = &'a str> + 'b {
    lines.take_while(|line| !line.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_and_histograms_are_read() {
        let text = "## htsjdk.samtools.metrics.StringHeader\n# X\n\n\
            ## METRICS CLASS\tpicard.analysis.InsertSizeMetrics\nMEAN\tSAMPLE\n31.5\t\n0\tone\n\n\
            ## HISTOGRAM\tjava.lang.Integer\ninsert_size\tAll_Reads.fr_count\n10\t3\n11\t4\n\n";
        let wanted = json!({
            "class": "InsertSizeMetrics",
            "rows": [{"MEAN": 31.5, "SAMPLE": null}, {"MEAN": 0, "SAMPLE": "one"}],
            "histograms": [{"insert_size": [10, 11], "All_Reads.fr_count": [3, 4]}],
        });
        assert_eq!(metrics(text), wanted);
        assert_eq!(metrics(""), json!({"class": null, "rows": [], "histograms": []}));
    }
}
