//! Chooses which of several files to read next: the one whose last counted read is first in
//! coordinate order. So few results wait for other files.

use std::sync::{Mutex, MutexGuard, PoisonError};

pub struct Frontier {
    /// Contig index and position of each file's last counted read.
    places: Mutex<Vec<(u32, u32)>>,
}

impl Frontier {
    pub fn new(files: usize) -> Self {
        Frontier { places: Mutex::new(vec![(0, 0); files]) }
    }

    fn lock_places(&self) -> MutexGuard<'_, Vec<(u32, u32)>> {
        self.places.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn advance(&self, file: usize, place: (u32, u32)) {
        self.lock_places()[file] = place;
    }

    /// Returns the index of the file to read next: the one with the smallest position and, if
    /// several have this position, the one with the fewest claims. `claims` contains the number of
    /// claims for each file, or `None` for a file that has ended.
    pub fn next_file(&self, claims: &[Option<u64>]) -> Option<usize> {
        let places = self.lock_places();
        let open = claims.iter().enumerate().filter_map(|(file, claims)| Some((file, (*claims)?)));
        open.min_by_key(|&(file, claims)| (places[file], claims)).map(|(file, _)| file)
    }
}

#[cfg(test)]
mod tests {
    use super::Frontier;

    #[test]
    fn the_file_that_is_behind_is_read_next() {
        let frontier = Frontier::new(3);
        assert_eq!(frontier.next_file(&[Some(1), Some(0), Some(0)]), Some(1));
        frontier.advance(1, (0, 5));
        frontier.advance(2, (1, 0));
        assert_eq!(frontier.next_file(&[Some(7), Some(0), Some(0)]), Some(0));
        assert_eq!(frontier.next_file(&[None, Some(9), Some(0)]), Some(1));
        assert_eq!(frontier.next_file(&[None, None, None]), None);
    }
}
