//! Reads that cost memory.

use super::{CostlyInput, converted, written};
use crate::support::TestDir;

pub const SHAPES: &[CostlyInput] = &[
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
