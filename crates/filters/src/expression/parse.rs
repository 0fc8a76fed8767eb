//! Parses the text of an expression into a program, by recursive descent.
//!
//! There is one function for each level of precedence, from the weakest to the strongest:
//!
//! | function | operators | grouping |
//! |---|---|---|
//! | `chain` | `&&` `\|\|` | left |
//! | `equality` | `==` `!=` `=~` `!~` | right |
//! | `comparison` | `<` `<=` `>` `>=` | right |
//! | `operation` | `\|` `^` `&` `+ -` `* / %`, see `LEVELS` | left |
//! | `unary` | `!` `~` `+` `-` | right |
//! | `simple` | literals, variables, fields, functions, parentheses | |

use std::sync::Arc;

use readmill_record::{Error, Header};

use super::evaluate::{Binary, Id, Junction, Node, Program, Unary};
use super::value::ValueKind;
use super::variable::{HeaderNames, Variable};
use super::{literal, pattern};

/// Maximum depth of nesting. Parsing and evaluating recurse for each level, so the depth is limited
/// to protect the stack.
const DEEPEST: u32 = 200;

type Parsed = Result<Id, ExpressionFault>;

/// Operators with two numbers as operands, from the weakest level to the strongest. They group from
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
    ("min", Unary::Least, ValueKind::Text),
    ("max", Unary::Greatest, ValueKind::Text),
    ("avg", Unary::Average, ValueKind::Text),
    ("exists", Unary::Exists, ValueKind::Either),
    ("exp", Unary::Exponential, ValueKind::Number),
    ("log", Unary::Logarithm, ValueKind::Number),
    ("sqrt", Unary::Root, ValueKind::Number),
];

/// Compiles `text`, and looks up the names of `header` that it uses.
///
/// # Errors
/// The text is not a valid expression.
pub(super) fn program(text: &str, header: &Header) -> Result<Program, ExpressionFault> {
    let mut parser = Parser {
        text: text.as_bytes(),
        at: 0,
        depth: 0,
        kinds: Vec::new(),
        program: Program::default(),
    };
    parser.chain()?;
    parser.skip_spaces();
    if parser.at < text.len() {
        return Err(parser.leftover());
    }
    let mut program = parser.program;
    program.names = Arc::new(names(&program, header));
    Ok(program)
}

/// Copies the names from the header that the variables of the program need. Most expressions need
/// none.
fn names(program: &Program, header: &Header) -> HeaderNames {
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

struct Parser<'t> {
    text: &'t [u8],
    at: usize,
    depth: u32,
    kinds: Vec<ValueKind>,
    program: Program,
}

impl<'t> Parser<'t> {
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

    /// Skips spaces and consumes `word` if it is next. Returns its byte offset, or `None` if it is
    /// not next.
    fn takes(&mut self, word: &[u8]) -> Option<usize> {
        self.skip_spaces();
        let at = self.at;
        self.rest().starts_with(word).then(|| {
            self.at += word.len();
            at
        })
    }

    fn fault<T>(&self, what: impl Into<String>) -> Result<T, ExpressionFault> {
        Err(ExpressionFault::new(self.at, what))
    }

    fn push(&mut self, at: usize, kind: ValueKind, node: Node) -> Id {
        self.program.nodes.push(node);
        self.program.places.push(at as u32);
        self.kinds.push(kind);
        self.program.root()
    }

    /// Checks that the kind of an operand fits. A field fits always, because its type depends on
    /// the record.
    ///
    /// # Errors
    /// The operand is known to have the wrong kind; `what` names the operator or function.
    fn expect(
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
            [kind, found].map(|kind| if kind == ValueKind::Number { "a number" } else { "a text" });
        Err(ExpressionFault::new(
            self.program.place(operand),
            format!("{} needs {needs}, this is {is}", what()),
        ))
    }

    /// Runs `read` one nesting level deeper.
    ///
    /// # Errors
    /// The expression is nested too deeply.
    fn nested(&mut self, read: impl FnOnce(&mut Self) -> Parsed) -> Parsed {
        if self.depth == DEEPEST {
            return self.fault(format!("the expression nests more than {DEEPEST} deep"));
        }
        self.depth += 1;
        let parsed = read(self);
        self.depth -= 1;
        parsed
    }

    fn chain(&mut self) -> Parsed {
        let first = self.equality()?;
        let at = self.at;
        let mut rest = Vec::new();
        loop {
            let junction = if self.takes(b"&&").is_some() {
                Junction::And
            } else if self.takes(b"||").is_some() {
                Junction::Or
            } else {
                break;
            };
            rest.push((junction, self.equality()?));
        }
        if rest.is_empty() {
            return Ok(first);
        }
        Ok(self.push(at, ValueKind::Number, Node::Chain(first, rest.into())))
    }

