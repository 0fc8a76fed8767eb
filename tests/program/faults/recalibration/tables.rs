//! Recalibration tables that are damaged, of something else, or do not belong together; that cannot be written, or have the
//! name of something else.

use crate::faults::fixtures::{TestFolders, bgzf, gzip};
use crate::faults::recalibration::{AGAINST, folders, header, is_not_applied, reads, refused, run};

fn table(folders: &TestFolders) -> String {
    std::fs::read_to_string(folders.out("../in/table")).unwrap()
}

#[test]
fn what_is_not_a_table() {
    let folders = folders();
    let text = table(&folders);
    for (bytes, words) in [
        ("".to_string(), "not a GATKReport"),
        ("\n".to_string(), "not a GATKReport"),
        (header() + &reads(), "not a GATKReport"),
        (text.replace("Report.v1.1", "Report.v2.0"), "only v1.1"),
        (text.replace("#:GATKReport.v1.1", "##:GATKReport.v0.1"), "version 0"),
        (text.replace("v1.1:5", "v1.1"), "the number of tables is missing"),
    ] {
        folders.input("table", bytes);
        let words = ["in/table: line 1: ", words, "BaseRecalibrator or readmill bqsr table"];
        is_not_applied(&folders, "", 2, &words);
        refused(&folders, "bqsr gather in/table -o out/table", 2, &words);
        refused(&folders, "bqsr plot-data --before in/table -o out/x.csv", 2, &words);
    }
    folders.input("table", [0x1f, 0x8b, 8, 0, 0xff, 0xfe]);
    is_not_applied(&folders, "", 2, &["in/table: ", "gzip data is damaged or truncated"]);
    std::fs::remove_file(folders.out("../in/table")).unwrap();
    is_not_applied(&folders, "", 3, &["in/table", "No such file"]);
    std::fs::create_dir(folders.out("../in/table")).unwrap();
    is_not_applied(&folders, "", 3, &["in/table", "directory"]);
}

/// GATK's ApplyBQSR takes such a table, too, and writes plain text whatever the name.
#[test]
fn a_table_may_be_compressed() {
    let folders = folders();
    let apply = |table: &str| {
        run(&folders, &format!("bqsr apply in/x.sam --bqsr-table in/{table} --no-PG -o out/x.bam"))
            .succeeds();
        let bytes = std::fs::read(folders.out("x.bam")).unwrap();
        std::fs::remove_file(folders.out("x.bam")).unwrap();
        bytes
    };
    let expected = apply("table");
    let text = table(&folders);
    for (name, bytes) in [("a.table.gz", gzip(text.as_bytes())), ("b.table.gz", bgzf(text.as_bytes()))] {
        folders.input(name, &bytes);
        assert!(apply(name) == expected, "{name}");
        folders.input("table", &bytes[..bytes.len() / 2]);
        is_not_applied(&folders, "", 2, &["in/table: ", "truncated"]);
    }
    run(&folders, &format!("bqsr table in/x.sam {AGAINST} -o out/t.table.gz")).succeeds();
    assert!(std::fs::read(folders.out("t.table.gz")).unwrap().starts_with(b"#:GATKReport"));
}

#[test]
fn a_table_that_is_cut_short() {
    let folders = folders();
    let text = table(&folders);
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let last = lines.iter().rposition(|line| line.trim() != "").unwrap();
    for (kept, inside) in
        [(1, 0), (2, 5), (3, 0), (12, 0), (60, 7), (last - 20, 0), (last, 0), (last, 30)]
    {
        let cut = lines[..kept].concat() + &lines[kept][..inside];
        folders.input("table", cut);
        is_not_applied(&folders, "", 2, &["in/table: line ", "make the report again"]);
    }
    // The lines at its end are blank, and may be missing.
    folders.input("table", lines[..=last].concat());
    run(&folders, "bqsr apply in/x.sam --bqsr-table in/table -o out/x.bam").succeeds();
}

