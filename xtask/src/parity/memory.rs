//! Checks that bytes are the same for any number of threads and any memory and from a pipe, and that no more memory
//! is used than was given.

use anyhow::{Context, Result, ensure};

use super::commands::SampleDir;
use super::ledger::Ledger;
use super::lines::same_bytes;
use super::pipeline;

/// Threads and memory; `None` is the least that readmill accepts.
const MEANS: [(u32, Option<&str>); 7] = [
    (1, None),
    (1, Some("64M")),
    (2, None),
    (2, Some("64M")),
    (2, Some("4G")),
    (8, None),
    (8, Some("4G")),
];

/// All five steps with different threads and memory.
pub fn compare(dir: &SampleDir<'_>, ledger: &mut Ledger) {
    ledger.check(
        "means: the same bytes for 1, 2, 8 threads, the least memory to 4G, and from a pipe",
        || {
            let dropped = pipeline::other_dictionary(dir)?;
            let steps = pipeline::five_steps();
            let reference = "-o means.bam -@ 1 -m 1G";
            dir.readmill(&format!("prep in.bam {reference} {steps}"))?;
            for (threads, memory) in MEANS {
                let arguments = format!("prep in.bam -o other.bam -@ {threads} {steps}");
                let memory = match memory {
                    Some(given) => given.to_owned(),
                    None => dir.least_memory(&arguments)?,
                };
                let means = format!("-@ {threads} -m {memory}");
                let said = dir.readmill(&format!("{arguments} -m {memory}"))?;
                within(&said).with_context(|| means.clone())?;
                equal(dir).with_context(|| means)?;
            }
            dir.readmill_from("in.bam", &format!("prep - -o other.bam -@ 2 -m 64M {steps}"))?;
            let bytes = equal(dir)?;
            Ok(format!("{} runs, {bytes} bytes; without {dropped}", MEANS.len() + 2))
        },
    );
}

/// The two numbers of the log: what was given, and the peak.
fn within(said: &str) -> Result<()> {
    let before =
        |mark: &str| -> Option<u64> { said[..said.find(mark)?].rsplit(' ').next()?.parse().ok() };
    let given = before(" MiB of memory in total").context("no memory is stated")?;
    let peak =
        said.split("peak memory ").nth(1).and_then(|rest| rest.split(' ').next()?.parse::<u64>().ok());
    let peak = peak.context("no peak is stated")?;
    ensure!(peak <= given, "{peak} MiB were used of {given}");
    Ok(())
}

fn equal(dir: &SampleDir<'_>) -> Result<u64> {
    same_bytes(dir, "other.bam.bai", "means.bam.bai")?;
    same_bytes(dir, "other.bam", "means.bam")
}
