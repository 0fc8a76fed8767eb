//! Clips alignments at the end of the reference, at adapters, and where mates overlap.
//!
//! Follows htsjdk 4.2.0 (`CigarUtil`), so that CIGARs are the same as in Picard. Positions and base
//! numbers in this file are 1-based, except for `DraftRecord::pos`.

use readmill_record::cigar::{HARD_CLIP, SOFT_CLIP, consumes_query, consumes_reference};
use readmill_record::{Error, Flags, Result};

use super::draft::DraftRecord;
use super::ops::{Op, maps_bases, query_length, reference_length};

const INSERTION: u32 = 1;
const DELETION: u32 = 2;
const PADDING: u32 = 6;

fn is_clip(op: u32) -> bool {
    op == SOFT_CLIP || op == HARD_CLIP
}

fn is_valid(cigar: &[Op], bases: usize) -> bool {
    let last = cigar.len().saturating_sub(1);
    let is_real = |op: u32| !is_clip(op) && op != PADDING;
    let is_indel = |op: u32| op == INSERTION || op == DELETION;
    let op_fits = |(at, &(length, op)): (usize, &Op)| {
        let fits = match op {
            HARD_CLIP => at == 0 || at == last,
            SOFT_CLIP if at == 0 || at == last => true,
            SOFT_CLIP if at == 1 => last == 2 && cigar[2].1 == HARD_CLIP || cigar[0].1 == HARD_CLIP,
            SOFT_CLIP => at + 1 == last && cigar[last].1 == HARD_CLIP,
            INSERTION | DELETION => {
                let behind = cigar[at + 1..].iter().map(|op| op.1);
                !behind
                    .take_while(|&next| is_indel(next) || !(is_real(next) || next == PADDING))
                    .any(|next| next == op)
            }
            PADDING if at == 0 => true,
            PADDING => at != last && is_real(cigar[at - 1].1) && is_real(cigar[at + 1].1),
            _ => true,
        };
        length > 0 && fits
    };
    !cigar.is_empty()
        && cigar.iter().enumerate().all(op_fits)
        && cigar.iter().any(|op| is_real(op.1))
        && query_length(cigar) == bases as i64
}

/// Returns the CIGAR with all bases from `from` (1-based) on clipped. `clip` is the operator,
/// `SOFT_CLIP` or `HARD_CLIP`.
pub fn clip_end(cigar: &[Op], from: i64, clip: u32) -> Vec<Op> {
    let clipped = query_length(cigar) - from + 1;
    let hard_before = cigar.last().filter(|op| op.1 == HARD_CLIP).map_or(0, |op| op.0);
    let (mut new, mut at) = (Vec::with_capacity(cigar.len() + 2), 1);
    for &(length, op) in cigar {
        let bases = if consumes_query(op) { i64::from(length) } else { 0 };
        let end = at + bases - 1;
        if end < from - 1 {
            new.push((length, op));
            at = end + 1;
            continue;
        }
        let kept = from - at;
        let mut amount = clipped + if clip == HARD_CLIP { i64::from(hard_before) } else { 0 };
        if consumes_query(op) {
            let stays = consumes_reference(op) || clip == HARD_CLIP;
            if stays && kept > 0 {
                new.push((kept as u32, op));
            }
            if !stays || op == clip {
                amount = clipped + kept;
            }
        }
        new.push((amount as u32, clip));
        if clip == SOFT_CLIP && hard_before > 0 {
            new.push((hard_before, HARD_CLIP));
        }
        break;
    }
    new
}

/// Adds soft clips for bases that are missing from the alignment: `three_prime` and `five_prime`
/// bases at the ends of the read in sequencing direction.
pub fn add_soft_clips(cigar: &mut Vec<Op>, is_reverse: bool, three_prime: u32, five_prime: u32) {
    if is_reverse {
        cigar.reverse();
    }
    if three_prime > 0 {
        let old = cigar.pop_if(|op| op.1 == SOFT_CLIP).map_or(0, |op| op.0);
        cigar.push((three_prime + old, SOFT_CLIP));
    }
    if five_prime > 0 {
        let old = match cigar.first() {
            Some(&(length, op)) if is_clip(op) => {
                cigar.remove(0);
                length
            }
            _ => 0,
        };
        cigar.insert(0, (five_prime + old, SOFT_CLIP));
    }
    if is_reverse {
        cigar.reverse();
    }
}

