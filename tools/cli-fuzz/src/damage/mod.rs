//! Damages an input according to its format: a record field, a compressed stream, an index cell.
//!
//! Compressed inputs are inflated, damaged and recompressed with correct checksums, so that the
//! damage passes the codec and reaches the code that reads records.

mod bam;
mod bgzf;
mod cells;
mod cram;
mod json;
mod lines;
mod numbers;
pub mod words;

use std::io::Read;

use flate2::read::MultiGzDecoder;
use numbers::MAX_BYTES;
use readmill_fuzz::changes;
use readmill_simulate::Rng;

/// Returns a damaged copy of a file. The result depends only on the arguments and the state of
/// `rng`. Bytes of the other file `other` may be inserted.
pub fn damage_file(name: &str, bytes: &[u8], other: &[u8], rng: &mut Rng) -> Vec<u8> {
    if rng.is_once_in(12) {
        return damage_bytes(bytes, other, rng);
    }
    let Some(text) = inflate_gzip(bytes) else { return damage_content(name, bytes, other, rng) };
    let other = inflate_gzip(other).unwrap_or_else(|| other.to_vec());
    let text = if rng.is_once_in(10) { text } else { damage_content(name, &text, &other, rng) };
    bgzf::compress_like(&text, bytes, rng)
}

fn damage_content(name: &str, content: &[u8], other: &[u8], rng: &mut Rng) -> Vec<u8> {
    match content {
        [b'B', b'A', b'M', 1, ..] => bam::damage_bam(content, other, rng),
        [b'C', b'R', b'A', b'M', ..] => cram::damage_cram(content, rng),
        [b'{', ..] => json::damage_json(content, rng),
        _ if content.is_ascii() => lines::damage_lines(content, is_fastq(name, content), rng),
        _ => cells::damage_cells(content, other, rng),
    }
}

fn is_fastq(name: &str, content: &[u8]) -> bool {
    content.starts_with(b"@") && (name.contains("fastq") || name.contains(".fq"))
}

/// Damages bytes regardless of the format: truncates, appends, repeats or changes them. Checksums
/// are not corrected.
fn damage_bytes(bytes: &[u8], other: &[u8], rng: &mut Rng) -> Vec<u8> {
    let mut damaged = bytes.to_vec();
    match rng.index(8) {
        0 => damaged.truncate(rng.index(bytes.len() + 1)),
        1 => damaged.extend_from_slice(&other[..rng.index(other.len() + 1)]),
        2 => damaged.extend_from_slice(bytes),
        3 => damaged.extend(vec![0; 1 + rng.index(600)]),
        _ => changes::change_bytes(&mut damaged, other, MAX_BYTES, rng),
    }
    damaged
}

/// Returns the inflated contents of a gzip file, or `None` for other files. A damaged gzip file is
/// treated as uncompressed.
fn inflate_gzip(bytes: &[u8]) -> Option<Vec<u8>> {
    let mut text = Vec::new();
    let is_gzip = bytes.starts_with(&[0x1f, 0x8b]);
    let inflated =
        is_gzip && MultiGzDecoder::new(bytes).take(MAX_BYTES as u64).read_to_end(&mut text).is_ok();
    inflated.then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn damage_follows_from_the_seed_and_keeps_the_compression() {
        let seed = bgzf::compress_like(
            b"chr1\t10\t20\nchr2\t30\t40\n",
            &readmill_format::bgzf::EOF_BLOCK,
            &mut Rng::new(1),
        );
        assert_eq!(inflate_gzip(&seed).as_deref(), Some(&b"chr1\t10\t20\nchr2\t30\t40\n"[..]));
        let (mut changed, mut whole) = (0, 0);
        for number in 0..100 {
            let once = damage_file("a.bed", &seed, b"x", &mut Rng::new(number));
            assert_eq!(once, damage_file("a.bed", &seed, b"x", &mut Rng::new(number)));
            changed += usize::from(once != seed);
            whole += usize::from(inflate_gzip(&once).is_some());
        }
        assert!(changed > 90 && whole > 70, "{changed} changed, {whole} can be inflated");
    }
}
