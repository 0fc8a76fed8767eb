//! The data from which sections about a sample are made, and the HTML around their parts.

use maud::{Markup, Render, html};

use crate::limits::Limits;
use crate::plot::Figure;
use crate::run::RunPart;

/// A sample whose sections are being built.
///
/// `page` creates one for each run. The function of each section takes it and returns the content of
/// the section, or `None` if the run did not count what the section shows. The page adds the heading
/// and the link in the table of contents.
pub struct PageSample<'a> {
    pub run: RunPart<'a>,
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

/// Returns the figures that there are, and tables after them, in an element that places them next to
/// each other if the window is wide enough.
pub fn wrap_figures(
    figures: impl IntoIterator<Item = Option<Figure>>,
    tables: impl IntoIterator<Item = Markup>,
) -> Markup {
    html! {
        div class="figures" {
            @for figure in figures.into_iter().flatten() { (figure.to_html()) }
            @for table in tables { (table) }
        }
    }
}

/// Returns a definition list of names and values.
pub fn facts_list(facts: &[(impl Render, impl Render)]) -> Markup {
    html! {
        dl class="facts" { @for (name, value) in facts { div { dt { (name) } dd { (value) } } } }
    }
}
