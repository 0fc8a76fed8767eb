//! Builds the index of a CRAM file.

use std::fs::File;
use std::sync::Arc;

use readmill_cram::{Cache, CraiBuilder, Reader, References, Setup, SliceIndexer};
use readmill_engine::map_ordered;
use readmill_record::{Error, Limit, Result};

use super::index_job::{FinishedIndex, INDEX, IndexJob, IndexOptions};

/// A container with its records may take one of this number of equal parts of the memory, divided
/// by the number of tickets in flight.
const CONTAINER_PARTS: u64 = 2;

/// Builds the CRAI index of a CRAM file in memory.
///
/// If all reads of a container are on one contig, its header contains the position. Otherwise, the
/// positions of reads are decoded, which needs no reference.
///
/// # Errors
/// Fails if the file is damaged or not sorted by coordinate, or if there is too little memory.
pub fn index_cram(file: File, options: &IndexOptions, workshop: &IndexJob<'_>) -> Result<FinishedIndex> {
    let IndexJob { crew, ledger, console, .. } = workshop;
    let max_container = Limit::part_of(ledger.free(), CONTAINER_PARTS * crew.in_flight as u64, ledger);
    let mut reader = Reader::open(Box::new(file), options.allow_missing_eof, max_container, ledger)?;
    let header = reader.header().clone();
    let references = References::new(&header, None, &Cache::default(), ledger)?;
    let setup = Setup::new(reader.version(), &header, references, b"")?;
    reader.set_implied_bytes(setup.max_implied_bytes());
    let setup = Arc::new(setup);
    let (mut crai, mut charge, mut records) = (CraiBuilder::default(), ledger.empty_charge(INDEX), 0);
    map_ordered(
        *crew,
        || reader.claim(Vec::new()),
        || SliceIndexer::new(Arc::clone(&setup)),
        |scanner, container| {
            let entries = scanner.find_entries(&container).map_err(|e| e.offset(container.offset))?;
            let (n, bytes) = (container.header.records, container.blocks().len());
            Ok::<_, Error>((entries, container.offset, n, bytes))
        },
        |(entries, offset, n, bytes)| {
            crai.add(&entries, offset);
            if !crai.is_sorted() {
                let what =
                    "the reads are not in coordinate order, but only a sorted file can be indexed";
                return Err(Error::input(what).offset(offset).hint(
                    "sort the file, which also writes the index: readmill sort FILE -o SORTED.cram",
                ));
            }
            charge.grow(crai.heap_bytes().saturating_sub(charge.bytes()))?;
            records += n as u64;
            console.advance(bytes as u64);
            Ok(())
        },
    )?;
    charge.grow(crai.heap_bytes())?;
    Ok(FinishedIndex { suffix: ".crai", bytes: crai.to_bytes()?, records })
}
