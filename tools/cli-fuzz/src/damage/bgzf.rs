//! Recompresses damaged text, with block boundaries at random positions.

use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;
use readmill_format::bgzf::{Codec, Deflater, EOF_BLOCK, MAX_BLOCK};
use readmill_simulate::Rng;

/// Compresses `text` in the format of `model`: BGZF or plain gzip. Some files get empty blocks, no
/// end marker, or another unusual structure, but all checksums are correct.
pub fn compress_like(text: &[u8], model: &[u8], rng: &mut Rng) -> Vec<u8> {
    let is_bgzf = model.get(3) == Some(&4) && model.get(12..14) == Some(b"BC");
    if is_bgzf != rng.is_once_in(40) { compress_blocks(text, rng) } else { compress_members(text, rng) }
}

fn compress_blocks(text: &[u8], rng: &mut Rng) -> Vec<u8> {
    let (mut file, mut rest) = (Vec::new(), text);
    let mut deflater = Deflater::new(Codec::Libdeflate, rng.pick(&[0, 1, 6]));
    let max_block = rng.pick(&[MAX_BLOCK, MAX_BLOCK, 4000, 300, 40]);
    // Put an empty block between the others.
    let empty_at = if rng.is_once_in(6) { rng.index(text.len() + 1) } else { usize::MAX };
    while !rest.is_empty() {
        let (block, more) = rest.split_at(rest.len().min(1 + rng.index(max_block)));
        if text.len() - rest.len() >= empty_at && rng.is_once_in(2) {
            file.extend_from_slice(&EOF_BLOCK);
        }
        deflater.deflate_block(block, &mut file);
        rest = more;
    }
    match rng.index(20) {
        0 => {}
        1 => {
            file.extend_from_slice(&EOF_BLOCK);
            file.extend_from_slice(&EOF_BLOCK);
        }
        2 => {
            file.extend_from_slice(&EOF_BLOCK);
            file.extend(vec![0; 1 + rng.index(50)]);
        }
        3 => {
            // Append a plain gzip member after the blocks.
            file.extend_from_slice(&compress_members(&text[..text.len() / 2], rng));
        }
        _ => file.extend_from_slice(&EOF_BLOCK),
    }
    file
}

fn compress_members(text: &[u8], rng: &mut Rng) -> Vec<u8> {
    let at = if rng.is_once_in(3) { rng.index(text.len() + 1) } else { text.len() };
    let (one, two) = text.split_at(at);
    let member = |text: &[u8]| {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        // Writing to a vector cannot fail.
        encoder.write_all(text).and_then(|()| encoder.finish()).unwrap_or_default()
    };
    let mut file = member(one);
    if at < text.len() {
        file.extend_from_slice(&member(two));
    }
    file
}
