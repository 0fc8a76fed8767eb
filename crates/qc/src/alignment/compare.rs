//! Compares aligned bases with the reference, and counts mismatches and bad cycles.

use readmill_record::Result;

use super::{AlignmentCounter, EndAlignments, HIGH_QUALITY};
use crate::blocks::{AlignedBlock, BASES_AT_ONCE, for_each_block};
use crate::collector::ReadContext;
use crate::counts::count_bytes;
use crate::read::{N, PreparedRead};
use crate::room::CountingRoom;

const LANES: usize = 16;

/// Adding this to a code (below 16) sets the high bit of the byte if the code is not 0.
const IF_ANY: u128 = u128::from_ne_bytes([0x7f; LANES]);

/// Adding this to a code sets the high bit of the byte if the code is N.
const IF_N: u128 = u128::from_ne_bytes([0x80 - N; LANES]);

const HIGH: u128 = u128::from_ne_bytes([0x80; LANES]);

impl EndAlignments {
    /// Counts the bases, mismatches and indels of an aligned read that passes vendor quality
    /// checks.
    pub(super) fn add_bases(
        &mut self,
        read: &PreparedRead<'_>,
        context: &mut ReadContext<'_>,
    ) -> Result<()> {
        let record = read.record;
        let contig = match context.reference {
            Some(reference) => reference.place(record.ref_id())?,
            None => None,
        };
        let is_sure = record.mapq() >= HIGH_QUALITY;
        self.add_to_counter(AlignmentCounter::HighQualityReads, u64::from(is_sure));
        let mut mismatches = 0;
        let number = contig.map(|(number, _)| number);
        let length = contig.map(|(_, length)| length);
        let indels = for_each_block(read, length, |block| {
            mismatches += self.add_block(read, &block, number, context)?;
            Ok(())
        })?;
        self.add_to_counter(AlignmentCounter::Indels, indels);
        self.add_to_counter(AlignmentCounter::Mismatches, mismatches);
        let sure_mismatches = if is_sure { mismatches } else { 0 };
        self.add_to_counter(AlignmentCounter::HighQualityMismatches, sure_mismatches);
        if context.reference.is_some() {
            read.note_mismatches(mismatches);
        }
        self.mismatches.count_key(sure_mismatches as u32, context.room)
    }

    /// Counts the bases of an aligned block. Returns the number of bases that differ from the
    /// reference.
    fn add_block(
        &mut self,
        read: &PreparedRead<'_>,
        block: &AlignedBlock,
        contig: Option<u32>,
        context: &mut ReadContext<'_>,
    ) -> Result<u64> {
        let AlignedBlock { base, at, length } = *block;
        let bases = &read.bases[base.min(read.bases.len())..][..length];
        self.add_to_counter(AlignmentCounter::AlignedBases, length as u64);
        if read.record.mapq() >= HIGH_QUALITY {
            self.add_to_counter(AlignmentCounter::HighQualityBases, length as u64);
            let quals = read.quals.get(base..base + length).unwrap_or_default();
            let good = count_bytes(quals, |qual| (HIGH_QUALITY..128).contains(&qual));
            self.add_to_counter(AlignmentCounter::HighQualityQ20Bases, good);
        }
        let (mut all, room) = (0, context.room);
        for (number, bases) in bases.chunks(BASES_AT_ONCE).enumerate() {
            let first = number * BASES_AT_ONCE;
            let codes = match (contig, context.reference) {
                (Some(contig), Some(reference)) => {
                    let from = at + first as u32;
                    context.pages.window_of(reference).codes(contig, from, from + bases.len() as u32)?
                }
                _ => bases,
            };
            if !read.has_n && bases == codes {
                continue;
            }
            let (base_lanes, bases) = bases.as_chunks::<LANES>();
            let (code_lanes, codes) = codes.as_chunks::<LANES>();
            // Pads the last chunk with equal bases that are not N.
            let (mut last_bases, mut last_codes) = ([0; LANES], [0; LANES]);
            last_bases[..bases.len()].copy_from_slice(bases);
            last_codes[..codes.len()].copy_from_slice(codes);
            let lanes = base_lanes.iter().zip(code_lanes).chain([(&last_bases, &last_codes)]);
            for ((bases, codes), first) in lanes.zip((first..).step_by(LANES)) {
                let differs = bases
                    .iter()
                    .zip(codes)
                    .fold(0, |all, (&base, &code)| all | (base ^ code) | u8::from(base == N));
                if differs != 0 {
                    all += self.add_differing(read, first, bases, codes, room)?;
                }
            }
        }
        Ok(all)
    }

