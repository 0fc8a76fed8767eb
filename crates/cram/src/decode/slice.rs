//! Slices: their headers and blocks, the reference bases that they cover, and the check that the
//! reference is the one the slice was written with.

use md5::{Digest, Md5};
use readmill_record::{Error, Result};

use crate::Version;
use crate::bases::Bases;
use crate::block::{ContentType, CramBlock};
use crate::codec::Codecs;
use crate::encoding::{ExternalBlock, Streams};
use crate::num::{ByteCursor, damaged_cram};
use crate::reader::Sizes;
use crate::scheme::{Blocks, Scheme};

#[derive(Clone, Debug)]
pub struct SliceHeader {
    /// Index of the contig (0-based); -1 for reads without a contig, -2 for reads of several
    /// contigs.
    pub contig: i32,
    /// Position of the first base (1-based).
    pub start: i32,
    pub span: i32,
    pub records: usize,
    /// Number of records before the slice in the file, used for generated names.
    pub counter: i64,
    /// Content id of the block with the embedded reference, if there is one.
    pub embedded: Option<i32>,
    /// MD5 of the covered reference bases; all zero if unknown.
    pub md5: [u8; 16],
}

/// Reads a slice: its header, the wanted blocks into `streams`, and its embedded reference, if any,
/// into `embedded`.
///
/// # Errors
/// The slice is damaged, or its blocks take more memory than `sizes` has left. Each block is
/// inflated once only: a container whose slices share blocks is an error.
pub fn read_slice(
    cursor: &mut ByteCursor<'_>,
    version: Version,
    codecs: &mut Codecs,
    streams: &mut Streams,
    embedded: &mut Vec<u8>,
    wanted: &Blocks,
    sizes: &mut Sizes,
) -> Result<SliceHeader> {
    let head = CramBlock::read(cursor, version)?;
    if head.content != ContentType::SliceHeader {
        return Err(damaged_cram("a slice does not begin with its header"));
    }
    sizes.take_block(&head)?;
    head.inflate(codecs, embedded)?;
    let mut own = ByteCursor(embedded);
    let (contig, start, span, records) =
        (own.read_itf8()?, own.read_itf8()?, own.read_itf8()?, own.read_count()?);
    let counter = if version.major >= 3 { own.read_ltf8()? } else { i64::from(own.read_itf8()?) };
    let (blocks, _) = (own.read_count()?, own.read_itf8_list()?);
    let with_reference = Some(own.read_itf8()?).filter(|&id| id >= 0);
    let mut md5 = [0; 16];
    md5.copy_from_slice(own.take_bytes(16)?);
    let slice = SliceHeader { contig, start, span, records, counter, embedded: with_reference, md5 };
    embedded.clear();
    streams.used = 0;
    streams.core.bytes.clear();
    streams.core.restart();
    let mut bytes_left_out = 0;
    for _ in 0..blocks {
        let block = CramBlock::read(cursor, version)?;
        sizes.take_block(&block)?;
        match block.content {
            ContentType::External if !wanted.contains(block.id) && slice.embedded != Some(block.id) => {
                bytes_left_out += block.raw_size;
            }
            ContentType::Core => block.inflate(codecs, &mut streams.core.bytes)?,
            ContentType::External => {
                if streams.used == streams.external.len() {
                    streams.external.push(ExternalBlock::default());
                }
                let stream = &mut streams.external[streams.used];
                (stream.id, stream.at) = (block.id, 0);
                block.inflate(codecs, &mut stream.bytes)?;
                streams.used += 1;
                if slice.embedded == Some(block.id) {
                    *embedded = std::mem::take(&mut stream.bytes);
                    embedded.make_ascii_uppercase();
                }
            }
            _ => return Err(damaged_cram("a slice contains a block of a wrong type")),
        }
    }
    // Writers omit blocks without values. Still, each record takes at least one bit of some block,
    // so a larger number of records is damage and must not reserve memory.
    let read =
        streams.core.bytes.len() + streams.external.iter().map(|it| it.bytes.len()).sum::<usize>();
    let bits = 8 * read.saturating_add(bytes_left_out).min(usize::MAX / 8);
    if slice.records > bits {
        return Err(damaged_cram("a slice has more records than its data can contain"));
    }
    Ok(slice)
}

const MD5_CHUNK_BASES: i64 = 1 << 12;

/// Compares the MD5 of the reference with that in the slice header, as htslib does.
///
/// The MD5 is updated while the slice is decoded, just before the decoder reads the same bases, so
/// that each part of the reference is loaded only once.
pub struct ReferenceCheck {
    md5: Md5,
    at: i64,
    end: i64,
}

