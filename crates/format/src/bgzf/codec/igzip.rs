//! igzip, the DEFLATE of ISA-L, from the library that the system has. `unsafe` because it is C.

use isal_sys::igzip_lib as isal;

use super::Compress;

/// igzip's stateless compression, with the memory it needs.
pub(super) struct Igzip {
    stream: Box<isal::isal_zstream>,
    /// Match tables and tokens; a block's worth of tokens fits, so a payload becomes one DEFLATE block.
    tables: Vec<u8>,
    level: u8,
}

// SAFETY: the stream's pointers are set at the start of each call, from what the call was given and from `tables`,
// which the struct owns; its Huffman tables are constants of the library. So nothing is shared with other threads.
unsafe impl Send for Igzip {}

impl Igzip {
    pub(super) fn new(level: u8) -> Self {
        let (level, size) = match level {
            0 => (0, isal::ISAL_DEF_LVL0_DEFAULT),
            1 => (1, isal::ISAL_DEF_LVL1_DEFAULT),
            2 => (2, isal::ISAL_DEF_LVL2_DEFAULT),
            _ => (3, isal::ISAL_DEF_LVL3_DEFAULT),
        };
        let mut stream = Box::<isal::isal_zstream>::new_uninit();
        // SAFETY: the pointer is valid for one stream. A stream is integers, arrays of them, and pointers that may
        // be null, so zeros are a valid one.
        let stream = unsafe {
            stream.as_mut_ptr().write_bytes(0, 1);
            stream.assume_init()
        };
        Igzip { stream, tables: vec![0; size as usize], level }
    }
}

impl Compress for Igzip {
    fn compress(&mut self, payload: &[u8], out: &mut [u8]) -> Option<usize> {
        let (room, length) = (u32::try_from(out.len()).ok()?, u32::try_from(payload.len()).ok()?);
        let stream = &mut *self.stream;
        // SAFETY: both calls get a whole stream. They leave no trace of the payload before: the first sets all fields
        // below, the second all that is left.
        unsafe {
            isal::isal_deflate_stateless_init(stream);
            isal::isal_deflate_reset(stream);
        }
        stream.level = u32::from(self.level);
        (stream.level_buf, stream.level_buf_size) = (self.tables.as_mut_ptr(), self.tables.len() as u32);
        stream.end_of_stream = 1;
        (stream.next_in, stream.avail_in) = (payload.as_ptr().cast_mut(), length);
        (stream.next_out, stream.avail_out) = (out.as_mut_ptr(), room);
        // SAFETY: `payload`, which is only read, `out` and `tables` are live, and are as long as the stream says.
        let result = unsafe { isal::isal_deflate_stateless(stream) };
        (result == isal::COMP_OK as i32).then_some(stream.total_out as usize)
    }
}
