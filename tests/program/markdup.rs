//! Duplicate marking beyond Picard's rules, from the command line: only optical duplicates, those of
//! single reads, distances by instrument, more read names, marks of older runs, metrics, deep sets.

use crate::support::{self, ProgramRun, TestDir, arg, column, number, readmill, records};

const HEADER: &str = "@HD\tVN:1.6\tSO:unsorted\tGO:query\n@SQ\tSN:c1\tLN:100000\n@RG\tID:a\tLB:L\n";

/// A pair at 100 and 300, of this base quality, with these optional fields.
fn pair(name: &str, quality: char, fields: &str) -> String {
    let quality = quality.to_string().repeat(4);
    let line = |flag, pos, next| {
        format!("{name}\t{flag}\tc1\t{pos}\t60\t4M\t=\t{next}\t0\tACGT\t{quality}\tRG:Z:a{fields}\n")
    };
    line(99, 100, 300) + &line(147, 300, 100)
}

/// A single read at 100.
fn single(name: &str, quality: char) -> String {
    format!("{name}\t0\tc1\t100\t60\t4M\t*\t0\t0\tACGT\t{}\tRG:Z:a\n", quality.to_string().repeat(4))
}

/// Runs `command` on SAM text in a test directory; `OUT` stands for a name next to the output.
fn run(dir: &TestDir, text: &str, command: &str) -> (ProgramRun, String) {
    let input = dir.file("in.bam", support::bam(text));
    let mut args: Vec<String> =
        command.replace("OUT", &arg(&dir.path("x"))).split_whitespace().map(Into::into).collect();
    args.extend([arg(&input), "-o".into(), arg(&dir.path("out.sam"))]);
    let done = readmill(args);
    assert_eq!(done.code, Some(0), "{command}: {}", done.stderr);
    let output = std::fs::read_to_string(dir.path("out.sam")).expect("the output");
    (done, output)
}

/// Each record of the output as its name, whether it is flagged, and its DT.
fn marks(text: &str, flags: &str) -> Vec<String> {
    let mark = |line: &str| {
        let flagged = if number(line, 1) & 0x400 != 0 { " flagged" } else { "" };
        let kind = line.split('\t').find_map(|field| field.strip_prefix("DT:Z:"));
        format!(
            "{}{flagged}{}",
            column(line, 0),
            kind.map(|kind| format!(" {kind}")).unwrap_or_default()
        )
    };
    let mut both: Vec<Vec<String>> = Vec::new();
    for mode in ["template", "coordinate"] {
        let (_, output) =
            run(&TestDir::new(), text, &format!("markdup {flags} --duplicate-mode {mode}"));
        let mut marks: Vec<String> = records(&output).into_iter().map(mark).collect();
        marks.dedup(); // mates have the same
        both.push(marks);
    }
    assert_eq!(both[0], both[1], "{flags}: the modes differ");
    both.swap_remove(0)
}

/// A name as Illumina's, on one tile.
fn at(x: i32, y: i32) -> String {
    format!("M:1:F:1:1101:{x}:{y}")
}

/// One that stays unmarked, one near it, one far from it.
fn three_pairs() -> String {
    let names = [at(1000, 1000), at(1050, 1000), at(9000, 1000)];
    [HEADER, &pair(&names[0], 'I', ""), &pair(&names[1], '5', ""), &pair(&names[2], '5', "")].concat()
}

#[test]
fn optical_duplicates_alone() {
    let text = three_pairs();
    let [stays, near, far] = [at(1000, 1000), at(1050, 1000), at(9000, 1000)];
    let all = [stays.clone(), format!("{near} flagged SQ"), format!("{far} flagged LB")];
    assert_eq!(marks(&text, "--tag-duplicates all"), all);
    let alone = [stays.clone(), format!("{near} flagged SQ"), far.clone()];
    assert_eq!(marks(&text, "--tag-duplicates all --optical-only"), alone);
    let flags_alone = [stays.clone(), format!("{near} flagged"), far.clone()];
    assert_eq!(marks(&text, "--optical-only"), flags_alone);
    assert_eq!(marks(&text, "--optical-only --remove-duplicates"), [stays.clone(), far.clone()]);
    assert_eq!(
        marks(&text, "--remove-optical-duplicates"),
        [stays.clone(), format!("{far} flagged")],
        "others are flagged and stay"
    );
    assert_eq!(marks(&text, "--remove-optical-duplicates --optical-distance 10").len(), 3);
    assert_eq!(marks(&text, "--remove-optical-duplicates --remove-duplicates"), [stays]);
}

