//! Formats, headers, counts and filters.

use super::{LENGTHS, names, sample, view};
use crate::support::{TestDir, arg, bam, column, readmill, records, split_header};

const HEADER: &str =
    "@HD\tVN:1.6\tSO:coordinate\n@SQ\tSN:c\tLN:1000\n@RG\tID:a\tLB:l\n@RG\tID:b\tLB:m\n";

fn text() -> String {
    let lines = [
        "r1\t99\tc\t10\t60\t4M\t=\t50\t44\tACGT\tIIII\tRG:Z:a\tXI:i:5\tNM:i:0",
        "r2\t0\tc\t20\t10\t2S2M\t*\t0\t0\tACGT\tIIII\tRG:Z:b\tXI:i:6",
        "r3\t1024\tc\t30\t60\t2M\t*\t0\t0\tAC\tII",
        "r1\t147\tc\t50\t60\t4M\t=\t10\t-44\tACGT\tIIII\tRG:Z:a",
        "r4\t4\t*\t0\t0\t*\t*\t0\t0\tACGT\tIIII\tXI:i:5",
    ];
    lines.iter().fold(HEADER.to_string(), |text, line| text + line + "\n")
}

#[test]
fn text_has_no_header_unless_asked_for() {
    let dir = TestDir::new();
    let text = text();
    let input = arg(&dir.file("in.bam", bam(&text)));
    let (header, body) = split_header(&text);
    assert_eq!(view(&[&input]), body);
    assert_eq!(view(&["-h", "--no-PG", &input]), text);
    assert_eq!(view(&["-H", "--no-PG", &input]), header);
    assert!(view(&["-H", &input]).contains("@PG\tID:readmill"));
    assert_eq!(view(&["-c", &input]), "5\n");
    assert_eq!(view(&["--no-header", &input]), body);
    let out = arg(&dir.path("count.txt"));
    assert_eq!(view(&["-c", "-o", &out, "-F", "4", &input]), "");
    assert_eq!(std::fs::read_to_string(&out).expect("a count"), "4\n");
}

#[test]
fn counts_of_cram_are_those_of_bam_whatever_the_filters_look_at() {
    let dir = TestDir::new();
    let input = arg(&dir.file("in.bam", bam(&text())));
    let cram = arg(&dir.path("in.cram"));
    view(&["-O", "cram,no-ref", "-o", &cram, &input]);
    for (filter, count) in [
        (&[][..], "5\n"),
        (&["-F", "UNMAP"], "4\n"),
        (&["-f", "0x20"], "1\n"),
        (&["-q", "60"], "3\n"),
        (&["-m", "4"], "3\n"),
        (&["-r", "a"], "4\n"),
        (&["-e", "[XI] == 5"], "2\n"),
        (&["-e", "qname == \"r1\""], "2\n"),
        (&["-e", "length(seq) == 2"], "1\n"),
    ] {
        for file in [&input, &cram] {
            assert_eq!(view(&[&["-c", file], filter].concat()), count, "{file} {filter:?}");
        }
    }
}

#[test]
fn counts_have_no_index() {
    let dir = TestDir::new();
    let input = arg(&dir.file("in.bam", bam(&text())));
    for flags in [&["--write-index"][..], &["--out-parts", "2"]] {
        let run = readmill([&["view", "-c", &input], flags].concat());
        assert!(run.code != Some(0) && run.stderr.contains(flags[0]), "{}", run.stderr);
        assert_eq!(run.stdout, b"");
    }
}

