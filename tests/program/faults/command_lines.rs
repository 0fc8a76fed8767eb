//! Impossible requests, which end with exit code 1 and a message with a way out; and command lines as users of other tools
//! write them: readmill does or names what was meant, and never does something else.

use std::os::unix::fs::symlink;

use crate::faults::fixtures::{TestFolders, bam, many};

/// Asserts a refusal with exit code 1 and these words, without output. `IN` and `OUT` stand for files.
#[track_caller]
pub fn request_is_refused(args: &str, words: &[&str]) {
    let folders = TestFolders::new();
    folders.input("x.bam", bam(&many(10, 100)));
    let args = args.replace("IN", "in/x.bam").replace("OUT", "out/x");
    folders.readmill(args.split_whitespace()).fails(1, words);
    assert_eq!(folders.left(), [""; 0], "{args}");
}

#[test]
fn flags_that_do_not_exist_or_make_no_sense() {
    request_is_refused("sort IN -o OUT.bam --no-such-flag", &["--no-such-flag"]);
    request_is_refused("no-such-command IN", &["no-such-command"]);
    request_is_refused("sort IN -o OUT.bam -@ -1", &["-1"]);
    request_is_refused("sort IN -o OUT.bam -@ many", &["many"]);
    request_is_refused("sort IN -o OUT.bam -l 13", &["13"]);
    request_is_refused("sort IN -o OUT.bam -u -l 3", &["--uncompressed"]);
    request_is_refused("sort - IN - -o OUT.bam", &["standard input", "once"]);
    request_is_refused("sort IN -o OUT.sam --codec zlib", &["works only with BAM", "--codec"]);
    request_is_refused("sort IN -o OUT.bam --codec gzip", &["gzip", "libdeflate"]);
    request_is_refused("sort IN -o OUT.bam --spill-codec xz", &["xz", "lz4"]);
    request_is_refused("sort IN -n -N -o OUT.bam", &["--natural"]);
    request_is_refused("sort IN -t toolong -o OUT.bam", &["toolong"]);
    request_is_refused("prep IN -o OUT.bam --sort", &["--sort"]);
    request_is_refused("prep IN -o OUT.bam --sort sideways", &["sideways"]);
    request_is_refused("split -o OUT", &["required"]);
}

#[test]
fn a_bin_size_is_no_memory_limit() {
    request_is_refused("index IN -m 31", &["31 bytes are too few", "1 to 30", "64M"]);
    request_is_refused("index IN -m 768", &["768"]);
}

#[test]
fn what_cannot_be_joined_or_is_missing_is_named() {
    let folders = TestFolders::new();
    folders.input("x.bam", bam(&many(10, 100)));
    folders.input("s.sam", "@HD\tVN:1.6\n@SQ\tSN:chr1\tLN:1000000\n");
    let missing = folders.readmill(["cat", "in/x.bam", "in/none.bam", "-o", "out/x.bam"]);
    missing.fails(3, &["in/none.bam", "No such file"]);
    assert!(!missing.stderr.contains("pipe") && !missing.stderr.contains("merge"), "{}", missing.stderr);
    let text = folders.readmill(["cat", "in/s.sam", "in/x.bam", "-o", "out/x.bam"]);
    text.fails(2, &["in/s.sam: this is SAM", "readmill merge"]);
    let twice = folders.readmill(["report", "in/r.json", "in/r.json", "-o", "out/r.html"]);
    twice.fails(1, &["in/r.json is given twice"]);
    assert_eq!(folders.left(), [""; 0]);
}

#[test]
fn a_region_behind_the_end_of_its_contig_is_cut_with_a_warning() {
    let folders = TestFolders::new();
    folders.input("r.fa", ">c1\nACGTACGT\n");
    for (region, text, warning) in [
        ("c1:5-8", ">c1:5-8\nACGT\n", ""),
        ("c1:5-", ">c1:5-\nACGT\n", ""),
        ("c1:5-30", ">c1:5-30\nACGT\n", "c1:5-30 is cut short, because the contig has 8 bases"),
        ("c1:20-30", ">c1:20-30\n", "c1:20-30 has no bases, because the contig has 8 bases"),
    ] {
        let done = folders.readmill(["faidx", "in/r.fa", region, "-o", "out/r.fa"]);
        done.succeeds();
        assert_eq!(std::fs::read_to_string(folders.out("r.fa")).unwrap(), text);
        assert_eq!(done.stderr.contains("warning"), !warning.is_empty(), "{}", done.stderr);
        assert!(done.stderr.contains(warning), "{}", done.stderr);
    }
}

