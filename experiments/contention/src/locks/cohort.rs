//! Lock cohorting of Dice, Marathe and Shavit 2015: a lock for the machine, and a queue on each node. A holder leaves both to
//! the next on its node, until that has happened so often that other nodes must have their turn.

use std::sync::atomic::{AtomicUsize, Ordering};

use super::backoff::Backoff;
use super::exclusion::{Apart, Lock, node};
use super::queue::{Left, Queue};

/// Times that the lock stays on a node while others wait.
const MOST: usize = 64;

/// The queue of a node, and how often it has kept the lock.
struct Node {
    queue: Queue,
    kept: Apart<AtomicUsize>,
}

pub struct Cohort {
    /// Who has it is the same to it: whoever enters it is the first of a node.
    machine: Backoff,
    nodes: Vec<Node>,
    threads: usize,
}

impl Cohort {
    pub fn new(threads: usize, nodes: usize) -> Self {
        let make = |_| Node { queue: Queue::new(threads), kept: Apart::default() };
        Cohort { machine: Backoff::new(1, 1), nodes: (0..nodes.max(1)).map(make).collect(), threads }
    }
}

impl Lock for Cohort {
    fn hold(&self, thread: usize, critical: &mut dyn FnMut()) {
        let Node { queue, kept } = &self.nodes[node(thread, self.threads, self.nodes.len())];
        if queue.enter(thread) == Left::Turn {
            self.machine.enter(0);
        }
        critical();
        // Only the holder touches the count.
        let times = kept.0.load(Ordering::Relaxed);
        if times < MOST && queue.is_followed(thread) {
            kept.0.store(times + 1, Ordering::Relaxed);
            queue.leave(thread, Left::More);
        } else {
            kept.0.store(0, Ordering::Relaxed);
            self.machine.leave();
            queue.leave(thread, Left::Turn);
        }
    }
}
