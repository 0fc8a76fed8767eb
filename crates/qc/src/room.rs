//! The memory of all counts of a run, which grow with the lengths of reads, read groups and insert sizes.

pub(crate) use readmill_record::Room;
use readmill_record::RoomUser;

const USER: RoomUser = RoomUser {
    what: "the quality metrics of these reads",
    why: "too many different insert sizes, read groups, or long reads",
    hint: "raise -m, use fewer threads, or choose fewer metrics",
};

/// A room of so many bytes.
pub(crate) fn of(bytes: u64) -> Room {
    Room::new(bytes, &USER)
}
