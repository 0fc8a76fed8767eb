//! From a container to raw BAM records.

mod bam;
mod building;
mod features;
mod mates;
mod parts;
mod record;
mod setup;
mod slice;
mod source;

use std::collections::HashMap;
use std::sync::Arc;

use readmill_record::{Error, Result};

use super::bases::Bases;
use super::block::{Block, Content};
use super::codec::Codecs;
use super::encoding::{Stream, Streams};
use super::num::{Front, damaged};
use super::reader::Container;
use super::scheme::Scheme;
use crate::chain::Opened;
use crate::reference::WINDOW_BYTES;
use mates::Noted;
pub use setup::Setup;

/// Larger blocks are not kept.
const MOST_KEPT: usize = 1 << 20;

/// Most memory that a thread's decoder keeps beside what it decodes: a window of the reference, tables, and blocks.
pub const DECODER_BYTES: usize = WINDOW_BYTES + (4 << 20);

/// One thread's decoder.
pub struct Decoder {
    setup: Arc<Setup>,
    codecs: Codecs,
    bases: Bases,
    streams: Streams,
    /// An embedded reference, or the header of a slice.
    embedded: Vec<u8>,
    notes: Vec<Noted>,
    scratch: parts::Scratch,
}

impl Decoder {
    /// A decoder.
    pub fn new(setup: Arc<Setup>) -> Self {
        Decoder {
            codecs: Codecs::default(),
            bases: setup.references.bases(),
            streams: Streams::default(),
            embedded: Vec::new(),
            notes: Vec::new(),
            scratch: parts::Scratch::default(),
            setup,
        }
    }

    /// Decodes a container. If something is wrong with it, the records before that are noted, and the fault.
    pub fn open(&mut self, container: &Container, opened: &mut Opened) {
        if let Err(error) = self.try_open(container, opened) {
            opened.fail(error);
        }
        // What is larger than others is not kept for the next container.
        let large = |stream: &&mut Stream| stream.bytes.capacity() > MOST_KEPT;
        self.streams.external.iter_mut().filter(large).for_each(|stream| stream.bytes = Vec::new());
    }

    fn try_open(&mut self, container: &Container, opened: &mut Opened) -> Result<()> {
        let (bytes, version) = (container.blocks(), self.setup.version);
        let mut front = Front(bytes);
        let first = Block::read(&mut front, version)?;
        if first.content != Content::CompressionHeader {
            return Err(damaged("a container does not begin with its compression header"));
        }
        first.inflate(&mut self.codecs, &mut self.embedded)?;
        let scheme = Scheme::read(&self.embedded)?;
        let (most, mut records) = (container.bound(), 0);
        for &landmark in &container.header.landmarks {
            let slice = bytes.get(landmark as usize..).filter(|_| landmark >= 0);
            let mut slice =
                Front(slice.ok_or_else(|| damaged("a slice starts outside of its container"))?);
            records +=
                self.slice(&mut slice, &scheme, (most, container.header.records - records), opened)?;
        }
        Ok(())
    }

    fn slice(
        &mut self,
        front: &mut Front<'_>,
        scheme: &Scheme,
        (most, most_records): (usize, usize),
        opened: &mut Opened,
    ) -> Result<usize> {
        let version = self.setup.version;
        let slice =
            slice::read(front, version, &mut self.codecs, &mut self.streams, &mut self.embedded)?;
        if slice.records > most_records {
            return Err(too_much());
        }
        slice::check_reference(&slice, scheme, &mut self.bases, &self.embedded)?;
        let (series, tags) = scheme.resolve(&self.streams);
        let lines = record::tag_lines(scheme, &tags);
        let start = opened.bytes_mut().len();
        self.notes.clear();
        let mut reader = parts::Reader {
            setup: &self.setup,
            scheme,
            slice: &slice,
            series: &series,
            lines: &lines,
            streams: &mut self.streams,
            bases: source::Source::new(&slice, scheme, &mut self.bases, &self.embedded),
            scratch: &mut self.scratch,
            last_pos: i64::from(slice.start),
            heads: HashMap::new(),
        };
        let mut wrong = None;
        for _ in 0..slice.records {
            let bytes = opened.bytes_mut();
            let at = bytes.len();
            let read = reader.next(&mut self.notes, bytes);
            let fits = bytes.len() <= most;
            if let Err(error) = read.and(if fits { Ok(()) } else { Err(too_much()) }) {
                bytes.truncate(at);
                self.notes.truncate(self.notes.iter().take_while(|note| note.at < at).count());
                wrong = Some(error);
                break;
            }
        }
        if wrong.is_none() {
            mates::settle(&mut self.notes, &mut opened.bytes_mut()[..])?;
        }
        let end = opened.bytes_mut().len();
        let starts = self.notes.iter().map(|note| note.at);
        let ends = self.notes.iter().skip(1).map(|note| note.at).chain([end]);
        debug_assert!(self.notes.first().is_none_or(|note| note.at == start));
        starts.zip(ends).for_each(|(from, to)| opened.push_sized(from, to - from));
        wrong.map_or(Ok(slice.records), Err)
    }
}

/// The error for a container whose records are larger than its sizes promise.
fn too_much() -> Error {
    damaged("a container holds more than its header says")
}
