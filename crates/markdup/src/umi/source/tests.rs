use super::super::testing::umi;
use super::*;

/// A record of this name, FLAG, CIGAR (operators in BAM's numbering) and SEQ, with the fields' bytes.
fn record(qname: &str, flags: u16, cigar: &[(u32, u32)], seq: &str, fields: &[u8]) -> Vec<u8> {
    let mut raw = vec![0; 36];
    raw[12] = qname.len() as u8 + 1;
    raw[16..18].copy_from_slice(&(cigar.len() as u16).to_le_bytes());
    raw[18..20].copy_from_slice(&flags.to_le_bytes());
    raw[20..24].copy_from_slice(&(seq.len() as u32).to_le_bytes());
    raw.extend_from_slice(qname.as_bytes());
    raw.push(0);
    cigar.iter().for_each(|(op, n)| raw.extend_from_slice(&(n << 4 | op).to_le_bytes()));
    let codes: Vec<u8> =
        seq.bytes().map(|b| b"=ACMGRSVTWYHKDBN".iter().position(|&c| c == b).unwrap() as u8).collect();
    raw.extend(codes.chunks(2).map(|two| two[0] << 4 | two.get(1).unwrap_or(&0)));
    raw.extend(std::iter::repeat_n(30, seq.len()));
    raw.extend_from_slice(fields);
    let size = raw.len() as u32 - 4;
    raw[..4].copy_from_slice(&size.to_le_bytes());
    RecordRef::check(&raw, 1).unwrap();
    raw
}

fn of(source: &str, raw: &[u8]) -> Result<String> {
    source.parse::<UmiSource>()?.of(RecordRef::new(raw)).map(|umi| umi.to_string())
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
    assert!(said(b"RXZACGU\0").starts_with("read r: the UMI \"ACGU\" in the field RX has other"));
    assert!(said(b"RXZrACG\0").contains("\"rACG\""));
    assert!(said(b"RXAC").contains("is not text"));
    let long = [b"RXZ", &b"A".repeat(43)[..], b"\0"].concat();
    assert!(said(&long).contains("more than 42"));
}

#[test]
fn names_of_sequencers_and_of_umi_tools() {
    let name = |text: &str| in_name(text.as_bytes(), None).map(|umi| umi.to_string());
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
    let after =
        |text: &str, separator| in_name(text.as_bytes(), Some(separator)).map(|umi| umi.to_string());
    assert_eq!(after("a:b:ACGT", b':'), Ok("ACGT".into()));
    assert_eq!(after("a#b#ACGT-A", b'#'), Ok("ACGT-A".into()));
    assert_eq!(after("a:AC_GT", b':'), Ok("AC-GT".into()));
    assert!(after("a:b:ACGT", b'_').is_err());
    let raw = record("a:b", 0, &[], "", b"");
    assert!(of("name", &raw).unwrap_err().to_string().starts_with("read a:b: the read name has no UMI"));
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
        source.parse::<UmiSource>().unwrap().of_template(umi(first), umi(last)).to_string()
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
