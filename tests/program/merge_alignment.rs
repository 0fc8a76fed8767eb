//! Alignments put onto reads that were not aligned. What other tools give is compared by `./dev parity`.

use std::process::Command;

use crate::support::{ProgramRun, TestDir, arg, finish, readmill, records};

const READS: &str = "@HD\tVN:1.6\tSO:queryname\n@RG\tID:g\tSM:s\n\
a\t77\t*\t0\t0\t*\t*\t0\t0\tAACCGGTTAC\tABCDEFGHIJ\tRG:Z:g\tRX:Z:AC\n\
a\t141\t*\t0\t0\t*\t*\t0\t0\tGTTTTTTTTT\tABCDEFGHIJ\tRG:Z:g\tOQ:Z:abcdefghij\n\
b\t77\t*\t0\t0\t*\t*\t0\t0\tAAAA\tIIII\tRG:Z:g\n\
b\t141\t*\t0\t0\t*\t*\t0\t0\tCCCC\tIIII\tRG:Z:g\n\
c\t77\t*\t0\t0\t*\t*\t0\t0\tAAAACCCC\tIIIIIIII\tXT:i:5\n\
c\t141\t*\t0\t0\t*\t*\t0\t0\tCCCC\tIIII\n";

const HEADER: &str = "@SQ\tSN:x\tLN:1000\n@PG\tID:al\tPN:al\n";

/// Alignments of `a`, the first read with a supplementary one, and of one end of `c`.
const A: &str = "a\t99\tx\t101\t60\t10M\t=\t201\t110\tAACCGGTTAC\tABCDEFGHIJ\tNM:i:0\tXS:i:3\n\
a\t2147\tx\t501\t20\t6H4M\t=\t201\t-300\tTTAC\tGHIJ\tNM:i:1\n\
a\t147\tx\t201\t50\t8M\t=\t101\t-110\tAAAAAAAA\tJIHGFEDC\tNM:i:2\n";
const C: &str = "c\t73\tx\t301\t60\t8M\t=\t301\t0\tAAAACCCC\tIIIIIIII\n\
c\t133\tx\t301\t0\t*\t=\t301\t0\tCCCC\tIIII\n";

fn run(words: &[&str]) -> ProgramRun {
    let all = ["merge-alignment"].iter().chain(words);
    readmill(all.chain(&["-O", "sam", "-o", "-", "--no-PG"]))
}

fn merged(words: &[&str]) -> String {
    let run = run(words);
    assert_eq!(run.code, Some(0), "{words:?}: {}", run.stderr);
    String::from_utf8(run.stdout).expect("text")
}

#[test]
fn records_keep_their_fields_and_get_the_alignment() {
    let dir = TestDir::new();
    let reads = arg(&dir.file("u.sam", READS));
    let aligned = arg(&dir.file("a.sam", [HEADER, A, C].concat()));
    let expected = "@HD\tVN:1.6\tSO:unsorted\tGO:query\n@SQ\tSN:x\tLN:1000\n@RG\tID:g\tSM:s\n@PG\tID:al\tPN:al\n\
a\t99\tx\t101\t60\t10M\t=\t201\t108\tAACCGGTTAC\tABCDEFGHIJ\tRG:Z:g\tRX:Z:AC\tPG:Z:al\tNM:i:0\tMQ:i:50\tMC:Z:2S8M\n\
a\t147\tx\t201\t50\t2S8M\t=\t101\t-108\tAAAAAAAAAC\tJIHGFEDCBA\tRG:Z:g\tOQ:Z:jihgfedcba\tPG:Z:al\tNM:i:2\tMQ:i:60\tMC:Z:10M\n\
a\t2147\tx\t501\t20\t6S4M\t=\t201\t108\tAACCGGTTAC\tABCDEFGHIJ\tRG:Z:g\tRX:Z:AC\tPG:Z:al\tNM:i:1\tMC:Z:2S8M\tMQ:i:50\n\
b\t77\t*\t0\t0\t*\t*\t0\t0\tAAAA\tIIII\tRG:Z:g\tPG:Z:al\n\
b\t141\t*\t0\t0\t*\t*\t0\t0\tCCCC\tIIII\tRG:Z:g\tPG:Z:al\n\
c\t73\tx\t301\t60\t4M4S\t=\t301\t0\tAAAACCCC\tIIIIIIII\tXT:i:5\tPG:Z:al\n\
c\t133\tx\t301\t0\t*\t=\t301\t0\tCCCC\tIIII\tPG:Z:al\tMQ:i:60\tMC:Z:4M4S\n";
    assert_eq!(merged(&[&reads, &aligned]), expected);
    let other = merged(&[
        &reads,
        &aligned,
        "--aligned-only",
        "--no-clip-adapters",
        "--no-program-field",
        "--keep-fields",
        "XS",
    ]);
    assert_eq!(records(&other).len(), 5);
    assert!(records(&other)[0].ends_with("NM:i:0\tXS:i:3\tMQ:i:50\tMC:Z:2S8M"), "{other}");
    assert!(records(&other)[3].contains("\t8M\t"), "{other}");
}

