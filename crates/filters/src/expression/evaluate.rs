//! Evaluates a compiled expression on a record.
//!
//! [`Evaluation::holds`] walks the tree of nodes from its root. Values borrow from the record, and
//! texts that a record does not store as text are formatted into reused buffers, so no memory is
//! allocated for each record.

use std::cmp::Ordering;
use std::sync::Arc;

use readmill_record::RecordRef;
use readmill_record::tag::{self, Field, Tag};
use regex::bytes::Regex;

use super::value::{Text, TextBuffers, Value, ValueContent, ValueKind, integer};
use super::variable::{HeaderNames, Variable};

pub(super) type Id = u32;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Junction {
    And,
    Or,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unary {
    Not,
    Plus,
    Minus,
    Invert,
    Length,
    Least,
    Greatest,
    Average,
    Exists,
    Exponential,
    Logarithm,
    Root,
}

/// Operators and functions with two operands. `And`, `Or` and `ExclusiveOr` are the bitwise ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Binary {
    Times,
    Divide,
    Remainder,
    Add,
    Subtract,
    And,
    ExclusiveOr,
    Or,
    Less,
    AtMost,
    Greater,
    AtLeast,
    Equal,
    Unequal,
    Power,
    Default,
}

#[derive(Clone, Debug)]
pub(super) enum Node {
    Number(f64),
    Text(Box<[u8]>),
    Variable(Variable),
    Field(Tag),
    Unary(Unary, Id),
    Binary(Binary, Id, Id),
    /// `text =~ pattern`, or `text !~ pattern` if `positive` is false.
    Match {
        text: Id,
        pattern: Box<Regex>,
        positive: bool,
    },
    Chain(Id, Box<[(Junction, Id)]>),
}

/// A compiled expression. Operands precede their operator in `nodes`, so the last node is the root.
#[derive(Clone, Default)]
pub(super) struct Program {
    pub nodes: Vec<Node>,
    /// Byte offset of each node in the text of the expression, for errors; for an operator, the
    /// offset of its sign.
    pub places: Vec<u32>,
    pub names: Arc<HeaderNames>,
}

impl Program {
    pub fn root(&self) -> Id {
        self.nodes.len() as Id - 1
    }

    pub fn node(&self, id: Id) -> &Node {
        &self.nodes[id as usize]
    }

    pub fn place(&self, id: Id) -> usize {
        self.places[id as usize] as usize
    }
}

#[derive(Clone, Copy, Debug)]
pub(super) enum MisfitReason {
    NotMatchable,
    NotMeasurable,
    ArithmeticOnText,
    ArithmeticOnArray,
    ComparedArray,
}

impl MisfitReason {
    pub fn words(self) -> &'static str {
        match self {
            MisfitReason::NotMatchable => "what is compared to the pattern is no text",
            MisfitReason::NotMeasurable => "what is measured is no text",
            MisfitReason::ArithmeticOnText => "arithmetic with a text",
            MisfitReason::ArithmeticOnArray => "arithmetic with an array",
            MisfitReason::ComparedArray => "an array cannot be compared",
        }
    }
}

/// The failure of an operator on a record, because a field is not of the type that the operator
/// needs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Misfit {
    pub node: Id,
    pub reason: MisfitReason,
}

pub(super) struct Evaluation<'r, 's> {
    pub program: &'r Program,
    pub record: RecordRef<'r>,
    pub scratch: &'s mut TextBuffers,
}

