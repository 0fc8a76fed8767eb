//! Standard streams that are closed: nothing is lost without an error, and no file gets the number of a stream.

use crate::faults::fixtures::{TestFolders, bam, many};
use crate::faults::outputs::folders_with;

const FAIL: &str = "standard output cannot be written: the stream is closed";

#[test]
fn a_closed_standard_output_is_an_error() {
    let folders = folders_with(100);
    folders.readmill(["sort", "in/x.bam", "-o", "in/s.bam"]).succeeds();
    folders.readmill(["fingerprint", "compare", "--help"]).succeeds();
    folders.input("r.fa", format!(">chr1\n{}\n", "A".repeat(1000)));
    folders.input("r.bed", "chr1\t0\t9\n");
    for words in [
        "view in/x.bam",
        "view -c in/x.bam",
        "view -H in/x.bam",
        "sort in/x.bam",
        "markdup in/x.bam",
        "filter in/x.bam --drop-unmapped",
        "prep in/x.bam --drop-unmapped",
        "fastq in/x.bam",
        "flagstat in/x.bam",
        "idxstats in/s.bam",
        "stats in/x.bam",
        "depth in/s.bam",
        "coverage in/s.bam",
        "bedcov in/r.bed in/s.bam",
        "checksum in/x.bam",
        "head in/x.bam",
        "cat in/x.bam",
        "dict in/r.fa",
        "faidx in/r.fa chr1",
        "compare in/x.bam in/x.bam",
        "sort in/x.bam -o out/x.bam --flagstat -",
        "samtools view in/x.bam",
        "samtools --version",
        "picard --help",
        "--version",
        "--help",
        "sort --help",
    ] {
        let ended = folders.run(&mut folders.shell(&format!("\"$0\" {words} >&-")));
        assert_eq!(ended.status.code(), Some(3), "{words}: {}", ended.stderr);
        assert!(ended.stderr.contains(FAIL), "{words}: {}", ended.stderr);
        assert_eq!(folders.left(), [""; 0], "{words}");
    }
}

#[test]
fn a_closed_standard_input_is_an_error_where_it_is_read() {
    let folders = folders_with(100);
    for words in
        ["view -", "sort - -o out/x.bam", "flagstat -", "head -", "import - -o out/x.bam", "depth -"]
    {
        let ended = folders.run(&mut folders.shell(&format!("\"$0\" {words} <&-")));
        ended.fails(3, &["standard input cannot be read: the stream is closed"]);
        assert_eq!(folders.left(), [""; 0], "{words}");
    }
}

/// The first files that are opened would have the numbers of closed streams.
#[test]
fn files_are_whole_whatever_streams_are_closed() {
    for closed in ["<&-", ">&-", "2>&-", "<&- >&-", "<&- 2>&-", ">&- 2>&-", "<&- >&- 2>&-"] {
        let folders = folders_with(3_000);
        let args = "sort in/x.bam -o out/x.bam --flagstat out/x.txt -v";
        let ended = folders.run(&mut folders.shell(&format!("\"$0\" {args} {closed}")));
        assert_eq!(ended.status.code(), Some(0), "{closed}: {}", ended.stderr);
        assert_eq!(folders.lines(&folders.out("x.bam")).len(), 3_000, "{closed}");
        let text = std::fs::read_to_string(folders.out("x.txt")).unwrap();
        assert!(text.starts_with("3000 + 0 in total"), "{closed}: {text}");
        assert_eq!(folders.left(), ["x.bam", "x.bam.bai", "x.txt"], "{closed}");
    }
}

/// `ulimit -v`, and h_vmem of SGE: what does not fit is refused at the start, with the number that does.
#[test]
fn memory_beyond_the_limit_of_the_address_space_is_refused() {
    let folders = TestFolders::new();
    folders.input("x.bam", bam(&many(3_000, 200)));
    folders.readmill(["sort", "in/x.bam", "-o", "in/s.bam"]).succeeds();
    let run = |limit: &str, words: &str| {
        folders.run(
            &mut folders
                .shell(&format!("ulimit -v {limit}; export READMILL_THREADS=1; exec \"$0\" {words}")),
        )
    };
    for words in [
        "sort in/x.bam -o out/x.bam",
        "flagstat in/x.bam",
        "index in/s.bam",
        "cat in/x.bam -o out/x.bam",
    ] {
        let ended = run("1000000", &format!("{words} -m 2G"));
        assert_eq!(ended.status.code(), Some(1), "{words}: {}", ended.stderr);
        let told = ended.stderr.split("use -m ").nth(1).and_then(|text| text.split(' ').next());
        let told = told.unwrap_or_else(|| panic!("{words}: {}", ended.stderr)).to_string();
        assert_eq!(folders.left(), [""; 0], "{words}");
        run("1000000", &format!("{words} -m {told}")).succeeds();
        run("1000000", words).succeeds();
        for name in folders.left() {
            std::fs::remove_file(folders.out(&name)).unwrap();
        }
    }
}
