//! Groups of adjacent positions, which share a line in the tables of long reads.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Group {
    pub first: usize,
    pub last: usize,
}

impl Group {
    pub fn range(self) -> std::ops::Range<usize> {
        self.first - 1..self.last
    }

    pub fn name(self) -> String {
        if self.first == self.last {
            self.first.to_string()
        } else {
            format!("{}-{}", self.first, self.last)
        }
    }
}

/// Maximum read length at which each position has its own line. Longer reads have fewer groups than
/// this.
const MAX_UNGROUPED_LENGTH: usize = 75;

const SINGLE_POSITIONS: usize = 9;

/// Divides the positions of reads with `length` bases into groups.
///
/// Reads of up to 75 bases, and all reads if `no_group` is set, have one group per position. Longer
/// reads have the first nine positions, followed by intervals of 2, 5 or 10 times a power of ten,
/// so that there are fewer than 75 groups. These are FastQC's groups.
pub(crate) fn make_groups(length: usize, no_group: bool) -> Vec<Group> {
    let interval = if no_group || length <= MAX_UNGROUPED_LENGTH { 1 } else { choose_interval(length) };
    let (mut groups, mut first) = (Vec::new(), 1);
    while first <= length {
        // If intervals are longer than 10, the group that starts at position 10 is shorter, so that
        // all later groups start at multiples of the interval.
        let next = match first {
            1..=SINGLE_POSITIONS => first + 1,
            10 if interval > 10 => interval,
            _ => first + interval,
        };
        groups.push(Group { first, last: (next - 1).min(length) });
        first = next;
    }
    groups
}

fn choose_interval(length: usize) -> usize {
    let few = |&interval: &usize| {
        SINGLE_POSITIONS + (length - SINGLE_POSITIONS).div_ceil(interval) < MAX_UNGROUPED_LENGTH
    };
    let wanted =
        (0..).map(|power| 10_usize.pow(power)).flat_map(|factor| [2, 5, 10].map(|it| it * factor));
    wanted.take(60).find(few).unwrap_or(length)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(length: usize) -> Vec<String> {
        make_groups(length, false).into_iter().map(Group::name).collect()
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
        assert_eq!(make_groups(300, true).len(), 300);
    }
}
