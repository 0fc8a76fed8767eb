//! Names in the header that records refer to.

use std::collections::HashMap;

use readmill_record::{Header, RecordRef};

/// Names of reference sequences and libraries; empty where no variable needs them.
#[derive(Default)]
pub(super) struct HeaderNames {
    references: Vec<Box<[u8]>>,
    /// LB of each read group.
    libraries: HashMap<Box<[u8]>, Box<[u8]>>,
}

impl HeaderNames {
    pub fn take_references(&mut self, header: &Header) {
        self.references = header.references().iter().map(|it| it.name.as_slice().into()).collect();
    }

    pub fn take_libraries(&mut self, header: &Header) {
        for group in header.lines_of(b"RG") {
            if let (Some(id), Some(library)) = (group.get(b"ID"), group.get(b"LB")) {
                self.libraries.entry(id.into()).or_insert_with(|| library.into());
            }
        }
    }

    /// Returns the name of a reference sequence, `*` for none.
    pub fn reference(&self, id: i32) -> &[u8] {
        let name = usize::try_from(id).ok().and_then(|id| self.references.get(id));
        name.map_or(b"*", |name| name)
    }

    /// Returns the library of a record's read group; empty if unknown.
    pub fn library(&self, record: RecordRef<'_>) -> &[u8] {
        let library = record.read_group().and_then(|group| self.libraries.get(group));
        library.map_or(b"", |library| library)
    }
}
