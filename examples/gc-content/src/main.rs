//! Sorts reads and marks duplicates, as `readmill prep` does; drops short reads, and counts G and C, in the same pass.
use readmill::plan::{DuplicateMode, Duplicates, Plan, Verbosity};
use readmill::{Additions, SharedTally, console::Console};
use readmill_record::{Batch, Changes, Error, Result, Step, Tally};
use readmill_sort::Order;

/// A filter that drops reads with fewer bases than this.
#[derive(Clone)]
struct DropShorter(usize);
impl Step for DropShorter {
    fn name(&self) -> &'static str {
        "drop-shorter"
    }
    fn fork_for_thread(&self) -> Box<dyn Step> {
        Box::new(self.clone())
    }
    fn changes(&self) -> Changes {
        Changes::dropping_reads()
    }
    fn apply(&mut self, batch: &mut Batch) -> Result<()> {
        batch.retain(|_, record| record.l_seq() >= self.0);
        Ok(())
    }
}

/// A metric: the numbers of G and C bases and of all bases, whose ratio is the result.
struct Gc;
impl Tally for Gc {
    type Partial = [u64; 2];
    type Total = f64;
    fn observe(&self, [gc, all]: &mut [u64; 2], batch: &Batch) -> Result<()> {
        for (_, record) in batch.records() {
            let bases = (0..record.l_seq()).map(|i| record.seq()[i / 2] >> (4 * (1 - i % 2)) & 15);
            *gc += bases.filter(|&base| base == 2 || base == 4).count() as u64; // "=ACMG…": C is 2, G is 4
            *all += record.l_seq() as u64;
        }
        Ok(())
    }
    fn merge(&self, into: &mut [u64; 2], from: [u64; 2]) {
        into.iter_mut().zip(from).for_each(|(into, from)| *into += from);
    }
    fn finish(&self, [gc, all]: [u64; 2]) -> Result<f64> {
        Ok(gc as f64 / all.max(1) as f64)
    }
}

fn main() -> Result<()> {
    let paths: Vec<String> = std::env::args().skip(1).collect();
    let [input, output] = &paths[..] else { return Err(Error::usage("gc-content IN OUT")) };
    let mut plan = Plan::new([input], output);
    (plan.steps.sort, plan.reports.verify) = (Some(Order::Coordinate), true);
    plan.steps.duplicates = Some(Duplicates::with_mode(DuplicateMode::Auto));
    let gc = std::sync::Arc::new(SharedTally::new(Gc));
    let additions = Additions::default().step(|_| Ok(Box::new(DropShorter(30)))).tally(gc.clone());
    readmill::run_with(&plan, additions, &Console::new(Verbosity::Normal))?;
    println!("{:.4}", gc.take_total()?);
    Ok(())
}
