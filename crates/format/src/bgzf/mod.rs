//! BGZF: gzip members of at most 64 KiB that say their own length (SAM specification, section 4.1).

pub mod codec;
pub mod deflate;
pub mod frame;
pub mod inflate;
pub mod stream;

pub use codec::Codec;
pub use deflate::Deflater;
pub use frame::{Block, BlockReader, Chunk};
pub use inflate::Inflater;
pub use stream::Stream;

/// Most bytes a block may hold, compressed or not.
pub const MAX_BLOCK: usize = 1 << 16;

/// Bytes that htslib, and we, put into a block before it is closed.
pub const BLOCK_PAYLOAD: usize = 0xff00;

/// The empty block that ends every complete file.
pub const EOF_BLOCK: [u8; 28] = [
    0x1f, 0x8b, 0x08, 0x04, 0, 0, 0, 0, 0, 0xff, 0x06, 0, b'B', b'C', 0x02, 0, 0x1b, 0, 0x03, 0, 0, 0,
    0, 0, 0, 0, 0, 0,
];
