//! `readmill sort`: sorts, with the flags of samtools sort.

use clap::Args;
use readmill::Plan;
use readmill::plan::{Command, Steps};
use readmill_record::Result;
use readmill_record::tag::Tag;
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
    /// Put the reads of each file into a read group of the file's name, without .bam, .sam or .cram; of its header, the first @RG line gets this ID, and the others go (samtools merge -r)
    #[arg(long)]
    group_by_file: bool,
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
    pub fn requested_order(&self) -> Option<Order> {
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

    fn requested_order(&self) -> Order {
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

    pub fn build_plan(&self, command: Command) -> Result<Plan> {
        let order = Some(self.requested_order()).filter(|&order| order != Order::Input);
        let steps = Steps { sort: order, group_by_file: self.group_by_file, ..Steps::default() };
        self.io.plan(command, steps)
    }
}
