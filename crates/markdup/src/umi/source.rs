//! Gets the UMI of a read from a field, from its name, or from its bases.

use std::str::FromStr;

use readmill_record::cigar::HARD_CLIP;
use readmill_record::tag::Tag;
use readmill_record::{Error, RecordRef, Result};

use super::code::Umi;

/// Where the UMI of a read is stored (`--umi`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UmiSource {
    /// In a string field such as RX, of both reads of a pair or of one.
    Tag(Tag),
    /// At the end of the read name, after the last separator. Without a separator, [`parse_name_umi`]
    /// recognizes the common formats.
    Name(Option<u8>),
    Inline {
        /// Number of bases at the start of read 1.
        first: usize,
        /// Number of bases at the start of read 2.
        second: usize,
    },
}

impl FromStr for UmiSource {
    type Err = Error;

    /// Parses `tag:RX`, `name`, `name:_`, `inline:8` or `inline:8+8`.
    fn from_str(text: &str) -> Result<Self> {
        let (kind, rest) = text.split_once(':').map_or((text, None), |(kind, rest)| (kind, Some(rest)));
        let source = match (kind, rest) {
            ("name", None) => Some(UmiSource::Name(None)),
            ("name", Some(separator)) => match separator.as_bytes() {
                &[separator @ b'!'..=b'~'] => Some(UmiSource::Name(Some(separator))),
                _ => None,
            },
            ("tag", Some(tag)) => match tag.as_bytes() {
                &[a, b] if a.is_ascii_alphabetic() && b.is_ascii_alphanumeric() => {
                    Some(UmiSource::Tag([a, b]))
                }
                _ => None,
            },
            ("inline", Some(lengths)) => parse_inline(lengths),
            _ => None,
        };
        source.ok_or_else(|| {
            Error::usage(format!("{text:?} is not a valid source of UMIs")).hint(
                "use tag:RX, name, name:_ (after the last _), inline:8 or inline:8+8 (at most 41 bases)",
            )
        })
    }
}

/// Parses the lengths `8` or `8+8`. Their sum must be at least one base and fit into a UMI.
fn parse_inline(lengths: &str) -> Option<UmiSource> {
    let (first, second) = lengths.split_once('+').unwrap_or((lengths, "0"));
    let number = |text: &str| {
        text.bytes().all(|b| b.is_ascii_digit()).then(|| text.parse::<usize>().ok()).flatten()
    };
    let (first, second) = (number(first)?, number(second)?);
    let bases = first.checked_add(second)?;
    (1..Umi::MAX_SYMBOLS).contains(&bases).then_some(UmiSource::Inline { first, second })
}

impl std::fmt::Display for UmiSource {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            UmiSource::Tag(tag) => write!(f, "tag:{}", String::from_utf8_lossy(tag)),
            UmiSource::Name(None) => f.write_str("name"),
            UmiSource::Name(Some(separator)) => write!(f, "name:{}", char::from(*separator)),
            UmiSource::Inline { first, second: 0 } => write!(f, "inline:{first}"),
            UmiSource::Inline { first, second } => write!(f, "inline:{first}+{second}"),
        }
    }
}

impl UmiSource {
    pub fn tag(&self) -> Option<Tag> {
        match self {
            UmiSource::Tag(tag) => Some(*tag),
            _ => None,
        }
    }

    /// Returns a read's part of its template's UMI, or [`Umi::NONE`] if it has none.
    ///
    /// # Errors
    /// The field or name has an invalid UMI, or the name has none.
    pub fn read_umi(&self, record: RecordRef<'_>) -> Result<Umi> {
        match *self {
            UmiSource::Tag(tag) => read_field_umi(record, tag),
            UmiSource::Name(separator) => {
                parse_name_umi(record.qname(), separator).map_err(|error| error.qname(record.qname()))
            }
            UmiSource::Inline { first, second } => {
                let is_last = record.flags().is_paired() && record.flags().is_last();
                Ok(read_bases_umi(record, if is_last { second } else { first }))
            }
        }
    }

    /// Combines the parts of read 1 and read 2: `first-last` if both reads start with a part of the
    /// UMI, otherwise the first part that is not empty. The part of a missing read is
    /// [`Umi::NONE`].
    pub fn combine_segments(&self, first: Umi, last: Umi) -> Umi {
        match self {
            UmiSource::Inline { first: 1.., second: 1.. } if !(first.is_empty() && last.is_empty()) => {
                Umi::from_halves(first, last).unwrap_or_default() // fits, because `parse_inline` checked the lengths
            }
            _ if first.is_empty() => last,
            _ => first,
        }
    }
}

