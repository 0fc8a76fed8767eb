//! Mistakes of new users, and files in the wrong order or with the wrong flags: each message says what is wrong and what
//! to do.

use crate::align::*;
use crate::support::random::TestRandom;

/// Asserts a refusal with this exit code and these words, without output.
#[track_caller]
fn refused(dir: &TestDir, args: &[&str], code: i32, words: &[&str]) {
    let before = dir.names();
    let done = readmill(args);
    assert_eq!(done.code, Some(code), "{args:?}: {}", done.stderr);
    for word in words {
        assert!(done.stderr.contains(word), "{word}: {}", done.stderr);
    }
    assert_eq!(dir.names(), before, "{args:?}");
}

#[test]
fn what_stands_where_the_reference_is_expected_is_named() {
    let (dir, files) = dir();
    let [one, two] = files.each_ref().map(|path| arg(path));
    let output = arg(&dir.path("out.bam"));
    let packed = arg(&dir.file("1.fq.gz", gzip(&reads()[0])));
    let sam = arg(&dir.file("x.sam", "@HD\tVN:1.6\n"));
    let refuse = |reference: &str, code, words: &[&str]| {
        refused(&dir, &["align", reference, &one, &two, "-o", &output], code, words);
    };
    refuse(
        &arg(&dir.path("nope.fa")),
        3,
        &["nope.fa", "reference cannot be opened", "before the reads"],
    );
    refuse(&packed, 1, &["1.fq.gz", "this is FASTQ", "give the reference first"]);
    refuse(&sam, 1, &["x.sam", "this is SAM", "give the reference first"]);
    refuse(&arg(&dir.path(".")), 1, &["this is a directory"]);
    refused(&dir, &["align", &one, &two], 1, &["1.fq", "this is FASTQ", "give the reference first"]);
    refused(&dir, &["align", reference(), reference()], 1, &["ref.fa", "as reads", "once"]);
}

#[test]
fn a_part_of_an_index_is_no_index() {
    let (dir, files) = dir();
    let [one, two] = files.each_ref().map(|path| arg(path));
    let bare = arg(&dir.file("bare.fa", ">c\nACGT\n"));
    let hint = format!("readmill index {bare}`");
    refused(&dir, &["align", &bare, &one, &two], 3, &["bare.fa: there is no index", &hint[..]]);
    for suffix in [".amb", ".ann", ".pac"] {
        std::fs::copy(format!("{}{suffix}", reference()), format!("{bare}{suffix}")).expect("a copy");
    }
    let words = ["lacks", "bare.fa.bwt.2bit.64", &hint[..]];
    refused(&dir, &["align", &bare, &one, &two], 3, &words);
}

#[test]
fn a_reference_that_was_replaced_after_it_was_indexed_is_refused() {
    let (dir, files) = dir();
    let one = arg(&files[0]);
    let own = arg(&dir.file("own.fa", ">other\nACGT\n"));
    for suffix in [".amb", ".ann", ".pac", ".bwt.2bit.64"] {
        std::fs::copy(format!("{}{suffix}", reference()), format!("{own}{suffix}")).expect("a copy");
    }
    let words = ["own.fa: this file has 12 bytes, but its index was built from ", "readmill index"];
    refused(&dir, &["align", &own, &one], 2, &words);
    // The aligner reads only the index, so the FASTA file may be missing.
    std::fs::remove_file(&own).expect("the file");
    let done = readmill(["align", &own, &one, "-o", "-"]);
    assert_eq!(done.code, Some(0), "{}", done.stderr);
}