/// In the first line that has all these words, something is replaced, as wide as it was.
#[test]
fn a_row_that_is_damaged() {
    let folders = folders();
    let text = table(&folders);
    type Damage<'a> = (&'a [&'a str], &'a str, &'a str, &'a str);
    let cases: [Damage<'_>; 13] = [
        (&["maximum_cycle_value"], "500", "5x0", "maximum_cycle_value is 5x0"),
        (&["mismatches_context_size"], " 2 ", " 0 ", "context_size"),
        (&["QualityScore", "QuantizedScore"], "Count ", "Counts", "the column Count is missing"),
        (&["u1 ", " M ", "."], "M", "X", "EventType is \"X\""),
        (
            &["ReadGroup", "EstimatedQReported"],
            "Observations",
            "observations",
            "Observations is missing",
        ),
        (&["u1 ", " 20 ", " M "], "20", "94", "QualityScore is 94"),
        (&["u1 ", " 20 ", " M "], "20", "xx", "QualityScore is \"xx\""),
        (&["u1 ", " 20 ", " M "], "u1", "u9", "the read group u9 is not in the table RecalTable0"),
        (&["u1 ", "Cycle"], "Cycle", "Cycl ", "CovariateName is \"Cycl\""),
        (&["u1 ", " 10 ", "Cycle"], "10   ", "501  ", "cycle 501 is beyond maximum_cycle_value 500"),
        (&["u1 ", " AC ", "Context"], " AC", " AN", "the context \"AN\""),
        (&["u1 ", " AC ", "Context"], " 0.00", " -1.0", "-1 errors"),
        (&["u1 ", " AC ", "Context"], " 0.00", "99999", "99999 errors"),
    ];
    for (words, from, to, said) in cases {
        assert_eq!(from.len(), to.len());
        let mut number = 0;
        let lines = text.split('\n').enumerate().map(|(n, line)| {
            let hit = number == 0 && words.iter().all(|word| line.contains(word)) && line.contains(from);
            if !hit {
                return line.to_string();
            }
            number = n + 1;
            line.replacen(from, to, 1)
        });
        let spoilt = lines.collect::<Vec<_>>().join("\n");
        folders.input("table", spoilt);
        let line = match number {
            0 => panic!("no line has {words:?} and {from:?}:\n{text}"),
            _ if said == "context_size" => "in/table: ".to_string(), // it is the value that is impossible
            n => format!("in/table: line {n}: "),
        };
        is_not_applied(&folders, "", 2, &[&line, said]);
    }
}

#[test]
fn a_table_of_which_a_part_is_missing() {
    let folders = folders();
    let text = table(&folders);
    for name in ["Arguments", "Quantized", "RecalTable0", "RecalTable1", "RecalTable2"] {
        folders.input("table", text.replace(&format!(":{name}:"), ":Other:"));
        is_not_applied(&folders, "", 2, &["in/table: ", "the table", name, "missing"]);
    }
    let row = text.lines().position(|line| line.trim_start().starts_with("50 ")).unwrap();
    let without: Vec<&str> = text.lines().enumerate().filter(|it| it.0 != row).map(|it| it.1).collect();
    folders.input("table", without.join("\n"));
    is_not_applied(&folders, "", 2, &["in/table: line ", "make the report again"]);
    let more = text.replace("\n\n#:GATKTable:6:1:", "\nu1\n\n#:GATKTable:6:1:");
    folders.input("table", more);
    is_not_applied(&folders, "", 2, &["in/table: line ", "more rows than its first line states"]);
}

#[test]
fn tables_made_with_other_arguments() {
    let folders = folders();
    for (flag, gathered, shown) in [
        (
            "--mismatches-context-size 4",
            "longest context is 3",
            "mismatches_context_size has two values, 2 and 4",
        ),
        (
            "--maximum-cycle-value 70",
            "maximum_cycle_value is 500",
            "maximum_cycle_value has two values, 500 and 70",
        ),
    ] {
        run(&folders, &format!("bqsr table in/x.sam {AGAINST} {flag} -o in/other")).succeeds();
        // A table says how it is to be applied.
        run(&folders, "bqsr apply in/x.sam --bqsr-table in/other -o out/x.bam").succeeds();
        std::fs::remove_file(folders.out("x.bam")).unwrap();
        let words = ["the reports", gathered, "make all reports with the same options"];
        refused(&folders, "bqsr gather in/table in/other -o out/table", 2, &words);
        let words = ["Before and After", shown];
        refused(&folders, "bqsr plot-data --before in/table --after in/other -o out/x.csv", 2, &words);
    }
    refused(&folders, "bqsr gather in/table in/x.sam -o out/table", 2, &["in/x.sam: line 1: "]);
    refused(&folders, "bqsr gather in/table in/none -o out/table", 3, &["in/none", "No such file"]);
}

