//! Restores the data of records about their mates in a slice: their positions, and TLEN.

use std::collections::BTreeSet;

use readmill_record::{Flags, Result, edit};

use super::options::Stop;
use super::parts::Fixed;
use crate::num::damaged;
use crate::scheme::{MATE_REVERSE, MATE_UNMAPPED};

/// The stored data about a record's mate.
#[derive(Clone, Copy)]
pub enum Link {
    /// All of it.
    Detached { flags: i32, contig: i32, pos: i32, tlen: i32 },
    /// The index in the slice at which it follows, if it does; and TLEN, if it cannot be computed from the mate.
    Attached { mate: Option<usize>, tlen: Option<i32> },
}

/// A decoded record, without the data about its mate.
#[derive(Clone, Copy)]
pub struct Noted {
    /// Its start in the output.
    pub at: usize,
    /// Bytes of its name.
    pub name: usize,
    /// Its own fields.
    pub fixed: Fixed,
    /// The data about its mate.
    pub link: Link,
    /// TLEN.
    pub tlen: i64,
    /// Whether TLEN is known.
    pub settled: bool,
}

/// The mates that follow, while records behind the last wanted place are decoded for them.
#[derive(Default)]
pub struct Ahead {
    /// Indices in the slice.
    mates: BTreeSet<usize>,
}

impl Ahead {
    /// Whether a record after the last one of `notes` is needed: because that one does not lie behind `stop`, or for a mate.
    /// The mate of a record that itself is not needed is forgotten.
    pub fn is_needed(&mut self, stop: Stop, notes: &mut [Noted]) -> bool {
        let number = notes.len().saturating_sub(1);
        let Some(note) = notes.last_mut() else { return true };
        let is_mate = self.mates.first() == Some(&number) && self.mates.pop_first().is_some();
        let is_behind = stop.is_before(&note.fixed);
        if let Link::Attached { mate, .. } = &mut note.link {
            match *mate {
                Some(line) if is_mate || !is_behind => _ = self.mates.insert(line),
                _ => *mate = None,
            }
        }
        !is_behind || !self.mates.is_empty()
    }
}

/// Writes the data of a slice's records about their mates into `bytes`, which hold the records. The rules are
/// htslib's (`cram_decode_slice_xref`).
pub fn settle(notes: &mut [Noted], bytes: &mut [u8]) -> Result<()> {
    let mut chain: Vec<usize> = Vec::new();
    let mut next: Vec<Option<usize>> = vec![None; notes.len()];
    for first in 0..notes.len() {
        let Link::Attached { mate: Some(_), .. } = notes[first].link else { continue };
        if notes[first].settled {
            continue;
        }
        chain.clear();
        let mut at = first;
        loop {
            chain.push(at);
            match notes[at].link {
                Link::Attached { mate: Some(line), .. }
                    if line < notes.len() && !notes[line].settled =>
                {
                    at = line
                }
                Link::Attached { mate: Some(_), .. } => {
                    return Err(damaged("mates refer to each other wrongly"));
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
        write(note, mate, &mut bytes[note.at..]);
    }
    Ok(())
}

/// Sets TLEN of the records of a template to the distance from its leftmost to its rightmost base. TLEN of the
/// first record is positive if that record counts as the leftmost, else negative. All other records get the
/// opposite sign.
fn set_tlen(chain: &[usize], notes: &mut [Noted]) {
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
        notes[at].settled = true;
    }
}

/// Completes a record, whose mate is `mate` if that is in the slice.
fn write(note: &Noted, mate: Option<Fixed>, raw: &mut [u8]) {
    let Fixed { mut flags, .. } = note.fixed;
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
        Link::Detached { flags: stored, contig: stored_contig, pos: stored_pos, tlen: stored_tlen } => {
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
        Link::Attached { tlen: Some(stored), .. } => tlen = i64::from(stored),
        Link::Attached { .. } => {}
    }
    edit::set_flags(raw, flags);
    edit::set_next_ref_id(raw, contig);
    edit::set_next_pos(raw, (pos - 1) as i32);
    edit::set_tlen(raw, tlen as i32);
}
