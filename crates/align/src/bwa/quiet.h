/* Gives bwa-mem3 a standard error stream that crates/align can replace; see quiet.rs. It is for builds with musl, whose
   `stderr` is a constant: CXXFLAGS='-include .../quiet.h'. */
#include <stdio.h>
#undef stderr
#ifdef __cplusplus
extern "C"
#else
extern
#endif
FILE *readmill_aligner_stderr;
#define stderr readmill_aligner_stderr
