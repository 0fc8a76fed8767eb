//! Aligns with randomly damaged indexes. The result is an error or the same records; the process
//! must never exit.
#![allow(clippy::unwrap_used)]

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use readmill_align::Kernel;
use readmill_record::{Error, ErrorKind};
use tempfile::TempDir;

use crate::common::{Draw, reads, records, reference};

type Load<'a> = dyn Fn(&Path) -> Result<Arc<dyn Kernel>, Error> + 'a;

/// A copy of the index of [`reference`]. The test repeatedly damages one of its files.
struct Copy<'a> {
    place: TempDir,
    suffixes: &'a [&'a str],
    load: &'a Load<'a>,
}

/// Number of random changes to each part of a file, each with its own seed.
const SEEDS: u64 = 40;

impl Copy<'_> {
    fn prefix(&self) -> PathBuf {
        self.place.path().join("ref.fa")
    }

    fn file(&self, suffix: &str) -> PathBuf {
        self.place.path().join(format!("ref.fa{suffix}"))
    }

    fn restore(&self) {
        for suffix in self.suffixes {
            std::fs::copy(format!("{}{suffix}", reference().display()), self.file(suffix)).unwrap();
        }
    }

    /// Changes up to 200 bytes of a part of a file, [`SEEDS`] times. Returns how many changes were
    /// reported as errors.
    ///
    /// If the part is `text`, a change that is not an error may result in different names or
    /// positions.
    fn damage(&self, suffix: &str, part: Range<usize>, text: bool) -> u64 {
        let reads = reads(2, 40);
        self.restore();
        let good = std::fs::read(self.file(suffix)).unwrap();
        let whole = records(&(self.load)(&self.prefix()).unwrap(), &reads, None);
        let mut errors = 0;
        for seed in 1..=SEEDS {
            let (mut draw, mut bytes) = (Draw(seed << 32 | part.start as u64 | 1), good.clone());
            let max_changes = if seed % 4 == 0 { 1 } else { 200 };
            for _ in 0..max_changes.min(part.len()) {
                let at = part.start + draw.below(part.len() as u64) as usize;
                bytes[at] ^= 1 + draw.below(255) as u8;
            }
            std::fs::write(self.file(suffix), &bytes).unwrap();
            match (self.load)(&self.prefix()) {
                Err(error) => {
                    let said = error.to_string();
                    let named = said.contains("ref.fa")
                        && said.contains("rebuild the index with `readmill index");
                    assert_eq!(error.kind, ErrorKind::Input, "{suffix} {part:?} {seed}: {said}");
                    assert!(named, "{suffix} {part:?} {seed}: {said}");
                    errors += 1;
                }
                Ok(kernel) => {
                    let found = records(&kernel, &reads, None);
                    assert!(text || found == whole, "{suffix} {part:?} {seed}: records changed");
                }
            }
        }
        errors
    }
}

#[cfg(feature = "bwa")]
#[test]
fn a_damaged_index_of_bwa_mem_is_an_error_or_harmless() {
    use readmill_align::bwa::{BwaKernel, BwaOptions};
    let load = |prefix: &Path| {
        BwaKernel::load(prefix, BwaOptions::default()).map(|kernel| Arc::new(kernel) as Arc<dyn Kernel>)
    };
    let suffixes = [".amb", ".ann", ".pac", ".bwt.2bit.64"];
    let copy = Copy { place: TempDir::new().unwrap(), suffixes: &suffixes, load: &load };
    copy.restore();
    let rows = 2 * 140_001 + 1;
    let high = 48 + (rows / 64 + 1) * 64;
    let low = high + rows / 8 + 1;
    let end = low + 4 * (rows / 8 + 1);
    assert_eq!(copy.file(".bwt.2bit.64").metadata().unwrap().len(), end as u64 + 8);
    for part in [0..48, 48..high, high..low, low..end, end..end + 8] {
        assert_eq!(copy.damage(".bwt.2bit.64", part.clone(), false), SEEDS, "{part:?}");
    }
    assert_eq!(copy.damage(".pac", 0..140_001 / 4, false), SEEDS);
    for suffix in [".ann", ".amb"] {
        let length = copy.file(suffix).metadata().unwrap().len() as usize;
        assert!(copy.damage(suffix, 0..length, true) > SEEDS / 2);
    }
}

#[cfg(feature = "minibwa")]
#[test]
fn a_damaged_index_of_minibwa_is_an_error_or_harmless() {
    use readmill_align::minibwa::{MinibwaKernel, MinibwaOptions};
    let load = |prefix: &Path| {
        let kernel = MinibwaKernel::load(prefix, MinibwaOptions::default());
        kernel.map(|kernel| Arc::new(kernel) as Arc<dyn Kernel>)
    };
    let copy = Copy { place: TempDir::new().unwrap(), suffixes: &[".l2b", ".mbw"], load: &load };
    copy.restore();
    let rows = 2 * 140_001_usize;
    let starts = 48 + 64 * rows.div_ceil(128) + 32 + 8;
    let end = starts + 8 * (rows / 16 + 1);
    assert_eq!(copy.file(".mbw").metadata().unwrap().len(), end as u64);
    for part in [0..48, 48..starts, starts..end] {
        assert_eq!(copy.damage(".mbw", part.clone(), false), SEEDS, "{part:?}");
    }
    let length = copy.file(".l2b").metadata().unwrap().len() as usize;
    let bases = 8 * 140_001_usize.div_ceil(32);
    let texts = "one\0two\0three\0first of three\0\0last\0".len();
    let words = length - texts - bases..length - texts;
    assert_eq!(copy.damage(".l2b", words.clone(), false), SEEDS);
    for part in [0..words.start, words.end..length] {
        assert!(copy.damage(".l2b", part.clone(), true) > 0, "{part:?}");
    }
}
