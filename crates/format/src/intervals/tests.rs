use super::*;

fn header() -> Header {
    let contigs =
        [("chr1", 1000), ("chr2", 500), ("HLA:01", 100), ("HLA:01:5", 50), ("HLA", 70), ("x:y", 9)];
    let lines = contigs.map(|(name, length)| format!("@SQ\tSN:{name}\tLN:{length}\n"));
    Header::parse(lines.concat().as_bytes()).unwrap()
}

fn strings(list: &[&str]) -> Vec<String> {
    list.iter().map(|text| text.to_string()).collect()
}

/// The intervals as text, 0-based and half-open.
fn shown(intervals: &Intervals) -> String {
    let header = header();
    let name = |number: u32| String::from_utf8_lossy(&header.references()[number as usize].name);
    let shown = |&(contig, start, end): &_| format!("{} {start} {end}", name(contig));
    intervals.0.intervals().iter().map(shown).collect::<Vec<_>>().join(", ")
}

fn of(include: &[&str], exclude: &[&str], padding: u32) -> Result<String> {
    let (include, exclude) = (strings(include), strings(exclude));
    let chosen = Chosen { include: &include, exclude: &exclude, padding, exclusion_padding: padding };
    Intervals::of(&chosen, &header(), &Ledger::unlimited()).map(|intervals| shown(&intervals))
}

fn refused(argument: &str, why: &str) {
    let error = of(&[argument], &[], 0).unwrap_err().to_string();
    assert!(error.contains(why), "{argument}: {error:?} does not say {why:?}");
}

#[test]
fn regions_are_read_as_gatk_reads_them() {
    for (text, expected) in [
        ("chr1", "chr1 0 1000"),
        ("chr1:100", "chr1 99 100"),
        (" chr1:1,00-2,00", "chr1 99 200"),
        ("chr1:100+", "chr1 99 1000"),
        ("chr1:1000", "chr1 999 1000"),
        ("chr1:+5", "chr1 4 5"),
        ("HLA:01", "HLA:01 0 100"),
        ("HLA:01:7-9", "HLA:01 6 9"),
        ("x:y", "x:y 0 9"),
        ("x:y:3", "x:y 2 3"),
        ("HLA:01:5:2", "HLA:01:5 1 2"),
        ("HLA:02", "HLA 1 2"),
    ] {
        let found = of(&[text], &[], 0);
        if text == "HLA:01" {
            assert!(
                found.unwrap_err().to_string().contains("can be contig HLA:01 and a part of contig HLA")
            );
        } else {
            assert_eq!(found.unwrap(), expected, "{text}");
        }
    }
}

#[test]
fn bad_regions_are_refused() {
    refused("chr9", "neither a region of a contig of the reads nor a file");
    refused("chr9:5-7", "neither a region");
    refused("chr1:1001", "base 1001 lies beyond the end of contig chr1, which has 1000");
    refused("chr1:5-1001", "beyond the end");
    refused("chr1:1001+", "before it starts");
    refused("chr1:9-5", "ends (5) before it starts (9)");
    refused("chr1:0-5", "the first base is 1");
    refused("chr1:x", "not a position");
    refused("chr1:-5", "not a position");
    refused("chr1:5-", "not a position");
    refused("chr1;chr2", "semicolons");
    refused("unmapped", "no base");
    refused("nothing.bed", "nor a file");
}

#[test]
fn sets_are_united_padded_and_subtracted() {
    assert_eq!(
        of(&["chr2:5-9", "chr1:5-9", "chr1:10-12", "chr1:7-8", "chr1:20"], &[], 0).unwrap(),
        "chr1 4 12, chr1 19 20, chr2 4 9"
    );
    assert_eq!(of(&["chr1:5-9", "chr1:30", "chr1:995"], &[], 10).unwrap(), "chr1 0 40, chr1 984 1000");
    assert_eq!(
        of(&["chr1:5-9", "chr2", "unmapped"], &["chr1:7", "chr2:100+"], 0).unwrap(),
        "chr1 4 6, chr1 7 9, chr2 0 99"
    );
    assert_eq!(
        of(&["chr1:10-20", "chr1:30-40"], &["chr1:15-35", "chr1:38"], 0).unwrap(),
        "chr1 9 14, chr1 35 37, chr1 38 40"
    );
    assert!(
        of(&[], &["chr1", "HLA:01:7+"], 0).unwrap().starts_with("chr2 0 500, HLA:01 0 6, HLA:01:5 0 50")
    );
    let error = of(&["chr1:5-9"], &["chr1:1-20"], 0).unwrap_err().to_string();
    assert!(error.contains("nothing is left"), "{error}");
    assert!(of(&["chr1"], &["unmapped"], 0).is_err());
}

