//! Medians, and numbers as they stand in tables.

/// The median of some values, and the least and the greatest.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    pub median: f64,
    pub least: f64,
    pub most: f64,
}

impl Spread {
    pub fn of(mut values: Vec<f64>) -> Self {
        values.sort_by(f64::total_cmp);
        let median = match values.len() {
            0 => f64::NAN,
            n if n % 2 == 1 => values[n / 2],
            n => (values[n / 2 - 1] + values[n / 2]) / 2.0,
        };
        let end = |value: Option<&f64>| value.copied().unwrap_or(f64::NAN);
        Spread { median, least: end(values.first()), most: end(values.last()) }
    }

    /// `5.1 (4.9–6.0)`
    pub fn show(&self) -> String {
        format!("{} ({}–{})", number(self.median), number(self.least), number(self.most))
    }
}

/// A number with about three digits.
pub fn number(value: f64) -> String {
    match value.abs() {
        v if v >= 100.0 || v == 0.0 => format!("{value:.0}"),
        v if v >= 10.0 => format!("{value:.1}"),
        v if v >= 0.1 => format!("{value:.2}"),
        _ => format!("{value:.4}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_middle_counts() {
        assert_eq!(Spread::of(vec![3.0, 1.0, 2.0]).show(), "2.00 (1.00–3.00)");
        assert_eq!(Spread::of(vec![400.0, 100.0]).median, 250.0);
        assert_eq!([0.006, 12.34, 0.0].map(number), ["0.0060", "12.3", "0"]);
    }
}
