//! The queue of future events.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

/// A thread is about to enter a section of its cycle; the one after the last is its work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    pub thread: usize,
    pub section: usize,
}

/// Events in the order of their times; of the same time, as they were added.
#[derive(Default)]
pub struct Events {
    heap: BinaryHeap<Entry>,
    added: u64,
}

struct Entry {
    time: f64,
    number: u64,
    event: Event,
}

impl Events {
    pub fn add(&mut self, time: f64, event: Event) {
        self.added += 1;
        self.heap.push(Entry { time, number: self.added, event });
    }

    pub fn next(&mut self) -> Option<(f64, Event)> {
        self.heap.pop().map(|entry| (entry.time, entry.event))
    }
}

impl Ord for Entry {
    /// The heap gives the greatest first, and that shall be the earliest.
    fn cmp(&self, other: &Self) -> Ordering {
        other.time.total_cmp(&self.time).then(other.number.cmp(&self.number))
    }
}

impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Entry {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Entry {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_earliest_comes_first_and_of_one_time_the_first_that_was_added() {
        let mut events = Events::default();
        for (time, thread) in [(2.0, 0), (1.0, 1), (2.0, 2), (0.5, 3)] {
            events.add(time, Event { thread, section: 0 });
        }
        let order: Vec<usize> = std::iter::from_fn(|| events.next()).map(|(_, e)| e.thread).collect();
        assert_eq!(order, [3, 1, 0, 2]);
    }
}
