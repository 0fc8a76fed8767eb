//! The flag of the name of the sample.

use clap::Args;

/// The name of the sample.
#[derive(Args)]
#[command(next_help_heading = "In the same pass")]
pub struct SampleFlag {
    /// Name of the sample in metrics, for report tools such as MultiQC [default: the output's name without its ending; without an output file, the name of the only input, else the prefix, else SM of the read groups]
    #[arg(long, value_name = "NAME", value_parser = parse_sample)]
    pub sample: Option<String>,
}

/// Reads the name of a sample.
fn parse_sample(text: &str) -> std::result::Result<String, String> {
    if text.is_empty() || text.contains(|c: char| c.is_whitespace() || c.is_control() || c == '/') {
        return Err(
            "a name has at least one character, no blank and no / in it: report tools stop there".into(),
        );
    }
    Ok(text.to_owned())
}
