//! The dictionary of reference sequences that a header's @SQ lines define.

use std::collections::HashMap;
use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;

use hashbrown::HashTable;

use super::line::HeaderLine;
use crate::error::{Error, Result};
use crate::ledger::Charge;

/// A reference sequence: its name and length in bases.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReferenceSequence {
    /// SN.
    pub name: Vec<u8>,
    /// LN.
    pub length: u32,
}

/// The reference sequences in order, with lookup by name.
#[derive(Debug, Default)]
pub(super) struct Contigs {
    pub(super) list: Vec<ReferenceSequence>,
    /// The indexes of all sequences, by name.
    by_name: HashTable<u32>,
    /// The alternative names (AN) that are not the name of any sequence.
    aliases: HashMap<Box<[u8]>, u32>,
    hasher: RandomState,
    pub(super) charge: Option<Charge>,
}

/// The most bytes that the table of names takes for each sequence: a number and a byte, in a table of twice as many
/// places and a seventh more.
const TABLE_ENTRY: u64 = 12;

/// Bytes that the allocator takes for a buffer of this size: glibc adds 8, rounds up to 16, and gives no less than
/// 32.
pub(super) fn block(bytes: usize) -> u64 {
    if bytes == 0 { 0 } else { ((bytes as u64 + 8).next_multiple_of(16)).max(32) }
}

impl Contigs {
    /// Reads the @SQ lines.
    ///
    /// # Errors
    /// A line lacks a name or a length, or two have one name.
    pub(super) fn of(lines: &[HeaderLine]) -> Result<Self> {
        let of_sequences = || lines.iter().filter(|line| line.kind() == b"SQ");
        let n = of_sequences().count();
        let mut contigs = Contigs {
            list: Vec::with_capacity(n),
            by_name: HashTable::with_capacity(n),
            ..Contigs::default()
        };
        of_sequences().try_for_each(|line| contigs.push(line))?;
        for (id, line) in of_sequences().enumerate() {
            let names = line.get(b"AN").unwrap_or_default().split(|&b| b == b',');
            for name in names.filter(|name| !name.is_empty()) {
                if contigs.id(name).is_none() {
                    contigs.aliases.entry(name.into()).or_insert(id as u32);
                }
            }
        }
        Ok(contigs)
    }

    /// Takes the binary dictionary of BAM. Of two sequences with one name, the first is found by it.
    pub(super) fn of_dictionary<'a>(dictionary: impl ExactSizeIterator<Item = (&'a [u8], u32)>) -> Self {
        let n = dictionary.len();
        let mut contigs = Contigs {
            list: Vec::with_capacity(n),
            by_name: HashTable::with_capacity(n),
            ..Contigs::default()
        };
        for (name, length) in dictionary {
            let is_first = contigs.id(name).is_none();
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

    fn push(&mut self, line: &HeaderLine) -> Result<()> {
        let shown = || String::from_utf8_lossy(line.text()).into_owned();
        let name = line.get(b"SN").filter(|name| !name.is_empty());
        let name = name.ok_or_else(|| Error::input(format!("@SQ without SN: {:?}", shown())))?;
        let length = line.get(b"LN").and_then(|v| std::str::from_utf8(v).ok()?.parse().ok());
        let length = length.filter(|&n: &u32| n <= i32::MAX as u32).ok_or_else(|| {
            Error::input(format!("@SQ needs an LN from 0 to 2147483647: {:?}", shown()))
        })?;
        if self.id(name).is_some() {
            return Err(Error::input(format!("two @SQ lines share one name: {:?}", shown())));
        }
        let Contigs { list, by_name, hasher, .. } = self;
        let (hash, id) = (hasher.hash_one(name), list.len() as u32);
        by_name.insert_unique(hash, id, |&id| hasher.hash_one(&list[id as usize].name[..]));
        list.push(ReferenceSequence { name: name.to_vec(), length });
        Ok(())
    }

    /// The index of the sequence with this name.
    pub(super) fn id(&self, name: &[u8]) -> Option<i32> {
        let found =
            self.by_name.find(self.hasher.hash_one(name), |&id| self.list[id as usize].name == name);
        found.map(|&id| id as i32)
    }

    /// The index of the sequence with this alternative name.
    pub(super) fn id_of_alias(&self, name: &[u8]) -> Option<i32> {
        self.aliases.get(name).map(|&id| id as i32)
    }

    /// Bytes of memory, with the allocator's share.
    pub(super) fn heap_bytes(&self) -> u64 {
        let names: u64 = self.list.iter().map(|contig| block(contig.name.len())).sum();
        let aliases: u64 = self.aliases.keys().map(|name| block(name.len()) + 40).sum();
        names + aliases + Self::bound(self.list.capacity() as u64, 0)
    }

    /// The most bytes of memory for this many sequences, if their lines have this many bytes together.
    pub(super) fn bound(n: u64, line_bytes: u64) -> u64 {
        // A name is a part of its line; an alias takes its name, a place in a table and what the allocator adds.
        n * (size_of::<ReferenceSequence>() as u64 + TABLE_ENTRY)
            + line_bytes
            + if line_bytes > 0 { 32 * n } else { 0 }
    }
}