#[test]
fn an_index_needs_a_sorted_bam_file() {
    request_is_refused("prep IN -o OUT.bam --write-index", &["index", "--sort coordinate"]);
    request_is_refused("sort IN -o OUT.sam --write-index", &["this format", "write BAM or CRAM"]);
    request_is_refused("markdup IN -o OUT.bam --write-index=csi", &["index"]);
    request_is_refused("sort IN --write-index", &["index", "-o"]);
    request_is_refused("sort IN -o OUT.bam --write-index --no-index", &["--no-index"]);
}

#[test]
fn parts_are_files_of_bam_in_an_order_that_is_known() {
    request_is_refused("sort IN --out-parts 2", &["standard output", "give a file name", "-o"]);
    request_is_refused("sort IN -o - --out-parts 2", &["standard output", "-o"]);
    for format in ["sam", "sam.gz", "cram"] {
        request_is_refused(
            &format!("sort IN -o OUT.{format} --out-parts 2"),
            &["only BAM", "--out-parts"],
        );
        request_is_refused(
            &format!("sort IN -o OUT -O {format} --out-parts 2"),
            &["only BAM", "--out-parts"],
        );
    }
    request_is_refused(
        "filter IN -o OUT.bam --out-parts 2",
        &["sorts reads or marks duplicates", "readmill prep", "--out-parts"],
    );
    request_is_refused(
        "prep IN -o OUT.bam --drop-unmapped --out-parts 2",
        &["sorts reads or marks duplicates", "--out-parts"],
    );
    request_is_refused(
        "split IN -o OUT --by read-group --out-parts 2",
        &["no main output", "--out-parts"],
    );
    for number in ["0", "257", "-1", "many"] {
        request_is_refused(&format!("sort IN -o OUT.bam --out-parts={number}"), &[number]);
    }
    request_is_refused("sort IN -o OUT.bam --out-parts 2 --stats OUT.bam", &["two outputs"]);
    request_is_refused("sort IN -o OUT.bam --out-parts 2 --stats OUT.bam.part-002", &["two outputs"]);
    request_is_refused("sort IN -o OUT.bam --out-parts 2 --stats OUT.bam.bai", &["index of another"]);
}

#[test]
fn umis_and_barcodes() {
    for source in ["nonsense", "RX", "tag:", "tag:RXX", "name:ab", "inline:0", "inline:30+30"] {
        request_is_refused(&format!("markdup IN -o OUT.bam --umi {source}"), &["--umi", source]);
    }
    for barcode in ["--barcode-tag", "--read-one-barcode-tag", "--read-two-barcode-tag"] {
        request_is_refused(
            &format!("markdup IN -o OUT.bam --umi tag:RX {barcode} BX"),
            &["--umi", barcode],
        );
        request_is_refused(&format!("markdup IN -o OUT.bam {barcode} toolong"), &[barcode, "toolong"]);
    }
    request_is_refused(
        "markdup IN -o OUT.bam --umi tag:RX --umi-method nearest",
        &["--umi-method", "nearest"],
    );
    request_is_refused("markdup IN -o OUT.bam --umi tag:RX --umi-edits=-1", &["--umi-edits", "-1"]);
    request_is_refused(
        "markdup IN -o OUT.bam --umi tag:RX --molecule-tag 1X",
        &["--molecule-tag", "1X"],
    );
    for alone in ["--molecule-tag MI", "--umi-method exact", "--umi-edits 2"] {
        request_is_refused(&format!("markdup IN -o OUT.bam {alone}"), &["required"]);
    }
    for alone in ["--duplex-umi", "--molecular-identifier-tag MI"] {
        request_is_refused(&format!("markdup IN -o OUT.bam {alone}"), &["required"]);
    }
}