/// All files of the input folder, as they are.
fn inputs(folders: &TestFolders) -> Vec<(String, Vec<u8>)> {
    let entries = std::fs::read_dir(folders.out("../in")).unwrap().map(|entry| entry.unwrap());
    let mut files: Vec<_> = entries
        .map(|it| (it.file_name().into_string().unwrap(), std::fs::read(it.path()).unwrap()))
        .collect();
    files.sort();
    files
}

#[test]
fn a_table_that_cannot_be_written_is_told_before_anything_is_read() {
    let folders = folders();
    // Whoever reads this to its end has something else to say.
    let text = std::fs::read_to_string(folders.out("../in/x.sam")).unwrap();
    folders.input("x.sam", text + "cut\t");
    let prep = format!("prep in/x.sam {AGAINST} -o out/x.bam");
    let ways = [
        format!("bqsr table in/x.sam {AGAINST} -o"),
        format!("{prep} --bqsr --bqsr-table"),
        format!("{prep} --bqsr --bqsr-after-table"),
        format!("{prep} --bqsr-table-only --bqsr-table"),
        format!("{prep} --bqsr --mark-duplicates --sort coordinate --bqsr-table"),
    ];
    for way in &ways {
        refused(
            &folders,
            &format!("{way} none/table"),
            3,
            &["none/table cannot be written", "No such file"],
        );
        refused(
            &folders,
            &format!("{way} in/x.sam/t"),
            3,
            &["in/x.sam/t cannot be written", "Not a directory"],
        );
        refused(&folders, &format!("{way} in"), 1, &["in is a directory", "the name of a file"]);
        refused(&folders, &format!("{way} out/table"), 2, &["in/x.sam: record 100 (read cut)"]);
    }
}

#[test]
fn a_full_disk_leaves_neither_table_nor_output() {
    let folders = folders();
    let full = ["writing /dev/full failed", "No space left on device", "free some space"];
    let prep = format!("prep in/x.sam {AGAINST}");
    for way in [
        format!("bqsr table in/x.sam {AGAINST} -o /dev/full"),
        format!("{prep} --bqsr --bqsr-table /dev/full -o out/x.bam"),
        format!("{prep} --bqsr --bqsr-table out/table --bqsr-after-table /dev/full -o out/x.bam"),
        format!("{prep} --bqsr-table-only --bqsr-table /dev/full -o out/x.bam"),
        format!("{prep} --bqsr-table-only --sort coordinate --bqsr-table /dev/full -o out/x.bam"),
        format!("{prep} --bqsr --bqsr-table out/table --bqsr-after-table out/after -o /dev/full"),
        format!("{prep} --bqsr-table-only --bqsr-table out/table -o /dev/full"),
        "bqsr apply in/x.sam --bqsr-table in/table -o /dev/full".to_string(),
        "bqsr gather in/table in/table -o /dev/full".to_string(),
        "bqsr plot-data --before in/table -o /dev/full".to_string(),
    ] {
        refused(&folders, &way, 3, &full);
    }
}

#[test]
fn every_output_has_a_name_of_its_own() {
    let folders = folders();
    let prep = format!("prep in/x.sam {AGAINST} --bqsr");
    for flags in [
        "-o out/x --bqsr-table out/x",
        "-o out/x --bqsr-table ./out/../out/x",
        "-o out/x --bqsr-after-table out/x",
        "-o out/x --bqsr-table out/t --bqsr-after-table out/t",
        "-o out/x --mark-duplicates --metrics out/t --bqsr-table out/t",
        "-o out/x --mark-duplicates --metrics-json out/t --bqsr-after-table out/t",
        "-o - -O sam --bqsr-table -",
    ] {
        refused(
            &folders,
            &format!("{prep} {flags}"),
            1,
            &["two outputs have the same name", "a different name"],
        );
    }
}