fn read_field_umi(record: RecordRef<'_>, tag: Tag) -> Result<Umi> {
    let Some(field) = record.field(tag) else { return Ok(Umi::NONE) };
    let place = || format!("in the field {}", String::from_utf8_lossy(&tag));
    if field.kind != b'Z' {
        return Err(Error::input(format!("the UMI {} is not text", place())).qname(record.qname()));
    }
    Umi::parse(field.value).ok_or_else(|| illegal_umi_error(field.value, &place()).qname(record.qname()))
}

/// Returns the UMI after the last `separator` of a read name.
///
/// Without a separator, only the text after the last colon is used. The UMI is the part after the
/// last `_`, as umi_tools extract writes it, or else the eighth of eight fields, as bcl2fastq and
/// BCL Convert write it. `AC_GT` in the eighth field is one UMI from both reads, as fastp writes
/// it. BCL Convert puts `r` before a UMI that it has reverse complemented; this is undone, so that
/// such UMIs are comparable with others.
///
/// # Errors
/// The name has no UMI, or an invalid one.
pub fn parse_name_umi(qname: &[u8], separator: Option<u8>) -> Result<Umi> {
    let after = |text: &'_ [u8], separator| text.iter().rposition(|&b| b == separator).map(|at| at + 1);
    let start = match separator {
        Some(separator) => after(qname, separator),
        None => {
            let field = after(qname, b':').unwrap_or(0);
            let is_eighth = qname.iter().filter(|&&b| b == b':').count() == 7;
            match is_eighth && is_two_umis(&qname[field..]) {
                true => Some(field),
                false => {
                    after(&qname[field..], b'_').map(|at| field + at).or(is_eighth.then_some(field))
                }
            }
        }
    };
    let text = start.map(|at| &qname[at..]).filter(|text| !text.is_empty()).ok_or_else(|| {
        Error::input("the read name has no UMI")
            .hint("set where UMIs are, for example tag:RX, or name:_ (after the last _)")
    })?;
    let parsed =
        if text.iter().any(|b| b"r_".contains(b)) { parse_restored_umi(text) } else { Umi::parse(text) };
    parsed.ok_or_else(|| illegal_umi_error(text, "in the read name"))
}

/// Returns whether the field is two UMIs joined by `_` (one per read), rather than other text, `_`
/// and one UMI.
fn is_two_umis(field: &[u8]) -> bool {
    let mut parts = field.split(|&b| b == b'_');
    let mut is_umi = || {
        parts.next().is_some_and(|part| !part.is_empty() && part.iter().all(|b| b"ACGTN".contains(b)))
    };
    is_umi() && is_umi() && parts.next().is_none()
}

/// Parses a UMI whose parts may be joined by `_`, and marked with `r` if they are reverse
/// complemented.
fn parse_restored_umi(text: &[u8]) -> Option<Umi> {
    let mut umi = Umi::NONE;
    for (number, part) in text.split(|b| b"+-_".contains(b)).enumerate() {
        if number > 0 {
            umi = umi.with_symbol(b'-')?;
        }
        umi = match part.strip_prefix(b"r") {
            Some(part) => {
                part.iter().rev().try_fold(umi, |umi, &base| umi.with_symbol(complement_base(base)))?
            }
            None => part.iter().try_fold(umi, |umi, &base| umi.with_symbol(base))?,
        };
    }
    Some(umi)
}

fn complement_base(base: u8) -> u8 {
    match base.to_ascii_uppercase() {
        b'A' => b'T',
        b'C' => b'G',
        b'G' => b'C',
        b'T' => b'A',
        _ => base,
    }
}

fn illegal_umi_error(text: &[u8], place: &str) -> Error {
    let shown = String::from_utf8_lossy(text);
    let what = match text.len() > Umi::MAX_SYMBOLS {
        true => format!("the UMI {shown:?} {place} has more than {} characters", Umi::MAX_SYMBOLS),
        false => format!("the UMI {shown:?} {place} has characters other than A, C, G, T, N and -"),
    };
    Error::input(what).hint("set where UMIs are, for example tag:RX, or name:_ (after the last _)")
}