    /// Examines a chunk in which at least one base differs from the reference or is N. Returns the
    /// number of differing bases. Not inlined, because most chunks need no closer look.
    #[inline(never)]
    fn add_differing(
        &mut self,
        read: &PreparedRead<'_>,
        first: usize,
        bases: &[u8; LANES],
        codes: &[u8; LANES],
        room: &CountingRoom,
    ) -> Result<u64> {
        let both = [bases, codes].map(|it| u128::from_le_bytes(*it));
        let mut bad = (((both[0] ^ both[1]) + IF_ANY) | (both[0] + IF_N)) & HIGH;
        let mut all = 0;
        while bad != 0 {
            let i = bad.trailing_zeros() as usize / 8;
            bad &= bad - 1;
            all += u64::from(bases[i] != codes[i]);
            self.add_bad_cycle(read, first + i, room)?;
        }
        Ok(all)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use readmill_format::reference::Reference;
    use readmill_format::sam::LineParser;
    use readmill_record::{Batch, Header, Ledger, Stamp};

    use super::*;
    use crate::alignment::{AlignmentOptions, AlignmentSummary, Alignments};
    use crate::levels::Levels;
    use crate::reference::ReferenceContigs;

    fn letter(at: usize) -> u8 {
        if at % 23 == 5 { b'N' } else { b"ACGT"[(at * at / 7 + at / 3) % 4] }
    }

    #[test]
    fn differing_bases_are_found_wherever_they_lie() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("r.fa");
        let bases: Vec<u8> = (0..9000).map(letter).collect();
        std::fs::write(&path, format!(">c\n{}\n", String::from_utf8(bases).unwrap())).unwrap();
        let header = Header::parse(b"@HD\tVN:1.6\n@SQ\tSN:c\tLN:9000\n").unwrap();
        let reference = Reference::open(&path, &Ledger::unlimited()).unwrap();
        let reference = ReferenceContigs::new(reference, &header).unwrap();
        let (room, levels) = (crate::room::counting_room(1 << 24), Arc::new(Levels::new(&header, &[])));
        let metric = AlignmentSummary::new(&AlignmentOptions::default(), &levels);
        let mut context = ReadContext::new(Some(&reference), &levels, &room);
        let mut parser = LineParser::new(&header);
        for length in [1, 15, 16, 17, 33, 100, 4097, 5000] {
            // One of `every` bases is changed or N. Two clipped bases precede the block; one of
            // them may be N.
            for (every, clip) in
                [(usize::MAX, "AC"), (1, "AC"), (2, "NA"), (7, "AC"), (16, "NA"), (61, "AC")]
            {
                for flags in [0, 16] {
                    let start = 100 + length % 50;
                    let base = |i: usize| match letter(start + i) {
                        _ if i % every == every - 1 && i.is_multiple_of(3) => b'N',
                        b'A' if i % every == every - 1 => b'C',
                        _ if i % every == every - 1 => b'A',
                        base => base,
                    };
                    let seq: Vec<u8> = (0..length).map(base).collect();
                    let differ = |i: &usize| seq[*i] != letter(start + i);
                    let all = (0..length).filter(differ).count() as u64;
                    let bad: Vec<usize> = (0..length).filter(|i| differ(i) || seq[*i] == b'N').collect();
                    let text = format!(
                        "r\t{flags}\tc\t{}\t60\t2S{length}M\t*\t0\t0\t{clip}{}\t*",
                        start + 1,
                        String::from_utf8(seq.clone()).unwrap()
                    );
                    let (mut raw, mut batch, mut codes) = (Vec::new(), Batch::default(), Vec::new());
                    parser.parse(text.as_bytes(), &mut raw).unwrap();
                    batch.push(&raw, Stamp::default()).unwrap();
                    let (_, record) = batch.records().next().unwrap();
                    let mut counts = Alignments::default();
                    let read = PreparedRead::new(record, &mut codes);
                    counts.count_read(&metric, &read, &mut context).unwrap();
                    let found = read.known_mismatches();
                    let what = format!("{length} bases, one in {every} differs, flags {flags}");
                    assert_eq!(found, Some(all), "{what}");
                    // As in Picard, cycles are counted from the start of the block, not of the
                    // read.
                    let mut cycles = vec![0; counts.0[2].bad_cycles.len()];
                    for i in bad {
                        let cycle = if flags == 16 { length + 2 - i } else { i + 1 };
                        cycles[cycle - 1] += 1;
                    }
                    assert_eq!(counts.0[2].bad_cycles, cycles, "{what}");
                }
            }
        }
    }
}
