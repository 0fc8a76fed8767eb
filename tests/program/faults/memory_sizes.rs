//! Memory that is no size, too little, or more than there is.

use crate::faults::command_lines::{place_with_two, refused, request_is_refused};
use crate::faults::fixtures::{TestFolders, bam, many};

#[test]
fn sizes_that_are_none() {
    for size in ["G", "0", "12Q", "-5M", "nan", "1.5.2G"] {
        request_is_refused(&format!("sort IN -o OUT.bam -m={size}"), &[size]);
    }
}

#[test]
fn a_set_size_near_64_bits_needs_too_much_memory_and_does_not_overflow() {
    // The sum of shares of memory went beyond 64 bits: a panic, or, without overflow checks, a wrong plan.
    for number in [i64::MAX as u64, 1 << 62] {
        let args = format!("markdup IN -o OUT.bam --optical-only --max-optical-set-size {number}");
        request_is_refused(&args, &["needs at least -m", "raise -m"]);
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
        let way_out = if threads == 1 { "; raise -m" } else { "; raise -m, or use fewer threads" };
        ended.fails(1, &["needs at least -m", way_out]);
        let min_memory = ended.stderr.split("at least -m ").nth(1).unwrap();
        let min_mib: u32 = min_memory[..min_memory.find('M').unwrap()].parse().unwrap();
        with(&format!("{}M", min_mib - 1)).fails(1, &["needs at least -m"]);
        assert_eq!(folders.left(), [""; 0]);
        with(&format!("{min_mib}M")).succeeds();
    }
}

#[test]
fn a_size_without_unit_is_asked_for_one() {
    let folders = place_with_two();
    for size in ["2", "10", "4096"] {
        let unit = format!("such as {size}G");
        refused(&folders, &format!("sort in/a.bam -o out/x.bam -m {size}"), &[&unit, "bytes"]);
    }
    folders.readmill("sort in/a.bam -o out/x.bam -@ 1 -m 268435456".split_whitespace()).succeeds();
}

#[test]
fn more_memory_than_there_is_is_warned_of() {
    let folders = place_with_two();
    let warning = |memory: &str| {
        let ended =
            folders.readmill(["prep", "in/a.bam", "-o", "out/x.bam", "-q", "-@", "1", "-m", memory]);
        ended.succeeds();
        ended.stderr
    };
    let said = warning("900T");
    assert!(said.contains("-m allows 943718400 MiB, but the ") && said.lines().count() == 1, "{said}");
    assert_eq!(warning("200M"), "");
}
