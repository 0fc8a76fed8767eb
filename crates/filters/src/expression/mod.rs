//! Filter expressions, in the language of `samtools view -e`.
//!
//! The reference is the manual page of samtools 1.24, section FILTER EXPRESSIONS. Where the page is
//! unclear, `hts_expr.c` and `sam.c` of htslib 1.24, and runs of samtools, decide.
//!
//! An [`Expression`] is compiled once from its text and a header, and is then evaluated on raw
//! records. It accepts the same expressions as samtools and keeps the same reads, also in cases
//! that may surprise:
//! - `&&` and `||` have the same precedence and group from the left. Comparisons group from the
//!   right (`a < b < c` is `a < (b < c)`), and all of them bind more weakly than `&`, `^` and `|`.
//! - A value that is absent or NaN is *undefined*. A comparison with an undefined value is
//!   undefined, which is false, and its negation is true. But `log`, `exp` and `sqrt` treat an
//!   absent field as 0, and `length` and `avg` return 0 for it.
//! - A field that exists is true, even if its value is 0. `!0.5` is true, because `!` truncates to
//!   an integer.
//! - If one side of a comparison is text and the other a number, `==` is false and `!=` is true.
//!
//! It differs from samtools 1.24 where samtools fails or depends on earlier evaluations:
//! - `&&` and `||` do not evaluate operands that cannot change the result, so such operands cannot
//!   fail either.
//! - `[AA] =~ "x" || [BB] =~ "y"`: samtools uses its patterns in the order of first use, so after a
//!   record without `AA` it searches for `y` in `AA`. Here each pattern belongs to its own
//!   operator.
//! - `exists([AA]) + exists([BB]) + exists([CC])`, `1 + [NM] + !0`: in the third and later operands
//!   of a chain, samtools reuses values of an earlier operand (its truth, its text). Here operands
//!   are independent, and so is a number that was computed from text (`qname == length(qname)` is
//!   false).
//! - Arithmetic with undefined operands is undefined, also for `%`. A remainder whose divisor
//!   truncates to 0 is undefined; samtools crashes.
//! - A pattern must be text in quotes. (samtools also accepts `[XX]`, but keeps the pattern of the
//!   first record.) See [`pattern`] for its syntax.
//! - `qual == "…"` compares all qualities; samtools stops at the first quality of 0.
//! - An array field (`B`) exists and is true, but fails in arithmetic and comparisons. samtools
//!   fails on any array field.
//! - If an operand is known to have the wrong type, the expression is refused before any read is
//!   read.

mod evaluate;
mod literal;
mod parse;
pub mod pattern;
mod value;
mod variable;

use readmill_record::{Error, Header, RecordRef, Result};

use evaluate::{Evaluation, ExpressionProgram};
use parse::ExpressionFault;
use value::TextBuffers;

/// A condition on a record, as given to `--include` and `--exclude`.
///
/// Compiling looks up the required names in the header. A clone has its own buffers, so each thread
/// evaluates with its own clone.
///
/// ```
/// use readmill_filters::expression::Expression;
/// use readmill_format::sam::LineParser;
/// use readmill_record::{Header, RecordRef};
///
/// # fn main() -> readmill_record::Result<()> {
/// let header = Header::parse(b"@SQ\tSN:chr1\tLN:1000\n")?;
/// let mut raw = Vec::new();
/// let line = b"r1\t0\tchr1\t101\t37\t4M\t*\t0\t0\tACGT\tIIII\tNM:i:2";
/// LineParser::new(&header).parse(line, &mut raw)?;
/// let record = RecordRef::new(&raw);
///
/// let mut good = Expression::parse("mapq >= 20 && !flag.dup && [NM] < 5", &header)?;
/// assert!(good.matches(record)?);
/// let mut other = Expression::parse(r#"rname =~ "^chr[2-9]$""#, &header)?;
/// assert!(!other.matches(record)?);
///
/// let error = Expression::parse("mapq = 20", &header).err().unwrap();
/// assert!(error.to_string().contains("compare with =="));
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Expression {
    text: Box<str>,
    program: ExpressionProgram,
    scratch: TextBuffers,
}

impl Expression {
    /// Compiles `text` for records with this header, which provides the names of reference
    /// sequences and libraries.
    ///
    /// # Errors
    /// The text is not a valid expression. The error shows the position of the mistake.
    pub fn parse(text: &str, header: &Header) -> Result<Self> {
        let program = parse::parse_program(text, header).map_err(|fault| fault.into_error(text))?;
        Ok(Expression { text: text.into(), program, scratch: TextBuffers::default() })
    }

    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns whether the expression is true for `record`.
    ///
    /// # Errors
    /// A field of this record has the wrong type for an operator, such as text in arithmetic.
    pub fn matches(&mut self, record: RecordRef<'_>) -> Result<bool> {
        self.scratch.begin_record();
        let mut evaluation = Evaluation { program: &self.program, record, scratch: &mut self.scratch };
        let root = self.program.root();
        evaluation.is_true(root).map_err(|misfit| self.misfit_error(misfit))
    }

    #[cold]
    fn misfit_error(&self, misfit: evaluate::Misfit) -> Error {
        let at = self.program.text_offset(misfit.node);
        let fault = ExpressionFault::new(at, format!("{} in this record", misfit.reason.description()));
        let mut error = fault.into_error(&self.text);
        error.kind = readmill_record::ErrorKind::Input;
        error.hint("use an operation that the type of this field allows")
    }
}
