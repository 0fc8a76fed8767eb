//! `-p` where single reads stand among pairs, as `samtools fastq` and `readmill fastq` write them.

use crate::align::*;

/// Records of the sample in one file: both reads of most templates, one of some. `which` says which reads of a template
/// there are; names end in /1 and /2 if they are `numbered`.
fn mixed(which: impl Fn(usize) -> [bool; 2], numbered: bool) -> String {
    let [one, two] = reads().each_ref().map(|text| std::str::from_utf8(text).expect("FASTQ is text"));
    let (one, two): (Vec<&str>, Vec<&str>) = (one.lines().collect(), two.lines().collect());
    let mut text = String::new();
    for template in 0..one.len() / 4 {
        for (segment, lines) in [&one, &two].into_iter().enumerate() {
            let [head, bases, plus, quals] = [0, 1, 2, 3].map(|line| lines[4 * template + line]);
            let name = head.split(['/', ' ']).next().unwrap_or_default();
            let end = if numbered { format!("/{}", segment + 1) } else { String::new() };
            if which(template)[segment] {
                text += &format!("{name}{end}\n{bases}\n{plus}\n{quals}\n");
            }
        }
    }
    text
}

fn some_are_single(template: usize) -> [bool; 2] {
    match template % 5 {
        1 => [true, false],
        3 if template.is_multiple_of(2) => [false, true],
        _ => [true, true],
    }
}

/// The SAM lines that these files give, in cohorts of so many bases.
#[track_caller]
fn lines_of_cohorts(bases: &str, args: &[&str]) -> String {
    let done = readmill([&["align", reference(), "-q", "-K", bases, "-O", "sam"], args].concat());
    assert_eq!(done.code, Some(0), "{args:?}: {}", done.stderr);
    String::from_utf8(done.stdout).expect("SAM is text")
}

/// A read r0 and two pairs were refused: "its mate is called r1".
#[test]
fn a_single_read_before_pairs_is_aligned_alone() {
    let dir = TestDir::new();
    let text = mixed(|template| [true, template > 0], false);
    let text: String = text.lines().take(4 * 5).map(|line| format!("{line}\n")).collect();
    let done = align(&["-p", &arg(&dir.file("x.fq", text)), "-O", "sam"]);
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    let said = "1 reads in interleaved files (-p) are not next to a mate with the same name; they are aligned as single reads";
    assert!(done.stderr.contains(said), "{}", done.stderr);
    let sam = String::from_utf8(done.stdout).expect("SAM is text");
    let flags: Vec<i64> = records(&sam).into_iter().map(|line| number(line, 1)).collect();
    assert_eq!(flags.len(), 5);
    assert_eq!(flags[0] & 1, 0, "{flags:?}");
    assert!(flags[1..].iter().all(|flag| flag & 1 == 1), "{flags:?}");
    assert_eq!([1, 3].map(|at| flags[at] & 0xc0), [0x40, 0x40]);
    assert_eq!([2, 4].map(|at| flags[at] & 0xc0), [0x80, 0x80]);
}

#[test]
fn single_reads_among_pairs_have_the_records_of_runs_of_their_own() {
    let dir = TestDir::new();
    let both = arg(&dir.file("x.fq", mixed(some_are_single, false)));
    let run = |args: &[&str]| lines_of_cohorts("100000000", args);
    let found = run(&["-p", &both]);
    let only = |single: bool| {
        let which = move |template: usize| {
            let which = some_are_single(template);
            let is_single = which != [true, true];
            if is_single == single { which } else { [false, false] }
        };
        arg(&dir.file(if single { "s.fq" } else { "p.fq" }, mixed(which, false)))
    };
    let (singles, pairs) = (run(&["--single", "--as-given", &only(true)]), run(&["-p", &only(false)]));
    // Ties are broken by numbers of reads, so templates with one are left out.
    let tied: HashSet<&str> = records(&found)
        .into_iter()
        .filter(|line| number(line, 4) == 0)
        .map(|line| column(line, 0))
        .collect();
    let is_unique = |line: &&str| !tied.contains(column(line, 0));
    let of = |paired: bool| -> Vec<&str> {
        let is_so = |line: &&str| (number(line, 1) & 1 == 1) == paired && is_unique(line);
        records(&found).into_iter().filter(is_so).collect()
    };
    assert!(of(false) == records(&singles).into_iter().filter(is_unique).collect::<Vec<_>>());
    // (Pairs have other numbers than in a run of their own, by which ties of parts of them are broken.)
    let ends = |lines: Vec<&str>| -> Vec<String> {
        lines.iter().map(|line| format!("{} {}", column(line, 0), number(line, 1) & 0xc1)).collect()
    };
    let primary = |line: &&str| number(line, 1) & 0x900 == 0;
    let found_ends = ends(of(true).into_iter().filter(primary).collect());
    let expected_ends = records(&pairs).into_iter().filter(is_unique).filter(primary).collect();
    assert!(found_ends == ends(expected_ends));
    assert!(of(false).len() > 100 && of(true).len() > 1000);
    let names: Vec<&str> = both_names(&found);
    let text = mixed(some_are_single, false);
    let mut expected: Vec<&str> =
        text.lines().step_by(4).map(|name| name.trim_start_matches('@')).collect();
    expected.dedup();
    assert_eq!(names, expected, "records stand in the order of the file");
}

