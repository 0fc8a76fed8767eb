//! Requests that contradict themselves, or ask for what cannot be.

use super::{AGAINST, folders, refused};

#[test]
fn what_does_not_go_together() {
    let folders = folders();
    for (flags, words) in [
        ("--bqsr --bqsr-apply in/table", &["--bqsr", "--bqsr-apply"][..]),
        (
            "--bqsr-table-only --bqsr-table out/t --bqsr-apply in/table",
            &["--bqsr-table-only", "--bqsr-apply"],
        ),
        ("--bqsr --bqsr-bootstrap --sort coordinate", &["--bqsr-bootstrap", "--known-sites"]),
        ("--bqsr --static-quantized-quals 10 --quantize-quals 3", &["--static-quantized-quals"]),
    ] {
        refused(&folders, &format!("prep in/x.sam {AGAINST} -o out/x.bam {flags}"), 1, words);
    }
}

#[test]
fn what_is_missing() {
    let folders = folders();
    for (args, words) in [
        ("prep in/x.sam -o out/x.bam --bqsr --known-sites in/known.vcf", &["--reference"][..]),
        (
            "prep in/x.sam -o out/x.bam --bqsr --reference in/ref.fa",
            &["--known-sites", "--bqsr-bootstrap"],
        ),
        ("prep in/x.sam -o out/x.bam --bqsr-bootstrap --bqsr --sort coordinate", &["--reference"]),
        (
            "prep in/x.sam -o out/x.bam --bqsr --round-down-quantized --reference in/ref.fa",
            &["required"],
        ),
        ("bqsr table in/x.sam --reference in/ref.fa --known-sites in/known.vcf", &["required"]),
        ("bqsr table in/x.sam --known-sites in/known.vcf -o out/t", &["--reference"]),
        ("bqsr apply in/x.sam -o out/x.bam", &["required"]),
        ("bqsr gather -o out/t", &["required"]),
        ("bqsr gather in/table", &["required"]),
        ("bqsr plot-data -o out/t", &["required"]),
    ] {
        refused(&folders, args, 1, words);
    }
    let only = format!("prep in/x.sam {AGAINST} -o out/x.bam --bqsr-table-only");
    refused(&folders, &only, 1, &["required"]);
}

#[test]
fn numbers_that_cannot_be() {
    let folders = folders();
    for flags in [
        "--maximum-cycle-value 0",
        "--maximum-cycle-value 1000001",
        "--mismatches-context-size 0",
        "--mismatches-context-size 14",
        "--indels-context-size 0",
        "--low-quality-tail 94",
        "--quantizing-levels 0",
        "--preserve-qscores-less-than 95",
        "--default-base-qualities 94",
        "--quantize-quals -2",
        "--quantize-quals 95",
        "--static-quantized-quals 94",
        "--static-quantized-quals x",
        "--global-qscore-prior 94",
        "--global-qscore-prior nan",
        "--global-qscore-prior x",
    ] {
        let (flag, value) = flags.split_once(' ').unwrap();
        let args = format!("prep in/x.sam {AGAINST} -o out/x.bam --bqsr {flag}={value}");
        refused(&folders, &args, 1, &[flag, value]);
    }
}

/// No sites are known where reads are compared position by position, for which they must stand in order.
#[test]
fn sites_are_found_in_sorted_reads_alone() {
    let folders = folders();
    let prep = "prep in/x.sam --reference in/ref.fa -o out/x.bam --bqsr --bqsr-bootstrap";
    for order in ["", "--sort queryname", "--sort natural", "--mark-duplicates"] {
        let words = ["position by position", "--sort coordinate"];
        refused(&folders, &format!("{prep} {order}"), 1, &words);
    }
    for table in ["--bqsr-table-only --bqsr-table out/t", "--bqsr"] {
        let args = format!("prep in/x.sam --reference in/ref.fa -o out/x.bam --bqsr-bootstrap {table}");
        refused(&folders, &args, 1, &["--sort coordinate"]);
    }
}

/// Flags of recalibration without recalibration would be forgotten in silence.
#[test]
fn how_qualities_are_recalibrated_where_none_are() {
    let folders = folders();
    for flags in [
        "--bqsr-table out/t",
        "--known-sites in/known.vcf",
        "--bqsr-intervals chr1",
        "--bqsr-exclude-intervals chr1",
        "--maximum-cycle-value 600",
        "--emit-original-quals",
        "--use-original-qualities",
        "--quantize-quals 5",
        "--static-quantized-quals 10",
        "--allow-missing-read-group",
        "--bqsr-bootstrap",
    ] {
        let args = format!("prep in/x.sam --sort coordinate -o out/x.bam {flags}");
        refused(&folders, &args, 1, &["--bqsr"]);
    }
    for flags in ["--bqsr-table out/t", "--known-sites in/known.vcf", "--maximum-cycle-value 600"] {
        let args = format!("prep in/x.sam --bqsr-apply in/table -o out/x.bam {flags}");
        refused(&folders, &args, 1, &["none are to be counted", "--bqsr"]);
    }
}

#[test]
fn too_little_memory_names_the_least_that_works() {
    let folders = folders();
    for threads in [1, 3] {
        let run = |memory: &str| {
            let flags = format!("--bqsr --bqsr-table out/t -@ {threads} -m {memory}");
            super::run(&folders, &format!("prep in/x.sam {AGAINST} -o out/x.bam {flags}"))
        };
        let ended = run("1M");
        ended.fails(1, &["needs at least -m", "raise -m, or use fewer threads"]);
        let least = ended.stderr.split("at least -m ").nth(1).unwrap().split('M').next().unwrap();
        let least: u32 = least.parse().unwrap();
        run(&format!("{}M", least - 1)).fails(1, &["needs at least -m"]);
        assert_eq!(folders.left(), [""; 0]);
        run(&format!("{least}M")).succeeds();
        ["t", "x.bam"].iter().for_each(|name| std::fs::remove_file(folders.out(name)).unwrap());
    }
}
