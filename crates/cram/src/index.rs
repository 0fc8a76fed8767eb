//! The .crai index: a line for each contig of each slice, compressed by gzip (CRAM specification 3.1, section 12).

use std::io::Write;

use readmill_record::{Error, Result};

/// The place of a contig's reads in a container of one slice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The contig; -1 for reads without one.
    pub contig: i32,
    /// First base (1-based), and the number of bases.
    pub start: i64,
    /// Bases of the reference.
    pub span: i64,
    /// Where the slice starts behind the container's header, and its bytes.
    pub slice: (u64, u64),
}

/// An index under construction.
#[derive(Default)]
pub struct Crai {
    lines: Vec<(Entry, u64)>,
    unsorted: bool,
}

impl Crai {
    /// Adds the entries of a container that starts at `offset`.
    pub fn add(&mut self, entries: &[Entry], offset: u64) {
        for &entry in entries {
            if let Some((last, _)) = self.lines.last() {
                let place = |entry: &Entry| (entry.contig as u32, entry.start);
                self.unsorted |= place(&entry) < place(last);
            }
            self.lines.push((entry, offset));
        }
    }

    /// Whether the reads are in order.
    pub fn is_sorted(&self) -> bool {
        !self.unsorted
    }

    /// The bytes of the index file.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        let mut text = Vec::new();
        for (Entry { contig, start, span, slice }, offset) in &self.lines {
            let (at, size) = slice;
            let line = writeln!(text, "{contig}\t{start}\t{span}\t{offset}\t{at}\t{size}");
            line.map_err(|e| Error::io("making the index failed", &e))?;
        }
        let mut gzip = libdeflater::Compressor::new(libdeflater::CompressionLvl::default());
        let mut bytes = vec![0; gzip.gzip_compress_bound(text.len())];
        let n = gzip.gzip_compress(&text, &mut bytes);
        bytes.truncate(n.map_err(|_| Error::bug("the index does not fit its bound"))?);
        Ok(bytes)
    }
}
