//! The options of other tools, and the three syntaxes in which they are written.

mod barclay;
mod getopt;
mod given;
mod go;
mod option;
mod words;

pub use given::{Grammar, ParsedArguments};
pub use option::{Does, Opt, Takes};
