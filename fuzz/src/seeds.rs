//! Material for seeds: a few reads of a small simulated sample, and records with all
//! features.

use std::sync::OnceLock;

use readmill_format::sam::LineParser;
use readmill_record::Header;
use readmill_simulate::{Profile, Sample};

/// Header of all targets with a fixed header: two contigs, the second of which is very
/// long, and two read groups.
pub const HEADER: &str = "@HD\tVN:1.6\tSO:unsorted\n@SQ\tSN:c1\tLN:4000\n@SQ\tSN:chr2\tLN:2000000000\tAN:two,2\n\
@RG\tID:g1\tSM:s\tLB:l1\tPL:ILLUMINA\n@RG\tID:g2\tSM:s\tLB:l2\n";

pub fn seed_header() -> Header {
    parse_header(HEADER.as_bytes())
}

/// Parses a header that must be valid.
///
/// # Panics
/// If it is not.
pub fn parse_header(text: &[u8]) -> Header {
    Header::parse(text).unwrap_or_else(|e| panic!("a seed's header is refused: {e}"))
}

pub const LINES: [&str; 10] = [
    "r1:1:1101:1000:2000\t99\tc1\t100\t60\t5S20M2I3D10M3S\t=\t200\t140\tACGTACGTACGTACGTACGTACGTACGTACGTACGTACGT\tIIIIIHHHHHGGGGGFFFFFEEEEEDDDDDCCCCCBBBBB\tRG:Z:g1\tNM:i:5\tMD:Z:10A9^ACG10\tMC:Z:40M\tAS:i:30",
    "r1:1:1101:1000:2000\t147\tc1\t200\t60\t40M\t=\t100\t-140\tTTTTTGGGGGCCCCCAAAAATTTTTGGGGGCCCCCAAAAA\t!!!!!#####%%%%%55555IIIII55555%%%%%#####\tRG:Z:g1\tOQ:Z:IIIIIIIIIIIIIIIIIIIIIIIIIIIIIIIIIIIIIIII",
    "r2\t4\t*\t0\t0\t*\t*\t0\t0\tACGTN\t*",
    "r3\t0\tchr2\t70\t30\t2S3M1D\t*\t0\t0\tTTAGN\t!#+I~\tXX:i:300\tXY:B:s,-4,5\tXZ:f:1.5\tXH:H:1AE3\tXA:A:c\tXB:B:f,1,2.5e3\tXD:d:-2.25e-7",
    "r4\t0\tc1\t16\t9\t2S9N\t*\t0\t0\tAC\t*\tXX:i:1\tCG:B:I,16,17",
    "r5\t2064\tchr2\t1500000000\t7\t3H5M2P5M4H\tc1\t9\t-7\t=ACMGRSVTW\tABCDEFGHIJ\tSA:Z:c1,10,+,5M5S,60,0;\tRX:Z:ACGT-TTGA",
    "r6\t73\tc1\t3990\t255\t3=2X5N1M\t=\t3990\t0\tACGTAC\t*",
    "r6\t133\tc1\t3990\t0\t*\t=\t3990\t0\t*\t*",
    "*\t4\t*\t0\t0\t*\t*\t0\t0\t*\t*\tRG:Z:g2",
    "r7\t1171\ttwo\t5\t12\t1M\tc1\t0\t2147483647\tA\t~\tBC:Z:ACGTACGT\tQT:Z:IIIIIIII\tPG:Z:p\tDT:Z:LB\tDI:i:4000000000",
];

pub fn seed_records() -> Vec<Vec<u8>> {
    let mut parser = LineParser::new(&seed_header());
    let parse = |line: &&str| {
        let mut raw = Vec::new();
        parser.parse(line.as_bytes(), &mut raw).unwrap_or_else(|e| panic!("{line}: {e}"));
        raw
    };
    LINES.iter().map(parse).collect()
}

pub struct Simulated {
    pub header: Header,
    pub records: Vec<Vec<u8>>,
    pub contig: Vec<u8>,
}

/// Returns a simulated sample of six pairs of 50 bases on one contig. It is made once per
/// process.
pub fn simulated_sample() -> &'static Simulated {
    static MADE: OnceLock<Simulated> = OnceLock::new();
    MADE.get_or_init(|| {
        let contigs = vec![("chr1".to_string(), 4000)];
        let profile = Profile { contigs, read_length: 50, pairs: 6, ..Profile::small() };
        let sample = Sample::new(profile);
        let (mut all, mut reads) = (Vec::new(), sample.records());
        while reads.append_next(&mut all) {}
        let mut records = Vec::new();
        let mut rest = &all[..];
        while let Some(size) = rest.first_chunk::<4>() {
            let (record, more) = rest.split_at(u32::from_le_bytes(*size) as usize + 4);
            records.push(record.to_vec());
            rest = more;
        }
        let header = parse_header(sample.header_text().as_bytes());
        Simulated { header, records, contig: sample.contig(0).to_vec() }
    })
}
