//! BGZF: gzip members of at most 64 KiB that store their own length (SAM specification, section
//! 4.1).
//!
//! ```text
//!         serial            any thread          any thread
//! file --BlockReader--> Chunk --Inflater--> bytes      bytes --Deflater--> blocks ... EOF_BLOCK
//!                         |
//!                         +--VirtualOffsets--> file offset of each inflated byte
//! ```
//!
//! A reader that does not need threads uses [`InflateReader`], which joins the first two steps.
//! [`BlockWindow`] gives random access by block.

pub mod block_reader;
pub mod codec;
pub mod deflate;
mod gzip_tail;
pub mod inflate;
mod offsets;
pub mod window;

pub use block_reader::{BgzfBlock, BlockReader, BlockTail, Chunk};
pub use codec::Codec;
pub use deflate::Deflater;
pub use inflate::{InflateReader, Inflater};
pub use offsets::VirtualOffsets;
pub use window::BlockWindow;

/// Maximum size of a block in bytes, compressed or inflated (SAM specification, section 4.1).
pub const MAX_BLOCK: usize = 1 << 16;

/// The default compression level of BGZF: it gives the file size that users of samtools expect, in
/// less than half of zlib's time. Outputs to a pipe are not compressed unless a level is given
/// (`TargetFile::level` in `src/formats/target_file.rs`).
pub const DEFAULT_LEVEL: u8 = 6;

/// Maximum number of payload bytes that readmill puts into a block: htsjdk's value (htslib:
/// 65,280). A payload of this size still fits into a block if it must be stored uncompressed.
pub const BLOCK_PAYLOAD: usize = 65_498;

/// Expected number of record bytes in a block, if the block ends before a record that would not fit
/// and records have a few hundred to a thousand bytes. The sizes of partitions and of buffers of
/// extra outputs are multiples of this, so that their last blocks are full.
pub const BLOCK_RECORD_BYTES: usize = 64_800;

/// The empty block that ends every complete file (SAM specification, section 4.1.2). A file without
/// it is treated as truncated.
pub const EOF_BLOCK: [u8; 28] = [
    0x1f, 0x8b, 0x08, 0x04, 0, 0, 0, 0, 0, 0xff, 0x06, 0, b'B', b'C', 0x02, 0, 0x1b, 0, 0x03, 0, 0, 0,
    0, 0, 0, 0, 0, 0,
];
