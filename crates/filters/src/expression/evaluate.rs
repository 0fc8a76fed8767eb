//! Evaluates a compiled expression on a record.
//!
//! [`Evaluation::is_true`] walks the tree of nodes from its root. Values borrow from the record.
//! Texts that a record does not store as text are formatted into reused buffers, so no memory is
//! allocated for each record.

use std::cmp::Ordering;
use std::sync::Arc;

use readmill_record::RecordRef;
use readmill_record::tag::{self, Field, Tag};
use regex::bytes::Regex;

use super::value::{
    ExpressionText, ExpressionValue, TextBuffers, ValueContent, ValueKind, integer_part,
};
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
    Min,
    Max,
    Average,
    Exists,
    Exponential,
    Logarithm,
    Root,
}

/// Operators and functions with two operands. `And`, `Or` and `ExclusiveOr` are bitwise.
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
pub(super) struct ExpressionProgram {
    pub nodes: Vec<Node>,
    /// Byte offset of each node in the text of the expression, for error messages. For an operator,
    /// this is the offset of its symbol.
    pub text_offsets: Vec<u32>,
    pub names: Arc<HeaderNames>,
}

impl ExpressionProgram {
    pub fn root(&self) -> Id {
        self.nodes.len() as Id - 1
    }

    pub fn node(&self, id: Id) -> &Node {
        &self.nodes[id as usize]
    }

    pub fn text_offset(&self, id: Id) -> usize {
        self.text_offsets[id as usize] as usize
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
    pub fn description(self) -> &'static str {
        match self {
            MisfitReason::NotMatchable => "the value that is compared with the pattern is not text",
            MisfitReason::NotMeasurable => "the argument of the function is not text",
            MisfitReason::ArithmeticOnText => "arithmetic is not possible with text",
            MisfitReason::ArithmeticOnArray => "arithmetic is not possible with an array",
            MisfitReason::ComparedArray => "an array cannot be compared",
        }
    }
}

/// The failure of an operator on a record, because an operand has the wrong type.
#[derive(Clone, Copy, Debug)]
pub(super) struct Misfit {
    pub node: Id,
    pub reason: MisfitReason,
}

pub(super) struct Evaluation<'r, 's> {
    pub program: &'r ExpressionProgram,
    pub record: RecordRef<'r>,
    pub scratch: &'s mut TextBuffers,
}

