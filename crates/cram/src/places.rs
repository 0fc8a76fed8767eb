//! Builds the index entries of an existing CRAM file, for `readmill index`.

use std::sync::Arc;

use readmill_format::chain::OpenedChunk;
use readmill_record::{Batch, Detail, Error, Result, UncheckedBatch};

use crate::block::{ContentType, CramBlock};
use crate::codec::Codecs;
use crate::crai::CraiEntry;
use crate::decode::{Decoder, Setup};
use crate::encode::ContigRange;
use crate::num::{ByteCursor, damaged_cram};
use crate::reader::{Container, Sizes};

/// Finds the index entries of containers. Each thread has its own scanner.
///
/// The header of a single-contig slice states which bases it covers. For a slice of several
/// contigs, the scanner decodes the positions of its reads, which needs no reference.
pub struct SliceIndexer {
    setup: Arc<Setup>,
    codecs: Codecs,
    decoder: Decoder,
    head: Vec<u8>,
}

const SEVERAL_CONTIGS: i32 = -2;

struct SliceHead {
    contig: i32,
    start: i32,
    span: i32,
    records: usize,
}

impl SliceIndexer {
    pub fn new(setup: Arc<Setup>) -> Self {
        let decoder = Decoder::new(Arc::clone(&setup));
        SliceIndexer { setup, codecs: Codecs::default(), decoder, head: Vec::new() }
    }

    /// Returns the index entries of a container: one per slice, or one per contig for a slice of
    /// several contigs. [`CraiBuilder::add`](crate::CraiBuilder::add) sets their offset in the
    /// file.
    ///
    /// # Errors
    /// The container is damaged, or its reads are not in coordinate order.
    pub fn find_entries(&mut self, container: &Container) -> Result<Vec<CraiEntry>> {
        let landmarks = &container.header.landmarks;
        let mut reads: Option<Vec<ContigRange>> = None;
        let (mut out, mut before, mut sizes) = (Vec::new(), 0, container.sizes());
        for (number, &landmark) in landmarks.iter().enumerate() {
            let next =
                landmarks.get(number + 1).map_or(container.header.length as i64, |&at| i64::from(at));
            let slice = (landmark as u64, (next - i64::from(landmark)).max(0) as u64);
            let head = self.read_slice_head(container, landmark, &mut sizes)?;
            if head.contig == SEVERAL_CONTIGS {
                if reads.is_none() {
                    let mut opened = OpenedChunk::reuse(Batch::default());
                    self.decoder.open(container, Detail::Places, &mut opened);
                    reads = Some(read_ranges(&opened.into_batch()?)?);
                }
                let reads = reads.iter().flatten().skip(before).take(head.records);
                add_contig_entries(reads.copied(), slice, &mut out)?;
            } else {
                let (start, span) = (i64::from(head.start), i64::from(head.span));
                out.push(CraiEntry { contig: head.contig, start, span, container: 0, slice });
            }
            before += head.records;
        }
        Ok(out)
    }

    fn read_slice_head(
        &mut self,
        container: &Container,
        landmark: i32,
        sizes: &mut Sizes,
    ) -> Result<SliceHead> {
        let bytes = usize::try_from(landmark).ok().and_then(|at| container.blocks().get(at..));
        let mut cursor =
            ByteCursor(bytes.ok_or_else(|| damaged_cram("a slice starts outside its container"))?);
        let block = CramBlock::read(&mut cursor, self.setup.version)?;
        if block.content != ContentType::SliceHeader {
            return Err(damaged_cram("a slice does not begin with its header"));
        }
        sizes.take_block(&block)?;
        block.inflate(&mut self.codecs, &mut self.head)?;
        SliceHead::parse(&self.head)
    }
}

impl SliceHead {
    fn parse(bytes: &[u8]) -> Result<Self> {
        let mut bytes = ByteCursor(bytes);
        let (contig, start, span) = (bytes.read_itf8()?, bytes.read_itf8()?, bytes.read_itf8()?);
        if contig >= 0 && span < 0 {
            return Err(damaged_cram("a slice covers a negative number of bases"));
        }
        Ok(SliceHead { contig, start, span, records: bytes.read_count()? })
    }
}

fn read_ranges(batch: &UncheckedBatch) -> Result<Vec<ContigRange>> {
    let mut out = Vec::with_capacity(batch.len());
    for record in batch.records() {
        let record = record.check(i32::MAX).map_err(damaged_cram)?;
        let start = i64::from(record.pos()) + 1;
        out.push(ContigRange { contig: record.ref_id(), start, end: record.end().max(start) });
    }
    Ok(out)
}

/// Appends an entry for each contig of a slice of several contigs.
///
/// # Errors
/// The reads are not in coordinate order.
fn add_contig_entries(
    ranges: impl Iterator<Item = ContigRange>,
    slice: (u64, u64),
    out: &mut Vec<CraiEntry>,
) -> Result<()> {
    let (from, mut last) = (out.len(), 0);
    for ContigRange { contig, start, end } in ranges {
        match out[from..].last_mut().filter(|entry| entry.contig == contig) {
            Some(_) if start < last => {
                let what =
                    "the reads are not in coordinate order, but only a sorted file can be indexed";
                return Err(Error::input(what).hint(
                    "sort the file, which also writes an index: readmill sort FILE -o SORTED.cram",
                ));
            }
            Some(entry) => entry.span = entry.span.max(end - entry.start + 1),
            None => {
                out.push(CraiEntry { contig, start, span: end - start + 1, container: 0, slice });
            }
        }
        last = start;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::num::put_itf8;

    /// Regression test: such a slice was once omitted from the index.
    #[test]
    fn a_slice_of_a_negative_span_is_damaged() {
        let head = |contig, span| {
            let mut bytes = Vec::new();
            [contig, 1, span, 2].iter().for_each(|&n| put_itf8(&mut bytes, n));
            SliceHead::parse(&bytes)
        };
        assert_eq!(head(0, i32::MAX).unwrap().span, i32::MAX);
        let error = head(0, i32::MIN).err().unwrap().to_string();
        assert!(error.contains("a slice covers a negative number of bases"), "{error}");
        assert!(head(SEVERAL_CONTIGS, -1).is_ok());
    }
}
