//! Checks the accessors of a record against each other, for all targets that make records.

use readmill_record::{RecordRef, tag};

/// Calls every accessor of `record`, and checks that their results agree. Targets call it
/// for each record that the checker has accepted.
pub fn check_accessors(record: RecordRef<'_>) {
    let fields: usize = record.fields().map(|field| field_bytes(&field)).sum();
    assert_eq!(fields, record.field_bytes().len(), "the walk over the fields does not reach their end");
    for field in record.fields() {
        let first = record.field(field.tag).map(|first| first.tag);
        assert_eq!(first, Some(field.tag), "a field that was walked over is not found");
        let _ = (field.integer(), tag::locate_field(record.field_bytes(), field.tag));
    }
    let (cigar, stored) = (record.cigar(), record.stored_cigar());
    for cigar in [cigar, stored] {
        assert_eq!(cigar.ops().len(), cigar.ops().rev().count());
        let lengths = (cigar.reference_length(), cigar.query_length());
        let clips = (cigar.leading_clip(), cigar.trailing_clip());
        assert!(lengths.0 >= 0 && lengths.1 >= 0 && clips.0 >= 0 && clips.1 >= 0);
    }
    assert_eq!(record.qual().len(), record.l_seq());
    assert_eq!(record.seq().len(), record.l_seq().div_ceil(2));
    assert!(record.end() > i64::from(record.pos()));
    let _ = (record.five_prime(), record.read_group(), record.flags(), record.mapq(), record.bin());
    let _ = (record.next_ref_id(), record.next_pos(), record.tlen(), record.qname());
}

fn field_bytes(field: &tag::Field<'_>) -> usize {
    3 + field.value.len() + usize::from(matches!(field.kind, b'Z' | b'H'))
}