impl<'r> Evaluation<'r, '_> {
    /// Returns whether a node counts as true. Most expressions consist of conditions and
    /// comparisons of plain numbers, so these are evaluated here without creating an
    /// [`ExpressionValue`].
    pub fn is_true(&mut self, id: Id) -> Result<bool, Misfit> {
        let program = self.program;
        match program.node(id) {
            Node::Chain(first, rest) => {
                let mut holds = self.is_true(*first)?;
                for &(junction, operand) in rest {
                    if holds == (junction == Junction::And) {
                        holds = self.is_true(operand)?;
                    }
                }
                Ok(holds)
            }
            Node::Unary(Unary::Not, operand) => self.is_negation_true(*operand),
            Node::Variable(variable) => {
                Ok(variable.kind() == ValueKind::Text || variable.number_in(self.record) != 0)
            }
            Node::Binary(operator, left, right) => {
                if let (Some(left), Some(right)) = (self.plain_number(*left), self.plain_number(*right))
                    && let Some(answer) = compare_numbers(*operator, left, right)
                {
                    return Ok(answer);
                }
                Ok(self.evaluate_node(id)?.is_true())
            }
            _ => Ok(self.evaluate_node(id)?.is_true()),
        }
    }

    /// Returns the value of a node that is a literal, a numeric variable or a numeric field,
    /// otherwise `None`.
    fn plain_number(&self, id: Id) -> Option<f64> {
        match self.program.node(id) {
            Node::Number(number) => Some(*number),
            Node::Variable(variable) if variable.kind() == ValueKind::Number => {
                Some(variable.number_in(self.record) as f64)
            }
            Node::Field(tag) => match field_value(self.record, *tag).what {
                ValueContent::Number(number) => Some(number),
                _ => None,
            },
            _ => None,
        }
    }

    /// Returns whether `!` of a node is true. This is not always the opposite of [`Self::is_true`]:
    /// `0.5` and `!0.5` are both true, because `!` truncates to an integer.
    fn is_negation_true(&mut self, id: Id) -> Result<bool, Misfit> {
        match self.program.node(id) {
            Node::Chain(..) | Node::Unary(Unary::Not, _) | Node::Variable(_) | Node::Match { .. } => {
                Ok(!self.is_true(id)?) // never a fraction
            }
            _ => Ok(self.evaluate_node(id)?.is_negation_true()),
        }
    }

    fn evaluate_node(&mut self, id: Id) -> Result<ExpressionValue<'r>, Misfit> {
        let program = self.program;
        Ok(match program.node(id) {
            Node::Number(number) => ExpressionValue::number(*number),
            Node::Text(text) => ExpressionValue::text(ExpressionText::Bytes(text)),
            Node::Variable(variable) => variable.value_in(self.record, &program.names),
            Node::Field(tag) => field_value(self.record, *tag),
            Node::Chain(..) | Node::Unary(Unary::Not, _) => {
                ExpressionValue::from_bool(self.is_true(id)?)
            }
            Node::Unary(operator, operand) => {
                let operand = self.evaluate_node(*operand)?;
                self.apply_unary(*operator, operand).map_err(|reason| Misfit { node: id, reason })?
            }
            Node::Binary(Binary::Default, given, otherwise) => {
                let given = self.evaluate_node(*given)?;
                if given.exists() { given } else { self.evaluate_node(*otherwise)? }
            }
            Node::Binary(operator, left, right) => {
                let (left, right) = (self.evaluate_node(*left)?, self.evaluate_node(*right)?);
                self.apply_binary(*operator, left, right)
                    .map_err(|reason| Misfit { node: id, reason })?
            }
            Node::Match { text, pattern, positive } => match self.evaluate_node(*text)?.what {
                ValueContent::Text(text) => {
                    self.scratch.format_text(self.record, text);
                    ExpressionValue::from_bool(pattern.is_match(self.scratch.bytes(text)) == *positive)
                }
                ValueContent::Nothing => ExpressionValue::from_bool(false),
                ValueContent::Number(_) | ValueContent::Array => {
                    return Err(Misfit { node: id, reason: MisfitReason::NotMatchable });
                }
            },
        })
    }

    fn apply_unary(
        &mut self,
        operator: Unary,
        value: ExpressionValue<'r>,
    ) -> Result<ExpressionValue<'r>, MisfitReason> {
        let of = |function: fn(f64) -> f64| match value.what {
            ValueContent::Number(number) => Ok(value.become_number(function(number))),
            ValueContent::Text(_) | ValueContent::Nothing => Ok(value.become_number(function(0.0))),
            ValueContent::Array => Err(MisfitReason::ArithmeticOnArray),
        };
        match operator {
            Unary::Not => Ok(ExpressionValue::from_bool(value.is_negation_true())),
            Unary::Exists => Ok(ExpressionValue::from_bool(value.exists())),
            Unary::Exponential => of(f64::exp),
            Unary::Logarithm => of(f64::ln),
            Unary::Root => of(f64::sqrt),
            Unary::Length | Unary::Min | Unary::Max | Unary::Average => {
                let measured = match value.what {
                    ValueContent::Text(ExpressionText::Seq) if operator == Unary::Length => {
                        self.record.l_seq() as f64
                    }
                    ValueContent::Text(text) => {
                        self.scratch.format_text(self.record, text);
                        measure_bytes(operator, self.scratch.bytes(text))
                    }
                    ValueContent::Nothing => measure_bytes(operator, b""),
                    ValueContent::Number(_) | ValueContent::Array => {
                        return Err(MisfitReason::NotMeasurable);
                    }
                };
                Ok(ExpressionValue { what: ValueContent::Number(measured), forced: value.forced })
            }
            _ if !value.is_defined() => Ok(ExpressionValue::UNDEFINED),
            Unary::Plus => to_number(value).map(ExpressionValue::from_arithmetic),
            Unary::Minus => to_number(value).map(|number| ExpressionValue::from_arithmetic(-number)),
            Unary::Invert => to_number(value)
                .map(|number| ExpressionValue::from_arithmetic(!integer_part(number) as f64)),
        }
    }

    fn apply_binary(
        &mut self,
        operator: Binary,
        left: ExpressionValue<'r>,
        right: ExpressionValue<'r>,
    ) -> Result<ExpressionValue<'r>, MisfitReason> {
        if !left.is_defined() || !right.is_defined() {
            return Ok(ExpressionValue::UNDEFINED);
        }
        if let Some(answer) = self.compare_values(operator, left, right)? {
            return Ok(ExpressionValue::from_bool(answer));
        }
        let (a, b) = (to_number(left)?, to_number(right)?);
        let bits = |operation: fn(i64, i64) -> i64| operation(integer_part(a), integer_part(b)) as f64;
        Ok(ExpressionValue::from_arithmetic(match operator {
            Binary::Times if (a * b).is_nan() => return Ok(ExpressionValue::UNDEFINED),
            Binary::Times => a * b,
            Binary::Divide if (a / b).is_nan() => return Ok(ExpressionValue::UNDEFINED),
            Binary::Divide => a / b,
            Binary::Remainder if integer_part(b) == 0 => return Ok(ExpressionValue::UNDEFINED),
            Binary::Remainder => integer_part(a).wrapping_rem(integer_part(b)) as f64,
            Binary::Add => a + b,
            Binary::Subtract => a - b,
            Binary::And => bits(|a, b| a & b),
            Binary::ExclusiveOr => bits(|a, b| a ^ b),
            Binary::Or => bits(|a, b| a | b),
            Binary::Power => return Ok(left.become_number(a.powf(b))),
            _ => return Ok(ExpressionValue::UNDEFINED), // comparisons and default() were answered above
        }))
    }

    fn compare_values(
        &mut self,
        operator: Binary,
        left: ExpressionValue<'r>,
        right: ExpressionValue<'r>,
    ) -> Result<Option<bool>, MisfitReason> {
        if comparison_holds(operator, Ordering::Equal).is_none() {
            return Ok(None);
        }
        match (left.what, right.what) {
            (ValueContent::Number(left), ValueContent::Number(right)) => {
                Ok(compare_numbers(operator, left, right))
            }
            (ValueContent::Text(left), ValueContent::Text(right)) => {
                self.scratch.format_text(self.record, left);
                self.scratch.format_text(self.record, right);
                let order = self.scratch.bytes(left).cmp(self.scratch.bytes(right));
                Ok(comparison_holds(operator, order))
            }
            (ValueContent::Array, _) | (_, ValueContent::Array) => Err(MisfitReason::ComparedArray),
            _ => Ok(Some(operator == Binary::Unequal)), // a number and text
        }
    }
}

