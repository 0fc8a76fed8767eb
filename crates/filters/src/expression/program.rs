//! The program that an expression is compiled to.

use std::sync::Arc;

use readmill_record::tag::Tag;
use regex::bytes::Regex;

use super::names::HeaderNames;
use super::variable::Variable;

/// Index of a node in its program.
pub(super) type Id = u32;

/// How an operand of `&&` and `||` is joined with those to its left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Junction {
    And,
    Or,
}

/// Operators and functions of one operand.
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

/// Operators and functions of two operands.
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
    /// `text =~ pattern`, or `text !~ pattern` where `positive` is false.
    Match {
        text: Id,
        pattern: Box<Regex>,
        positive: bool,
    },
    /// Operands of `&&` and `||` from left to right.
    Chain(Id, Box<[(Junction, Id)]>),
}

/// The nodes. Operands precede their operator, the whole expression is the last node.
#[derive(Clone, Default)]
pub(super) struct Program {
    pub nodes: Vec<Node>,
    /// The offset of each node in the text: of operators, that of the operator.
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

    /// Returns the node's offset in the text, in bytes.
    pub fn place(&self, id: Id) -> usize {
        self.places[id as usize] as usize
    }
}
