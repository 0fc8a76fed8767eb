//! Checksums of the tables, so that no bit of them changes unnoticed.

use std::fs;
use std::path::Path;

use sha2::{Digest, Sha256};

#[test]
fn tables_are_unchanged() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/data");
    for (name, sum) in [
        ("exp.bin", "0d3e3908a04db03e225c30b6db563ef4d26447f73f94721da0d8f1ed3bf12a43"),
        ("log.bin", "b1d7337b3d540d01b0746a3e6071cf20ae0dbf625fe7b94865a571405377e2be"),
        ("log10.bin", "6e5d6384da31ac0ec031274bb71d299f90e754889e13d0d6b3b2a6c6e3f1eb3a"),
        ("pow_exp2.bin", "4210a0d62905e97b5f75a348715540fe8de1301651ada0f6bfcd8db1eac5e4dc"),
        ("pow_log2.bin", "e160ebd49b52dedde8148fc2003759c5d49329c93072d1b7b13e71aab86223f2"),
        ("rcpps_intel.bin", "3e4839b6695443c06077b9165031436ef87546e10fa9eb2ff13366de34a19c04"),
    ] {
        let digest = Sha256::digest(fs::read(directory.join(name)).unwrap());
        let text: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(text, sum, "{name}");
    }
}
