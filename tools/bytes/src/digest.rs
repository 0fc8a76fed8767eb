//! Hashes of a command line's outputs: of their bytes, and of the inflated data of BGZF files.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;

use anyhow::{Context, Result};
use flate2::read::MultiGzDecoder;
use sha2::{Digest as _, Sha256};

/// Two hashes of one output. If only `bytes` differs between two runs, BGZF blocks were divided or
/// compressed differently.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Digest {
    pub bytes: String,
    /// SHA-256 of the inflated data; `None` if the file is not BGZF.
    pub inflated: Option<String>,
}

pub type Outputs = BTreeMap<String, Digest>;

impl Digest {
    pub fn of_bytes(bytes: &[u8]) -> Self {
        Self::of_parts(&[bytes])
    }

    /// Hashes a file that was written in parts. Only `bytes` depends on where the parts end.
    fn of_parts(parts: &[&[u8]]) -> Self {
        let mut all = Sha256::new();
        let mut inflated = Some(Sha256::new());
        for part in parts {
            if parts.len() > 1 {
                all.update((part.len() as u64).to_le_bytes());
            }
            all.update(part);
            inflated = inflated.zip(inflate_bgzf(part)).map(|(hash, text)| hash.chain_update(text));
        }
        Self { bytes: to_hex(all), inflated: inflated.map(to_hex) }
    }
}

fn inflate_bgzf(bytes: &[u8]) -> Option<Vec<u8>> {
    let is_bgzf = bytes.starts_with(&[0x1f, 0x8b, 8, 4]) && bytes.get(12..14) == Some(b"BC");
    let mut text = Vec::new();
    (is_bgzf && MultiGzDecoder::new(bytes).read_to_end(&mut text).is_ok()).then_some(text)
}

fn to_hex(hash: Sha256) -> String {
    hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Hashes standard output and all files below a directory. The parts of a file (`out.bam.part-*`)
/// count as one output.
pub fn hash_outputs(directory: &Path, stdout: &[u8]) -> Result<Outputs> {
    let mut files = BTreeMap::new();
    collect_files(directory, "", &mut files)?;
    let mut grouped: BTreeMap<String, Vec<&[u8]>> = BTreeMap::new();
    for (name, bytes) in &files {
        grouped.entry(mask_part_number(name)).or_default().push(bytes);
    }
    let mut outputs: Outputs =
        grouped.into_iter().map(|(name, parts)| (name, Digest::of_parts(&parts))).collect();
    outputs.insert("standard output".into(), Digest::of_bytes(stdout));
    Ok(outputs)
}

fn mask_part_number(name: &str) -> String {
    match name.rsplit_once(".part-") {
        Some((file, number)) if !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit()) => {
            format!("{file}.part-*")
        }
        _ => name.to_owned(),
    }
}

/// Reads all files below a directory. Symbolic links are skipped, because they lead to the inputs.
fn collect_files(directory: &Path, before: &str, files: &mut BTreeMap<String, Vec<u8>>) -> Result<()> {
    for entry in std::fs::read_dir(directory)? {
        let entry = entry?;
        let name = format!("{before}{}", entry.file_name().to_string_lossy());
        let kind = entry.file_type()?;
        if kind.is_dir() {
            collect_files(&entry.path(), &format!("{name}/"), files)?;
        } else if kind.is_file() {
            let bytes = std::fs::read(entry.path()).with_context(|| format!("cannot read {name}"))?;
            files.insert(name, bytes);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use readmill_format::bgzf::{Codec, Deflater};

    /// Writes BGZF with one block per text.
    fn bgzf(texts: &[&[u8]], level: u8) -> Vec<u8> {
        let (mut deflater, mut out) = (Deflater::new(Codec::Libdeflate, level), Vec::new());
        texts.iter().for_each(|text| deflater.deflate_block(text, &mut out));
        out
    }

    #[test]
    fn hashes_are_those_of_sha256sum() {
        let digest = Digest::of_bytes(b"abc");
        assert_eq!(digest.bytes, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
        assert_eq!(digest.inflated, None);
    }

    #[test]
    fn the_second_hash_is_that_of_the_text_whatever_the_blocks() {
        let text = Digest::of_bytes(b"abcabcabcabc").bytes;
        for file in [
            bgzf(&[b"abcabcabcabc"], 6),
            bgzf(&[b"abcabcabcabc"], 0),
            bgzf(&[b"abc", b"abcabc", b"abc"], 6),
        ] {
            let digest = Digest::of_bytes(&file);
            assert_ne!(digest.bytes, text);
            assert_eq!(digest.inflated.as_ref(), Some(&text));
            // A truncated file has no inflated data.
            assert_eq!(Digest::of_bytes(&file[..file.len() - 1]).inflated, None);
        }
    }

    #[test]
    fn parts_of_one_file_are_one_output() {
        let directory = tempfile::tempdir().unwrap();
        let write = |cut: usize| {
            let text = b"abcdefghi";
            std::fs::write(directory.path().join("o.bam.part-001"), bgzf(&[&text[..cut]], 6)).unwrap();
            std::fs::write(directory.path().join("o.bam.part-002"), bgzf(&[&text[cut..]], 6)).unwrap();
            hash_outputs(directory.path(), b"said").unwrap()
        };
        let (one, other) = (write(3), write(4));
        assert_eq!(one.keys().collect::<Vec<_>>(), ["o.bam.part-*", "standard output"]);
        assert_eq!(one["standard output"], Digest::of_bytes(b"said"));
        assert_ne!(one["o.bam.part-*"].bytes, other["o.bam.part-*"].bytes);
        assert_eq!(one["o.bam.part-*"].inflated, Some(Digest::of_bytes(b"abcdefghi").bytes));
        assert_eq!(one["o.bam.part-*"].inflated, other["o.bam.part-*"].inflated);
    }

    #[test]
    fn files_of_directories_count_and_links_do_not() {
        let directory = tempfile::tempdir().unwrap();
        std::fs::create_dir(directory.path().join("demo")).unwrap();
        std::fs::write(directory.path().join("demo/x.txt"), "x").unwrap();
        std::os::unix::fs::symlink("demo", directory.path().join("in")).unwrap();
        let names: Vec<String> = hash_outputs(directory.path(), b"").unwrap().into_keys().collect();
        assert_eq!(names, ["demo/x.txt", "standard output"]);
    }
}
