//! Reads and headers that cost memory.

use crate::shapes::{CostlyInput, converted, written};
use crate::support::TestDir;

pub const READ_SHAPES: &[CostlyInput] = &[
    CostlyInput {
        name: "reads of 4 million bases",
        make: |dir, scale| {
            let bases = 4_000_000 / scale;
            lines(dir, 12, |i| {
                format!("r{i}\t0\tc\t{}\t60\t{bases}M\t*\t0\t0\t{}\t*", 100 - i, "A".repeat(bases))
            });
            converted(&dir.path("in.sam"), &dir.path("in.cram"));
        },
        commands: &[
            "sort %in.sam -o %out.bam",
            "sort %in.cram -O cram,no-ref -o %out.cram",
            "filter -q 1 %in.sam -o %out.sam",
            "markdup %in.sam -o %out.bam",
        ],
    },
    CostlyInput {
        name: "20 million inserted bases of reads without SEQ",
        make: |dir, scale| {
            let inserted = 20_000_000 / scale;
            lines(dir, 12, |i| format!("r{i}\t0\tc\t{}\t60\t4M{inserted}I\t*\t0\t0\t*\t*", i + 1));
        },
        commands: &[
            "sort %in.sam -O cram,no-ref -o %out.cram",
            "filter -q 1 %in.sam -O cram,no-ref -o %out.cram",
        ],
    },
    CostlyInput {
        name: "names of twenty tokens and 94 qualities in CRAM 3.1",
        make: |dir, scale| {
            lines(dir, 90_000 / scale, |i| {
                let random = |n: usize| (i * 151 + n).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
                let name: Vec<String> = (0..10).map(|n| (random(n) % 97).to_string()).collect();
                let qualities: String =
                    (10..160).map(|n| char::from(b'!' + (random(n) % 94) as u8)).collect();
                format!(
                    "{}\t4\t*\t0\t0\t*\t*\t0\t0\t{}\t{qualities}",
                    name.join(":"),
                    "ACGTA".repeat(30)
                )
            });
        },
        commands: &[
            "sort %in.sam -O cram,archive,no-ref -o %out.cram",
            "sort %in.sam -O cram,version=3.1,no-ref -o %out.cram",
        ],
    },
    CostlyInput {
        name: "a field of 10 million numbers",
        make: |dir, scale| {
            let field = ",1".repeat(10_000_000 / scale);
            lines(dir, 2, |i| format!("r{i}\t0\tc\t9\t60\t4M\t*\t0\t0\tACGT\t*\tXB:B:I{field}"));
        },
        commands: &["sort %in.sam -o %out.bam", "filter -q 1 %in.sam -o %out.bam"],
    },
    CostlyInput {
        name: "400,000 reads of one name",
        make: |dir, scale| {
            lines(dir, 400_000 / scale, |i| {
                format!("r\t0\tc\t{}\t60\t4M\t*\t0\t0\tACGT\t*", 1 + i % 90_000)
            });
        },
        commands: &[
            "sort -n %in.sam -o %out.bam",
            "markdup %in.sam -o %out.bam",
            "sort %in.sam -o %out.bam",
        ],
    },
    CostlyInput {
        name: "400,000 duplicates at one place",
        make: |dir, scale| {
            lines(dir, 400_000 / scale, |i| {
                let (tile, x, y) = (1101 + i % 4, i * 31 % 20_000, i * 17 % 20_000);
                format!("M:1:F:1:{tile}:{x}:{y}\t0\tc\t9\t60\t4M\t*\t0\t0\tACGT\t*")
            });
        },
        commands: &[
            "markdup %in.sam -o %out.bam --metrics %out.metrics",
            "markdup --tag-duplicates all %in.sam -o %out.bam",
        ],
    },
    CostlyInput {
        name: "400,000 mates that never meet",
        make: |dir, scale| {
            lines(dir, 400_000 / scale, |i| {
                format!("lone-mate-of-{i}\t65\tc\t{}\t60\t4M\t=\t77\t0\tACGT\t*", 1 + i % 90_000)
            });
        },
        commands: &[
            "markdup %in.sam -o %out.bam",
            "markdup --sort coordinate %in.sam -O cram,no-ref -o %out.cram",
        ],
    },
    CostlyInput {
        name: "200,000 UMIs at one place",
        make: |dir, scale| {
            lines(dir, 200_000 / scale, |i| {
                let umi: String = (0..9).map(|at| ['A', 'C', 'G', 'T'][i >> (2 * at) & 3]).collect();
                format!("r{i}\t0\tc\t9\t60\t4M\t*\t0\t0\tACGT\t*\tRX:Z:{umi}")
            });
        },
        commands: &["markdup --umi tag:RX --umi-method directional %in.sam -o %out.bam"],
    },
    CostlyInput {
        name: "names of 250 letters, 200 of them shared",
        make: |dir, scale| {
            let shared = "n".repeat(200);
            lines(dir, 200_000 / scale, |i| {
                format!("{shared}{:050}\t0\tc\t9\t60\t4M\t*\t0\t0\tACGT\t*", i * 7919 % 200_000)
            });
        },
        commands: &[
            "sort --sort natural %in.sam -o %out.bam",
            "sort --sort queryname %in.sam -o %out.bam",
        ],
    },
    CostlyInput {
        name: "barcodes of 200 letters that end otherwise",
        make: |dir, scale| {
            let shared = "ACGT".repeat(50);
            lines(dir, 200_000 / scale, |i| {
                format!("r{i}\t0\tc\t9\t60\t4M\t*\t0\t0\tACGT\t*\tCB:Z:{shared}{}", i * 7919 % 200_000)
            });
        },
        commands: &["sort --sort tag:CB %in.sam -o %out.bam"],
    },
    CostlyInput {
        name: "reads that compress to a thousandth",
        make: |dir, scale| {
            lines(dir, 300_000 / scale, |_| {
                format!("r\t4\t*\t0\t0\t*\t*\t0\t0\t{}\t*", "A".repeat(300))
            });
            converted(&dir.path("in.sam"), &dir.path("in.bam"));
            converted(&dir.path("in.sam"), &dir.path("in.cram"));
        },
        commands: &[
            "sort %in.bam -o %out.bam",
            "sort %in.cram -o %out.bam",
            "filter -q 0 %in.bam -O cram,no-ref -o %out.cram",
        ],
    },
];

