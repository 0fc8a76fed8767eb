//! `readmill depth` and `readmill coverage`: the text of samtools 1.24 for small files, and the same text for any threads, memory,
//! format and form of the input.

use std::fs;
use std::process::{Command, Stdio};

use crate::support::resources::{sample, words};
use crate::support::{TestDir, arg, bgzip, finish, readmill};

/// Reads with deletions, skipped regions and insertions; one has no qualities, one reaches beyond its contig, one aligns no base.
const READS: &str = "@HD\tVN:1.6\tSO:coordinate\n@SQ\tSN:c1\tLN:40\n@SQ\tSN:c2\tLN:20\n@SQ\tSN:c3\tLN:15
a\t99\tc1\t5\t60\t10M\t=\t9\t14\tACGTACGTAC\tIIII#IIIII
a\t147\tc1\t9\t60\t3M2D7M\t=\t5\t-14\tACGTACGTAC\t*
b\t0\tc1\t12\t30\t5M3N5M\t*\t0\t0\tACGTACGTAC\tABCDEFGHIJ
c\t0\tc1\t36\t30\t10M\t*\t0\t0\tACGTACGTAC\tABCDEFGHIJ
z\t0\tc2\t3\t30\t5I\t*\t0\t0\tACGTA\tABCDE
u\t4\t*\t0\t0\t*\t*\t0\t0\tACGTA\tABCDE
";

/// Runs a line; returns what it prints.
fn printed(line: &str) -> String {
    let done = readmill(words(line));
    assert_eq!(done.code, Some(0), "{line}: {}", done.stderr);
    String::from_utf8(done.stdout).expect("text")
}

/// Lines of one contig, from a position on, by their depths.
fn lines(contig: &str, first: usize, depths: &str) -> String {
    let each = depths.split(' ').enumerate();
    each.map(|(n, depth)| format!("{contig}\t{}\t{depth}\n", first + n)).collect()
}

#[test]
fn depths_of_a_small_file_are_those_of_samtools() {
    let dir = TestDir::new();
    let input = arg(&dir.file("in.sam", READS));
    let depth = |options: &str| printed(&format!("depth {options} {input}"));
    let (first, second) = ("1 1 1 1 2 2 2 2 2 3 2 2 1 1 1 2 1 1 1 1", "1 1 1 1 1 1 1 1 1 1");
    let all = lines("c1", 5, first) + &lines("c1", 36, second) + "c2\t3\t0\n";
    assert_eq!(depth(""), all);
    let with_deletions = "1 1 1 1 2 2 2 3 3 3 2 2 1 1 1 2 1 1 1 1";
    assert_eq!(depth("-J"), lines("c1", 5, with_deletions) + &lines("c1", 36, second) + "c2\t3\t0\n");
    let once = "1 1 1 1 1 1 1 2 2 2 2 2 1 1 1 2 1 1 1 1";
    assert_eq!(depth("-s"), lines("c1", 5, once) + &lines("c1", 36, second) + "c2\t3\t0\n");
    let of_good_bases = "1 1 1 1 1 2 2 1 1 2 2 2 1 1 1 2 1 1 1 1";
    let text = depth("-q 35 -G DUP");
    assert!(text.starts_with(&lines("c1", 5, of_good_bases)), "{text}");
    let of_c2 = "c2\t1\t0\nc2\t2\t0\nc2\t3\t0\n";
    let text = depth("-a");
    assert!(
        text.starts_with("c1\t1\t0\n") && text.contains(of_c2) && text.ends_with("c2\t20\t0\n"),
        "{text}"
    );
    assert!(depth("-aa").ends_with("c3\t15\t0\n"));
    let beds = dir.file("beds", "c1\t0\t3\nc1 9\nc9\t3\t4\n");
    let some = "c1\t1\t0\nc1\t2\t0\nc1\t3\t0\nc1\t9\t2\n";
    assert_eq!(depth(&format!("-a -b {}", arg(&beds))), some);
    let two = printed(&format!("depth -H --allow-same-input {input} {input}"));
    assert!(two.starts_with(&format!("#CHROM\tPOS\t{input}\t{input}\nc1\t5\t1\t1\n")), "{two}");
}