#[test]
fn files_are_told_by_their_names_and_content() {
    let dir = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| {
        let path = dir.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.to_string_lossy().into_owned()
    };
    let of = |path: String| of(&[&path], &[], 0);
    assert_eq!(of(file("a.bed", "chr1\t5\t9\nchr2\t0\t1\n")).unwrap(), "chr1 5 9, chr2 0 1");
    let picard = "@SQ\tSN:chr1\tLN:999\nchr1\t5\t9\t+\tx\n";
    assert_eq!(of(file("a.interval_list", picard)).unwrap(), "chr1 4 9");
    assert_eq!(of(file("a.list", picard)).unwrap(), "chr1 4 9");
    assert_eq!(
        of(file("b.intervals", "chr1:5-9\n\n chr2 \nunmapped\n")).unwrap(),
        "chr1 4 9, chr2 0 500"
    );
    let vcf = "##fileformat=VCFv4.2\n#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\nchr1\t5\t.\tAC\tA\t.\t.\t.\n";
    assert_eq!(of(file("a.vcf", vcf)).unwrap(), "chr1 4 6");
    for (name, text, why) in [
        ("c.list", "chr1\nchr1:0\n", "line 2: \"chr1:0\": the first base is 1"),
        ("c.list", "chr9\n", "line 1: \"chr9\" is no region"),
        ("c.list", "\n", "no intervals"),
        ("c.bed", "chr1\t5\t6\nchr9\t5\t6\n", "line 2: contig chr9 is not in the header"),
        ("c.bed", "chr1\t5\t5\n", "line 1: an interval has no base"),
        ("c.bed", "chr1\t5\t1001\n", "line 1: base 1001 lies beyond"),
        ("c.bed", "", "no base"),
    ] {
        let error = of(file(name, text)).unwrap_err().to_string();
        assert!(error.contains(why), "{error:?} does not say {why:?}");
    }
}

#[test]
fn overlaps_are_those_of_shared_bases() {
    let intervals = Intervals::parse(
        &strings(&["chr1:11-20", "chr1:31-40", "chr2:5"]),
        &header(),
        &Ledger::unlimited(),
    )
    .unwrap();
    assert_eq!(intervals.bases(), 21);
    for (contig, start, end, expected) in [
        (0, 0, 10, false),
        (0, 0, 11, true),
        (0, 19, 20, true),
        (0, 20, 30, false),
        (0, 20, 31, true),
        (0, 15, 15, false),
        (0, 0, 1000, true),
        (0, 40, 50, false),
        (1, 4, 5, true),
        (2, 0, 100, false),
        (77, 0, 100, false),
    ] {
        assert_eq!(intervals.overlaps(contig, start, end), expected, "{contig}:{start}-{end}");
    }
}

#[test]
fn intervals_are_charged_as_long_as_they_are_there() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.bed");
    std::fs::write(&path, (0..50_000).map(|_| "chr1\t5\t6\n").collect::<String>()).unwrap();
    let include = [path.display().to_string()];
    let parse = |ledger: &Ledger| Intervals::parse(&include, &header(), ledger);
    let ledger = Ledger::of(4 << 20);
    let intervals = parse(&ledger).unwrap();
    assert!(ledger.peak() > 600_000 && (1..200).contains(&ledger.used()), "{ledger:?}");
    drop(intervals);
    assert_eq!(ledger.used(), 0);
    let error = parse(&Ledger::of(800_000)).unwrap_err();
    assert!(error.to_string().contains("regions: needs"), "{error}");
}