#[test]
fn how_optical_duplicates_are_found() {
    request_is_refused(
        "markdup IN -o OUT.bam --read-names ([0-9]+",
        &["--read-names", "unclosed group"],
    );
    request_is_refused("markdup IN -o OUT.bam --read-names ([0-9]+):.*", &["fewer than three groups"]);
    request_is_refused("markdup IN -o OUT.bam --read-names (?=x)(.)(.)(.)", &["look-around"]);
    for distance in ["far", "1.5", "99999999999"] {
        request_is_refused(
            &format!("markdup IN -o OUT.bam --optical-distance {distance}"),
            &[distance, "auto"],
        );
    }
    request_is_refused("markdup IN -o OUT.bam --max-optical-set-size many", &["many"]);
    for wanted in ["--optical-only", "--optical-single"] {
        for without in ["--read-names null", "--optical-distance off"] {
            let words = ["a flag needs optical duplicates", "--read-names null"];
            request_is_refused(&format!("markdup IN -o OUT.bam {wanted} {without}"), &words);
        }
    }
    request_is_refused("markdup IN -o OUT.bam --tag-duplicates some", &["--tag-duplicates", "some"]);
    request_is_refused("markdup IN -o OUT.bam --scoring-strategy best", &["--scoring-strategy", "best"]);
}

#[test]
fn how_duplicates_are_marked_where_none_are() {
    for flags in [
        "--duplicate-mode template",
        "--metrics OUT.txt",
        "--metrics-json OUT.json",
        "--tag-duplicates all",
        "--tag-duplicate-set-members",
        "--keep-dt",
        "--optical-only",
        "--optical-single",
        "--optical-distance 2500",
        "--optical-distance auto",
        "--optical-distance off",
        "--read-names full",
        "--max-optical-set-size 5",
        "--scoring-strategy random",
        "--umi tag:RX",
        "--barcode-tag RX",
        "--CLEAR_DT false",
        "--TAG_DUPLICATE_SET_MEMBERS true",
    ] {
        request_is_refused(
            &format!("prep IN -o OUT.bam {flags}"),
            &["duplicates are not marked", "--mark-duplicates"],
        );
    }
}

#[test]
fn questions_are_answered_on_standard_output() {
    let folders = TestFolders::new();
    for args in ["--help", "-h", "--version", "-V", "sort --help", "prep -h", "markdup --help"] {
        let ended = folders.readmill(args.split_whitespace());
        ended.succeeds();
        assert!(!ended.stdout.is_empty() && ended.stderr.is_empty(), "{args}: {}", ended.stderr);
    }
    let version = folders.readmill(["--version"]).stdout;
    assert_eq!(version, format!("readmill {}\n", env!("CARGO_PKG_VERSION")).into_bytes());
    let nothing = folders.readmill([""; 0]);
    assert_eq!(nothing.status.code(), Some(1));
    assert!(nothing.stdout.is_empty() && nothing.stderr.contains("Usage"), "{}", nothing.stderr);
}

/// Test folders with `in/a.bam` and `in/b.bam`.
pub fn place_with_two() -> TestFolders {
    let folders = TestFolders::new();
    folders.input("a.bam", bam(&many(10, 100)));
    folders.input("b.bam", bam(&many(7, 100)));
    folders
}

/// Asserts that `args` are refused with exit code 1 and these words; returns the files that remain.
#[track_caller]
pub fn refused(folders: &TestFolders, args: &str, words: &[&str]) {
    let ended = folders.readmill(args.split_whitespace());
    ended.fails(1, words);
    assert!(ended.stdout.is_empty(), "{args} writes to standard output");
}