#[test]
fn an_end_with_two_alignments_keeps_both_where_its_mate_has_none() {
    let dir = TestDir::new();
    let reads = arg(&dir.file("u.sam", READS));
    let b = "b\t329\tx\t1\t20\t4M\t=\t1\t0\tAAAA\tIIII\nb\t73\tx\t51\t30\t4M\t=\t51\t0\tAAAA\tIIII\n";
    let aligned = arg(&dir.file("b.sam", [HEADER, b].concat()));
    let shown = |more: &[&str]| {
        let text = merged(&[&[&*reads, &*aligned], more].concat());
        let of_b = records(&text).into_iter().filter(|line| line.starts_with("b\t"));
        of_b.map(|line| line.split('\t').take(9).collect::<Vec<_>>().join(" ")).collect::<Vec<_>>()
    };
    let expected = ["b 329 x 1 20 4M = 1 0", "b 73 x 51 30 4M = 51 0", "b 133 x 51 0 * = 51 0"];
    assert_eq!(shown(&[]), expected);
    assert_eq!(shown(&["--primary", "best-end-mapq", "--no-secondary"]), expected[1..]);
}

#[test]
fn alignments_in_another_order_are_sorted_first() {
    let dir = TestDir::new();
    let reads = arg(&dir.file("u.sam", READS));
    let straight = arg(&dir.file("a.sam", [HEADER, A, C].concat()));
    let expected = merged(&[&reads, &straight]);
    let by_place = format!("@HD\tVN:1.6\tSO:coordinate\n{HEADER}{A}{C}");
    for (name, text) in [("o.sam", [HEADER, C, A].concat()), ("s.sam", by_place)] {
        let other = arg(&dir.file(name, text));
        let output = dir.path("out.sam");
        let run = readmill(["merge-alignment", &reads, &other, "--no-PG", "-o", &arg(&output)]);
        assert_eq!(run.code, Some(0), "{name}: {}", run.stderr);
        assert!(run.stderr.contains("sorting it by name first"), "{name}: {}", run.stderr);
        assert_eq!(std::fs::read_to_string(output).expect("the output"), expected, "{name}");
    }
    // A read that is missing is named with the file that was given.
    let lacking = READS.lines().filter(|line| !line.starts_with("c\t"));
    let lacking: String = lacking.map(|line| format!("{line}\n")).collect();
    let lacking = arg(&dir.file("lacking.sam", lacking));
    let other = arg(&dir.file("o.sam", [HEADER, C, A].concat()));
    let run = readmill(["merge-alignment", &lacking, &other, "-o", &arg(&dir.path("out.sam"))]);
    assert_eq!(run.code, Some(2), "{}", run.stderr);
    let what = format!("{lacking} lacks the read of this alignment");
    assert!(run.stderr.contains(&what) && run.stderr.contains(&other), "{}", run.stderr);
    assert!(!run.stderr.contains("/dev/fd") && !run.stderr.contains("record "), "{}", run.stderr);
    // Standard input is read once.
    let other = arg(&dir.file("o.sam", [HEADER, C, A].concat()));
    let line = format!(
        "exec '{}' merge-alignment '{reads}' - -o - < '{other}'",
        env!("CARGO_BIN_EXE_readmill")
    );
    let pipe = finish(Command::new("sh").args(["-c", &line]));
    assert_eq!(pipe.code, Some(2));
    assert!(
        pipe.stderr.contains("(read a)") && pipe.stderr.contains("--sort queryname"),
        "{}",
        pipe.stderr
    );
}

