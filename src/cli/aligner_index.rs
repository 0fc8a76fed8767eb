//! Builds the index of an aligner such that a signal leaves either all of its files or none.

use std::path::{Path, PathBuf};

use readmill_align::IndexStage;
use readmill_process::pause::{self, Moment};
use readmill_process::signal;
use readmill_record::Result;

/// Builds the index `prefix` with `build`. If a signal arrives, removes the unfinished files
/// (`partials`). If `build` has already begun to rename files to their final names, lets it finish
/// first. `build` must report each stage to the function that it receives.
pub fn complete_or_gone(
    prefix: &Path,
    partials: &[PathBuf],
    build: impl FnOnce(&mut dyn FnMut(IndexStage)) -> Result<()>,
) -> Result<()> {
    signal::remove_too(partials, &format!("the index {}", prefix.display()));
    let mut all_or_none = None;
    let built = build(&mut |stage| match stage {
        IndexStage::Read | IndexStage::Write => {}
        IndexStage::Sort => pause::at(Moment::IndexBegun),
        IndexStage::Name => {
            all_or_none = Some(signal::hold_off());
            pause::at(Moment::IndexComplete);
        }
    });
    if built.is_ok() {
        signal::complete(partials);
    }
    drop(all_or_none);
    signal::give_way();
    built
}
