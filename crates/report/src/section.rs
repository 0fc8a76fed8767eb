//! The input of the section functions, and HTML helpers that they share.

use maud::{Markup, Render, html};

use crate::limits::Limits;
use crate::plot::Figure;
use crate::run::RunPart;

/// A sample whose sections are being built.
///
/// `page` creates one per run and passes it to the function of each section, which returns the
/// section's content, or `None` if the run has no data for it. The page adds the heading and the
/// link in the table of contents.
pub struct PageSample<'a> {
    pub run: RunPart<'a>,
    /// Prefix of all element ids of this sample, such as `s0-` for the first one, so that ids are
    /// unique on a page of several samples.
    pub prefix: String,
    pub limits: &'a Limits,
}

impl PageSample<'_> {
    pub fn element_id(&self, name: &str) -> String {
        format!("{}{name}", self.prefix)
    }
}

/// Returns the figures, then the tables, in an element that places them side by side if the window
/// is wide enough. Figures that are `None` are skipped.
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

/// Returns a definition list (`<dl>`) of names and values.
pub fn facts_list(facts: &[(impl Render, impl Render)]) -> Markup {
    html! {
        dl class="facts" { @for (name, value) in facts { div { dt { (name) } dd { (value) } } } }
    }
}
