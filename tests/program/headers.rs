//! Headers that other programs cannot read, and lines of SAM that only look like a header.

use crate::support::{ProgramRun, TestDir, arg, bam, bgzip, readmill};

const RECORD: &str = "\t0\tchr1\t10\t60\t4M\t*\t0\t0\tACGT\tIIII\n";
const CONTIG: &str = "@SQ\tSN:chr1\tLN:100\n";

fn run<'a>(words: impl IntoIterator<Item = &'a str>) -> ProgramRun {
    let done = readmill(words);
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    done
}

fn text(done: &ProgramRun) -> &str {
    std::str::from_utf8(&done.stdout).expect("text")
}

/// Three reads, of which two have names that begin with `@`.
fn reads() -> String {
    format!("{CONTIG}@r1{RECORD}r2{RECORD}@r3{RECORD}")
}

#[test]
fn reads_whose_names_begin_with_at_are_not_lost() {
    let dir = TestDir::new();
    let given = reads();
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    std::io::Write::write_all(&mut gzip, given.as_bytes()).expect("a vector");
    let files = [
        dir.file("a.sam", &given),
        dir.file("a.sam.bgz", bgzip(given.as_bytes())),
        dir.file("a.sam.gz", gzip.finish().expect("a vector")),
    ]
    .map(|path| arg(&path));
    for file in &files {
        assert_eq!(run(["view", "-c", file]).stdout, b"3\n", "{file}");
        assert_eq!(text(&run(["view", "-h", "--no-PG", file])), given, "{file}");
        assert_eq!(
            text(&run(["sort", "--no-PG", "-O", "sam", file])).matches("ACGT").count(),
            3,
            "{file}"
        );
        assert_eq!(text(&run(["fastq", file])).matches("ACGT\n+\n").count(), 3, "{file}");
        let head = run(["head", "-n", "1", file]);
        assert_eq!(text(&head), format!("{CONTIG}@r1{RECORD}"), "{file}");
    }
    let twice = run(["merge", "--no-PG", "-o", "-", "-O", "sam", &files[0], &files[1]]);
    assert_eq!(text(&twice).matches("ACGT").count(), 6);
    let stored = arg(&dir.path("a.bam"));
    run(["view", "--no-PG", "-o", &stored, &files[0]]);
    assert_eq!(text(&run(["view", "-h", "--no-PG", &stored])), given);
    run(["index", &files[1]]);
    assert_eq!(run(["view", "-c", &files[1], "chr1:10"]).stdout, b"3\n");
}

#[test]
fn a_line_that_may_be_header_or_record_is_refused_by_its_number() {
    let dir = TestDir::new();
    for (line, what) in [
        (format!("@CO{RECORD}"), "line 2 has the columns of a record"),
        (format!("@SQ{RECORD}"), "line 2 has the columns of a record"),
        ("@r1\t0\tchr1\t10\n".to_string(), "header line 2: this is neither"),
        (format!("r1{RECORD}@CO\tlate\n"), "this is a header line among records"),
    ] {
        let file = arg(&dir.file("x.sam", format!("{CONTIG}{line}r2{RECORD}")));
        for words in [vec!["view", "-c", &file], vec!["sort", &file], vec!["fastq", &file]] {
            let done = readmill(&words);
            assert_eq!(done.code, Some(2), "{words:?}: {}", done.stderr);
            assert!(done.stderr.contains(what), "{words:?}: {}", done.stderr);
        }
    }
}

#[test]
fn a_mended_header_line_is_warned_of_in_each_format() {
    let dir = TestDir::new();
    let given = format!("@HD VN1.0 SO:unsorted\n{CONTIG}@PG ID:x PN:x\n@CO hello\nr1{RECORD}");
    let mended = format!("@HD\tVN:1.0\tSO:unsorted\n{CONTIG}@PG\tID:x\tPN:x\n@CO\thello\nr1{RECORD}");
    let files = [
        dir.file("a.sam", &given),
        dir.file("a.sam.bgz", bgzip(given.as_bytes())),
        dir.file("a.bam", bam(&given)),
    ];
    for file in files.map(|path| arg(&path)) {
        let done = run(["view", "-h", "--no-PG", &file]);
        assert_eq!(text(&done), mended, "{file}");
        for line in [1, 3, 4] {
            let what = format!("{file}: header line {line}: ");
            assert!(done.stderr.contains(&what), "{file}: {}", done.stderr);
        }
    }
}

