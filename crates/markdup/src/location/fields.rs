//! The fields of a read name, between colons, from its end.

/// How many colons a name has.
pub fn colons(qname: &[u8]) -> usize {
    qname.iter().filter(|&&byte| byte == b':').count()
}

/// What stands before the last colon, and what behind it.
pub fn split_last(qname: &[u8]) -> Option<(&[u8], &[u8])> {
    let colon = qname.iter().rposition(|&byte| byte == b':')?;
    Some((&qname[..colon], &qname[colon + 1..]))
}
