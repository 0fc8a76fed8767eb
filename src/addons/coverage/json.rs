//! Converts mosdepth's texts to JSON: the summary and the depth distributions.

use serde_json::{Value, json};

use crate::outputs::texts::{cell, row};

/// Returns the lines of the summary as objects, with mosdepth's column names.
pub fn summary(text: &str) -> Value {
    let mut lines = text.lines();
    let names: Vec<&str> = lines.next().unwrap_or_default().split('\t').collect();
    lines.map(|line| row(&names, line)).collect()
}

/// Returns the distribution over all contigs: `{"depth": [n, …], "share": [x, …]}`. `share` is the
/// fraction of bases with at least this depth.
pub fn distribution(text: &str) -> Value {
    let (mut depths, mut shares) = (Vec::new(), Vec::new());
    for line in text.lines() {
        let mut cells = line.split('\t');
        if let (Some("total"), Some(depth), Some(share)) = (cells.next(), cells.next(), cells.next()) {
            depths.push(cell(depth));
            shares.push(cell(share));
        }
    }
    json!({ "depth": depths, "share": shares })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_total_is_taken() {
        let text = "chr1\t2\t0.50\nchr1\t0\t1.00\ntotal\t2\t0.25\ntotal\t0\t1.00\n";
        assert_eq!(distribution(text), json!({"depth": [2, 0], "share": [0.25, 1.0]}));
        let wanted = json!([{"chrom": "chr1", "length": 10, "mean": 1.5}]);
        assert_eq!(summary("chrom\tlength\tmean\nchr1\t10\t1.50\n"), wanted);
    }
}