#[test]
fn formats_are_by_letter_or_by_name_and_back_again() {
    let dir = TestDir::new();
    let text = text();
    let input = arg(&dir.file("in.sam", &text));
    for (flags, name, start) in [
        (&["-b"][..], "a", &b"\x1f\x8b"[..]),
        (&["-1"], "b", b"\x1f\x8b"),
        (&["-u"], "c", b"\x1f\x8b"),
        (&["-O", "BAM"], "d", b"\x1f\x8b"),
        (&["-O", "cram,no-ref"], "e", b"CRAM"),
        (&[], "f.bam", b"\x1f\x8b"),
        (&[], "g.sam.gz", b"\x1f\x8b"),
        (&["-h"], "h.txt", b"@HD"),
        (&[], "i.sam", b"r1\t"),
    ] {
        let out = arg(&dir.path(name));
        assert_eq!(view(&[flags, &["--no-PG", "-o", &out, &input]].concat()), "", "{name}");
        assert!(std::fs::read(&out).expect("an output").starts_with(start), "{name}");
        if !["g.sam.gz", "i.sam"].contains(&name) {
            let back = view(&["-h", "--no-PG", &out]);
            let columns = |text: &str| {
                let lines =
                    records(text).into_iter().map(|line| column(line, 0).to_string() + column(line, 9));
                lines.collect::<Vec<_>>()
            };
            assert_eq!(columns(&back), columns(&text), "{name}");
        }
    }
    let names = dir.names();
    assert!(!names.iter().any(|name| name.contains(".bai") || name.contains(".csi")), "{names:?}");
    let out = arg(&dir.path("j.bam"));
    view(&["-o", &out, "--write-index", &input]);
    assert!(dir.path("j.bam.bai").exists());
}

#[test]
fn filters_have_the_letters_of_samtools() {
    let dir = TestDir::new();
    let input = arg(&dir.file("in.bam", bam(&text())));
    let list = arg(&dir.file("names", "r1 r4\nx\n"));
    let without = format!("^{list}");
    let values = format!("XI:{}", arg(&dir.file("values", "6\n7\n")));
    for (words, left) in [
        (&["-q", "20"][..], "r1 r3 r1"),
        (&["-f", "1"], "r1 r1"),
        (&["-F", "DUP,UNMAP"], "r1 r2 r1"),
        (&["-G", "3"], "r2 r3 r4"),
        (&["--rf", "0x404"], "r3 r4"),
        (&["-r", "a"], "r1 r3 r1 r4"),
        (&["-r", "a", "-n"], "r1 r1"),
        (&["--read-group", "b", "-n"], "r2"),
        (&["-l", "m"], "r2"),
        (&["-m", "3"], "r1 r2 r1"),
        (&["-N", &list], "r1 r1 r4"),
        (&["-N", &without], "r2 r3"),
        (&["-d", "XI"], "r1 r2 r4"),
        (&["-d", "XI:5"], "r1 r4"),
        (&["-D", &values], "r2"),
        (&["-e", "pos > 25"], "r3 r1"),
        (&["-q", "20", "-F", "1024"], "r1 r1"),
    ] {
        let given = [words, &[input.as_str()]].concat();
        assert_eq!(names(&given).join(" "), left, "{words:?}");
    }
    let fields = |words: &[&str]| {
        let text = view(&[words, &[input.as_str()]].concat());
        text.lines().next().map(|line| line.split('\t').skip(11).collect::<Vec<_>>().join(" "))
    };
    assert_eq!(fields(&["-x", "NM", "-x", "XI"]).as_deref(), Some("RG:Z:a"));
    assert_eq!(fields(&["-x", "^NM,RG"]).as_deref(), Some("RG:Z:a NM:i:0"));
    assert_eq!(fields(&["--keep-tag", "XI"]).as_deref(), Some("XI:i:5"));
    let flags: Vec<String> = view(&["--add-flags", "0x200", "--remove-flags", "1024", &input])
        .lines()
        .map(|line| column(line, 1).to_string())
        .collect();
    assert_eq!(flags, ["611", "512", "512", "659", "516"]);
}

#[test]
fn a_sample_by_seed_and_fraction_is_that_of_its_long_flags() {
    let dir = TestDir::new();
    let input = arg(&dir.file("in.bam", bam(&sample(10, 500, &LENGTHS))));
    let short = view(&["-s", "42.25", &input]);
    assert_eq!(short, view(&["--subsample", "0.25", "--subsample-seed", "42", &input]));
    assert!(!short.is_empty() && short.lines().count() < 250);
    let done = readmill(["view", "-s", "42", &input]);
    assert_eq!(done.code, Some(1));
    assert!(done.stderr.contains("-s 42.1"), "{}", done.stderr);
}
