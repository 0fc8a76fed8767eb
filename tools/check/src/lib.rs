//! The documents of the project: their Markdown, their pages, and rules for their links.
//!
//! `./dev lint` checks the links with the program of this crate, and `./dev docs` checks them with
//! [`links`] before it builds the site.
#![cfg_attr(test, allow(clippy::unwrap_used))]

pub mod links;
pub mod markdown;
pub mod pages;
