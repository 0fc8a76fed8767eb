//! A loser tree that merges many sorted sources, for [`crate::Merge`] and for the items of
//! duplicate marking (`readmill-markdup`).

/// A loser tree. After one of `k` keys was replaced, it finds the smallest key again with one
/// comparison for each of its log2(k) levels (Knuth, The Art of Computer Programming, volume 3,
/// section 5.4.1).
///
/// Each inner node holds the key that lost its match, and node 0 holds the overall winner. Sources
/// are numbered from 0. Among equal keys, the lowest source number wins, so a merge of stably
/// sorted sources is stable.
///
/// ```
/// use readmill_sort::tournament::{LoserTree, Ranked};
///
/// let mut sources = [vec![[1], [4]].into_iter(), vec![[2], [3]].into_iter()];
/// let first = sources.iter_mut().map(|source| source.next().unwrap_or(Ranked::LAST)).collect();
/// let mut tree = LoserTree::<[u64; 1]>::new(first);
///
/// let mut merged = Vec::new();
/// while let Some((key, source)) = tree.winner() {
///     merged.push(key[0]);
///     tree.replace_winner(sources[source].next().unwrap_or(Ranked::LAST));
/// }
/// assert_eq!(merged, [1, 2, 3, 4]);
/// ```
pub struct LoserTree<K> {
    /// `nodes[0]` is the winner. Each other node holds the loser of its match. Keys have the number
    /// of their source.
    nodes: Vec<(K, u32)>,
    leaves: usize,
}

/// A key that a [`LoserTree`] can merge. It reserves one value, greater than all real keys, to mark
/// an exhausted source.
pub trait Ranked: Copy + Ord {
    const LAST: Self;
}

impl<const N: usize> Ranked for [u64; N] {
    const LAST: Self = [u64::MAX; N];
}

impl Ranked for super::Key {
    const LAST: Self = super::Key::LAST;
}

impl<K: Ranked> LoserTree<K> {
    /// Creates a tree from the first key of each source, compared by `Ord`. The first key of an
    /// empty source is [`Ranked::LAST`].
    pub fn new(keys: Vec<K>) -> Self {
        Self::with_order(keys, |a, b| a < b)
    }

    /// Creates a tree that compares by `wins`, for keys whose order depends on more than their own
    /// value: [`crate::Merge`] also compares the tails of keys. `wins(a, b)` returns whether key
    /// `a` sorts before key `b`; each key has the number of its source. `wins` must be a total
    /// order in which [`Ranked::LAST`] is last.
    pub fn with_order(keys: Vec<K>, wins: impl Fn((K, u32), (K, u32)) -> bool) -> Self {
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

    /// Returns the smallest key and the number of its source, or `None` once all sources are
    /// exhausted.
    pub fn winner(&self) -> Option<(K, usize)> {
        let (key, source) = self.nodes[0];
        (key != K::LAST).then_some((key, source as usize))
    }

    /// Replaces the winner with the next key of its source, and replays the matches up to the root.
    /// At the end of the source, `key` is [`Ranked::LAST`].
    pub fn replace_winner(&mut self, key: K) {
        self.replace_winner_by(key, |a, b| a < b);
    }

    /// Replaces the winner like [`LoserTree::replace_winner`], for a tree created by
    /// [`LoserTree::with_order`]. `wins` must be the same order.
    pub fn replace_winner_by(&mut self, key: K, wins: impl Fn((K, u32), (K, u32)) -> bool) {
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
                tree.replace_winner(lists[source].pop().unwrap_or(Ranked::LAST));
            }
            assert_eq!(got, expected, "{k} lists");
        }
    }
}
