//! Copies compressed BAM records under a new header.

use std::fs::File;
use std::path::{Path, PathBuf};

use readmill_format::bam::BamEncoder;
use readmill_format::bam::header as bam_header;
use readmill_format::bgzf::{BlockReader, Chunk, Codec, DEFAULT_LEVEL, EOF_BLOCK, Inflater};
use readmill_record::{Error, Header, Ledger, Result, input_file};

use crate::FileOutput;

/// A BAM file whose header has been read, and the compressed blocks of its records.
pub struct BamBlocks {
    path: PathBuf,
    pub header: Header,
    blocks: BlockReader<File>,
    /// The chunk in which the header ends. `taken` is the number of its inflated bytes that belong
    /// to the header.
    chunk: Chunk,
    taken: usize,
}

impl BamBlocks {
    /// Opens the BAM file at `path` and reads its header.
    ///
    /// # Errors
    /// Fails if the file cannot be read, or if it is not BAM.
    pub fn open(path: &Path, allow_missing_eof: bool, ledger: &Ledger) -> Result<Self> {
        Self::open_blocks(path, allow_missing_eof, false, ledger)
    }

    /// Opens a BAM file whose header will be replaced. Ignores errors in the header text.
    ///
    /// # Errors
    /// Fails if the file cannot be read, or if it is not BAM.
    pub fn open_as_is(path: &Path, allow_missing_eof: bool, ledger: &Ledger) -> Result<Self> {
        Self::open_blocks(path, allow_missing_eof, true, ledger)
    }

    fn open_blocks(path: &Path, allow_missing_eof: bool, as_is: bool, ledger: &Ledger) -> Result<Self> {
        let file =
            input_file::open_input(path).map_err(|e| Error::io("cannot be opened", &e).file(path))?;
        let blocks = BlockReader::new(file, allow_missing_eof);
        Self::from_blocks(blocks, path, as_is, ledger).map_err(|e| e.file(path))
    }

    fn from_blocks(
        mut blocks: BlockReader<File>,
        path: &Path,
        as_is: bool,
        ledger: &Ledger,
    ) -> Result<Self> {
        let (header, chunk, taken) = read_header(&mut blocks, as_is, ledger)?;
        Ok(BamBlocks { path: path.to_path_buf(), header, blocks, chunk, taken })
    }

    /// Copies the records to `out`. Only the block in which the header ends is compressed again.
    /// Omits empty blocks, such as the EOF block. Calls `advance` with the number of bytes read.
    ///
    /// # Errors
    /// Fails if the file is truncated or damaged, or if the output cannot be written.
    pub fn copy_records(mut self, out: &mut FileOutput, mut advance: impl FnMut(u64)) -> Result<()> {
        let path = std::mem::take(&mut self.path);
        self.copy_blocks(out, &mut advance).map_err(|e| e.file(&path))
    }

    fn copy_blocks(&mut self, out: &mut FileOutput, advance: &mut dyn FnMut(u64)) -> Result<()> {
        let (mut inflater, mut bytes) = (Inflater::default(), Vec::new());
        inflater.append_chunk(&self.chunk, &mut bytes)?;
        let mut start = 0;
        for block in &self.chunk.blocks {
            let end = start + block.inflated as usize;
            if end > self.taken.max(start) {
                let member = &self.chunk.compressed[block.start as usize..][..block.size as usize];
                match self.taken.checked_sub(start).filter(|&header| header > 0) {
                    Some(header) => {
                        out.write_buffered(&compress_to_bgzf(&bytes[start + header..end]))?
                    }
                    None => out.write_buffered(member)?,
                }
            }
            start = end;
        }
        while self.blocks.next_chunk(&mut self.chunk)? {
            advance(self.chunk.compressed.len() as u64);
            if self.chunk.blocks.iter().all(|block| block.inflated > 0) {
                out.write_buffered(&self.chunk.compressed)?;
                continue;
            }
            for block in self.chunk.blocks.iter().filter(|block| block.inflated > 0) {
                out.write_buffered(
                    &self.chunk.compressed[block.start as usize..][..block.size as usize],
                )?;
            }
        }
        Ok(())
    }
}

