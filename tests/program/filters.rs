//! Filters and edits in a run: their order, and those after duplicates.

use readmill::plan::{DuplicateMode, Duplicates, Filters, Steps};
use readmill_filters::spec::FilterStage;
use readmill_sort::Order;

use crate::support::{self, TestDir, arg, readmill};

const HEADER: &str = "@HD\tVN:1.6\n@SQ\tSN:1\tLN:100\n@SQ\tSN:2\tLN:200\n\
                      @RG\tID:x\tLB:l\n@RG\tID:y\tLB:m\n";

fn filters(words: &[&str]) -> Filters {
    Filters::from_words(words).expect("filters")
}

fn run(dir: &TestDir, steps: Steps, given: &[&str]) -> String {
    let text = support::with_header(HEADER, given);
    dir.run(&support::bam(&text), steps, 2).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

#[test]
fn read_groups_that_the_header_lacks_are_named_in_one_warning() {
    let dir = TestDir::new();
    let input = arg(&dir.file("in.sam", "@SQ\tSN:c\tLN:90\n@RG\tID:a\n"));
    let output = arg(&dir.path("out.sam"));
    for (ids, warning) in [
        (vec!["a"], None),
        (vec!["x", "a", "x"], Some("the header has no read group x")),
        (vec!["y", "a", "x"], Some("the header has none of these read groups: y, x")),
        (
            "b c d e f g h b i j k l m".split(' ').collect(),
            Some("the header has none of these read groups: b, c, d, e, f, g, h, i, j, k, ..."),
        ),
    ] {
        let list = arg(&dir.file("ids.txt", ids.join("\n")));
        let done = readmill(["filter", &input, "-o", &output, "--in-read-groups", &list]);
        assert_eq!(done.code, Some(0), "{}", done.stderr);
        let warnings: Vec<&str> =
            done.stderr.lines().filter_map(|line| line.strip_prefix("readmill: warning: ")).collect();
        assert_eq!(warnings, Vec::from_iter(warning));
    }
}

#[test]
fn reads_are_judged_as_they_are_in_the_input_and_then_changed() {
    let dir = TestDir::new();
    let regions = arg(&dir.file("regions.bed", "1\t90\t100\n2\t0\t10\n"));
    let names = arg(&dir.file("names", "1\tchr1\n2\tchr2\n"));
    let dictionary = arg(&dir.file("new.dict", "@SQ\tSN:chr1\tLN:100\n"));
    let filters = Filters::from_words([
        "--remove-optional-fields",
        "NM",
        "--read-group",
        "ID:z",
        "--sequence-dictionary",
        &dictionary,
        "--clean-sam",
        "--rename-contigs",
        &names,
        "--overlap",
        &regions,
        "--exact-mapping",
        "--min-mapq",
        "20",
    ])
    .expect("filters, in another order than they are applied");
    let given = [
        "clipped\t0\t1\t99\t20\t4M\t*\t0\t0\tACGT\tIIII\tSA:Z:2,1,+,4M,0,0;\tNM:i:1",
        "low\t0\t1\t95\t19\t4M\t*\t0\t0\tACGT\tIIII",
        "elsewhere\t0\t1\t50\t60\t4M\t*\t0\t0\tACGT\tIIII",
        "gap\t0\t1\t95\t60\t2M1D2M\t*\t0\t0\tACGT\tIIII",
        "dropped\t0\t2\t5\t60\t4M\t*\t0\t0\tACGT\tIIII",
    ];
    let left = run(&dir, Steps { filters, ..Steps::default() }, &given);
    assert_eq!(
        left,
        "@HD\tVN:1.6\n@SQ\tSN:chr1\tLN:100\n@RG\tID:z\n\
         clipped\t0\tchr1\t99\t20\t2M2S\t*\t0\t0\tACGT\tIIII\tSA:Z:chr2,1,+,4M,0,0;\tRG:Z:z\n"
    );
}

#[test]
fn optional_fields_go_when_duplicates_no_longer_need_them() {
    let end = |name: &str, flags: u16, group: &str| {
        format!("{name}\t{flags}\t1\t5\t60\t4M\t*\t0\t0\tACGT\tIIII\tRG:Z:{group}\tNM:i:0")
    };
    let given = [end("a", 0, "x"), end("b", 0, "y"), end("c", 0, "x")];
    let given: Vec<&str> = given.iter().map(String::as_str).collect();
    let duplicates = Duplicates::with_mode(DuplicateMode::Coordinate);
    for (sort, names) in [(Some(Order::Coordinate), "abc"), (None, "abc")] {
        let filters = filters(&["--keep-optional-fields", "NM"]);
        let steps = Steps { filters, sort, duplicates: Some(duplicates.clone()), ..Steps::default() };
        let left = run(&TestDir::new(), steps, &given);
        let read = |name: char| {
            let flags = if name == 'c' { 0x400 } else { 0 };
            end(&name.to_string(), flags, "x").replace("\tRG:Z:x", "")
        };
        assert_eq!(support::records(&left), names.chars().map(read).collect::<Vec<_>>());
    }
}

#[test]
fn sorted_reads_that_leave_early_are_changed_like_others() {
    let dir = TestDir::new();
    let filters = filters(&["--keep-optional-fields", "none"]);
    let reads: Vec<String> =
        (1..90).map(|i| format!("r\t0\t1\t{i}\t60\t4M\t*\t0\t0\tACGT\tIIII")).collect();
    let given: Vec<String> = reads.iter().map(|read| format!("{read}\tNM:i:0\tRG:Z:x")).collect();
    let given: Vec<&str> = given.iter().map(String::as_str).collect();
    let steps = Steps { filters, sort: Some(Order::Coordinate), ..Steps::default() };
    assert_eq!(support::records(&run(&dir, steps, &given)), reads);
}

#[test]
fn the_program_line_says_what_was_done_in_the_order_in_which_it_was_done() {
    let words =
        "--remove-optional-fields all --min-mapq 3 --exact-mapping-strict --clean-sam --read-group";
    let words = words.split(' ').chain(["ID:z SM:s"]);
    let filters = Filters::from_words(words).expect("filters");
    assert_eq!(
        filters.command_words(FilterStage::BeforeSort).join(" "),
        "--min-mapq 3 --exact-mapping-strict --clean-sam --read-group '@RG\\tID:z\\tSM:s'"
    );
    assert_eq!(filters.command_words(FilterStage::Last).join(" "), "--keep-optional-fields none");
}

#[test]
fn mates_are_fixed_before_a_sort_and_refused_where_they_do_not_stand_together() {
    let read = |name: &str, flags: u16, pos: u32| {
        format!("{name}\t{flags}\t1\t{pos}\t60\t4M\t*\t0\t0\tACGT\tIIII")
    };
    let filters = filters(&["--fix-mates", "picard"]);
    let sorted = Steps { filters, sort: Some(Order::Coordinate), ..Steps::default() };
    let given = [read("a", 65, 50), read("a", 129, 10), read("b", 0, 20)];
    let given: Vec<&str> = given.iter().map(String::as_str).collect();
    assert_eq!(
        support::records(&run(&TestDir::new(), sorted.clone(), &given)),
        [
            "a\t129\t1\t10\t60\t4M\t=\t50\t41\tACGT\tIIII\tMQ:i:60\tMC:Z:4M",
            "b\t0\t1\t20\t60\t4M\t*\t0\t0\tACGT\tIIII",
            "a\t65\t1\t50\t60\t4M\t=\t10\t-41\tACGT\tIIII\tMQ:i:60\tMC:Z:4M",
        ]
    );
    let refused = |steps: &Steps, header: &str, given: &[&str]| {
        let text = support::with_header(header, given);
        TestDir::new().run(&support::bam(&text), steps.clone(), 2).expect_err("refused").what
    };
    let scattered = [given[0], given[2], given[1]];
    for steps in [&sorted, &Steps { sort: None, ..sorted.clone() }] {
        let what = refused(steps, HEADER, &scattered);
        assert!(what.contains("are not adjacent"), "{what}");
    }
    let claims = HEADER.replace("VN:1.6", "VN:1.6\tSO:coordinate");
    let what = refused(&sorted, &claims, &given);
    assert!(what.contains("sorted by coordinate"), "{what}");
}

#[test]
fn whole_templates_are_not_dropped_where_mates_do_not_stand_together() {
    let line = |name: usize, flags: u16| format!("r{name}\t{flags}\t*\t0\t0\t*\t*\t0\t0\tACGT\tIIII\n");
    // The first chunk has whole templates, so the input is not refused at its start.
    let whole = (0..100_000).map(|name| line(name, 77) + &line(name, 141));
    let first = (100_000..100_100).map(|name| line(name, 77));
    let last = (100_000..100_100).map(|name| line(name, 141));
    let text = format!("@HD\tVN:1.6\n{}", whole.chain(first).chain(last).collect::<String>());
    let dir = TestDir::new();
    let input = support::arg(&dir.file("in.sam", text));
    let flags = ["filter", "--quiet", "--whole-templates", "-o"];
    let output = dir.path("out.bam");
    let files = [support::arg(&output), input];
    let done = support::readmill(flags.into_iter().map(String::from).chain(files));
    assert_eq!(done.code, Some(2), "{}", done.stderr);
    assert!(done.stderr.contains("are not adjacent") && !output.exists(), "{}", done.stderr);
}

/// samtools 1.24 fixmate and Picard 3.4.0 FixMateInformation take such input, too.
#[test]
fn lone_templates_of_any_number_are_fixed_with_a_warning() {
    let run = |lines: &[String], rules: &str| {
        let dir = TestDir::new();
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        let header = HEADER.replace("VN:1.6", "VN:1.6\tSO:queryname");
        let input = dir.file("in.sam", support::with_header(&header, &lines));
        let flags = ["filter", "--quiet", "-O", "sam", "--fix-mates", rules];
        support::readmill(flags.into_iter().map(String::from).chain([support::arg(&input)]))
    };
    let line = |name: &str, flags: u16| format!("{name}\t{flags}\t1\t10\t60\t4M\t=\t50\t0\tACGT\tIIII");
    let lone: Vec<String> = (100..165).map(|i| line(&format!("r{i}"), 99)).collect();
    for rules in ["picard", "samtools"] {
        let done = run(&lone, rules);
        assert_eq!(done.code, Some(0), "{}", done.stderr);
        assert!(
            done.stderr.contains("65 of 65 templates (100.0 %) have no mate in the input"),
            "{}",
            done.stderr
        );
        let text = String::from_utf8(done.stdout).expect("SAM text");
        assert_eq!(support::records(&text).len(), 65);
        let whole: Vec<String> = ["a", "b"].iter().flat_map(|n| [line(n, 65), line(n, 129)]).collect();
        let done = run(&[&whole[..], &lone[..1]].concat(), rules);
        assert_eq!((done.code, done.stderr.as_str()), (Some(0), ""), "less than half are no matter");
        // Two records of one end are adjacent, and the two of the other end are somewhere else.
        let doubled =
            ["a", "b"].map(|name| line(name, 65)).into_iter().flat_map(|line| [line.clone(), line]);
        let last =
            ["a", "b"].map(|name| line(name, 129)).into_iter().flat_map(|line| [line.clone(), line]);
        let done = run(&doubled.chain(last).collect::<Vec<_>>(), rules);
        assert_eq!(done.code, Some(2), "{rules}: {}", done.stderr);
        assert!(done.stderr.contains("are not adjacent"), "{}", done.stderr);
    }
}

#[test]
fn reads_are_sampled_before_duplicates_are_marked_or_after() {
    let reads: Vec<String> =
        (0..200).map(|i| format!("r{i}\t0\t1\t5\t60\t4M\t*\t0\t0\tACGT\tIIII\tRG:Z:x")).collect();
    let given: Vec<&str> = reads.iter().map(String::as_str).collect();
    let marked = |after_duplicates| {
        let words = "--subsample 0.5 --subsample-seed 1 --subsample-after-duplicates".split(' ');
        let steps = Steps {
            filters: Filters::from_words(words.take(if after_duplicates { 5 } else { 4 }))
                .expect("filters"),
            duplicates: Some(Duplicates::with_mode(DuplicateMode::Coordinate)),
            ..Steps::default()
        };
        let left = run(&TestDir::new(), steps, &given);
        let records = support::records(&left);
        let unmarked = records.iter().filter(|line| support::number(line, 1) == 0).count();
        (records.len(), unmarked)
    };
    let (before, after) = (marked(false), marked(true));
    assert_eq!(before.0, after.0, "the same names");
    assert!(before.0 > 60 && before.0 < 140 && before.1 == 1, "{before:?}");
    assert!(after.1 <= 1, "one of all 200 is no duplicate: {after:?}");
}

#[test]
fn later_filters_are_said_of_the_program_too() {
    let words = "--require-flags PAIRED --exclude-flags 4 --subsample .25 --subsample-seed 3 --fix-mates samtools";
    let texts = ["--in-read-group", "a b", "--include", "mapq > 3"];
    let filters = Filters::from_words(words.split(' ').chain(texts)).expect("filters");
    assert_eq!(
        filters.command_words(FilterStage::BeforeSort).join(" "),
        "--require-flags 1 --exclude-flags 4 --in-read-group 'a b' --include 'mapq > 3' \
         --subsample 0.25 --subsample-seed 3 --fix-mates samtools"
    );
}

/// Every read would be dropped, with only a count as the message.
#[test]
fn regions_of_which_there_are_none_are_told() {
    let dir = TestDir::new();
    let text = support::with_header(HEADER, &["r\t0\t1\t9\t60\t4M\t*\t0\t0\tACGT\tIIII"]);
    let input = arg(&dir.file("in.sam", text));
    for (name, content) in [("none.bed", ""), ("comment.bed", "# of no place\n")] {
        let regions = arg(&dir.file(name, content));
        let done = readmill(["filter", "--quiet", "-L", &regions, &input, "-O", "sam"]);
        assert_eq!(done.code, Some(0), "{}", done.stderr);
        let said = format!(
            "readmill: warning: {regions}: the file has no regions, so no reads are kept
readmill: warning: none of the 1 input records was written (1 reads outside the regions dropped)
"
        );
        assert_eq!(done.stderr, said);
        let kept = String::from_utf8(done.stdout).expect("text");
        assert_eq!(support::records(&kept), [""; 0], "as samtools view -L has it");
    }
    let regions = arg(&dir.file("one.bed", "1\t5\t20\n"));
    assert_eq!(readmill(["filter", "--quiet", "-L", &regions, &input, "-O", "sam"]).stderr, "");
}