#[test]
fn a_header_that_is_refused_can_be_shown_and_replaced() {
    let dir = TestDir::new();
    let given = format!("{CONTIG}@RG\tSM:s\nr1{RECORD}");
    let broken = arg(&dir.file("x.bam", bam(&given)));
    let done = readmill(["view", "-c", &broken]);
    assert_eq!(done.code, Some(2));
    assert!(done.stderr.contains("header line 2: @RG without ID"), "{}", done.stderr);
    assert!(done.stderr.contains("readmill reheader"), "{}", done.stderr);
    assert_eq!(text(&run(["head", &broken])), format!("{CONTIG}@RG\tSM:s\n"));
    let fixed = format!("{CONTIG}@RG\tID:g\tSM:s\n");
    let header = arg(&dir.file("header.sam", &fixed));
    let new = arg(&dir.path("new.bam"));
    run(["reheader", "--no-PG", "-o", &new, &header, &broken]);
    assert_eq!(text(&run(["view", "-h", "--no-PG", &new])), format!("{fixed}r1{RECORD}"));
}

#[test]
fn a_dictionary_that_differs_from_the_lines_is_said_with_a_way_out() {
    let dir = TestDir::new();
    // The text has another name, in as many bytes.
    let bytes = bam_with_text("@SQ\tSN:chr2\tLN:100\n");
    let file = arg(&dir.file("x.bam", bytes));
    let done = readmill(["view", "-c", &file]);
    assert_eq!(done.code, Some(2));
    for what in ["the binary dictionary differ", "chr2 of 100 bases", "chr1 of 100 bases", "reheader"] {
        assert!(done.stderr.contains(what), "{}", done.stderr);
    }
    let header = arg(&dir.file("header.sam", CONTIG));
    let new = arg(&dir.path("new.bam"));
    run(["reheader", "--no-PG", "-o", &new, &header, &file]);
    assert_eq!(text(&run(["view", "-h", "--no-PG", &new])), CONTIG);
}

/// A BAM file without reads, whose dictionary has chr1 of 100 bases.
fn bam_with_text(text: &str) -> Vec<u8> {
    let mut bytes = b"BAM\x01".to_vec();
    bytes.extend((text.len() as u32).to_le_bytes());
    bytes.extend(text.as_bytes());
    bytes.extend(1u32.to_le_bytes());
    bytes.extend(5u32.to_le_bytes());
    bytes.extend(b"chr1\0");
    bytes.extend(100u32.to_le_bytes());
    bgzip(&bytes)
}

#[test]
fn sam_is_not_taken_for_fastq() {
    let dir = TestDir::new();
    let unmapped = "r1\t4\t*\t0\t0\t*\t*\t0\t0\tACGT\tIIII\n";
    for start in [
        "@CO\thello\n",
        "@SQ\tLN:100\tSN:c\n",
        "@HD\tSO:unsorted\tVN:1.6\n",
        "@HD VN1.0 SO:unsorted\n",
        "",
        "\u{feff}@HD\tVN:1.6\n",
    ] {
        let given = format!("{start}{unmapped}");
        for file in [dir.file("a.sam", &given), dir.file("a.bgz", bgzip(given.as_bytes()))] {
            let file = arg(&file);
            let out = arg(&dir.path("qc"));
            run(["qc", &file, "-o", &out]);
            let stored = arg(&dir.path("x.bam"));
            run(["import", &file, "-o", &stored]);
            assert_eq!(run(["view", "-c", &stored]).stdout, b"1\n", "{start}");
        }
    }
}

#[test]
fn fastq_is_not_taken_for_sam() {
    let dir = TestDir::new();
    for name in ["@CO\thello", "@SQ", "@SQ\tSN:c\tLN:9", "@HD\tVN:1.6"] {
        let given = format!("{name}\nACGT\n+\nIIII\n");
        let file = arg(&dir.file("a.fq", &given));
        let stored = arg(&dir.path("x.bam"));
        run(["import", &file, "-o", &stored]);
        assert_eq!(run(["view", "-c", &stored]).stdout, b"1\n", "{name}");
        let done = readmill(["view", "-c", &file]);
        assert!(done.code == Some(2) && done.stderr.contains("but FASTQ"), "{name}: {}", done.stderr);
    }
}

#[test]
fn cat_adds_read_groups_to_a_given_header() {
    let dir = TestDir::new();
    let group = |id: &str| format!("{CONTIG}@RG\tID:{id}\tSM:s\n");
    let given = arg(&dir.file("h.sam", group("a")));
    let files = ["b", "c"].map(|id| arg(&dir.file(&format!("{id}.bam"), bam(&group(id)))));
    let out = arg(&dir.path("x.bam"));
    run(["cat", "--no-PG", "-h", &given, "-o", &out, &files[0], &files[1]]);
    let expected = format!("{}@RG\tID:b\tSM:s\n@RG\tID:c\tSM:s\n", group("a"));
    assert_eq!(text(&run(["view", "-H", "--no-PG", &out])), expected);
}

