//! Texts of a record. Those that it does not store as text are formatted at most once for each record.

use readmill_record::RecordRef;
use readmill_record::cigar::OPERATORS;

/// A text, by its source.
#[derive(Clone, Copy, Debug)]
pub(super) enum Text<'r> {
    Bytes(&'r [u8]),
    /// SEQ, which a record stores two bases a byte.
    Seq,
    /// CIGAR, which a record stores as numbers.
    Cigar,
}

/// The buffers for the formatted texts of one record.
#[derive(Clone, Default)]
pub(super) struct TextBuffers {
    seq: Vec<u8>,
    cigar: Vec<u8>,
    has_seq: bool,
    has_cigar: bool,
}

/// Bases in BAM's numbering.
const BASES: &[u8; 16] = b"=ACMGRSVTWYHKDBN";

/// The two bases of each byte of SEQ.
static PAIRS: [[u8; 2]; 256] = {
    let (mut pairs, mut i) = ([[0; 2]; 256], 0);
    while i < 256 {
        pairs[i] = [BASES[i >> 4], BASES[i & 15]];
        i += 1;
    }
    pairs
};

impl TextBuffers {
    /// Starts a new record.
    pub fn begin(&mut self) {
        (self.has_seq, self.has_cigar) = (false, false);
    }

    /// Formats `text`, for [`TextBuffers::bytes`].
    pub fn write(&mut self, record: RecordRef<'_>, text: Text<'_>) {
        match text {
            Text::Bytes(_) => {}
            Text::Seq if self.has_seq => {}
            Text::Seq => {
                self.seq.clear();
                self.seq.extend(record.seq().iter().flat_map(|&pair| PAIRS[usize::from(pair)]));
                self.seq.truncate(record.l_seq());
                self.has_seq = true;
            }
            Text::Cigar if self.has_cigar => {}
            Text::Cigar => {
                self.write_cigar(record);
                self.has_cigar = true;
            }
        }
    }

    fn write_cigar(&mut self, record: RecordRef<'_>) {
        self.cigar.clear();
        for (op, length) in record.cigar().ops() {
            let (mut digits, mut at, mut rest) = ([0; 10], 10, length);
            while at == 10 || rest > 0 {
                at -= 1;
                digits[at] = b'0' + (rest % 10) as u8;
                rest /= 10;
            }
            self.cigar.extend_from_slice(&digits[at..]);
            self.cigar.push(OPERATORS.get(op as usize).copied().unwrap_or(b'?'));
        }
        if self.cigar.is_empty() {
            self.cigar.push(b'*');
        }
    }

    /// Returns the bytes of a formatted text.
    pub fn bytes<'a>(&'a self, text: Text<'a>) -> &'a [u8] {
        match text {
            Text::Bytes(bytes) => bytes,
            Text::Seq => &self.seq,
            Text::Cigar => &self.cigar,
        }
    }
}
