//! The table rows for options of other tools: the value that an option takes, and its translation.

/// An option of another tool, as a row in the table of its command: its names, the kind of its
/// value, and what readmill does with it. The help of the fronts and docs/fronts.md are generated
/// from these rows.
#[derive(Clone, Copy)]
pub struct Opt {
    /// All names with their dashes, separated by spaces, as in the tool's help.
    pub names: &'static str,
    pub takes: Takes,
    pub does: Does,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Takes {
    Nothing,
    /// One value. If an option is given several times, the last value counts.
    Value,
    Values,
    /// Like `Values`, but a file that ends in `.list` or `.args` is replaced by its lines, as in
    /// Picard and GATK.
    Files,
    /// A Picard or GATK boolean: true or false. Without a value, it is true.
    Truth,
}

/// What readmill does with an option. A test checks that every option in a tool's help has a row,
/// so that none is ignored by accident.
#[derive(Clone, Copy, Debug)]
pub enum Does {
    /// Replaced by these words, followed by its value. A boolean is replaced if it is true.
    Words(&'static str),
    /// A boolean that is replaced by these words if it is false.
    WordsIfFalse(&'static str),
    /// Translated by the command's function. The text describes the translation for the help.
    Built(&'static str),
    /// Ignored, because it cannot affect a result. The text contains the reason.
    Harmless(&'static str),
    /// Ignored if it has one of these values, which cannot affect a result. Other values are
    /// refused; the texts describe their effect and an alternative.
    Only(&'static [&'static str], &'static str, &'static str),
    /// Refused. The texts describe its effect and an alternative; the second text may be empty.
    Refused(&'static str, &'static str),
}

impl Opt {
    /// Creates an option that is replaced by the native `words`, followed by its value if it takes
    /// one.
    pub const fn native(names: &'static str, takes: Takes, words: &'static str) -> Self {
        Opt { names, takes, does: Does::Words(words) }
    }

    /// Creates a boolean option that is replaced by `words` if it is false.
    pub const fn native_if_false(names: &'static str, words: &'static str) -> Self {
        Opt { names, takes: Takes::Truth, does: Does::WordsIfFalse(words) }
    }

    /// Creates an option that the command's function translates, as `how` describes.
    pub const fn built(names: &'static str, takes: Takes, how: &'static str) -> Self {
        Opt { names, takes, does: Does::Built(how) }
    }

    /// Creates an option that is ignored because it cannot affect a result; `why` is the reason.
    pub const fn harmless(names: &'static str, takes: Takes, why: &'static str) -> Self {
        Opt { names, takes, does: Does::Harmless(why) }
    }

    /// Creates an option that accepts only `values`, because they cannot affect a result. `what`
    /// describes the effect of other values, and `way` the alternative.
    pub const fn only(
        names: &'static str,
        takes: Takes,
        values: &'static [&'static str],
        what: &'static str,
        way: &'static str,
    ) -> Self {
        Opt { names, takes, does: Does::Only(values, what, way) }
    }

    /// Creates an option that is refused. `what` describes its effect, and `way` the alternative,
    /// if there is one.
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