#[test]
fn single_reads_can_be_optical_duplicates() {
    let [stays, near, far] = [at(1000, 1000), at(1050, 1000), at(9000, 1000)];
    let text = [HEADER, &single(&stays, 'I'), &single(&near, '5'), &single(&far, '5')].concat();
    let both = [stays.clone(), format!("{near} flagged LB"), format!("{far} flagged LB")];
    assert_eq!(marks(&text, "--tag-duplicates all"), both, "as Picard has it");
    let both = [stays.clone(), format!("{near} flagged SQ"), format!("{far} flagged LB")];
    assert_eq!(marks(&text, "--tag-duplicates all --optical-single"), both);
    let alone = [stays.clone(), format!("{near} flagged"), far];
    assert_eq!(marks(&text, "--optical-single --optical-only"), alone);
}

#[test]
fn the_instrument_tells_the_distance() {
    for (instrument, distance, is_optical) in [
        ("D00209:258:CACDKANXX:6", "optical duplicates: 100 pixels (HiSeq 2500", false),
        ("A00887:522:HHJLFDRX2:6", "optical duplicates: 2500 pixels (NovaSeq 6000", true),
    ] {
        let name = |x| format!("{instrument}:1101:{x}:5000");
        let (one, other) = (name(1000), name(2500));
        let text = [HEADER, &pair(&one, 'I', ""), &pair(&other, '5', "")].concat();
        let kind = if is_optical { "SQ" } else { "LB" };
        let flags = "--tag-duplicates all --optical-distance auto";
        assert_eq!(marks(&text, flags), [one.clone(), format!("{other} flagged {kind}")]);
        let (done, _) = run(&TestDir::new(), &text, &format!("markdup {flags}"));
        assert!(done.stderr.contains(distance), "{}", done.stderr);
        let (done, _) = run(&TestDir::new(), &text, "markdup --tag-duplicates all");
        assert!(!done.stderr.contains("pixels"), "{}", done.stderr);
    }
}

#[test]
fn names_with_a_umi_behind_them_have_a_place() {
    let names = [
        "A0:1:F:1:1101:40000:5000:ACGT",
        "A0:1:F:1:1101:40050:5000:ACGA",
        "A0:1:F:2:1101:40000:5000:ACGT",
    ];
    let text =
        [HEADER, &pair(names[0], 'I', ""), &pair(names[1], '5', ""), &pair(names[2], '5', "")].concat();
    let picard =
        [names[0].into(), format!("{} flagged LB", names[1]), format!("{} flagged LB", names[2])];
    assert_eq!(marks(&text, "--tag-duplicates all"), picard);
    let full = [names[0].into(), format!("{} flagged SQ", names[1]), format!("{} flagged LB", names[2])];
    assert_eq!(
        marks(&text, "--tag-duplicates all --read-names full"),
        full,
        "another lane is another place"
    );
    let regex = r"--read-names (?:\w+:){4}([0-9]+):([0-9]+):([0-9]+):\w+";
    let both = [names[0].into(), format!("{} flagged SQ", names[1]), format!("{} flagged SQ", names[2])];
    assert_eq!(marks(&text, &format!("--tag-duplicates all {regex}")), both, "lanes are not compared");
    assert_eq!(marks(&text, "--tag-duplicates all --read-names null"), picard);
}

#[test]
fn marks_of_an_older_run_are_taken_away() {
    let old = |text: String| text.replace("\t99\t", "\t1123\t").replace("\t147\t", "\t1171\t");
    let text = [HEADER, &old(pair("a", 'I', "\tDT:Z:LB")), &old(pair("b", '5', "\tDT:Z:SQ"))].concat();
    assert_eq!(marks(&text, ""), ["a", "b flagged"]);
    assert_eq!(marks(&text, "--tag-duplicates all"), ["a", "b flagged LB"]);
    assert_eq!(marks(&text, "--keep-dt"), ["a LB", "b flagged SQ"]);
    assert_eq!(marks(&text, "--remove-duplicates"), ["a"]);
    let unmapped = "u\t1101\t*\t0\t0\t*\t*\t0\t0\tACGT\tIIII\tRG:Z:a\tDT:Z:LB\n\
                    u\t1165\t*\t0\t0\t*\t*\t0\t0\tACGT\tIIII\tRG:Z:a\tDT:Z:LB\n";
    assert_eq!(marks(&[HEADER, unmapped].concat(), ""), ["u"]);
}

