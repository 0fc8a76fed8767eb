//! Connects filters to a run: checks that they fit the input, and gives them the files and messages
//! that the filters crate cannot access.

use std::path::Path;

use readmill_filters::LoneMates;
use readmill_filters::spec::{FilterHost, FilterSteps, Filters, MakeContext};
use readmill_format::reference::Reference;
use readmill_input::Source;
use readmill_markdup::grouping::Evidence;
use readmill_process::console::Console;
use readmill_record::{Error, Header, Ledger, Limit, Result};

use crate::pipeline::inputs::{InputTask, Inputs, OpenOptions};
use crate::pipeline::open_input;
use crate::plan::Plan;

/// Maximum size of the header in a `--sequence-dictionary` file.
const MAX_DICTIONARY: Limit = Limit::of_bytes(64 << 20);

/// Returns an error if a filter needs adjacent mates, but the input does not have them: the header
/// declares coordinate order, or the first reads contain two incomplete templates with the same
/// name.
pub fn check_adjacent_mates(wanted: &Filters, inputs: &mut Inputs) -> Result<()> {
    if !wanted.facts().any(|facts| facts.adjacent_mates) || inputs.lanes().is_some() {
        return Ok(()); // aligned reads are grouped by template
    }
    let list = inputs.files();
    let hint = "sort the reads by name first: readmill sort -n";
    if let Some(input) = list.iter().find(|input| input.header.declares_coordinate_order()) {
        let what = "reads are sorted by coordinate, but this filter needs mates to be adjacent";
        return Err(Error::input(what).hint(hint).file(&input.path));
    }
    let Some(InputTask::Piece(number, _)) = inputs.peek_task()? else { return Ok(()) };
    let number = *number;
    let evidence = inputs.first_reads()?.batch().map(Evidence::of_batch);
    match evidence.is_some_and(|it| it.is_scattered()) {
        true => Err(LoneMates::scattered_error().file(&list[number].path)),
        false => Ok(()),
    }
}

/// Creates the steps for the plan's filters, which may edit `header`. Charges memory for the files
/// that they load to `ledger`.
pub fn make_filter_steps(
    plan: &Plan,
    header: &mut Header,
    ledger: &Ledger,
    console: &Console,
) -> Result<FilterSteps> {
    let host = Host { plan, ledger, console };
    let (lone_mates, discarded) = (None, None);
    plan.steps.filters.make_steps(&mut MakeContext {
        header,
        ledger,
        host: &host,
        lone_mates,
        discard_limit: discarded,
    })
}

/// What filters may access of a run: messages, the reference, and headers of other files.
struct Host<'a> {
    plan: &'a Plan,
    ledger: &'a Ledger,
    console: &'a Console,
}

impl FilterHost for Host<'_> {
    fn print_info(&self, text: &str) {
        self.console.write_line(text);
    }

    fn print_warning(&self, text: &str) {
        self.console.write_warning(text);
    }

    fn read_header(&self, path: &Path) -> Result<Header> {
        let (file, _) = open_input::open_stream(path)?;
        let rules = OpenOptions {
            allow_missing_eof: true,
            max_line: MAX_DICTIONARY,
            ledger: self.ledger.clone(),
            ..OpenOptions::default()
        };
        let source = Source::open(file, &rules).map_err(|e| e.file(path))?;
        self.console.warn_about_header(path, source.header());
        Ok(source.header().clone())
    }

    fn open_reference(&self) -> Result<Reference> {
        let reference = self.plan.resources.reference.as_ref();
        reference.ok_or_else(|| Error::bug("a filter has no reference"))?.open(self.ledger)
    }
}
