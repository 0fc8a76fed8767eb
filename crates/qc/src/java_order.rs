//! The order in which Java's HashSet lists names, in which Picard writes rows and joins the names of samples.

/// Sorts names as a HashSet lists them to which they are added one by one. Each name is there once.
pub(crate) fn java_order(names: &mut [Vec<u8>]) {
    let mut buckets = 16_usize;
    while names.len() * 4 > buckets * 3 {
        buckets *= 2;
    }
    // Names of one bucket stay in the order in which they were added.
    names.sort_by_key(|name| {
        let hash = hash(name);
        (hash ^ hash >> 16) as usize & (buckets - 1)
    });
}

/// String.hashCode.
fn hash(name: &[u8]) -> u32 {
    let text = String::from_utf8_lossy(name);
    text.encode_utf16().fold(0, |hash: u32, unit| hash.wrapping_mul(31).wrapping_add(unit.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_in_the_order_of_their_buckets() {
        assert_eq!(hash(b"lib1"), 3_321_420, "'l' * 31^3 + 'i' * 31^2 + 'b' * 31 + '1'");
        let ordered = |names: &[&str]| {
            let mut names: Vec<Vec<u8>> = names.iter().map(|name| name.as_bytes().to_vec()).collect();
            java_order(&mut names);
            names.iter().map(|name| String::from_utf8_lossy(name).into_owned()).collect::<Vec<_>>()
        };
        assert_eq!(
            ordered(&["q", "b", "a", "r"]),
            ["q", "a", "b", "r"],
            "q and a share a bucket, as b and r do"
        );
    }
}
