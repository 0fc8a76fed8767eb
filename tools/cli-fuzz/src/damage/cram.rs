//! Damages CRAM containers and blocks: compressed streams, block contents, and the headers of
//! blocks, slices and containers. Lengths, landmarks and checksums are corrected afterwards, so
//! that the decoder reaches the damage.

use std::io::{Read, Write};

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use readmill_fuzz::changes;
use readmill_simulate::Rng;

use super::cells;
use super::numbers::{MAX_BYTES, draw_number};

/// Size of the file definition in bytes (CRAM specification, section 6).
const DEFINITION_BYTES: usize = 26;

/// Compression methods, and the content type of a slice header block (CRAM specification,
/// section 8).
const RAW: u8 = 0;
const GZIP: u8 = 1;
const SLICE_HEADER: u8 = 2;

/// Number of fields in a container header before the block count: contig, start, span, records,
/// record counter and bases.
const HEADER_NUMBERS: usize = 6;

#[derive(Clone)]
struct ContainerParts {
    numbers: [Vec<u8>; HEADER_NUMBERS],
    landmarks: Vec<Vec<u8>>,
    blocks: Vec<BlockParts>,
    rest: Vec<u8>,
}

#[derive(Clone)]
struct BlockParts {
    method: u8,
    kind: u8,
    id: Vec<u8>,
    raw_size: Vec<u8>,
    data: Vec<u8>,
}

/// Damages one to three parts. In one of 15 cases, and if the contents cannot be parsed, changes
/// bytes instead.
pub fn damage_cram(content: &[u8], rng: &mut Rng) -> Vec<u8> {
    let mut damaged = content.to_vec();
    let parsed = if rng.is_once_in(15) { None } else { parse_containers(content) };
    let Some(mut containers) = parsed else {
        changes::change_bytes(&mut damaged, content, MAX_BYTES, rng);
        return damaged;
    };
    let has_checksums = content[4] >= 3;
    for _ in 0..=rng.index(3) {
        damage_part(&mut containers, rng);
    }
    damaged.truncate(DEFINITION_BYTES);
    if rng.is_once_in(20) {
        damaged[4 + rng.index(2)] = rng.index(5) as u8;
    }
    containers.iter().for_each(|container| write_container(container, has_checksums, &mut damaged, rng));
    if rng.is_once_in(30) {
        damaged.truncate(rng.index(damaged.len() + 1));
    }
    damaged
}

fn damage_part(containers: &mut Vec<ContainerParts>, rng: &mut Rng) {
    if containers.is_empty() {
        return;
    }
    // The first container is the SAM header, the last one the end-of-file marker.
    let at = rng.index(containers.len());
    if rng.is_once_in(10) {
        let to = rng.index(containers.len());
        match rng.index(3) {
            0 => drop(containers.remove(at)),
            1 => containers.insert(to, containers[at].clone()),
            _ => containers.swap(at, to),
        }
        return;
    }
    let container = &mut containers[at];
    if rng.is_once_in(8) || container.blocks.is_empty() {
        let at = rng.index(HEADER_NUMBERS);
        container.numbers[at] = encode_itf8(draw_number(decode_itf8(&container.numbers[at]), rng));
        return;
    }
    let at = rng.index(container.blocks.len());
    if rng.is_once_in(12) {
        match rng.index(3) {
            0 => drop(container.blocks.remove(at)),
            1 => container.blocks.push(container.blocks[at].clone()),
            _ => {
                let to = rng.index(container.blocks.len());
                container.blocks.swap(at, to);
            }
        }
        return;
    }
    damage_block(&mut container.blocks[at], rng);
}

fn damage_block(block: &mut BlockParts, rng: &mut Rng) {
    match rng.index(14) {
        0 => block.method = rng.index(10) as u8,
        1 => block.kind = rng.index(7) as u8,
        2 => block.id = encode_itf8(draw_number(decode_itf8(&block.id), rng)),
        3 => block.raw_size = encode_itf8(draw_number(decode_itf8(&block.raw_size), rng)),
        4 => block.data.truncate(rng.index(block.data.len() + 1)),
        _ => {}
    }
    if block.method == GZIP && !rng.is_once_in(8) {
        let mut text = Vec::new();
        // If the block is not valid gzip, its bytes are damaged below.
        if GzDecoder::new(&block.data[..]).take(MAX_BYTES as u64).read_to_end(&mut text).is_ok() {
            block.data = damage_data(&text, rng);
            block.raw_size = encode_itf8(block.data.len() as i64);
            if rng.is_once_in(2) {
                block.method = RAW;
            } else {
                let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
                let done = encoder.write_all(&block.data).and_then(|()| encoder.finish());
                block.data = done.unwrap_or_default();
            }
            return;
        }
    }
    block.data = damage_data(&block.data, rng);
    if block.method == RAW && !rng.is_once_in(10) {
        block.raw_size = encode_itf8(block.data.len() as i64);
    }
}

fn damage_data(data: &[u8], rng: &mut Rng) -> Vec<u8> {
    if rng.is_once_in(3) {
        return cells::damage_cells(data, data, rng);
    }
    let mut damaged = data.to_vec();
    if rng.is_once_in(2) && !damaged.is_empty() {
        // Headers of streams, slices and encodings are short and at the start of a block.
        let end = if rng.is_once_in(2) { damaged.len().min(24) } else { damaged.len() };
        let at = rng.index(end);
        damaged[at] = if rng.is_once_in(2) { rng.index(256) as u8 } else { damaged[at].wrapping_add(1) };
    } else {
        changes::change_bytes(&mut damaged, data, MAX_BYTES, rng);
    }
    damaged
}