/// 200 bytes of an index changed at random ended the process by a signal.
#[test]
fn a_damaged_index_is_refused_by_name() {
    let (dir, files) = dir();
    let [one, two] = files.each_ref().map(|path| arg(path));
    let own = arg(&dir.path("own.fa"));
    for suffix in [".amb", ".ann", ".pac"] {
        std::fs::copy(format!("{}{suffix}", reference()), format!("{own}{suffix}")).expect("a copy");
    }
    let good = std::fs::read(format!("{}.bwt.2bit.64", reference())).expect("the index");
    for seed in 1..=20_u64 {
        let (mut damaged, mut random) = (good.clone(), TestRandom::new(seed));
        for _ in 0..200 {
            let at = random.below(good.len());
            damaged[at] ^= 1 + random.below(255) as u8;
        }
        dir.file("own.fa.bwt.2bit.64", damaged);
        let words = [
            "own.fa.bwt.2bit.64: the index is damaged: ",
            "rebuild the index with `readmill index REF`",
        ];
        refused(&dir, &["align", &own, &one, &two, "-o", &arg(&dir.path("out.bam"))], 2, &words);
    }
}

#[test]
fn what_is_no_reference_gets_no_index_of_the_aligner() {
    let (dir, files) = dir();
    let bam = arg(&dir.file("s.bam", bgzip(b"BAM\x01")));
    refused(&dir, &["index", &bam], 2, &["s.bam", "ends inside its header"]);
    refused(&dir, &["index", &arg(&files[0])], 2, &["1.fq", "FASTQ files cannot be indexed", "FASTA"]);
    let packed = arg(&dir.file("1.fq.gz", gzip(&reads()[0])));
    refused(&dir, &["index", &packed], 2, &["1.fq.gz", "FASTQ files cannot be indexed"]);
    refused(&dir, &["index", &arg(&dir.path("nope.fa"))], 3, &["nope.fa", "cannot be opened"]);
}

#[test]
fn recalibration_names_the_flag_that_gives_a_read_group() {
    let (dir, files) = dir();
    let [one, two] = files.each_ref().map(|path| arg(path));
    let known =
        arg(&dir
            .file("known.vcf", "##fileformat=VCFv4.2\n#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\n"));
    let args =
        ["align", reference(), &one, &two, "--sort", "coordinate", "--bqsr", "--known-sites", &known];
    refused(&dir, &args, 1, &["read group", "-R '@RG\\tID:"]);
}

#[test]
fn a_read_group_with_blanks_for_tabs_is_refused() {
    let (dir, files) = dir();
    let one = arg(&files[0]);
    refused(
        &dir,
        &["align", reference(), &one, "-R", "@RG ID:a SM:s"],
        1,
        &["and a tab", "@RG\\tID:lane1"],
    );
    let tabs = lines(&[&one, "-R", "@RG\tID:a\tSM:s"]);
    assert!(tabs == lines(&[&one, "-R", "@RG\\tID:a\\tSM:s"]), "real tabs are tabs");
}

#[test]
fn empty_fields_of_a_read_group_are_left_out_and_others_are_refused() {
    let (dir, files) = dir();
    let one = arg(&files[0]);
    for group in ["@RG\\tID:a\\tSM:s\\t", "@RG\\tID:a\\t\\tSM:s"] {
        for command in [&["align", reference(), &one, "-R", group][..], &["import", &one, "-R", group]] {
            let done = readmill([command, &["-O", "sam", "-q"]].concat());
            let text = String::from_utf8(done.stdout).expect("SAM is text");
            assert!(text.contains("@RG\tID:a\tSM:s\n"), "{command:?}: {}", done.stderr);
            assert!(done.stderr.contains("the read group has empty fields"), "{}", done.stderr);
        }
    }
    for (group, reason) in [
        ("@RG\\tID:a\\tSM", "\"SM\" is not TAG:VALUE"),
        ("@RG\\tID:a\\tID:b", "ID occurs twice"),
        ("@RG\\tID:a\\tSM:", "SM has no value"),
    ] {
        refused(&dir, &["align", reference(), &one, "-R", group], 1, &[reason]);
        refused(&dir, &["import", &one, "-R", group], 1, &[reason]);
        refused(&dir, &["samtools", "import", "-r", &group[5..], &one], 1, &[reason]);
        let sam = arg(&dir.file("x.sam", "@HD\tVN:1.6\n"));
        refused(&dir, &["prep", &sam, "--read-group", group, "-O", "sam"], 1, &[reason]);
        refused(&dir, &["samtools", "addreplacerg", "-r", group, &sam], 1, &[reason]);
    }
}