#[test]
fn an_output_that_stands_among_the_inputs_is_not_read() {
    let folders = place_with_two();
    let older = std::fs::read(folders.input("out.bam", bam(&many(3, 100)))).unwrap();
    for (line, meant) in [
        ("prep in/a.bam in/out.bam", "readmill prep in/a.bam -o in/out.bam;"),
        ("sort -n in/a.bam in/none.bam -@ 2", "readmill sort -n in/a.bam -o in/none.bam -@ 2;"),
        ("markdup in/a.bam in/out.bam", "readmill markdup in/a.bam -o in/out.bam;"),
        ("filter -F 4 in/a.bam in/out.bam", "readmill filter -F 4 in/a.bam -o in/out.bam;"),
        ("filter -e [NM]<5 in/a.bam in/out.bam", "readmill filter -e '[NM]<5' in/a.bam -o in/out.bam;"),
        ("merge in/out.bam in/a.bam in/b.bam", "readmill merge -o in/out.bam in/a.bam in/b.bam;"),
        ("merge in/none.bam in/a.bam in/b.bam", "readmill merge -o in/none.bam in/a.bam in/b.bam;"),
        ("split --by records=5 in/a.bam out/x", "readmill split --by records=5 in/a.bam -o out/x;"),
        (
            "bqsr apply --bqsr-table t in/a.bam in/out.bam",
            "readmill bqsr apply --bqsr-table t in/a.bam -o in/out.bam;",
        ),
        ("fastq in/a.bam out/x.fq", "readmill fastq in/a.bam -o out/x.fq;"),
        ("fastq in/a.bam out/1.fq out/2.fq", "readmill fastq in/a.bam -1 out/1.fq -2 out/2.fq;"),
    ] {
        refused(
            &folders,
            line,
            &["inputs are given, but no output", &format!("did you mean: {meant}"), "-o -"],
        );
    }
    refused(&folders, "fastq in/a.bam in/b.bam", &["2 inputs are given, but no output;", "-o -"]);
    assert_eq!(std::fs::read(folders.input("../in/out.bam", &older)).unwrap(), older);
    assert_eq!(folders.left(), [""; 0]);
}

#[test]
fn several_inputs_go_to_standard_output_where_that_is_said() {
    let folders = place_with_two();
    let reads = |command: &str| {
        let line = format!("{command} in/a.bam in/b.bam -O sam -o -");
        let ended = folders.readmill(line.split_whitespace());
        ended.succeeds();
        let text = String::from_utf8(ended.stdout).unwrap();
        text.lines().filter(|line| !line.starts_with('@')).count()
    };
    for command in ["prep", "sort", "merge", "filter", "markdup"] {
        assert_eq!(reads(command), 17, "{command}");
    }
    let ended = folders.readmill(["fastq", "in/a.bam", "in/b.bam", "-o", "-"]);
    ended.succeeds();
    assert_eq!(ended.stdout.iter().filter(|&&byte| byte == b'\n').count(), 4 * 17);
}

#[test]
fn a_file_given_twice_is_refused_unless_allowed() {
    let folders = place_with_two();
    symlink("a.bam", folders.out("../in/link.bam")).unwrap();
    std::fs::hard_link(folders.out("../in/a.bam"), folders.out("../in/hard.bam")).unwrap();
    for other in ["in/a.bam", "in/../in/a.bam", "in/link.bam", "in/hard.bam"] {
        let line = format!("merge in/a.bam in/b.bam {other} -o out/x.bam");
        refused(&folders, &line, &["in/a.bam", "each read would occur twice", "--allow-same-input"]);
        assert_eq!(folders.left(), [""; 0], "{other}");
    }
    refused(&folders, "flagstat in/a.bam in/a.bam", &["in/a.bam is given twice"]);
    folders
        .readmill(["flagstat", "in/a.bam", "out/x.txt"])
        .fails(3, &["out/x.txt cannot be read", "with -o"]);
    refused(&folders, "fastq in/a.bam in/a.bam -o out/x.fq", &["in/a.bam is given twice"]);
    let allowed = "merge in/a.bam in/b.bam in/link.bam -o out/x.bam --allow-same-input";
    folders.readmill(allowed.split_whitespace()).succeeds();
    assert_eq!(folders.lines(&folders.out("x.bam")).len(), 27);
}

