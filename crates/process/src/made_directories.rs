//! Creates missing directories for report files, and removes them again if they stay empty.

use std::path::{Path, PathBuf};

use readmill_record::{Error, Result};

use crate::signal;

/// The directories that a run has created. Dropping it removes those that are empty, for example
/// after an error.
#[derive(Default)]
pub struct MadeDirectories {
    made: Vec<PathBuf>,
}

impl MadeDirectories {
    /// Creates the missing parent directories of `file`.
    pub fn create_parents(&mut self, file: &Path) -> Result<()> {
        let missing = |directory: &&Path| !directory.as_os_str().is_empty() && !directory.exists();
        let missing = Vec::from_iter(file.ancestors().skip(1).take_while(missing));
        for directory in missing.into_iter().rev() {
            signal::create_directory(directory).map_err(|e| {
                Error::io(format!("directory {} cannot be created", directory.display()), &e)
            })?;
            self.made.push(directory.to_path_buf());
        }
        Ok(())
    }
}

impl Drop for MadeDirectories {
    fn drop(&mut self) {
        for directory in self.made.iter().rev() {
            let _ = std::fs::remove_dir(directory); // fails if the directory is not empty
        }
    }
}
