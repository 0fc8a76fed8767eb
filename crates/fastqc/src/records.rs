//! Converts aligned records back to reads in sequencing orientation.

use readmill_record::{Flags, RecordRef, bases};

/// Buffers for the bases and qualities of a record, reused from record to record.
#[derive(Default)]
pub struct RecordText {
    bases: Vec<u8>,
    quals: Vec<u8>,
}

impl RecordText {
    /// Returns the bases and quality characters of a record in sequencing orientation.
    ///
    /// If a record has no bases or no qualities, the result is `*`, which is counted like a base or
    /// a quality, because FastQC reads it from the SAM text. A quality above 93 gives a character
    /// above `~`, which [`FileCounter::count_read`](crate::FileCounter::count_read) rejects.
    pub fn sequenced_text(&mut self, record: RecordRef<'_>) -> [&[u8]; 2] {
        let (seq, quals, length) = (record.seq(), record.qual(), record.l_seq());
        let is_reverse = record.flags().0 & Flags::REVERSE != 0;
        self.bases.clear();
        self.quals.clear();
        self.bases.extend(seq.iter().flat_map(|&pair| bases::PAIRS[usize::from(pair)]));
        self.bases.truncate(length);
        if is_reverse {
            self.bases.reverse();
            // Ambiguity codes are not complemented, because FastQC counts only A, C, G, T and N.
            self.bases.iter_mut().for_each(|base| *base = COMPLEMENTS[usize::from(*base & 127)]);
        }
        let quals = if quals.first() == Some(&0xff) { &[] } else { quals };
        let as_character = |&qual: &u8| qual.saturating_add(crate::MIN_QUAL_CHAR);
        match is_reverse {
            true => self.quals.extend(quals.iter().rev().map(as_character)),
            false => self.quals.extend(quals.iter().map(as_character)),
        }
        for text in [&mut self.bases, &mut self.quals] {
            if text.is_empty() {
                text.push(b'*');
            }
        }
        [&self.bases, &self.quals]
    }

    pub fn shrink_buffers(&mut self) {
        self.bases.shrink_to(1 << 12);
        self.quals.shrink_to(1 << 12);
    }
}

static COMPLEMENTS: [u8; 128] = {
    let (mut letters, mut at) = ([0; 128], 0);
    while at < 128 {
        letters[at] = at as u8;
        at += 1;
    }
    letters[b'A' as usize] = b'T';
    letters[b'C' as usize] = b'G';
    letters[b'G' as usize] = b'C';
    letters[b'T' as usize] = b'A';
    letters
};
