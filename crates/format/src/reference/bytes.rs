//! Access to the bytes of a FASTA by their offset in the inflated text, for plain and BGZF files.

use std::ffi::OsString;
use std::fs::File;
use std::io::Read;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use readmill_record::{Charge, Error, Ledger, Result, make_room};

use crate::bgzf::{BlockReader, Chunk, EOF_BLOCK, Inflater, MAX_BLOCK};
use crate::text::{self, TextInput};

pub(super) const LEDGER_NAME: &str = "the index of the reference";

/// The layout of a FASTA file. Text offsets count the bytes of the inflated file.
pub(super) struct FastaLayout {
    path: PathBuf,
    file: File,
    file_bytes: u64,
    /// Size of the text in bytes; for a compressed file, an upper bound.
    max_text_bytes: u64,
    blocks: Option<Vec<BlockStart>>,
    charge: Charge,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct BlockStart {
    file: u64,
    text: u64,
}

impl FastaLayout {
    /// Finds the blocks of the FASTA in `file`, if it is BGZF, and charges them to `ledger`. `path`
    /// is for messages. Appends notes for the user to `notes`.
    pub fn new(
        path: &Path,
        file: File,
        gzi: Option<Box<dyn Read + Send>>,
        notes: &mut Vec<String>,
        ledger: &Ledger,
    ) -> Result<Self> {
        let opening = |e| Error::io("the reference cannot be opened", &e).file(path);
        let size = file.metadata().map_err(opening)?.len();
        let mut start = [0; 18];
        let n = file.read_at(&mut start, 0).map_err(opening)?;
        let (path, charge) = (path.to_path_buf(), ledger.empty_charge(LEDGER_NAME));
        let mut layout =
            FastaLayout { path, file, file_bytes: size, max_text_bytes: size, blocks: None, charge };
        if start[..n].starts_with(&[0x1f, 0x8b]) {
            if !text::is_bgzf(&start[..n]) {
                return Err(Error::input(
                    "the reference is compressed with gzip, which does not allow random access",
                )
                .file(&layout.path)
                .hint("compress the file with bgzip instead: gunzip -c ref.fa.gz | bgzip > new.fa.gz"));
            }
            layout.find_blocks(gzi, notes).map_err(|e| e.file(&layout.path))?;
        }
        Ok(layout)
    }

    fn find_blocks(&mut self, gzi: Option<Box<dyn Read + Send>>, notes: &mut Vec<String>) -> Result<()> {
        let path = append_suffix(&self.path, ".gzi");
        let why = if gzi.is_some() { "does not match the reference" } else { "does not exist" };
        let blocks = gzi.map(|gzi| self.read_blocks(gzi, &path)).transpose()?.flatten();
        let blocks = match blocks {
            Some(blocks) => blocks,
            None => {
                notes.push(format!(
                    "{} {why}; the index was built in memory, and readmill faidx can write it to disk",
                    path.display()
                ));
                self.scan_blocks()?
            }
        };
        self.max_text_bytes = blocks.last().map_or(0, |last| last.text + MAX_BLOCK as u64);
        self.blocks = Some(blocks);
        Ok(())
    }

    /// Returns the blocks listed in the .gzi file; `None` if they do not match this file.
    fn read_blocks(
        &mut self,
        gzi: Box<dyn Read + Send>,
        path: &Path,
    ) -> Result<Option<Vec<BlockStart>>> {
        let mut reading = self.charge.ledger().empty_charge(LEDGER_NAME);
        let mut bytes = Vec::new();
        let mut gzi = TextInput::from_plain(gzi, self.charge.ledger());
        gzi.append_bytes(u64::MAX, &mut bytes, &mut reading).map_err(|e| e.file(path))?;
        reading.grow(2 * bytes.len() as u64).map_err(|e| e.file(path))?; // a list that grows by doubling
        let index = noodles_bgzf::gzi::io::Reader::new(&bytes[..]).read_index().map_err(|e| {
            Error::input(format!("this is not a .gzi index ({e})")).file(path).hint(REINDEX_HINT)
        })?;
        let mut end = [0; EOF_BLOCK.len()];
        let at = self.file_bytes.saturating_sub(end.len() as u64);
        let whole = self.file.read_exact_at(&mut end, at).is_ok() && end == EOF_BLOCK;
        let later = index.as_ref().iter().map(|&(file, text)| BlockStart { file, text });
        let mut blocks = Vec::new();
        make_room(&mut blocks, 1 + later.len(), &mut self.charge)?;
        blocks.extend(std::iter::once(BlockStart { file: 0, text: 0 }).chain(later));
        let rises = blocks.windows(2).all(|pair| {
            let (compressed, inflated) =
                (pair[1].file.wrapping_sub(pair[0].file), pair[1].text.wrapping_sub(pair[0].text));
            (1..=MAX_BLOCK as u64).contains(&compressed) && inflated <= MAX_BLOCK as u64
        });
        let last = blocks.last().map_or(0, |last| last.file);
        if last > at || !whole {
            let what = format!(
                "the reference is shorter than its index {} states, or its EOF block is missing",
                path.display()
            );
            return Err(Error::input(what)
                .file(&self.path)
                .hint("the file is truncated: download or create it again"));
        }
        let reaches = at - last <= MAX_BLOCK as u64; // the EOF block may or may not be listed
        Ok((rises && reaches).then_some(blocks))
    }

