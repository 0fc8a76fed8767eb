//! Numbers as C's `printf` formats them.

/// Formats like `%.{digits}g`: significant digits without trailing zeros, in scientific notation if the
/// exponent is less than -4 or at least `digits`.
pub(crate) fn format_general(value: f64, digits: usize) -> String {
    if value.is_nan() {
        return "-nan".into(); // as x86 computes 0/0
    }
    if value == 0.0 || value.is_infinite() {
        return if value == 0.0 { "0".into() } else { "inf".into() };
    }
    let text = format!("{value:.*e}", digits.max(1) - 1);
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let trimmed = |text: String| match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_string(),
        false => text,
    };
    if exponent < -4 || exponent >= digits as i32 {
        let sign = if exponent < 0 { '-' } else { '+' };
        return format!("{}e{sign}{:02}", trimmed(mantissa.to_string()), exponent.abs());
    }
    let decimals = (digits as i32 - 1 - exponent).max(0) as usize;
    trimmed(format!("{value:.decimals$}"))
}

#[cfg(test)]
mod tests {
    use super::format_general;

    #[test]
    fn numbers_are_as_c_writes_them() {
        for (value, digits, wanted) in [
            (0.0, 6, "0"),
            (100.0, 6, "100"),
            (12.345678, 6, "12.3457"),
            (1234567.0, 6, "1.23457e+06"),
            (999999.5, 6, "1e+06"),
            (0.00012345678, 6, "0.000123457"),
            (0.000012345678, 6, "1.23457e-05"),
            (59.96, 3, "60"),
            (255.0, 3, "255"),
            (1234.0, 3, "1.23e+03"),
            (37.55, 3, "37.5"),
            (0.5, 3, "0.5"),
            (f64::NAN, 3, "-nan"),
        ] {
            assert_eq!(format_general(value, digits), wanted);
        }
    }
}
