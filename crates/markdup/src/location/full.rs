//! Parses the read names of several vendors, without truncating numbers
//! ([`ReadNames::Full`](super::ReadNames)).

use super::{Location, count_colons, split_last};

const TILE_COUNT: u64 = 1_015_808;

const PIXEL_RANGE: std::ops::RangeInclusive<i64> = -32_768..=4_161_535;

/// Parses a name in one of the formats of the parent module's table. Returns `None` if none fits.
pub fn parse_location(qname: &[u8]) -> Option<Location> {
    let colons = count_colons(qname);
    let recent = || parse_illumina(qname, colons.checked_sub(6)?);
    let old = || parse_illumina(qname, colons.checked_sub(4)?);
    recent().or_else(old).or_else(|| parse_dnbseq(qname))
}

/// Parses lane, tile, x and y, followed by `more` fields. After y, text such as a barcode may
/// follow if it does not begin with a letter or digit.
fn parse_illumina(qname: &[u8], more: usize) -> Option<Location> {
    let mut name = qname;
    for _ in 0..more {
        name = split_last(name)?.0;
    }
    let (name, y) = split_last(name)?;
    let (name, x) = split_last(name)?;
    let (before, tile) = split_last(name)?;
    let (_, lane) = split_last(before)?;
    parse_whole(lane)?;
    make_location(before, parse_whole(tile)?, parse_whole(x)?, parse_before_sign(y)?)
}

const SPOTS_PER_LINE: i64 = 1_000_000;

/// Difference in y between two such lines: more than any optical distance in use, so that spots of
/// different lines are never close.
const LINE_DISTANCE: i64 = 40_000;

/// Parses a DNBSEQ name: flow cell, `L` and lane, `C` and column, `R` and row of the field of view
/// (three digits each), an optional `_`, and the number of the spot in the field of view.
///
/// The spot number is not a coordinate: neighbours in one direction differ by one, and the number
/// of spots per line is unknown. The number becomes x; from a million on, y also changes.
fn parse_dnbseq(qname: &[u8]) -> Option<Location> {
    let at = qname.windows(10).rposition(|window| {
        window[0] == b'L' && window[2] == b'C' && window[6] == b'R' && window[1].is_ascii_digit()
    })?;
    let (column, row) = (parse_whole(&qname[at + 3..at + 6])?, parse_whole(&qname[at + 7..at + 10])?);
    let spot = &qname[at + 10..];
    let spot = parse_before_sign(spot.strip_prefix(b"_").unwrap_or(spot))?;
    make_location(
        &qname[..at + 2],
        1_000 * column + row,
        spot % SPOTS_PER_LINE,
        spot / SPOTS_PER_LINE * LINE_DISTANCE,
    )
}

/// Creates a location. The tile is shifted by a hash of the text before it, so that tiles of
/// different lanes and flow cells differ.
fn make_location(before: &[u8], tile: i64, x: i64, y: i64) -> Option<Location> {
    let tile = u64::try_from(tile).ok().filter(|&tile| tile < TILE_COUNT)?;
    let moved = (xxhash_rust::xxh3::xxh3_64(before) % TILE_COUNT + tile) % TILE_COUNT;
    let pixel = |number| PIXEL_RANGE.contains(&number).then_some(number as i32);
    Some(Location { tile: moved as i32, x: pixel(x)?, y: pixel(y)? })
}

fn parse_whole(field: &[u8]) -> Option<i64> {
    parse_leading(field).filter(|(_, rest)| rest.is_empty()).map(|(value, _)| value)
}

fn parse_before_sign(field: &[u8]) -> Option<i64> {
    let (value, rest) = parse_leading(field)?;
    (!rest.first().is_some_and(u8::is_ascii_alphanumeric)).then_some(value)
}

