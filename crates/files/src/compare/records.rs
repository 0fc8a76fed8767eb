//! Reads the records of a file one by one, and removes ignored flags and fields from them.

use std::io::Read;
use std::path::{Path, PathBuf};

use readmill_cram::Cache;
use readmill_format::bgzf::Chunk;
use readmill_format::chain::{ChunkLinker, OpenedChunk};
use readmill_format::reference::LazyReference;
use readmill_input::{OpenOptions, Opener, Source};
use readmill_record::tag::Tag;
use readmill_record::{Batch, Error, Header, Limit, RecordRef, Result, edit, input_file};

const MAX_SAM_LINE: Limit = Limit::of_bytes(256 << 20);

const MAX_CONTAINER: Limit = Limit::of_bytes(1 << 30);

pub struct RecordFile {
    path: PathBuf,
    source: Source,
    opener: Opener,
    link: ChunkLinker,
    /// The current batch. `returned` is the number of its records that have been returned.
    batch: Batch,
    returned: usize,
    before: u64,
    fault: Option<Error>,
    ended: bool,
    spare: Chunk,
}

impl RecordFile {
    pub fn open(path: &Path, reference: &Option<LazyReference>) -> Result<Self> {
        let rules = OpenOptions {
            max_line: MAX_SAM_LINE,
            max_container: MAX_CONTAINER,
            reference: reference.clone(),
            cache: Cache::from_environment(),
            header_as_is: true,
            ..OpenOptions::default()
        };
        let source = Source::open(open_input_stream(path)?, &rules).map_err(|error| error.file(path))?;
        let opener = Opener::new(source.header(), source.setup().as_ref());
        Ok(RecordFile {
            path: path.to_path_buf(),
            source,
            opener,
            link: ChunkLinker::new(Limit::of_bytes(i32::MAX as u64)),
            batch: Batch::default(),
            returned: 0,
            before: 0,
            fault: None,
            ended: false,
            spare: Chunk::default(),
        })
    }

    pub fn header(&self) -> &Header {
        self.source.header()
    }

    pub fn record_count(&self) -> u64 {
        self.before + self.returned as u64
    }

    pub fn next_record(&mut self) -> Result<Option<RecordRef<'_>>> {
        while self.returned == self.batch.len() {
            if !self.read_next_batch().map_err(|error| error.file(&self.path))? {
                return Ok(None);
            }
        }
        self.returned += 1;
        Ok(Some(self.batch.record(self.batch.spans[self.returned - 1])))
    }

    /// Reads the next batch, which may be empty. Returns whether there was one.
    fn read_next_batch(&mut self) -> Result<bool> {
        if self.ended {
            return self.fault.take().map_or(Ok(false), Err);
        }
        self.before += self.batch.len() as u64;
        self.returned = 0;
        let batch = std::mem::take(&mut self.batch);
        let linked = match self.source.claim(std::mem::take(&mut self.spare))? {
            Some(claim) => {
                let mut opened = OpenedChunk::reuse(batch);
                self.spare = self.opener.open(claim, &mut opened)?;
                self.link.link_chunk(opened)
            }
            None => {
                self.ended = true;
                self.link.finish_input(batch)
            }
        };
        self.ended |= linked.fault.is_some();
        self.batch = linked.batch.check(linked.first, self.source.header().n_ref())?;
        self.fault = linked.fault;
        Ok(true)
    }
}

fn open_input_stream(path: &Path) -> Result<Box<dyn Read + Send>> {
    if path.as_os_str() == "-" {
        let stdin = input_file::open_stdin();
        return Ok(Box::new(stdin.map_err(|e| Error::io("standard input cannot be read", &e))?));
    }
    let failed = |e: std::io::Error| Error::io(format!("{} cannot be read", path.display()), &e);
    let file = input_file::open_input(path).map_err(failed)?;
    if file.metadata().map_err(failed)?.is_dir() {
        return Err(Error::usage(format!("{} is a directory", path.display())));
    }
    Ok(Box::new(file))
}

pub struct IgnoredParts {
    flags: u16,
    tags: Vec<Tag>,
    scratch: Vec<u8>,
}

impl IgnoredParts {
    pub fn new(flags: u16, tags: &[Tag]) -> Self {
        IgnoredParts { flags, tags: tags.to_vec(), scratch: Vec::new() }
    }

    /// Returns `record` without the ignored FLAG bits and optional fields. Copies the record only
    /// if it has any of them.
    pub fn remove_ignored<'a>(&'a mut self, record: RecordRef<'a>) -> RecordRef<'a> {
        let flags = record.flags().0;
        let tags = !self.tags.is_empty() && record.fields().any(|field| self.tags.contains(&field.tag));
        if flags & self.flags == 0 && !tags {
            return record;
        }
        self.scratch.clear();
        self.scratch.extend_from_slice(&record.raw()[..record.fields_start()]);
        let mut fields = record.fields();
        loop {
            let here = fields.rest();
            let Some(field) = fields.next() else { break };
            if !self.tags.contains(&field.tag) {
                self.scratch.extend_from_slice(&here[..here.len() - fields.rest().len()]);
            }
        }
        edit::set_block_size(&mut self.scratch, 0);
        edit::set_flags(&mut self.scratch, flags & !self.flags);
        RecordRef::new(&self.scratch)
    }
}
