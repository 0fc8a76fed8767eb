//! Target regions: which reads overlap them, and how many of their bases.

use std::path::Path;
use std::sync::Arc;

use readmill_format::features::parse_bed_position;
use readmill_format::region::{ContigPart, NO_END};
use readmill_format::text::LineReader;
use readmill_record::cigar::consumes_reference;
use readmill_record::{Charge, Error, Header, Ledger, RecordRef, Result, make_room};

/// First and last base of a region, 1-based.
type TargetInterval = (i64, i64);

const MEMORY_NAME: &str = "target regions";

#[derive(Clone, Debug)]
pub(super) struct Targets {
    by_contig: Arc<[Vec<TargetInterval>]>,
    pub bases: u64,
    pub unknown: Option<String>,
    _charge: Arc<Charge>,
}

impl Targets {
    /// Reads a file of regions: lines with a contig, and the first and the last base, 1-based. Regions
    /// on contigs that the header lacks, empty lines and comments are ignored.
    ///
    /// # Errors
    /// The file cannot be read, a line is not a region, consecutive regions of a contig are not sorted
    /// by start, or no region is on a contig of the header.
    pub fn read_file(path: &Path, header: &Header, ledger: &Ledger) -> Result<Self> {
        let (mut by_contig, mut charge) = empty_lists(header, ledger)?;
        let (mut unknown, mut before) = (None, None);
        let mut lines = LineReader::open(path, ledger)?;
        while lines.advance_line()? {
            let line = lines.line().trim_ascii();
            if line.is_empty() || line.starts_with(b"#") {
                continue;
            }
            let mut words = line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
            let name = words.next().unwrap_or_default();
            let contig = header.reference_id(name).and_then(|id| usize::try_from(id).ok());
            let Some(contig) = contig.filter(|&contig| contig < by_contig.len()) else {
                unknown.get_or_insert_with(|| String::from_utf8_lossy(name).into_owned());
                continue;
            };
            let number = |word: Option<&[u8]>| parse_bed_position(word?);
            let (Some(start), Some(end)) = (number(words.next()), number(words.next())) else {
                return Err(lines.line_error(
                    "a region must be a contig, its first base and its last base (1-based)",
                ));
            };
            if end < start || start == 0 {
                return Err(
                    lines.line_error(format!("{start} to {end} is not a valid region (1-based)"))
                );
            }
            if before.replace((contig, start)).is_some_and(|(it, last)| it == contig && last > start) {
                return Err(lines
                    .line_error("the region starts before the previous one")
                    .hint("sort the regions of each contig by start position"));
            }
            make_room(&mut by_contig[contig], 1, &mut charge)?;
            by_contig[contig].push((start.into(), end.into()));
        }
        if by_contig.iter().all(Vec::is_empty) {
            return Err(
                Error::input("none of the regions is on a contig in the header of the reads").file(path)
            );
        }
        Ok(Targets { unknown, ..Targets::from_intervals(by_contig, 1, charge, header) })
    }

    pub fn from_parts(parts: &[ContigPart], header: &Header, ledger: &Ledger) -> Result<Self> {
        let (mut by_contig, mut charge) = empty_lists(header, ledger)?;
        for part in parts {
            let Some(regions) = by_contig.get_mut(part.contig as usize) else { continue };
            make_room(regions, 1, &mut charge)?;
            regions.push((part.start + 1, part.end));
        }
        Ok(Targets::from_intervals(by_contig, 0, charge, header))
    }

    /// Sorts the regions, and joins those that share at least `apart` bases: 0 also joins regions that
    /// only touch each other.
    fn from_intervals(
        mut by_contig: Vec<Vec<TargetInterval>>,
        apart: i64,
        charge: Charge,
        header: &Header,
    ) -> Self {
        let mut bases = 0;
        for (regions, contig) in by_contig.iter_mut().zip(header.references()) {
            regions.sort_unstable();
            regions.dedup_by(|next, last| {
                let joins = last.1 >= next.0 - 1 + apart;
                if joins {
                    last.1 = last.1.max(next.1);
                }
                joins
            });
            for &(start, end) in &*regions {
                let end = if end >= NO_END { i64::from(contig.length) } else { end };
                bases += (end - start + 1).max(0).cast_unsigned();
            }
        }
        Targets { by_contig: by_contig.into(), bases, unknown: None, _charge: Arc::new(charge) }
    }

    /// Returns the first region that a read overlaps, or `None`. If `parts` is given, it receives the
    /// part of each overlapped region that the read covers.
    pub fn find_overlap(
        &self,
        record: RecordRef<'_>,
        parts: Option<&mut Vec<TargetInterval>>,
    ) -> Option<TargetInterval> {
        let regions = self.by_contig.get(usize::try_from(record.ref_id()).ok()?)?;
        let start = i64::from(record.pos());
        let end = end_of(record);
        let first = regions.partition_point(|region| region.1 <= start);
        let rest = &regions[first..];
        let &found = rest.first().filter(|region| end >= region.0)?;
        if let Some(parts) = parts {
            parts.clear();
            let own = rest.iter().take_while(|region| end >= region.0);
            parts.extend(own.map(|region| (region.0.max(start + 1), region.1.min(end))));
        }
        Some(found)
    }
}

fn empty_lists(header: &Header, ledger: &Ledger) -> Result<(Vec<Vec<TargetInterval>>, Charge)> {
    let contigs = header.references().len();
    let charge = ledger.charge(MEMORY_NAME, (contigs * size_of::<Vec<TargetInterval>>()) as u64)?;
    Ok(((0..contigs).map(|_| Vec::new()).collect(), charge))
}

/// Returns the position after a read, 0-based. A read that is unmapped or aligns no base is one base
/// long.
fn end_of(record: RecordRef<'_>) -> i64 {
    let length = if record.flags().is_unmapped() { 0 } else { record.cigar().reference_length() };
    i64::from(record.pos()) + length.max(1)
}

/// Returns the mapped bases of a read in a region. As in samtools, this ignores deletions and skips
/// when it advances on the reference, and treats insertions as reference bases.
pub(super) fn count_mapped_in(record: RecordRef<'_>, (from, to): TargetInterval) -> u64 {
    let (mut at, mut sum) = (i64::from(record.pos()) + 1, 0);
    for (op, n) in record.cigar().ops() {
        let n = i64::from(n);
        match op {
            0 | 7 | 8 => {
                let before = (from - at).max(0);
                let behind = (at + n - 1 - to).max(0);
                sum += (n - before - behind).max(0);
                at += n;
            }
            1 if n > 0 => {
                at += n;
                if (from..=to).contains(&at) {
                    sum += n;
                }
            }
            _ => {}
        }
    }
    sum.cast_unsigned()
}

/// Calls `each` with each block of aligned bases, 0-based and half-open. With `parts`, blocks are cut to
/// them.
pub(super) fn for_each_block(
    record: RecordRef<'_>,
    parts: Option<&[TargetInterval]>,
    mut each: impl FnMut(i64, i64),
) {
    let (mut at, mut part) = (i64::from(record.pos()), 0);
    for (op, n) in record.cigar().ops() {
        let end = at + if consumes_reference(op) { i64::from(n) } else { 0 };
        let is_aligned = matches!(op, 0 | 7 | 8);
        match parts {
            None if is_aligned => each(at, end),
            None => {}
            Some(parts) => {
                while let Some(&(first, last)) = parts.get(part) {
                    let (from, to) = (at.max(first - 1), end.min(last));
                    if is_aligned && to > from {
                        each(from, to);
                    }
                    if end < last {
                        break;
                    }
                    part += 1;
                }
            }
        }
        at = end;
    }
}
