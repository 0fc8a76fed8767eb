//! Restores the mate fields of a slice's records: mate bits of FLAG, RNEXT, PNEXT and TLEN.
//!
//! CRAM does not store them if the mate is in the same slice. Each record only refers to the next
//! record of its template, so the fields are filled in once all records of the slice are decoded.

use std::collections::BTreeSet;

use readmill_record::{Flags, Result, edit};

use super::options::Stop;
use super::parts::FixedFields;
use crate::num::damaged_cram;
use crate::scheme::{MATE_REVERSE, MATE_UNMAPPED};

#[derive(Clone, Copy)]
pub enum MateLink {
    /// The mate may be anywhere, so all its fields are stored.
    Detached { flags: i32, contig: i32, pos: i32, tlen: i32 },
    /// The index of the next record of the template in the slice, if any. TLEN is stored only if it
    /// cannot be computed from the mates.
    Attached { mate: Option<usize>, tlen: Option<i32> },
}

#[derive(Clone, Copy)]
pub struct RecordNote {
    pub at: usize,
    pub name: usize,
    pub fixed: FixedFields,
    pub link: MateLink,
    pub tlen: i64,
    pub has_tlen: bool,
}

/// The mates that are still needed after the [`Stop`] position was passed.
#[derive(Default)]
pub struct PendingMates {
    mates: BTreeSet<usize>,
}

impl PendingMates {
    /// Returns whether another record must be decoded after the last one of `notes`: either `stop`
    /// has not been reached, or a later record is the mate of a wanted one. If the last record is
    /// not wanted, its link to its mate is removed.
    pub fn is_needed(&mut self, stop: Stop, notes: &mut [RecordNote]) -> bool {
        let number = notes.len().saturating_sub(1);
        let Some(note) = notes.last_mut() else { return true };
        let is_mate = self.mates.first() == Some(&number) && self.mates.pop_first().is_some();
        let is_behind = stop.is_before(&note.fixed);
        if let MateLink::Attached { mate, .. } = &mut note.link {
            match *mate {
                Some(line) if is_mate || !is_behind => _ = self.mates.insert(line),
                _ => *mate = None,
            }
        }
        !is_behind || !self.mates.is_empty()
    }
}

/// Fills in the mate fields of the records of a slice, which are in `bytes`. The rules are those of
/// htslib (`cram_decode_slice_xref`).
///
/// # Errors
/// The links between mates are invalid.
pub fn restore_mates(notes: &mut [RecordNote], bytes: &mut [u8]) -> Result<()> {
    let mut chain: Vec<usize> = Vec::new();
    let mut next: Vec<Option<usize>> = vec![None; notes.len()];
    for first in 0..notes.len() {
        let MateLink::Attached { mate: Some(_), .. } = notes[first].link else { continue };
        if notes[first].has_tlen {
            continue;
        }
        chain.clear();
        let mut at = first;
        loop {
            chain.push(at);
            match notes[at].link {
                MateLink::Attached { mate: Some(line), .. }
                    if line < notes.len() && !notes[line].has_tlen =>
                {
                    at = line
                }
                MateLink::Attached { mate: Some(_), .. } => {
                    return Err(damaged_cram("the links between mates are wrong"));
                }
                _ => break,
            }
        }
        chain.iter().zip(chain.iter().cycle().skip(1)).for_each(|(&at, &mate)| next[at] = Some(mate));
        set_tlen(&chain, notes);
    }
    for (number, mate) in next.into_iter().enumerate() {
        let mate = mate.map(|mate| notes[mate].fixed);
        let note = &notes[number];
        write_mate_fields(note, mate, &mut bytes[note.at..]);
    }
    Ok(())
}

/// Sets TLEN of all records of a template to the distance between its leftmost and rightmost base.
/// The first record gets a positive value if it is leftmost, otherwise a negative one. All other
/// records get the opposite sign.
fn set_tlen(chain: &[usize], notes: &mut [RecordNote]) {
    let fixed = |&at: &usize| notes[at].fixed;
    let left = chain.iter().map(|at| fixed(at).pos).min().unwrap_or(0);
    let right = chain.iter().map(|at| fixed(at).end).max().unwrap_or(0);
    let at_left = chain.iter().filter(|at| fixed(at).pos == left).count();
    let at_right = chain.iter().filter(|at| fixed(at).end == right).count();
    let first = fixed(&chain[0]);
    let one_contig = chain.iter().all(|at| fixed(at).contig == first.contig);
    let length = if one_contig { right - left + 1 } else { 0 };
    let is_left = first.pos == left;
    let both = is_left && first.end == right && at_left > 1 && at_right > 1;
    let positive = match () {
        () if is_left && (first.end < right || at_left <= 1) => true,
        () if both => first.flags & Flags::FIRST != 0,
        () => false,
    };
    let own = if positive { length } else { -length };
    for (i, &at) in chain.iter().enumerate() {
        notes[at].tlen = if i == 0 { own } else { -own };
        notes[at].has_tlen = true;
    }
}

/// Writes the mate fields of the record at the start of `raw`. `mate` is given if it is in the
/// slice.
fn write_mate_fields(note: &RecordNote, mate: Option<FixedFields>, raw: &mut [u8]) {
    let FixedFields { mut flags, .. } = note.fixed;
    let (mut contig, mut pos, mut tlen) = (-1, 0, note.tlen);
    if let Some(mate) = mate {
        (contig, pos) = (mate.contig, mate.pos);
        flags |= Flags::PAIRED;
        if mate.flags & Flags::UNMAPPED != 0 {
            flags |= Flags::MATE_UNMAPPED;
            tlen = 0;
        }
        if flags & Flags::UNMAPPED != 0 {
            tlen = 0;
        }
        if mate.flags & Flags::REVERSE != 0 {
            flags |= Flags::MATE_REVERSE;
        }
    }
    match note.link {
        MateLink::Detached {
            flags: stored,
            contig: stored_contig,
            pos: stored_pos,
            tlen: stored_tlen,
        } => {
            (contig, pos, tlen) = (stored_contig, i64::from(stored_pos), i64::from(stored_tlen));
            if stored & MATE_REVERSE != 0 {
                flags |= Flags::PAIRED | Flags::MATE_REVERSE;
            }
            if stored & MATE_UNMAPPED != 0 {
                flags |= Flags::MATE_UNMAPPED;
            }
            if flags & Flags::PAIRED == 0 {
                contig = -1;
            }
        }
        MateLink::Attached { tlen: Some(stored), .. } => tlen = i64::from(stored),
        MateLink::Attached { .. } => {}
    }
    edit::set_flags(raw, flags);
    edit::set_next_ref_id(raw, contig);
    edit::set_next_pos(raw, (pos - 1) as i32);
    edit::set_tlen(raw, tlen as i32);
}
