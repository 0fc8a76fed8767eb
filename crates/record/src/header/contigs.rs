//! The dictionary of reference sequences that the @SQ lines of a header define, with lookup by name.

use std::collections::HashMap;
use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;

use hashbrown::HashTable;

use super::line::HeaderLine;
use crate::error::{Error, Result};
use crate::ledger::Charge;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReferenceSequence {
    pub name: Vec<u8>,
    pub length: u32,
}

/// The reference sequences in order, with lookup by name and by alternative name.
///
/// A header can have millions of contigs, so the name table holds only their indexes: 5 bytes for each
/// contig instead of a copy of its name.
#[derive(Debug, Default)]
pub(super) struct Contigs {
    pub(super) list: Vec<ReferenceSequence>,
    by_name: HashTable<u32>,
    /// Index by alternative name (AN), except names that are also the SN of a sequence.
    aliases: HashMap<Box<[u8]>, u32>,
    hasher: RandomState,
    pub(super) charge: Option<Charge>,
}

/// Maximum size of the name table in bytes per sequence: each slot takes 5 bytes (index and control
/// byte), and there are up to 16/7 slots per sequence.
const MAX_TABLE_ENTRY_BYTES: u64 = 12;

/// Returns the memory that the allocator uses for a buffer of `bytes` bytes. glibc adds 8, rounds up to
/// a multiple of 16, and uses at least 32.
pub(super) fn allocated_bytes(bytes: usize) -> u64 {
    if bytes == 0 { 0 } else { ((bytes as u64 + 8).next_multiple_of(16)).max(32) }
}

impl Contigs {
    /// Builds the dictionary from the @SQ lines.
    ///
    /// # Errors
    /// Fails if a line lacks a name or a length, or two lines have the same name.
    pub(super) fn from_lines(lines: &[HeaderLine]) -> Result<Self> {
        let of_sequences = || lines.iter().filter(|line| line.kind() == b"SQ");
        let n = of_sequences().count();
        let mut contigs = Contigs {
            list: Vec::with_capacity(n),
            by_name: HashTable::with_capacity(n),
            ..Contigs::default()
        };
        of_sequences().try_for_each(|line| contigs.push_line(line))?;
        for (id, line) in of_sequences().enumerate() {
            let names = line.get(b"AN").unwrap_or_default().split(|&b| b == b',');
            for name in names.filter(|name| !name.is_empty()) {
                if contigs.id_of_name(name).is_none() {
                    contigs.aliases.entry(name.into()).or_insert(id as u32);
                }
            }
        }
        Ok(contigs)
    }

    /// Builds the dictionary from the binary dictionary of a BAM file. If two sequences share a name, a
    /// lookup finds the first.
    pub(super) fn from_dictionary<'a>(
        dictionary: impl ExactSizeIterator<Item = (&'a [u8], u32)>,
    ) -> Self {
        let n = dictionary.len();
        let mut contigs = Contigs {
            list: Vec::with_capacity(n),
            by_name: HashTable::with_capacity(n),
            ..Contigs::default()
        };
        for (name, length) in dictionary {
            let is_first = contigs.id_of_name(name).is_none();
            contigs.list.push(ReferenceSequence { name: name.to_vec(), length });
            let Contigs { list, by_name, hasher, .. } = &mut contigs;
            if is_first {
                let hash_of = |id: u32| hasher.hash_one(&list[id as usize].name[..]);
                let id = list.len() as u32 - 1;
                by_name.insert_unique(hash_of(id), id, |&id| hash_of(id));
            }
        }
        contigs
    }

    fn push_line(&mut self, line: &HeaderLine) -> Result<()> {
        let shown = || String::from_utf8_lossy(line.text()).into_owned();
        let name = line.get(b"SN").filter(|name| !name.is_empty());
        let name = name.ok_or_else(|| Error::input(format!("@SQ without SN: {:?}", shown())))?;
        let length = line.get(b"LN").and_then(|v| std::str::from_utf8(v).ok()?.parse().ok());
        let length = length.filter(|&n: &u32| n <= i32::MAX as u32).ok_or_else(|| {
            Error::input(format!("@SQ needs an LN from 0 to 2147483647: {:?}", shown()))
        })?;
        if self.id_of_name(name).is_some() {
            return Err(Error::input(format!("two @SQ lines have the same name: {:?}", shown())));
        }
        let Contigs { list, by_name, hasher, .. } = self;
        let (hash, id) = (hasher.hash_one(name), list.len() as u32);
        by_name.insert_unique(hash, id, |&id| hasher.hash_one(&list[id as usize].name[..]));
        list.push(ReferenceSequence { name: name.to_vec(), length });
        Ok(())
    }

    pub(super) fn id_of_name(&self, name: &[u8]) -> Option<i32> {
        let found =
            self.by_name.find(self.hasher.hash_one(name), |&id| self.list[id as usize].name == name);
        found.map(|&id| id as i32)
    }

    pub(super) fn id_of_alias(&self, name: &[u8]) -> Option<i32> {
        self.aliases.get(name).map(|&id| id as i32)
    }

    pub(super) fn heap_bytes(&self) -> u64 {
        let names: u64 = self.list.iter().map(|contig| allocated_bytes(contig.name.len())).sum();
        let aliases: u64 = self.aliases.keys().map(|name| allocated_bytes(name.len()) + 40).sum();
        names + aliases + Self::max_heap_bytes(self.list.capacity() as u64, 0)
    }

    /// Returns the maximum memory in bytes for `n` sequences whose lines have `line_bytes` bytes in
    /// total. This is charged before the dictionary is built.
    pub(super) fn max_heap_bytes(n: u64, line_bytes: u64) -> u64 {
        // A name is part of its line. An alias needs its name, a table slot and the allocator's
        // overhead.
        n * (size_of::<ReferenceSequence>() as u64 + MAX_TABLE_ENTRY_BYTES)
            + line_bytes
            + if line_bytes > 0 { 32 * n } else { 0 }
    }
}
