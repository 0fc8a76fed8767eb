//! The published measurements of Langmead et al. 2018, of unpaired reads; `data/langmead2018.tsv` says where they are from.

/// The best that one program did in one way on one machine.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Peak {
    /// The machine: `Skylake`, `Broadwell` or `KNL`.
    pub machine: &'static str,
    /// The program: `HISAT`, `Bowtie` or `Bowtie 2`.
    pub aligner: &'static str,
    /// How it read and what locks it used, as the file says.
    pub way: &'static str,
    /// Threads at which it did best.
    pub threads: usize,
    /// Reads per second.
    pub rate: f64,
}

/// All of them, as they stand in the file.
pub fn peaks() -> Vec<Peak> {
    include_str!("../data/langmead2018.tsv").lines().filter_map(peak).collect()
}

fn peak(line: &'static str) -> Option<Peak> {
    let mut fields = line.split('\t').filter(|_| !line.starts_with('#'));
    let [machine, aligner, way] = [fields.next()?, fields.next()?, fields.next()?];
    let [threads, thousands] = [fields.next()?, fields.next()?];
    Some(Peak {
        machine,
        aligner,
        way,
        threads: threads.parse().ok()?,
        rate: thousands.parse::<f64>().ok()? * 1e3,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_is_a_peak() {
        let peaks = peaks();
        assert_eq!(peaks.len(), 3 * 3 * 12);
        let of = |way| peaks.iter().find(|p| (p.machine, p.aligner, p.way) == ("KNL", "Bowtie 2", way));
        assert_eq!(of("MP").map(|p| (p.threads, p.rate)), Some((272, 70_760.0)));
    }
}
