//! `readmill sort`: the sort alone, with the flags of samtools sort; `readmill split`: reads to several files.

use std::path::PathBuf;

use clap::Args;
use readmill::Plan;
use readmill::plan::{Command, Destination, SplitBy, Steps};
use readmill_record::tag::Tag;
use readmill_record::{Error, Result};
use readmill_sort::Order;
use readmill_sort::key::Within;

use super::common::Io;
use super::shard::ResumeFlag;

/// Flags of the sort alone.
#[derive(Args)]
#[command(
    after_help = "Without a flag the order is by coordinate. Each order is exactly that of samtools 1.24, \
queryname that of Picard 3.4; reads that are equal in it keep the order of the input."
)]
pub struct SortArgs {
    #[command(flatten)]
    io: Io,
    #[command(flatten)]
    resume: ResumeFlag,
    /// By name, numbers in it by their value (natural)
    #[arg(short = 'n', long, help_heading = "Order")]
    natural: bool,
    /// By name, byte by byte (lexicographic)
    #[arg(short = 'N', long, help_heading = "Order", conflicts_with = "natural")]
    lexicographic: bool,
    /// By an optional field; reads that are equal in it by coordinate, or by name with -n or -N
    #[arg(short = 't', long, help_heading = "Order", value_name = "TAG", value_parser = parse_tag)]
    tag: Option<Tag>,
    /// By both ends of the template, for tools that group reads by UMI; needs MC fields
    #[arg(long, help_heading = "Order", conflicts_with_all = ["natural", "lexicographic", "tag"])]
    template_coordinate: bool,
    /// By position, and reads without one by their smallest k-mer, which may be reverse complemented for it
    #[arg(short = 'M', long, help_heading = "Order", conflicts_with_all = ["natural", "lexicographic", "tag", "template_coordinate"])]
    minhash: bool,
    /// Order by its name: coordinate, queryname, natural, lexicographic, template-coordinate, minhash, tag:XX
    #[arg(long, help_heading = "Order", value_name = "ORDER", value_parser = Order::parse, conflicts_with_all = ["natural", "lexicographic", "tag", "template_coordinate", "minhash"])]
    sort: Option<Order>,
}

/// The order of the output, where sorting is one step of several.
#[derive(Args)]
#[command(next_help_heading = "Order")]
pub struct OutputOrder {
    /// Order of the output, such as coordinate, or none for that of the input
    ///
    /// Order of the output: coordinate, queryname (Picard's), natural or name (samtools sort -n), lexicographic, template-coordinate, minhash, tag:XX (tag:XX:natural …), or none for that of the input
    #[arg(long, value_name = "ORDER", default_value = "none", value_parser = Order::parse)]
    sort: Order,
}

impl OutputOrder {
    pub fn order(&self) -> Option<Order> {
        (self.sort != Order::Input).then_some(self.sort)
    }
}

fn parse_tag(text: &str) -> Result<Tag, String> {
    match Order::parse(&format!("tag:{text}"))? {
        Order::Tag { tag, .. } => Ok(tag),
        _ => Err(format!("not an optional field: {text:?}")),
    }
}

impl SortArgs {
    pub fn resume(&self) -> &ResumeFlag {
        &self.resume
    }

    fn order(&self) -> Order {
        match (self.tag, self.natural, self.lexicographic) {
            (Some(tag), true, _) => Order::Tag { tag, within: Within::Natural },
            (Some(tag), _, true) => Order::Tag { tag, within: Within::Lexicographic },
            (Some(tag), ..) => Order::Tag { tag, within: Within::Coordinate },
            (_, true, _) => Order::Natural,
            (_, _, true) => Order::Lexicographic,
            _ if self.template_coordinate => Order::TemplateCoordinate,
            _ if self.minhash => Order::Minhash,
            _ => self.sort.unwrap_or(Order::Coordinate),
        }
    }

    pub fn plan(&self, command: Command) -> Result<Plan> {
        let order = Some(self.order()).filter(|&order| order != Order::Input);
        let steps = Steps { sort: order, ..Steps::default() };
        self.io.plan(command, steps)
    }
}

/// Flags of the split.
#[derive(Args)]
#[command(
    after_help = "The files are called PREFIX.NAME.bam (or .sam, by -O): NAME is the read group's ID, \
group00001 and so on for groups of contigs, part00001 and so on for numbers of records. Reads without a read group \
of the header go to PREFIX.no-read-group.bam, reads without a reference sequence to PREFIX.unmapped.bam. Each file \
keeps the order of the input. (elPrep's spread file does not exist: a pair that lies in two groups is in both files, \
each read in its own.)"
)]
pub struct SplitArgs {
    #[command(flatten)]
    io: Io,
    /// Key that separates the files: read-group, contigs or contigs=BASES (groups of at most so many bases [default: of the longest contig]), records=N
    #[arg(long, value_name = "WHAT", value_parser = SplitBy::parse)]
    by: SplitBy,
}

impl SplitArgs {
    pub fn plan(&self) -> Result<Plan> {
        let mut plan = self.io.plan_with_prefix(Command::Split, Steps::default())?;
        let Destination::Main(output, selected) = plan.destination else {
            return Err(Error::bug("a split without an output"));
        };
        if output.path.as_os_str() == "-" {
            return Err(
                Error::usage("a split needs a prefix for the names of its files").hint("give one by -o")
            );
        }
        if !selected.is_empty() {
            return Err(Error::usage("a split has no main output, of which reads could be chosen")
                .hint("drop --copy-to and --move-to"));
        }
        let split = readmill::plan::Split { prefix: PathBuf::from(&output.path), by: self.by, output };
        plan.destination = Destination::Split(split);
        Ok(plan)
    }
}
