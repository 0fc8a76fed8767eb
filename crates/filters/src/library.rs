//! The flag `--library`: keep the reads of one library.

use readmill_record::{Header, RecordRef, Result, Step};

use crate::criterion::Criterion;
use crate::flag::{Flag, FlagValue, flag_with_value, shell_quote};
use crate::spec::{Filter, FilterSpec, MakeContext};

pub(crate) const SPEC: FilterSpec = FilterSpec {
    flags: &[Flag::with_value(
        "library",
        FlagValue::Text,
        "LIB",
        "Keep only reads whose read group has this library (LB)",
    )],
    parse: |given, filters| {
        filters.extend(given.parse_value("library")?.map(|library| LibraryRequest { library }));
        Ok(())
    },
};

#[derive(Debug)]
struct LibraryRequest {
    library: String,
}

impl Filter for LibraryRequest {
    fn command_words(&self) -> Vec<String> {
        flag_with_value("--library", shell_quote(&self.library))
    }

    fn make_step(&self, context: &mut MakeContext<'_>) -> Result<Box<dyn Step>> {
        let library = InLibrary::new(self.library.as_bytes(), context.header);
        if library.groups.is_empty() {
            context
                .host
                .print_warning(&format!("no read group of the header has library {}", self.library));
        }
        Ok(Box::new(library.into_step()))
    }
}

/// Keeps reads whose read group has this library (LB; `samtools view -l`). Reads without a read
/// group are dropped.
#[derive(Clone)]
pub struct InLibrary {
    groups: Vec<Vec<u8>>,
}

impl InLibrary {
    /// Creates the criterion from the `@RG` lines of `header`. If no read group has this library,
    /// all reads are dropped.
    pub fn new(library: &[u8], header: &Header) -> Self {
        let own = header.lines_of_kind(b"RG").filter(|line| line.get(b"LB") == Some(library));
        let mut groups: Vec<Vec<u8>> = own.filter_map(|line| Some(line.get(b"ID")?.to_vec())).collect();
        groups.sort_unstable();
        InLibrary { groups }
    }
}

impl Criterion for InLibrary {
    fn name(&self) -> &'static str {
        "library"
    }

    fn dropped_label(&self) -> &'static str {
        "reads of other libraries dropped"
    }

    #[inline]
    fn keeps_read(&mut self, record: RecordRef<'_>) -> Result<bool> {
        let Some(id) = record.read_group() else { return Ok(false) };
        Ok(self.groups.binary_search_by(|group| group.as_slice().cmp(id)).is_ok())
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{header, kept};
    use super::*;

    #[test]
    fn all_read_groups_of_the_library_stay() {
        let header = header("@SQ SN:c LN:1000;@RG ID:x LB:l;@RG ID:y LB:m;@RG ID:z LB:l;@RG ID:w");
        let read = |name: &str, group: &str| format!("{name} 0 c 7 60 4M * 0 0 ACGT IIII {group}");
        let reads = [
            read("a", "RG:Z:x"),
            read("b", "RG:Z:y"),
            read("c", "RG:Z:z"),
            read("d", "RG:Z:w"),
            read("e", "RG:Z:other"),
            read("f", "NM:i:1"),
        ];
        let reads: Vec<&str> = reads.iter().map(String::as_str).collect();
        assert_eq!(kept(&mut InLibrary::new(b"l", &header).into_step(), &header, &reads), "a c");
        assert_eq!(kept(&mut InLibrary::new(b"n", &header).into_step(), &header, &reads), "");
    }
}
