//! The words of a command line before and after they are parsed.

use std::collections::VecDeque;
use std::path::Path;

use readmill_files::{CommandMemory, read_file_list};
use readmill_record::{Error, Result};

use super::option::Opt;

pub struct UnparsedArguments {
    pub left: VecDeque<String>,
    pub command: String,
    pub memory: u64,
}

#[derive(Default)]
pub struct ParsedOptions {
    pub options: Vec<(&'static Opt, String)>,
    pub emptied: Vec<&'static Opt>,
    pub operands: Vec<String>,
}

impl UnparsedArguments {
    pub fn take_value(&mut self, option: &str) -> Result<String> {
        let missing = || Error::usage(format!("{} {option} needs a value", self.command));
        self.left.pop_front().ok_or_else(missing)
    }

    pub fn unknown_option_error(&self, option: &str) -> Error {
        Error::usage(format!("{} has no option {option}", self.command))
            .hint(format!("to list its options: readmill {} --help", self.command))
    }
}

/// Reads the lines of a file of arguments, regions or file names, skipping empty lines. Error
/// messages contain `command`.
pub fn read_lines(path: &str, command: &str, memory: u64) -> Result<Vec<String>> {
    let memory = CommandMemory::divide(memory)?;
    let mut lines = Vec::new();
    for line in read_file_list(Path::new(path), &memory.ledger)? {
        let line = line.into_os_string().into_string().map_err(|line| {
            let what = format!("{path} has a line that is not UTF-8: {}", line.display());
            Error::usage(format!("{command}: {what}"))
        })?;
        lines.push(line);
    }
    Ok(lines)
}
