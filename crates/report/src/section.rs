//! A section of the page about a sample, and what sections are made of.

use crate::limits::Limits;
use crate::run::Run;
use crate::text::escape;

/// A sample whose page is made.
pub struct Sample<'a> {
    /// Its run.
    pub run: Run<'a>,
    /// What the names of its elements begin with.
    pub prefix: String,
    /// Limits of its numbers.
    pub limits: &'a Limits,
}

impl Sample<'_> {
    /// The name of an element.
    pub fn id(&self, name: &str) -> String {
        format!("{}{name}", self.prefix)
    }
}

/// A section.
pub struct Section {
    /// Its name in the page.
    pub id: &'static str,
    /// The title.
    pub title: &'static str,
    /// The contents.
    pub body: String,
}

/// Figures beside each other where there is room.
pub fn figures(figures: &[String]) -> String {
    format!("<div class=\"figures\">{}</div>", figures.concat())
}

/// A list of names and what they are, both HTML.
pub fn facts(facts: &[(&str, String)]) -> String {
    let fact =
        |(name, value): &(&str, String)| format!("<div><dt>{}</dt><dd>{value}</dd></div>", escape(name));
    format!("<dl class=\"facts\">{}</dl>", facts.iter().map(fact).collect::<String>())
}
