//! Tasks around the project: `cargo xtask <parity|bytes|bench|data|check>`.
#![cfg_attr(test, allow(clippy::unwrap_used))]

mod bench;
mod bytes;
mod check;
mod data;
mod parity;
mod peers;

use clap::{Parser, Subcommand};

/// Tasks around readmill; nothing here is part of the program.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask", max_term_width = 100)]
struct Cli {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Compare every answer with samtools, Picard, GATK, bwa and others
    Parity(parity::Args),
    /// Compare every byte that is written with those of another revision
    Bytes(bytes::Args),
    /// Measure time and memory, compared with the peers
    Bench(bench::Args),
    /// Make simulated reads
    Data(data::Args),
    /// Check the rules of the house on the source
    Check(check::Args),
}

fn main() -> anyhow::Result<()> {
    match Cli::parse().task {
        Task::Parity(args) => parity::run(args),
        Task::Bytes(args) => bytes::run(args),
        Task::Bench(args) => bench::run(args),
        Task::Data(args) => data::run(args),
        Task::Check(args) => check::run(args),
    }
}