#[test]
fn no_output_replaces_what_is_read() {
    let folders = folders();
    folders.input("ref.fa.fai", "chr1\t400\t6\t50\t51\nchr2\t200\t420\t50\t51\n");
    let before = inputs(&folders);
    let prep = format!("prep in/x.sam {AGAINST} --bqsr");
    for read in ["in/ref.fa", "in/ref.fa.fai", "in/known.vcf", "in/../in/known.vcf"] {
        let words = [&read[read.len() - 6..], "is an input", "another name"];
        for way in [
            format!("bqsr table in/x.sam {AGAINST} -o {read}"),
            format!("{prep} -O bam -o {read}"),
            format!("{prep} -o out/x.bam --bqsr-table {read}"),
            format!("{prep} -o out/x.bam --bqsr-after-table {read}"),
        ] {
            refused(&folders, &way, 1, &words);
        }
    }
    for way in [
        format!("bqsr table in/x.sam {AGAINST} -o in/x.sam"),
        format!("{prep} -o out/x.bam --bqsr-table in/x.sam"),
        "bqsr apply in/x.sam --bqsr-table in/table -o in/table".to_string(),
        "prep in/x.sam --bqsr-apply in/table -o in/table".to_string(),
        "bqsr plot-data --before in/table -o in/table".to_string(),
        "bqsr plot-data --before in/table -o in/../in/table".to_string(),
        "bqsr gather in/table in/table -o in/table".to_string(),
    ] {
        refused(&folders, &way, 1, &["is an input", "another name"]);
    }
    assert!(inputs(&folders) == before);
}

#[test]
fn what_is_read_is_not_where_an_unfinished_output_goes() {
    let folders = folders();
    for (name, way) in [
        ("table", "bqsr gather in/y.partial in/table -o in/y".to_string()),
        ("table", "bqsr apply in/x.sam --bqsr-table in/y.partial -o in/y".to_string()),
        (
            "ref.fa",
            "bqsr table in/x.sam --known-sites in/known.vcf --reference in/y.partial -o in/y".into(),
        ),
        (
            "known.vcf",
            "bqsr table in/x.sam --known-sites in/y.partial --reference in/ref.fa -o in/y".into(),
        ),
    ] {
        std::fs::copy(folders.out("../in").join(name), folders.out("../in/y.partial")).unwrap();
        let before = inputs(&folders);
        refused(&folders, &way, 1, &["in/y.partial", "temporary file of the output"]);
        assert!(inputs(&folders) == before, "{way}");
    }
}

#[test]
fn older_tables_survive_a_run_that_fails() {
    let folders = folders();
    let text = std::fs::read_to_string(folders.out("../in/x.sam")).unwrap();
    folders.input("x.sam", text + "cut\t");
    let names = ["after", "table", "x.bam"];
    names.iter().for_each(|name| std::fs::write(folders.out(name), "old").unwrap());
    let prep =
        format!("prep in/x.sam {AGAINST} --bqsr --bqsr-table out/table --bqsr-after-table out/after");
    run(&folders, &format!("{prep} -o out/x.bam")).fails(2, &["record 100 (read cut)"]);
    run(&folders, &format!("bqsr table in/x.sam {AGAINST} -o out/table")).fails(2, &["record 100"]);
    assert_eq!(folders.left(), names);
    names.iter().for_each(|name| assert_eq!(std::fs::read(folders.out(name)).unwrap(), b"old"));
}

#[test]
fn a_table_goes_to_standard_output_where_reads_do_not() {
    let folders = folders();
    let expected = std::fs::read(folders.out("../in/table")).unwrap();
    for way in [
        format!("bqsr table in/x.sam {AGAINST} -o -"),
        format!("prep in/x.sam {AGAINST} --bqsr-table-only --bqsr-table - -o out/x.bam"),
        "bqsr gather in/table -o -".to_string(),
    ] {
        let ended = run(&folders, &way);
        ended.succeeds();
        assert!(ended.stdout == expected, "{way}");
    }
    assert_eq!(folders.left(), ["x.bam"]);
}
