//! Mistakes of new users: each message says what is wrong and what to do.

use super::*;
use support::random::TestRandom;

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
    refuse(&packed, 1, &["1.fq.gz", "this is FASTQ", "the reference comes first"]);
    refuse(&sam, 1, &["x.sam", "this is SAM", "the reference comes first"]);
    refuse(&arg(&dir.path(".")), 1, &["this is a directory"]);
    refused(&dir, &["align", &one, &two], 1, &["1.fq", "this is FASTQ", "the reference comes first"]);
    refused(&dir, &["align", reference(), reference()], 1, &["ref.fa", "as reads", "once"]);
}

#[test]
fn a_part_of_an_index_is_no_index() {
    let (dir, files) = dir();
    let [one, two] = files.each_ref().map(|path| arg(path));
    let bare = arg(&dir.file("bare.fa", ">c\nACGT\n"));
    refused(&dir, &["align", &bare, &one, &two], 1, &["bare.fa: it has no index", "readmill index"]);
    for suffix in [".amb", ".ann", ".pac"] {
        std::fs::copy(format!("{}{suffix}", reference()), format!("{bare}{suffix}")).expect("a copy");
    }
    let words = ["lacks", "bare.fa.bwt.2bit.64", "readmill index"];
    refused(&dir, &["align", &bare, &one, &two], 1, &words);
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
        let words =
            ["own.fa.bwt.2bit.64: the index is damaged: ", "make it again with `readmill index REF`"];
        refused(&dir, &["align", &own, &one, &two, "-o", &arg(&dir.path("out.bam"))], 2, &words);
    }
}

#[test]
fn only_a_reference_gets_an_index() {
    let (dir, files) = dir();
    let bam = arg(&dir.file("s.bam", bgzip(b"BAM\x01")));
    refused(&dir, &["index", &bam], 2, &["s.bam", "this is BAM", "--write-index"]);
    refused(&dir, &["index", &arg(&files[0])], 2, &["1.fq", "this is FASTQ", "FASTA"]);
    let packed = arg(&dir.file("1.fq.gz", gzip(&reads()[0])));
    refused(&dir, &["index", &packed], 2, &["1.fq.gz", "this is FASTQ"]);
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
