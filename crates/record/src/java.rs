//! Formats numbers and orders names as Java does, so that reports equal those of Picard and GATK byte
//! for byte.

/// Formats a number like `Double.toString` of Java 17, which uses an exponent from 10^7 on and below
/// 10^-3.
///
/// ```
/// use readmill_record::java::format_double;
///
/// assert_eq!([12.0, 1.25e7, 0.0005].map(format_double), ["12.0", "1.25E7", "5.0E-4"]);
/// ```
pub fn format_double(value: f64) -> String {
    if value.is_nan() {
        return "NaN".into();
    }
    let sign = if value.is_sign_negative() { "-" } else { "" };
    if value.is_infinite() {
        return format!("{sign}Infinity");
    }
    if value == 0.0 {
        return format!("{sign}0.0");
    }
    let shortest = format!("{:e}", value.abs());
    let (mantissa, exponent) = shortest.split_once('e').unwrap_or((&shortest, "0"));
    let digits = mantissa.replace('.', "");
    let exponent = exponent.parse::<i32>().unwrap_or(0);
    let or_zero = |rest: &str| if rest.is_empty() { "0".into() } else { rest.to_string() };
    match exponent {
        0..7 => {
            let whole = exponent as usize + 1;
            let digits = format!("{digits:0<whole$}");
            format!("{sign}{}.{}", &digits[..whole], or_zero(&digits[whole..]))
        }
        -3..0 => format!("{sign}0.{}{digits}", "0".repeat(-exponent as usize - 1)),
        _ => format!("{sign}{}.{}E{exponent}", &digits[..1], or_zero(&digits[1..])),
    }
}

/// Sorts names into the order in which a Java HashSet lists them when they are added one by one. The
/// names must be distinct.
pub fn sort_by_hash(names: &mut [Vec<u8>]) {
    let buckets = bucket_count(names.len());
    names.sort_by_key(|name| bucket_index(string_hash(name), buckets));
}

/// Returns the number of buckets of a HashMap to which `keys` keys were added one by one.
pub fn bucket_count(keys: usize) -> usize {
    let mut buckets = 16_usize;
    while keys * 4 > buckets * 3 {
        buckets *= 2;
    }
    buckets
}

/// Returns the bucket of a key with this hash code. Keys in the same bucket are listed in the order in
/// which they were added.
pub fn bucket_index(hash: u32, buckets: usize) -> usize {
    (hash ^ hash >> 16) as usize & (buckets - 1)
}

pub fn string_hash(name: &[u8]) -> u32 {
    let step = |hash: u32, unit: u16| hash.wrapping_mul(31).wrapping_add(unit.into());
    if name.is_ascii() {
        return name.iter().fold(0, |hash, &byte| step(hash, byte.into()));
    }
    String::from_utf8_lossy(name).encode_utf16().fold(0, step)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_in_the_order_of_their_buckets() {
        assert_eq!(string_hash(b"lib1"), 3_321_420, "'l' * 31^3 + 'i' * 31^2 + 'b' * 31 + '1'");
        let ordered = |names: &[&str]| {
            let mut names: Vec<Vec<u8>> = names.iter().map(|name| name.as_bytes().to_vec()).collect();
            sort_by_hash(&mut names);
            names.iter().map(|name| String::from_utf8_lossy(name).into_owned()).collect::<Vec<_>>()
        };
        assert_eq!(
            ordered(&["q", "b", "a", "r"]),
            ["q", "a", "b", "r"],
            "q and a share a bucket, as b and r do"
        );
        assert_eq!([0, 12, 13, 24, 25].map(bucket_count), [16, 16, 32, 32, 64]);
    }

    #[test]
    fn numbers_are_those_of_java() {
        for (value, text) in [
            (0.0, "0.0"),
            (-0.0, "-0.0"),
            (1.0, "1.0"),
            (100.0, "100.0"),
            (-12.5, "-12.5"),
            (0.001, "0.001"),
            (0.012_345, "0.012345"),
            (0.0005, "5.0E-4"),
            (0.000_123, "1.23E-4"),
            (9_999_999.0, "9999999.0"),
            (1e7, "1.0E7"),
            (10_000_001.0, "1.0000001E7"),
            (12_345_678.0, "1.2345678E7"),
            (1_234_567_890.0, "1.23456789E9"),
            (34.276_036_399_999_995, "34.276036399999995"),
            (f64::NAN, "NaN"),
            (f64::NEG_INFINITY, "-Infinity"),
        ] {
            assert_eq!(format_double(value), text);
        }
    }
}
