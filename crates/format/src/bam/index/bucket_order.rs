//! The order of bins in an index file.
//!
//! htslib keeps the bins of a reference sequence in a hash table, and writes them in the order of its
//! buckets. Readers ignore this order. It is reproduced here so that readmill's index files equal those
//! of `samtools index` byte for byte. The table works like klib's `khash.h`: the number of buckets is a
//! power of two, at most 77 % of them are in use, and probing uses growing steps.

fn max_used(n: usize) -> usize {
    (n as f64 * 0.77 + 0.5) as usize
}

fn find_bucket(key: u32, n: usize, is_free: impl Fn(usize) -> bool) -> usize {
    let (mut at, mut step) = (key as usize & (n - 1), 0);
    while !is_free(at) {
        step += 1;
        at = (at + step) & (n - 1);
    }
    at
}

/// Moves all keys to a table of `n` buckets. As in khash, if a key lands in a bucket whose old key has
/// not been moved yet, that key is moved next.
fn grow_table(mut old: Vec<Option<u32>>, n: usize) -> Vec<Option<u32>> {
    let mut new: Vec<Option<u32>> = vec![None; n];
    for from in 0..old.len() {
        let mut moving = old[from].take();
        while let Some(key) = moving {
            let at = find_bucket(key, n, |at| new[at].is_none());
            new[at] = Some(key);
            moving = old.get_mut(at).and_then(Option::take);
        }
    }
    new
}

/// Returns distinct keys in the order of their buckets, after inserting them in the given order. The
/// last key counts as inserted twice, because khash grows a full table before it finds that the key
/// exists already.
pub fn bucket_order(keys: impl Iterator<Item = u32>) -> Vec<u32> {
    let (mut table, mut used): (Vec<Option<u32>>, usize) = (Vec::new(), 0);
    for key in keys {
        table = ensure_room(table, used);
        let at = find_bucket(key, table.len(), |at| table[at].is_none());
        table[at] = Some(key);
        used += 1;
    }
    ensure_room(table, used).into_iter().flatten().collect()
}

fn ensure_room(table: Vec<Option<u32>>, used: usize) -> Vec<Option<u32>> {
    if used < max_used(table.len()) {
        return table;
    }
    let n = (table.len() + 1).next_power_of_two().max(4);
    grow_table(table, n)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_keys_lie_in_their_own_buckets() {
        assert_eq!(bucket_order([4681, 37450].into_iter()), [4681, 37450]);
        assert_eq!(bucket_order([4683, 4684, 37450].into_iter()), [37450, 4683, 4684]); // grown to eight
        assert_eq!(bucket_order([37450, 4681, 585].into_iter()), [585, 4681, 37450]);
        assert!(bucket_order([].into_iter()).is_empty());
    }

    #[test]
    fn every_key_is_there_once() {
        for n in [1, 3, 4, 7, 100, 5000] {
            let keys = (0..n).map(|i| i * 7919 % 37450);
            let mut order = bucket_order(keys.clone());
            order.sort_unstable();
            let mut all: Vec<u32> = keys.collect();
            all.sort_unstable();
            assert_eq!(order, all);
        }
    }
}
