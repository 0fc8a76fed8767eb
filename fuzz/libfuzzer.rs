//! One target as a binary that libFuzzer drives. `READMILL_FUZZ_TARGET` names the target when the binary is built: what
//! other targets need is left out of it, so that there is less coverage to go over after each execution.
#![no_main]

use readmill_fuzz::Target;

const TARGET: Target = Target::of_build(env!("READMILL_FUZZ_TARGET"));

libfuzzer_sys::fuzz_target!(init: TARGET.write_seeds_of_build(), |bytes: &[u8]| (TARGET.run)(bytes));
