//! One fuzz target as a binary for libFuzzer. `READMILL_FUZZ_TARGET` names the target at
//! build time: the code of other targets is removed, so that there is less coverage to scan
//! after each execution.
#![no_main]

use readmill_fuzz::Target;

const TARGET: Target = Target::of_build(env!("READMILL_FUZZ_TARGET"));

libfuzzer_sys::fuzz_target!(init: TARGET.write_seeds_of_build(), |bytes: &[u8]| (TARGET.run)(bytes));