/// Compares two numbers. A comparison with NaN, which represents undefined values, is false.
/// Returns `None` if the operator is not a comparison.
fn compare_numbers(operator: Binary, left: f64, right: f64) -> Option<bool> {
    let order = left.partial_cmp(&right);
    let holds = comparison_holds(operator, order.unwrap_or(Ordering::Equal))?;
    Some(holds && order.is_some())
}

/// Returns the result of a comparison whose operands have this order, or `None` if the operator is
/// not a comparison.
fn comparison_holds(operator: Binary, order: Ordering) -> Option<bool> {
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

fn to_number(value: ExpressionValue<'_>) -> Result<f64, MisfitReason> {
    match value.what {
        ValueContent::Number(number) => Ok(number),
        ValueContent::Text(_) => Err(MisfitReason::ArithmeticOnText),
        ValueContent::Array | ValueContent::Nothing => Err(MisfitReason::ArithmeticOnArray),
    }
}

/// Returns the length, minimum, maximum or mean of bytes. For no bytes, minimum and maximum are
/// undefined, and the mean is 0, as in samtools.
fn measure_bytes(operator: Unary, bytes: &[u8]) -> f64 {
    let or_undefined = |byte: Option<&u8>| byte.map_or(f64::NAN, |&byte| f64::from(byte));
    match operator {
        Unary::Min => or_undefined(bytes.iter().min()),
        Unary::Max => or_undefined(bytes.iter().max()),
        Unary::Average if bytes.is_empty() => 0.0,
        Unary::Average => {
            let sum = |part: &[u8]| u64::from(part.iter().map(|&byte| u32::from(byte)).sum::<u32>());
            bytes.chunks(1 << 16).map(sum).sum::<u64>() as f64 / bytes.len() as f64
        }
        _ => bytes.len() as f64,
    }
}

/// Returns the value of an optional field. `CG` counts as missing if it holds the real CIGAR of a
/// long alignment, because htslib removes it when it reads such a record.
fn field_value(record: RecordRef<'_>, tag: Tag) -> ExpressionValue<'_> {
    let absent = ExpressionValue { what: ValueContent::Nothing, forced: false };
    match record.field(tag) {
        Some(_) if tag == tag::CG && record.long_cigar().is_some() => absent,
        Some(field) => ExpressionValue { what: field_content(field), forced: true },
        None => absent,
    }
}

fn field_content(field: Field<'_>) -> ValueContent<'_> {
    let number = match (field.kind, field.value) {
        (b'Z' | b'H' | b'A', text) => return ValueContent::Text(ExpressionText::Bytes(text)),
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
