//! The optical-duplicate distance of an instrument, derived from a read name.
//!
//! On unpatterned flow cells, optical duplicates are one cluster that is read as two, a few pixels
//! apart. On patterned flow cells, a molecule can also seed neighbouring nanowells. The
//! documentation of Picard MarkDuplicates (OPTICAL_DUPLICATE_PIXEL_DISTANCE) and of samtools
//! markdup (`-d`) therefore recommends 100 and 2500, in the unit of Illumina's read names, a tenth
//! of a pixel. No values were found for other vendors. (BBMap's guide has 40 for unpatterned
//! instruments, 2500 for HiSeq 3000 and 4000, 12000 for NovaSeq 6000, 50 for NovaSeq X.)
//!
//! | what | source |
//! |---|---|
//! | patterned flow cells | Illumina, bulletin "Cluster density guidelines for Illumina sequencing platforms using non-patterned flow cells"; NovaSeq X: Picard, issue 1962 |
//! | letters of instruments | 10x Genomics, Supernova, `illumina_instrument.py`, and its later copies; fastp, its list of two-colour systems |
//! | letters of flow cells | the same; answers of Illumina's technical support that users published |
//!
//! The flow cell takes precedence, because instruments are upgraded. The instrument is used only if
//! the flow cell is unknown.

use FlowCellKind::{NotPatterned, Patterned};

#[derive(Clone, Copy)]
enum FlowCellKind {
    Patterned,
    NotPatterned,
}