#[test]
fn tables_of_a_small_file_are_those_of_samtools() {
    let dir = TestDir::new();
    let input = arg(&dir.file("in.sam", READS));
    let sorted = arg(&dir.path("in.bam"));
    assert_eq!(readmill(["sort", &input, "-o", &sorted]).code, Some(0));
    let head =
        "#rname\tstartpos\tendpos\tnumreads\tcovbases\tcoverage\tmeandepth\tmeanbaseq\tmeanmapq\n";
    let c1 = "c1\t1\t40\t4\t25\t62.5\t0.875\t98.5\t45\n";
    let others = "c2\t1\t20\t1\t0\t0\t0\t0\t30\nc3\t1\t15\t0\t0\t0\t0\t0\t0\n";
    assert_eq!(printed(&format!("coverage {input}")), [head, c1, others].concat());
    assert_eq!(printed(&format!("coverage -H {sorted}")), [c1, others].concat());
    let region = printed(&format!("coverage -r c1:5-100 {sorted}"));
    assert_eq!(region, [head, "c1\t5\t100\t4\t30\t31.25\t0.416667\t91\t45\n"].concat());
    let empty = printed(&format!("samtools coverage -H -r c3 {sorted}"));
    assert_eq!(empty, "c3\t1\t15\t0\t0\t0\t0\t0\t0\n");
    let depths = printed(&format!("samtools depth -a -r c1:38-100 {sorted}"));
    assert_eq!(depths, lines("c1", 38, "1 1 1 1 1 1 1 1"));
}

#[test]
fn histograms_are_those_of_samtools() {
    let dir = TestDir::new();
    let input = arg(&dir.file("in.sam", READS));
    let shares = "\
c1 (40bp)
>  90.00% |  ::::::::::      ::| Number of reads: 4
>  80.00% |  ::::::::::      ::| 
>  70.00% |  ::::::::::      ::| Covered bases:   25bp
>  60.00% |  ::::::::::      ::| Percent covered: 62.5%
>  50.00% |  ::::::::::      ::| Mean coverage:   0.875x
>  40.00% |  ::::::::::     :::| Mean baseQ:      98.5
>  30.00% |  ::::::::::     :::| Mean mapQ:       45
>  20.00% |  ::::::::::     :::| 
>  10.00% |  ::::::::::     :::| Histo bin width: 2bp
>   0.00% |  ::::::::::     :::| Histo max bin:   100%
          1         20         40   
";
    assert_eq!(printed(&format!("coverage -A -w 20 {input}")), shares);
    let depths = "\
c1 (40bp)
>     2.0 │  █     │ Number of reads: 4
>     1.8 │  █     │ 
>     1.5 │  █     │ Covered bases:   25bp
>     1.3 │ ▃█▃    │ Percent covered: 62.5%
>     1.1 │ ███    │ Mean coverage:   0.875x
>     0.9 │ ███   ▄│ Mean baseQ:      98.5
>     0.7 │ ███▅  █│ Mean mapQ:       45
>     0.4 │ ████  █│ 
>     0.2 │ ████  █│ Histo bin width: 5bp
>     0.0 │▇████  █│ Histo max cov:   2.2
          1                 40   
";
    assert_eq!(printed(&format!("samtools coverage -D -w 8 {input}")), depths);
}

#[test]
fn what_cannot_be_counted_is_refused_with_the_way_out() {
    let dir = TestDir::new();
    let header = "@SQ\tSN:a\tLN:90\n@SQ\tSN:b\tLN:90\n";
    let read = |contig: &str, place: u32, cigar: &str| {
        format!("r\t0\t{contig}\t{place}\t9\t{cigar}\t*\t0\t0\tACGTA\tIIIII\n")
    };
    let file = |name: &str, text: String| arg(&dir.file(name, text));
    let good = file("good.sam", format!("{header}{}", read("a", 5, "5M")));
    let back = file("back.sam", format!("{header}{}{}", read("a", 5, "5M"), read("a", 4, "5M")));
    let other = file("other.sam", format!("@SQ\tSN:a\tLN:91\n@SQ\tSN:b\tLN:90\n{}", read("a", 5, "5M")));
    let moved = file("moved.sam", format!("{header}{}", read("a", 5, "3M1B2M")));
    let bed = file("bad.bed", "a\t9\t5\n".into());
    let list = file("list", "\n".into());
    for (line, code, message) in [
        (format!("depth {back}"), 2, "back.sam"),
        (format!("coverage {back}"), 2, "readmill sort"),
        (format!("depth {good} {other}"), 1, "different contigs"),
        (format!("depth {good} {good}"), 1, "given twice"),
        (format!("depth -r a:1-5 {good}"), 1, "cannot have an index"),
        (format!("coverage -r . {good}"), 1, ""),
        (format!("depth {moved}"), 2, "operator B"),
        (format!("depth -b {bed} {good}"), 2, "ends (5) before it starts (9)"),
        (format!("depth -f {list}"), 1, "contains no file names"),
        (format!("depth -X {good}"), 1, "one index file for each input"),
        (format!("depth -g DUP -G 0x400 {good}"), 1, "-g and -G"),
        (format!("depth --memory 20M {good}"), 1, "at least -m"),
        (format!("samtools depth -f {list} -X {good}"), 1, "exclude each other"),
        ("samtools depth --input-fmt-option level=1 x.bam".into(), 1, "--input-fmt-option"),
        ("samtools coverage".into(), 1, "no input"),
    ] {
        let output = dir.path("out");
        let named = if line.starts_with("samtools") {
            line.clone()
        } else {
            format!("{line} -o {}", arg(&output))
        };
        let done = readmill(words(&named));
        assert_eq!(done.code, Some(code), "{line}: {}", done.stderr);
        assert!(done.stderr.contains(message), "{line}: {}", done.stderr);
        assert!(!output.exists(), "{line}");
    }
}

