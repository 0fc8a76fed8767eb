//! Functions for the SAM text in case files: records, columns, and coordinate order.

use std::collections::HashMap;

pub fn record_lines(text: &str) -> Vec<&str> {
    text.lines().filter(|line| !line.starts_with('@')).collect()
}

pub fn column(record: &str, at: usize) -> &str {
    record.split('\t').nth(at).unwrap_or_default()
}

pub fn numeric_column(record: &str, at: usize) -> i64 {
    column(record, at).parse().unwrap_or_default()
}

pub fn fields<'a>(record: &'a str, tags: &'a [&str]) -> impl Iterator<Item = &'a str> {
    tags.iter().filter_map(|tag| record.split('\t').skip(11).find(|field| field.starts_with(tag)))
}

/// The coordinate order of `samtools sort`, with the rank of each reference sequence in the header.
pub struct CoordinateOrder<'a>(HashMap<&'a str, usize>);

impl<'a> CoordinateOrder<'a> {
    pub fn from_header(text: &'a str) -> Self {
        let sequences = text.lines().filter(|line| line.starts_with("@SQ\t"));
        let names = sequences.filter_map(|line| line.split('\t').find_map(|it| it.strip_prefix("SN:")));
        CoordinateOrder(names.enumerate().map(|(place, name)| (name, place)).collect())
    }

    pub fn sort_records(&self, lines: &mut [impl AsRef<str>]) {
        lines.sort_by_key(|line| {
            let line = line.as_ref();
            let place = self.0.get(column(line, 2)).copied().unwrap_or(self.0.len());
            (place, numeric_column(line, 3), numeric_column(line, 1) & 0x10)
        });
    }
}

pub fn sort_by_coordinate(text: &str) -> String {
    let mut sorted = record_lines(text);
    CoordinateOrder::from_header(text).sort_records(&mut sorted);
    let header = text.lines().filter(|line| line.starts_with('@'));
    header.chain(sorted).map(|line| format!("{line}\n")).collect()
}

#[cfg(test)]
mod tests {
    use super::sort_by_coordinate;

    #[test]
    fn records_are_sorted_by_sequence_position_and_strand() {
        let header = "@SQ\tSN:b\tLN:9\n@SQ\tSN:a\tLN:9\n";
        let given = "u\t4\t*\t0\nr\t16\tb\t2\ns\t0\ta\t1\nf\t0\tb\t2\nt\t0\tb\t1\n";
        let sorted = "t\t0\tb\t1\nf\t0\tb\t2\nr\t16\tb\t2\ns\t0\ta\t1\nu\t4\t*\t0\n";
        assert_eq!(sort_by_coordinate(&format!("{header}{given}")), format!("{header}{sorted}"));
    }
}