/// Soft-clips an alignment that extends beyond the end of its reference sequence. `reference` is
/// the length of the sequence in bases.
pub fn clip_beyond_reference(read: &mut DraftRecord, reference: i64) {
    let overhang = read.end() - reference;
    if overhang <= 0 {
        return;
    }
    let mut from = read.bases.len() as i64 - overhang + 1;
    if let Some((length, _)) = read.cigar.last().filter(|op| op.1 == SOFT_CLIP) {
        from -= i64::from(*length);
    }
    read.cigar = clip_end(&read.cigar, from, SOFT_CLIP);
}

const NM: [u8; 2] = *b"NM";
const MD: [u8; 2] = *b"MD";
const UQ: [u8; 2] = *b"UQ";

/// Clips the read from base `from` (1-based, in sequencing direction) to its 3' end. If no aligned
/// base remains, the read becomes unmapped. A CIGAR that does not fit the read is not changed.
///
/// # Errors
/// The clipped CIGAR is not valid.
pub fn clip_three_prime(read: &mut DraftRecord, from: i64, clip: u32) -> Result<()> {
    let length = read.bases.len();
    if !is_valid(&read.cigar, length) || from > length as i64 {
        return Ok(());
    }
    let is_reverse = read.is_reverse();
    let old_reference = reference_length(&read.cigar);
    if is_reverse {
        read.cigar.reverse();
    }
    let mut new = clip_end(&read.cigar, from, clip);
    if is_reverse {
        new.reverse();
    }
    let new_reference = reference_length(&new);
    if is_reverse {
        read.pos += (old_reference - new_reference) as i32;
    }
    read.cigar = new;
    if clip == HARD_CLIP {
        let kept = (from - 1) as usize;
        let gone = if is_reverse { 0..length - kept } else { kept..length };
        read.bases.drain(gone.clone());
        read.qualities.drain(gone);
    }
    if new_reference != old_reference {
        [NM, MD, UQ].into_iter().for_each(|tag| read.remove_field(tag));
    }
    if !maps_bases(read.cigar.iter().copied()) {
        read.set_flag(Flags::UNMAPPED, true);
        read.cigar.clear();
        (read.ref_id, read.pos, read.mapq, read.tlen) = (-1, -1, 0, 0);
    } else if !is_valid(&read.cigar, read.bases.len()) {
        return Err(Error::input("the alignment cannot be clipped: the remaining CIGAR is not valid")
            .hint("remove this alignment from ALIGNED"));
    }
    Ok(())
}

const CUT_BASES: [u8; 2] = *b"XB";
const CUT_QUALITIES: [u8; 2] = *b"XQ";

/// Hard-clips the read like [`clip_three_prime`], and stores the clipped bases and qualities in XB
/// and XQ, in sequencing direction.
///
/// # Errors
/// The read already has XB or XQ, has no qualities, or the clipped CIGAR is not valid.
fn hard_clip_three_prime(read: &mut DraftRecord, from: i64) -> Result<()> {
    let length = read.bases.len();
    if !is_valid(&read.cigar, length) || from > length as i64 {
        return Ok(());
    }
    if read.field(CUT_BASES).is_some() || read.field(CUT_QUALITIES).is_some() {
        return Err(Error::input("the read already has XB or XQ, which store hard-clipped bases").hint(
            "use soft clipping, or remove these fields: readmill filter --remove-optional-fields XB,XQ",
        ));
    }
    if read.qualities.first() == Some(&0xff) {
        return Err(Error::input(
            "the read has no qualities, but XQ stores the qualities of hard-clipped bases",
        )
        .hint("use soft clipping"));
    }
    let kept = (from - 1) as usize;
    let gone = if read.is_reverse() { 0..length - kept } else { kept..length };
    let mut bases = read.base_letters(gone.clone());
    let mut qualities: Vec<u8> = read.qualities[gone].iter().map(|q| q.saturating_add(33)).collect();
    if read.is_reverse() {
        use readmill_record::bases::{CODES, COMPLEMENTS};
        bases.reverse();
        bases.iter_mut().for_each(|base| *base = COMPLEMENTS[usize::from(CODES[usize::from(*base)])]);
        qualities.reverse();
    }
    read.set_text(CUT_BASES, &bases);
    read.set_text(CUT_QUALITIES, &qualities);
    clip_three_prime(read, from, HARD_CLIP)
}

