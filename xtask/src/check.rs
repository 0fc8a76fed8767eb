//! Not written yet.

/// No flags yet.
#[derive(clap::Args)]
pub struct Args {}

/// Says that there is nothing here yet.
pub fn run(_args: Args) -> anyhow::Result<()> {
    anyhow::bail!("not written yet")
}
