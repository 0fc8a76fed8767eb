//! The flag `--sample`, which sets the sample name in metrics.

use clap::Args;

#[derive(Args)]
#[command(next_help_heading = "Reports")]
pub struct SampleFlag {
    /// Sample name in metrics, for tools such as MultiQC [default: the name of the output]
    ///
    /// The default is the name of the output without its extension. If there is no output file, it
    /// is the name of the only input, or else the prefix, or else SM of the read groups.
    #[arg(long, value_name = "NAME", value_parser = parse_sample)]
    pub sample: Option<String>,
}

/// Parses a sample name. Blanks and `/` are errors, because report tools end a name there.
fn parse_sample(text: &str) -> std::result::Result<String, String> {
    if text.is_empty() || text.contains(|c: char| c.is_whitespace() || c.is_control() || c == '/') {
        return Err(
            "a sample name must not be empty or contain blanks or /, because report tools truncate names there".into(),
        );
    }
    Ok(text.to_owned())
}
