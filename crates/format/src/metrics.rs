//! Metrics files of htsjdk, the text format of Picard's metrics: comment lines, a table, and
//! histograms. Numbers are formatted as in Java, with a decimal point.

use std::io::Write as _;

use readmill_record::java;
use serde_json::{Value, json};

use crate::report::{DescribedReport, cell_value, named_values};

/// A metrics file, as htsjdk writes it. A table without rows and histograms without bins are left
/// out.
///
/// Its value in the description of a run is `{"class": …, "rows": [{…}], "histograms": [{column:
/// [value, …]}]}`. Columns have Picard's names. The class is Picard's without its package, and null
/// if there is no table.
///
/// ```
/// use readmill_format::metrics::{HistogramColumn, MetricsFile, MetricsRow};
/// use readmill_format::report::DescribedReport;
///
/// let mut row = MetricsRow::default();
/// row.push_text(b"lib1").push_integer(1_000u32).push_decimal(1.0 / 3.0);
/// let mut file = MetricsFile::new("ExampleMetrics INPUT=s1", "now");
/// file.set_table("picard.ExampleMetrics", &["LIBRARY", "READS", "FRACTION"], [row]);
///
/// let text = String::from_utf8(file.format_text())?;
/// assert!(text.ends_with("\nLIBRARY\tREADS\tFRACTION\nlib1\t1000\t0.333333\n\n\n"));
/// assert_eq!(file.to_value()["class"], "ExampleMetrics");
/// assert_eq!(file.to_value()["rows"][0]["FRACTION"], 0.333333);
/// # Ok::<(), std::string::FromUtf8Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct MetricsFile {
    comments: [String; 2],
    class: String,
    columns: Vec<String>,
    /// The lines of the table: formatted cells with tabs between them.
    rows: Vec<u8>,
    key_class: &'static str,
    key_title: &'static str,
    histograms: Vec<HistogramColumn>,
}

/// A row of a metrics table. Values are appended in column order.
#[derive(Debug, Default)]
pub struct MetricsRow {
    line: Vec<u8>,
    values: usize,
}

impl MetricsRow {
    pub fn push_text(&mut self, value: &[u8]) -> &mut Self {
        if self.values > 0 {
            self.line.push(b'\t');
        }
        self.values += 1;
        self.line.extend_from_slice(value);
        self
    }

    pub fn push_integer(&mut self, value: impl Into<i128>) -> &mut Self {
        self.push_text(value.into().to_string().as_bytes())
    }

    pub fn push_decimal(&mut self, value: f64) -> &mut Self {
        self.push_text(format_decimal(value).as_bytes())
    }

    pub fn push_optional(&mut self, value: Option<&[u8]>) -> &mut Self {
        self.push_text(value.unwrap_or_default())
    }
}

/// A histogram with its label. The histograms of a file share the key column.
#[derive(Clone, Debug)]
pub struct HistogramColumn {
    pub label: Vec<u8>,
    /// Key and value of each bin, by ascending key. Missing bins are written as 0.
    pub bins: Vec<(i64, f64)>,
}

impl MetricsFile {
    /// Creates a file with Picard's two comments: the command line, and `started`, which is a date
    /// in any form.
    pub fn new(command_line: &str, started: &str) -> Self {
        let comments = [command_line.to_owned(), format!("Started on: {started}")];
        let comments = comments.map(|comment| comment.replace(['\n', '\r'], " "));
        MetricsFile { comments, ..MetricsFile::default() }
    }

    /// Sets the table: its metrics class, the names of the columns, and the rows.
    pub fn set_table(
        &mut self,
        class: &str,
        columns: &[&str],
        rows: impl IntoIterator<Item = MetricsRow>,
    ) {
        self.class = class.into();
        self.columns = columns.iter().map(|name| name.to_string()).collect();
        self.rows.clear();
        for row in rows {
            self.rows.extend_from_slice(&row.line);
            self.rows.push(b'\n');
        }
    }

