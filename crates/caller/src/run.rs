//! Calls of a whole run, one region after the other.

use std::sync::Arc;

use readmill_genotypes::vcf::VcfRecord;
use readmill_record::{Error, Header, RecordRef, Result};
use readmill_regions::activity::ActivityModel;
use readmill_regions::intake::ReadIntake;
use readmill_regions::{AssemblyRegion, Intervals, RegionWalk};

use crate::join::CallJoin;
use crate::options::{CallerOptions, PLOIDY};
use crate::reference::Contig;
use crate::region::{CallerTables, RegionCaller};

/// Tables that a run needs.
#[derive(Clone, Debug)]
pub struct RunTables {
    activity: Arc<ActivityModel>,
    /// Tables of each [`RegionCaller`].
    pub caller: CallerTables,
}

impl RunTables {
    /// Computes the tables for the options.
    pub fn new(options: &CallerOptions) -> Self {
        RunTables {
            activity: Arc::new(ActivityModel::new(options.math, PLOIDY)),
            caller: CallerTables::new(options),
        }
    }

    /// Starts a walk over the records of a file with this header.
    ///
    /// # Errors
    /// The header has several samples.
    pub fn start_walk(&self, options: &CallerOptions, header: &Header) -> Result<RegionWalk> {
        let intake = ReadIntake::new(header);
        RegionWalk::new(Arc::clone(&self.activity), intake, options.max_reads_per_start)
    }
}

/// Calls the records of a sorted sample, contig by contig, on one thread.
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
/// let contig = Contig::new(0, b"chr1", [b'C'; 450]);
/// run.start_contig(contig, &Intervals::of_contig(450))?;
/// run.finish_contig(&mut records)?; // no reads
/// run.finish(&mut records);
/// let mut line = Vec::new();
/// records[0].append_line(b"chr1", &mut line);
/// let text = "chr1\t1\t.\tC\t<NON_REF>\t.\t.\tEND=450\tGT:DP:GQ:MIN_DP:PL\t0/0:0:0:0:0,0,0\n";
/// assert_eq!(String::from_utf8(line)?, text);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct CallRun<'t> {
    walk: RegionWalk,
    caller: RegionCaller<'t>,
    join: CallJoin,
    contig: Option<Contig>,
}

impl<'t> CallRun<'t> {
    /// Starts a run over the records of a file with this header.
    ///
    /// # Errors
    /// The header has several samples, or bounds of bands do not ascend.
    pub fn new(options: &'t CallerOptions, tables: &'t RunTables, header: &Header) -> Result<Self> {
        Ok(CallRun {
            walk: tables.start_walk(options, header)?,
            caller: RegionCaller::new(options, &tables.caller),
            join: CallJoin::new(options)?,
            contig: None,
        })
    }

    /// Returns the bounds of the bands of GQ, for the header of the file.
    pub fn bands(&self) -> &[i32] {
        self.join.bands()
    }

    /// Starts a contig. All contigs of the header must be called in their order, also those without
    /// records. Only loci in `intervals` are called.
    ///
    /// # Errors
    /// The contig has another number of bases than in the header, or an interval is not within it.
    pub fn start_contig(&mut self, contig: Contig, intervals: &Intervals) -> Result<()> {
        self.walk.start_contig(contig.clone(), intervals)?;
        self.contig = Some(contig);
        Ok(())
    }

    /// Adds the next record of the contig, and appends the records of the file that are complete.
    ///
    /// # Errors
    /// The record is not in order or damaged, or GATK stops in a region.
    pub fn add_record(&mut self, record: RecordRef<'_>, records: &mut Vec<VcfRecord>) -> Result<()> {
        let index = self.contig.as_ref().map(|contig| contig.index);
        if usize::try_from(record.ref_id()).ok() != index {
            return Err(Error::input("the read is not on the contig").qname(record.qname()));
        }
        let mut regions = Vec::new();
        self.walk.add_record(record, &mut regions)?;
        self.call_regions(regions, records)
    }

    /// Ends the contig.
    ///
    /// # Errors
    /// As [`add_record`](Self::add_record).
    pub fn finish_contig(&mut self, records: &mut Vec<VcfRecord>) -> Result<()> {
        let mut regions = Vec::new();
        self.walk.finish_contig(&mut regions)?;
        self.call_regions(regions, records)?;
        self.join.emit_all(self.walk.random(), records)
    }

    /// Ends the run and appends its last records.
    pub fn finish(mut self, records: &mut Vec<VcfRecord>) {
        self.join.finish(records);
    }

    /// Calls the new regions, and emits those that GATK calls before it draws numbers for later reads.
    fn call_regions(
        &mut self,
        regions: Vec<AssemblyRegion>,
        records: &mut Vec<VcfRecord>,
    ) -> Result<()> {
        let Some(contig) = &self.contig else { return Ok(()) };
        if !regions.is_empty() {
            let called = self.caller.call_regions(contig.clone(), regions)?;
            self.join.add_regions(called, &mut self.caller)?;
        }
        let limit = (contig.index, self.walk.draw_limit());
        self.join.emit_before(limit, self.walk.random(), records)
    }
}
