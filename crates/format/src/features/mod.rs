//! Files of genomic features: VCF, BCF, BED, Picard interval lists and elPrep's sites, uncompressed
//! or compressed by gzip or bgzip.
//!
//! Only the position of each feature is read, by the rules of htsjdk 4.2 (and so of GATK 4.6.2). No
//! index is needed. The columns are parsed here instead of by a crate: if END is needed, the lazy
//! records of noodles-vcf 0.96 took 1400 cycles for a record of dbSNP's length. The code here takes
//! 360 cycles, including the sites, in a phase with only one thread. The header parser of noodles
//! also refuses lines that htsjdk accepts.

mod bcf;
mod dictionary;
mod lines;

use std::fmt;
use std::io::Read;
use std::path::Path;

use readmill_record::{Error, Ledger, Result};

use crate::summed::StreamSum;
use crate::text::{self, LineReader};
pub use dictionary::FeatureDictionary;
pub(crate) use dictionary::{OTHER_BUILD_HINT, no_common_contig_error};
use lines::LineFeature;
pub(crate) use lines::parse_java_int;
pub use lines::{FeaturePlace, parse_bed_position};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FeatureFormat {
    Vcf,
    Bcf,
    Bed,
    /// Picard's interval list: a SAM header, then 1-based closed intervals.
    IntervalList,
    /// elPrep's sites: a line that names the format, then 1-based closed intervals.
    Elsites,
}

impl fmt::Display for FeatureFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            FeatureFormat::Vcf => "VCF",
            FeatureFormat::Bcf => "BCF",
            FeatureFormat::Bed => "BED",
            FeatureFormat::IntervalList => "an interval list",
            FeatureFormat::Elsites => "an elPrep sites file",
        })
    }
}

/// Reads the features of a file one by one. Used for known sites, intervals and baits.
///
/// ```
/// use readmill_format::features::{FeatureFormat, FeaturePlace, FeatureReader};
/// use readmill_format::text::TextInput;
/// use readmill_record::Ledger;
///
/// let text: &[u8] = b"track name=targets\nchr1\t10\t20\tfirst\n";
/// let input = TextInput::from_plain(text, &Ledger::unlimited());
/// let mut features = FeatureReader::read_input("targets.bed".as_ref(), input)?;
/// assert_eq!(features.kind(), FeatureFormat::Bed);
/// let place = FeaturePlace { contig: b"chr1", start: 10, end: 20 };
/// assert_eq!(features.next_place()?, Some(place));
/// assert_eq!(features.name_and_strand(), (Some(&b"first"[..]), false));
/// assert_eq!(features.next_place()?, None);
/// # Ok::<(), readmill_record::Error>(())
/// ```
pub struct FeatureReader {
    kind: FeatureFormat,
    dictionary: FeatureDictionary,
    content: FeatureRecords,
}

enum FeatureRecords {
    Text(LineReader),
    Bcf(bcf::BcfReader),
}

const FORMAT_BYTES: u64 = 512;

impl FeatureReader {
    /// Opens the file at `path` and reads its header. The format is detected from the content.
    /// Other content counts as BED, unless the name has the suffix of another format, which is an
    /// error.
    ///
    /// # Errors
    /// Fails if the file cannot be read, or if its header or a line needs more memory than is
    /// available.
    pub fn open(path: &Path, ledger: &Ledger) -> Result<Self> {
        Self::open_summed(path, ledger, None)
    }

    /// Opens a file as [`FeatureReader::open`] does, and adds its bytes to `sum` as they are read.
    ///
    /// # Errors
    /// Fails as [`FeatureReader::open`] does.
    pub fn open_summed(path: &Path, ledger: &Ledger, sum: Option<StreamSum>) -> Result<Self> {
        Self::read_input(path, text::open_inflated_summed(path, ledger, sum)?)
    }