#[cfg(feature = "bwa")]
#[test]
fn reads_to_be_aligned_are_given_once() {
    let folders = TestFolders::new();
    let read = "@r\nACGTACGTACGTACGTACGT\n+\nIIIIIIIIIIIIIIIIIIII\n";
    folders.input("1.fq", read);
    folders.input("2.fq", read);
    folders.input("ref.fa", format!(">chr1\n{}\n", "ACGTTGCATGCCAGTA".repeat(20)));
    folders.readmill(["index", "in/ref.fa"]).succeeds();
    let align = |files: &str| format!("align in/ref.fa {files} -o out/x.sam");
    refused(&folders, &align("in/1.fq in/1.fq"), &["in/1.fq is given twice", "--allow-same-input"]);
    refused(&folders, &align("in/1.fq in/2.fq in/1.fq in/2.fq"), &["in/1.fq is given twice"]);
    let meant = "did you mean: readmill align in/ref.fa in/1.fq in/2.fq -o out/x.bam;";
    refused(
        &folders,
        "align in/ref.fa in/1.fq in/2.fq out/x.bam",
        &["3 inputs are given, but no output", meant],
    );
    assert_eq!(folders.left(), [""; 0]);
    folders.readmill(align("in/1.fq in/2.fq").split_whitespace()).succeeds();
    folders.readmill(align("in/1.fq in/1.fq --allow-same-input").split_whitespace()).succeeds();
    folders.readmill(["align", "in/ref.fa", "in/1.fq", "in/2.fq", "-O", "sam"]).succeeds();
}

#[test]
fn a_t_that_is_no_directory_elsewhere_is_refused() {
    let folders = place_with_two();
    let tags = "fastq in/a.bam -1 out/1.fq -2 out/2.fq -T RX";
    refused(&folders, tags, &["fastq has no -T", "--tags", "--temp-dir"]);
    refused(&folders, "filter in/a.bam -o out/x.cram -T ref.fa", &["filter has no -T", "--reference"]);
    refused(&folders, "filter in/a.bam -o out/x.bam -T tmp", &["filter has no -T", "--temp-dir"]);
    assert_eq!(folders.left(), [""; 0]);
    for line in
        ["filter in/a.bam -o out/x.bam --temp-dir tmp", "fastq in/a.bam -o out/x.fq --temp-dir tmp"]
    {
        folders.readmill(line.split_whitespace()).succeeds();
    }
}

#[test]
fn a_temporary_directory_that_is_none_is_refused_at_once() {
    let folders = place_with_two();
    let lines = [
        "filter in/a.bam -o out/x.bam",
        "prep in/a.bam -o out/x.bam",
        "sort in/a.bam -o out/x.bam",
        "markdup in/a.bam -o out/x.bam",
        "split in/a.bam -o out/x --by records=5",
        "fastq in/a.bam -o out/x.fq",
        "flagstat in/a.bam",
        "idxstats in/a.bam",
        "stats in/a.bam",
        "checksum in/a.bam",
    ];
    // /proc is a directory in which no user can make a file.
    for (dir, code, words) in [
        ("none", 3, &["none", "No such file", "--temp-dir"][..]),
        ("/proc", 3, &["/proc", "--temp-dir"]),
        ("in/a.bam", 1, &["in/a.bam is not a directory", "--temp-dir"]),
    ] {
        for line in lines {
            let given = format!("{line} --temp-dir {dir}");
            folders.readmill(given.split_whitespace()).fails(code, words);
            let mut command = folders.command();
            let ended = folders.run(command.args(line.split_whitespace()).env("TMPDIR", dir));
            ended.fails(code, &[&["TMPDIR: "], words].concat());
            assert_eq!(folders.left(), [""; 0], "{line}");
        }
    }
}

