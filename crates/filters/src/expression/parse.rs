//! Parses the text of an expression into a program, by recursive descent.
//!
//! There is one function for each level of precedence, from the weakest to the strongest:
//!
//! | function | operators | grouping |
//! |---|---|---|
//! | `parse_chain` | `&&` `\|\|` | left |
//! | `parse_equality` | `==` `!=` `=~` `!~` | right |
//! | `parse_comparison` | `<` `<=` `>` `>=` | right |
//! | `parse_operation` | `\|` `^` `&` `+ -` `* / %`, see `LEVELS` | left |
//! | `parse_unary` | `!` `~` `+` `-` | right |
//! | `parse_simple` | literals, variables, fields, functions, parentheses | |

use std::sync::Arc;

use readmill_record::{Error, Header};

use super::evaluate::{Binary, ExpressionProgram, Id, Junction, Node, Unary};
use super::value::ValueKind;
use super::variable::{HeaderNames, Variable};
use super::{literal, pattern};

/// Maximum nesting depth. Parsing and evaluation recurse for each level, so the limit protects the
/// stack.
const MAX_DEPTH: u32 = 200;

type ParsedNode = Result<Id, ExpressionFault>;

/// Operators with two numeric operands, from the weakest level to the strongest. They group from
/// the left.
const LEVELS: [&[(u8, Binary)]; 5] = [
    &[(b'|', Binary::Or)],
    &[(b'^', Binary::ExclusiveOr)],
    &[(b'&', Binary::And)],
    &[(b'+', Binary::Add), (b'-', Binary::Subtract)],
    &[(b'*', Binary::Times), (b'/', Binary::Divide), (b'%', Binary::Remainder)],
];

const FUNCTIONS: [(&str, Unary, ValueKind); 8] = [
    ("length", Unary::Length, ValueKind::Text),
    ("min", Unary::Min, ValueKind::Text),
    ("max", Unary::Max, ValueKind::Text),
    ("avg", Unary::Average, ValueKind::Text),
    ("exists", Unary::Exists, ValueKind::Either),
    ("exp", Unary::Exponential, ValueKind::Number),
    ("log", Unary::Logarithm, ValueKind::Number),
    ("sqrt", Unary::Root, ValueKind::Number),
];

/// Compiles `text`, and copies the names from `header` that it needs.
///
/// # Errors
/// The text is not a valid expression.
pub(super) fn parse_program(text: &str, header: &Header) -> Result<ExpressionProgram, ExpressionFault> {
    let mut parser = ExpressionParser {
        text: text.as_bytes(),
        at: 0,
        depth: 0,
        kinds: Vec::new(),
        program: ExpressionProgram::default(),
    };
    parser.parse_chain()?;
    parser.skip_spaces();
    if parser.at < text.len() {
        return Err(parser.leftover_fault());
    }
    let mut program = parser.program;
    program.names = Arc::new(collect_header_names(&program, header));
    Ok(program)
}

/// Copies the names from the header that the variables of the program need. Most expressions need
/// none.
fn collect_header_names(program: &ExpressionProgram, header: &Header) -> HeaderNames {
    let uses = |variables: &[Variable]| {
        program.nodes.iter().any(|node| matches!(node, Node::Variable(v) if variables.contains(v)))
    };
    let mut names = HeaderNames::default();
    if uses(&[Variable::RefName, Variable::MateRefName]) {
        names.take_references(header);
    }
    if uses(&[Variable::Library]) {
        names.take_libraries(header);
    }
    names
}

struct ExpressionParser<'t> {
    text: &'t [u8],
    at: usize,
    depth: u32,
    kinds: Vec<ValueKind>,
    program: ExpressionProgram,
}

