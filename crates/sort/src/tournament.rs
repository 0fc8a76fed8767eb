//! A tournament tree, which merges many sorted sources.

/// A tournament in which each inner node remembers the loser: one comparison a level finds the next
/// winner (Knuth, The Art of Computer Programming, volume 3, section 5.4.1). Equal keys win in the
/// order of their sources.
pub struct LoserTree<K> {
    /// `nodes[0]` is the winner; the others are the losers of their matches.
    nodes: Vec<(K, u32)>,
    leaves: usize,
}

/// A sort key with a value that sorts after all others and marks an exhausted source.
pub trait Ranked: Copy + Ord {
    /// The last value.
    const LAST: Self;
}

impl<const N: usize> Ranked for [u64; N] {
    const LAST: Self = [u64::MAX; N];
}

impl Ranked for super::Key {
    const LAST: Self = super::Key::LAST;
}

impl<K: Ranked> LoserTree<K> {
    /// Creates a tree over sources with these first keys.
    pub fn new(keys: Vec<K>) -> Self {
        Self::with(keys, |a, b| a < b)
    }

    /// The same with an order: `wins` says whether the first of two keys, each with its source, sorts first.
    /// It must be a total order in which [`Ranked::LAST`] is last.
    pub fn with(keys: Vec<K>, wins: impl Fn((K, u32), (K, u32)) -> bool) -> Self {
        let leaves = keys.len().next_power_of_two();
        let mut winners = vec![(K::LAST, u32::MAX); 2 * leaves];
        let mut nodes = vec![(K::LAST, u32::MAX); leaves];
        for (i, &key) in keys.iter().enumerate() {
            winners[leaves + i] = (key, i as u32);
        }
        for node in (1..leaves).rev() {
            let (a, b) = (winners[2 * node], winners[2 * node + 1]);
            (winners[node], nodes[node]) = if wins(b, a) { (b, a) } else { (a, b) };
        }
        nodes[0] = winners[1];
        LoserTree { nodes, leaves }
    }

    /// Returns the smallest key and its source; `None` if all are exhausted.
    pub fn winner(&self) -> Option<(K, usize)> {
        let (key, source) = self.nodes[0];
        (key != K::LAST).then_some((key, source as usize))
    }

    /// Gives the winner's source its next key and plays its matches again.
    pub fn replace(&mut self, key: K) {
        self.replace_with(key, |a, b| a < b);
    }

    /// The same, by the order of [`LoserTree::with`].
    pub fn replace_with(&mut self, key: K, wins: impl Fn((K, u32), (K, u32)) -> bool) {
        let source = self.nodes[0].1;
        let mut winner = (key, source);
        let mut node = (self.leaves + source as usize) / 2;
        while node > 0 {
            if wins(self.nodes[node], winner) {
                std::mem::swap(&mut self.nodes[node], &mut winner);
            }
            node /= 2;
        }
        self.nodes[0] = winner;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tree_of_any_size_yields_sorted_keys() {
        for k in 0..20usize {
            let mut lists: Vec<Vec<[u64; 1]>> =
                (0..k).map(|i| (0..i as u64 * 3).map(|j| [j * 7 % 31 + j]).collect()).collect();
            lists.iter_mut().for_each(|list| list.sort_unstable_by(|a, b| b.cmp(a)));
            let mut expected = lists.concat();
            expected.sort_unstable();
            let first = lists.iter_mut().map(|list| list.pop().unwrap_or(Ranked::LAST)).collect();
            let mut tree = LoserTree::new(first);
            let mut got = Vec::new();
            while let Some((key, source)) = tree.winner() {
                got.push(key);
                tree.replace(lists[source].pop().unwrap_or(Ranked::LAST));
            }
            assert_eq!(got, expected, "{k} lists");
        }
    }
}
