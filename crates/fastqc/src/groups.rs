//! Groups of neighbouring positions, of which long reads have one line each.

/// Neighbouring positions, 1-based, both ends included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Group {
    pub first: usize,
    pub last: usize,
}

impl Group {
    /// Its positions, 0-based.
    pub fn range(self) -> std::ops::Range<usize> {
        self.first - 1..self.last
    }

    /// Its name in tables.
    pub fn name(self) -> String {
        if self.first == self.last {
            self.first.to_string()
        } else {
            format!("{}-{}", self.first, self.last)
        }
    }
}

/// The longest reads of which each position is a group.
const UNGROUPED: usize = 75;

/// Positions at the start that are always groups of their own.
const SINGLE: usize = 9;

/// The groups of reads of this length: single positions for short reads, or if all are wanted; else the first nine, and intervals
/// of 2, 5 or 10 times a power of ten, so that there are fewer than 75 groups.
pub(crate) fn groups(length: usize, no_group: bool) -> Vec<Group> {
    let interval = if no_group || length <= UNGROUPED { 1 } else { interval(length) };
    let (mut groups, mut first) = (Vec::new(), 1);
    while first <= length {
        // The tenth position starts a short group where intervals are longer, so that the next ones begin at multiples.
        let next = match first {
            1..=SINGLE => first + 1,
            10 if interval > 10 => interval,
            _ => first + interval,
        };
        groups.push(Group { first, last: (next - 1).min(length) });
        first = next;
    }
    groups
}

fn interval(length: usize) -> usize {
    let few = |&interval: &usize| SINGLE + (length - SINGLE).div_ceil(interval) < UNGROUPED;
    let wanted =
        (0..).map(|power| 10_usize.pow(power)).flat_map(|factor| [2, 5, 10].map(|it| it * factor));
    wanted.take(60).find(few).unwrap_or(length)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(length: usize) -> Vec<String> {
        groups(length, false).into_iter().map(Group::name).collect()
    }

    #[test]
    fn groups_are_few() {
        assert_eq!(names(0), [""; 0]);
        assert_eq!(names(75).len(), 75);
        assert_eq!(names(76)[7..11], ["8", "9", "10-11", "12-13"]);
        assert_eq!(names(76).last().unwrap(), "76");
        assert_eq!(names(150)[8..11], ["9", "10-14", "15-19"]);
        assert_eq!(names(151).last().unwrap(), "150-151");
        assert_eq!(names(1000)[8..12], ["9", "10-19", "20-39", "40-59"]);
        assert!(names(1_000_000).len() < 75);
        assert_eq!(groups(300, true).len(), 300);
    }
}