impl<'t> ExpressionParser<'t> {
    fn rest(&self) -> &'t [u8] {
        &self.text[self.at..]
    }

    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    fn skip_spaces(&mut self) {
        while self.peek().is_some_and(|byte| byte.is_ascii_whitespace()) {
            self.at += 1;
        }
    }

    /// Skips spaces, and consumes `word` if it comes next. Returns its byte offset, or `None`
    /// otherwise.
    fn take_word(&mut self, word: &[u8]) -> Option<usize> {
        self.skip_spaces();
        let at = self.at;
        self.rest().starts_with(word).then(|| {
            self.at += word.len();
            at
        })
    }

    fn fault_here<T>(&self, what: impl Into<String>) -> Result<T, ExpressionFault> {
        Err(ExpressionFault::new(self.at, what))
    }

    fn push_node(&mut self, at: usize, kind: ValueKind, node: Node) -> Id {
        self.program.nodes.push(node);
        self.program.text_offsets.push(at as u32);
        self.kinds.push(kind);
        self.program.root()
    }

    /// Checks that an operand has the right kind. A field always fits, because its type depends on
    /// the record.
    ///
    /// # Errors
    /// The operand is known to have the wrong kind; `what` names the operator or function.
    fn expect_kind(
        &self,
        operand: Id,
        kind: ValueKind,
        what: impl FnOnce() -> String,
    ) -> Result<(), ExpressionFault> {
        let found = self.kinds[operand as usize];
        if found == kind || found == ValueKind::Either || kind == ValueKind::Either {
            return Ok(());
        }
        let [needs, is] =
            [kind, found].map(|kind| if kind == ValueKind::Number { "a number" } else { "text" });
        Err(ExpressionFault::new(
            self.program.text_offset(operand),
            format!("{} needs {needs}, but this is {is}", what()),
        ))
    }

    /// Runs `read` one level deeper.
    ///
    /// # Errors
    /// The expression is nested too deeply.
    fn parse_nested(&mut self, read: impl FnOnce(&mut Self) -> ParsedNode) -> ParsedNode {
        if self.depth == MAX_DEPTH {
            return self.fault_here(format!("the expression has more than {MAX_DEPTH} nested levels"));
        }
        self.depth += 1;
        let parsed = read(self);
        self.depth -= 1;
        parsed
    }

    fn parse_chain(&mut self) -> ParsedNode {
        let first = self.parse_equality()?;
        let at = self.at;
        let mut rest = Vec::new();
        loop {
            let junction = if self.take_word(b"&&").is_some() {
                Junction::And
            } else if self.take_word(b"||").is_some() {
                Junction::Or
            } else {
                break;
            };
            rest.push((junction, self.parse_equality()?));
        }
        if rest.is_empty() {
            return Ok(first);
        }
        Ok(self.push_node(at, ValueKind::Number, Node::Chain(first, rest.into())))
    }

    fn parse_equality(&mut self) -> ParsedNode {
        let left = self.parse_comparison()?;
        for (word, operator) in [(b"==", Binary::Equal), (b"!=", Binary::Unequal)] {
            if let Some(at) = self.take_word(word) {
                let right = self.parse_nested(Self::parse_equality)?;
                return Ok(self.push_node(at, ValueKind::Number, Node::Binary(operator, left, right)));
            }
        }
        for (word, positive) in [(b"=~", true), (b"!~", false)] {
            if let Some(at) = self.take_word(word) {
                let right = self.parse_nested(Self::parse_equality)?;
                self.expect_kind(left, ValueKind::Text, || "matching a pattern".to_string())?;
                let pattern = Box::new(self.compile_pattern(right)?);
                return Ok(self.push_node(
                    at,
                    ValueKind::Number,
                    Node::Match { text: left, pattern, positive },
                ));
            }
        }
        Ok(left)
    }

    fn compile_pattern(&self, id: Id) -> Result<regex::bytes::Regex, ExpressionFault> {
        let at = self.program.text_offset(id);
        let Node::Text(text) = self.program.node(id) else {
            return Err(ExpressionFault::new(at, "a pattern must be text in double quotes"));
        };
        pattern::compile(text)
            .map_err(|what| ExpressionFault::new(at, format!("the pattern is invalid: {what}")))
    }

    fn parse_comparison(&mut self) -> ParsedNode {
        let left = self.parse_operation(0)?;
        for (word, operator) in [
            (&b">="[..], Binary::AtLeast),
            (b">", Binary::Greater),
            (b"<=", Binary::AtMost),
            (b"<", Binary::Less),
        ] {
            if let Some(at) = self.take_word(word) {
                let right = self.parse_nested(Self::parse_comparison)?;
                return Ok(self.push_node(at, ValueKind::Number, Node::Binary(operator, left, right)));
            }
        }
        Ok(left)
    }

    /// Parses the operators of `LEVELS[level]` and of the stronger levels, which group from the
    /// left.
    fn parse_operation(&mut self, level: usize) -> ParsedNode {
        let Some(operators) = LEVELS.get(level) else { return self.parse_unary() };
        let mut left = self.parse_operation(level + 1)?;
        let depth = self.depth;
        loop {
            self.skip_spaces();
            let at = self.at;
            let found = operators.iter().find(|(byte, _)| self.peek() == Some(*byte));
            let doubled = matches!(self.rest(), [b'&', b'&', ..] | [b'|', b'|', ..]);
            let Some(&(byte, operator)) = found.filter(|_| !doubled) else { break };
            self.at += 1;
            self.depth += 1; // each operand adds a level to the tree
            let right = self.parse_nested(|parser| parser.parse_operation(level + 1))?;
            for operand in [left, right] {
                self.expect_kind(operand, ValueKind::Number, || format!("{}", char::from(byte)))?;
            }
            left = self.push_node(at, ValueKind::Number, Node::Binary(operator, left, right));
        }
        self.depth = depth;
        Ok(left)
    }

    fn parse_unary(&mut self) -> ParsedNode {
        for (word, operator) in
            [(b"!", Unary::Not), (b"~", Unary::Invert), (b"+", Unary::Plus), (b"-", Unary::Minus)]
        {
            if let Some(at) = self.take_word(word) {
                let is_sign = matches!(operator, Unary::Plus | Unary::Minus);
                let operand =
                    self.parse_nested(if is_sign { Self::parse_signed } else { Self::parse_unary })?;
                if operator != Unary::Not {
                    self.expect_kind(operand, ValueKind::Number, || {
                        String::from_utf8_lossy(word).into_owned()
                    })?;
                }
                return Ok(self.push_node(at, ValueKind::Number, Node::Unary(operator, operand)));
            }
        }
        self.parse_simple()
    }

    /// Parses the operand of a sign. As in samtools, a number may have a second sign (`--3`).
    fn parse_signed(&mut self) -> ParsedNode {
        self.skip_spaces();
        let at = self.at;
        let sign = match self.rest() {
            [b'-', ..] => -1.0,
            [b'+', ..] => 1.0,
            _ => return self.parse_simple(),
        };
        match literal::parse_number(&self.text[at + 1..]) {
            Some((number, length)) => {
                self.at += 1 + length;
                Ok(self.push_node(at, ValueKind::Number, Node::Number(sign * number)))
            }
            None => self.fault_here("a second sign is allowed only before a number"),
        }
    }

    fn parse_simple(&mut self) -> ParsedNode {
        self.skip_spaces();
        let at = self.at;
        if let Some((number, length)) = literal::parse_number(self.rest()) {
            self.at += length;
            return Ok(self.push_node(at, ValueKind::Number, Node::Number(number)));
        }
        match self.rest() {
            [b'(', ..] => {
                self.at += 1;
                let inner = self.parse_nested(Self::parse_chain)?;
                self.expect_closing()?;
                Ok(inner)
            }
            [b'"', ..] => {
                let Some((text, length)) = literal::parse_quoted(self.rest()) else {
                    return self.fault_here("the text starting here has no closing quote");
                };
                self.at += length;
                Ok(self.push_node(at, ValueKind::Text, Node::Text(text.into())))
            }
            [b'[', ..] => self.parse_field(),
            [letter, ..] if letter.is_ascii_alphabetic() => self.parse_word(),
            _ => Err(self.unexpected_fault()),
        }
    }

    fn expect_closing(&mut self) -> Result<(), ExpressionFault> {
        match self.take_word(b")") {
            Some(_) => Ok(()),
            None => self.fault_here("a ) is missing"),
        }
    }

    fn parse_field(&mut self) -> ParsedNode {
        let at = self.at;
        match self.rest() {
            &[_, first, second, b']', ..]
                if first.is_ascii_alphabetic() && second.is_ascii_alphanumeric() =>
            {
                self.at += 4;
                Ok(self.push_node(at, ValueKind::Either, Node::Field([first, second])))
            }
            _ => Err(ExpressionFault::new(at, "an optional field must be two characters in brackets")
                .with_hint("for example [NM]")),
        }
    }

    fn parse_word(&mut self) -> ParsedNode {
        let at = self.at;
        let is_part = |byte: &&u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.');
        let length = self.rest().iter().take_while(is_part).count();
        let word = String::from_utf8_lossy(&self.rest()[..length]).into_owned();
        if self.rest().get(length) == Some(&b'(') {
            return self.parse_nested(|parser| parser.parse_function(at, &word));
        }
        let Some(variable) = Variable::from_name(&word) else {
            return Err(unknown_variable_fault(at, &word));
        };
        self.at += length;
        Ok(self.push_node(at, variable.kind(), Node::Variable(variable)))
    }

    fn parse_function(&mut self, at: usize, name: &str) -> ParsedNode {
        let one = FUNCTIONS.iter().find(|(known, ..)| *known == name);
        let two = [("default", Binary::Default), ("pow", Binary::Power)];
        let two = two.into_iter().find(|(known, _)| *known == name);
        if one.is_none() && two.is_none() {
            return self.fault_here(format!("unknown function {name}()"));
        }
        self.at += name.len() + 1;
        let first = self.parse_chain()?;
        let takes = || format!("{name}()");
        if let Some(&(_, function, kind)) = one {
            self.expect_kind(first, kind, takes)?;
            self.expect_closing()?;
            return Ok(self.push_node(at, ValueKind::Number, Node::Unary(function, first)));
        }
        if self.take_word(b",").is_none() {
            return self.fault_here(format!("{name}() takes two operands: a comma is missing"));
        }
        let second = self.parse_chain()?;
        self.expect_closing()?;
        let (first_kind, second_kind) = (self.kinds[first as usize], self.kinds[second as usize]);
        if name == "default" {
            let kind = if first_kind == second_kind { first_kind } else { ValueKind::Either };
            return Ok(self.push_node(at, kind, Node::Binary(Binary::Default, first, second)));
        }
        for operand in [first, second] {
            self.expect_kind(operand, ValueKind::Number, takes)?;
        }
        Ok(self.push_node(at, ValueKind::Number, Node::Binary(Binary::Power, first, second)))
    }

    fn unexpected_fault(&self) -> ExpressionFault {
        match self.peek() {
            None => ExpressionFault::new(self.at, "the expression is incomplete"),
            Some(b'\'') => ExpressionFault::new(self.at, "text must be in double quotes"),
            Some(_) => ExpressionFault::new(self.at, "expected a number, text, a variable or a field"),
        }
    }

    fn leftover_fault(&self) -> ExpressionFault {
        match self.rest() {
            [b'=', ..] => {
                ExpressionFault::new(self.at, "= is not an operator").with_hint("compare with ==")
            }
            [b')', ..] => ExpressionFault::new(self.at, "this ) has no matching ("),
            _ => ExpressionFault::new(self.at, "expected an operator"),
        }
    }
}