/// The header said AH:* where the aligner read no alternate locus.
#[test]
fn alternate_loci_are_those_that_bwa_reads() {
    let (dir, files) = dir();
    let one = arg(&files[0]);
    let own = arg(&dir.path("own.fa"));
    for suffix in ["", ".amb", ".ann", ".pac", ".bwt.2bit.64"] {
        std::fs::copy(format!("{}{suffix}", reference()), format!("{own}{suffix}")).expect("a copy");
    }
    let run = |list: &str| {
        dir.file("own.fa.alt", list);
        let done = readmill(["align", &own, &one, "-O", "sam"]);
        assert_eq!(done.code, Some(0), "{}", done.stderr);
        let text = String::from_utf8(done.stdout).expect("SAM is text");
        (text.lines().filter(|line| line.ends_with("\tAH:*")).count(), done.stderr)
    };
    let text = lines(&[&one]);
    let names: Vec<&str> =
        text.lines().filter_map(|line| line.strip_prefix("@SQ\tSN:")?.split('\t').next()).collect();
    let (first, second) = (names[0], names[1]);
    let (marked, said) = run(&format!("{first}\n"));
    assert_eq!(marked, 1);
    assert!(
        said.contains(&format!("note: 1 of {} reference sequences are alternate loci", names.len())),
        "{said}"
    );
    let (marked, said) = run(&format!("{first}\n{second}"));
    assert_eq!(marked, 1);
    assert!(said.contains(&format!("the last line, {second}, does not end with a newline")), "{said}");
    assert_eq!(run(second).0, 0);
    assert_eq!(run(&format!("@SQ\tSN:x\n{first}\t0\tx\n{second}\r\n")).0, 2);
}

/// A missing .amb was reported as a missing FASTA.
#[test]
fn a_missing_file_of_the_index_is_named_without_the_fasta_too() {
    let (dir, files) = dir();
    let one = arg(&files[0]);
    let own = arg(&dir.path("own.fa"));
    for suffix in [".ann", ".pac", ".bwt.2bit.64"] {
        std::fs::copy(format!("{}{suffix}", reference()), format!("{own}{suffix}")).expect("a copy");
    }
    refused(&dir, &["align", &own, &one], 3, &["the index for bwa mem lacks", "own.fa.amb"]);
}

/// fasterq-dump's names, "its mate is called SRR1.1.2".
#[test]
fn mates_numbered_behind_a_dot_are_mates_and_get_one_name() {
    let (dir, files) = dir();
    let [one, two] = files.each_ref().map(|path| arg(path));
    let expected = lines(&[&one, &two]);
    for separator in ['.', '_', ':'] {
        let renamed = [0, 1].map(|segment| {
            let text = std::str::from_utf8(&reads()[segment]).expect("FASTQ is text");
            let line = |(at, line): (usize, &str)| match at % 4 {
                0 => format!(
                    "{}{separator}{}\n",
                    line.split(['/', ' ']).next().unwrap_or_default(),
                    segment + 1
                ),
                _ => format!("{line}\n"),
            };
            text.lines().enumerate().map(line).collect::<String>()
        });
        let [one, two] =
            [0, 1].map(|segment| arg(&dir.file(&format!("{segment}.fq"), &renamed[segment])));
        assert!(records(&lines(&[&one, &two])) == records(&expected), "{separator}");
        let done = align(&[&one, &two, "-O", "sam"]);
        assert_eq!(done.code, Some(0), "{}", done.stderr);
    }
    let shifted = [1, 2].map(|from| {
        let record = |at: usize| format!("@SRR1.{}\nACGTACGT\n+\nIIIIIIII\n", at + from);
        arg(&dir.file(&format!("shifted.{from}.fq"), (0..9).map(record).collect::<String>()))
    });
    refused(
        &dir,
        &["align", reference(), &shifted[0], &shifted[1]],
        2,
        &["the mate in", "is named SRR1.2"],
    );
}