/// Returns the first `length` bases in sequencing order, including soft clips. Returns
/// [`Umi::NONE`] if SEQ is shorter or a hard clip removed the first bases. IUPAC codes for several
/// bases become `N`.
fn read_bases_umi(record: RecordRef<'_>, length: usize) -> Umi {
    let is_reverse = record.flags().is_reverse();
    let (cigar, l_seq) = (record.cigar(), record.l_seq());
    let outermost = if is_reverse { cigar.ops().next_back() } else { cigar.ops().next() };
    if l_seq < length || outermost.is_some_and(|(op, _)| op == HARD_CLIP) {
        return Umi::NONE;
    }
    let seq = record.seq();
    let base = |at: usize| {
        let at = if is_reverse { l_seq - 1 - at } else { at };
        let base = b"NACNGNNNTNNNNNNN"[usize::from(seq[at / 2] >> (4 * (1 - at % 2)) & 15)];
        if is_reverse { complement_base(base) } else { base }
    };
    (0..length).try_fold(Umi::NONE, |umi, at| umi.with_symbol(base(at))).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use readmill_record::bases;

    use super::super::testing::umi;
    use super::*;

    /// Returns a BAM record. CIGAR operators are numbers, and `fields` holds the encoded optional
    /// fields.
    fn record(qname: &str, flags: u16, cigar: &[(u32, u32)], seq: &str, fields: &[u8]) -> Vec<u8> {
        let mut raw = vec![0; 36];
        raw[12] = qname.len() as u8 + 1;
        raw[16..18].copy_from_slice(&(cigar.len() as u16).to_le_bytes());
        raw[18..20].copy_from_slice(&flags.to_le_bytes());
        raw[20..24].copy_from_slice(&(seq.len() as u32).to_le_bytes());
        raw.extend_from_slice(qname.as_bytes());
        raw.push(0);
        cigar.iter().for_each(|(op, n)| raw.extend_from_slice(&(n << 4 | op).to_le_bytes()));
        let codes: Vec<u8> = seq.bytes().map(|b| bases::CODES[usize::from(b)]).collect();
        raw.extend(codes.chunks(2).map(|two| two[0] << 4 | two.get(1).unwrap_or(&0)));
        raw.extend(std::iter::repeat_n(30, seq.len()));
        raw.extend_from_slice(fields);
        let size = raw.len() as u32 - 4;
        raw[..4].copy_from_slice(&size.to_le_bytes());
        RecordRef::check(&raw, 1).unwrap();
        raw
    }

    fn of(source: &str, raw: &[u8]) -> Result<String> {
        source.parse::<UmiSource>()?.read_umi(RecordRef::new(raw)).map(|umi| umi.to_string())
    }

    #[test]
    fn sources_as_they_are_said() {
        let parse = |text: &str| text.parse::<UmiSource>();
        assert_eq!(parse("tag:RX"), Ok(UmiSource::Tag(*b"RX")));
        assert_eq!(parse("name"), Ok(UmiSource::Name(None)));
        assert_eq!(parse("name:_"), Ok(UmiSource::Name(Some(b'_'))));
        assert_eq!(parse("name::"), Ok(UmiSource::Name(Some(b':'))));
        assert_eq!(parse("inline:8"), Ok(UmiSource::Inline { first: 8, second: 0 }));
        assert_eq!(parse("inline:0+8"), Ok(UmiSource::Inline { first: 0, second: 8 }));
        assert_eq!(parse("inline:20+21"), Ok(UmiSource::Inline { first: 20, second: 21 }));
        for wrong in [
            "",
            "RX",
            "tag",
            "tag:R",
            "tag:RXX",
            "tag:1X",
            "name:",
            "name:ab",
            "inline",
            "inline:",
            "inline:0",
            "inline:+8",
            "inline:8+",
            "inline:-1",
            "inline:21+21",
            "inline:99999999999999999999",
        ] {
            let error = parse(wrong).unwrap_err();
            assert!(error.to_string().contains("tag:RX"), "{wrong}: {error}");
        }
    }

    #[test]
    fn a_field_is_taken_as_it_is() {
        let with = |fields: &[u8]| of("tag:RX", &record("r", 0, &[], "", fields));
        assert_eq!(with(b"RXZACGT-TTGA\0"), Ok("ACGT-TTGA".into()));
        assert_eq!(with(b"NMC\x01RXZacg+n\0"), Ok("ACG-N".into()));
        assert_eq!(with(b"BXZACGT\0"), Ok(String::new()));
        assert_eq!(with(b"RXZ\0"), Ok(String::new()));
        let said = |fields: &[u8]| with(fields).unwrap_err().to_string();
        assert!(
            said(b"RXZACGU\0")
                .starts_with("read r: the UMI \"ACGU\" in the field RX has characters other")
        );
        assert!(said(b"RXZrACG\0").contains("\"rACG\""));
        assert!(said(b"RXAC").contains("is not text"));
        let long = [b"RXZ", &b"A".repeat(43)[..], b"\0"].concat();
        assert!(said(&long).contains("more than 42"));
    }

    #[test]
    fn names_of_sequencers_and_of_umi_tools() {
        let name = |text: &str| parse_name_umi(text.as_bytes(), None).map(|umi| umi.to_string());
        assert_eq!(name("M:1:F:1:1101:20:30:ACGT"), Ok("ACGT".into()));
        assert_eq!(name("M:1:F:1:1101:20:30:ACGT+TTGA"), Ok("ACGT-TTGA".into()));
        assert_eq!(name("M:1:F:1:1101:20:30:rACGG"), Ok("CCGT".into()));
        assert_eq!(name("M:1:F:1:1101:20:30:AACC+rAACN"), Ok("AACC-NGTT".into()));
        assert_eq!(name("M_1:1:F:1:1101:20:30_ACGT"), Ok("ACGT".into()));
        assert_eq!(name("M:1:F:1:1101:20:30_CELL_ACGT"), Ok("ACGT".into()));
        assert_eq!(name("SRR1.1_ACGT"), Ok("ACGT".into()));
        assert_eq!(name("M:1:F:1:1101:20:30:UMI_ACGT"), Ok("ACGT".into()));
        assert_eq!(name("M:1:F:1:1101:20:30:AACC_ACGT"), Ok("AACC-ACGT".into()));
        assert_eq!(name("M:1:F:1:1101:20:30_AACC_ACGT"), Ok("ACGT".into()));
        let wrong = [
            "",
            "r1",
            "M:1:F:1:1101:20:30",
            "M_1:1:F:1:1101:20:30",
            "M:1:F:1:1101:20:30:",
            "r_",
            "r_AXC",
            "r_ArC",
        ];
        wrong.iter().for_each(|text| assert!(name(text).is_err(), "{text}"));
        assert!(name("M:1:F:1:1101:20:30:A:C").is_err());
        let after = |text: &str, separator| {
            parse_name_umi(text.as_bytes(), Some(separator)).map(|umi| umi.to_string())
        };
        assert_eq!(after("a:b:ACGT", b':'), Ok("ACGT".into()));
        assert_eq!(after("a#b#ACGT-A", b'#'), Ok("ACGT-A".into()));
        assert_eq!(after("a:AC_GT", b':'), Ok("AC-GT".into()));
        assert!(after("a:b:ACGT", b'_').is_err());
        let raw = record("a:b", 0, &[], "", b"");
        assert!(
            of("name", &raw).unwrap_err().to_string().starts_with("read a:b: the read name has no UMI")
        );
    }

    #[test]
    fn bases_as_sequenced() {
        const REVERSE: u16 = 0x10;
        let take = |flags, cigar: &[(u32, u32)], seq| {
            of("inline:3+2", &record("r", flags, cigar, seq, b"")).unwrap()
        };
        assert_eq!(take(0, &[(0, 6)], "ACGTTT"), "ACG");
        assert_eq!(take(0, &[(4, 2), (0, 4)], "ARGTTT"), "ANG");
        assert_eq!(take(REVERSE, &[(0, 6)], "ACGTAG"), "CTA");
        assert_eq!(take(REVERSE, &[(5, 2), (0, 5)], "ACGTN"), "NAC");
        assert_eq!(take(0, &[(5, 2), (0, 6)], "ACGTTT"), "");
        assert_eq!(take(REVERSE, &[(0, 6), (5, 2)], "ACGTTT"), "");
        assert_eq!(take(0x41, &[(0, 6)], "ACGTTT"), "ACG");
        assert_eq!(take(0x81, &[(0, 6)], "ACGTTT"), "AC");
        assert_eq!(take(0x91, &[(0, 6)], "ACGTTC"), "GA");
        assert_eq!(take(0x4, &[], "ACGTTC"), "ACG");
        assert_eq!(take(0, &[(0, 2)], "AC"), "");
        assert_eq!(take(0, &[(0, 6)], ""), "");
    }

    #[test]
    fn the_umi_of_a_template() {
        let of = |source: &str, first, last| {
            source.parse::<UmiSource>().unwrap().combine_segments(umi(first), umi(last)).to_string()
        };
        assert_eq!(of("tag:RX", "ACG", "ACG"), "ACG");
        assert_eq!(of("tag:RX", "", "ACG"), "ACG");
        assert_eq!(of("name", "ACG", ""), "ACG");
        assert_eq!(of("inline:3", "ACG", ""), "ACG");
        assert_eq!(of("inline:0+3", "", "TTT"), "TTT");
        assert_eq!(of("inline:3+3", "ACG", "TTT"), "ACG-TTT");
        assert_eq!(of("inline:3+3", "ACG", ""), "ACG-");
        assert_eq!(of("inline:3+3", "", "TTT"), "-TTT");
        assert_eq!(of("inline:3+3", "", ""), "");
    }
}