    /// Sets the histograms, which are written as one table with a line per key. `class` is the Java
    /// class of the keys, and `title` is the title of their column.
    pub fn set_histograms(
        &mut self,
        class: &'static str,
        title: &'static str,
        mut columns: Vec<HistogramColumn>,
    ) {
        columns.retain(|column| !column.bins.is_empty());
        (self.key_class, self.key_title, self.histograms) = (class, title, columns);
    }

    /// Returns the cells of each line of the histograms: the key, then the value of each histogram.
    fn histogram_lines(&self) -> impl Iterator<Item = Vec<String>> + '_ {
        let mut bins: Vec<&[(i64, f64)]> =
            self.histograms.iter().map(|column| &column.bins[..]).collect();
        std::iter::from_fn(move || {
            let key = bins.iter().filter_map(|bins| Some(bins.first()?.0)).min()?;
            let mut cells = vec![match self.key_class {
                "java.lang.Double" => java::format_double(key as f64),
                _ => key.to_string(),
            }];
            for bins in &mut bins {
                let value = match bins.split_first() {
                    Some((&(first, value), rest)) if first == key => {
                        *bins = rest;
                        value
                    }
                    _ => 0.0,
                };
                cells.push(format_decimal(value));
            }
            Some(cells)
        })
    }

    /// Returns the histograms as columns of values, by their titles.
    fn histogram_values(&self) -> Value {
        let mut columns = vec![Vec::new(); 1 + self.histograms.len()];
        for cells in self.histogram_lines() {
            columns.iter_mut().zip(&cells).for_each(|(column, cell)| column.push(cell_value(cell)));
        }
        let labels = self.histograms.iter().map(|column| String::from_utf8_lossy(&column.label));
        let titles: Vec<_> = std::iter::once(self.key_title.into()).chain(labels).collect();
        named_values(titles.iter().map(|title| &**title), columns.into_iter().map(Value::Array))
    }
}

impl DescribedReport for MetricsFile {
    fn format_text(&self) -> Vec<u8> {
        let mut text = Vec::new();
        // Writing to memory cannot fail.
        for comment in &self.comments {
            let _ = writeln!(text, "## htsjdk.samtools.metrics.StringHeader\n# {comment}");
        }
        text.push(b'\n');
        if !self.rows.is_empty() {
            let _ = writeln!(text, "## METRICS CLASS\t{}\n{}", self.class, self.columns.join("\t"));
            text.extend_from_slice(&self.rows);
        }
        text.push(b'\n');
        if !self.histograms.is_empty() {
            let _ = write!(text, "## HISTOGRAM\t{}\n{}", self.key_class, self.key_title);
            for column in &self.histograms {
                text.push(b'\t');
                text.extend_from_slice(&column.label);
            }
            text.push(b'\n');
            for cells in self.histogram_lines() {
                let _ = writeln!(text, "{}", cells.join("\t"));
            }
        }
        text.push(b'\n');
        text
    }

    fn to_value(&self) -> Value {
        let class = (!self.rows.is_empty()).then(|| self.class.rsplit(['.', '$']).next());
        let rows = String::from_utf8_lossy(&self.rows);
        let columns = || self.columns.iter().map(String::as_str);
        let row = |line: &str| named_values(columns(), line.split('\t').map(cell_value));
        let rows: Vec<Value> = rows.lines().map(row).collect();
        let histograms = (!self.histograms.is_empty()).then(|| self.histogram_values());
        // Moved, because `json!` would copy them.
        let values = [json!(class), rows.into(), Vec::from_iter(histograms).into()];
        named_values(["class", "rows", "histograms"], values.into_iter())
    }
}

