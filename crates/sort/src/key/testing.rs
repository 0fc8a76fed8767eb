//! Records for the tests of orders.

use readmill_record::{Header, edit};

/// A record of the tests of orders.
pub struct TestRead<'a> {
    pub qname: &'a [u8],
    pub flags: u16,
    pub ref_id: i32,
    pub pos: i32,
    pub cigar: &'a [(u32, u32)],
    pub next_ref_id: i32,
    pub next_pos: i32,
    pub fields: &'a [u8],
}

impl Default for TestRead<'_> {
    fn default() -> Self {
        TestRead {
            qname: b"r",
            flags: 0,
            ref_id: 0,
            pos: 0,
            cigar: &[],
            next_ref_id: -1,
            next_pos: -1,
            fields: b"",
        }
    }
}

impl<'a> TestRead<'a> {
    pub fn with_flags(self, flags: u16) -> Self {
        TestRead { flags, ..self }
    }

    pub fn with_qname(self, qname: &'a [u8]) -> Self {
        TestRead { qname, ..self }
    }

    /// The record as BAM stores it, without bases.
    pub fn raw(&self) -> Vec<u8> {
        let mut raw = vec![0; 36];
        raw[4..8].copy_from_slice(&self.ref_id.to_le_bytes());
        raw[8..12].copy_from_slice(&self.pos.to_le_bytes());
        raw[12] = self.qname.len() as u8 + 1;
        raw[16..18].copy_from_slice(&(self.cigar.len() as u16).to_le_bytes());
        raw[18..20].copy_from_slice(&self.flags.to_le_bytes());
        raw[24..28].copy_from_slice(&self.next_ref_id.to_le_bytes());
        raw[28..32].copy_from_slice(&self.next_pos.to_le_bytes());
        raw.extend_from_slice(self.qname);
        raw.push(0);
        for (op, length) in self.cigar {
            raw.extend_from_slice(&(length << 4 | op).to_le_bytes());
        }
        raw.extend_from_slice(self.fields);
        edit::close(&mut raw, 0);
        raw
    }
}

/// A header with reference sequences of 1,000 bases.
pub fn header(n_ref: usize) -> Header {
    let text: String = (0..n_ref).map(|i| format!("@SQ\tSN:c{i}\tLN:1000\n")).collect();
    Header::parse(text.as_bytes()).unwrap()
}
