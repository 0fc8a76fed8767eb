//! The text of VCF files, as htsjdk 4.2.0 writes it for GATK 4.6.2.0.

mod header;
mod info;
mod record;

pub use header::{HeaderContig, VcfHeader, VcfMode};
pub use info::InfoValue;
pub use record::{SampleFields, VcfRecord};
