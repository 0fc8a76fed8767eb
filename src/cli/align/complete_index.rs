//! `--complete-index`: builds the file that a bwa 0.7 index lacks, before reads are aligned.

use std::fs::{File, TryLockError};
use std::path::Path;
use std::time::Instant;

use readmill_align::bwa::{complete_index, missing_transform, partial_index_files};
use readmill_process::console::write_log_line;
use readmill_process::limit;
use readmill_record::{Error, ErrorKind, Result};

use crate::cli::aligner_index::build_index_or_remove;

/// Builds the missing file of the index `prefix`, if bwa 0.7 built the index. `memory` is the
/// memory limit on the command line, in bytes.
///
/// Only one process builds the file, and processes that start at the same time wait for it. If the
/// file system does not support locks, each process builds the file under a temporary name and
/// renames it when it is complete, which is safe because the bytes are equal.
pub fn complete_bwa_index(prefix: &Path, memory: Option<u64>, is_quiet: bool) -> Result<()> {
    let Some(lacking) = missing_transform(prefix) else { return Ok(()) };
    let say = |text: String| {
        if !is_quiet {
            write_log_line(&format!("readmill: {text}"));
        }
    };
    let (shown, prefix_shown) = (lacking.display(), prefix.display());
    let locked = File::open(prefix.with_added_extension("pac"))
        .map_err(|error| Error::io("the index cannot be opened", &error).file(prefix))?;
    if let Err(TryLockError::WouldBlock) = locked.try_lock() {
        say(format!("waiting for another run that is building {shown}"));
        let _ = locked.lock();
    }
    if missing_transform(prefix).is_none() {
        return Ok(());
    }
    say(format!("{prefix_shown} has only a bwa 0.7 index; building {shown} (needed only once)"));
    let (begun, available) = (Instant::now(), limit::available_memory());
    let max_memory = memory.into_iter().chain(available.map(|(bytes, _)| bytes)).min();
    let built = build_index_or_remove(prefix, &partial_index_files(prefix), |report| {
        complete_index(prefix, max_memory, report)
    });
    let elsewhere = "build the index in another directory, and give DIR/NAME instead of REF: readmill index REF.fa -o DIR/NAME";
    built.map_err(|error| match error.kind {
        ErrorKind::Io => error.hint(elsewhere),
        ErrorKind::Usage if memory.is_none() => error.hint(match available {
            Some((bytes, whose)) => format!(
                "{whose} {} MiB; build the index on a machine with more memory: readmill index REF.fa (alignment needs less)",
                bytes >> 20
            ),
            None => elsewhere.to_string(),
        }),
        _ => error,
    })?;
    let bytes = lacking.metadata().map_or(0, |meta| meta.len());
    say(format!(
        "wrote {shown}: {} MiB, in {:.0} s",
        bytes.div_ceil(1 << 20),
        begun.elapsed().as_secs_f64()
    ));
    Ok(())
}
