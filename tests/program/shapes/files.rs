//! Files beside the reads that cost memory.

use super::{Shape, written};
use crate::support::Desk;

pub const SHAPES: &[Shape] = &[
    Shape {
        name: "half a million regions",
        make: |desk, scale| {
            reads(desk);
            written(desk, "regions.bed", |file| {
                for i in 0..500_000 / scale {
                    let _ = writeln!(file, "c\t{}\t{}", i * 20, i * 20 + 10);
                }
            });
        },
        commands: &["filter -L %regions.bed %in.sam -o %out.bam"],
    },
    Shape {
        name: "a line of 60 MB among the regions",
        make: |desk, scale| {
            reads(desk);
            written(desk, "regions.bed", |file| {
                let _ = writeln!(file, "c\t0\t100\t{}", "x".repeat(60_000_000 / scale));
            });
        },
        commands: &["filter -L %regions.bed %in.sam -o %out.bam"],
    },
];

/// A few reads.
fn reads(desk: &Desk) {
    written(desk, "in.sam", |file| {
        let _ = writeln!(file, "@SQ\tSN:c\tLN:100000000");
        for i in 0..1000 {
            let _ = writeln!(file, "r{i}\t0\tc\t{}\t60\t4M\t*\t0\t0\tACGT\t*", 1 + i * 50);
        }
    });
}
