#!/bin/sh
# Compiles a crate of this workspace so that libFuzzer sees its coverage: `./dev fuzz` has Cargo call this in place of
# rustc. Dependencies stay as they are: what they do with an input is not ours to explore, and they are faster so.
exec "$@" -Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
    -Cllvm-args=-sanitizer-coverage-trace-compares