/// The names of templates, in the order of their records.
fn both_names(text: &str) -> Vec<&str> {
    let mut names: Vec<&str> = records(text).into_iter().map(|line| column(line, 0)).collect();
    names.dedup();
    names
}

#[test]
fn the_bytes_do_not_depend_on_threads_and_names_may_be_numbered() {
    let dir = TestDir::new();
    let [plain, numbered] = [false, true].map(|numbered| {
        arg(&dir.file(if numbered { "n.fq" } else { "p.fq" }, mixed(some_are_single, numbered)))
    });
    let packed = arg(&dir.file("p.fq.gz", gzip(mixed(some_are_single, false).as_bytes())));
    let run = |file: &str, threads: &str| lines_of_cohorts("20000", &["-p", file, "-@", threads]);
    let first = run(&plain, "1");
    for (file, threads) in [(&plain, "4"), (&numbered, "2"), (&packed, "3")] {
        assert!(run(file, threads) == first, "{file} {threads}");
    }
}

#[test]
fn trimming_umis_and_counts_of_fastqc_see_single_reads_among_pairs() {
    let dir = TestDir::new();
    let text = mixed(some_are_single, false);
    let (reads, qc) = (text.lines().count() as u64 / 4, arg(&dir.path("qc")));
    std::fs::create_dir(&qc).expect("a directory");
    let file = arg(&dir.file("x.fq", &text));
    let json = arg(&dir.path("run.json"));
    let done = align(&[
        "-p",
        &file,
        "--trim",
        "--trim-front1",
        "3",
        "--fastqc",
        &qc,
        "--json",
        &json,
        "-O",
        "sam",
    ]);
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    let data = std::fs::read_to_string(format!("{qc}/x_fastqc/fastqc_data.txt")).expect("a report");
    assert!(data.contains(&format!("Total Sequences\t{reads}\n")), "{reads}: {data}");
    let run = std::fs::read_to_string(json).expect("a run");
    let value: serde_json::Value = serde_json::from_str(&run).expect("JSON");
    assert_eq!(value["trimming"]["summary"]["before_filtering"]["total_reads"], reads);
    let found = lines(&["-p", &file, "--read-structures", "4M+T,+T"]);
    let single =
        records(&found).into_iter().find(|line| number(line, 1) & 1 == 0).expect("a single read");
    assert!(single.contains("\tRX:Z:"), "{single}");
}

#[test]
fn import_and_pipes_of_our_own_keep_single_reads() {
    let dir = TestDir::new();
    let file = arg(&dir.file("x.fq", mixed(some_are_single, false)));
    let done = readmill(["import", "-p", &file, "-q", "-O", "sam", "-o", "-"]);
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    let sam = String::from_utf8(done.stdout).expect("SAM is text");
    let count = |flag| records(&sam).into_iter().filter(|line| number(line, 1) == flag).count();
    let single =
        (0..PAIRS as usize).filter(|&template| some_are_single(template) != [true, true]).count();
    assert_eq!(
        [count(4), count(77), count(141)],
        [single, PAIRS as usize - single, PAIRS as usize - single]
    );
}