/// Parses an optional minus sign and one to nine digits. Also returns the rest of the field.
fn parse_leading(field: &[u8]) -> Option<(i64, &[u8])> {
    let (sign, digits) = match field.split_first() {
        Some((b'-', rest)) => (-1, rest),
        _ => (1, field),
    };
    let mut value = 0;
    let mut count = 0;
    while let Some(byte) = digits.get(count).filter(|byte| byte.is_ascii_digit()) {
        value = 10 * value + i64::from(byte - b'0');
        count += 1;
        if count > 9 {
            return None;
        }
    }
    (count > 0).then(|| (sign * value, &digits[count..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks the location of a name. `expected` has the tile before the lane offset is added.
    fn t(name: &str, expected: Option<(&str, i32, i32, i32)>) {
        let expected = expected.map(|(before, tile, x, y)| {
            let moved = xxhash_rust::xxh3::xxh3_64(before.as_bytes()) % TILE_COUNT + tile as u64;
            Location { tile: (moved % TILE_COUNT) as i32, x, y }
        });
        assert_eq!(parse_location(name.as_bytes()), expected, "{name}");
    }

    #[test]
    fn illumina_names() {
        let lane = "A00887:518:HGCKJDRX2:2";
        t("A00887:518:HGCKJDRX2:2:2268:10691:21731", Some((lane, 2268, 10691, 21731)));
        t("A00887:518:HGCKJDRX2:2:2268:40000:50123:TAAGTCTTA", Some((lane, 2268, 40000, 50123)));
        t("A00887:518:HGCKJDRX2:2:2268:10691:21731:TAA+CTT", Some((lane, 2268, 10691, 21731)));
        t("A00887:518:HGCKJDRX2:2:2268:10691:21731_TAAGTC", Some((lane, 2268, 10691, 21731)));
        t("A00887:518:HGCKJDRX2:2:2268:10691:21731/1", Some((lane, 2268, 10691, 21731)));
        t("A00887:518:HGCKJDRX2:2:2268:10691:21731:UMI_TAA_CTT/2", Some((lane, 2268, 10691, 21731)));
        t(
            "G4-014:0080:OM1482O:1:1001:139542:22240",
            Some(("G4-014:0080:OM1482O:1", 1001, 139542, 22240)),
        );
        t("HWUSI-EAS100R:6:73:941:1973#0/1", Some(("HWUSI-EAS100R:6", 73, 941, 1973)));
        t("HWI-ST550_0201:3:1101:1626:-16#ACAGTG", Some(("HWI-ST550_0201:3", 1101, 1626, -16)));
        t("HWI-ST550_0201:3:1101:1626:2216:ACAGTG", Some(("HWI-ST550_0201:3", 1101, 1626, 2216)));
        t("HWI-ST550_0201:3:1101:1626:2216:ACA:GTG", Some(("HWI-ST550_0201:3", 1101, 1626, 2216)));
        // Nine fields or more: fields after y are ignored.
        t("a:b:c:1:2:3:4:5:6:7:8:9", Some(("a:b:c:1", 2, 3, 4)));
    }

    #[test]
    fn element_names() {
        let lane = "AV234702:run-7:2310310456:1";
        t("AV234702:run-7:2310310456:1:10102:0021:0083", Some((lane, 10102, 21, 83)));
        t("AV234702:run-7:2310310456:1:21304:3021:0083:ACGT+AAAA", Some((lane, 21304, 3021, 83)));
    }

    #[test]
    fn dnbseq_names() {
        t("E100003218L1C034R0294035623", Some(("E100003218L1", 34029, 35623, 160000)));
        t("E250063195L1C001R00300000730/1", Some(("E250063195L1", 1003, 730, 0)));
        t("V300014293BL2C001R027005967", Some(("V300014293BL2", 1027, 5967, 0)));
        t("8A_V100004684L3C001R029011637/1", Some(("8A_V100004684L3", 1029, 11637, 0)));
        t("DP8400010271TLL1C005R0511863479", Some(("DP8400010271TLL1", 5051, 863479, 40000)));
        t("CL100025298L1C002R050_244547", Some(("CL100025298L1", 2050, 244547, 0)));
        t("CL100050407L1C001R001_1#224_1078_917/1", Some(("CL100050407L1", 1001, 1, 0)));
        t("V350046278L1C001R00199999999:ACGT", Some(("V350046278L1", 1001, 999999, 3960000)));
        t("V350046278L1C001R001", None);
        t("V350046278L1C0x1R00100000001", None);
    }

    #[test]
    fn names_without_a_location() {
        t("021152_1-Z0059-0041234567", None);
        t("af84b0c1-6945-4323-9193-d9f6f2c38f9a", None);
        t("m64136_200621_234916/18/ccs", None);
        t("ZEWTM:10130:07001", None);
        t("SRR12345678.1", None);
        t("", None);
        t("::::::", None);
        t("sample:A00887:518:HGCKJDRX2:2:2268:10691:21731", None);
        t("A00887:518:HGCKJDRX2:2:2268:10691:21731ACGT", None);
        t("A00887:518:HGCKJDRX2:2:2268:10691:5000000", None);
        t("A00887:518:HGCKJDRX2:2:2268:10691:12345678901", None);
        t("A00887:518:HGCKJDRX2:2:-1:10691:21731", None);
    }

    #[test]
    fn lanes_runs_and_flow_cells_are_told_apart() {
        let tile = |name: &str| parse_location(name.as_bytes()).unwrap().tile;
        let names = ["A0:1:F:1:1101:1:1", "A0:1:F:2:1101:1:1", "A0:2:F:1:1101:1:1", "A0:1:G:1:1101:1:1"];
        for (i, a) in names.iter().enumerate() {
            for b in &names[..i] {
                assert_ne!(tile(a), tile(b), "{a}, {b}");
            }
        }
        assert_eq!(tile(names[0]), tile("A0:1:F:1:1101:9:9:ACGT"));
        // Locations must not change between releases.
        assert_eq!(tile(names[0]), 123_563);
    }
}
