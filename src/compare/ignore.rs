//! Removes ignored flags and fields from records before they are compared.

use readmill_record::tag::Tag;
use readmill_record::{RecordRef, edit};

/// Takes bits of FLAG and optional fields out of the records of one file.
pub struct Ignore {
    flags: u16,
    tags: Vec<Tag>,
    scratch: Vec<u8>,
}

impl Ignore {
    /// Takes out these bits and tags.
    pub fn new(flags: u16, tags: &[Tag]) -> Self {
        Ignore { flags, tags: tags.to_vec(), scratch: Vec::new() }
    }

    /// The record without them.
    pub fn apply<'a>(&'a mut self, record: RecordRef<'a>) -> RecordRef<'a> {
        let flags = record.flags().0;
        let tags = !self.tags.is_empty() && record.fields().any(|field| self.tags.contains(&field.tag));
        if flags & self.flags == 0 && !tags {
            return record;
        }
        self.scratch.clear();
        self.scratch.extend_from_slice(&record.raw()[..record.fields_start()]);
        let mut fields = record.fields();
        loop {
            let here = fields.rest();
            let Some(field) = fields.next() else { break };
            if !self.tags.contains(&field.tag) {
                self.scratch.extend_from_slice(&here[..here.len() - fields.rest().len()]);
            }
        }
        edit::close(&mut self.scratch, 0);
        edit::set_flags(&mut self.scratch, flags & !self.flags);
        RecordRef::new(&self.scratch)
    }
}