impl ReferenceCheck {
    /// Starts the check of a slice. Returns `None` if there is nothing to compare, or if the
    /// reference is embedded and therefore compared at once.
    ///
    /// # Errors
    /// The header has no such contig, or the embedded reference is too short or does not match its
    /// MD5.
    pub fn new(
        slice: &SliceHeader,
        scheme: &Scheme,
        bases: &Bases,
        embedded: &[u8],
    ) -> Result<Option<Self>> {
        if slice.contig < 0 {
            return Ok(None);
        }
        if slice.contig as usize >= bases.references().contig_count() {
            return Err(damaged_cram("a slice is on a contig that is not in the header"));
        }
        let span = slice.span.max(0) as usize;
        if slice.embedded.is_some() && span > embedded.len() {
            return Err(damaged_cram("an embedded reference is too short"));
        }
        if slice.md5 == [0; 16] || !scheme.needs_reference {
            return Ok(None);
        }
        if slice.embedded.is_some() {
            let md5 = Md5::digest(&embedded[..span]);
            return if md5[..] == slice.md5 {
                Ok(None)
            } else {
                Err(wrong_reference_error(slice, bases))
            };
        }
        let start = i64::from(slice.start) - 1;
        let end = (start + i64::from(slice.span)).min(bases.references().available_length(slice.contig));
        Ok(Some(ReferenceCheck { md5: Md5::new(), at: start.max(0), end }))
    }

    fn advance_to(&mut self, contig: i32, end: i64, bases: &mut Bases) -> Result<()> {
        let end = end.min(self.end);
        while self.at < end {
            let to = (self.at / MD5_CHUNK_BASES * MD5_CHUNK_BASES + MD5_CHUNK_BASES).min(self.end);
            self.md5.update(bases.read_bases(contig, self.at as u32, to as u32)?);
            self.at = to;
        }
        Ok(())
    }
}

fn wrong_reference_error(slice: &SliceHeader, bases: &Bases) -> Error {
    let name = bases.references().contig_name(slice.contig);
    let end = i64::from(slice.start) + i64::from(slice.span) - 1;
    Error::input(format!(
        "the reference differs from the reference of the CRAM data at {name}:{}-{end}",
        slice.start
    ))
    .hint("give the FASTA file that was used to write the CRAM file")
}

/// The reference bases of one slice: embedded in it, or from the sources of the header's contigs.
pub struct SliceReference<'a> {
    bases: &'a mut Bases,
    embedded: Option<(&'a [u8], i64)>,
    is_needed: bool,
    check: Option<ReferenceCheck>,
    /// End of the covered bases (0-based, exclusive); `None` for a slice of several contigs, which
    /// may need any bases.
    end: Option<i64>,
}

impl<'a> SliceReference<'a> {
    /// Returns the reference of `slice`. `embedded` holds its embedded reference, if it has one.
    /// Otherwise `is_needed` says whether bases are read from the sources, and `check` verifies
    /// them.
    pub fn new(
        slice: &SliceHeader,
        is_needed: bool,
        check: Option<ReferenceCheck>,
        bases: &'a mut Bases,
        embedded: &'a [u8],
    ) -> Self {
        let own = slice.embedded.filter(|_| slice.contig >= 0);
        let own = own.map(|_| (embedded, i64::from(slice.start) - 1));
        let end = (slice.contig >= 0).then(|| i64::from(slice.start) - 1 + i64::from(slice.span));
        SliceReference { bases, embedded: own, is_needed, check, end }
    }

    /// Completes the check of the reference after all records of `slice` are decoded.
    ///
    /// # Errors
    /// The slice was written with a different reference, or its bases cannot be read.
    pub fn verify_reference(&mut self, slice: &SliceHeader) -> Result<()> {
        let Some(mut check) = self.check.take() else { return Ok(()) };
        check.advance_to(slice.contig, check.end, self.bases)?;
        if check.md5.finalize()[..] == slice.md5 {
            return Ok(());
        }
        Err(wrong_reference_error(slice, self.bases))
    }

    /// Returns whether reads on `contig` are stored as differences from reference bases.
    pub fn has_bases(&self, contig: i32) -> bool {
        contig >= 0 && (self.embedded.is_some() || self.is_needed)
    }

    pub fn contig_end(&self, contig: i32) -> i64 {
        let length = self.bases.references().contig_length(contig);
        self.end.map_or(length, |end| if self.embedded.is_some() { end } else { end.min(length) })
    }

    /// Returns `n` bases of `contig` from `start` (0-based).
    ///
    /// # Errors
    /// The bases are outside those that the slice covers, or cannot be read.
    pub fn read_bases(&mut self, contig: i32, start: i64, n: i64) -> Result<&[u8]> {
        if n < 0 || start < 0 || start + n > self.contig_end(contig) {
            return Err(damaged_cram("a read extends beyond its slice"));
        }
        if let Some((bases, first)) = self.embedded {
            let from = usize::try_from(start - first).ok();
            let bases = from.and_then(|from| bases.get(from..from + n as usize));
            return bases.ok_or_else(|| damaged_cram("a read extends beyond the embedded reference"));
        }
        if let Some(check) = &mut self.check {
            check.advance_to(contig, start + n, self.bases)?;
        }
        self.bases.read_bases(contig, start as u32, (start + n) as u32)
    }
}
