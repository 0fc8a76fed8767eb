//! Borders in CRAM of version 3: before containers.

use std::fs::File;

use readmill_cram::ContainerHeader;
use readmill_record::{Error, Result};

use super::file::read_up_to;
use crate::shard::job::{Bounds, VirtualOffset};

/// Bytes of the file definition (CRAM specification 3.1, section 6).
const DEFINITION: u64 = 26;

/// Bytes of usual container headers, and of the largest.
const HEADERS: [usize; 2] = [1 << 10, 1 << 16];

/// A container: where it starts and ends, and its header.
struct ContainerBounds {
    start: u64,
    end: u64,
    header: ContainerHeader,
}

/// Returns where the first container with records starts; `None` for a version that is not divided.
pub fn start(file: &File) -> Result<Option<VirtualOffset>> {
    let mut definition = [0; DEFINITION as usize];
    read_up_to(file, &mut definition, 0)?;
    if definition[4] != 3 {
        return Ok(None);
    }
    let header = container(file, DEFINITION)?.ok_or_else(|| Error::input("there is no header"))?;
    Ok(Some(VirtualOffset { offset: header.end, within: 0 }))
}

/// The bytes before the first container with records: the file definition and the header.
pub fn head(file: &File) -> Result<Vec<u8>> {
    let end = start(file)?.map_or(0, |first| first.offset);
    let mut bytes = vec![0; end as usize];
    read_up_to(file, &mut bytes, 0)?;
    Ok(bytes)
}

/// Returns the first position, then for each wanted offset the first container behind it whose reads have another name
/// than those before it. `differ` says whether the names of two containers do.
pub fn borders(
    file: &File,
    first: VirtualOffset,
    wanted: &[u64],
    mut differ: impl FnMut(Bounds) -> Result<bool>,
) -> Result<Vec<VirtualOffset>> {
    let (mut borders, mut wanted) = (vec![first], wanted);
    let (mut at, mut before) = (first.offset, None::<ContainerBounds>);
    let position = |offset| VirtualOffset { offset, within: 0 };
    while let (Some((&near, rest)), Some(place)) = (wanted.split_first(), container(file, at)?) {
        if place.header.is_end() {
            break;
        }
        at = place.end;
        if place.header.records == 0 {
            continue;
        }
        if let Some(before) = before.take_if(|_| place.start >= near) {
            let bounds = Bounds { from: position(before.start), to: Some(position(place.end)) };
            if differ(bounds)? {
                borders.push(position(place.start));
                // Later ones may be wanted here, too.
                wanted = &rest[rest.partition_point(|&near| near <= place.start)..];
            }
        }
        before = Some(place);
    }
    Ok(borders)
}

/// Reads the header of the container at an offset; `None` at the end of the file.
fn container(file: &File, offset: u64) -> Result<Option<ContainerBounds>> {
    let mut bytes = Vec::new();
    let mut read = Ok((ContainerHeader::default(), 0));
    for most in HEADERS {
        bytes.resize(most, 0);
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
