//! The `readmill` command.

#![cfg_attr(test, allow(clippy::unwrap_used))]

mod cli;

use std::process::ExitCode;

#[cfg(debug_assertions)]
#[global_allocator]
static ALLOCATOR: readmill::audit::CountingAllocator = readmill::audit::CountingAllocator;

fn main() -> ExitCode {
    cli::main()
}
