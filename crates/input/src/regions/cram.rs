//! Regions of a CRAM file, using a CRAI index. The index names the containers that may hold their
//! reads; these are decoded in parallel, then reads outside the regions are dropped.

use std::fs::File;
use std::sync::Arc;

use readmill_cram::{CraiEntry, CraiIndex, Reader};
use readmill_format::file_slice::FileSlice;
use readmill_format::region::Region;
use readmill_record::{Error, Header, Limit, Result, make_room};

use super::request::{IndexedInput, RequestedRegions, foreign_index_error};
use crate::claim::{Claim, OpenOptions};
use crate::selection::ContainerSelection;

const CONTAINERS: &str = "containers of regions";

#[derive(Clone, Copy)]
struct RegionContainer {
    offset: u64,
    /// The contig according to the index, or that of the region if the index has no line for the
    /// container. If the container has a different contig, the index belongs to a different file.
    contig: i32,
    is_listed: bool,
    selection: u32,
}

pub struct CramRegions {
    file: Arc<File>,
    reader: Reader,
    containers: std::vec::IntoIter<RegionContainer>,
    selections: Vec<Arc<ContainerSelection>>,
    bytes: u64,
    _regions: RequestedRegions,
    _charge: readmill_record::Charge,
}

impl CramRegions {
    /// Opens the index and finds the containers of all regions. `reader` has read the header; it is
    /// returned as the inner error if the regions are the whole file.
    ///
    /// # Errors
    /// The index cannot be read, belongs to a different file, or does not fit in memory.
    pub fn open(
        input: &IndexedInput<'_>,
        header: &Header,
        reader: Reader,
        regions: RequestedRegions,
        options: &OpenOptions,
    ) -> Result<Result<Self, Reader>> {
        if regions.is_whole_file() {
            return Ok(Err(reader));
        }
        let meta = input.file.metadata().map_err(|e| Error::io("reading failed", &e))?;
        let contigs = header.references().len();
        let bytes = reader.offset()..meta.len();
        let index = CraiIndex::open(input.index, bytes, contigs, &options.ledger)?;
        let mut charge = options.ledger.empty_charge(CONTAINERS);
        let (mut containers, mut selections) = (Vec::new(), Vec::new());
        let n_ref = header.n_ref();
        let entries = |region: &Region| match region {
            Region::Part(part) => index.find_containers(Some(part)),
            Region::Unplaced | Region::All => index.find_containers(None),
        };
        for region in &regions.list {
            let entries = entries(region);
            let part = if let Region::Part(part) = region { Some(part) } else { None };
            let neighbours =
                if *region == Region::All { Vec::new() } else { index.find_unlisted_containers(part) };
            make_room(&mut containers, entries.len() + neighbours.len(), &mut charge)?;
            let selection = if regions.each_once { 0 } else { selections.len() as u32 };
            let listed = |entry: CraiEntry| RegionContainer {
                offset: entry.container,
                contig: entry.contig,
                is_listed: true,
                selection,
            };
            let contig = part.map_or(-1, |part| part.contig.cast_signed());
            let unlisted = |offset| RegionContainer { offset, contig, is_listed: false, selection };
            // The entries are in file order.
            let known = |at: &u64| entries.binary_search_by_key(at, |entry| entry.container).is_ok();
            let others = Vec::from_iter(neighbours.into_iter().filter(|it| !known(it)).map(unlisted));
            let first = containers.len();
            containers.extend(entries.into_iter().map(listed).chain(others));
            containers[first..].sort_by_key(|it| it.offset);
            if !regions.each_once {
                let parts = match region {
                    Region::Part(part) => vec![*part],
                    Region::Unplaced | Region::All => Vec::new(),
                };
                make_room(&mut selections, 1, &mut charge)?;
                let unplaced = *region == Region::Unplaced;
                selections.push(Arc::new(ContainerSelection { parts, unplaced, n_ref }));
            }
        }
        if regions.each_once {
            containers.sort_by_key(|it| (it.offset, !it.is_listed, it.contig));
            containers.dedup_by(|next, kept| {
                let is_same = next.offset == kept.offset;
                if is_same && next.contig != kept.contig {
                    kept.contig = -2; // it is wanted for several contigs
                }
                is_same
            });
            let mut parts = Vec::new();
            make_room(&mut parts, regions.list.len(), &mut charge)?;
            parts.extend(regions.contig_parts().copied());
            let unplaced = regions.has_unplaced();
            selections.push(Arc::new(ContainerSelection { parts, unplaced, n_ref }));
        }
        let bytes = regions.estimate_sum(|region| match region {
            Region::Part(part) => index.region_bytes(Some(part)),
            Region::Unplaced | Region::All => index.region_bytes(None),
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

    pub fn expected_bytes(&self) -> u64 {
        self.bytes
    }

    pub fn limit_containers(&mut self, max_container: Limit) {
        self.reader.limit_containers(max_container);
    }

    /// Returns the next container; `None` after the last one. The memory of `reuse` is reused.
    ///
    /// # Errors
    /// The container cannot be read, or is not the one that the index describes.
    pub fn claim(&mut self, mut reuse: Vec<u8>) -> Result<Option<Claim>> {
        for RegionContainer { offset, contig, is_listed, selection } in self.containers.by_ref() {
            self.reader.resume_at(Box::new(FileSlice::new(&self.file, offset, u64::MAX)), offset);
            let container = self.reader.claim(reuse).map_err(|error| error.offset(offset))?;
            let container = container.filter(|container| container.offset == offset);
            let container = container.ok_or_else(|| foreign_index_error(offset))?;
            let own = container.header.contig;
            if own != contig && own != -2 && contig != -2 {
                if is_listed {
                    return Err(foreign_index_error(offset));
                }
                reuse = container.into_bytes();
                continue;
            }
            let selection = self.selections.get(selection as usize).map(Arc::clone);
            return Ok(Some(Claim::Container(Box::new(container), selection)));
        }
        Ok(None)
    }
}