/// Formats a number with at most six decimals and without trailing zeros. Exact ties are rounded
/// towards 0; NaN and infinity become `?`, minus infinity `-?`.
///
/// htsjdk's FormatUtil uses java.text.DecimalFormat, which takes the shortest digits that identify
/// a number and rounds them by its exact binary value. Java 17 has one exception: 5e-7, whose
/// binary value is below the midpoint, becomes 0.000001.
///
/// ```
/// use readmill_format::metrics::format_decimal;
///
/// assert_eq!(format_decimal(0.5), "0.5");
/// assert_eq!(format_decimal(2.0 / 3.0), "0.666667");
/// assert_eq!(format_decimal(f64::NAN), "?");
/// ```
pub fn format_decimal(value: f64) -> String {
    let sign = if value.is_sign_negative() { "-" } else { "" };
    if !value.is_finite() {
        return if value.is_nan() { "?".into() } else { format!("{sign}?") };
    }
    let shortest = value.to_string();
    if shortest.split_once('.').is_none_or(|(_, decimals)| decimals.len() <= 6) {
        return shortest;
    }
    let millionths = if value.abs() == 5e-7 { 1 } else { round_to_millionths(value.abs()) };
    let text = format!("{sign}{}.{:06}", millionths / 1_000_000, millionths % 1_000_000);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

fn round_to_millionths(number: f64) -> u128 {
    let bits = number.to_bits();
    let exponent = (bits >> 52) as i32;
    let mantissa = bits & ((1 << 52) - 1) | u64::from(exponent > 0) << 52;
    // The number is mantissa / 2^halvings.
    let halvings = 1075 - exponent.max(1);
    if halvings > 100 {
        return 0;
    }
    let product = u128::from(mantissa) * 1_000_000;
    let whole = product >> halvings;
    let rest = product - (whole << halvings);
    whole + u128::from(2 * rest > 1 << halvings)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Results of htsjdk's FormatUtil.format on Java 17, x86-64: the bits of a number, and its
    /// text.
    const DECIMALS: &[(u64, &str)] = &[
        (0x3FD7_22B8_E3C4_9450, "0.361494"),
        (0x4077_2060_0000_0000, "370.023437"),
        (0x3E2E_4AA2_E905_35F3, "0"),
        (0x3FAD_90F3_01EA_BBCB, "0.057746"),
        (0x3F37_BAAB_7FD7_1D63, "0.000362"),
        (0x3FE5_77F0_2760_6B42, "0.670891"),
        (0x4014_E490_C0DD_BC00, "5.223208"),
        (0x401F_29E4_C86C_14FC, "7.790912"),
        (0x3FC6_2A64_17D2_4964, "0.173169"),
        (0x40D7_35DB_8469_313A, "23767.429957"),
        (0x3FD2_ACFD_2B73_0BCA, "0.291808"),
        (0x3FBB_262A_F635_91CC, "0.106051"),
        (0x3E51_8391_4967_C0F8, "0"),
        (0x3E70_E5F1_818F_4016, "0"),
        (0x3FB9_9978_1A95_FFAC, "0.099998"),
        (0x4082_196A_74F1_4ABD, "579.176981"),
        (0x4200_76BD_DBF7_3FAF, "8838953854.906096"),
        (0x40C7_67DF_0000_0000, "11983.742187"),
        (0x40C9_5957_0000_0000, "12978.679687"),
        (0x4006_756E_0B76_55C8, "2.807339"),
        (0x3F76_32F1_FC88_49D9, "0.00542"),
        (0x0000_0000_0000_0000, "0"),
        (0x8000_0000_0000_0000, "-0"),
        (0x7FF8_0000_0000_0000, "?"),
        (0x7FF0_0000_0000_0000, "?"),
        (0xFFF0_0000_0000_0000, "-?"),
        (0x4480_F0CF_064D_D592, "10000000000000000000000"),
        (0x430C_6BF5_2634_0000, "1000000000000000"),
        (0x437B_69B4_BA63_0F35, "123456789012345680"),
        (0x3EA0_C6F7_A0B5_ED8D, "0.000001"),
        (0x3EA0_C6F7_9B14_C6AC, "0"),
        (0x01A5_6E1F_C2F8_F359, "0"),
        (0x0000_0000_0000_0001, "0"),
        (0x3FE0_0000_0000_0000, "0.5"),
        (0xBE7A_D7F2_9ABC_AF48, "-0"),
        (0xBFF8_0000_0000_0000, "-1.5"),
        (0x40CC_1599_0000_0000, "14379.195312"),
        (0x40CB_9CDB_0000_0000, "14137.710937"),
        (0x40AE_8174_0000_0000, "3904.726562"),
        (0x40C2_3083_0000_0000, "9313.023437"),
        (0x40BD_84E6_0000_0000, "7556.898437"),
        (0x40C2_8FAB_0000_0000, "9503.335937"),
    ];

    #[test]
    fn decimals_are_those_of_java() {
        for &(bits, text) in DECIMALS {
            assert_eq!(format_decimal(f64::from_bits(bits)), text, "{:e}", f64::from_bits(bits));
        }
    }

    const BEGIN: &str = "## htsjdk.samtools.metrics.StringHeader\n# X a b\n\
        ## htsjdk.samtools.metrics.StringHeader\n# Started on: now\n\n";

    fn column(label: &str, bins: &[(i64, f64)]) -> HistogramColumn {
        HistogramColumn { label: label.as_bytes().to_vec(), bins: bins.to_vec() }
    }

    fn text(file: &MetricsFile) -> String {
        String::from_utf8(file.format_text()).unwrap()
    }

    #[test]
    fn columns_of_a_histogram_are_joined_by_key() {
        let columns =
            vec![column("a", &[(1, 2.0), (3, 0.5)]), column("none", &[]), column("b", &[(2, 7.0)])];
        let mut file = MetricsFile::new("X a\nb", "now");
        file.set_histograms("java.lang.Integer", "KEY", columns.clone());
        let wanted = "## HISTOGRAM\tjava.lang.Integer\nKEY\ta\tb\n1\t2\t0\n2\t0\t7\n3\t0.5\t0\n";
        assert_eq!(text(&file), format!("{BEGIN}\n{wanted}\n"));
        let wanted = json!([{"KEY": [1, 2, 3], "a": [2, 0, 0.5], "b": [0, 7, 0]}]);
        assert_eq!(file.to_value(), json!({"class": null, "rows": [], "histograms": wanted}));
        file.set_histograms("java.lang.Double", "KEY", columns);
        assert!(text(&file).contains("\nKEY\ta\tb\n1.0\t2\t0\n2.0\t0\t7\n"));
        assert_eq!(file.to_value()["histograms"][0]["KEY"], json!([1.0, 2.0, 3.0]));
    }

    #[test]
    fn numbers_of_the_value_are_those_of_the_text() {
        let mut rows = [MetricsRow::default(), MetricsRow::default()];
        rows[0].push_decimal(31.500_000_1).push_decimal(f64::NAN).push_optional(None);
        rows[1].push_integer(-4).push_text(b"7").push_text(b"on\xFF");
        let mut file = MetricsFile::new("X a b", "now");
        file.set_table("picard.analysis.artifacts.Y$Z", &["A", "B", "C"], rows);
        let table =
            "## METRICS CLASS\tpicard.analysis.artifacts.Y$Z\nA\tB\tC\n31.5\t?\t\n-4\t7\ton\u{fffd}\n";
        assert_eq!(String::from_utf8_lossy(&file.format_text()), format!("{BEGIN}{table}\n\n"));
        let rows = json!([{"A": 31.5, "B": null, "C": null}, {"A": -4, "B": 7, "C": "on\u{fffd}"}]);
        assert_eq!(file.to_value(), json!({"class": "Z", "rows": rows, "histograms": []}));
    }

    #[test]
    fn what_is_empty_is_left_out() {
        let mut file = MetricsFile::new("X a b", "now");
        file.set_table("Class", &["A"], []);
        file.set_histograms("java.lang.Integer", "KEY", vec![column("none", &[])]);
        assert_eq!(text(&file), format!("{BEGIN}\n\n"));
        assert_eq!(file.to_value(), json!({"class": null, "rows": [], "histograms": []}));
    }
}
