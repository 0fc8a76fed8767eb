//! Values of expression nodes, and buffers for strings that a record does not store as text.

use readmill_record::RecordRef;
use readmill_record::bases::PAIRS;
use readmill_record::cigar::OPERATORS;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ValueKind {
    Number,
    Text,
    Either,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum ValueContent<'r> {
    Number(f64),
    Text(ExpressionText<'r>),
    Array,
    Nothing,
}

/// A value, and whether it counts as true regardless of its contents: a field is true if it exists.
#[derive(Clone, Copy, Debug)]
pub(super) struct ExpressionValue<'r> {
    pub what: ValueContent<'r>,
    pub forced: bool,
}

impl<'r> ExpressionValue<'r> {
    pub const UNDEFINED: ExpressionValue<'static> =
        ExpressionValue { what: ValueContent::Number(f64::NAN), forced: false };

    pub fn number(number: f64) -> Self {
        ExpressionValue { what: ValueContent::Number(number), forced: false }
    }

    pub fn text(text: ExpressionText<'r>) -> Self {
        ExpressionValue { what: ValueContent::Text(text), forced: false }
    }

    pub fn from_bool(answer: bool) -> Self {
        ExpressionValue { what: ValueContent::Number(f64::from(u8::from(answer))), forced: answer }
    }

    /// Creates the result of arithmetic, which is true unless it is 0. Functions of it keep this
    /// truth value.
    pub fn from_arithmetic(number: f64) -> Self {
        ExpressionValue { what: ValueContent::Number(number), forced: number != 0.0 }
    }

    /// Creates the result of a function of `self`. It keeps the truth value of `self`, or is
    /// undefined if `number` is NaN: `pow([NM], 2)` is true if the field exists, even if its value
    /// is 0.
    pub fn become_number(self, number: f64) -> Self {
        if number.is_nan() {
            return ExpressionValue::UNDEFINED;
        }
        ExpressionValue { what: ValueContent::Number(number), forced: self.forced }
    }

    pub fn is_defined(&self) -> bool {
        match self.what {
            ValueContent::Number(number) => !number.is_nan(),
            ValueContent::Text(_) | ValueContent::Array => true,
            ValueContent::Nothing => false,
        }
    }

    /// Returns whether the value is defined or always true, as `exists()` and `default()` check it.
    pub fn exists(&self) -> bool {
        self.forced || self.is_defined()
    }

    /// Returns whether the value is true as a whole expression, or as an operand of `&&` and `||`.
    /// Texts are true, even empty ones.
    pub fn is_true(&self) -> bool {
        self.forced
            || match self.what {
                ValueContent::Number(number) => number != 0.0 && !number.is_nan(),
                ValueContent::Text(_) | ValueContent::Array => true,
                ValueContent::Nothing => false,
            }
    }

    /// Returns whether `!` of the value is true. As in samtools, only the integer part of a number
    /// counts.
    pub fn is_negation_true(&self) -> bool {
        !self.forced
            && match self.what {
                ValueContent::Number(number) => number.is_nan() || integer_part(number) == 0,
                ValueContent::Text(_) | ValueContent::Array => false,
                ValueContent::Nothing => true,
            }
    }
}

/// Returns the integer part of a number. For NaN and numbers out of range, returns the smallest
/// integer, as the conversion instruction of x86-64 does.
pub(super) fn integer_part(number: f64) -> i64 {
    const LIMIT: f64 = 9_223_372_036_854_775_808.0; // 2^63
    if (-LIMIT..LIMIT).contains(&number) { number as i64 } else { i64::MIN }
}

#[derive(Clone, Copy, Debug)]
pub(super) enum ExpressionText<'r> {
    Bytes(&'r [u8]),
    Seq,
    Cigar,
}

/// Buffers for the formatted SEQ and CIGAR of the current record. Each is formatted at most once
/// per record.
#[derive(Clone, Default)]
pub(super) struct TextBuffers {
    seq: Vec<u8>,
    cigar: Vec<u8>,
    has_seq: bool,
    has_cigar: bool,
}

impl TextBuffers {
    pub fn begin_record(&mut self) {
        (self.has_seq, self.has_cigar) = (false, false);
    }

    /// Formats `text` if needed. Call this before [`TextBuffers::bytes`]. The two are separate so
    /// that the strings on both sides of a comparison can be borrowed at the same time.
    pub fn format_text(&mut self, record: RecordRef<'_>, text: ExpressionText<'_>) {
        match text {
            ExpressionText::Bytes(_) => {}
            ExpressionText::Seq if self.has_seq => {}
            ExpressionText::Seq => {
                self.seq.clear();
                self.seq.extend(record.seq().iter().flat_map(|&pair| PAIRS[usize::from(pair)]));
                self.seq.truncate(record.l_seq());
                self.has_seq = true;
            }
            ExpressionText::Cigar if self.has_cigar => {}
            ExpressionText::Cigar => {
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

    pub fn bytes<'a>(&'a self, text: ExpressionText<'a>) -> &'a [u8] {
        match text {
            ExpressionText::Bytes(bytes) => bytes,
            ExpressionText::Seq => &self.seq,
            ExpressionText::Cigar => &self.cigar,
        }
    }
}
