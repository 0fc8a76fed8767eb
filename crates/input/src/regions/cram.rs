//! Regions of a CRAM file, by CRAI: the containers that may hold their reads, which are decoded in parallel; then reads
//! that are not wanted are dropped.

use std::fs::File;
use std::sync::Arc;

use readmill_cram::{CraiEntry, CraiIndex, Reader};
use readmill_format::file_slice::FileSlice;
use readmill_format::region::Region;
use readmill_record::{Error, Header, Limit, Result, make_room};

use super::request::{IndexedInput, Regions, foreign};
use crate::claim::{Claim, OpenOptions};
use crate::selection::Selection;

/// Ledger name of the list of containers.
const CONTAINERS: &str = "containers of regions";

/// A container to read.
#[derive(Clone, Copy)]
struct RegionContainer {
    /// Where it starts in the file.
    offset: u64,
    /// Its contig as the index has it.
    contig: i32,
    /// The number of the selection of its reads.
    selection: u32,
}

/// Reads regions.
pub struct CramRegions {
    file: Arc<File>,
    reader: Reader,
    containers: std::vec::IntoIter<RegionContainer>,
    selections: Vec<Arc<Selection>>,
    bytes: u64,
    _regions: Regions,
    _charge: readmill_record::Charge,
}

impl CramRegions {
    /// Opens the index; `None` if the regions are the whole file. `reader` has read the header.
    pub fn open(
        input: &IndexedInput<'_>,
        header: &Header,
        reader: Reader,
        regions: Regions,
        options: &OpenOptions,
    ) -> Result<Result<Self, Reader>> {
        if regions.are_all() {
            return Ok(Err(reader));
        }
        let meta = input.file.metadata().map_err(|e| Error::io("reading failed", &e))?;
        let contigs = header.references().len();
        let index = CraiIndex::open(input.index, meta.len(), contigs, &options.ledger)?;
        let mut charge = options.ledger.empty(CONTAINERS);
        let (mut containers, mut selections) = (Vec::new(), Vec::new());
        let n_ref = header.n_ref();
        let entries = |region: &Region| match region {
            Region::Part(part) => index.containers(Some(part)),
            Region::Unplaced | Region::All => index.containers(None),
        };
        for region in &regions.list {
            let entries = entries(region);
            make_room(&mut containers, entries.len(), &mut charge)?;
            let selection = if regions.each_once { 0 } else { selections.len() as u32 };
            let container = |entry: CraiEntry| RegionContainer {
                offset: entry.container,
                contig: entry.contig,
                selection,
            };
            containers.extend(entries.into_iter().map(container));
            if !regions.each_once {
                let parts = match region {
                    Region::Part(part) => vec![*part],
                    Region::Unplaced | Region::All => Vec::new(),
                };
                make_room(&mut selections, 1, &mut charge)?;
                let unplaced = *region == Region::Unplaced;
                selections.push(Arc::new(Selection { parts, unplaced, n_ref }));
            }
        }
        if regions.each_once {
            containers.sort_by_key(|it| (it.offset, it.contig));
            containers.dedup_by_key(|it| it.offset);
            let mut parts = Vec::new();
            make_room(&mut parts, regions.list.len(), &mut charge)?;
            parts.extend(regions.parts().copied());
            let unplaced = regions.any_unplaced();
            selections.push(Arc::new(Selection { parts, unplaced, n_ref }));
        }
        let bytes = regions.estimate(|region| match region {
            Region::Part(part) => index.bytes(Some(part)),
            Region::Unplaced | Region::All => index.bytes(None),
        });
        let (containers, file) = (containers.into_iter(), Arc::clone(&input.file));
        Ok(Ok(CramRegions {
            file,
            reader,
            containers,
            selections,
            bytes,
            _regions: regions,
            _charge: charge,
        }))
    }

    /// About how many bytes of the file are read.
    pub fn expected_bytes(&self) -> u64 {
        self.bytes
    }

    /// Refuses containers that take more than `most`.
    pub fn limit(&mut self, most: Limit) {
        self.reader.limit(most);
    }

    /// Takes the next container, reusing the memory of `reuse`; `None` behind the last one.
    pub fn claim(&mut self, reuse: Vec<u8>) -> Result<Option<Claim>> {
        let Some(RegionContainer { offset, contig, selection }) = self.containers.next() else {
            return Ok(None);
        };
        self.reader.go_to(Box::new(FileSlice::new(&self.file, offset, u64::MAX)), offset);
        let container = self.reader.claim(reuse).map_err(|error| error.offset(offset))?;
        let container = container.filter(|container| {
            let own = container.header.contig;
            container.offset == offset && (own == contig || own == -2 || contig == -2)
        });
        let container = container.ok_or_else(|| foreign(offset))?;
        let selection = self.selections.get(selection as usize).map(Arc::clone);
        Ok(Some(Claim::Container(Box::new(container), selection)))
    }
}
