//! Impossible requests: exit code 1, and a message with a way out.

use crate::faults::files::{bam, many};
use crate::faults::program::TestFolders;

/// Asserts a refusal with exit code 1 and these words, without output. `IN` and `OUT` stand for files.
#[track_caller]
fn refused(args: &str, words: &[&str]) {
    let folders = TestFolders::new();
    folders.input("x.bam", bam(&many(10, 100)));
    let args = args.replace("IN", "in/x.bam").replace("OUT", "out/x");
    folders.readmill(args.split_whitespace()).fails(1, words);
    assert_eq!(folders.left(), [""; 0], "{args}");
}

#[test]
fn flags_that_do_not_exist_or_make_no_sense() {
    refused("sort IN -o OUT.bam --no-such-flag", &["--no-such-flag"]);
    refused("no-such-command IN", &["no-such-command"]);
    refused("sort IN -o OUT.bam -@ 0", &["0"]);
    refused("sort IN -o OUT.bam -@ many", &["many"]);
    refused("sort IN -o OUT.bam -l 13", &["13"]);
    refused("sort IN -o OUT.bam -u -l 3", &["--uncompressed"]);
    refused("sort - IN - -o OUT.bam", &["standard input", "once"]);
    refused("sort IN -o OUT.sam --codec zlib", &["have a codec", "--codec"]);
    refused("sort IN -o OUT.bam --codec gzip", &["gzip", "libdeflate"]);
    refused("sort IN -o OUT.bam --spill-codec xz", &["xz", "lz4"]);
    refused("sort IN -n -N -o OUT.bam", &["--natural"]);
    refused("sort IN -t toolong -o OUT.bam", &["toolong"]);
    refused("prep IN -o OUT.bam --sort", &["--sort"]);
    refused("prep IN -o OUT.bam --sort sideways", &["sideways"]);
    refused("sort -o OUT.bam", &["required"]);
}

#[test]
fn sizes_that_are_none() {
    for size in ["G", "0", "12Q", "-5M", "nan", "1.5.2G"] {
        refused(&format!("sort IN -o OUT.bam -m={size}"), &[size]);
    }
}

#[test]
fn too_little_memory_names_the_least_that_works() {
    for threads in [1, 3, 16] {
        let folders = TestFolders::new();
        folders.input("x.bam", bam(&many(10, 100)));
        let with = |memory: &str| {
            let args = format!("sort in/x.bam -o out/x.bam -@ {threads} -m {memory}");
            folders.readmill(args.split_whitespace())
        };
        let ended = with("1M");
        ended.fails(1, &["needs at least -m", "raise -m, or use fewer threads"]);
        let least = ended.stderr.split("at least -m ").nth(1).unwrap();
        let least: u32 = least[..least.find('M').unwrap()].parse().unwrap();
        with(&format!("{}M", least - 1)).fails(1, &["needs at least -m"]);
        assert_eq!(folders.left(), [""; 0]);
        with(&format!("{least}M")).succeeds();
    }
}

#[test]
fn an_index_needs_a_sorted_bam_file() {
    refused("prep IN -o OUT.bam --write-index", &["index", "--sort coordinate"]);
    refused("sort IN -o OUT.sam --write-index", &["index"]);
    refused("markdup IN -o OUT.bam --write-index=csi", &["index"]);
    refused("sort IN --write-index", &["index", "-o"]);
    refused("sort IN -o OUT.bam --write-index --no-index", &["--no-index"]);
}

#[test]
fn parts_are_files_of_bam_in_an_order_that_is_known() {
    refused("sort IN --out-parts 2", &["standard output", "give a name", "-o"]);
    refused("sort IN -o - --out-parts 2", &["standard output", "-o"]);
    for format in ["sam", "sam.gz", "cram"] {
        refused(&format!("sort IN -o OUT.{format} --out-parts 2"), &["only BAM", "--out-parts"]);
        refused(&format!("sort IN -o OUT -O {format} --out-parts 2"), &["only BAM", "--out-parts"]);
    }
    refused("filter IN -o OUT.bam --out-parts 2", &["as they come", "readmill prep", "--out-parts"]);
    refused("prep IN -o OUT.bam --drop-unmapped --out-parts 2", &["as they come", "--out-parts"]);
    refused("split IN -o OUT --by read-group --out-parts 2", &["no main output", "--out-parts"]);
    for number in ["0", "257", "-1", "many"] {
        refused(&format!("sort IN -o OUT.bam --out-parts={number}"), &[number]);
    }
    refused("sort IN -o OUT.bam --out-parts 2 --stats OUT.bam", &["one name"]);
    refused("sort IN -o OUT.bam --out-parts 2 --stats OUT.bam.part-002", &["one name"]);
    refused("sort IN -o OUT.bam --out-parts 2 --stats OUT.bam.bai", &["index of another"]);
}

#[test]
fn umis_and_barcodes() {
    for source in ["nonsense", "RX", "tag:", "tag:RXX", "name:ab", "inline:0", "inline:30+30"] {
        refused(&format!("markdup IN -o OUT.bam --umi {source}"), &["--umi", source]);
    }
    for barcode in ["--barcode-tag", "--read-one-barcode-tag", "--read-two-barcode-tag"] {
        refused(&format!("markdup IN -o OUT.bam --umi tag:RX {barcode} BX"), &["--umi", barcode]);
        refused(&format!("markdup IN -o OUT.bam {barcode} toolong"), &[barcode, "toolong"]);
    }
    refused("markdup IN -o OUT.bam --umi tag:RX --umi-method nearest", &["--umi-method", "nearest"]);
    refused("markdup IN -o OUT.bam --umi tag:RX --umi-edits=-1", &["--umi-edits", "-1"]);
    refused("markdup IN -o OUT.bam --umi tag:RX --molecule-tag 1X", &["--molecule-tag", "1X"]);
    for alone in ["--molecule-tag MI", "--umi-method exact", "--umi-edits 2"] {
        refused(&format!("markdup IN -o OUT.bam {alone}"), &["required"]);
    }
    for alone in ["--duplex-umi", "--molecular-identifier-tag MI"] {
        refused(&format!("markdup IN -o OUT.bam {alone}"), &["required"]);
    }
}

#[test]
fn how_optical_duplicates_are_found() {
    refused("markdup IN -o OUT.bam --read-names ([0-9]+", &["--read-names", "unclosed group"]);
    refused("markdup IN -o OUT.bam --read-names ([0-9]+):.*", &["fewer than three groups"]);
    refused("markdup IN -o OUT.bam --read-names (?=x)(.)(.)(.)", &["look-around"]);
    for distance in ["far", "1.5", "99999999999"] {
        refused(&format!("markdup IN -o OUT.bam --optical-distance {distance}"), &[distance, "auto"]);
    }
    refused("markdup IN -o OUT.bam --max-optical-set-size many", &["many"]);
    for wanted in ["--optical-only", "--optical-single"] {
        for without in ["--read-names null", "--optical-distance off"] {
            let words = ["optical duplicates are asked for", "--read-names null"];
            refused(&format!("markdup IN -o OUT.bam {wanted} {without}"), &words);
        }
    }
    refused("markdup IN -o OUT.bam --tag-duplicates some", &["--tag-duplicates", "some"]);
    refused("markdup IN -o OUT.bam --scoring-strategy best", &["--scoring-strategy", "best"]);
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
        refused(&format!("prep IN -o OUT.bam {flags}"), &["none are to be marked", "--mark-duplicates"]);
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
