//! Values of the parts of an expression. Texts that a record does not store as text are formatted at most once for each
//! record.

use readmill_record::RecordRef;
use readmill_record::bases::PAIRS;
use readmill_record::cigar::OPERATORS;

/// The static kind of a value, known at compile time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ValueKind {
    Number,
    Text,
    /// An optional field, whose type depends on the record.
    Either,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum ValueContent<'r> {
    /// A number; NaN is undefined.
    Number(f64),
    Text(Text<'r>),
    /// A field of type `B`.
    Array,
    /// A missing field.
    Nothing,
}

/// A value, and whether it is true regardless of its content: fields are true if they exist.
#[derive(Clone, Copy, Debug)]
pub(super) struct Value<'r> {
    pub what: ValueContent<'r>,
    pub forced: bool,
}

impl<'r> Value<'r> {
    /// Neither a number nor a text, and false.
    pub const UNDEFINED: Value<'static> = Value { what: ValueContent::Number(f64::NAN), forced: false };

    pub fn number(number: f64) -> Self {
        Value { what: ValueContent::Number(number), forced: false }
    }

    pub fn text(text: Text<'r>) -> Self {
        Value { what: ValueContent::Text(text), forced: false }
    }

    /// Creates a truth value.
    pub fn answer(answer: bool) -> Self {
        Value { what: ValueContent::Number(f64::from(u8::from(answer))), forced: answer }
    }

    /// Creates a result of arithmetic: true unless it is 0.
    pub fn result(number: f64) -> Self {
        Value { what: ValueContent::Number(number), forced: number != 0.0 }
    }

    /// Creates a function's result for `self`, which keeps its truth, unless there is no result.
    pub fn become_number(self, number: f64) -> Self {
        if number.is_nan() {
            return Value::UNDEFINED;
        }
        Value { what: ValueContent::Number(number), forced: self.forced }
    }

    /// Whether it is defined.
    pub fn is_defined(&self) -> bool {
        match self.what {
            ValueContent::Number(number) => !number.is_nan(),
            ValueContent::Text(_) | ValueContent::Array => true,
            ValueContent::Nothing => false,
        }
    }

    /// Whether it is defined or forced to be true.
    pub fn exists(&self) -> bool {
        self.forced || self.is_defined()
    }

    /// Whether it is true on its own or as an operand of `&&` and `||`. Texts are, also empty ones.
    pub fn holds(&self) -> bool {
        self.forced
            || match self.what {
                ValueContent::Number(number) => number != 0.0 && !number.is_nan(),
                ValueContent::Text(_) | ValueContent::Array => true,
                ValueContent::Nothing => false,
            }
    }

    /// Whether `!` makes it true; only the integer part counts.
    pub fn is_denied(&self) -> bool {
        !self.forced
            && match self.what {
                ValueContent::Number(number) => number.is_nan() || integer(number) == 0,
                ValueContent::Text(_) | ValueContent::Array => false,
                ValueContent::Nothing => true,
            }
    }
}

/// Returns the integer part; out of range it is the least integer, as x86-64 converts it.
pub(super) fn integer(number: f64) -> i64 {
    const LIMIT: f64 = 9_223_372_036_854_775_808.0; // 2^63
    if (-LIMIT..LIMIT).contains(&number) { number as i64 } else { i64::MIN }
}

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