/// How names show which read of the template it is.
#[derive(Clone, Copy)]
enum Style {
    Slash,
    Comment,
    Unsaid,
}

/// The sample's first `n` reads of that segment, 1 or 2, numbered in that style.
fn numbered(style: Style, segment: usize, from: usize, n: usize) -> String {
    let text = std::str::from_utf8(&reads()[segment - 1]).expect("FASTQ is text");
    let lines: Vec<&str> = text.lines().collect();
    let record = |record: &[&str]| {
        let name = record[0].split([' ', '/']).next().unwrap_or_default();
        let head = match style {
            Style::Slash => format!("{name}/{segment}"),
            Style::Comment => format!("{name} {segment}:N:0:ACGT"),
            Style::Unsaid => name.to_string(),
        };
        format!("{head}\n{}\n{}\n{}\n", record[1], record[2], record[3])
    };
    lines.chunks(4).skip(from).take(n).map(record).collect()
}

/// Pairs in one file.
fn alternating(style: Style, n: usize) -> String {
    (0..n).map(|at| numbered(style, 1, at, 1) + &numbered(style, 2, at, 1)).collect()
}

/// Asserts a refusal with exit code 2 and these words, without output, and success with `--as-given`.
#[track_caller]
fn layout_is_refused(dir: &TestDir, files: &[&str], words: &[&str]) {
    let output = arg(&dir.path("out.bam"));
    let args = [files, &["-o", &output]].concat();
    let done = align(&args);
    assert_eq!(done.code, Some(2), "{files:?}: {}", done.stderr);
    for word in words.iter().chain(&["--as-given"]) {
        assert!(done.stderr.contains(word), "{word}: {}", done.stderr);
    }
    assert!(!dir.names().iter().any(|name| name.starts_with("out")), "{:?}", dir.names());
    let done = align(&[files, &["--as-given", "-O", "sam"]].concat());
    assert_eq!((done.code, done.stderr.contains("warning")), (Some(0), false), "{}", done.stderr);
}

#[test]
fn last_reads_before_first_ones_are_refused() {
    let dir = TestDir::new();
    for (name, style) in [("slash", Style::Slash), ("comment", Style::Comment)] {
        for (kind, pack) in [
            ("fq", (|it| it) as fn(Vec<u8>) -> Vec<u8>),
            ("gz", |it| gzip(&it)),
            ("bgz", |it| bgzip(&it)),
        ] {
            let file = |segment| {
                let text = numbered(style, segment, 0, 100);
                arg(&dir.file(&format!("{name}.{segment}.{kind}"), pack(text.into_bytes())))
            };
            let (one, two) = (file(1), file(2));
            layout_is_refused(
                &dir,
                &[&two, &one],
                &[&one, &two, "second reads (R2)", "change the order of the files"],
            );
            lines(&[&one, &two]);
        }
    }
}

#[test]
fn lanes_are_judged_each_for_itself() {
    let dir = TestDir::new();
    let file = |lane: usize, segment| {
        let text = numbered(Style::Comment, segment, lane * 50, 50);
        arg(&dir.file(&format!("lane{lane}.{segment}.fq"), text))
    };
    let [a1, a2, b1, b2] = [file(0, 1), file(0, 2), file(1, 1), file(1, 2)];
    layout_is_refused(&dir, &[&a1, &a2, &b2, &b1], &[&b2, &b1, "second reads (R2)"]);
    let done = align(&[&a1, &b1, &a2, &b2]);
    assert_eq!(done.code, Some(2), "{}", done.stderr);
    for word in ["both have first reads (R1)", &a1, &b1, "lane1_R1 lane1_R2 lane2_R1 lane2_R2"] {
        assert!(done.stderr.contains(word), "{word}: {}", done.stderr);
    }
}