    /// Reads the header of `input`, which must be uncompressed. `path` is used for messages and to
    /// detect the format.
    ///
    /// # Errors
    /// Fails if the header cannot be read, or does not match the format that the name or the first
    /// bytes indicate.
    pub fn read_input(path: &Path, mut input: text::TextInput) -> Result<Self> {
        let ledger = &input.ledger().clone();
        let mut start = Vec::new();
        (&mut input)
            .take(FORMAT_BYTES)
            .read_to_end(&mut start)
            .map_err(|e| text::read_error(&e, path))?;
        let kind = detect_format(&start, path)?;
        let input = input.with_start(start);
        if kind == FeatureFormat::Bcf {
            let (dictionary, records) = bcf::open_bcf(path, input, ledger).map_err(|e| e.file(path))?;
            return Ok(FeatureReader { kind, dictionary, content: FeatureRecords::Bcf(records) });
        }
        let mut lines = LineReader::new(path, input);
        let dictionary = match kind {
            FeatureFormat::Vcf => lines::read_vcf_header(&mut lines, ledger)?,
            FeatureFormat::IntervalList => lines::read_list_header(&mut lines, ledger)?,
            FeatureFormat::Bed | FeatureFormat::Bcf | FeatureFormat::Elsites => {
                FeatureDictionary::new(ledger)
            }
        };
        Ok(FeatureReader { kind, dictionary, content: FeatureRecords::Text(lines) })
    }

    pub fn kind(&self) -> FeatureFormat {
        self.kind
    }

    pub fn dictionary(&self) -> &FeatureDictionary {
        &self.dictionary
    }

    /// Returns the position of the next feature; `None` at the end of the file.
    ///
    /// # Errors
    /// Fails if a line or record is not valid. The error contains its number.
    pub fn next_place(&mut self) -> Result<Option<FeaturePlace<'_>>> {
        match &mut self.content {
            FeatureRecords::Bcf(records) => records.next_place(&self.dictionary),
            FeatureRecords::Text(lines) => {
                let parse = match self.kind {
                    FeatureFormat::Vcf | FeatureFormat::Bcf => lines::parse_vcf_line,
                    FeatureFormat::Bed => lines::parse_bed_line,
                    FeatureFormat::IntervalList => lines::parse_list_line,
                    FeatureFormat::Elsites => lines::parse_elsites_line,
                };
                while lines.advance_line()? {
                    match parse(lines.line()) {
                        Ok(None) => {}
                        Ok(Some(LineFeature { name, start, end })) => {
                            return Ok(Some(FeaturePlace { contig: &lines.line()[..name], start, end }));
                        }
                        Err(what) => return Err(lines.line_error(what)),
                    }
                }
                Ok(None)
            }
        }
    }

    /// Returns the name of the last feature, and whether it is on the reverse strand. Only interval
    /// lists and BED have these columns; for other formats, returns no name and the forward strand.
    pub fn name_and_strand(&self) -> (Option<&[u8]>, bool) {
        match (&self.content, self.kind) {
            (FeatureRecords::Text(lines), FeatureFormat::Bed) => {
                lines::bed_name_and_strand(lines.line())
            }
            (FeatureRecords::Text(lines), FeatureFormat::IntervalList) => {
                lines::list_name_and_strand(lines.line())
            }
            _ => (None, false),
        }
    }

    pub fn feature_error(&self, what: impl fmt::Display) -> Error {
        match &self.content {
            FeatureRecords::Text(lines) => lines.line_error(what),
            FeatureRecords::Bcf(records) => records.record_error(what),
        }
    }
}

const OTHER_KINDS: [(&[u8], &str, &str); 9] = [
    (b">", "FASTA", "pass a reference with --reference"),
    (b"BAM\x01", "BAM", "pass reads without a flag"),
    (b"CRAM", "CRAM", "pass reads without a flag"),
    (b"BAI\x01", "an index", "give the file that it belongs to"),
    (b"CSI\x01", "an index", "give the file that it belongs to"),
    (b"TBI\x01", "an index", "give the file that it belongs to"),
    (b"\x28\xb5\x2f\xfd", "compressed with zstd", "decompress it: zstd -d FILE"),
    (b"PK\x03\x04", "a zip archive", "unpack it: unzip FILE"),
    (b"#:GATKReport", "a GATK report", "pass a recalibration table with bqsr apply --bqsr-table"),
];

/// Refuses files of known other formats and names the format. Otherwise they would be read as BED
/// or as an interval list, and fail at some line.
fn refuse_other_kinds(start: &[u8], path: &Path) -> Result<()> {
    let known = OTHER_KINDS.iter().find(|(first, ..)| start.starts_with(first));
    let mut lines = start.split(|&byte| byte == b'\n');
    let mut line = || lines.next().unwrap_or_default();
    let (first, _, third) = (line(), line(), line());
    let (what, hint) = match known {
        Some(&(_, what, hint)) => (what, hint),
        None if first.starts_with(b"@") && third.starts_with(b"+") => {
            ("FASTQ", "pass FASTQ reads to readmill align")
        }
        None => return Ok(()),
    };
    let needed = "VCF, BCF, BED or an interval list is expected";
    Err(Error::input(format!("this is {what}, but {needed}")).file(path).hint(hint))
}