#[test]
fn a_name_of_another_kind_of_file_is_refused() {
    let folders = place_with_two();
    for name in ["x.txt", "x.sam.bz2", "x.bam.gz", "x.fq", "x.VCF", "x.bam.bai"] {
        let words = [name, "not the name of a SAM, BAM or CRAM file", "-O"];
        refused(&folders, &format!("sort in/a.bam -o out/{name}"), &words);
        let other = format!("prep in/a.bam -o out/x.bam --copy-to out/{name}=unmapped");
        refused(&folders, &other, &words[..2]);
    }
    for name in ["x.fq.zst", "x.fastq.bz2", "x.bam", "x.sam"] {
        let pair = format!("fastq in/a.bam -1 out/{name} -2 out/2.fq");
        refused(&folders, &pair, &[name, "plain text or .gz", ".fq.gz"]);
        refused(&folders, &format!("fastq in/a.bam -o out/{name}"), &[name]);
    }
    refused(&folders, "sort in/a.bam -o out/x.bam##idx##out/x.bai", &["##idx##", "--write-index"]);
    refused(
        &folders,
        "sort in/a.bam##idx##in/a.bai -o out/x.bam",
        &["##idx##", "only `readmill view` accepts"],
    );
    refused(&folders, "demo -o in/a.bam", &["in/a.bam is not a directory", "-o DIR"]);
    assert_eq!(folders.left(), [""; 0]);
}

#[test]
fn a_name_that_tells_no_format_is_bam() {
    let folders = place_with_two();
    for (args, warns) in [
        ("-o out/x", false),
        ("-o out/x.bam.tmp", false),
        ("-o out/x.sorted", true),
        ("-o out/x.sorted -O bam", false),
        ("-o out/x.txt -O bam", false),
    ] {
        let ended = folders.readmill(format!("prep in/a.bam {args}").split_whitespace());
        ended.succeeds();
        assert_eq!(ended.stderr.contains("writing BAM"), warns, "{args}: {}", ended.stderr);
        let name = args.split_whitespace().nth(1).unwrap().trim_start_matches("out/");
        assert!(std::fs::read(folders.out(name)).unwrap().starts_with(&[0x1f, 0x8b]), "{args}");
    }
    folders.readmill("prep in/a.bam -o out/X.SAM".split_whitespace()).succeeds();
    assert!(std::fs::read(folders.out("X.SAM")).unwrap().starts_with(b"@HD"));
}

#[test]
fn files_that_are_no_reads_are_called_what_they_are() {
    let folders = place_with_two();
    let gzip = crate::faults::fixtures::gzip;
    let whole = std::fs::read(folders.out("../in/a.bam")).unwrap();
    let index = [b"BAI\x01", &[0; 20][..]].concat();
    for (name, bytes, words) in [
        ("x.fq", b"@r\nACGT\n+\nIIII\n".to_vec(), ["but FASTQ", "readmill align"]),
        ("x.fq.gz", gzip(b"@r\nACGT\n+\nIIII\n"), ["but FASTQ", "readmill align"]),
        ("x.fa", b">c\nACGT\n".to_vec(), ["but FASTA", "--reference"]),
        ("x.vcf", b"##fileformat=VCFv4.2\n".to_vec(), ["but VCF", "--known-sites"]),
        ("x.bai", index, ["but an index", "that it belongs to"]),
        ("x.bam.gz", gzip(&whole), ["compressed twice with gzip", "gunzip"]),
    ] {
        let path = folders.input(name, bytes);
        let ended = folders.readmill(["sort".as_ref(), path.as_os_str()]);
        ended.fails(2, &[&[name, "not BAM, SAM or CRAM"], &words[..]].concat());
    }
}

#[test]
fn an_h_beside_other_arguments_is_not_a_call_for_help() {
    let folders = place_with_two();
    let filter = "filter -h -F 4 in/a.bam -o out/x.bam";
    folders.readmill(filter.split_whitespace()).succeeds();
    assert_eq!(folders.lines(&folders.out("x.bam")).len(), 10);
    for line in
        ["merge -h in/a.bam in/b.bam -o out/y.bam", "split in/a.bam -h h.sam --by contigs -o out/y"]
    {
        refused(&folders, line, &["-h prints help", "omit -h"]);
    }
    for command in ["filter", "merge", "split"] {
        let ended = folders.readmill([command, "-h"]);
        ended.succeeds();
        assert!(String::from_utf8(ended.stdout).unwrap().contains("Usage:"), "{command}");
    }
    assert_eq!(folders.left(), ["x.bam"]);
}

