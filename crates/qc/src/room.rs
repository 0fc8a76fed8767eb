//! The memory limit of all counts that grow with read lengths, read groups or insert sizes.

pub(crate) use readmill_record::CountingRoom;
use readmill_record::CountingRoomUser;

const USER: CountingRoomUser = CountingRoomUser {
    what: "the quality metrics of these reads",
    why: "too many different insert sizes, read groups, or long reads",
    hint: "raise -m, use fewer threads, or choose fewer metrics",
};

/// Returns a limit of this number of bytes, with the error message of quality metrics.
pub(crate) fn counting_room(bytes: u64) -> CountingRoom {
    CountingRoom::new(bytes, &USER)
}
