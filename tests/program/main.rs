//! The program from end to end: one binary for all tests that run it or its plans.

#[cfg(feature = "bwa")]
mod align;
mod bqsr;
mod call;
mod cluster;
mod compare;
mod coverage;
mod cram;
mod depth;
mod depths;
mod dev_script;
mod duplicates;
mod extra_outputs;
mod fastqc;
mod faults;
mod filters;
mod fingerprint;
mod fronts;
mod grouping;
mod habits;
mod headers;
mod import;
mod index;
mod inputs;
#[cfg(feature = "bwa")]
mod integrations;
mod invariance;
mod invariance_bqsr;
mod invariance_duplicates;
mod long_reads;
mod manual;
mod markdup;
mod md5_files;
mod merge_alignment;
#[cfg(feature = "minibwa")]
mod minibwa;
mod missing_fields;
mod parts;
mod picard;
mod presorted;
#[cfg(all(feature = "bwa", target_arch = "x86_64"))]
mod processors;
mod read_groups;
mod report;
mod run_json;
mod sample_names;
mod shapes;
mod shard;
mod silent_results;
mod sort;
mod steps;
mod support;
mod terminal;
mod umi;
mod verify;
mod view;