#[test]
fn pairs_in_one_file_need_their_flag() {
    let dir = TestDir::new();
    for (name, style) in [("slash", Style::Slash), ("comment", Style::Comment), ("none", Style::Unsaid)]
    {
        let both = arg(&dir.file(&format!("{name}.fq"), alternating(style, 40)));
        layout_is_refused(&dir, &[&both], &[&both, "followed by its mate", "-p"]);
        lines(&["-p", &both]);
    }
    let ones = arg(&dir.file("ones.fq", numbered(Style::Slash, 1, 0, 40)));
    let done = align(&["-p", &ones]);
    assert_eq!(done.code, Some(2), "{}", done.stderr);
    assert!(done.stderr.contains("omit -p"), "{}", done.stderr);
    let turned: String =
        (0..40).map(|at| numbered(Style::Slash, 2, at, 1) + &numbered(Style::Slash, 1, at, 1)).collect();
    let turned = arg(&dir.file("turned.fq", turned));
    layout_is_refused(&dir, &["-p", &turned], &[&turned, "before the first read"]);
}

#[test]
fn what_is_not_certain_is_a_warning() {
    let dir = TestDir::new();
    let warned = |args: &[&str], word: &str| {
        let done = align(&[args, &["-O", "sam"]].concat());
        assert_eq!(done.code, Some(0), "{}", done.stderr);
        assert!(done.stderr.contains("warning") && done.stderr.contains(word), "{}", done.stderr);
        let given = align(&[args, &["-O", "sam", "--as-given"]].concat());
        assert!(given.stdout == done.stdout && !given.stderr.contains("warning"), "{}", given.stderr);
    };
    let one = numbered(Style::Slash, 1, 0, 60);
    let two = numbered(Style::Slash, 2, 0, 60);
    let [r1, r2] = [("1.fq", &one), ("2.fq", &two)].map(|(name, text)| arg(&dir.file(name, text)));
    let both_one = arg(&dir.file("2as1.fq", two.replace("/2\n", "/1\n")));
    warned(&[&r1, &both_one], "mark first reads (R1)");
    let some = numbered(Style::Slash, 1, 100, 5) + &alternating(Style::Slash, 20);
    let some = arg(&dir.file("some.fq", some));
    warned(&[&some], "use -p if they are pairs");
    let quiet = |args: &[&str]| {
        let done = align(&[args, &["-O", "sam"]].concat());
        assert_eq!((done.code, &done.stderr[..]), (Some(0), ""), "{args:?}");
    };
    quiet(&[&r1, &r2]);
    quiet(&[&r2]); // last reads alone are aligned so where the first ones are barcodes
    quiet(&["--single", &r1, &r2]);
}

#[test]
fn the_same_reads_twice_are_refused() {
    let dir = TestDir::new();
    for (name, style) in [("slash", Style::Slash), ("none", Style::Unsaid)] {
        let file = |copy: &str| arg(&dir.file(&format!("{name}.{copy}.fq"), numbered(style, 1, 0, 50)));
        let (one, copy) = (file("one"), file("copy"));
        let done = align(&[&one, &copy]);
        assert_eq!(done.code, Some(2), "{}", done.stderr);
        assert!(done.stderr.contains("have the same reads"), "{}", done.stderr);
    }
}

#[test]
fn a_cohort_near_64_bits_needs_too_much_memory_and_does_not_overflow() {
    // Of a pipe nobody knows the size, so a cohort of any number of bases may come.
    for bases in [u64::MAX, 1 << 62] {
        let bases = bases.to_string();
        let done = readmill(["align", reference(), "-p", "-K", &bases, "-", "-o", "-", "-m", "1G"]);
        assert_eq!(done.code, Some(1), "{}", done.stderr);
        assert!(done.stderr.contains("needs at least -m"), "{}", done.stderr);
    }
}
