//! The words of a command line, and what they say.

use std::collections::VecDeque;
use std::path::Path;

use readmill::files::{self, Memory};
use readmill_record::{Error, Result};

use super::option::Opt;

/// The words behind the name of a command.
pub struct Words {
    /// Those that are left to read.
    pub left: VecDeque<String>,
    /// The name of the tool and the command, for messages.
    pub command: String,
    /// Bytes of memory that files of words may take.
    pub memory: u64,
}

/// Words that have been read.
#[derive(Default)]
pub struct Parsed {
    /// The options with their values, in their order.
    pub options: Vec<(&'static Opt, String)>,
    /// Lists that `null` has emptied of what the tool has by itself.
    pub emptied: Vec<&'static Opt>,
    /// What is no option.
    pub operands: Vec<String>,
}

impl Words {
    /// Takes the value of an option.
    pub fn value(&mut self, option: &str) -> Result<String> {
        let missing = || Error::usage(format!("{} {option} needs a value", self.command));
        self.left.pop_front().ok_or_else(missing)
    }

    /// The error for an option that the table lacks.
    pub fn unknown(&self, option: &str) -> Error {
        Error::usage(format!("{} has no option {option}", self.command)).hint(format!(
            "readmill {} --help lists its options, and what becomes of them",
            self.command
        ))
    }
}

/// The lines of a file of arguments or names, without remarks and empty lines. Messages name the `command`.
pub fn read_lines(path: &str, command: &str, memory: u64) -> Result<Vec<String>> {
    let memory = Memory::of(memory)?;
    let mut lines = Vec::new();
    for line in files::lines(Path::new(path), &memory.ledger)? {
        let line = line.into_os_string().into_string().map_err(|line| {
            let what = format!("{path} has a line that is not UTF-8: {}", line.display());
            Error::usage(format!("{command}: {what}"))
        })?;
        if !line.starts_with('#') {
            lines.push(line);
        }
    }
    Ok(lines)
}
