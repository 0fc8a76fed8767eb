//! Copies compressed BAM records under a new header.

use std::io::Read;
use std::path::{Path, PathBuf};

use readmill_format::bam::BamEncoder;
use readmill_format::bam::header as bam_header;
use readmill_format::bgzf::{BlockReader, Chunk, Codec, DEFAULT_LEVEL, EOF_BLOCK, Inflater};
use readmill_format::chain::check_last_record;
use readmill_input::ConcatenationCheck;
use readmill_record::{Error, Header, Ledger, Result, input_file};

use crate::FileOutput;

pub type ReadsInput = Box<dyn Read + Send>;

/// A BAM file whose header has been read, and the compressed blocks of its records.
pub struct BamBlocks {
    path: PathBuf,
    pub header: Header,
    blocks: BlockReader<ReadsInput>,
    joints: ConcatenationCheck,
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
        let file =
            input_file::open_input(path).map_err(|e| Error::io("cannot be opened", &e).file(path))?;
        Self::read_from(Box::new(file), path, allow_missing_eof, false, ledger)
    }

    /// Reads `input`, the BAM file at `path`, whose header will be replaced. Ignores errors in the
    /// header text.
    ///
    /// # Errors
    /// Fails if the file cannot be read, or if it is not BAM.
    pub fn read_as_is(
        input: ReadsInput,
        path: &Path,
        allow_missing_eof: bool,
        ledger: &Ledger,
    ) -> Result<Self> {
        Self::read_from(input, path, allow_missing_eof, true, ledger)
    }

    fn read_from(
        input: ReadsInput,
        path: &Path,
        allow_missing_eof: bool,
        as_is: bool,
        ledger: &Ledger,
    ) -> Result<Self> {
        let mut blocks = BlockReader::new(input, allow_missing_eof);
        let mut joints = ConcatenationCheck::default();
        let (header, chunk, taken) =
            read_header(&mut blocks, &mut joints, as_is, ledger).map_err(|e| e.file(path))?;
        Ok(BamBlocks { path: path.to_path_buf(), header, blocks, joints, chunk, taken })
    }

    /// Copies the records to `out`. Only the block in which the header ends is compressed again.
    /// Omits empty blocks, such as the EOF block. Calls `advance` with the number of bytes read.
    ///
    /// Inflates only the end of the file, to check that the last record is whole: if it were not, the
    /// records of the next file would be read as part of it.
    ///
    /// # Errors
    /// Fails if the file is truncated or damaged, if several files were joined with `cat`, or if the
    /// output cannot be written.
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
        let mut tail = FileTail::new(self.taken);
        tail.push_chunk(&mut self.chunk);
        while self.blocks.next_chunk(&mut self.chunk)? {
            self.joints.check_blocks(&self.chunk)?;
            advance(self.chunk.compressed.len() as u64);
            if self.chunk.blocks.iter().all(|block| block.inflated > 0) {
                out.write_buffered(&self.chunk.compressed)?;
            } else {
                for block in self.chunk.blocks.iter().filter(|block| block.inflated > 0) {
                    out.write_buffered(
                        &self.chunk.compressed[block.start as usize..][..block.size as usize],
                    )?;
                }
            }
            tail.push_chunk(&mut self.chunk);
        }
        bytes.clear();
        tail.check_last_record(&mut inflater, bytes, self.header.n_ref())
    }
}

/// The last chunks of a BAM file. There are two, because the last one may be small.
struct FileTail {
    chunks: [Chunk; 2],
    /// Where the first record starts in the inflated chunks; `None` if they are not the first ones.
    first: Option<usize>,
}

impl FileTail {
    /// Returns the tail of a file in whose first chunk the records start at `first`.
    fn new(first: usize) -> Self {
        FileTail { chunks: Default::default(), first: Some(first) }
    }

    /// Takes the next chunk, and leaves an older one in `chunk`, whose memory can be reused.
    fn push_chunk(&mut self, chunk: &mut Chunk) {
        if chunk.inflated > 0 {
            self.first = self.first.filter(|_| self.chunks[0].inflated == 0);
            self.chunks.swap(0, 1);
            std::mem::swap(&mut self.chunks[1], chunk);
        }
    }

    fn check_last_record(&self, inflater: &mut Inflater, mut bytes: Vec<u8>, n_ref: i32) -> Result<()> {
        for chunk in &self.chunks {
            inflater.append_chunk(chunk, &mut bytes)?;
        }
        check_last_record(&bytes, self.first, n_ref)
    }
}

/// Reads the header of a BAM file. Also returns the chunk in which the header ends, and the number
/// of inflated bytes of this chunk that belong to it. With `as_is`, ignores errors in the header
/// text. `joints` checks the chunks.
///
/// # Errors
/// Fails if the file is not BAM, or if it ends inside its header.
pub fn read_header(
    blocks: &mut BlockReader<impl Read>,
    joints: &mut ConcatenationCheck,
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
        joints.check_blocks(&chunk)?;
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

#[cfg(test)]
mod tests {
    use super::*;
    use readmill_simulate::{Profile, Sample};

    /// A BAM file without the EOF block. Each block holds `block` bytes, so records cross their borders.
    fn write_bam(records: &[u8], block: usize) -> Vec<u8> {
        let mut header = Vec::new();
        let text = Sample::new(Profile::small()).header_text();
        bam_header::write_header(&Header::parse(text.as_bytes()).unwrap(), &mut header).unwrap();
        let bytes = [&header, records].concat();
        bytes.chunks(block).flat_map(compress_to_bgzf).collect()
    }

    fn make_records(pairs: u64) -> Vec<u8> {
        let sample = Sample::new(Profile::small().with_pairs(pairs));
        let (mut records, mut bytes) = (sample.records(), Vec::new());
        while records.append_next(&mut bytes) {}
        bytes
    }

    fn copy(file: Vec<u8>, allow_missing_eof: bool) -> Result<()> {
        let ledger = Ledger::unlimited();
        let path = Path::new("in.bam");
        let input = Box::new(std::io::Cursor::new(file));
        let blocks = BamBlocks::read_as_is(input, path, allow_missing_eof, &ledger)?;
        let dir = tempfile::tempdir().unwrap();
        blocks.copy_records(&mut FileOutput::open(Some(&dir.path().join("out.bam")), &[])?, |_| ())
    }

    /// `samtools cat` writes a file that cannot be read, and reports success.
    #[test]
    fn a_file_that_ends_inside_a_record_is_not_copied() {
        for pairs in [0, 1, 2, 20_000] {
            let records = make_records(pairs);
            for block in [500, 0xff00] {
                let good = [write_bam(&records, block), EOF_BLOCK.to_vec()].concat();
                copy(good, false).unwrap();
                if records.is_empty() {
                    continue;
                }
                for cut in [1, 20, 35, 40] {
                    let cut = write_bam(&records[..records.len() - cut], block);
                    let error = copy(cut.clone(), true).unwrap_err();
                    assert!(
                        error.to_string().contains("in.bam: the file ends inside a record"),
                        "{error}"
                    );
                    copy([cut, EOF_BLOCK.to_vec()].concat(), false).unwrap_err();
                }
            }
        }
    }

    #[test]
    fn files_that_were_joined_with_cat_are_not_copied() {
        for pairs in [1, 5_000] {
            let file = [write_bam(&make_records(pairs), 0xff00), EOF_BLOCK.to_vec()].concat();
            let error = copy([&file[..], &file].concat(), false).unwrap_err();
            assert!(error.to_string().contains("joined with cat"), "{error}");
            assert_eq!(error.place.offset, Some(file.len() as u64));
        }
    }
}
