//! Drops reads of low mapping quality.

use readmill_record::{Batch, Result};

use readmill_record::{Changes, Step};

/// Drops reads whose MAPQ is below a threshold (`samtools view -q`, elPrep's `--filter-mapping-quality`).
/// 255, an unknown quality, is compared as a number, as in both tools.
#[derive(Clone)]
pub struct MinMapq {
    least: u8,
    dropped: u64,
}

impl MinMapq {
    /// Keeps reads of at least this quality.
    pub fn new(least: u8) -> Self {
        MinMapq { least, dropped: 0 }
    }
}

impl Step for MinMapq {
    fn name(&self) -> &'static str {
        "min-mapq"
    }

    fn fork(&self) -> Box<dyn Step> {
        Box::new(self.clone())
    }

    fn changes(&self) -> Changes {
        Changes::drops()
    }

    fn by_record(&self) -> bool {
        true
    }

    fn apply(&mut self, batch: &mut Batch) -> Result<()> {
        let before = batch.len();
        batch.retain(|_, record| record.mapq() >= self.least);
        self.dropped += (before - batch.len()) as u64;
        Ok(())
    }

    fn counts(&self) -> Vec<(&'static str, u64)> {
        vec![("reads of low mapping quality dropped", self.dropped)]
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{header, kept};
    use super::*;

    #[test]
    fn the_threshold_itself_is_kept_and_255_is_a_number() {
        let header = header("@SQ SN:c LN:100");
        let reads = [0, 19, 20, 21, 255].map(|q| format!("q{q} 0 c 5 {q} 4M * 0 0 ACGT IIII"));
        let reads = reads.each_ref().map(String::as_str);
        for (least, answer) in
            [(0, "q0 q19 q20 q21 q255"), (1, "q19 q20 q21 q255"), (20, "q20 q21 q255"), (255, "q255")]
        {
            let mut step = MinMapq::new(least);
            assert_eq!(kept(&mut step, &header, &reads), answer);
            let left = answer.split(' ').count() as u64;
            assert_eq!(step.counts()[0].1, 5 - left);
        }
    }
}
