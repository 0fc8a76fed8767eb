//! Filters and edits, one file each.

pub mod drop_unmapped;
pub mod reconcile;
pub mod replace_dictionary;
pub mod replace_read_group;

pub use drop_unmapped::DropUnmapped;
pub use reconcile::Reconcile;
pub use replace_dictionary::ReplaceDictionary;
pub use replace_read_group::ReplaceReadGroup;
