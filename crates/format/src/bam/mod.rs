//! BAM (SAM specification, section 4.2).

pub mod encode;
pub mod header;
pub mod index;

pub use encode::Encoder;