#[test]
fn what_does_not_fit_is_an_error() {
    let dir = TestDir::new();
    let reads = arg(&dir.file("u.sam", READS));
    let says = |aligned: &str, what: &str| {
        let aligned = arg(&dir.file("wrong.sam", [HEADER, aligned].concat()));
        let run = run(&[&reads, &aligned]);
        assert_eq!(run.code, Some(2), "{what}: {}", run.stderr);
        assert!(run.stderr.contains(what), "{what}: {}", run.stderr);
    };
    says(
        "zz\t0\tx\t1\t60\t4M\t*\t0\t0\tAAAA\tIIII\n",
        "the unaligned read of this alignment is missing",
    );
    says(
        "b\t73\tx\t1\t60\t5M\t=\t1\t0\tAAAAA\tIIIII\n",
        "the alignment has 5 bases, but the read has 4",
    );
    says(
        "b\t0\tx\t1\t60\t4M\t*\t0\t0\tAAAA\tIIII\n",
        "the read is a pair, but aligned as a single read",
    );
    let mapped =
        READS.replace("b\t77\t*\t0\t0\t*", "b\t73\tx\t5\t0\t4M").replace("@RG", "@SQ\tSN:x\tLN:9\n@RG");
    let mapped = arg(&dir.file("mapped.sam", &mapped));
    let aligned = arg(&dir.file("a.sam", [HEADER, A, C].concat()));
    assert!(run(&[&mapped, &aligned]).stderr.contains("the read is already aligned"));
    let lone = READS.replace("b\t141\t*\t0\t0\t*\t*\t0\t0\tCCCC\tIIII\tRG:Z:g\n", "");
    let lone = arg(&dir.file("lone.sam", &lone));
    assert!(run(&[&lone, &aligned]).stderr.contains("the mate is missing"));
    let none = readmill(["merge-alignment", &reads, "-o", "-"]);
    assert_eq!(none.code, Some(1), "{}", none.stderr);
}

#[test]
fn neither_threads_nor_memory_change_the_output() {
    let dir = TestDir::new();
    let (mut reads, mut aligned) =
        (READS[..READS.find("a\t77").unwrap_or(0)].to_string(), HEADER.to_string());
    for number in 0..20_000 {
        let name = format!("n{number:05}");
        reads += &format!("{name}\t4\t*\t0\t0\t*\t*\t0\t0\tAAAACCCCGG\tIIIIIIIIII\tRG:Z:g\n");
        for hit in 0..number % 4 {
            let flags = if hit == 0 { 0 } else { 256 };
            let place = (number * 7 + hit * 13) % 900 + 1;
            aligned += &format!(
                "{name}\t{flags}\tx\t{place}\t0\t10M\t*\t0\t0\tAAAACCCCGG\tIIIIIIIIII\tHI:i:{hit}\n"
            );
        }
    }
    let [reads, aligned] = [arg(&dir.file("u.sam", &reads)), arg(&dir.file("a.sam", &aligned))];
    let base = ["merge-alignment", &reads, &aligned, "--primary", "best-end-mapq", "-o"];
    let output = |name: &str, more: &[&str]| {
        let path = dir.path(name);
        let path_text = arg(&path);
        let run = readmill(base.iter().chain(&[&*path_text]).chain(more));
        assert_eq!(run.code, Some(0), "{more:?}: {}", run.stderr);
        std::fs::read(path).expect("the output")
    };
    let [one, in_min_memory] =
        [output("1.bam", &["-@", "1"]), output("m.bam", &["-@", "8", "-m", "300M"])];
    assert!(one == in_min_memory && one == output("8.bam", &["-@", "8"]), "unsorted");
    let sorted = output("s1.bam", &["-@", "1", "--sort", "coordinate"]);
    assert!(sorted == output("s4.bam", &["-@", "4", "--sort", "coordinate"]), "sorted");
}

/// Guards against a former defect: reads from a pipe were read on by a second run.
#[test]
fn alignments_in_another_order_are_not_sorted_where_reads_come_from_a_pipe() {
    let dir = TestDir::new();
    let reads = arg(&dir.file("u.sam", READS));
    let header = format!("@HD\tVN:1.6\tSO:coordinate\n{HEADER}");
    let aligned = arg(&dir.file("a.sam", [&header, A, C].concat()));
    let line = format!(
        "cat {reads} | {} merge-alignment - {aligned} -O sam -o -",
        env!("CARGO_BIN_EXE_readmill")
    );
    let pipe = finish(Command::new("sh").args(["-c", &line]));
    assert_eq!(pipe.code, Some(2), "{}", pipe.stderr);
    assert!(
        !pipe.stderr.contains("sorting it by name first") && pipe.stderr.contains("readmill sort"),
        "{}",
        pipe.stderr
    );
}