    fn equality(&mut self) -> Parsed {
        let left = self.comparison()?;
        for (word, operator) in [(b"==", Binary::Equal), (b"!=", Binary::Unequal)] {
            if let Some(at) = self.takes(word) {
                let right = self.nested(Self::equality)?;
                return Ok(self.push(at, ValueKind::Number, Node::Binary(operator, left, right)));
            }
        }
        for (word, positive) in [(b"=~", true), (b"!~", false)] {
            if let Some(at) = self.takes(word) {
                let right = self.nested(Self::equality)?;
                self.expect(left, ValueKind::Text, || "matching a pattern".to_string())?;
                let pattern = Box::new(self.pattern(right)?);
                return Ok(self.push(
                    at,
                    ValueKind::Number,
                    Node::Match { text: left, pattern, positive },
                ));
            }
        }
        Ok(left)
    }

    fn pattern(&self, id: Id) -> Result<regex::bytes::Regex, ExpressionFault> {
        let at = self.program.place(id);
        let Node::Text(text) = self.program.node(id) else {
            return Err(ExpressionFault::new(at, "a pattern is a text in double quotes"));
        };
        pattern::compile(text)
            .map_err(|what| ExpressionFault::new(at, format!("the pattern is wrong: {what}")))
    }

    fn comparison(&mut self) -> Parsed {
        let left = self.operation(0)?;
        for (word, operator) in [
            (&b">="[..], Binary::AtLeast),
            (b">", Binary::Greater),
            (b"<=", Binary::AtMost),
            (b"<", Binary::Less),
        ] {
            if let Some(at) = self.takes(word) {
                let right = self.nested(Self::comparison)?;
                return Ok(self.push(at, ValueKind::Number, Node::Binary(operator, left, right)));
            }
        }
        Ok(left)
    }

    /// Parses the operators of `LEVELS[level]` and of the stronger levels, which group from the
    /// left.
    fn operation(&mut self, level: usize) -> Parsed {
        let Some(operators) = LEVELS.get(level) else { return self.unary() };
        let mut left = self.operation(level + 1)?;
        let depth = self.depth;
        loop {
            self.skip_spaces();
            let at = self.at;
            let found = operators.iter().find(|(byte, _)| self.peek() == Some(*byte));
            let doubled = matches!(self.rest(), [b'&', b'&', ..] | [b'|', b'|', ..]);
            let Some(&(byte, operator)) = found.filter(|_| !doubled) else { break };
            self.at += 1;
            self.depth += 1; // the tree grows a level with each operand
            let right = self.nested(|parser| parser.operation(level + 1))?;
            for operand in [left, right] {
                self.expect(operand, ValueKind::Number, || format!("{}", char::from(byte)))?;
            }
            left = self.push(at, ValueKind::Number, Node::Binary(operator, left, right));
        }
        self.depth = depth;
        Ok(left)
    }

    fn unary(&mut self) -> Parsed {
        for (word, operator) in
            [(b"!", Unary::Not), (b"~", Unary::Invert), (b"+", Unary::Plus), (b"-", Unary::Minus)]
        {
            if let Some(at) = self.takes(word) {
                let is_sign = matches!(operator, Unary::Plus | Unary::Minus);
                let operand = self.nested(if is_sign { Self::signed } else { Self::unary })?;
                if operator != Unary::Not {
                    self.expect(operand, ValueKind::Number, || {
                        String::from_utf8_lossy(word).into_owned()
                    })?;
                }
                return Ok(self.push(at, ValueKind::Number, Node::Unary(operator, operand)));
            }
        }
        self.simple()
    }

    /// Parses the operand of a sign. A number may have one more sign (`--3`), as in samtools.
    fn signed(&mut self) -> Parsed {
        self.skip_spaces();
        let at = self.at;
        let sign = match self.rest() {
            [b'-', ..] => -1.0,
            [b'+', ..] => 1.0,
            _ => return self.simple(),
        };
        match literal::number(&self.text[at + 1..]) {
            Some((number, length)) => {
                self.at += 1 + length;
                Ok(self.push(at, ValueKind::Number, Node::Number(sign * number)))
            }
            None => self.fault("a second sign stands before numbers only"),
        }
    }