/// The table in a file of metrics.
fn table(dir: &TestDir) -> Vec<String> {
    let text = std::fs::read_to_string(dir.path("x.txt")).expect("metrics");
    text.lines().skip_while(|line| !line.starts_with("LIBRARY")).map(str::to_string).collect()
}

#[test]
fn metrics_are_of_the_reads_that_are_left() {
    let unmapped = "u\t77\t*\t0\t0\t*\t*\t0\t0\tACGT\tIIII\tRG:Z:a\nu\t141\t*\t0\t0\t*\t*\t0\t0\tACGT\tIIII\tRG:Z:a\n";
    let half = "h\t73\tc1\t100\t60\t4M\t=\t100\t0\tACGT\tIIII\tRG:Z:a\nh\t133\tc1\t100\t0\t*\t=\t100\t0\tACGT\tIIII\tRG:Z:a\n";
    let text = [&three_pairs(), unmapped, half].concat();
    let dir = TestDir::new();
    run(&dir, &text, "markdup --metrics OUT.txt");
    assert!(table(&dir)[1].starts_with("L\t1\t3\t0\t3\t1\t2\t1\t"), "{:?}", table(&dir));
    for dropping in ["--drop-unmapped", "--drop-unmapped-strict"] {
        run(
            &dir,
            &text,
            &format!("prep --mark-duplicates {dropping} --metrics OUT.txt --metrics-json OUT.json"),
        );
        let given = table(&dir);
        assert!(given[1].starts_with("L\t1\t3\t0\t0\t1\t2\t1\t"), "{given:?}");
        let (_, left) = run(&dir, &text, &format!("prep {dropping}"));
        run(&dir, &left, "markdup --metrics OUT.txt");
        assert_eq!(table(&dir), given, "as of a file from which they were dropped before");
        assert!(dir.names().contains(&"x.json".to_string()));
    }
}

/// Single reads at one place.
fn deep_single(n: usize) -> String {
    let line = |i: usize| format!("r{i}\t16\tc1\t5000\t60\t1M\t*\t0\t0\tA\tI\tRG:Z:a\n");
    [HEADER, &(0..n).map(line).collect::<String>()].concat()
}

/// Pairs at one place, the first end of which is clipped.
fn deep_pairs(n: usize) -> String {
    let pair = |i: usize| {
        [(99, 700, 900), (147, 900, 700)].map(|(flag, pos, next)| {
            format!("p{i}\t{flag}\tc1\t{pos}\t60\t1S1M\t=\t{next}\t0\tAA\tII\tRG:Z:a\n")
        })
    };
    [HEADER, &(0..n).flat_map(pair).collect::<String>()].concat()
}

#[test]
fn a_deep_set_is_told_with_its_place() {
    for (text, flags, said) in [
        (deep_single(99_999), "", None),
        (deep_single(100_000), "", Some("100,000 templates, at c1:5000")),
        (deep_pairs(100_000), "--tag-duplicate-set-members", Some("100,000 templates, at c1:699")),
    ] {
        let dir = TestDir::new();
        let (done, _) = run(&dir, &text, &format!("markdup -q {flags}"));
        match said {
            Some(said) => assert!(done.stderr.contains(said), "{flags}: {}", done.stderr),
            None => assert!(!done.stderr.contains("largest"), "{flags}: {}", done.stderr),
        }
    }
}

#[test]
fn many_molecules_at_one_place_are_no_deep_set() {
    let text = with_umis(&deep_pairs(100_000));
    let (done, _) = run(&TestDir::new(), &text, "markdup --umi name:p --umi-edits 0");
    assert!(done.stderr.contains("0 pairs and 0 single reads are duplicates"), "{}", done.stderr);
    assert!(!done.stderr.contains("largest"), "{}", done.stderr);
}

/// Names that end with a number of their own in the letters of bases.
fn with_umis(text: &str) -> String {
    let (header, lines) = support::split_header(text);
    let umi = |name: &str| -> String {
        let number: usize = name[1..].parse().expect("a number");
        (0..9).map(|digit| char::from(b"ACGT"[number >> (2 * digit) & 3])).collect()
    };
    let line = |line: &str| {
        let (name, rest) = line.split_once('\t').expect("columns");
        format!("p{}\t{rest}\n", umi(name))
    };
    header.to_string() + &lines.lines().map(line).collect::<String>()
}
