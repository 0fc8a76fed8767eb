//! The SAM header and the read groups.

use crate::names::machine;
use crate::profile::Profile;

/// One read group.
pub(crate) struct ReadGroup {
    pub(crate) id: String,
    /// Number of its library.
    pub(crate) library: usize,
    unit: String,
}

/// The read groups: two of the first library, one of every other.
pub(crate) fn groups(profile: &Profile) -> Vec<ReadGroup> {
    const INDEXES: [&str; 4] = ["ATCACG", "CGATGT", "TTAGGC", "TGACCA"];
    let (instrument, flowcell) = machine(profile.flowcell);
    let group = |i: u32| {
        let library = i.saturating_sub(1);
        let (lane, index) = (i + 1, INDEXES[library as usize % 4]);
        ReadGroup {
            id: format!("{instrument}.{flowcell}.{lane}"),
            library: library as usize,
            unit: format!("{flowcell}.{lane}.{index}"),
        }
    };
    (0..=profile.libraries.max(1)).map(group).collect()
}

/// The header as text.
pub(crate) fn text(profile: &Profile) -> String {
    let mut text = String::from("@HD\tVN:1.6\tSO:unsorted\tGO:query\n");
    for (name, length) in &profile.contigs {
        text.push_str(&format!("@SQ\tSN:{name}\tLN:{length}\n"));
    }
    for ReadGroup { id, library, unit } in groups(profile) {
        let library = library + 1;
        text.push_str(&format!(
            "@RG\tID:{id}\tSM:SIM1\tLB:LIB{library}\tPL:ILLUMINA\tPU:{unit}\tCN:SIM\n"
        ));
    }
    text.push_str("@PG\tID:readmill-simulate\tPN:readmill-simulate\tVN:1\n");
    text
}

/// The header as it stands at the start of an (uncompressed) BAM file.
pub(crate) fn raw(profile: &Profile, out: &mut Vec<u8>) {
    let text = text(profile);
    out.extend_from_slice(b"BAM\x01");
    out.extend_from_slice(&(text.len() as u32).to_le_bytes());
    out.extend_from_slice(text.as_bytes());
    out.extend_from_slice(&(profile.contigs.len() as u32).to_le_bytes());
    for (name, length) in &profile.contigs {
        out.extend_from_slice(&(name.len() as u32 + 1).to_le_bytes());
        out.extend_from_slice(name.as_bytes());
        out.push(0);
        out.extend_from_slice(&length.to_le_bytes());
    }
}