impl<'r> Evaluation<'r, '_> {
    /// Returns whether a node counts as true. Conditions and comparisons of plain numbers are
    /// answered here without making a [`Value`], because most expressions consist of them.
    pub fn holds(&mut self, id: Id) -> Result<bool, Misfit> {
        let program = self.program;
        match program.node(id) {
            Node::Chain(first, rest) => {
                let mut holds = self.holds(*first)?;
                for &(junction, operand) in rest {
                    if holds == (junction == Junction::And) {
                        holds = self.holds(operand)?;
                    }
                }
                Ok(holds)
            }
            Node::Unary(Unary::Not, operand) => self.is_denied(*operand),
            Node::Variable(variable) => {
                Ok(variable.kind() == ValueKind::Text || variable.count(self.record) != 0)
            }
            Node::Binary(operator, left, right) => {
                if let (Some(left), Some(right)) = (self.plain(*left), self.plain(*right))
                    && let Some(answer) = compare(*operator, left, right)
                {
                    return Ok(answer);
                }
                Ok(self.value(id)?.holds())
            }
            _ => Ok(self.value(id)?.holds()),
        }
    }

    /// Returns the value of a node that is a literal, a numeric variable or a numeric field; else
    /// `None`.
    fn plain(&self, id: Id) -> Option<f64> {
        match self.program.node(id) {
            Node::Number(number) => Some(*number),
            Node::Variable(variable) if variable.kind() == ValueKind::Number => {
                Some(variable.count(self.record) as f64)
            }
            Node::Field(tag) => match field(self.record, *tag).what {
                ValueContent::Number(number) => Some(number),
                _ => None,
            },
            _ => None,
        }
    }

    /// Returns whether `!` of a node is true. This is not always the opposite of [`Self::holds`]:
    /// `0.5` and `!0.5` are both true, because `!` cuts off the fraction.
    fn is_denied(&mut self, id: Id) -> Result<bool, Misfit> {
        match self.program.node(id) {
            Node::Chain(..) | Node::Unary(Unary::Not, _) | Node::Variable(_) | Node::Match { .. } => {
                Ok(!self.holds(id)?) // never a fraction
            }
            _ => Ok(self.value(id)?.is_denied()),
        }
    }

    fn value(&mut self, id: Id) -> Result<Value<'r>, Misfit> {
        let program = self.program;
        Ok(match program.node(id) {
            Node::Number(number) => Value::number(*number),
            Node::Text(text) => Value::text(Text::Bytes(text)),
            Node::Variable(variable) => variable.of(self.record, &program.names),
            Node::Field(tag) => field(self.record, *tag),
            Node::Chain(..) | Node::Unary(Unary::Not, _) => Value::answer(self.holds(id)?),
            Node::Unary(operator, operand) => {
                let operand = self.value(*operand)?;
                self.unary(*operator, operand).map_err(|reason| Misfit { node: id, reason })?
            }
            Node::Binary(Binary::Default, given, otherwise) => {
                let given = self.value(*given)?;
                if given.exists() { given } else { self.value(*otherwise)? }
            }
            Node::Binary(operator, left, right) => {
                let (left, right) = (self.value(*left)?, self.value(*right)?);
                self.binary(*operator, left, right).map_err(|reason| Misfit { node: id, reason })?
            }
            Node::Match { text, pattern, positive } => match self.value(*text)?.what {
                ValueContent::Text(text) => {
                    self.scratch.write(self.record, text);
                    Value::answer(pattern.is_match(self.scratch.bytes(text)) == *positive)
                }
                ValueContent::Nothing => Value::answer(false),
                ValueContent::Number(_) | ValueContent::Array => {
                    return Err(Misfit { node: id, reason: MisfitReason::NotMatchable });
                }
            },
        })
    }

    fn unary(&mut self, operator: Unary, value: Value<'r>) -> Result<Value<'r>, MisfitReason> {
        let of = |function: fn(f64) -> f64| match value.what {
            ValueContent::Number(number) => Ok(value.become_number(function(number))),
            ValueContent::Text(_) | ValueContent::Nothing => Ok(value.become_number(function(0.0))),
            ValueContent::Array => Err(MisfitReason::ArithmeticOnArray),
        };
        match operator {
            Unary::Not => Ok(Value::answer(value.is_denied())),
            Unary::Exists => Ok(Value::answer(value.exists())),
            Unary::Exponential => of(f64::exp),
            Unary::Logarithm => of(f64::ln),
            Unary::Root => of(f64::sqrt),
            Unary::Length | Unary::Least | Unary::Greatest | Unary::Average => {
                let measured = match value.what {
                    ValueContent::Text(Text::Seq) if operator == Unary::Length => {
                        self.record.l_seq() as f64
                    }
                    ValueContent::Text(text) => {
                        self.scratch.write(self.record, text);
                        measure(operator, self.scratch.bytes(text))
                    }
                    ValueContent::Nothing => measure(operator, b""),
                    ValueContent::Number(_) | ValueContent::Array => {
                        return Err(MisfitReason::NotMeasurable);
                    }
                };
                Ok(Value { what: ValueContent::Number(measured), forced: value.forced })
            }
            _ if !value.is_defined() => Ok(Value::UNDEFINED),
            Unary::Plus => number(value).map(Value::result),
            Unary::Minus => number(value).map(|number| Value::result(-number)),
            Unary::Invert => number(value).map(|number| Value::result(!integer(number) as f64)),
        }
    }

    fn binary(
        &mut self,
        operator: Binary,
        left: Value<'r>,
        right: Value<'r>,
    ) -> Result<Value<'r>, MisfitReason> {
        if !left.is_defined() || !right.is_defined() {
            return Ok(Value::UNDEFINED);
        }
        if let Some(answer) = self.compares(operator, left, right)? {
            return Ok(Value::answer(answer));
        }
        let (a, b) = (number(left)?, number(right)?);
        let bits = |operation: fn(i64, i64) -> i64| operation(integer(a), integer(b)) as f64;
        Ok(Value::result(match operator {
            Binary::Times if (a * b).is_nan() => return Ok(Value::UNDEFINED),
            Binary::Times => a * b,
            Binary::Divide if (a / b).is_nan() => return Ok(Value::UNDEFINED),
            Binary::Divide => a / b,
            Binary::Remainder if integer(b) == 0 => return Ok(Value::UNDEFINED),
            Binary::Remainder => integer(a).wrapping_rem(integer(b)) as f64,
            Binary::Add => a + b,
            Binary::Subtract => a - b,
            Binary::And => bits(|a, b| a & b),
            Binary::ExclusiveOr => bits(|a, b| a ^ b),
            Binary::Or => bits(|a, b| a | b),
            Binary::Power => return Ok(left.become_number(a.powf(b))),
            _ => return Ok(Value::UNDEFINED), // comparisons and default() were answered above
        }))
    }

    fn compares(
        &mut self,
        operator: Binary,
        left: Value<'r>,
        right: Value<'r>,
    ) -> Result<Option<bool>, MisfitReason> {
        if holds_for(operator, Ordering::Equal).is_none() {
            return Ok(None);
        }
        match (left.what, right.what) {
            (ValueContent::Number(left), ValueContent::Number(right)) => {
                Ok(compare(operator, left, right))
            }
            (ValueContent::Text(left), ValueContent::Text(right)) => {
                self.scratch.write(self.record, left);
                self.scratch.write(self.record, right);
                let order = self.scratch.bytes(left).cmp(self.scratch.bytes(right));
                Ok(holds_for(operator, order))
            }
            (ValueContent::Array, _) | (_, ValueContent::Array) => Err(MisfitReason::ComparedArray),
            _ => Ok(Some(operator == Binary::Unequal)), // a number and a text
        }
    }
}

