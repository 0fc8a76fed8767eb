//! Which reads are counted: by flags, length and read group.

use std::collections::HashSet;

use readmill_record::{Header, RecordRef};

use super::options::StatsOptions;

#[derive(Clone, Debug, Default)]
pub(super) struct ReadSelection {
    exclude_flags: u16,
    require_flags: u16,
    length: Option<u32>,
    read_groups: Option<HashSet<Vec<u8>>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Selected {
    Yes,
    /// Its FLAG bits exclude it. The row `filtered sequences` counts it.
    Filtered,
    No,
}

impl ReadSelection {
    pub fn new(options: &StatsOptions, header: &Header) -> Self {
        ReadSelection {
            exclude_flags: options.exclude_flags,
            require_flags: options.require_flags,
            length: options.read_length,
            read_groups: options.id.as_ref().map(|id| find_read_groups(id.as_bytes(), header)),
        }
    }

    #[inline]
    pub fn classify_read(&self, record: RecordRef<'_>) -> Selected {
        if let Some(read_groups) = &self.read_groups
            && !record.read_group().is_some_and(|group| read_groups.contains(group))
        {
            return Selected::No;
        }
        let flags = record.flags().0;
        if flags & self.require_flags != self.require_flags || flags & self.exclude_flags != 0 {
            return Selected::Filtered;
        }
        match self.length {
            Some(length) if record.l_seq() != length as usize => Selected::No,
            _ => Selected::Yes,
        }
    }
}

fn find_read_groups(name: &[u8], header: &Header) -> HashSet<Vec<u8>> {
    let groups = header.lines_of_kind(b"RG").filter_map(|line| {
        let id = line.get(b"ID")?;
        (id == name || line.get(b"SM") == Some(name)).then(|| id.to_vec())
    });
    groups.collect()
}