/// A file of `n` lines behind a header of one contig.
fn lines(dir: &TestDir, n: usize, line: impl Fn(usize) -> String) {
    written(dir, "in.sam", |file| {
        let _ = writeln!(file, "@SQ\tSN:c\tLN:100000000");
        for i in 0..n {
            let _ = writeln!(file, "{}", line(i));
        }
    });
}

pub const HEADER_SHAPES: &[CostlyInput] = &[
    CostlyInput {
        name: "a million contigs",
        make: |dir, scale| contigs(dir, 1_000_000 / scale, 1000),
        commands: &[
            "sort %in.sam -o %out.bam",
            "markdup %in.sam -o %out.bam",
            "filter -q 1 %in.sam -o %out.bam",
            "sort -O cram,no-ref %in.sam -o %out.cram",
            "merge %in.sam %other.sam -o %out.bam",
            "idxstats %in.sam -o %out.txt",
        ],
    },
    CostlyInput {
        name: "300,000 contigs as BAM and CRAM",
        make: |dir, scale| {
            contigs(dir, 300_000 / scale, 1000);
            converted(&dir.path("in.sam"), &dir.path("in.bam"));
            converted(&dir.path("in.sam"), &dir.path("in.cram"));
        },
        commands: &[
            "sort %in.bam -o %out.bam",
            "sort %in.cram -o %out.bam",
            "filter -O cram,no-ref -q 1 %in.cram -o %out.cram",
        ],
    },
    CostlyInput {
        name: "a read on each of 500,000 contigs",
        make: |dir, scale| contigs(dir, 500_000 / scale, 500_000 / scale),
        commands: &["sort %in.sam -o %out.bam", "sort --write-index=csi %in.sam -o %out.bam"],
    },
    CostlyInput {
        name: "65,000 read groups",
        make: |dir, scale| groups(dir, 65_000 / scale),
        commands: &["markdup %in.sam -o %out.bam --metrics %out.metrics", "sort %in.sam -o %out.bam"],
    },
    CostlyInput {
        name: "half a million programs, a comment of 40 MB",
        make: |dir, scale| {
            written(dir, "in.sam", |file| {
                let _ = writeln!(file, "@SQ\tSN:c\tLN:1000\n@CO\t{}", "x".repeat(40_000_000 / scale));
                (0..500_000 / scale).for_each(|i| {
                    let _ = writeln!(file, "@PG\tID:p{i}\tPN:p");
                });
                let _ = writeln!(file, "r\t0\tc\t1\t9\t4M\t*\t0\t0\tACGT\tIIII");
            });
        },
        commands: &["sort %in.sam -o %out.bam", "filter -q 1 %in.sam -o %out.sam"],
    },
    CostlyInput {
        name: "200 inputs of 5,000 contigs",
        make: |dir, scale| {
            contigs(dir, 5000 / scale, 10);
            converted(&dir.path("in.sam"), &dir.path("in0.bam"));
            for i in 1..200 {
                std::fs::copy(dir.path("in0.bam"), dir.path(&format!("in{i}.bam"))).expect("a copy");
            }
        },
        commands: &["merge %* -o %out.bam"],
    },
];

/// `reads` reads, each on another of `n` contigs, as `in.sam`; `other.sam` has one more read group.
fn contigs(dir: &TestDir, n: usize, reads: usize) {
    for (name, group) in [("in.sam", ""), ("other.sam", "@RG\tID:x\n")] {
        written(dir, name, |file| {
            let _ = write!(file, "@HD\tVN:1.6\tSO:unsorted\n{group}");
            for i in 0..n {
                let _ = writeln!(file, "@SQ\tSN:k{i}\tLN:{}", 200 + i % 1000);
            }
            for i in 0..reads {
                let (contig, pos) = (i * 7919 % n, 1 + i % 100);
                let _ = writeln!(
                    file,
                    "r{i}\t0\tk{contig}\t{pos}\t60\t20M\t*\t0\t0\tACGTACGTACGTACGTACGT\t*"
                );
            }
        });
    }
}

/// A read for each of `n` read groups, each of a library of its own.
fn groups(dir: &TestDir, n: usize) {
    written(dir, "in.sam", |file| {
        let _ = writeln!(file, "@SQ\tSN:c\tLN:1000000");
        for i in 0..n {
            let _ = writeln!(file, "@RG\tID:group{i}\tSM:s\tLB:library{i}\tPL:ILLUMINA");
        }
        for i in 0..n {
            let pos = 1 + i % 9000;
            let _ = writeln!(
                file,
                "r{i}\t0\tc\t{pos}\t60\t20M\t*\t0\t0\tACGTACGTACGTACGTACGT\t*\tRG:Z:group{i}"
            );
        }
    });
}
