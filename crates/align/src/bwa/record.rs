//! Completes bwa-mem3's records: adds the size and read group, and makes corrections so that they
//! equal bwa mem's.

use readmill_record::{Flags, RecordRef, edit, tag};

/// Length of the fixed fields of a record without `block_size` (SAM specification, section 4.2).
const FIXED_BYTES: usize = 32;

/// Writes a complete record to `out`. `body` is the output of bwa-mem3, which lacks `block_size`
/// and the read group.
pub(super) fn finish_record(body: &[u8], group: Option<&[u8]>, out: &mut Vec<u8>) {
    out.clear();
    out.extend_from_slice(&[0; 4]);
    if let Some(group) = group {
        let cut = body.len() - fields_after_scores(&body[fields_offset(body)..]).len();
        out.extend_from_slice(&body[..cut]);
        out.extend_from_slice(b"RGZ");
        out.extend_from_slice(group);
        out.push(0);
        out.extend_from_slice(&body[cut..]);
    } else {
        out.extend_from_slice(body);
    }
    edit::set_block_size(out, 0);
    correct_secondary(out);
}

/// Corrects secondary alignments of improper pairs (`-a`).
///
/// bwa-mem3-sys 0.4.4 also marks them as supplementary and adds XS; bwa mem does neither (0.7.17,
/// `mem_reg2sam`). They have no bases, unlike the parts of a split read that `-M` marks as
/// secondary.
fn correct_secondary(record: &mut Vec<u8>) {
    let view = RecordRef::new(record);
    let flags = view.flags();
    if flags.is_secondary() && view.l_seq() == 0 {
        edit::set_flags(record, flags.0 & !Flags::SUPPLEMENTARY);
        edit::remove_fields(record, 0, *b"XS");
    }
}

/// Returns whether a record without `block_size` is read 2 of a pair.
pub(super) fn is_last(body: &[u8]) -> bool {
    body[14] & 0x80 != 0
}

/// Returns the offset of the optional fields in a record without `block_size`.
fn fields_offset(body: &[u8]) -> usize {
    let word =
        |at: usize| u32::from_le_bytes([body[at], body[at + 1], body[at + 2], body[at + 3]]) as usize;
    let (name, operators, bases) = (word(8) & 0xff, word(12) & 0xffff, word(16));
    FIXED_BYTES + name + 4 * operators + bases.div_ceil(2) + bases
}

/// Returns the optional fields that follow NM, MD, MC, MQ, AS and XS. bwa mem inserts RG before
/// them (0.7.17, `mem_aln2sam`).
fn fields_after_scores(all: &[u8]) -> &[u8] {
    let mut fields = tag::Fields::new(all);
    let mut rest = all;
    while let Some(field) = fields.next() {
        if !matches!(&field.tag, b"NM" | b"MD" | b"MC" | b"MQ" | b"AS" | b"XS") {
            break;
        }
        rest = fields.rest();
    }
    rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_read_group_stands_where_bwa_writes_it() {
        for (before, after) in [
            (&b"NMC\x01ASC\x02SAZx\0"[..], &b"NMC\x01ASC\x02RGZg\0SAZx\0"[..]),
            (b"NMC\x01XSC\x02", b"NMC\x01XSC\x02RGZg\0"),
            (b"", b"RGZg\0"),
        ] {
            let mut body = vec![0; 32];
            body[8] = 2;
            body.extend_from_slice(b"r\0");
            body.extend_from_slice(before);
            let mut out = Vec::new();
            finish_record(&body, Some(b"g"), &mut out);
            assert_eq!(RecordRef::new(&out).field_bytes(), after);
            finish_record(&body, None, &mut out);
            assert_eq!(RecordRef::new(&out).field_bytes(), before);
            assert_eq!(RecordRef::check(&out, 1).map_err(|_| ()), Ok(()));
        }
    }
}
