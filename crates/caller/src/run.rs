//! Calls of a whole run, one region after the other.

use std::collections::VecDeque;

use readmill_genotypes::CalledDeletions;
use readmill_genotypes::vcf::VcfRecord;
use readmill_record::{Error, Header, RecordRef, Result};
use readmill_regions::activity::ActivityModel;
use readmill_regions::intake::ReadIntake;
use readmill_regions::{AssemblyRegion, ContigWalk, Intervals, RegionWalk};

use crate::calls::RegionCalls;
use crate::emit::RecordEmitter;
use crate::error::input_error;
use crate::options::{CallerOptions, PLOIDY};
use crate::reference::Contig;
use crate::region::{CallerTables, RegionCaller};

/// Tables that a run needs.
#[derive(Clone, Debug)]
pub struct RunTables {
    activity: ActivityModel,
    caller: CallerTables,
}

impl RunTables {
    /// Computes the tables for the options.
    pub fn new(options: &CallerOptions) -> Self {
        RunTables {
            activity: ActivityModel::new(options.math, PLOIDY),
            caller: CallerTables::new(options),
        }
    }
}

/// Calls the records of a sorted sample, contig by contig.
///
/// ```
/// use readmill_caller::{CallRun, CallerOptions, Contig, RunTables};
/// use readmill_genotypes::vcf::VcfMode;
/// use readmill_record::Header;
/// use readmill_regions::Intervals;
///
/// let header = Header::parse(b"@SQ\tSN:chr1\tLN:450\n@RG\tID:lane1\tSM:s1\n")?;
/// let options = CallerOptions::new(VcfMode::Blocks);
/// let tables = RunTables::new(&options);
/// let mut run = CallRun::new(&options, &tables, &header)?;
/// let mut records = Vec::new();
/// let contig = Contig { index: 0, name: b"chr1", bases: &[b'C'; 450] };
/// run.start_contig(contig, &Intervals::of_contig(450))?.finish(&mut records)?; // no reads
/// run.finish(&mut records);
/// let mut line = Vec::new();
/// records[0].append_line(b"chr1", &mut line);
/// let text = "chr1\t1\t.\tC\t<NON_REF>\t.\t.\tEND=450\tGT:DP:GQ:MIN_DP:PL\t0/0:0:0:0:0,0,0\n";
/// assert_eq!(String::from_utf8(line)?, text);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct CallRun<'t> {
    walk: RegionWalk<'t>,
    caller: RegionCaller<'t>,
    emitter: RecordEmitter,
    deletions: CalledDeletions,
}

impl<'t> CallRun<'t> {
    /// Starts a run over the records of a file with this header.
    ///
    /// # Errors
    /// The header has several samples, or bounds of bands do not ascend.
    pub fn new(options: &'t CallerOptions, tables: &'t RunTables, header: &Header) -> Result<Self> {
        let intake = ReadIntake::new(header);
        Ok(CallRun {
            walk: RegionWalk::new(&tables.activity, intake, options.max_reads_per_start)?,
            caller: RegionCaller::new(options, &tables.caller),
            emitter: RecordEmitter::new(options).map_err(input_error)?,
            deletions: CalledDeletions::default(),
        })
    }

    /// Returns the emitter, which knows the bands for the header of the file.
    pub fn emitter(&self) -> &RecordEmitter {
        &self.emitter
    }

    /// Starts a contig. All contigs of the header must be called in their order, also those without
    /// records. Only loci in `intervals` are called.
    ///
    /// # Errors
    /// The contig has another number of bases than in the header, or an interval is not within it.
    pub fn start_contig<'r>(
        &'r mut self,
        contig: Contig<'r>,
        intervals: &Intervals,
    ) -> Result<ContigRun<'r, 't>> {
        Ok(ContigRun {
            contig,
            walk: self.walk.start_contig(contig, intervals)?,
            caller: &mut self.caller,
            emitter: &mut self.emitter,
            deletions: &mut self.deletions,
            regions: Vec::new(),
            waiting: VecDeque::new(),
        })
    }

    /// Ends the run and appends its last records.
    pub fn finish(mut self, records: &mut Vec<VcfRecord>) {
        self.emitter.finish(records);
    }
}

/// Calls the records of one contig.
pub struct ContigRun<'r, 't> {
    contig: Contig<'r>,
    walk: ContigWalk<'r>,
    caller: &'r mut RegionCaller<'t>,
    emitter: &'r mut RecordEmitter,
    deletions: &'r mut CalledDeletions,
    regions: Vec<AssemblyRegion>,
    /// Results, each with the locus at which GATK has read all of its region.
    waiting: VecDeque<(i32, RegionCalls)>,
}

impl ContigRun<'_, '_> {
    /// Adds the next record of the contig, and appends the records of the file that are complete.
    ///
    /// # Errors
    /// The record is not in order or damaged, or GATK stops in a region.
    pub fn add_record(&mut self, record: RecordRef<'_>, records: &mut Vec<VcfRecord>) -> Result<()> {
        if usize::try_from(record.ref_id()) != Ok(self.contig.index) {
            let name = self.contig.name.escape_ascii();
            return Err(Error::input(format!("the read is not on contig {name}")).qname(record.qname()));
        }
        self.walk.add_record(record, &mut self.regions)?;
        self.call_regions(self.walk.draw_limit(), records)
    }

    /// Ends the contig.
    ///
    /// # Errors
    /// As [`add_record`](Self::add_record).
    pub fn finish(mut self, records: &mut Vec<VcfRecord>) -> Result<()> {
        self.walk.finish(&mut self.regions)?;
        self.call_regions(i32::MAX, records)?;
        while !self.waiting.is_empty() {
            self.emit_first(records)?;
        }
        Ok(())
    }

    /// Calls the new regions. Emits each as soon as the region after it is ready before `limit`, because
    /// GATK reads that region before it calls one.
    fn call_regions(&mut self, limit: i32, records: &mut Vec<VcfRecord>) -> Result<()> {
        for region in std::mem::take(&mut self.regions) {
            let calls = self.caller.call_region(&self.contig, &region, self.deletions)?;
            self.deletions.clone_from(calls.deletions());
            self.waiting.push_back((region.ready_locus, calls));
            self.emit_before(limit, records)?;
        }
        self.emit_before(limit, records)
    }

    fn emit_before(&mut self, limit: i32, records: &mut Vec<VcfRecord>) -> Result<()> {
        while self.waiting.get(1).is_some_and(|&(ready, _)| ready < limit) {
            self.emit_first(records)?;
        }
        Ok(())
    }

    fn emit_first(&mut self, records: &mut Vec<VcfRecord>) -> Result<()> {
        if let Some((_, calls)) = self.waiting.pop_front() {
            self.emitter.emit(calls, self.walk.random(), records).map_err(input_error)?;
        }
        Ok(())
    }
}
