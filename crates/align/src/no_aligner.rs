//! Records of reads that stay unaligned.

use std::sync::Arc;

use readmill_record::bases::CODES;
use readmill_record::{Error, Flags, Read, ReadBatch, Result, edit, tag};

use crate::{Aligner, Contig, Kernel, Model, Seeded, Sink};

/// A kernel that aligns nothing: it writes one record for each read, with its bases and qualities as they are. The flags
/// are those of Picard FastqToSam 3.4.0 and of samtools import 1.24: 77 and 141 for pairs, 4 for single reads.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoAligner;

impl Kernel for NoAligner {
    fn name(&self) -> &str {
        "none"
    }

    fn command(&self) -> &str {
        ""
    }

    fn version(&self) -> String {
        String::new()
    }

    fn contigs(&self) -> &[Contig] {
        &[]
    }

    fn cohort_bases(&self, _: usize) -> Option<u64> {
        None
    }

    fn batch_reads(&self) -> usize {
        1
    }

    fn index_bytes(&self) -> u64 {
        0
    }

    fn scratch_bytes(&self, _: usize) -> u64 {
        0
    }

    fn long_read_bytes(&self, _: usize) -> u64 {
        0
    }

    fn seeded_bytes(&self, _: &ReadBatch) -> u64 {
        0
    }

    fn aligner(self: Arc<Self>) -> Result<Box<dyn Aligner>> {
        Ok(Box::new(Writer { record: Vec::new() }))
    }

    fn infer(&self, _: &[&Seeded]) -> Result<Model> {
        Ok(Model::new(()))
    }
}

/// Writes the records of one thread.
struct Writer {
    record: Vec<u8>,
}

impl Aligner for Writer {
    fn seed(&mut self, _: &ReadBatch) -> Result<Seeded> {
        Ok(Seeded::new((), 0))
    }

    fn emit(
        &mut self,
        reads: &ReadBatch,
        _: Seeded,
        _: &Model,
        group: Option<&[u8]>,
        sink: &mut Sink<'_>,
    ) -> Result<()> {
        for (index, read) in reads.iter().enumerate() {
            let flags = match (reads.segments(), index % reads.segments().max(1)) {
                (2, 0) => Flags::UNMAPPED | Flags::PAIRED | Flags::MATE_UNMAPPED | Flags::FIRST,
                (2, _) => Flags::UNMAPPED | Flags::PAIRED | Flags::MATE_UNMAPPED | Flags::LAST,
                _ => Flags::UNMAPPED,
            };
            self.write(read, flags, group)?;
            sink(index, &self.record)?;
        }
        Ok(())
    }
}

impl Writer {
    fn write(&mut self, read: Read<'_>, flags: u16, group: Option<&[u8]>) -> Result<()> {
        let out = &mut self.record;
        let name_bytes = u8::try_from(read.name.len() + 1).map_err(|_| {
            Error::input("the name of the read is longer than 254 characters, which BAM cannot store")
                .qname(read.name)
        })?;
        let nowhere = (-1i32).to_le_bytes();
        out.clear();
        out.extend([0; 4]);
        out.extend([nowhere, nowhere].as_flattened());
        out.extend([name_bytes, 0, 0, 0, 0, 0]);
        out.extend(flags.to_le_bytes());
        out.extend((read.bases.len() as u32).to_le_bytes());
        out.extend([nowhere, nowhere, [0; 4]].as_flattened());
        out.extend_from_slice(read.name);
        out.push(0);
        let code = |base: u8| CODES[usize::from(base)];
        let pack = |two: &[u8]| code(two[0]) << 4 | two.get(1).map_or(0, |&low| code(low));
        out.extend(read.bases.chunks(2).map(pack));
        match read.qualities {
            Some(qualities) => out.extend(qualities.iter().map(|quality| quality.wrapping_sub(33))),
            None => out.resize(out.len() + read.bases.len(), 0xff),
        }
        edit::set_bin(out);
        match group {
            Some(group) => edit::append_text(out, 0, tag::RG, group),
            None => edit::close(out, 0),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use readmill_record::RecordRef;

    use super::*;

    fn records(segments: usize, reads: &[Read<'_>], group: Option<&[u8]>) -> Vec<Vec<u8>> {
        let mut batch = ReadBatch::new(segments, 0);
        reads.iter().for_each(|read| batch.push(*read));
        let (mut aligner, mut records) =
            (Arc::new(NoAligner).aligner().expect("an aligner"), Vec::new());
        let (seeded, model) =
            (aligner.seed(&batch).expect("seeds"), NoAligner.infer(&[]).expect("a model"));
        let mut keep = |_: usize, record: &[u8]| {
            records.push(record.to_vec());
            Ok(())
        };
        aligner.emit(&batch, seeded, &model, group, &mut keep).expect("records");
        records
    }

    #[test]
    fn pairs_are_77_and_141_and_single_reads_4() {
        let read = Read { name: b"r", comment: b"", bases: b"ACGTn", qualities: Some(b"!+5?I") };
        let pair = records(2, &[read, Read { bases: b"", qualities: None, ..read }], Some(b"g"));
        let [first, last] = [0, 1].map(|at| RecordRef::new(&pair[at]));
        assert_eq!([first.flags().0, last.flags().0], [77, 141]);
        assert_eq!((first.ref_id(), first.pos(), first.mapq(), first.qname()), (-1, -1, 0, &b"r"[..]));
        assert_eq!(first.qual(), [0, 10, 20, 30, 40]);
        assert_eq!(first.field_bytes(), b"RGZg\0");
        assert_eq!(RecordRef::check(&pair[0], 0), Ok(()));
        assert_eq!(RecordRef::check(&pair[1], 0), Ok(()));
        let single = records(1, &[Read { qualities: None, ..read }], None);
        let only = RecordRef::new(&single[0]);
        assert_eq!((only.flags().0, only.qual(), only.field_bytes()), (4, &[0xff; 5][..], &b""[..]));
        assert_eq!(single[0][14..16], 4680u16.to_le_bytes(), "the bin of no position");
    }
}
