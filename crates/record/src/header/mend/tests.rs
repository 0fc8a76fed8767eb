use super::super::Header;
use crate::ledger::Ledger;

fn read(text: &str) -> Header {
    Header::parse_and_mend(text.as_bytes(), &Ledger::unlimited()).unwrap()
}

fn notes(header: &Header) -> Vec<String> {
    header.notes().texts().map(|note| note.into_owned()).collect()
}

/// A line, the mended line, and part of the note. Each line follows a contig and a read group.
const MENDED: [(&str, &str, &str); 28] = [
    ("@PG ID:x PN:x", "@PG\tID:x\tPN:x", "replaced blanks between fields"),
    ("@PG ID:b PN:b CL:b mem  -t 4 r.fa", "@PG\tID:b\tPN:b\tCL:b mem -t 4 r.fa", "replaced blanks"),
    ("@SQ SN:d LN:5", "@SQ\tSN:d\tLN:5", "replaced blanks"),
    ("@SQ\tSN:d LN:5", "@SQ\tSN:d\tLN:5", "replaced blanks"),
    ("@CO hello world", "@CO\thello world", "replaced the blank after @CO"),
    ("@COhello", "@CO\thello", "added a tab after @CO"),
    ("@RG\tID:a\tSM:s\t", "@RG\tID:a\tSM:s", "a tab without a field"),
    ("@RG\tID:a\t\tSM:s", "@RG\tID:a\tSM:s", "a tab without a field"),
    ("@RG\tID:a\t SM:s", "@RG\tID:a\tSM:s", "a blank before a field"),
    ("@SQ\tSN:d\tLN:5\t", "@SQ\tSN:d\tLN:5", "a tab without a field"),
    ("@SQ\tSN:d\tLN: 5", "@SQ\tSN:d\tLN:5", "a blank next to the length"),
    ("@SQ\tsn:d\tln:5", "@SQ\tSN:d\tLN:5", "changed SN to upper case"),
    ("@RG\tid:a\tSM:s", "@RG\tID:a\tSM:s", "changed ID to upper case"),
    ("@RG\tID:a\tSM:s\tDS:", "@RG\tID:a\tSM:s", "removed DS"),
    ("@RG\tID:a\tSM:s\tSM:s", "@RG\tID:a\tSM:s", "SM occurs twice"),
    ("@RG\tID:a\tSM:s\tSM:t", "@RG\tID:a\tSM:s", "kept \"SM:s\""),
    ("@PG\tPN:x", "@PG\tID:x\tPN:x", "ID was missing"),
    (
        "@PG\tID:b\tCL:b mem -R @RG\tID:x\tSM:s r.fa\tVN:1",
        "@PG\tID:b\tCL:b mem -R @RG ID:x SM:s r.fa\tVN:1",
        "replaced tabs in the command line",
    ),
    ("@PG\tID:b\tCL:b\tmem", "@PG\tID:b\tCL:b mem", "replaced tabs in the command line"),
    ("@xx", "@CO\t@xx", "@xx is not a known header line type"),
    ("@XX\tAB:c", "@CO\t@XX\tAB:c", "changed the line to a comment (@CO)"),
    ("@rg\tID:a\tSM:s", "@RG\tID:a\tSM:s", "changed the letters after @"),
    ("@co\thello", "@CO\thello", "changed the letters after @"),
    ("@RG\tID:g\tSM:s", "", "it repeats the line of read group g"),
    ("@RG\tID:g\tSM:t", "@CO\t@RG\tID:g\tSM:t", "the read group g is already defined in line 3"),
    ("@CO\ta\0b", "@CO\ta", "a NUL byte"),
    ("\n@CO\ta", "@CO\ta", "removed an empty line"),
    ("@SQ\tSN:d,e\tLN:5", "@SQ\tSN:d,e\tLN:5", "which Picard and GATK reject"),
];

#[test]
fn lines_that_other_programs_refuse_are_mended_with_a_note_that_names_them() {
    let before = "@HD\tVN:1.6\n@SQ\tSN:c\tLN:9\n@RG\tID:g\tSM:s\n";
    for (line, mended, note) in MENDED {
        let header = read(&format!("{before}{line}\n"));
        let end = if mended.is_empty() { String::new() } else { format!("{mended}\n") };
        let text = String::from_utf8(header.to_text()).unwrap();
        assert_eq!(text, format!("{before}{end}"), "{line}");
        let notes = notes(&header);
        assert!(notes[0].starts_with("header line 4: ") && notes[0].contains(note), "{line}: {notes:?}");
        let again = read(&text);
        assert_eq!(again, header, "{line}");
    }
}

