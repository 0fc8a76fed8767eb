//! Points inside FASTQ files from which they can be read again.
//!
//! A job in stages scans its input once and divides it into slices, which separate processes align.
//! The scan converts the position of a slice's first template ([`TextPlace`]) to a
//! [`RestartPoint`], which is stored with the slice.

use std::fs::File;
use std::io;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::gzip::{GzipPoint, GzipPoints};

/// A point from which a file can be read without reading the data before it. Pass it to
/// [`FastqInput::From`](crate::FastqInput::From).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum RestartPoint {
    #[default]
    Start,
    /// In plain text: the byte offset.
    Text(u64),
    /// In BGZF: the file offset of a block, and the number of bytes to skip in the text that starts
    /// there.
    Blocks(u64, u64),
    /// In gzip: a point between two deflate blocks, and the number of bytes to skip in the text
    /// after it.
    Gzip(Box<GzipPoint>, u64),
}

impl RestartPoint {
    pub fn stored_bytes(&self) -> u64 {
        match self {
            RestartPoint::Start => 0,
            RestartPoint::Text(offset) | RestartPoint::Blocks(offset, _) => *offset,
            RestartPoint::Gzip(point, _) => point.offset,
        }
    }
}

/// A position in the text of a file that is being read, as a block and an offset. The meaning of a
/// block depends on the file format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TextPlace {
    /// Offset of the block: of its compressed data in the file for BGZF, of its text for other
    /// formats.
    pub block: u64,
    pub within: u64,
}

pub(crate) enum Restart {
    /// The file can only be read from its start: a pipe, or zstd.
    Nowhere,
    Text,
    Blocks,
    Gzip(Arc<File>, GzipPoints),
}

impl Restart {
    /// Returns the point from which the text can be read again, starting at `place`. `None` if this
    /// is not possible.
    pub fn find_point(&self, place: TextPlace) -> io::Result<Option<RestartPoint>> {
        let text = place.block + place.within;
        Ok(match self {
            _ if text == 0 => Some(RestartPoint::Start),
            Restart::Nowhere => None,
            Restart::Text => Some(RestartPoint::Text(text)),
            Restart::Blocks => Some(RestartPoint::Blocks(place.block, place.within)),
            Restart::Gzip(file, points) => points.find_before(text, file)?.map(|point| {
                let behind = text - point.text;
                RestartPoint::Gzip(Box::new(point), behind)
            }),
        })
    }

    pub fn stored_bytes(&self, place: TextPlace) -> u64 {
        match self {
            Restart::Nowhere => 0,
            Restart::Text => place.block + place.within,
            Restart::Blocks => place.block,
            Restart::Gzip(_, points) => points.stored_bytes(place.block + place.within),
        }
    }

    pub fn forget_before(&self, place: TextPlace) {
        if let Restart::Gzip(_, points) = self {
            points.forget_before(place.block + place.within);
        }
    }

    /// Frees the restart data and records no more. Call this when no later slice can start in the file.
    pub fn stop_recording(&self) {
        if let Restart::Gzip(_, points) = self {
            points.stop_recording();
        }
    }
}
