//! The programs that a run wants, with their options.

use readmill_record::Error;

use crate::options::QcOptions;

/// The name of a program of Picard, and its files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PicardProgram {
    /// Picard's name of it.
    pub name: &'static str,
    /// The endings of its files, as CollectMultipleMetrics names them. (It does not run the programs of depths.)
    pub endings: &'static [&'static str],
}

/// The programs of a run, and the options of all.
#[derive(Clone, Debug)]
pub struct MetricSelection {
    pub options: QcOptions,
    /// The wanted programs, in the order of [`PROGRAMS`](crate::PROGRAMS).
    pub(crate) wanted: Vec<&'static PicardProgram>,
    /// Whether `all` was among the programs that the user named.
    pub(crate) is_all: bool,
}

impl MetricSelection {
    /// Returns those of these programs that are wanted.
    pub(crate) fn wanted_of(
        &self,
        programs: &'static [PicardProgram],
    ) -> impl Iterator<Item = &'static PicardProgram> {
        programs.iter().filter(|program| self.has(program))
    }

    /// Whether the program is wanted.
    pub fn has(&self, program: &PicardProgram) -> bool {
        self.wanted.contains(&program)
    }

    /// Returns the error for a `flag` that only `programs` use, if none of them is wanted.
    pub(crate) fn lacks_program(&self, flag: &str, programs: &str) -> Error {
        let first = programs.split(' ').next().unwrap_or(programs);
        if self.is_all {
            let what = format!(
                "{flag} is for {programs}, but `all` includes only programs that need no further files and no order"
            );
            return Error::usage(what).hint(format!("add the program: all,{first}; or omit {flag}"));
        }
        let what = format!("{flag} is for {programs}, which is not requested");
        Error::usage(what).hint(format!("add {first} to the programs, or omit {flag}"))
    }
}