pub(super) struct ExpressionFault {
    at: usize,
    what: String,
    hint: Option<&'static str>,
}

impl ExpressionFault {
    pub fn new(at: usize, what: impl Into<String>) -> Self {
        ExpressionFault { at, what: what.into(), hint: None }
    }

    pub fn with_hint(self, hint: &'static str) -> Self {
        ExpressionFault { hint: Some(hint), ..self }
    }

    pub fn into_error(self, text: &str) -> Error {
        let before = text.get(..self.at).map_or(self.at, |before| before.chars().count());
        let rest: String = text.get(self.at..).unwrap_or_default().chars().take(20).collect();
        let place = if rest.trim().is_empty() {
            "at its end".to_string()
        } else {
            format!("at character {} ({rest})", before + 1)
        };
        let mut error = Error::usage(format!("expression '{text}', {place}: {}", self.what));
        error.hint = self.hint.map(Into::into);
        error
    }
}

fn unknown_variable_fault(at: usize, word: &str) -> ExpressionFault {
    let fault = ExpressionFault::new(at, format!("unknown variable {word}"));
    if word.len() == 2 && word.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit()) {
        return fault.with_hint("write optional fields in brackets, for example [NM]");
    }
    if word.starts_with("flag.") {
        return fault.with_hint(
            "after flag., use paired, proper_pair, unmap, munmap, reverse, mreverse, read1, read2, secondary, \
             qcfail, dup or supplementary",
        );
    }
    fault.with_hint(
        "the variables are the same as in 'samtools view -e': mapq, flag, pos, qname, rname, cigar, seq, qual, …",
    )
}
