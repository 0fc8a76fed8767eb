//! The memory of all counts of a run, which grow with the lengths of reads, read groups and insert sizes.

pub(crate) use readmill_record::CountingRoom;
use readmill_record::CountingRoomUser;

const USER: CountingRoomUser = CountingRoomUser {
    what: "the quality metrics of these reads",
    why: "too many different insert sizes, read groups, or long reads",
    hint: "raise -m, use fewer threads, or choose fewer metrics",
};

/// A room of so many bytes.
pub(crate) fn of(bytes: u64) -> CountingRoom {
    CountingRoom::new(bytes, &USER)
}