fn detect_format(start: &[u8], path: &Path) -> Result<FeatureFormat> {
    refuse_other_kinds(start, path)?;
    if start.starts_with(b"##fileformat=VCF") {
        return Ok(FeatureFormat::Vcf);
    }
    if start.starts_with(b"BCF\x02") {
        return Ok(FeatureFormat::Bcf);
    }
    if start.starts_with(b"@") {
        return Ok(FeatureFormat::IntervalList);
    }
    if start.starts_with(lines::ELSITES) {
        return Ok(FeatureFormat::Elsites);
    }
    let name = path.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
    let packed = [".gz", ".gzip", ".bgz", ".bgzf"].iter().find_map(|end| name.strip_suffix(end));
    let name = packed.unwrap_or(&name);
    let wrong = |kind: FeatureFormat, needed: &str| {
        Err(Error::input(format!("this is not {kind}: {needed} is missing at its start")).file(path))
    };
    match name.rsplit('.').next().unwrap_or_default() {
        "vcf" => wrong(FeatureFormat::Vcf, "##fileformat=VCF"),
        "bcf" => wrong(FeatureFormat::Bcf, "the magic number"),
        "elsites" => wrong(FeatureFormat::Elsites, "the line # elsites format version 1.0"),
        "interval_list" => wrong(FeatureFormat::IntervalList, "a SAM header (@SQ lines)"),
        _ => Ok(FeatureFormat::Bed),
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use readmill_record::Header;

    use super::*;

    const VCF: &str = "##fileformat=VCFv4.2\n##contig=<ID=chr1,length=1000>\n##contig=<length=500,ID=chr2>\n\
        #CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\n";

    fn put(name: &str, content: impl AsRef<[u8]>) -> (tempfile::TempDir, std::path::PathBuf) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(name);
        std::fs::write(&path, content).unwrap();
        (dir, path)
    }

    fn places(name: &str, content: impl AsRef<[u8]>) -> Result<Vec<(String, u32, u32)>> {
        let (_dir, path) = put(name, content);
        let mut features = FeatureReader::open(&path, &Ledger::unlimited())?;
        let mut all = Vec::new();
        while let Some(place) = features.next_place()? {
            all.push((String::from_utf8_lossy(place.contig).into_owned(), place.start, place.end));
        }
        Ok(all)
    }

    fn vcf(records: &str) -> Result<Vec<(String, u32, u32)>> {
        places("a.vcf", format!("{VCF}{}", records.replace(' ', "\t")))
    }

    fn chr1(ranges: &[(u32, u32)]) -> Vec<(String, u32, u32)> {
        ranges.iter().map(|&(start, end)| ("chr1".to_string(), start, end)).collect()
    }

    fn refused(result: Result<Vec<(String, u32, u32)>>, why: &str) {
        let error = result.unwrap_err().to_string();
        assert!(error.contains(why), "{error:?} does not say {why:?}");
    }

    #[test]
    fn a_variant_lies_where_gatk_sees_it() {
        let snv = "chr1 10 rs1 A C . . DB\n";
        let deletion = "chr1 10 . ACGT A 5 PASS AF=1 GT 0/1\n";
        let end = "chr1 10 . A <DEL> . . SVTYPE=DEL;END=20;X=1\n";
        let late = "chr1 10 . A <DEL> . . CIEND=3,4;END=20;END=30 GT END=5\n";
        let telomere = "chr1 0 . N <DEL> . . .\nchr1 0 . NAC N . . .\n";
        let not_end = "chr1 10 . AC A . . ENDS=5;CIEND=50;XEND=7 GT:END=9 1\n";
        let before = "chr1 10 . A <TRA> . . END=5\nchr1 10 . A <DEL> . . END=+12\n";
        let all = vcf(&[snv, deletion, end, late, telomere, not_end, before].concat()).unwrap();
        assert_eq!(
            all,
            chr1(&[(9, 10), (9, 13), (9, 20), (9, 30), (0, 0), (0, 2), (9, 11), (9, 9), (9, 12)])
        );
    }

    #[test]
    fn bad_variants_are_named_by_their_line() {
        refused(vcf("chr1 5 . A C . . .\nchr1 x . A C . . .\n"), "line 6: POS is not a position");
        refused(
            vcf("chr1 5 . A C . .\n"),
            "line 5: a record must have at least 8 columns, but this one has 7",
        );
        refused(vcf("chr1 5 . A C . . END=4,5\n"), "END of INFO");
        refused(vcf("chr1 5 . A C . . END=.\n"), "END of INFO");
        refused(vcf("chr1 5 .  C . . .\n"), "REF or INFO is empty");
        refused(vcf("chr1 -5 . A C . . .\n"), "POS");
        refused(vcf("chr1 2147483648 . A C . . .\n"), "POS");
        refused(places("a.vcf", "##fileformat=VCFv4.2\nchr1\t5\n"), "#CHROM");
        refused(places("a.vcf", "##fileformat=VCFv4.2\n"), "inside its header");
        refused(places("a.vcf", "chr1\t5\t.\tA\tC\t.\t.\t.\n"), "not VCF");
        refused(places("a.vcf.gz", ""), "not VCF");
        assert!(vcf("").unwrap().is_empty());
    }

    #[test]
    fn bed_is_read_as_htsjdk_reads_it() {
        let text = "browser position chr1\ntrack name=x\n#c\nchr1\t5\t9\tname\nchr1 7   8\nchr1\t20\n\n  \nchr1\t4\t4\r\n";
        let expected = chr1(&[(5, 9), (7, 8), (20, 21), (4, 4)]);
        assert_eq!(places("a.bed", text).unwrap(), expected);
        assert_eq!(places("a.txt", text).unwrap(), expected);
        let far = "chr1\t5\t2147483648\nchr1\t7\t99999999999999999999999\n";
        assert_eq!(places("a.bed", far).unwrap(), chr1(&[(5, 2_147_483_647), (7, 2_147_483_647)]));
        refused(
            places("a.bed", "chr1\t5\t9\nchr1\t9\t5\n"),
            "line 2: a BED line ends (5) before it starts (9)",
        );
        refused(places("a.bed", "chr1\n"), "line 1: a BED line must have");
        refused(places("a.bed", "chr1\t-1\t5\n"), "start");
    }

    /// Guards against a former defect: such files were read as BED, and refused at some line.
    #[test]
    fn files_of_other_kinds_are_named() {
        for (text, what) in [
            (&b">chr1\nACGT\n"[..], "this is FASTA"),
            (b"BAM\x01\0\0\0\0", "this is BAM"),
            (b"CRAM\x03\0", "this is CRAM"),
            (b"BAI\x01", "this is an index"),
            (b"@r\nACGT\n+\nIIII\n", "this is FASTQ"),
            (b"#:GATKReport.v1.1:5\n", "this is a GATK report"),
        ] {
            refused(places("a.bed", text), what);
            refused(places("a.vcf.gz", text), what);
        }
    }

    #[test]
    fn sites_of_elprep_are_one_based_and_closed() {
        // Sites as elPrep 5 makes them from variants: an SNV, a deletion, one with END, one at
        // position 0, and one with an END before its POS.
        let sites = "chr1\t10\t10\nchr1\t20\t23\nchr1\t30\t50\nchr1\t0\t0\nchr1\t60\t5\n";
        let text = format!("# elsites format version 1.0\n{sites}");
        let wanted = chr1(&[(9, 10), (19, 23), (29, 50), (0, 0), (59, 59)]);
        assert_eq!(places("a.elsites", &text).unwrap(), wanted);
        assert_eq!(places("a.txt", &text).unwrap(), wanted);
        refused(places("a.elsites", sites), "# elsites format version 1.0");
        refused(places("a.elsites", format!("{text}chr1\t5\n")), "line 7");
        refused(places("a.elsites", format!("{text}chr1\tx\t5\n")), "line 7");
    }

    #[test]
    fn interval_lists_are_one_based_and_closed() {
        let header = "@HD\tVN:1.6\n@SQ\tSN:chr1\tLN:1000\n";
        let list = format!("{header}chr1\t5\t9\t+\tx\n\nchr1\t6\t5\t-\ty z\n");
        assert_eq!(places("a.interval_list", &list).unwrap(), chr1(&[(4, 9), (5, 5)]));
        for (bad, why) in [
            ("chr1\t5\t9\t+\n", "line 3: an interval must have five columns"),
            ("chr1\t0\t9\t+\tx\n", "start"),
            ("chr1\t9\t7\t+\tx\n", "before it starts"),
            ("chr1\t5\t9\t.\tx\n", "strand"),
        ] {
            refused(places("a.interval_list", format!("{header}{bad}")), why);
        }
        refused(places("a.interval_list", "chr1\t5\t9\t+\tx\n"), "not an interval list");
    }

    /// A BCF with these records: contig number, 0-based start, length.
    fn bcf(header: &str, records: &[(u32, i32, u32)]) -> Vec<u8> {
        let mut out = b"BCF\x02\x02".to_vec();
        out.extend((header.len() as u32 + 1).to_le_bytes());
        out.extend(header.as_bytes());
        out.push(0);
        for &(contig, start, length) in records {
            for field in [24 + 3, 5, contig, start as u32, length, 0, 0, 0] {
                out.extend(u32::to_le_bytes(field));
            }
            out.extend([7; 8]);
        }
        out
    }

    #[test]
    fn bcf_says_its_places_in_binary() {
        let header =
            "##fileformat=VCFv4.2\n##contig=<ID=chr2,length=7,IDX=1>\n##contig=<ID=chr1,IDX=0>\n";
        let bytes = bcf(header, &[(0, 9, 4), (0, -1, 1), (0, 99, 1)]);
        assert_eq!(places("a.bcf", &bytes).unwrap(), chr1(&[(9, 13), (0, 0), (99, 100)]));
        let by_order = bcf("##contig=<ID=x>\n##contig=<ID=chr1>\n", &[(1, 5, 1)]);
        assert_eq!(places("a", by_order).unwrap(), chr1(&[(5, 6)]));
        refused(places("a.bcf", &bytes[..bytes.len() - 1]), "record 3: the file ends inside a record");
        refused(places("a.bcf", bcf(header, &[(2, 5, 1)])), "no contig number 2");
    }

    #[test]
    fn compressed_files_are_told_by_content() {
        let text = format!("{VCF}chr1\t10\t.\tA\tC\t.\t.\t.\n");
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gzip.write_all(text.as_bytes()).unwrap();
        let bytes = gzip.finish().unwrap();
        assert_eq!(places("sites", &bytes).unwrap(), chr1(&[(9, 10)]));
        refused(places("sites", &bytes[..bytes.len() - 3]), "truncated");
    }

    #[test]
    fn another_build_is_noticed() {
        let (_dir, path) = put("a.vcf", VCF);
        let features = FeatureReader::open(&path, &Ledger::unlimited()).unwrap();
        let check = |contigs: &[(&str, u32)]| {
            let lines = contigs.iter().map(|(name, length)| format!("@SQ\tSN:{name}\tLN:{length}\n"));
            features
                .dictionary()
                .check_header(&Header::parse(lines.collect::<String>().as_bytes())?, &path)
        };
        check(&[("chr1", 1000), ("chr9", 5)]).unwrap();
        check(&[("chr2", 0)]).unwrap();
        let error = check(&[("chr1", 1000), ("chr2", 501)]).unwrap_err().to_string();
        assert!(error.contains("contig chr2 has 500 bases here, but 501 in"), "{error}");
        let error = check(&[("1", 1000)]).unwrap_err().to_string();
        assert!(error.contains("no contig in common") && error.contains("chr1"), "{error}");
        let quoted = b"ID=HLA-A*01:01,assembly=\"a,b>=\",length=5>";
        assert_eq!(lines::parse_vcf_contig(quoted), (Some(&b"HLA-A*01:01"[..]), Some(&b"5"[..])));
    }

    fn places_in(name: &str, content: impl AsRef<[u8]>, ledger: &Ledger) -> Result<usize> {
        let (_dir, path) = put(name, content);
        let (mut features, mut n) = (FeatureReader::open(&path, ledger)?, 0);
        while features.next_place()?.is_some() {
            n += 1;
        }
        Ok(n)
    }

    #[test]
    fn a_contig_of_bcf_with_a_large_number_takes_no_table() {
        let ids = |first: u32| {
            format!("##fileformat=VCFv4.2\n##contig=<ID=chr1,IDX={first}>\n##contig=<ID=chr2>\n")
        };
        let ledger = Ledger::with_capacity(100 << 10);
        for first in [0, 16_777_215, 2_000_000_000] {
            let file = bcf(&ids(first), &[(first, 9, 1), (first + 1, 9, 1)]);
            assert_eq!(places_in("a.bcf", file, &ledger).unwrap(), 2, "{first}");
        }
        let (_dir, path) = put("a.bcf", bcf(&ids(7), &[(8, 9, 1), (6, 9, 1)]));
        let mut features = FeatureReader::open(&path, &ledger).unwrap();
        assert_eq!(
            features.next_place().unwrap(),
            Some(FeaturePlace { contig: b"chr2", start: 9, end: 10 })
        );
        assert!(features.next_place().unwrap_err().what.contains("no contig number 6"));
    }

    #[test]
    fn a_long_record_of_bcf_is_passed_over_and_not_kept() {
        let (long, ledger) = (1u32 << 22, Ledger::with_capacity(300 << 10));
        let header = "##fileformat=VCFv4.2\n##contig=<ID=chr1>\n";
        let (mut file, last) = (bcf(header, &[(0, 9, 1)]), bcf(header, &[(0, 9, 1)]));
        let at = file.len() - 40;
        file[at..at + 4].copy_from_slice(&(27 + long).to_le_bytes());
        file.resize(file.len() + long as usize, 0);
        file.extend(&last[at..]);
        assert_eq!(places_in("a.bcf", &file, &ledger).unwrap(), 2);
        let error = places_in("a.bcf", &file[..file.len() - 50], &ledger).unwrap_err();
        assert!(error.to_string().contains("record 1: the file ends inside a record"), "{error}");
    }

    #[test]
    fn a_header_of_bcf_that_is_not_there_takes_no_memory() {
        let mut file = bcf("##fileformat=VCFv4.2\n", &[]);
        file[5..9].copy_from_slice(&(200u32 << 20).to_le_bytes());
        let error = places_in("a.bcf", file, &Ledger::with_capacity(1 << 20)).unwrap_err();
        assert!(error.to_string().contains("ends inside its header"), "{error}");
    }

    #[test]
    fn a_line_that_does_not_fit_is_refused_with_what_it_needs() {
        let long = [&b"chr1\t5\t6\t"[..], &vec![b'x'; 20 << 20], b"\nchr1\t7\t8\n"].concat();
        for name in ["a.bed", "a.interval_list", "a.vcf"] {
            let head: &[u8] = match name {
                "a.bed" => b"chr1\t1\t2\n",
                "a.vcf" => VCF.as_bytes(),
                _ => b"@HD\tVN:1.6\n@SQ\tSN:chr1\tLN:1000\n",
            };
            let file = [head, &long].concat();
            let ledger = Ledger::with_capacity(10 << 20);
            let error = places_in(name, &file, &ledger).unwrap_err();
            let line = head.iter().filter(|&&byte| byte == b'\n').count() + 1;
            assert!(error.what.starts_with(&format!("line {line}: a line of text: needs ")), "{error}");
            assert!(error.to_string().ends_with("raise -m to 21M or more"), "{error}");
            assert!(ledger.peak() <= ledger.capacity() && ledger.used() == 0);
        }
        let bed = [&b"chr1\t1\t2\n"[..], &long].concat();
        assert_eq!(places_in("a.bed", bed, &Ledger::with_capacity(21 << 20)).unwrap(), 3);
    }

    #[test]
    fn contigs_of_a_header_are_charged() {
        let contig = |i: usize| format!("##contig=<ID=c{i},length=9>\n");
        let contigs: String = (0..100_000).map(contig).collect();
        let columns = "#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\n";
        let vcf = format!("##fileformat=VCFv4.2\n{contigs}{columns}");
        let error = places_in("a.vcf", &vcf, &Ledger::with_capacity(1 << 20)).unwrap_err();
        assert!(error.to_string().contains("contigs of known sites: needs"), "{error}");
        assert_eq!(places_in("a.vcf", &vcf, &Ledger::with_capacity(6 << 20)).unwrap(), 0);
        let list: String = (0..100_000).map(|i| format!("@SQ\tSN:c{i}\tLN:9\n")).collect();
        assert!(places_in("a.interval_list", &list, &Ledger::with_capacity(1 << 20)).is_err());
        assert_eq!(places_in("a.interval_list", &list, &Ledger::with_capacity(6 << 20)).unwrap(), 0);
    }
}