/// Appends a container with correct length, landmarks and checksums. In a few cases, a landmark or
/// the block count is wrong.
fn write_container(container: &ContainerParts, has_checksums: bool, out: &mut Vec<u8>, rng: &mut Rng) {
    let (mut blocks, mut landmarks) = (Vec::new(), Vec::new());
    for block in &container.blocks {
        let from = blocks.len();
        if block.kind == SLICE_HEADER {
            landmarks.push(encode_itf8(from as i64));
        }
        blocks.extend([block.method, block.kind]);
        blocks.extend_from_slice(&block.id);
        blocks.extend_from_slice(&encode_itf8(block.data.len() as i64));
        blocks.extend_from_slice(&block.raw_size);
        blocks.extend_from_slice(&block.data);
        append_checksum(&mut blocks, from, has_checksums);
    }
    blocks.extend_from_slice(&container.rest);
    if landmarks.is_empty() {
        // The SAM header container has no slices.
        landmarks.clone_from(&container.landmarks);
    }
    if rng.is_once_in(40) && !landmarks.is_empty() {
        let at = rng.index(landmarks.len());
        landmarks[at] = encode_itf8(draw_number(decode_itf8(&landmarks[at]), rng));
    }
    let from = out.len();
    out.extend_from_slice(&(blocks.len() as u32).to_le_bytes());
    container.numbers.iter().for_each(|number| out.extend_from_slice(number));
    let count = if rng.is_once_in(60) { rng.index(300) } else { container.blocks.len() };
    out.extend_from_slice(&encode_itf8(count as i64));
    out.extend_from_slice(&encode_itf8(landmarks.len() as i64));
    landmarks.iter().for_each(|landmark| out.extend_from_slice(landmark));
    append_checksum(out, from, has_checksums);
    out.extend_from_slice(&blocks);
}

fn append_checksum(out: &mut Vec<u8>, from: usize, has_checksums: bool) {
    if has_checksums {
        let sum = crc32fast::hash(&out[from..]);
        out.extend_from_slice(&sum.to_le_bytes());
    }
}

fn encode_itf8(number: i64) -> Vec<u8> {
    let mut out = Vec::new();
    readmill_fuzz::put_itf8(&mut out, number as u32);
    out
}

/// Decodes an ITF8 number of up to four bytes. Returns 0 for a longer number.
fn decode_itf8(bytes: &[u8]) -> i64 {
    let more = bytes.first().map_or(0, |byte| byte.leading_ones());
    if more > 3 {
        return 0;
    }
    let first = i64::from(bytes.first().copied().unwrap_or(0)) & (0x7f >> more);
    bytes.iter().skip(1).fold(first, |value, &byte| value << 8 | i64::from(byte))
}

/// Removes an encoded number from the front of `rest` and returns its bytes. The number is LTF8 if
/// `is_long`, otherwise ITF8.
fn take_number(rest: &mut &[u8], is_long: bool) -> Option<Vec<u8>> {
    let more = rest.first()?.leading_ones() as usize;
    let (taken, after) = rest.split_at_checked(1 + more.min(if is_long { 8 } else { 4 }))?;
    *rest = after;
    Some(taken.to_vec())
}

fn parse_containers(content: &[u8]) -> Option<Vec<ContainerParts>> {
    let has_checksums = *content.get(4)? >= 3;
    let sum = if has_checksums { 4 } else { 0 };
    let mut rest = content.get(DEFINITION_BYTES..)?;
    let mut containers = Vec::new();
    while !rest.is_empty() {
        let (length, more) = rest.split_first_chunk::<4>()?;
        rest = more;
        let mut numbers: [Vec<u8>; HEADER_NUMBERS] = Default::default();
        for (at, number) in numbers.iter_mut().enumerate() {
            *number = take_number(&mut rest, at >= 4)?;
        }
        let count = decode_itf8(&take_number(&mut rest, false)?);
        let mut landmarks = Vec::new();
        for _ in 0..decode_itf8(&take_number(&mut rest, false)?) {
            landmarks.push(take_number(&mut rest, false)?);
        }
        let (mut body, after) =
            rest.get(sum..)?.split_at_checked(u32::from_le_bytes(*length) as usize)?;
        rest = after;
        let mut blocks = Vec::new();
        for _ in 0..count {
            let (&[method, kind], more) = body.split_first_chunk::<2>()?;
            body = more;
            let id = take_number(&mut body, false)?;
            let size = decode_itf8(&take_number(&mut body, false)?) as usize;
            let raw_size = take_number(&mut body, false)?;
            let (data, more) = body.split_at_checked(size)?;
            body = more.get(sum..)?;
            blocks.push(BlockParts { method, kind, id, raw_size, data: data.to_vec() });
        }
        containers.push(ContainerParts { numbers, landmarks, blocks, rest: body.to_vec() });
    }
    Some(containers)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_taken_apart_and_put_together() {
        // The generator never selects a rare case, so the output must equal the parsed input.
        for file in readmill_fuzz::whole_cram_files() {
            let containers = parse_containers(&file).expect("a file of containers");
            let again = (0..200).map(Rng::new).find(|rng| {
                let (mut rng, mut again) = (rng.clone(), file[..DEFINITION_BYTES].to_vec());
                containers
                    .iter()
                    .for_each(|container| write_container(container, true, &mut again, &mut rng));
                again == file
            });
            assert!(again.is_some() && containers.len() >= 3);
            let whole = (0..60)
                .filter(|&seed| parse_containers(&damage_cram(&file, &mut Rng::new(seed))).is_some());
            assert!(whole.count() > 40, "lengths are right");
        }
    }
}
