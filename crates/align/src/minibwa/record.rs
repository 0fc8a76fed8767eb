//! Writes hits as BAM records that equal minibwa's SAM lines (0.6, `mb_fmt_sam`).

use minibwa_sys as sys;
use readmill_record::{Error, Flags, Result, bases, edit};

use super::fields;
use super::hits::MinibwaHit;
use super::hits::{Segment, clip_lengths};

const MAX_OPERATORS: usize = u16::MAX as usize;

/// The BAM code of each letter as in htslib, except that U gets the code of T.
static CODES: [u8; 256] = {
    let mut table = bases::CODES;
    (table[b'U' as usize], table[b'u' as usize]) = (8, 8);
    table
};

/// Returns the code of the complementary base. BAM codes are bit sets, and reversing their four
/// bits swaps A with T and C with G.
fn complement(code: u8) -> u8 {
    code.reverse_bits() >> 4
}

impl Segment<'_> {
    /// Passes each record of the read to `take`, built in the buffer `out`.
    pub(super) fn write_records(
        &self,
        out: &mut Vec<u8>,
        take: &mut dyn FnMut(&[u8]) -> Result<()>,
    ) -> Result<()> {
        let mut record = |hit: Option<&MinibwaHit>| {
            self.build_record(hit, out)?;
            take(out)
        };
        if self.hits.is_empty() {
            return record(None);
        }
        let mut secondary = 0;
        for hit in self.hits {
            if hit.is_primary() {
                record(Some(hit))?;
            } else if secondary < self.settings.out_n && self.is_close_to_parent(hit) {
                record(Some(hit))?;
                secondary += 1;
            }
        }
        Ok(())
    }

    /// Returns whether the score of a secondary hit is close enough to that of its primary hit for
    /// it to be written.
    fn is_close_to_parent(&self, hit: &MinibwaHit) -> bool {
        let Some(parent) = self.hits.get(hit.parent()) else { return true };
        let (own, of_parent) = match (hit.scores(), parent.scores()) {
            (Some(own), Some(of_parent)) => (own[2], of_parent[2]),
            _ => (hit.chain_score(), parent.chain_score()),
        };
        f64::from(own) >= f64::from(self.settings.out_s) * f64::from(of_parent)
    }

    /// Returns whether secondary and supplementary alignments keep their clipped bases in SEQ
    /// (`-Y`).
    fn keeps_ends(&self) -> bool {
        self.settings.flag & u64::from(sys::MB_F_SUPP_SOFT) != 0
    }

    fn record_flags(&self, hit: Option<&MinibwaHit>) -> u16 {
        let mut flags = match hit {
            None => Flags::UNMAPPED,
            Some(hit) if !hit.is_primary() => Flags::SECONDARY,
            Some(hit) if !hit.is_representative() => Flags::SUPPLEMENTARY,
            Some(_) => 0,
        };
        let mut set = |bit: u16, is_set: bool| flags |= if is_set { bit } else { 0 };
        set(Flags::REVERSE, hit.is_some_and(MinibwaHit::is_reverse));
        if self.mate.is_some() {
            let mate = self.mate_hit();
            set(Flags::PAIRED, true);
            set(Flags::PROPER, hit.is_some_and(MinibwaHit::is_properly_paired));
            set(if self.is_last { Flags::LAST } else { Flags::FIRST }, true);
            set(Flags::MATE_UNMAPPED, mate.is_none());
            set(Flags::MATE_REVERSE, mate.is_some_and(MinibwaHit::is_reverse));
        }
        flags
    }

    /// Builds the record of a hit, or an unmapped record.
    fn build_record(&self, hit: Option<&MinibwaHit>, out: &mut Vec<u8>) -> Result<()> {
        let (flags, mate) = (self.record_flags(hit), self.mate_hit());
        let place = |hit: &MinibwaHit| [hit.sequence(), hit.start()];
        // An unmapped read gets the position of its mate.
        let own = hit.or(mate).map_or([-1; 2], place);
        let next = if self.mate.is_some() { mate.or(hit).map_or([-1; 2], place) } else { [-1; 2] };
        let is_hard = flags & Flags::SUPPLEMENTARY != 0 && !self.keeps_ends();
        let shown = match hit {
            Some(_) if flags & Flags::SECONDARY != 0 && !self.keeps_ends() => 0..0,
            Some(hit) if is_hard => hit.read_range().0..hit.read_range().1,
            _ => 0..self.read.bases.len(),
        };
        out.clear();
        out.extend([0; 4]);
        own.into_iter().for_each(|number| out.extend(number.to_le_bytes()));
        out.extend([self.name.len() as u8 + 1, hit.map_or(0, MinibwaHit::mapq), 0, 0]);
        out.extend([0; 2]); // operators are counted below
        out.extend(flags.to_le_bytes());
        out.extend((shown.len() as u32).to_le_bytes());
        next.into_iter().for_each(|number| out.extend(number.to_le_bytes()));
        out.extend(template_length(hit, mate).to_le_bytes());
        out.extend_from_slice(self.name);
        out.push(0);
        let operators = hit.map_or(0, |hit| push_cigar(hit, self.read.bases.len(), is_hard, out));
        if operators > MAX_OPERATORS {
            let what = "the alignment has more than 65,535 CIGAR operators, the maximum in BAM";
            return Err(Error::input(what).qname(self.name));
        }
        out[16..18].copy_from_slice(&(operators as u16).to_le_bytes());
        let is_reverse = hit.is_some_and(MinibwaHit::is_reverse);
        push_bases(&self.read.bases[shown.clone()], is_reverse, out);
        push_qualities(self.read.qualities.map(|all| &all[shown.clone()]), shown.len(), is_reverse, out);
        edit::set_bin(out);
        fields::push_fields(self, hit, out);
        edit::set_block_size(out, 0);
        Ok(())
    }
}

