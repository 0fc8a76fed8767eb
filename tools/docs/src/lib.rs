//! The documentation site, which is built from `docs`, and the commands on its pages.
//!
//! `./dev docs` is the program of this crate. Design note 0022 explains the site. `readmill_check`
//! reads the pages and checks their links.
#![cfg_attr(test, allow(clippy::unwrap_used))]

pub mod mdbook;
pub mod run;
pub mod site;
