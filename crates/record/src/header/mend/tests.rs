use super::super::Header;
use crate::ledger::Ledger;

fn read(text: &str) -> Header {
    Header::parse_and_mend(text.as_bytes(), &Ledger::unlimited()).unwrap()
}

fn notes(header: &Header) -> Vec<String> {
    header.notes().texts().map(|note| note.into_owned()).collect()
}

/// A line, the line that it becomes, and a part of the note. A contig and a read group are before it.
const MENDED: [(&str, &str, &str); 28] = [
    ("@PG ID:x PN:x", "@PG\tID:x\tPN:x", "tabs are between its fields"),
    ("@PG ID:b PN:b CL:b mem  -t 4 r.fa", "@PG\tID:b\tPN:b\tCL:b mem -t 4 r.fa", "tabs are between"),
    ("@SQ SN:d LN:5", "@SQ\tSN:d\tLN:5", "tabs are between"),
    ("@SQ\tSN:d LN:5", "@SQ\tSN:d\tLN:5", "tabs are between"),
    ("@CO hello world", "@CO\thello world", "a tab follows @CO"),
    ("@COhello", "@CO\thello", "a tab follows @CO"),
    ("@RG\tID:a\tSM:s\t", "@RG\tID:a\tSM:s", "a tab without a field"),
    ("@RG\tID:a\t\tSM:s", "@RG\tID:a\tSM:s", "a tab without a field"),
    ("@RG\tID:a\t SM:s", "@RG\tID:a\tSM:s", "a blank before a field"),
    ("@SQ\tSN:d\tLN:5\t", "@SQ\tSN:d\tLN:5", "a tab without a field"),
    ("@SQ\tSN:d\tLN: 5", "@SQ\tSN:d\tLN:5", "a blank beside its length"),
    ("@SQ\tsn:d\tln:5", "@SQ\tSN:d\tLN:5", "SN has capitals"),
    ("@RG\tid:a\tSM:s", "@RG\tID:a\tSM:s", "ID has capitals"),
    ("@RG\tID:a\tSM:s\tDS:", "@RG\tID:a\tSM:s", "DS has no value"),
    ("@RG\tID:a\tSM:s\tSM:s", "@RG\tID:a\tSM:s", "SM is there twice"),
    ("@RG\tID:a\tSM:s\tSM:t", "@RG\tID:a\tSM:s", "\"SM:s\" stays"),
    ("@PG\tPN:x", "@PG\tID:x\tPN:x", "ID was missing"),
    (
        "@PG\tID:b\tCL:b mem -R @RG\tID:x\tSM:s r.fa\tVN:1",
        "@PG\tID:b\tCL:b mem -R @RG ID:x SM:s r.fa\tVN:1",
        "blanks are in its command line",
    ),
    ("@PG\tID:b\tCL:b\tmem", "@PG\tID:b\tCL:b mem", "blanks are in its command line"),
    ("@xx", "@CO\t@xx", "@xx is no kind of header line"),
    ("@XX\tAB:c", "@CO\t@XX\tAB:c", "it is a comment (@CO) now"),
    ("@rg\tID:a\tSM:s", "@RG\tID:a\tSM:s", "letters after @ are capitals"),
    ("@co\thello", "@CO\thello", "letters after @ are capitals"),
    ("@RG\tID:g\tSM:s", "", "the read group g is there twice, and this line is removed"),
    ("@RG\tID:g\tSM:t", "@CO\t@RG\tID:g\tSM:t", "the read group g has a line already: line 3"),
    ("@CO\ta\0b", "@CO\ta", "a NUL byte"),
    ("\n@CO\ta", "@CO\ta", "an empty line is removed"),
    ("@SQ\tSN:d,e\tLN:5", "@SQ\tSN:d,e\tLN:5", "Picard and GATK refuse the name"),
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
    assert!(notes[5].contains("95 other header lines"), "{notes:?}");
}
