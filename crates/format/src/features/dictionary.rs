//! The contigs in the header of a file of genomic features.

use std::path::Path;

use readmill_record::{Charge, Error, Header, Ledger, Result, make_room};

/// Names and lengths of contigs, in the order of a file's header.
/// [`FeatureDictionary::check_header`] compares them with the header of the reads.
#[derive(Debug)]
pub struct FeatureDictionary {
    names: Vec<u8>,
    contigs: Vec<(usize, Option<u32>)>,
    charge: Charge,
}

impl FeatureDictionary {
    pub(super) fn new(ledger: &Ledger) -> Self {
        let charge = ledger.empty_charge("contigs of known sites");
        FeatureDictionary { names: Vec::new(), contigs: Vec::new(), charge }
    }

    /// Adds a contig with its length in bases, if known.
    ///
    /// # Errors
    /// Fails if the memory is not available.
    pub(super) fn push_contig(&mut self, name: &[u8], length: Option<u32>) -> Result<()> {
        make_room(&mut self.names, name.len(), &mut self.charge)?;
        make_room(&mut self.contigs, 1, &mut self.charge)?;
        self.names.extend_from_slice(name);
        self.contigs.push((self.names.len(), length.filter(|&n| n > 0)));
        Ok(())
    }

    pub(super) fn len(&self) -> usize {
        self.contigs.len()
    }

    pub fn is_empty(&self) -> bool {
        self.contigs.is_empty()
    }

    pub(super) fn contig_name(&self, number: usize) -> &[u8] {
        let start = number.checked_sub(1).map_or(0, |before| self.contigs[before].0);
        &self.names[start..self.contigs[number].0]
    }

    pub fn contigs(&self) -> impl Iterator<Item = (&[u8], Option<u32>)> {
        (0..self.len()).map(|number| (self.contig_name(number), self.contigs[number].1))
    }

    /// Checks that the file belongs to the genome of the reads with `header`: both have a contig in
    /// common, and all common contigs have the same length. These are the rules of
    /// `SequenceDictionaryUtils.validateDictionaries` of GATK 4.6.2 with default settings; a length
    /// of 0 means unknown. A file without contig names passes.
    pub fn check_header(&self, header: &Header, file: &Path) -> Result<()> {
        let mut shared = self.is_empty();
        for (name, length) in self.contigs() {
            let Some(id) = header.reference_id(name) else { continue };
            let reads = header.references()[id as usize].length;
            shared = true;
            if let Some(length) = length.filter(|&n| n != reads && reads != 0) {
                let name = String::from_utf8_lossy(name);
                let what = format!(
                    "contig {name} has {length} bases here, but {reads} in the header of the reads"
                );
                return Err(Error::input(what).file(file).hint(OTHER_BUILD_HINT));
            }
        }
        if shared { Ok(()) } else { Err(no_common_contig_error(self.contig_name(0), header, file)) }
    }
}

pub(crate) const OTHER_BUILD_HINT: &str =
    "the file is for another build of the genome; give the file for the build of the reads";

pub(crate) fn no_common_contig_error(theirs: &[u8], header: &Header, file: &Path) -> Error {
    let theirs = String::from_utf8_lossy(theirs);
    let reads =
        header.references().first().map_or("none".into(), |it| String::from_utf8_lossy(&it.name));
    let what = format!(
        "the file has no contig in common with the reads (first contig of the file: {theirs}, of the reads: {reads})"
    );
    Error::input(what)
        .file(file)
        .hint("check whether only one of the two has contig names with chr, and give the file for the genome of the reads")
}
