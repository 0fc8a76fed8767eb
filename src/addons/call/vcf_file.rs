//! Writes a VCF file: any thread compresses pages of text, which are written and indexed in order.

use std::collections::BTreeMap;

use readmill_format::bam::index::IndexFormat;
use readmill_format::bgzf::{
    BLOCK_PAYLOAD, BgzfBlock, Chunk, Codec, Deflater, EOF_BLOCK, VirtualOffsets,
};
use readmill_format::tabix::{Indexer, TextIndexer, TextPreset};
use readmill_process::atomic_file::AtomicFile;
use readmill_record::{Error, Result};

/// Bytes of text from which a page is written.
pub(super) const MIN_PAGE_BYTES: usize = 1 << 18;

/// Memory of a page in bytes while it waits, is compressed, and is written.
pub(super) const PAGE_BYTES: u64 = 3 << 18;

/// The compression level of libdeflate.
const COMPRESSION_LEVEL: u8 = 6;

/// Bytes before the DEFLATE data of a block.
const HEADER_BYTES: u16 = 18;

/// Bases that the smallest bins of an index have, as a power of two.
const MIN_SHIFT: u8 = 14;

/// Whole lines of the file. [`encode`](Self::encode) compresses them.
pub(super) struct TextPage {
    /// Index of the page in the file.
    pub(super) number: u64,
    pub(super) text: Vec<u8>,
}

/// A page as it is written.
pub(super) struct EncodedPage {
    number: u64,
    /// The text, if it is indexed.
    text: Vec<u8>,
    /// The bytes of the file, with the blocks in them if the file is compressed.
    chunk: Chunk,
}

impl TextPage {
    /// Compresses the page, unless the file is plain text.
    pub(super) fn encode(self, is_compressed: bool) -> EncodedPage {
        let TextPage { number, text } = self;
        let inflated = text.len();
        if !is_compressed {
            let chunk = Chunk { compressed: text, inflated, ..Chunk::default() };
            return EncodedPage { number, text: Vec::new(), chunk };
        }
        let mut deflater = Deflater::new(Codec::default(), COMPRESSION_LEVEL);
        let (mut compressed, mut blocks) = (Vec::new(), Vec::new());
        for part in text.chunks(BLOCK_PAYLOAD) {
            let start = compressed.len();
            deflater.deflate_block(part, &mut compressed);
            blocks.push(BgzfBlock {
                start: start as u32,
                size: (compressed.len() - start) as u32,
                inflated: part.len() as u32,
                header: HEADER_BYTES,
            });
        }
        EncodedPage { number, text, chunk: Chunk { compressed, blocks, offset: 0, inflated } }
    }
}

/// The file, its index, and the pages that wait for earlier pages.
pub(super) struct VcfFile {
    target: AtomicFile,
    index: Option<(AtomicFile, Box<TextIndexer>)>,
    offset: u64,
    next: u64,
    ready: BTreeMap<u64, EncodedPage>,
}

impl VcfFile {
    /// Creates a file, which is compressed if it has an index.
    pub(super) fn new(target: AtomicFile, index: Option<AtomicFile>) -> Self {
        let new_indexer = || Box::new(TextIndexer::new(TextPreset::Vcf, IndexFormat::Tbi, MIN_SHIFT));
        let index = index.map(|file| (file, new_indexer()));
        VcfFile { target, index, offset: 0, next: 0, ready: BTreeMap::new() }
    }

    pub(super) fn is_compressed(&self) -> bool {
        self.index.is_some()
    }

    /// Adds a page, and writes all consecutive pages that are there.
    pub(super) fn add_page(&mut self, page: EncodedPage) -> Result<()> {
        self.ready.insert(page.number, page);
        while let Some(EncodedPage { text, mut chunk, .. }) = self.ready.remove(&self.next) {
            self.next += 1;
            chunk.offset = self.offset;
            if let Some((_, indexer)) = &mut self.index {
                indexer.take_piece(&text, &mut VirtualOffsets::new(&chunk))?;
            }
            self.offset += chunk.compressed.len() as u64;
            self.target.write(&chunk.compressed)?;
        }
        Ok(())
    }

    /// Returns the memory of the index and of waiting pages in bytes.
    pub(super) fn heap_bytes(&self) -> u64 {
        let index = self.index.as_ref().map_or(0, |(_, indexer)| indexer.heap_bytes());
        index + self.ready.len() as u64 * PAGE_BYTES
    }

    /// Forgets all pages, to begin again.
    pub(super) fn restart(&mut self) -> Result<()> {
        self.target.truncate()?;
        if let Some((_, indexer)) = &mut self.index {
            **indexer = TextIndexer::new(TextPreset::Vcf, IndexFormat::Tbi, MIN_SHIFT);
        }
        (self.offset, self.next) = (0, 0);
        self.ready.clear();
        Ok(())
    }

    /// Ends the file and its index under their temporary names, and returns them.
    pub(super) fn complete(mut self) -> Result<Vec<AtomicFile>> {
        if !self.ready.is_empty() {
            return Err(Error::bug("a page of the VCF file is missing"));
        }
        let Some((mut index_file, indexer)) = self.index else {
            self.target.sync()?;
            return Ok(vec![self.target]);
        };
        self.target.write(&EOF_BLOCK)?;
        self.target.sync()?;
        let (index, _scheme, _records) = indexer.finish_file(self.offset << 16)?;
        let mut bytes = Vec::new();
        index.write_to(&mut bytes)?;
        index_file.write(&bytes)?;
        index_file.sync()?;
        Ok(vec![self.target, index_file])
    }
}
