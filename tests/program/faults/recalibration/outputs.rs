//! Tables that cannot be written, or have the name of something else.

use super::{AGAINST, folders, refused, run};
use crate::faults::program::TestFolders;

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
        refused(&folders, &format!("{way} in"), 1, &["in is a directory", "name of a file"]);
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
            &["two outputs have one name", "name of its own"],
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
        refused(&folders, &way, 1, &["in/y.partial", "unfinished output"]);
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
