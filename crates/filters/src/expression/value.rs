//! Values of the parts of an expression.

use super::text::Text;

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
