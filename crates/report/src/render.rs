//! Chooses the kind of page: of a single sample, or of several.

use serde_json::Value;

use crate::options::PageOptions;
use crate::page::render_sample_page;
use crate::plate::PlateBuilder;

/// Renders the HTML page of these runs; each run is one sample.
///
/// For a single run, the page is about that sample and has no script. For several runs, it compares
/// the samples, and its script shows the details of each; see [`PlateBuilder`]. The runs must have
/// passed [`check_description`](crate::check_description). The page omits everything for which a run
/// has no data.
pub fn render_page(runs: &[&Value], options: &PageOptions) -> String {
    if let [run] = runs {
        return render_sample_page(run, options);
    }
    let mut builder = PlateBuilder::new(options);
    runs.iter().for_each(|run| builder.add_run(run));
    builder.render()
}
