//! The table rows for options of other tools: which value an option takes, and how it
//! is translated.

/// An option of another tool, as one row of the command's table: its names, the kind of
/// its value, and what readmill does with it. The help of the fronts and docs/fronts.md
/// are made from these rows.
#[derive(Clone, Copy)]
pub struct Opt {
    /// All its names with their dashes, separated by spaces, as in the tool's help.
    pub names: &'static str,
    pub takes: Takes,
    pub does: Does,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Takes {
    Nothing,
    /// One value. If the tool accepts several, the last one counts.
    Value,
    Values,
    /// As `Values`, but a file that ends in `.list` or `.args` stands for its lines, as
    /// in Picard and GATK.
    Files,
    /// A boolean of Picard or GATK: true or false. Without a value it is true.
    Truth,
}

/// What readmill does with an option. Every option in the help of a tool has a row,
/// which a test checks, so none is ignored by accident.
#[derive(Clone, Copy, Debug)]
pub enum Does {
    /// It is replaced by these words, followed by its value. A boolean is replaced if
    /// it is true.
    Words(&'static str),
    /// A boolean is replaced by these words if it is false.
    WordsIfFalse(&'static str),
    /// The function of the command translates it. The text says how, for the help.
    Built(&'static str),
    /// It cannot change a result and is ignored. The text says why.
    Harmless(&'static str),
    /// These values cannot change a result and are ignored. Other values are refused;
    /// the texts say what they would do, and what to use instead.
    Only(&'static [&'static str], &'static str, &'static str),
    /// It is refused. The texts say what it would do, and what to use instead; the
    /// second may be empty.
    Refused(&'static str, &'static str),
}

impl Opt {
    /// Makes an option that is replaced by the native `words`, followed by its value if
    /// it takes one.
    pub const fn native(names: &'static str, takes: Takes, words: &'static str) -> Self {
        Opt { names, takes, does: Does::Words(words) }
    }

    /// Makes a boolean option that is replaced by `words` if it is false.
    pub const fn native_if_false(names: &'static str, words: &'static str) -> Self {
        Opt { names, takes: Takes::Truth, does: Does::WordsIfFalse(words) }
    }

    /// Makes an option that the function of the command translates, as `how` describes.
    pub const fn built(names: &'static str, takes: Takes, how: &'static str) -> Self {
        Opt { names, takes, does: Does::Built(how) }
    }

    /// Makes an option that is ignored because it cannot change a result; `why` is the
    /// reason.
    pub const fn harmless(names: &'static str, takes: Takes, why: &'static str) -> Self {
        Opt { names, takes, does: Does::Harmless(why) }
    }

    /// Makes an option for which only `values` are accepted, because they cannot change
    /// a result. `what` says what other values would do, and `way` what to use instead.
    pub const fn only(
        names: &'static str,
        takes: Takes,
        values: &'static [&'static str],
        what: &'static str,
        way: &'static str,
    ) -> Self {
        Opt { names, takes, does: Does::Only(values, what, way) }
    }

    /// Makes an option that is refused. `what` says what it would do, and `way` what to
    /// use instead, if anything.
    pub const fn refused(
        names: &'static str,
        takes: Takes,
        what: &'static str,
        way: &'static str,
    ) -> Self {
        Opt { names, takes, does: Does::Refused(what, way) }
    }

    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        self.names.split(' ')
    }

    pub fn has_name(&self, name: &str) -> bool {
        self.names().any(|own| own == name)
    }
}