type Identified = (FlowCellKind, &'static str);

const PATTERNED_DISTANCE: i32 = 2500;

/// Distance on unpatterned and unknown flow cells.
const UNPATTERNED_DISTANCE: i32 = 100;

/// Flow cells, by the sixth and seventh characters of the ID. The ID has nine letters and digits,
/// and the eighth is X.
const FLOW_CELLS: [(&[u8; 2], FlowCellKind, &str); 13] = [
    (b"AC", NotPatterned, "HiSeq 2500 flow cell, not patterned"),
    (b"AD", NotPatterned, "HiSeq 2500 flow cell, not patterned"),
    (b"AN", NotPatterned, "HiSeq 2500 flow cell, not patterned"),
    (b"BC", NotPatterned, "HiSeq 2500 flow cell, not patterned"),
    (b"AF", NotPatterned, "NextSeq 500 or 550 flow cell, not patterned"),
    (b"AG", NotPatterned, "NextSeq 500 or 550 flow cell, not patterned"),
    (b"BG", NotPatterned, "NextSeq 500 or 550 flow cell, not patterned"),
    (b"BB", Patterned, "HiSeq 3000 or 4000 flow cell, patterned"),
    (b"AL", Patterned, "HiSeq X flow cell, patterned"),
    (b"CC", Patterned, "HiSeq X flow cell, patterned"),
    (b"DM", Patterned, "NovaSeq 6000 flow cell, patterned"),
    (b"DR", Patterned, "NovaSeq 6000 flow cell, patterned"),
    (b"DS", Patterned, "NovaSeq 6000 flow cell, patterned"),
];

/// Instruments, by the letters before the serial number and the minimum number of its digits.
const INSTRUMENTS: [(&[u8], usize, FlowCellKind, &str); 29] = [
    (b"A", 5, Patterned, "NovaSeq 6000, patterned"),
    (b"NA", 5, Patterned, "NovaSeq 6000, patterned"),
    (b"LH", 5, Patterned, "NovaSeq X, patterned"),
    (b"VH", 5, Patterned, "NextSeq 1000 or 2000, patterned"),
    (b"VL", 5, Patterned, "NextSeq 1000 or 2000, patterned"),
    (b"FS", 5, Patterned, "iSeq 100, patterned"),
    (b"J", 5, Patterned, "HiSeq 3000, patterned"),
    (b"K", 5, Patterned, "HiSeq 3000 or 4000, patterned"),
    (b"ST-J", 5, Patterned, "HiSeq 3000, patterned"),
    (b"ST-K", 5, Patterned, "HiSeq 3000 or 4000, patterned"),
    (b"E", 5, Patterned, "HiSeq X, patterned"),
    (b"ST-E", 5, Patterned, "HiSeq X, patterned"),
    (b"M", 5, NotPatterned, "MiSeq, not patterned"),
    (b"HWI-M", 4, NotPatterned, "MiSeq, not patterned"),
    (b"MN", 5, NotPatterned, "MiniSeq, not patterned"),
    (b"N", 5, NotPatterned, "NextSeq 500 or 550, not patterned"),
    (b"NB", 6, NotPatterned, "NextSeq 500 or 550, not patterned"),
    (b"NS", 6, NotPatterned, "NextSeq 500 or 550, not patterned"),
    (b"NDX", 5, NotPatterned, "NextSeq 550Dx, not patterned"),
    (b"C", 5, NotPatterned, "HiSeq 1500, not patterned"),
    (b"HWI-C", 5, NotPatterned, "HiSeq 1500, not patterned"),
    (b"D", 5, NotPatterned, "HiSeq 2500, not patterned"),
    (b"HWI-D", 5, NotPatterned, "HiSeq 2500, not patterned"),
    (b"SN", 3, NotPatterned, "HiSeq 2000 or 2500, not patterned"),
    (b"HWI-ST", 3, NotPatterned, "HiSeq 2000 or 2500, not patterned"),
    (b"HWI-EAS", 2, NotPatterned, "Genome Analyzer, not patterned"),
    (b"HWUSI-EAS", 2, NotPatterned, "Genome Analyzer, not patterned"),
    (b"AV", 5, NotPatterned, "Element AVITI, for which no distance is documented"),
    (b"SH", 5, NotPatterned, "MiSeq i100, for which no distance is documented"),
];

/// Returns the optical distance for the instrument in a read name, in the unit of the name's
/// coordinates, and the reason, which is logged.
///
/// One distance applies to the whole input, so callers pass the first read of each input and use
/// the largest result: two pairs that are duplicates anyway are rarely within 2500 by chance, and
/// such a pair would only count as an optical instead of a PCR duplicate. A name without a known
/// instrument gives 100, and the reason says so.
///
/// ```
/// use readmill_markdup::instrument::find_pixel_distance;
///
/// let (distance, why) = find_pixel_distance(b"A00488:61:HMLGNDSXX:4:1101:1940:1000");
/// assert_eq!((distance, why), (2500, "NovaSeq 6000 flow cell, patterned"));
/// assert_eq!(find_pixel_distance(b"SRR12345678.1").0, 100);
/// ```
pub fn find_pixel_distance(qname: &[u8]) -> (i32, &'static str) {
    let mut fields = qname.split(|&byte| byte == b':');
    let instrument = fields.next().unwrap_or_default();
    let has_flow_cell = qname.iter().filter(|&&byte| byte == b':').count() >= 6;
    let cell = if has_flow_cell { fields.nth(1).unwrap_or_default() } else { &[] };
    let known = identify_flow_cell(cell)
        .or_else(|| identify_dnbseq(instrument))
        .or_else(|| identify_instrument(instrument));
    match known {
        Some((Patterned, why)) => (PATTERNED_DISTANCE, why),
        Some((NotPatterned, why)) => (UNPATTERNED_DISTANCE, why),
        None => (UNPATTERNED_DISTANCE, "the read name contains no known instrument"),
    }
}

fn identify_flow_cell(id: &[u8]) -> Option<Identified> {
    if id.starts_with(b"000000000-") {
        return Some((NotPatterned, "MiSeq flow cell, not patterned"));
    }
    if let [b'B', b'N' | b'R' | b'P' | b'T', .., b'-', _, _, _, _] = id {
        return Some((Patterned, "iSeq 100 flow cell, patterned"));
    }
    if id.len() != 9 || !id.iter().all(u8::is_ascii_alphanumeric) {
        return None;
    }
    if id.starts_with(b"000H") {
        return Some((NotPatterned, "MiniSeq flow cell, not patterned"));
    }
    if id[7] == b'X' {
        let kinds = FLOW_CELLS.iter().find(|(letters, ..)| id[5..7] == letters[..]);
        return kinds.map(|&(_, kind, why)| (kind, why));
    }
    if id[6..8] == *b"LT" {
        return Some((Patterned, "NovaSeq X flow cell, patterned"));
    }
    let next_seq = id.ends_with(b"M5") || id.ends_with(b"HV");
    next_seq.then_some((Patterned, "NextSeq 1000 or 2000 flow cell, patterned"))
}

/// Returns the kind of flow cell that an instrument uses, from the letters before its serial number
/// and the number of digits.
fn identify_instrument(instrument: &[u8]) -> Option<Identified> {
    if instrument.starts_with(b"G4-") {
        return Some((NotPatterned, "Singular G4, for which no distance is documented"));
    }
    let start = instrument.iter().position(u8::is_ascii_digit)?;
    let (letters, number) = instrument.split_at(start);
    let digits = number.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let found =
        INSTRUMENTS.iter().find(|&&(name, min_digits, ..)| name == letters && digits >= min_digits);
    found.map(|&(_, _, kind, why)| (kind, why))
}

fn identify_dnbseq(name: &[u8]) -> Option<Identified> {
    let matches = |byte: u8, sign: u8| if sign == b'0' { byte.is_ascii_digit() } else { byte == sign };
    let is_place =
        |window: &[u8]| window.iter().zip(b"L0C000R000").all(|(&byte, &sign)| matches(byte, sign));
    let why = "MGI DNBSEQ, whose read names have spot numbers instead of coordinates";
    name.windows(10).any(is_place).then_some((NotPatterned, why))
}

#[cfg(test)]
mod tests {
    use super::find_pixel_distance;

    #[test]
    fn instruments_and_flow_cells() {
        for (name, distance, why) in [
            ("A00887:522:HHJLFDRX2:2:2202:3233:22842", 2500, "NovaSeq 6000 flow cell"),
            ("A00887:518:HGCKJDRX2:2:2268:10691:21731:TAAGTCTTA", 2500, "NovaSeq 6000 flow cell"),
            ("A00488:61:HMLGNDSXX:4:1101:1940:1000", 2500, "NovaSeq 6000 flow cell"),
            ("A00311:74:HMLK5DMXX:1:1101:2013:1000", 2500, "NovaSeq 6000 flow cell"),
            ("LH00202:284:22CVHTLT4:1:1101:1:1", 2500, "NovaSeq X flow cell"),
            ("LH00202:284:X:1:1101:1:1", 2500, "NovaSeq X, patterned"),
            ("VH00123:1:AAAHCWLM5:1:1101:1:1", 2500, "NextSeq 1000 or 2000 flow cell"),
            ("VH00123:1:AAC3HYVHV:1:1101:1:1", 2500, "NextSeq 1000 or 2000 flow cell"),
            ("ST-E00314:132:HLCJTCCXX:6:2206:31213:47966", 2500, "HiSeq X flow cell"),
            ("E00314:132:?:6:2206:31213:47966", 2500, "HiSeq X, patterned"),
            ("K00345:1:H5YNKBBXY:1:1101:1:1", 2500, "HiSeq 3000 or 4000 flow cell"),
            ("ST-K00100:7:x:1:1101:1:1", 2500, "HiSeq 3000 or 4000, patterned"),
            ("FS10000428:3:BPC29604-1524:1:1101:1:1", 2500, "iSeq 100 flow cell"),
            ("D00209:258:CACDKANXX:6:2216:1260:1978", 100, "HiSeq 2500 flow cell"),
            ("HWI-D00360:5:H814YADXX:1:1106:10370:52569", 100, "HiSeq 2500 flow cell"),
            ("HWI-ST550_0201:3:1101:1626:2216#ACAGTG", 100, "HiSeq 2000 or 2500, not"),
            ("HWUSI-EAS100R:6:73:941:1973#0/1", 100, "Genome Analyzer"),
            ("NB501000:1:HV5YNBGX2:1:11101:1:1", 100, "NextSeq 500 or 550 flow cell"),
            ("NS500123:1:none:1:11101:1:1", 100, "NextSeq 500 or 550, not"),
            ("M02007:58:000000000-AW0NA:1:1101:11070:1384", 100, "MiSeq flow cell"),
            ("MN00123:58:000H2J5KL:1:11101:11070:1384", 100, "MiniSeq flow cell"),
            ("AV234702:run-7:2310310456:1:10102:0021:0083", 100, "Element AVITI"),
            ("G4-014:0080:OM1482O:1:1001:139542:22240", 100, "Singular G4"),
            ("E100003218L1C034R0294035623", 100, "MGI DNBSEQ"),
            ("SRR12345678.1", 100, "no known instrument"),
            ("A1:1:x:1:1101:1:1", 100, "no known instrument"),
            ("SIM:1:FCX:1:15:6329:1045", 100, "no known instrument"),
            ("", 100, "no known instrument"),
        ] {
            let (found, said) = find_pixel_distance(name.as_bytes());
            assert_eq!(found, distance, "{name}: {said}");
            assert!(said.contains(why), "{name}: {said}");
        }
    }

    #[test]
    fn the_flow_cell_is_the_surer_sign() {
        let (distance, why) = find_pixel_distance(b"D00209:258:H5YNKBBXX:6:2216:1260:1978");
        assert_eq!((distance, why), (2500, "HiSeq 3000 or 4000 flow cell, patterned"));
    }
}
