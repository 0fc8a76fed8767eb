//! Describes what reads were compared with, for the description of a run: the reference and its
//! sequences, the known sites, and the sequencing platforms.

use std::path::Path;

use md5::{Digest, Md5};
use readmill_record::Header;
use serde_json::{Value, json};

use super::RunState;
use super::run_json::{add_path, describe_input, regular_file_bytes};

impl RunState<'_> {
    /// Describes the reference sequences that the header lists, and the FASTA file if one is given.
    ///
    /// The checksum is the MD5 of these sequences' lines in the header, not of the file: most runs read
    /// only parts of the file, or none of it.
    pub(super) fn describe_reference(&self) -> Value {
        let sequences = self.header.references();
        let (checksum, checksum_of) = match sequences {
            [] => (None, None),
            _ => {
                let (checksum, checksum_of) = hash_sequences(&self.header);
                (Some(checksum), Some(checksum_of))
            }
        };
        let object = json!({
            "path": null,
            "bytes": self.reference_path().and_then(regular_file_bytes),
            "sequences": sequences.len(),
            "total_bases": sequences.iter().map(|it| u64::from(it.length)).sum::<u64>(),
            "checksum": checksum,
            "checksum_of": checksum_of,
        });
        match self.reference_path() {
            Some(path) => add_path(path, object),
            None => object,
        }
    }

    /// Returns the reference of the run: of `--reference`, or of the step that has one of its own.
    fn reference_path(&self) -> Option<&Path> {
        let steps = &self.plan.steps;
        let given = self.plan.resources.reference.as_ref().map(|fasta| fasta.path());
        given
            .or_else(|| Some(&*steps.recalibration.as_ref()?.table_request()?.reference))
            .or_else(|| self.plan.aligning.as_ref()?.reference.as_deref())
    }

    pub(super) fn describe_known_sites(&self) -> Vec<Value> {
        let files = self.table_request().map_or(&[][..], |request| &request.known_sites);
        files.iter().map(|path| describe_input(path, &self.sums)).collect()
    }

    /// Returns the platforms (PL) of the read groups, each once, in the order of the header.
    pub(super) fn describe_platforms(&self) -> Vec<String> {
        let mut platforms: Vec<String> = Vec::new();
        for platform in self.header.lines_of_kind(b"RG").filter_map(|line| line.get(b"PL")) {
            let platform = String::from_utf8_lossy(platform).into_owned();
            if !platforms.contains(&platform) {
                platforms.push(platform);
            }
        }
        platforms
    }
}

/// Returns the MD5 of a line for each sequence, in the order of the header, and what the lines have.
/// They are `NAME<tab>LENGTH<tab>M5` if all sequences have an M5, and otherwise `NAME<tab>LENGTH`.
fn hash_sequences(header: &Header) -> (String, &'static str) {
    let sequences = header.references();
    let sums: Option<Vec<&[u8]>> = header.lines_of_kind(b"SQ").map(|line| line.get(b"M5")).collect();
    // A BAM file may list its sequences without lines in the text of the header.
    let sums = sums.filter(|sums| sums.len() == sequences.len());
    let mut hash = Md5::new();
    for (i, sequence) in sequences.iter().enumerate() {
        hash.update(&sequence.name);
        hash.update(format!("\t{}", sequence.length));
        if let Some(sum) = sums.as_ref().and_then(|sums| sums.get(i)) {
            hash.update(b"\t");
            hash.update(sum);
        }
        hash.update(b"\n");
    }
    let digest = hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
    (digest, if sums.is_some() { "names, lengths and M5" } else { "names and lengths" })
}
