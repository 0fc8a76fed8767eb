//! BGZF: gzip members of at most 64 KiB that store their own length (SAM specification, section 4.1).

pub mod block_reader;
pub mod codec;
pub mod deflate;
mod gzip_tail;
pub mod inflate;
mod offsets;
pub mod window;

pub use block_reader::{Block, BlockReader, BlockTail, Chunk};
pub use codec::Codec;
pub use deflate::Deflater;
pub use inflate::{InflateReader, Inflater};
pub use offsets::VirtualOffsets;
pub use window::BlockWindow;

/// Most bytes a block may hold, compressed or not.
pub const MAX_BLOCK: usize = 1 << 16;

/// Most bytes that this program puts into a block: as many as htsjdk does (htslib: 65,280). They can always be
/// stored.
pub const BLOCK_PAYLOAD: usize = 65_498;

/// Bytes of records to expect in a block that ends before a record that would not fit: blocks of reads of a few
/// hundred bytes, or a thousand, hold this many.
pub const BLOCK_RECORDS: usize = 64_800;

/// The empty block that ends every complete file.
pub const EOF_BLOCK: [u8; 28] = [
    0x1f, 0x8b, 0x08, 0x04, 0, 0, 0, 0, 0, 0xff, 0x06, 0, b'B', b'C', 0x02, 0, 0x1b, 0, 0x03, 0, 0, 0,
    0, 0, 0, 0, 0, 0,
];