#[test]
fn metrics_that_need_a_reference_ask_for_it() {
    let folders = place_with_two();
    let line = "qc in/a.bam -o out/q --metrics CollectGcBiasMetrics";
    refused(&folders, line, &["CollectGcBiasMetrics", "--reference"]);
    folders.readmill("qc in/a.bam -o out/q --metrics all".split_whitespace()).succeeds();
    let left = folders.left();
    assert!(!left.is_empty() && left.iter().all(|name| !name.contains("gc_bias")), "{left:?}");
}

#[test]
fn flags_are_written_alike_everywhere() {
    let folders = TestFolders::new();
    let line = |name: &str, flag: u16| format!("{name}\t{flag}\t*\t0\t0\t*\t*\t0\t0\tACGT\tIIII\n");
    let text: String =
        ["@HD\tVN:1.6\n".into(), line("a", 4), line("b", 0x204), line("c", 0x404)].concat();
    folders.input("x.sam", &text);
    for (bits, kept) in
        [("0x600", "a"), ("1536", "a"), ("03000", "a"), ("qcfail,DUP", "a"), ("DUP", "ab")]
    {
        let names =
            |lines: Vec<String>| lines.iter().map(|line| line[..1].to_string()).collect::<String>();
        folders.readmill(["filter", "in/x.sam", "-F", bits, "-o", "out/x.bam"]).succeeds();
        assert_eq!(names(folders.lines(&folders.out("x.bam"))), kept, "{bits}");
        folders.readmill(["fastq", "in/x.sam", "-F", bits, "-0", "out/x.fq"]).succeeds();
        let fastq = std::fs::read_to_string(folders.out("x.fq")).unwrap();
        let headers = fastq.lines().filter_map(|line| line.strip_prefix('@'));
        assert_eq!(headers.collect::<String>(), kept, "{bits}");
        folders.input("y.sam", text.replace("\t516\t", "\t4\t").replace("\t1028\t", "\t4\t"));
        let same = folders.readmill(["compare", "in/x.sam", "in/y.sam", "--ignore-flag", bits]);
        assert_eq!(same.status.code(), Some(if kept == "a" { 0 } else { 4 }), "{bits}");
    }
    for command in ["filter in/x.sam -F", "fastq in/x.sam -F", "compare in/x.sam in/x.sam --ignore-flag"]
    {
        for bad in ["unmapped", "4x", "UNMAP,", "65536"] {
            refused(&folders, &format!("{command} {bad}"), &[bad, "UNMAP,SECONDARY,SUPPLEMENTARY"]);
        }
    }
}

#[test]
fn files_beside_the_main_output_are_named_with_their_reads() {
    let folders = place_with_two();
    let said = |line: &str| {
        let ended = folders.readmill(line.split_whitespace());
        ended.succeeds();
        ended.stderr
    };
    let split = said("split in/a.bam -o out/x --by records=4");
    for line in
        ["out/x.part00001.bam has 4 reads", "part00002.bam has 4 reads", "part00003.bam has 2 reads"]
    {
        assert!(split.contains(line), "{line}: {split}");
    }
    folders.input("many.bam", bam(&many(90, 100)));
    let many = said("split in/many.bam -o out/y --by records=3");
    let line = "30 files, out/y.part00001.bam to out/y.part00030.bam, have 3 to 3 reads each";
    assert!(many.contains(line), "{many}");
    let copied = said("prep in/a.bam -o out/z.bam --copy-to out/u.bam=duplicates");
    assert!(copied.contains("out/u.bam has 0 reads"), "{copied}");
    let fastq = said("fastq in/a.bam -0 out/0.fq -1 out/1.fq -2 out/2.fq");
    assert!(
        fastq.contains("out/0.fq has 10 reads") && fastq.contains("out/2.fq has 0 reads"),
        "{fastq}"
    );
}