#[test]
fn the_first_line_is_mended() {
    for (line, mended) in [
        ("@HD VN1.0 SO:unsorted", "@HD\tVN:1.0\tSO:unsorted"),
        ("@HD\tVN1.0\tSO:unsorted", "@HD\tVN:1.0\tSO:unsorted"),
        ("@HD VN:1.6 SO:coordinate", "@HD\tVN:1.6\tSO:coordinate"),
        ("@HD\tVN:1.6 SO:coordinate", "@HD\tVN:1.6\tSO:coordinate"),
        ("@HD", "@HD\tVN:1.6"),
        ("@HD\tSO:unsorted", "@HD\tVN:1.6\tSO:unsorted"),
        ("@HD\tvn:1.5\tSO:unsorted", "@HD\tVN:1.5\tSO:unsorted"),
        ("@HD\tvn:1.5 x\tSO:unsorted", "@HD\tVN:1.5\tSO:unsorted"),
        ("@HD\tSO:unsorted\tvn: ", "@HD\tSO:unsorted\tVN:1.6"),
        ("@HD\tVN:1.6\tSO:sorted", "@HD\tVN:1.6\tSO:unknown"),
        ("@HD\tVN:1.6\tSO:coordinate ", "@HD\tVN:1.6\tSO:coordinate"),
        ("@HD\tVN:1.6\tSO:", "@HD\tVN:1.6"),
        ("@HD\tVN:1.6\tGO:foo", "@HD\tVN:1.6"),
        ("@SQ\tSN:c\tLN:9\n@HD\tVN:1.6", "@HD\tVN:1.6\n@SQ\tSN:c\tLN:9"),
    ] {
        let header = read(&format!("{line}\n"));
        assert_eq!(String::from_utf8(header.to_text()).unwrap(), format!("{mended}\n"), "{line}");
        assert!(!notes(&header).is_empty(), "{line}");
    }
}

#[test]
fn lines_without_a_plain_meaning_are_refused_by_their_number() {
    for line in [
        "@RG\tSM:s",
        "@RG\tID:\tSM:s",
        "@RG\tID:a\tID:b",
        "@RG\tID:a\tsample",
        "@RG\tID:a\tS:x",
        "@RG\tID:a\tSMP:x",
        "@PG\tVN:1",
        "@SQ\tSN:d",
        "@SQ\tLN:5",
        "@SQ\tSN:d\tLN:0",
        "@SQ\tSN:d\tLN:-1",
        "@SQ\tSN:d\tLN:2147483648",
        "@SQ\tSN:d\tLN:5.0",
        "@SQ\tSN:*\tLN:5",
        "@SQSN:d",
        "@",
        "@r1\t0\tchr1",
        "@xx hello",
        "@xx\thello",
        "@COr1\t0\tchr1",
        "hello",
    ] {
        let text = format!("@HD\tVN:1.6\n{line}\n");
        let error =
            Header::parse_and_mend(text.as_bytes(), &Ledger::unlimited()).unwrap_err().to_string();
        assert!(error.contains("header line 2: "), "{line}: {error}");
    }
}

#[test]
fn programs_of_one_id_get_their_own() {
    let header =
        read("@PG\tID:a\tVN:1\n@PG\tID:a\tVN:2\n@PG\tID:a.1\n@PG\tID:a\tVN:1\n@PG\tID:a\tVN:3\n");
    let expected = "@PG\tID:a\tVN:1\n@PG\tID:a.2\tVN:2\n@PG\tID:a.1\n@PG\tID:a.3\tVN:3\n";
    assert_eq!(String::from_utf8(header.to_text()).unwrap(), expected);
    assert_eq!(notes(&header).len(), 3);
}

#[test]
fn a_plain_header_is_not_changed() {
    let text = "@HD\tVN:1.6\tSO:coordinate\tGO:none\tSS:coordinate:x\n@SQ\tSN:HLA*01:01\tLN:9\tM5:x\txx:y\n\
        @RG\tID:a\tSM:s\tDS:a b: c\n@RG\tID:b\n@PG\tID:p\tPP:gone\tCL:x -R @RG\\tID:x\n@CO\n@HD\tVN:1.5\n";
    let header = Header::parse_and_mend(text.as_bytes(), &Ledger::unlimited()).unwrap();
    assert_eq!(String::from_utf8(header.to_text()).unwrap(), text.replace("@CO\n", "@CO\t\n"));
    assert!(notes(&header).is_empty(), "{:?}", notes(&header));
    assert_eq!(
        Header::parse_and_mend(&[text.as_bytes(), b"\0\0\0"].concat(), &Ledger::unlimited()).unwrap(),
        header
    );
}

#[test]
fn few_notes_are_kept_of_many_lines() {
    let lines: String = (0..100).map(|n| format!("@SQ\tSN:c{n}\tLN:9\t\n")).collect();
    let notes = notes(&read(&lines));
    assert_eq!(notes.len(), 6);
    assert!(notes[5].contains("not shown: 95"), "{notes:?}");
}
