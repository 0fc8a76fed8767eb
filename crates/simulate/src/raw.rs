//! Encodes BAM records (SAM specification, section 4.2).

pub(crate) struct RawRecord<'a> {
    pub(crate) contig: i32,
    pub(crate) position: i32,
    pub(crate) quality: u8,
    pub(crate) flags: u16,
    pub(crate) name: &'a [u8],
    pub(crate) cigar: &'a [u32],
    pub(crate) bases: &'a [u8],
    pub(crate) qualities: &'a [u8],
    pub(crate) mate_contig: i32,
    pub(crate) mate_position: i32,
    pub(crate) template_length: i32,
    pub(crate) covered: usize,
}

const CODES: [u8; 256] = {
    let mut table = [15; 256];
    table[b'A' as usize] = 1;
    table[b'C' as usize] = 2;
    table[b'G' as usize] = 4;
    table[b'T' as usize] = 8;
    table
};

impl RawRecord<'_> {
    /// Appends the record without tags, and returns its start. The caller appends tags and then
    /// calls [`set_block_size`].
    pub(crate) fn append_without_tags(&self, out: &mut Vec<u8>) -> usize {
        let start = out.len();
        out.reserve(400 + 2 * self.bases.len());
        let mut fixed = [0; 36];
        let mut put = |at: usize, bytes: &[u8]| fixed[at..at + bytes.len()].copy_from_slice(bytes);
        put(4, &self.contig.to_le_bytes());
        put(8, &self.position.to_le_bytes());
        put(12, &[self.name.len() as u8 + 1, self.quality]);
        put(14, &bai_bin(self.position, self.covered).to_le_bytes());
        put(16, &(self.cigar.len() as u16).to_le_bytes());
        put(18, &self.flags.to_le_bytes());
        put(20, &(self.bases.len() as u32).to_le_bytes());
        put(24, &self.mate_contig.to_le_bytes());
        put(28, &self.mate_position.to_le_bytes());
        put(32, &self.template_length.to_le_bytes());
        out.extend_from_slice(&fixed);
        out.extend_from_slice(self.name);
        out.push(0);
        self.cigar.iter().for_each(|element| out.extend_from_slice(&element.to_le_bytes()));
        let (pairs, last) = self.bases.as_chunks::<2>();
        let code = |base: u8| CODES[usize::from(base)];
        out.extend(pairs.iter().map(|&[a, b]| code(a) << 4 | code(b)));
        out.extend(last.iter().map(|&a| code(a) << 4));
        out.extend_from_slice(self.qualities);
        start
    }
}

/// Sets `block_size` of the record from `start` to the end of `out`.
pub(crate) fn set_block_size(start: usize, out: &mut [u8]) {
    let size = (out.len() - start - 4) as u32;
    out[start..start + 4].copy_from_slice(&size.to_le_bytes());
}

pub(crate) fn append_text_tag(name: &[u8; 2], value: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(name);
    out.push(b'Z');
    out.extend_from_slice(value);
    out.push(0);
}

pub(crate) fn append_number_tag(name: &[u8; 2], value: u32, out: &mut Vec<u8>) {
    out.extend_from_slice(name);
    if let Ok(value) = u8::try_from(value) {
        out.extend_from_slice(&[b'C', value]);
    } else {
        out.push(b'S');
        out.extend_from_slice(&(value as u16).to_le_bytes());
    }
}

fn bai_bin(position: i32, covered: usize) -> u16 {
    let end = position + (covered.max(1) as i32) - 1;
    for (shift, offset) in [(14, 4681), (17, 585), (20, 73), (23, 9), (26, 1)] {
        if position >> shift == end >> shift {
            return (offset + (position >> shift)) as u16;
        }
    }
    0
}

#[cfg(test)]
mod tests {
    use super::bai_bin;

    #[test]
    fn bins() {
        assert_eq!(bai_bin(-1, 0), 4680);
        assert_eq!(bai_bin(0, 100), 4681);
        assert_eq!(bai_bin(16_380, 10), 585);
        assert_eq!(bai_bin((1 << 26) - 1, 2), 0);
    }
}
