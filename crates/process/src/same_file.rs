//! Detects that two paths are the same file, so that no output overwrites an input.

use std::os::unix::fs::MetadataExt;
use std::path::Path;

use readmill_record::Result;

use crate::atomic_file::{ensure_temporary_is_not_input, output_is_input_error};

/// Returns an error if writing `output` or its temporary file would overwrite `input`, even under a
/// different name. `-` stands for standard input and output.
///
/// # Errors
/// Fails if both are the same file, or if `input` is the temporary file of `output`.
pub fn ensure_output_is_not_input(input: &Path, output: &Path) -> Result<()> {
    let input = if input.as_os_str() == "-" { Path::new("/dev/stdin") } else { input };
    ensure_temporary_is_not_input(input, output)?;
    if output.as_os_str() != "-" && is_same_file(input, output) {
        Err(output_is_input_error(output))
    } else {
        Ok(())
    }
}

/// Returns whether two paths are equal or name the same file.
pub fn is_same_file(a: &Path, b: &Path) -> bool {
    let file = |path: &Path| {
        let meta = std::fs::metadata(path).ok().filter(|meta| meta.is_file())?;
        Some((meta.dev(), meta.ino()))
    };
    let spelled = |path: &Path| {
        let path = std::path::absolute(path).ok()?;
        Some(path.parent()?.canonicalize().ok()?.join(path.file_name()?))
    };
    a == b
        || spelled(a).is_some_and(|a| Some(a) == spelled(b))
        || file(a).is_some_and(|a| Some(a) == file(b))
}
