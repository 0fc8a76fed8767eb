//! Small commands on whole files: they read headers and ends, or pass on compressed bytes.

mod output;

pub use output::FileOutput;