#[test]
fn split_leaves_a_file_of_the_rest_without_reads() {
    let dir = TestDir::new();
    let given = format!("{CONTIG}@RG\tID:a\tSM:s\nr1{}\tRG:Z:a\n", RECORD.trim_end());
    let file = arg(&dir.file("x.sam", given));
    let (names, rest) = (arg(&dir.path("{ID}.sam")), arg(&dir.path("rest.sam")));
    run([
        "split",
        "--by",
        "read-group",
        "--split-names",
        &names,
        "--split-rest",
        &rest,
        "--no-PG",
        &file,
    ]);
    assert_eq!(text(&run(["view", "-c", &rest])), "0\n");
    assert_eq!(text(&run(["view", "-c", &arg(&dir.path("a.sam"))])), "1\n");
}

#[test]
fn an_expression_may_begin_with_a_minus_sign() {
    let dir = TestDir::new();
    let file = arg(&dir.file("x.sam", reads()));
    for words in [
        ["view", "-c", "-e", "-mapq < -20", &file],
        ["samtools", "view", "-ce", "-mapq < -20", &file],
        ["samtools", "view", "-c", "--expr=- mapq < -20", &file],
    ] {
        assert_eq!(text(&run(words)), "3\n");
    }
}

#[test]
fn a_mate_field_that_is_there_twice_is_once_after_fixing() {
    let dir = TestDir::new();
    let fields = "MC:Z:9M\tNM:i:0\tMC:Z:8M";
    let given = format!(
        "@HD\tVN:1.6\tSO:queryname\n{CONTIG}p\t99\tchr1\t10\t60\t4M\t=\t50\t44\tACGT\tIIII\t{fields}\n\
         p\t147\tchr1\t50\t60\t4M\t=\t10\t-44\tACGT\tIIII\t{fields}\n"
    );
    let file = arg(&dir.file("x.sam", given));
    for rules in ["picard", "samtools"] {
        let done = run(["filter", "--fix-mates", rules, "--no-PG", "-O", "sam", "-o", "-", &file]);
        assert_eq!(text(&done).matches("MC:Z:").count(), 2, "{rules}: {}", text(&done));
        assert_eq!(text(&done).matches("MC:Z:4M").count(), 2, "{rules}");
    }
}

#[test]
fn fastq_writes_chosen_records_as_samtools_does() {
    let dir = TestDir::new();
    let given = "@RG\tID:a\tSM:s\n@RG\tID:b\tSM:s\n\
         r1\t4\t*\t0\t0\t*\t*\t0\t0\tAC\tII\tRG:Z:a\nr2\t516\t*\t0\t0\t*\t*\t0\t0\tCC\tII\tRG:Z:b\n\
         r3\t1028\t*\t0\t0\t*\t*\t0\t0\tGG\tII\n";
    let file = arg(&dir.file("x.sam", given));
    for (words, names) in [
        (vec!["-f", "512"], vec!["@r2"]),
        (vec!["--rf", "1536"], vec!["@r2", "@r3"]),
        (vec!["-G", "516"], vec!["@r1", "@r3"]),
        (vec!["-G", "0", "-f", "0"], vec!["@r1", "@r2", "@r3"]),
        (vec!["-d", "RG"], vec!["@r1", "@r2"]),
        (vec!["-d", "RG:b"], vec!["@r2"]),
    ] {
        for front in [vec!["fastq"], vec!["samtools", "fastq"]] {
            let done = run(front.into_iter().chain(words.clone()).chain([&file[..]]));
            let found: Vec<&str> = text(&done).lines().step_by(4).collect();
            assert_eq!(found, names, "{words:?}");
        }
    }
}

#[test]
fn an_interval_list_of_another_build_is_refused_by_each_command() {
    let dir = TestDir::new();
    let file = arg(&dir.file("x.sam", reads()));
    let list = arg(&dir.file("x.interval_list", "@SQ\tSN:chr1\tLN:99\nchr1\t5\t20\t+\tx\n"));
    for words in [
        vec!["filter", "--overlap", &list, "-O", "sam", "-o", "-", &file],
        vec!["view", "-c", "-L", &list, &file],
    ] {
        let done = readmill(&words);
        assert_eq!(done.code, Some(2), "{words:?}");
        assert!(done.stderr.contains("chr1 has 99 bases here, but 100"), "{}", done.stderr);
    }
}