/// samtools bedcov 1.24 gives these numbers; the file of regions is read once, so it may be a pipe, with an index or without.
#[test]
fn bases_of_regions_are_summed_and_regions_may_come_from_a_pipe() {
    let dir = TestDir::new();
    let reads = arg(&dir.file("in.sam", READS));
    let sorted = arg(&dir.path("sorted.bam"));
    assert_eq!(readmill(words(&format!("sort {reads} -o {sorted} -q"))).code, Some(0));
    let bed = arg(&dir.file("regions.bed", "c1\t4\t14\tone\nc2\t0\t20\tnone\n"));
    let wanted = "c1\t4\t14\tone\t19\nc2\t0\t20\tnone\t0\n";
    assert_eq!(printed(&format!("bedcov {bed} {sorted}")), wanted);
    let program = env!("CARGO_BIN_EXE_readmill");
    for input in [&reads, &sorted] {
        let line = format!("cat {bed} | {program} bedcov /dev/stdin {input} {input} --allow-same-input");
        let done = finish(Command::new("sh").args(["-c", &line]));
        let text = String::from_utf8_lossy(&done.stdout).into_owned();
        assert_eq!(text, "c1\t4\t14\tone\t19\t19\nc2\t0\t20\tnone\t0\t0\n", "{}", done.stderr);
    }
}

/// Tests that take more than ten seconds, which `./dev nightly` runs.
mod slow {
    use super::*;

    #[test]
    #[ignore = "slow: ./dev nightly runs it"]
    fn text_does_not_depend_on_resources_or_the_form_of_the_input() {
        let dir = TestDir::new();
        let path = |name: &str| arg(&dir.path(name));
        let input = arg(&dir.file("in.bam", bgzip(&sample(6_000))));
        for (name, options) in [
            ("a.bam", "-l 1"),
            ("b.bam", "-l 1 --subsample 0.3"),
            ("a.sam", ""),
            ("a.cram", "-O cram,no-ref"),
        ] {
            let made =
                readmill(words(&format!("prep {input} --sort coordinate -o {} {options}", path(name))));
            assert_eq!(made.code, Some(0), "{}", made.stderr);
        }
        let little = ["-@ 1 --memory 64M", "-@ 2 --memory 96M", "-@ 8 --memory 1G"];
        // (Qualities by position take more.)
        let more = ["-@ 1 --memory 192M", "-@ 3 --memory 400M", "-@ 8 --memory 1G"];
        for (options, all_resources) in [
            ("depth", little),
            ("depth -aa -J -q 15", little),
            ("depth -s", little),
            ("coverage -d 9", little),
            ("coverage -Q 20 --min-depth 4 -d 5", more),
        ] {
            let first = printed(&format!("{options} {} -@ 1", path("a.bam")));
            assert!(first.len() > 200);
            for (resources, file) in all_resources.into_iter().zip(["a.sam", "a.cram", "a.bam"]) {
                let line = format!("{options} {} {resources}", path(file));
                assert!(printed(&line) == first, "{line}");
            }
            let both = |file: &str, resources: &str| {
                printed(&format!("{options} {} {} {resources}", path(file), path("b.bam")))
            };
            let two = both("a.bam", all_resources[0]);
            assert!(two == both("a.cram", all_resources[2]) && two != first, "{options}");
            let output = path("out.txt");
            printed(&format!("{options} {} -o {output}", path("a.bam")));
            assert!(fs::read_to_string(&output).expect("the output") == first, "{options}");
            let mut piped = Command::new(env!("CARGO_BIN_EXE_readmill"));
            piped.args(words(options)).arg("-").stderr(Stdio::null());
            piped.stdin(fs::File::open(dir.path("a.bam")).expect("the input"));
            assert!(piped.output().expect("a run").stdout == first.as_bytes(), "{options}");
        }
    }
}