/// Compares two numbers. A comparison with NaN, which stands for undefined, is false. Returns
/// `None` if the operator is not a comparison.
fn compare(operator: Binary, left: f64, right: f64) -> Option<bool> {
    let order = left.partial_cmp(&right);
    let holds = holds_for(operator, order.unwrap_or(Ordering::Equal))?;
    Some(holds && order.is_some())
}

/// Returns the result of a comparison of values that have this order. Returns `None` if the
/// operator is not a comparison.
fn holds_for(operator: Binary, order: Ordering) -> Option<bool> {
    Some(match operator {
        Binary::Less => order.is_lt(),
        Binary::AtMost => order.is_le(),
        Binary::Greater => order.is_gt(),
        Binary::AtLeast => order.is_ge(),
        Binary::Equal => order.is_eq(),
        Binary::Unequal => order.is_ne(),
        _ => return None,
    })
}

fn number(value: Value<'_>) -> Result<f64, MisfitReason> {
    match value.what {
        ValueContent::Number(number) => Ok(number),
        ValueContent::Text(_) => Err(MisfitReason::ArithmeticOnText),
        ValueContent::Array | ValueContent::Nothing => Err(MisfitReason::ArithmeticOnArray),
    }
}

/// Returns the length, minimum, maximum or mean of bytes. Minimum and maximum of no bytes are
/// undefined; the mean of no bytes is 0, as in samtools.
fn measure(operator: Unary, bytes: &[u8]) -> f64 {
    let or_undefined = |byte: Option<&u8>| byte.map_or(f64::NAN, |&byte| f64::from(byte));
    match operator {
        Unary::Least => or_undefined(bytes.iter().min()),
        Unary::Greatest => or_undefined(bytes.iter().max()),
        Unary::Average if bytes.is_empty() => 0.0,
        Unary::Average => {
            let sum = |part: &[u8]| u64::from(part.iter().map(|&byte| u32::from(byte)).sum::<u32>());
            bytes.chunks(1 << 16).map(sum).sum::<u64>() as f64 / bytes.len() as f64
        }
        _ => bytes.len() as f64,
    }
}

/// Returns the value of an optional field. `CG` counts as missing if it holds the true CIGAR of a
/// long alignment, because htslib removes it when it reads such a record.
fn field(record: RecordRef<'_>, tag: Tag) -> Value<'_> {
    let absent = Value { what: ValueContent::Nothing, forced: false };
    match record.field(tag) {
        Some(_) if tag == tag::CG && record.long_cigar().is_some() => absent,
        Some(field) => Value { what: content(field), forced: true },
        None => absent,
    }
}

fn content(field: Field<'_>) -> ValueContent<'_> {
    let number = match (field.kind, field.value) {
        (b'Z' | b'H' | b'A', text) => return ValueContent::Text(Text::Bytes(text)),
        (b'c', &[a]) => f64::from(a.cast_signed()),
        (b'C', &[a]) => f64::from(a),
        (b's', &[a, b]) => f64::from(i16::from_le_bytes([a, b])),
        (b'S', &[a, b]) => f64::from(u16::from_le_bytes([a, b])),
        (b'i', &[a, b, c, d]) => f64::from(i32::from_le_bytes([a, b, c, d])),
        (b'I', &[a, b, c, d]) => f64::from(u32::from_le_bytes([a, b, c, d])),
        (b'f', &[a, b, c, d]) => f64::from(f32::from_le_bytes([a, b, c, d])),
        (b'd', &[a, b, c, d, e, f, g, h]) => f64::from_le_bytes([a, b, c, d, e, f, g, h]),
        _ => return ValueContent::Array,
    };
    ValueContent::Number(number)
}
