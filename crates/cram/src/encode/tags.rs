//! Divides a record's tags into those that are stored and those that decoding makes.

use std::collections::HashMap;

use readmill_record::tag::{self, CG, Field};
use readmill_record::{RecordRef, Result};

use super::features::Made;
use super::series::cannot_hold;

/// Keys and values of the tags of a record that are stored.
#[derive(Default)]
pub struct Stored<'a> {
    /// Three bytes each.
    pub keys: Vec<u8>,
    /// In CRAM's form: texts with their zero, arrays with type and count.
    pub values: Vec<&'a [u8]>,
    /// The read group's number; -1 without.
    pub group: i32,
}

/// The MD and NM that decoding makes; `None` if it cannot make them.
pub type Expected<'a> = Option<&'a Made>;

/// Values of the tag cF, in which htslib stores which of MD and NM not to make.
static NOT_MADE: [[u8; 1]; 4] = [[0], [1], [2], [3]];

impl<'a> Stored<'a> {
    /// Takes the tags of `record`, without those that decoding makes itself.
    pub fn take(
        &mut self,
        record: RecordRef<'a>,
        groups: &HashMap<Vec<u8>, i32>,
        expected: Expected<'_>,
    ) -> Result<()> {
        self.keys.clear();
        self.values.clear();
        self.group = -1;
        let hides_cigar = record.long_cigar().is_some();
        let bytes = record.field_bytes();
        let (mut at, mut missing) = (0, 3);
        let mut fields = record.fields();
        while let Some(field) = fields.next() {
            let end = bytes.len() - fields.rest().len();
            let value = &bytes[at + 3..end];
            at = end;
            match field.tag {
                tag::RG if field.kind == b'Z' && self.group < 0 => {
                    if let Some(&group) = groups.get(field.value) {
                        self.group = group;
                        continue;
                    }
                }
                CG if hides_cigar => continue,
                [b'M', b'D'] if field.kind == b'Z' => {
                    missing &= !1;
                    if expected.is_some_and(|made| made.sure && made.md == field.value) {
                        continue;
                    }
                }
                [b'N', b'M'] => {
                    missing &= !2;
                    if expected.is_some_and(|made| made.sure && is_same(field, made.nm)) {
                        continue;
                    }
                }
                _ => {}
            }
            if !b"AcCsSiIfdZHB".contains(&field.kind) {
                return Err(cannot_hold("an optional field of this type", record));
            }
            if field.tag.contains(&0) {
                return Err(cannot_hold("an optional field whose name has a NUL", record));
            }
            self.keys.extend_from_slice(&[field.tag[0], field.tag[1], field.kind]);
            self.values.push(value);
        }
        if expected.is_some() && missing > 0 {
            self.keys.extend_from_slice(b"cFC");
            self.values.push(&NOT_MADE[missing]);
        }
        Ok(())
    }
}

/// Whether a field is `nm` in the type that it is made in.
fn is_same(field: Field<'_>, nm: u32) -> bool {
    match (field.kind, field.value) {
        (b'C', &[n]) => nm == u32::from(n),
        (b'S', &[a, b]) => nm > 0xff && nm == u32::from(u16::from_le_bytes([a, b])),
        (b'I', &[a, b, c, d]) => nm > 0xffff && nm == u32::from_le_bytes([a, b, c, d]),
        // Other integer types in SAM's sense: a number of any signed type is read back as unsigned.
        (b'c', &[n]) => i64::from(nm) == i64::from(n.cast_signed()),
        (b's', &[a, b]) => i64::from(nm) == i64::from(i16::from_le_bytes([a, b])),
        (b'i', &[a, b, c, d]) => i64::from(nm) == i64::from(i32::from_le_bytes([a, b, c, d])),
        _ => false,
    }
}
