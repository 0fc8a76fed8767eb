//! igzip, the DEFLATE implementation of ISA-L, from the system's library. The module uses `unsafe`
//! code because igzip is written in C, and because its stream needs a special address.
//!
//! At least up to ISA-L 2.32, the assembly code of levels 1 and 2 has a defect: for the third byte
//! of a payload it hashes bits 16 to 47 of the address of the stream instead of the payload
//! (`write_first_byte` shifts the register that holds the stream). The output is valid, but the
//! number of matches may differ by one, so about one in several thousand blocks would differ
//! between threads and runs. Therefore each stream is placed at an address whose bits hash to zero.
#![allow(unsafe_code, reason = "calls ISA-L")]

use std::ffi::c_void;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use isal_sys::igzip_lib as isal;

use super::compress::Compress;

pub(super) struct Igzip {
    stream: StreamMemory,
    /// Match tables and tokens. All tokens of a block fit, so a payload becomes one DEFLATE block.
    tables: Vec<u8>,
    level: u32,
}

impl Igzip {
    pub(super) fn new(level: u8) -> Self {
        let (level, size) = match level {
            0 => (0, isal::ISAL_DEF_LVL0_DEFAULT),
            1 => (1, isal::ISAL_DEF_LVL1_DEFAULT),
            2 => (2, isal::ISAL_DEF_LVL2_DEFAULT),
            _ => (3, isal::ISAL_DEF_LVL3_DEFAULT),
        };
        Igzip { stream: StreamMemory::new(), tables: vec![0; size as usize], level }
    }
}

impl Compress for Igzip {
    fn compress(&mut self, payload: &[u8], out: &mut [u8]) -> Option<usize> {
        let (length, room) = (u32::try_from(payload.len()).ok()?, u32::try_from(out.len()).ok()?);
        // SAFETY: the memory holds a stream, and no other reference to it exists.
        let stream = unsafe { self.stream.0.as_mut() };
        // SAFETY: both calls get a whole stream. They leave no trace of the payload before.
        unsafe {
            isal::isal_deflate_stateless_init(stream);
            isal::isal_deflate_reset(stream);
        }
        stream.level = self.level;
        (stream.level_buf, stream.level_buf_size) = (self.tables.as_mut_ptr(), self.tables.len() as u32);
        stream.end_of_stream = 1;
        (stream.next_in, stream.avail_in) = (payload.as_ptr().cast_mut(), length);
        (stream.next_out, stream.avail_out) = (out.as_mut_ptr(), room);
        // SAFETY: `payload`, `out` and `tables` are live and have the lengths that the stream
        // contains. `payload` is only read.
        let result = unsafe { isal::isal_deflate_stateless(stream) };
        (result == isal::COMP_OK as i32).then_some(stream.total_out as usize)
    }
}

struct StreamMemory(NonNull<isal::isal_zstream>);

const STREAM_BYTES: usize = size_of::<isal::isal_zstream>();

/// The next address to try, shifted right by 16. Usually nothing else is mapped at such high
/// addresses.
static NEXT_ADDRESS: AtomicU32 = AtomicU32::new(0x2000_0000);

/// Number of addresses to try. If all fail, any address is accepted, and the output of igzip may
/// differ between runs.
const MAX_ADDRESS_TRIES: usize = 16;

impl StreamMemory {
    fn new() -> Self {
        let mut place = Self::map_stream(0);
        for _ in 0..MAX_ADDRESS_TRIES {
            let wanted = harmless_address();
            let tried = Self::map_stream(wanted);
            if tried.0.as_ptr().addr() == wanted {
                place = tried;
                break;
            }
        }
        place
    }

    fn map_stream(address: usize) -> Self {
        let (access, kind) =
            (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
        let hint = std::ptr::without_provenance_mut::<c_void>(address);
        // SAFETY: without MAP_FIXED the address is a hint, so no memory that is in use is touched.
        let at = unsafe { libc::mmap(hint, STREAM_BYTES, access, kind, -1, 0) };
        match NonNull::new(at.cast()) {
            // A stream consists of integers, arrays of integers, and pointers that may be null,
            // so zeros are a valid stream.
            Some(stream) if at != libc::MAP_FAILED => StreamMemory(stream),
            _ => std::alloc::handle_alloc_error(std::alloc::Layout::new::<isal::isal_zstream>()),
        }
    }
}

impl Drop for StreamMemory {
    fn drop(&mut self) {
        // SAFETY: the place was mapped with this length, and its stream goes with it.
        unsafe { libc::munmap(self.0.as_ptr().cast(), STREAM_BYTES) };
    }
}

// SAFETY: the memory belongs to this place alone. The pointers in the stream are used during
// `compress` only, which sets them; its Huffman tables are constants of the library.
unsafe impl Send for StreamMemory {}

/// Returns the next address whose bits 16 to 47 hash to zero in the 15 bits that igzip's tables
/// use. The hash is CRC-32C, as in igzip.
fn harmless_address() -> usize {
    loop {
        let high = NEXT_ADDRESS.fetch_add(1, Relaxed);
        let hash = (0..32).fold(high, |crc, _| (crc >> 1) ^ (0x82f6_3b78 * (crc & 1)));
        if hash & 0x7fff == 0 {
            return (high as usize) << 16;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Guards against the defect that the module describes.
    #[test]
    fn bytes_do_not_depend_on_where_a_stream_lies() {
        let payload = b"**%*%%*****%*%%%****NMC";
        let mut kept = Vec::new();
        for level in 0..=3 {
            let mut seen = Vec::new();
            for _ in 0..100 {
                let (mut igzip, mut out) = (Igzip::new(level), [0; 100]);
                let n = igzip.compress(payload, &mut out).unwrap();
                seen.push(out[..n].to_vec());
                kept.push(igzip);
            }
            seen.dedup();
            assert_eq!(seen.len(), 1, "level {level}");
        }
    }
}
