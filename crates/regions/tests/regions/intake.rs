//! Records at which GATK fails, and what a decoded read holds.

use readmill_format::sam::LineParser;
use readmill_record::{Header, RecordRef, Result};
use readmill_regions::CallerRead;
use readmill_regions::intake::{ReadIntake, Rejection};

const HEADER: &[u8] = b"@SQ\tSN:c\tLN:100\n@RG\tID:g1\tSM:s\n@RG\tID:g2\n";

/// Reads a line of SAM from its flags on, without the mate.
fn accept(line: &str) -> (Result<Option<CallerRead>>, Vec<u64>) {
    let header = Header::parse(HEADER).unwrap();
    let [flags, start, quality, cigar, bases, qualities, tags] =
        line.split(' ').collect::<Vec<_>>()[..].try_into().unwrap();
    let tags = tags.replace(',', "\t").replace('_', " ");
    let line =
        format!("r\t{flags}\tc\t{start}\t{quality}\t{cigar}\t*\t0\t0\t{bases}\t{qualities}\t{tags}");
    let mut raw = Vec::new();
    LineParser::new(&header).parse(line.as_bytes(), &mut raw).unwrap();
    let mut intake = ReadIntake::new(&header);
    let read = intake.accept_record(RecordRef::new(&raw));
    let reasons =
        [Rejection::LowMappingQuality, Rejection::Duplicate, Rejection::BadCigar, Rejection::Malformed];
    (read, reasons.map(|reason| intake.counts().rejected(reason)).to_vec())
}

#[test]
fn gatk_fails_at_equal_signs_and_at_unknown_read_groups() {
    for (line, what) in [
        ("0 5 60 3M A=C FFF RG:Z:g1", "a base is \"=\", which GATK does not accept"),
        ("1024 5 60 3M AC= FFF RG:Z:g1", "a base is \"=\", which GATK does not accept"),
        (
            "0 5 60 3M ACG FFF RG:Z:g3",
            "the read group is not in the header, or has no sample (SM) there",
        ),
        (
            "0 5 60 3M ACG FFF RG:Z:g2",
            "the read group is not in the header, or has no sample (SM) there",
        ),
    ] {
        assert_eq!(accept(line).0.unwrap_err().what, what, "{line}");
    }
}

#[test]
fn a_character_that_is_not_a_quality_is_named() {
    let error = accept("0 5 60 3M ACG FFF RG:Z:g1,BD:Z:IJ_").0.unwrap_err();
    assert_eq!(error.what, "character 3 of tag BD, \" \", is not a quality");
}

#[test]
fn reads_are_counted_by_the_first_filter_that_they_fail() {
    for (line, counts) in [
        ("0 5 19 3M ACG FFF RG:Z:g3", [1, 0, 0, 0]),
        ("1024 5 60 3S ACG FFF RG:Z:g3", [0, 1, 0, 0]),
        ("0 5 60 1M1D2D2M ACG FFF RG:Z:g3", [0, 0, 1, 0]),
        ("0 101 60 3M ACG FFF RG:Z:g1", [0, 0, 0, 1]),
        ("0 5 60 3M ACG * RG:Z:g1", [0, 0, 0, 1]),
        ("0 5 60 3M ACG FFF RG:i:1", [0, 0, 0, 1]),
    ] {
        let (read, counted) = accept(line);
        assert_eq!((read, counted), (Ok(None), counts.to_vec()), "{line}");
    }
}

#[test]
fn a_read_has_its_indel_qualities_and_no_ambiguous_bases() {
    let (read, _) = accept("16 100 20 1S3M1S ARGNT FG!~F RG:Z:g1,BI:Z:!\"#$%,BD:Z:NNNNN");
    let read = read.unwrap().unwrap();
    assert_eq!((&*read.name, read.start, read.end()), (&b"r"[..], 100, 102));
    assert_eq!((&*read.bases, &*read.qualities), (&b"ANGNT"[..], &[37, 38, 0, 93, 37][..]));
    assert_eq!(read.insertion_qualities, Some(vec![0, 1, 2, 3, 4]));
    assert_eq!(read.deletion_qualities, Some(vec![45; 5]));
    assert_eq!((read.mate_contig, read.mate_start), (None, 0));
}
