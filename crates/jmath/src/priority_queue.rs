//! The heap of `java.util.PriorityQueue`, whose polls among equal elements depend on its moves.

use std::cmp::Ordering;

/// A queue that polls the smallest element, and among equal elements the one that
/// `java.util.PriorityQueue` polls. A heap of the standard library may choose another.
///
/// ```
/// let mut queue = readmill_jmath::JavaPriorityQueue::new(|a: &(u32, char), b: &(u32, char)| a.0.cmp(&b.0));
/// for element in [(1, 'a'), (0, 'b'), (1, 'c'), (0, 'd')] {
///     queue.add(element);
/// }
/// let order: String = std::iter::from_fn(|| queue.poll()).map(|element| element.1).collect();
/// assert_eq!(order, "bdca");
/// ```
#[derive(Clone, Debug)]
pub struct JavaPriorityQueue<T, C> {
    heap: Vec<T>,
    compare: C,
}

impl<T, C: Fn(&T, &T) -> Ordering> JavaPriorityQueue<T, C> {
    /// Creates an empty queue that is ordered by `compare`, like `new PriorityQueue<>(comparator)`.
    pub fn new(compare: C) -> Self {
        JavaPriorityQueue { heap: Vec::new(), compare }
    }

    /// Returns the number of elements, like `size()`.
    pub fn len(&self) -> usize {
        self.heap.len()
    }

    /// Returns whether there is no element, like `isEmpty()`.
    pub fn is_empty(&self) -> bool {
        self.heap.is_empty()
    }

    /// Returns the element that [`poll`](Self::poll) would return, like `peek()`.
    pub fn peek(&self) -> Option<&T> {
        self.heap.first()
    }

    /// Adds an element, like `add(e)`: it rises from the end past larger parents, not past equal ones.
    pub fn add(&mut self, element: T) {
        let mut at = self.heap.len();
        self.heap.push(element);
        while at > 0 {
            let parent = (at - 1) / 2;
            if (self.compare)(&self.heap[at], &self.heap[parent]) != Ordering::Less {
                break;
            }
            self.heap.swap(at, parent);
            at = parent;
        }
    }

    /// Removes a smallest element, like `poll()`. The last element sinks from the root past smaller
    /// children; of two equal children, the left one rises.
    pub fn poll(&mut self) -> Option<T> {
        if self.heap.is_empty() {
            return None;
        }
        let first = self.heap.swap_remove(0);
        let (mut at, len) = (0, self.heap.len());
        while at < len / 2 {
            let mut child = 2 * at + 1;
            if child + 1 < len
                && (self.compare)(&self.heap[child], &self.heap[child + 1]) == Ordering::Greater
            {
                child += 1;
            }
            if (self.compare)(&self.heap[at], &self.heap[child]) != Ordering::Greater {
                break;
            }
            self.heap.swap(at, child);
            at = child;
        }
        Some(first)
    }
}