    fn simple(&mut self) -> Parsed {
        self.skip_spaces();
        let at = self.at;
        if let Some((number, length)) = literal::number(self.rest()) {
            self.at += length;
            return Ok(self.push(at, ValueKind::Number, Node::Number(number)));
        }
        match self.rest() {
            [b'(', ..] => {
                self.at += 1;
                let inner = self.nested(Self::chain)?;
                self.close()?;
                Ok(inner)
            }
            [b'"', ..] => {
                let Some((text, length)) = literal::quoted(self.rest()) else {
                    return self.fault("the text that begins here has no closing quote");
                };
                self.at += length;
                Ok(self.push(at, ValueKind::Text, Node::Text(text.into())))
            }
            [b'[', ..] => self.field(),
            [letter, ..] if letter.is_ascii_alphabetic() => self.word(),
            _ => Err(self.unexpected()),
        }
    }

    fn close(&mut self) -> Result<(), ExpressionFault> {
        match self.takes(b")") {
            Some(_) => Ok(()),
            None => self.fault("a ) is missing"),
        }
    }

    fn field(&mut self) -> Parsed {
        let at = self.at;
        match self.rest() {
            &[_, first, second, b']', ..]
                if first.is_ascii_alphabetic() && second.is_ascii_alphanumeric() =>
            {
                self.at += 4;
                Ok(self.push(at, ValueKind::Either, Node::Field([first, second])))
            }
            _ => Err(ExpressionFault::new(
                at,
                "an optional field is written as its two letters in brackets",
            )
            .hint("for instance [NM]")),
        }
    }

    fn word(&mut self) -> Parsed {
        let at = self.at;
        let is_part = |byte: &&u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.');
        let length = self.rest().iter().take_while(is_part).count();
        let word = String::from_utf8_lossy(&self.rest()[..length]).into_owned();
        if self.rest().get(length) == Some(&b'(') {
            return self.nested(|parser| parser.function(at, &word));
        }
        let Some(variable) = Variable::named(&word) else {
            return Err(unknown(at, &word));
        };
        self.at += length;
        Ok(self.push(at, variable.kind(), Node::Variable(variable)))
    }

    fn function(&mut self, at: usize, name: &str) -> Parsed {
        let one = FUNCTIONS.iter().find(|(known, ..)| *known == name);
        let two = [("default", Binary::Default), ("pow", Binary::Power)];
        let two = two.into_iter().find(|(known, _)| *known == name);
        if one.is_none() && two.is_none() {
            return self.fault(format!("there is no function {name}()"));
        }
        self.at += name.len() + 1;
        let first = self.chain()?;
        let takes = || format!("{name}()");
        if let Some(&(_, function, kind)) = one {
            self.expect(first, kind, takes)?;
            self.close()?;
            return Ok(self.push(at, ValueKind::Number, Node::Unary(function, first)));
        }
        if self.takes(b",").is_none() {
            return self.fault(format!("{name}() takes two operands: a comma is missing"));
        }
        let second = self.chain()?;
        self.close()?;
        let (first_kind, second_kind) = (self.kinds[first as usize], self.kinds[second as usize]);
        if name == "default" {
            let kind = if first_kind == second_kind { first_kind } else { ValueKind::Either };
            return Ok(self.push(at, kind, Node::Binary(Binary::Default, first, second)));
        }
        for operand in [first, second] {
            self.expect(operand, ValueKind::Number, takes)?;
        }
        Ok(self.push(at, ValueKind::Number, Node::Binary(Binary::Power, first, second)))
    }

    fn unexpected(&self) -> ExpressionFault {
        match self.peek() {
            None => ExpressionFault::new(self.at, "something is missing"),
            Some(b'\'') => ExpressionFault::new(self.at, "texts stand in double quotes"),
            Some(_) => ExpressionFault::new(
                self.at,
                "here should stand a number, a text, a variable or a field",
            ),
        }
    }

    fn leftover(&self) -> ExpressionFault {
        match self.rest() {
            [b'=', ..] => {
                ExpressionFault::new(self.at, "= alone is no operator").hint("compare with ==")
            }
            [b')', ..] => ExpressionFault::new(self.at, "this ) closes nothing"),
            _ => ExpressionFault::new(self.at, "here should stand an operator"),
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

    pub fn hint(self, hint: &'static str) -> Self {
        ExpressionFault { hint: Some(hint), ..self }
    }

    pub fn shown(self, text: &str) -> Error {
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

fn unknown(at: usize, word: &str) -> ExpressionFault {
    let fault = ExpressionFault::new(at, format!("there is no variable {word}"));
    if word.len() == 2 && word.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit()) {
        return fault.hint("optional fields stand in brackets, as [NM]");
    }
    if word.starts_with("flag.") {
        return fault.hint(
            "after flag. stands paired, proper_pair, unmap, munmap, reverse, mreverse, read1, read2, secondary, \
             qcfail, dup or supplementary",
        );
    }
    fault.hint(
        "variables are those of 'samtools view -e': mapq, flag, pos, qname, rname, cigar, seq, qual, …",
    )
}