/// Returns the read base that is aligned to `position` of the reference, both 1-based. Soft-clipped
/// bases count as aligned. In a deletion, it is the base before the deletion. Returns 0 if the read
/// does not cover the position.
fn read_base_at(read: &DraftRecord, position: i64) -> i64 {
    if read.is_unmapped() {
        return 0;
    }
    let clips = read.cigar.iter().take_while(|op| is_clip(op.1)).filter(|op| op.1 == SOFT_CLIP);
    let position = position + clips.map(|op| i64::from(op.0)).sum::<i64>();
    if position <= 0 {
        return 0;
    }
    let (mut base, mut reference, mut before) = (1, read.start(), 0);
    for &(length, op) in &read.cigar {
        let length = i64::from(length);
        let is_aligned = op == SOFT_CLIP || consumes_query(op) && consumes_reference(op);
        if is_aligned {
            if reference + length > position {
                return if position < reference { before } else { position - reference + base };
            }
            before = base + length - 1;
            (base, reference) = (base + length, reference + length);
        } else if consumes_query(op) {
            base += length;
        } else if consumes_reference(op) {
            reference += length;
        }
    }
    0
}

fn clipped_base_count<'a>(ops: impl Iterator<Item = &'a Op>) -> i64 {
    ops.take_while(|op| is_clip(op.1)).map(|op| i64::from(op.0)).sum()
}

/// Clips mates that overlap on opposite strands, so that neither extends beyond the start of the
/// other. Soft clips extend to the first aligned base of the mate. With `hard`, hard clips replace
/// them from the start of the mate's clipped bases on.
///
/// # Errors
/// As in [`clip_three_prime`]. Hard clips also fail on reads with XB or XQ, or without qualities.
pub fn clip_overlap(one: &mut DraftRecord, other: &mut DraftRecord, hard: bool) -> Result<()> {
    let overlap = !one.is_unmapped()
        && !other.is_unmapped()
        && one.is_reverse() != other.is_reverse()
        && one.ref_id == other.ref_id
        && one.start() <= other.end()
        && other.start() <= one.end();
    if !overlap {
        return Ok(());
    }
    let (forward, reverse) = if one.is_reverse() { (other, one) } else { (one, other) };
    clip_to_starts(forward, reverse, false)?;
    if hard { clip_to_starts(forward, reverse, true) } else { Ok(()) }
}

