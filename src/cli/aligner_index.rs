//! Builds the index of an aligner such that a signal leaves either all of its files or none.

use std::path::{Path, PathBuf};

use readmill_align::IndexStage;
use readmill_process::pause::{self, Moment};
use readmill_process::signal;
use readmill_record::Result;

/// Builds the index `prefix` with `build`. If a signal arrives, removes the unfinished files
/// (`partials`). If `build` has already begun to rename files to their final names, lets it finish
/// first. `build` must report each stage to the function that it receives.
pub fn build_index_or_remove(
    prefix: &Path,
    partials: &[PathBuf],
    build: impl FnOnce(&mut dyn FnMut(IndexStage)) -> Result<()>,
) -> Result<()> {
    signal::register_for_removal(partials, &format!("the index with prefix {}", prefix.display()));
    let mut all_or_none = None;
    let built = build(&mut |stage| match stage {
        IndexStage::Read | IndexStage::Write => {}
        IndexStage::Sort => pause::at(Moment::IndexBegun),
        IndexStage::Name => {
            all_or_none = Some(signal::defer_signals());
            pause::at(Moment::IndexComplete);
        }
    });
    if built.is_ok() {
        signal::unregister_renamed(partials);
    }
    drop(all_or_none);
    signal::wait_for_signal_exit();
    built
}
