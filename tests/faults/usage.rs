//! Requests that cannot be met as they are made: exit code 1, and a way out.

use crate::files::{bam, many, record};
use crate::program::Place;

/// Refused with exit code 1 and these words; nothing is left. `IN` and `OUT` stand for files.
#[track_caller]
fn refused(args: &str, words: &[&str]) {
    let place = Place::new();
    place.input("x.bam", bam(&many(10, 100)));
    let args = args.replace("IN", "in/x.bam").replace("OUT", "out/x");
    place.readmill(args.split_whitespace()).fails(1, words);
    assert_eq!(place.left(), [""; 0], "{args}");
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
    refused("sort IN -o OUT.sam --codec zlib", &["no codec"]);
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
        let place = Place::new();
        place.input("x.bam", bam(&many(10, 100)));
        let with = |memory: &str| {
            let args = format!("sort in/x.bam -o out/x.bam -@ {threads} -m {memory}");
            place.readmill(args.split_whitespace())
        };
        let ended = with("1M");
        ended.fails(1, &["needs at least -m", "raise -m, or use fewer threads"]);
        let least = ended.stderr.split("at least -m ").nth(1).unwrap();
        let least: u32 = least[..least.find('M').unwrap()].parse().unwrap();
        with(&format!("{}M", least - 1)).fails(1, &["needs at least -m"]);
        assert_eq!(place.left(), [""; 0]);
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
fn template_mode_needs_templates() {
    refused("prep IN -o OUT.bam --duplicate-mode template", &["--mark-duplicates"]);
    let place = Place::new();
    let paired = |name: &&str| {
        let mut read = record(name, 0, 5, b"");
        read[18] = 1;
        read
    };
    let scattered: Vec<u8> = ["a", "b", "a", "b"].iter().flat_map(paired).collect();
    let input = place.input("x.bam", bam(&scattered));
    for steps in ["markdup", "prep --mark-duplicates --sort coordinate"] {
        let args = format!("{steps} {} -o out/x.bam --duplicate-mode template", input.display());
        let ended = place.readmill(args.split_whitespace());
        ended.fails(2, &["x.bam", "do not stand together", "--duplicate-mode coordinate"]);
        assert_eq!(place.left(), [""; 0]);
    }
}

#[test]
fn questions_are_answered_on_standard_output() {
    let place = Place::new();
    for args in ["--help", "-h", "--version", "-V", "sort --help", "prep -h", "markdup --help"] {
        let ended = place.readmill(args.split_whitespace());
        ended.succeeds();
        assert!(!ended.stdout.is_empty() && ended.stderr.is_empty(), "{args}: {}", ended.stderr);
    }
    let version = place.readmill(["--version"]).stdout;
    assert_eq!(version, format!("readmill {}\n", env!("CARGO_PKG_VERSION")).into_bytes());
    let nothing = place.readmill([""; 0]);
    assert_eq!(nothing.status.code(), Some(1));
    assert!(nothing.stdout.is_empty() && nothing.stderr.contains("Usage"), "{}", nothing.stderr);
}
