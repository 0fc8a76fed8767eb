//! The data from which sections about a sample are made, and the HTML around their parts.

use crate::limits::Limits;
use crate::run::RunDescription;
use crate::text::escape_html;

/// A sample whose sections are being built.
///
/// `page` creates one for each run. Each section function takes it and returns a [`Section`], or
/// `None` if the run did not count what the section shows:
///
/// ```text
/// PageSample { run, prefix: "s0-", limits } ─► sections::*::make_section ─► PageSection { id, title, body }
/// ```
pub struct PageSample<'a> {
    pub run: RunDescription<'a>,
    /// Start of all element ids of this sample, `s0-` for the first one. It keeps the ids of
    /// several samples in a page distinct.
    pub prefix: String,
    pub limits: &'a Limits,
}

impl PageSample<'_> {
    pub fn element_id(&self, name: &str) -> String {
        format!("{}{name}", self.prefix)
    }
}

/// A finished section. The page adds the heading and the link in the table of contents.
pub struct PageSection {
    /// Id of the element, without the prefix of the sample.
    pub id: &'static str,
    pub title: &'static str,
    pub body: String,
}

/// Wraps figures in an element that places them next to each other if the window is wide enough.
pub fn wrap_figures(figures: &[String]) -> String {
    format!("<div class=\"figures\">{}</div>", figures.concat())
}

/// Returns a definition list. The names are escaped here; the values must be HTML.
pub fn facts_list(facts: &[(&str, String)]) -> String {
    let fact = |(name, value): &(&str, String)| {
        format!("<div><dt>{}</dt><dd>{value}</dd></div>", escape_html(name))
    };
    format!("<dl class=\"facts\">{}</dl>", facts.iter().map(fact).collect::<String>())
}
