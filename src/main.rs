//! The `readmill` command.

mod cli;

use std::process::ExitCode;

#[cfg(debug_assertions)]
#[global_allocator]
static ALLOCATOR: readmill::audit::Counting = readmill::audit::Counting;

fn main() -> ExitCode {
    cli::main()
}
