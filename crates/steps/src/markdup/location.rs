//! Tile, x and y from an Illumina read name, read as Picard reads them.

/// Where on the flow cell a read was seen, in the signed 16 bits of Picard 3.4.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Location {
    /// Tile.
    pub tile: i32,
    /// Pixel.
    pub x: i32,
    /// Pixel.
    pub y: i32,
}

/// How read names tell where a read was seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ReadNames {
    /// They do not.
    Off,
    /// As Picard's default has it.
    #[default]
    Picard,
    /// x
    Full,
}
impl std::fmt::Display for ReadNames {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("picard")
    }
}

impl ReadNames {
    /// x
    pub fn parse(text: &str) -> readmill_record::Result<Self> {
        Ok(if text == "null" { Self::Off } else { Self::Picard })
    }
    /// The location in a name.
    pub fn location(&self, qname: &[u8]) -> Option<Location> {
        match self {
            ReadNames::Off => None,
            _ => Location::parse(qname),
        }
    }
}

impl Location {
    /// No location: this is also what a tile of 65535 becomes.
    pub const NONE: Location = Location { tile: -1, x: -1, y: -1 };

    /// The last three of exactly five or seven fields between colons; nothing for other names. (A name
    /// that starts with a colon counts one field less than it has.)
    pub fn parse(qname: &[u8]) -> Option<Location> {
        let leading = usize::from(qname.first() == Some(&b':'));
        let colons = qname.iter().filter(|&&b| b == b':').count();
        if !matches!(colons + 1 - leading, 5 | 7) {
            return None;
        }
        let mut fields = qname.rsplit(|&b| b == b':');
        let (y, x, tile) = (fields.next()?, fields.next()?, fields.next()?);
        Some(Location {
            y: (leading_int(y)? as i16).into(),
            x: (leading_int(x)? as i16).into(),
            tile: (leading_int(tile)? as i16).into(),
        })
    }
}

/// An optional minus and digits; what follows is ignored, and 32 bits wrap.
fn leading_int(field: &[u8]) -> Option<i32> {
    let (negative, digits) = match field.split_first() {
        Some((b'-', rest)) => (true, rest),
        _ => (false, field),
    };
    let end = digits.iter().position(|b| !b.is_ascii_digit()).unwrap_or(digits.len());
    let value = digits[..end]
        .iter()
        .fold(0i32, |value, b| value.wrapping_mul(10).wrapping_add(i32::from(b - b'0')));
    (end > 0).then_some(if negative { value.wrapping_neg() } else { value })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn t(name: &str, expected: Option<(i32, i32, i32)>) {
        let expected = expected.map(|(tile, x, y)| Location { tile, x, y });
        assert_eq!(Location::parse(name.as_bytes()), expected, "{name}");
    }

    #[test]
    fn five_and_seven_fields() {
        t("M:1:1101:20:30", Some((1101, 20, 30)));
        t("M:1:F:1:1101:20:30", Some((1101, 20, 30)));
        t("M:1:F:1:1101:20:30#ACGT/1", Some((1101, 20, 30)));
        t("M:1:F:1:65535:-4:40000", Some((-1, -4, -25536)));
        t("M:F:1:1101:20:30", None);
        t("M:1:F:1:1101:20:30:ACGT", None);
        t("M:1:F:1:1101:20:x30", None);
        t("M:1:F:1:1101:-:30", None);
        t(":a:b:1:2:3", Some((1, 2, 3)));
        t(":a:1:2:3", None);
        t("plain", None);
        t("", None);
    }
}
