//! Filter expressions: the language of `samtools view -e` (samtools 1.24's manual page, section FILTER
//! EXPRESSIONS; for what the page leaves open: htslib 1.24's `hts_expr.c` and `sam.c`, and runs of samtools).
//!
//! An [`Expression`] is compiled once from its text and a header, and evaluated on raw records. It accepts
//! what samtools accepts and keeps the same reads, also where that may surprise:
//! - `&&` and `||` bind equally, from left to right; comparisons group from the right (`a < b < c` is
//!   `a < (b < c)`), and all of them bind more weakly than `&`, `^` and `|`.
//! - A value that is absent or not a number is *undefined*: comparisons with it are undefined, which is false, and its
//!   negation is true. But `log`, `exp` and `sqrt` take an absent field for 0, `length` and `avg` give 0.
//! - A field that exists is true, even when it is 0. `!0.5` is true, because `!` cuts off fractions.
//! - Of texts, `==` is false and `!=` true when the other side is a number.
//!
//! It differs where samtools 1.24 fails or depends on what it evaluated before:
//! - `&&` and `||` do not evaluate operands that cannot change the result, so these cannot fail, either.
//! - `[AA] =~ "x" || [BB] =~ "y"`: samtools takes its patterns in the order of first use, so that a record
//!   without `AA` makes it look for `y` in `AA` of later ones. Here each pattern belongs to its own operator.
//! - `exists([AA]) + exists([BB]) + exists([CC])`, `1 + [NM] + !0`: in the third and later operands of a chain
//!   samtools uses leftovers of an earlier operand (its truth, its text). Here operands are independent, and so is
//!   a number that was made of a text (`qname == length(qname)` is false).
//! - Arithmetic on something undefined is undefined for `%`, too, and so is a remainder by less than 1, by
//!   which samtools crashes.
//! - A pattern is a text in quotes (samtools allows `[XX]`, but keeps the first record's). See
//!   [`pattern`] for its syntax.
//! - `qual == "…"` compares all of the qualities; samtools reads until it finds a 0.
//! - An array field (`B`) exists and is true, where samtools fails; arithmetic and comparisons refuse it.
//! - Where the type of an operand is known and wrong, the expression is refused before any read is read.

mod evaluate;
mod literal;
mod parse;
pub mod pattern;
mod value;
mod variable;

use readmill_record::{Error, Header, RecordRef, Result};

use evaluate::{Evaluation, Program};
use parse::ExpressionFault;
use value::TextBuffers;

/// A condition on a record.
#[derive(Clone)]
pub struct Expression {
    text: Box<str>,
    program: Program,
    scratch: TextBuffers,
}

impl Expression {
    /// Compiles `text` for records that belong to `header`, from which it takes names of reference sequences
    /// and libraries. An error shows the wrong place in the expression.
    pub fn parse(text: &str, header: &Header) -> Result<Self> {
        let program = parse::program(text, header).map_err(|fault| fault.shown(text))?;
        Ok(Expression { text: text.into(), program, scratch: TextBuffers::default() })
    }

    /// Returns the expression as it was written.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether it holds for `record`.
    ///
    /// # Errors
    /// If a field holds a text and a number is needed, or the other way round.
    pub fn matches(&mut self, record: RecordRef<'_>) -> Result<bool> {
        self.scratch.begin();
        let mut evaluation = Evaluation { program: &self.program, record, scratch: &mut self.scratch };
        let root = self.program.root();
        evaluation.holds(root).map_err(|misfit| self.refusal(misfit))
    }

    #[cold]
    fn refusal(&self, misfit: evaluate::Misfit) -> Error {
        let at = self.program.place(misfit.node);
        let fault = ExpressionFault::new(at, format!("{} in this record", misfit.reason.words()));
        let mut error = fault.shown(&self.text);
        error.kind = readmill_record::ErrorKind::Input;
        error.hint("ask for the field's kind first, or compare it as what it is")
    }
}
