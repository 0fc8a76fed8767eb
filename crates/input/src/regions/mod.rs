//! Reads only some regions of an indexed file, as a source like any other: what it claims are the records of the
//! regions, so nothing behind it knows of regions.
//!
//! | file | contents |
//! |---|---|
//! | `request` | the regions, and the indexed file |
//! | `bgzf` | BAM, and SAM in BGZF, by BAI or CSI |
//! | `record` | the places of records and lines |
//! | `cram` | CRAM, by CRAI |

mod bgzf;
mod cram;
mod record;
mod request;

use readmill_format::bgzf::Chunk;
use readmill_record::{Limit, Result};

use crate::claim::Claim;
pub use bgzf::BgzfRegions;
pub use cram::CramRegions;
pub use request::{IndexedInput, Regions};

/// Reads regions.
pub enum RegionReader {
    /// Of BAM, and of SAM in BGZF.
    Bgzf(Box<BgzfRegions>),
    /// Of CRAM.
    Cram(Box<CramRegions>),
}

impl RegionReader {
    /// Takes the next records; `None` behind the last region.
    pub fn claim(&mut self, reuse: Chunk) -> Result<Option<Claim>> {
        match self {
            RegionReader::Bgzf(reader) => reader.claim(reuse),
            RegionReader::Cram(reader) => reader.claim(reuse.compressed),
        }
    }

    /// About how many bytes of the file are read.
    pub fn bytes(&self) -> u64 {
        match self {
            RegionReader::Bgzf(reader) => reader.expected_bytes(),
            RegionReader::Cram(reader) => reader.expected_bytes(),
        }
    }

    /// Refuses containers of CRAM that take more than `most`.
    pub fn limit_containers(&mut self, most: Limit) {
        if let RegionReader::Cram(reader) = self {
            reader.limit(most);
        }
    }
}
