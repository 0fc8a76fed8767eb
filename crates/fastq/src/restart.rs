//! Places inside FASTQ files from which their text can be read again.

use std::fs::File;
use std::io;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::gzip::{GzipPoint, GzipPoints};

/// A place in a file, between two bytes of its text.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum RestartPoint {
    /// The start of the file.
    #[default]
    Start,
    /// In plain text: bytes before it.
    Text(u64),
    /// In BGZF: the offset of a block, and how many bytes of the text from this block on are before the place.
    Blocks(u64, u64),
    /// In gzip: a place between two blocks of deflate data, and how many bytes of the text from there on are before this
    /// one.
    Gzip(Box<GzipPoint>, u64),
}

impl RestartPoint {
    /// How many bytes of the file, as it is stored, are before it, about.
    pub fn stored_bytes(&self) -> u64 {
        match self {
            RestartPoint::Start => 0,
            RestartPoint::Text(offset) | RestartPoint::Blocks(offset, _) => *offset,
            RestartPoint::Gzip(point, _) => point.offset,
        }
    }
}

/// A place in a text that is being read; what a block is follows from the kind of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TextPlace {
    /// Offset of a block of text: of the compressed data in BGZF, of the text in other files.
    pub block: u64,
    /// Bytes of the block before the place.
    pub within: u64,
}

/// How the text of a file can be read again.
pub(crate) enum Restart {
    /// It cannot, but from its start: a pipe, or zstd.
    Nowhere,
    /// Plain text.
    Text,
    /// BGZF.
    Blocks,
    /// Gzip, whose places were noted.
    Gzip(Arc<File>, GzipPoints),
}

impl Restart {
    /// Returns the point from which the text can be read again from a place on; `None` if it cannot.
    pub fn point(&self, place: TextPlace) -> io::Result<Option<RestartPoint>> {
        let text = place.block + place.within;
        Ok(match self {
            _ if text == 0 => Some(RestartPoint::Start),
            Restart::Nowhere => None,
            Restart::Text => Some(RestartPoint::Text(text)),
            Restart::Blocks => Some(RestartPoint::Blocks(place.block, place.within)),
            Restart::Gzip(file, points) => points.before(text, file)?.map(|point| {
                let behind = text - point.text;
                RestartPoint::Gzip(Box::new(point), behind)
            }),
        })
    }

    /// About how many bytes of the file, as it is stored, are before a place.
    pub fn stored_bytes(&self, place: TextPlace) -> u64 {
        match self {
            Restart::Nowhere => 0,
            Restart::Text => place.block + place.within,
            Restart::Blocks => place.block,
            Restart::Gzip(_, points) => points.stored_bytes(place.block + place.within),
        }
    }

    /// Forgets what is needed for places before this one only.
    pub fn forget_before(&self, place: TextPlace) {
        if let Restart::Gzip(_, points) = self {
            points.forget_before(place.block + place.within);
        }
    }
}
