//! Checksums of the tables, so that no bit of them changes unnoticed.

use std::fs;
use std::path::Path;

use sha2::{Digest, Sha256};

#[test]
fn tables_are_unchanged() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/data");
    for (name, sum) in [
        ("gkl_f32.bin", "2c9790f081d6ec3f4a2cab8b72ddf6b4b69f1817d7dfdcfcac0bcf176c48fd28"),
        ("gkl_f64.bin", "94c43545c32b039af47dff223c5dfbe13a59bf9f62aff9bbfb571e244518a635"),
        ("log.bin", "0aa99d057e06495926d19ff3e165900a52b5a9f39043f5cea0ad35a9e5080b21"),
    ] {
        let digest = Sha256::digest(fs::read(directory.join(name)).unwrap());
        let text: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(text, sum, "{name}");
    }
}