    fn scan_blocks(&mut self) -> Result<Vec<BlockStart>> {
        let _reading = self.charge.ledger().charge(LEDGER_NAME, text::MAX_BGZF_BYTES as u64)?;
        let mut reader =
            BlockReader::new(FileRangeReader { file: &self.file, at: 0, left: u64::MAX }, false);
        let (mut chunk, mut starts, mut text) = (Chunk::default(), Vec::new(), 0);
        let wrong = |e: Error| {
            e.file(&self.path).hint("the file is truncated or damaged: download or create it again")
        };
        while reader.next_chunk(&mut chunk).map_err(wrong)? {
            make_room(&mut starts, chunk.blocks.len(), &mut self.charge)?;
            for block in &chunk.blocks {
                starts.push(BlockStart { file: chunk.offset + u64::from(block.start), text });
                text += u64::from(block.inflated);
            }
        }
        Ok(starts)
    }

    pub fn whole_file(&self) -> impl Read + Send + '_ {
        FileRangeReader { file: &self.file, at: 0, left: u64::MAX }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn is_compressed(&self) -> bool {
        self.blocks.is_some()
    }

    pub fn gzi_bytes(&self) -> usize {
        self.blocks.as_ref().map_or(0, |blocks| 8 + 16 * blocks.len())
    }

    /// Returns the contents of the .gzi: the starts of all blocks except the first and the EOF
    /// block. `None` if the file is not BGZF.
    pub fn gzi_content(&self) -> Option<Vec<u8>> {
        let blocks = self.blocks.as_ref()?;
        let later = blocks.get(1..blocks.len().saturating_sub(1)).unwrap_or_default();
        let mut out = Vec::with_capacity(self.gzi_bytes());
        out.extend((later.len() as u64).to_le_bytes());
        for block in later {
            out.extend(block.file.to_le_bytes());
            out.extend(block.text.to_le_bytes());
        }
        Some(out)
    }

    pub fn max_text_bytes(&self) -> u64 {
        self.max_text_bytes
    }

    fn find_block(blocks: &[BlockStart], at: u64) -> usize {
        blocks.partition_point(|block| block.text <= at).saturating_sub(1)
    }
}

pub(super) const REINDEX_HINT: &str = "rebuild the index with readmill faidx FASTA, or delete it";

pub(super) fn append_suffix(path: &Path, end: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(end);
    PathBuf::from(name)
}

struct FileRangeReader<'a> {
    file: &'a File,
    at: u64,
    left: u64,
}

impl Read for FileRangeReader<'_> {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        let max_bytes = into.len().min(usize::try_from(self.left).unwrap_or(usize::MAX));
        let n = self.file.read_at(&mut into[..max_bytes], self.at)?;
        self.at += n as u64;
        self.left -= n as u64;
        Ok(n)
    }
}

/// Reads bytes of a FASTA by their offset in the text; each thread has its own.
#[derive(Default)]
pub(super) struct FastaReader {
    inflater: Inflater,
    chunk: Chunk,
    inflated: Vec<u8>,
    block: Option<usize>,
}

impl FastaReader {
    /// Fills `into` with the bytes of the text from `at` on. Returns their number, which is smaller
    /// only at the end of the file.
    pub fn read_text(&mut self, layout: &FastaLayout, at: u64, into: &mut [u8]) -> Result<usize> {
        let Some(blocks) = &layout.blocks else {
            let mut plain = FileRangeReader { file: &layout.file, at, left: into.len() as u64 };
            let mut n = 0;
            while n < into.len() {
                match plain.read(&mut into[n..]) {
                    Ok(0) => break,
                    Ok(more) => n += more,
                    Err(e) if e.kind() == std::io::ErrorKind::Interrupted => {}
                    Err(e) => {
                        return Err(Error::io("reading the reference failed", &e).file(&layout.path));
                    }
                }
            }
            return Ok(n);
        };
        let (mut n, mut block) = (0, FastaLayout::find_block(blocks, at));
        while n < into.len() && block < blocks.len() {
            self.inflate_block(layout, blocks, block)?;
            let from = (at + n as u64 - blocks[block].text).min(self.inflated.len() as u64) as usize;
            let piece = &self.inflated[from..];
            let piece = &piece[..piece.len().min(into.len() - n)];
            into[n..n + piece.len()].copy_from_slice(piece);
            n += piece.len();
            block += 1;
        }
        Ok(n)
    }

    fn inflate_block(
        &mut self,
        layout: &FastaLayout,
        blocks: &[BlockStart],
        block: usize,
    ) -> Result<()> {
        if self.block == Some(block) {
            return Ok(());
        }
        self.block = None;
        self.inflated.clear();
        let (start, next) = (blocks[block], blocks.get(block + 1));
        let wrong = |error: Error| {
            let offset = start.file + error.place.offset.unwrap_or(0);
            let mut error = error.file(&layout.path);
            error.place.offset = Some(offset);
            error
        };
        let left = next.map_or(layout.file_bytes, |next| next.file) - start.file;
        let stretch = FileRangeReader { file: &layout.file, at: start.file, left };
        let mut reader = BlockReader::new(stretch, true);
        reader.next_chunk(&mut self.chunk).map_err(wrong)?;
        self.chunk.blocks.truncate(1);
        self.chunk.inflated = self.chunk.blocks.first().map_or(0, |it| it.inflated as usize);
        self.inflater.append_chunk(&self.chunk, &mut self.inflated).map_err(wrong)?;
        if next.is_some_and(|next| next.text - start.text != self.inflated.len() as u64) {
            let what = "the .gzi index does not match the reference";
            return Err(wrong(Error::input(what).hint(REINDEX_HINT)));
        }
        self.block = Some(block);
        Ok(())
    }
}
