//! The files of a run: the main output, extra outputs, and report files. Each is complete under its name, or not there.
//!
//! | file | contents |
//! |---|---|
//! | [`sink`] | an output: parts in their order, index |
//! | [`part_writer`] | encoding and writing parts on all threads |
//! | [`part_counts`] | the pieces of a part for each ordered tally (coverage, depths, statistics) |
//! | [`staged_parts`] | parts of an output in the file of a stage |
//! | [`files`] | the one file of an output, or its parts; their renaming once complete |
//! | [`coverage`] | files of coverage |
//! | [`routing`] | which reads of a batch go to which extra output |
//! | [`extra`] | the extra outputs that the plan asks for |
//! | [`group_files`] | the files of read groups |
//! | [`extra_writer`] | reads gathered, encoded and written to extra outputs |
//! | [`report_files`] | metrics, tables and statistics |
//! | [`texts`] | reports as JSON |
//! | [`atomic_file`] | one file, written under a temporary name |
//! | [`exclusive`] | creating a file that no other run writes |
//! | [`signal`] | signals that stop the run and remove unfinished files |

pub mod atomic_file;
pub mod coverage;
pub mod exclusive;
pub mod extra;
pub mod extra_writer;
mod files;
mod group_files;
mod made_directories;
pub mod part_counts;
mod part_writer;
pub mod report_files;
pub mod routing;
mod sample_name;
pub mod signal;
mod sink;
pub mod staged_parts;
mod texts;

pub use files::{CompleteOutput, index_names, remove_indexes};
pub use part_writer::{EncodedPart, PartEncoder, PartWriter};
pub use sink::{PartTarget, Sink};
