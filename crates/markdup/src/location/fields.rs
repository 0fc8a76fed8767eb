//! The fields of a read name, between colons, from its end.

/// Returns the number of colons in a name.
pub fn colons(qname: &[u8]) -> usize {
    qname.iter().filter(|&&byte| byte == b':').count()
}

/// Splits a name at its last colon.
pub fn split_last(qname: &[u8]) -> Option<(&[u8], &[u8])> {
    let colon = qname.iter().rposition(|&byte| byte == b':')?;
    Some((&qname[..colon], &qname[colon + 1..]))
}