/// Returns TLEN: the signed distance between the 5' ends, including both bases. 0 unless both reads
/// are on the same reference sequence.
fn template_length(hit: Option<&MinibwaHit>, mate: Option<&MinibwaHit>) -> i32 {
    let (Some(hit), Some(mate)) = (hit, mate) else { return 0 };
    if hit.sequence() != mate.sequence() {
        return 0;
    }
    let first = |hit: &MinibwaHit| if hit.is_reverse() { hit.end() - 1 } else { hit.start() };
    let length = first(mate) - first(hit);
    length + length.signum()
}

/// Appends the CIGAR including clips. Returns the number of operators.
fn push_cigar(hit: &MinibwaHit, length: usize, is_hard: bool, out: &mut Vec<u8>) -> usize {
    let code = if is_hard { 5 } else { 4 };
    let [before, behind] = clip_lengths(hit, length).map(|clip| (clip > 0).then_some(clip << 4 | code));
    let start = out.len();
    let operators = before.into_iter().chain(hit.cigar().iter().copied()).chain(behind);
    operators.for_each(|operator| out.extend(operator.to_le_bytes()));
    (out.len() - start) / 4
}

fn push_bases(bases: &[u8], is_reverse: bool, out: &mut Vec<u8>) {
    let code = |base: u8| CODES[usize::from(base)];
    let start = out.len();
    out.resize(start + bases.len().div_ceil(2), 0);
    let packed = &mut out[start..];
    if is_reverse {
        for (byte, two) in packed.iter_mut().zip(bases.rchunks(2)) {
            *byte = match *two {
                [low, high] => complement(code(high)) << 4 | complement(code(low)),
                [last] => complement(code(last)) << 4,
                _ => 0,
            };
        }
    } else {
        for (byte, two) in packed.iter_mut().zip(bases.chunks(2)) {
            *byte = code(two[0]) << 4 | two.get(1).map_or(0, |&low| code(low));
        }
    }
}

fn push_qualities(qualities: Option<&[u8]>, length: usize, is_reverse: bool, out: &mut Vec<u8>) {
    let start = out.len();
    let Some(qualities) = qualities else { return out.resize(start + length, 0xff) };
    out.extend(qualities.iter().map(|quality| quality.wrapping_sub(33)));
    if is_reverse {
        out[start..].reverse();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packed(bases: &[u8], is_reverse: bool) -> Vec<u8> {
        let mut out = vec![7];
        push_bases(bases, is_reverse, &mut out);
        out.split_off(1)
    }

    #[test]
    fn bases_are_packed_from_either_end() {
        assert_eq!(packed(b"ACGTN", false), [0x12, 0x48, 0xf0]);
        assert_eq!(packed(b"ACGTN", true), [0xf1, 0x24, 0x80]);
        assert_eq!(packed(b"ru=.", false), [0x58, 0x0f]);
        assert_eq!(packed(b"RM", true), [0xca]);
        assert_eq!(packed(b"", true), []);
    }

    #[test]
    fn qualities_are_turned_and_may_be_missing() {
        for (given, is_reverse, expected) in [
            (Some(&b"!+5"[..]), false, [0, 10, 20]),
            (Some(b"!+5"), true, [20, 10, 0]),
            (None, true, [0xff; 3]),
        ] {
            let mut out = Vec::new();
            push_qualities(given, 3, is_reverse, &mut out);
            assert_eq!(out, expected);
        }
    }
}