/// Reads the header of a BAM file. Also returns the chunk in which the header ends, and the number
/// of inflated bytes of this chunk that belong to it. With `as_is`, ignores errors in the header
/// text.
///
/// # Errors
/// Fails if the file is not BAM, or if it ends inside its header.
pub fn read_header(
    blocks: &mut BlockReader<File>,
    as_is: bool,
    ledger: &Ledger,
) -> Result<(Header, Chunk, usize)> {
    let (mut bytes, mut chunk, mut inflater) = (Vec::new(), Chunk::default(), Inflater::default());
    let (mut outline, mut charge) =
        (bam_header::HeaderOutline::default(), ledger.empty_charge("headers"));
    loop {
        if !blocks.next_chunk(&mut chunk)? {
            return Err(Error::input("the file ends inside its header")
                .hint("download or create the file again"));
        }
        let before = bytes.len();
        charge.grow_to(charge.bytes() + 2 * chunk.inflated as u64)?;
        inflater.append_chunk(&chunk, &mut bytes)?;
        if bytes.len() < bam_header::MAGIC.len() {
            continue;
        }
        if !bytes.starts_with(bam_header::MAGIC) {
            return Err(Error::input("not a BAM file"));
        }
        if outline.is_complete(&bytes)? {
            let (header, taken) = match as_is {
                true => outline.parse_header_as_is(&bytes, ledger)?,
                false => outline.parse_header(&bytes, ledger)?,
            };
            return Ok((header, chunk, taken - before));
        }
    }
}

fn compress_to_bgzf(bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    BamEncoder::new(Codec::default(), DEFAULT_LEVEL, None).append_bytes(bytes, &mut out);
    out
}

/// Writes a BAM header in separate BGZF blocks.
///
/// # Errors
/// Fails if the header is too long, or if it cannot be written.
pub fn write_header(header: &Header, out: &mut FileOutput, ledger: &Ledger) -> Result<()> {
    let text: usize = header.lines().iter().map(|line| line.text().len() + 1).sum();
    let contigs: usize = header.references().iter().map(|contig| contig.name.len() + 9).sum();
    let bytes = (text + contigs) as u64;
    let _charge = ledger.charge("headers", 2 * bytes)?; // uncompressed and compressed
    let mut bytes = Vec::with_capacity(bytes as usize + 64);
    bam_header::write_header(header, &mut bytes)?;
    out.write_buffered(&compress_to_bgzf(&bytes))
}

/// Writes the BGZF EOF block (SAM specification, section 4.1.2).
///
/// # Errors
/// Fails if the block cannot be written.
pub fn write_eof_block(out: &mut FileOutput) -> Result<()> {
    out.write_buffered(&EOF_BLOCK)
}

/// Returns an error if records with header `old` would refer to different contigs under header
/// `new`. With `names`, the contig names must also be equal. `places` says in the message where the
/// two headers are.
///
/// # Errors
/// Fails if the contigs differ.
pub fn check_contigs(old: &Header, new: &Header, names: bool, places: [&str; 2]) -> Result<()> {
    let (old, new) = (old.references(), new.references());
    let text = |name: &[u8]| String::from_utf8_lossy(name).into_owned();
    if new.len() < old.len() {
        let what = format!("the header has {} contigs, but the reads refer to {}", new.len(), old.len());
        return Err(Error::input(what)
            .hint("reads refer to contigs by number, so list all contigs in the same order"));
    }
    for (number, (old, new)) in old.iter().zip(new).enumerate() {
        if old.length != new.length || names && old.name != new.name {
            let what = format!(
                "contig {} is {} with {} bases in {}, and {} with {} bases in {}",
                number + 1,
                text(&old.name),
                old.length,
                places[0],
                text(&new.name),
                new.length,
                places[1]
            );
            return Err(Error::input(what));
        }
    }
    Ok(())
}