/// Clips each read at the start of its mate: soft clips at the first aligned base, hard clips at
/// the clipped bases before it.
fn clip_to_starts(forward: &mut DraftRecord, reverse: &mut DraftRecord, hard: bool) -> Result<()> {
    let reach = |draft: &DraftRecord, clips: i64| if hard && !draft.is_unmapped() { clips } else { 0 };
    let end = reverse.end() + reach(reverse, clipped_base_count(reverse.cigar.iter().rev()));
    let start = forward.start() - reach(forward, clipped_base_count(forward.cigar.iter()));
    let clip = |read: &mut DraftRecord, from: i64| match hard {
        true => hard_clip_three_prime(read, from),
        false => clip_three_prime(read, from, SOFT_CLIP),
    };
    let last_kept = read_base_at(forward, end);
    if last_kept > 0 && last_kept < forward.bases.len() as i64 {
        clip(forward, last_kept + 1)?;
    }
    let first_clipped = read_base_at(reverse, start - 1);
    if first_clipped > 0 {
        clip(reverse, reverse.bases.len() as i64 + 1 - first_clipped)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use readmill_record::realign;

    use super::super::ops::write_text;
    use super::*;

    fn ops(text: &str) -> Vec<Op> {
        let mut packed = Vec::new();
        assert!(realign::parse_cigar(text.as_bytes(), &mut packed), "{text}");
        packed.iter().map(|op| (op >> 4, op & 15)).collect()
    }

    fn text(ops: &[Op]) -> String {
        let mut text = Vec::new();
        write_text(ops, &mut text);
        String::from_utf8(text).unwrap()
    }

    /// Returns a read of A bases at position 101.
    fn read(cigar: &str, flags: u16) -> DraftRecord {
        let cigar = ops(cigar);
        let length = query_length(&cigar) as usize;
        let (bases, qualities) = (vec![1; length], vec![30; length]);
        DraftRecord { flags, pos: 100, mapq: 60, cigar, bases, qualities, ..DraftRecord::default() }
    }

    fn outcome(read: &DraftRecord) -> (i32, String, usize) {
        (read.pos, text(&read.cigar), read.bases.len())
    }

    #[test]
    fn ends_of_cigars_are_clipped() {
        for (cigar, from, clip, wanted) in [
            ("100M", 61, SOFT_CLIP, "60M40S"),
            ("50M2I48M", 52, SOFT_CLIP, "50M50S"),
            ("50M5D50M", 51, SOFT_CLIP, "50M50S"),
            ("90M10S", 96, SOFT_CLIP, "90M10S"),
            ("90M10S", 96, HARD_CLIP, "90M5S5H"),
            ("90M10S", 50, SOFT_CLIP, "49M51S"),
            ("90M10S4H", 50, SOFT_CLIP, "49M51S4H"),
            ("90M10S4H", 50, HARD_CLIP, "49M55H"),
        ] {
            assert_eq!(text(&clip_end(&ops(cigar), from, clip)), wanted, "{cigar} from {from}");
        }
    }

    #[test]
    fn bases_that_were_not_aligned_are_clips() {
        let with = |cigar: &str, is_reverse, three, five| {
            let mut cigar = ops(cigar);
            add_soft_clips(&mut cigar, is_reverse, three, five);
            text(&cigar)
        };
        assert_eq!(with("10M", false, 3, 2), "2S10M3S");
        assert_eq!(with("10M", true, 3, 2), "3S10M2S");
        assert_eq!(with("4S10M5S", false, 3, 2), "6S10M8S");
        assert_eq!(with("10M5H", true, 0, 2), "10M7S", "as htsjdk does");
    }

    #[test]
    fn a_read_is_clipped_as_it_was_sequenced() {
        let clipped = |cigar, flags, from, clip| {
            let mut read = read(cigar, flags);
            clip_three_prime(&mut read, from, clip).unwrap();
            outcome(&read)
        };
        assert_eq!(clipped("10M", 0, 8, SOFT_CLIP), (100, "7M3S".into(), 10));
        assert_eq!(clipped("10M", Flags::REVERSE, 8, SOFT_CLIP), (103, "3S7M".into(), 10));
        assert_eq!(clipped("4M2D6M", Flags::REVERSE, 6, HARD_CLIP), (107, "5H5M".into(), 5));
        assert_eq!(clipped("10M", 0, 11, SOFT_CLIP), (100, "10M".into(), 10), "behind its end");
        assert_eq!(clipped("4S6M", Flags::REVERSE, 1, SOFT_CLIP), (-1, "*".into(), 10), "unmapped");
        assert_eq!(clipped("2S3S5M", 0, 8, SOFT_CLIP), (100, "2S3S5M".into(), 10), "no valid CIGAR");
    }

    #[test]
    fn mates_do_not_go_beyond_the_start_of_the_other() {
        let both = |one: &str, other: &str, shift, hard| {
            let (mut one, mut other) = (read(one, 0), read(other, Flags::REVERSE));
            other.pos -= shift;
            clip_overlap(&mut one, &mut other, hard).unwrap();
            let cut = |read: &DraftRecord| read.field(CUT_BASES).map(|field| field.value.to_vec());
            assert_eq!(cut(&one).is_some(), hard, "XB");
            (outcome(&one), outcome(&other), cut(&other))
        };
        let soft = both("20M", "20M", 5, false);
        assert_eq!(soft, ((100, "15M5S".into(), 20), (100, "5S15M".into(), 20), None));
        let hard = both("20M", "20M", 5, true);
        let cut = Some(b"TTTTT".to_vec());
        assert_eq!(hard, ((100, "15M5H".into(), 15), (100, "5H15M".into(), 15), cut), "as sequenced");
        let hard = both("20M", "18M2S", 5, true);
        assert_eq!(hard.0, (100, "13M2S5H".into(), 15), "clipped bases of the mate count");
    }

    #[test]
    fn what_hangs_behind_the_reference_is_clipped() {
        let mut read = read("15M5S", 0);
        clip_beyond_reference(&mut read, 110);
        assert_eq!(outcome(&read), (100, "10M10S".into(), 20));
        clip_beyond_reference(&mut read, 110);
        assert_eq!(outcome(&read), (100, "10M10S".into(), 20));
    }
}
