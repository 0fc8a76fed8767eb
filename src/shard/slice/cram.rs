//! Finds where a slice of a CRAM version 3 file can start: at a container.

use std::fs::File;

use readmill_cram::ContainerHeader;
use readmill_record::{Error, Result};

use super::file::read_up_to;
use crate::shard::job::{SliceBounds, VirtualOffset};

const DEFINITION_BYTES: u64 = 26;

/// Bytes to read for a container header: first the usual size, then the maximum.
const HEADER_READ_BYTES: [usize; 2] = [1 << 10, 1 << 16];

struct ContainerBounds {
    start: u64,
    end: u64,
    header: ContainerHeader,
}

/// Returns the position of the first container with records. `None` if the CRAM version is not 3;
/// such files are not divided.
pub fn find_first_container(file: &File) -> Result<Option<VirtualOffset>> {
    let mut definition = [0; DEFINITION_BYTES as usize];
    read_up_to(file, &mut definition, 0)?;
    if definition[4] != 3 {
        return Ok(None);
    }
    let header = read_container_header(file, DEFINITION_BYTES)?
        .ok_or_else(|| Error::input("there is no header"))?;
    Ok(Some(VirtualOffset { offset: header.end, within: 0 }))
}

/// Reads the bytes before the first container with records: the file definition and the header
/// container.
pub fn read_header_bytes(file: &File) -> Result<Vec<u8>> {
    let end = find_first_container(file)?.map_or(0, |first| first.offset);
    let mut bytes = vec![0; end as usize];
    read_up_to(file, &mut bytes, 0)?;
    Ok(bytes)
}

/// Returns the first position and then, for each wanted offset, the first later container whose
/// first read name differs from the last read name of the preceding container. `differ` compares
/// the names at the border between two adjacent containers.
pub fn find_borders(
    file: &File,
    first: VirtualOffset,
    wanted: &[u64],
    mut differ: impl FnMut(SliceBounds) -> Result<bool>,
) -> Result<Vec<VirtualOffset>> {
    let (mut borders, mut wanted) = (vec![first], wanted);
    let (mut at, mut before) = (first.offset, None::<ContainerBounds>);
    let position = |offset| VirtualOffset { offset, within: 0 };
    while let (Some((&near, rest)), Some(place)) =
        (wanted.split_first(), read_container_header(file, at)?)
    {
        if place.header.is_end() {
            break;
        }
        at = place.end;
        if place.header.records == 0 {
            continue;
        }
        if let Some(before) = before.take_if(|_| place.start >= near) {
            let bounds = SliceBounds { from: position(before.start), to: Some(position(place.end)) };
            if differ(bounds)? {
                borders.push(position(place.start));
                // Several wanted offsets may precede the same container.
                wanted = &rest[rest.partition_point(|&near| near <= place.start)..];
            }
        }
        before = Some(place);
    }
    Ok(borders)
}

fn read_container_header(file: &File, offset: u64) -> Result<Option<ContainerBounds>> {
    let mut bytes = Vec::new();
    let mut read = Ok((ContainerHeader::default(), 0));
    for max_bytes in HEADER_READ_BYTES {
        bytes.resize(max_bytes, 0);
        let n = read_up_to(file, &mut bytes, offset)?;
        if n == 0 {
            return Ok(None);
        }
        read = ContainerHeader::read(&bytes[..n], readmill_cram::Version { major: 3, minor: 0 });
        if read.is_ok() {
            break;
        }
    }
    let (header, taken) = read.map_err(|error| error.offset(offset))?;
    let end = offset + taken as u64 + header.length as u64;
    Ok(Some(ContainerBounds { start: offset, end, header }))
}
