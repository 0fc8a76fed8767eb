//! The options of other tools: what each takes and does.

/// An option of another tool: a row of its table.
#[derive(Clone, Copy)]
pub struct Opt {
    /// Its names as the tool's help has them, the dashes included, with a space between them.
    pub names: &'static str,
    /// The kind of value that the option takes.
    pub takes: Takes,
    /// What becomes of it.
    pub does: Does,
}

/// The kind of value that an option takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Takes {
    /// No value.
    Nothing,
    /// A value; the last one counts, where the tool allows several.
    Value,
    /// A value; all of them count.
    Values,
    /// A value; all of them count, and a file `.list` or `.args` stands for its lines, as in Picard and GATK.
    Files,
    /// true or false, or nothing, which is true: as in Picard and GATK.
    Truth,
}

/// What becomes of an option.
#[derive(Clone, Copy, Debug)]
pub enum Does {
    /// It becomes these words, with its value behind them. A truth becomes them if it is true.
    Words(&'static str),
    /// A truth becomes these words if it is false.
    WordsIfFalse(&'static str),
    /// The front builds the native line from it; this is how.
    Built(&'static str),
    /// It cannot change a result: why.
    Harmless(&'static str),
    /// These values cannot change a result; the others are refused: what they would do, and the native way.
    Only(&'static [&'static str], &'static str, &'static str),
    /// It is refused: what it would do, and the native way, if there is one.
    Refused(&'static str, &'static str),
}

impl Opt {
    /// An option that becomes native words, with its value behind.
    pub const fn native(names: &'static str, takes: Takes, words: &'static str) -> Self {
        Opt { names, takes, does: Does::Words(words) }
    }

    /// A truth that becomes native words if it is false.
    pub const fn unless(names: &'static str, words: &'static str) -> Self {
        Opt { names, takes: Takes::Truth, does: Does::WordsIfFalse(words) }
    }

    /// An option that the front turns into native words: how.
    pub const fn built(names: &'static str, takes: Takes, how: &'static str) -> Self {
        Opt { names, takes, does: Does::Built(how) }
    }

    /// An option that cannot change a result: why.
    pub const fn harmless(names: &'static str, takes: Takes, why: &'static str) -> Self {
        Opt { names, takes, does: Does::Harmless(why) }
    }

    /// An option of which these values alone cannot change a result.
    pub const fn only(
        names: &'static str,
        takes: Takes,
        values: &'static [&'static str],
        what: &'static str,
        way: &'static str,
    ) -> Self {
        Opt { names, takes, does: Does::Only(values, what, way) }
    }

    /// An option that is refused: what it would do, and the native way, if there is one.
    pub const fn refused(
        names: &'static str,
        takes: Takes,
        what: &'static str,
        way: &'static str,
    ) -> Self {
        Opt { names, takes, does: Does::Refused(what, way) }
    }

    /// Its names.
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        self.names.split(' ')
    }

    /// Whether this is one of its names.
    pub fn has(&self, name: &str) -> bool {
        self.names().any(|own| own == name)
    }
}
