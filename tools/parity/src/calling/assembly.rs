//! Compares assembled haplotypes, their events and their trimmed parts with GATK's.

// The test of readmill-assembly prints results in the same way.
#[path = "../../../../crates/assembly/tests/assembly/region_text.rs"]
mod region_text;

use anyhow::{Result, bail};
use readmill_assembly::Assembler;
use readmill_jmath::{CpuMaker, JavaMath};
use readmill_peers::Peers;

use super::java_source;
use crate::java::run_java_source;
use crate::ledger::Ledger;

/// Random regions, each drawn from its seed.
const REGION_COUNT: u64 = 20_000;

/// Regions that one Java process assembles.
const BLOCK_SIZE: u64 = 2000;

/// Compares random regions: those of the seeds from 0 on.
pub fn compare_assemblies(peers: &Peers, ledger: &mut Ledger) {
    ledger.check("calling: assembled haplotypes of random regions", || {
        let mut assembler = Assembler::new(JavaMath::of_maker(CpuMaker::Intel)?);
        let mut compared = 0;
        for first in (0..REGION_COUNT).step_by(BLOCK_SIZE as usize) {
            compare_block(peers, first, &mut assembler, &mut compared)?;
        }
        Ok(format!("{compared} regions are equal"))
    });
}

fn compare_block(
    peers: &Peers,
    first: u64,
    assembler: &mut Assembler,
    compared: &mut u64,
) -> Result<()> {
    let words = [first.to_string(), BLOCK_SIZE.to_string()];
    let text = run_java_source(peers, &java_source("Assembly.java"), &words)?;
    let before = *compared;
    if let Some((region, expected, ours)) = region_text::find_difference(&text, assembler, compared) {
        bail!("region of seed {region}: GATK has {expected:?}, we have {ours:?}");
    }
    if *compared - before != BLOCK_SIZE {
        bail!("GATK printed {} of {BLOCK_SIZE} regions", *compared - before);
    }
    Ok(())
}
