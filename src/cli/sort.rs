//! `readmill sort` and `readmill merge`, with the flags of samtools sort and samtools merge.

use clap::Args;
use readmill::Plan;
use readmill::plan::{Command, Steps};
use readmill_record::Result;
use readmill_record::tag::Tag;
use readmill_sort::Order;
use readmill_sort::key::Within;

use super::common::Io;
use super::shard::ResumeFlag;

#[derive(Args)]
#[command(
    after_help = "The default order is by coordinate. Each order is exactly that of samtools 1.24; queryname is exactly that of Picard 3.4. Reads that compare equal keep their input order."
)]
pub struct SortArgs {
    /// Sort by name, comparing numbers in names by value (natural order)
    #[arg(short = 'n', long, help_heading = "Order")]
    natural: bool,
    /// Sort by name, byte by byte (lexicographic order)
    #[arg(short = 'N', long, help_heading = "Order", conflicts_with = "natural")]
    lexicographic: bool,
    /// Sort by an optional field, then by coordinate, or by name with -n or -N
    #[arg(short = 't', long, help_heading = "Order", value_name = "TAG", value_parser = parse_tag)]
    tag: Option<Tag>,
    /// Sort by both ends of the template, for tools that group reads by UMI. Needs MC fields
    #[arg(long, help_heading = "Order", conflicts_with_all = ["natural", "lexicographic", "tag"])]
    template_coordinate: bool,
    /// Sort by position; sort reads without a position by their smallest k-mer
    ///
    /// Reads without a position may be reverse-complemented.
    #[arg(short = 'M', long, help_heading = "Order", conflicts_with_all = ["natural", "lexicographic", "tag", "template_coordinate"])]
    minhash: bool,
    /// Sort order [default: coordinate]
    ///
    /// Values: coordinate, queryname, natural, lexicographic, template-coordinate, minhash, or
    /// tag:XX or tag:XX:ORDER, where ORDER sorts equal tags: coordinate (the default), natural or
    /// lexicographic.
    #[arg(long, help_heading = "Order", value_name = "ORDER", value_parser = Order::parse, conflicts_with_all = ["natural", "lexicographic", "tag", "template_coordinate", "minhash"])]
    sort: Option<Order>,
    /// Set the read group of all reads from their file name (as samtools merge -r)
    ///
    /// The ID of the read group is the file name without .bam, .sam or .cram. The first @RG line of
    /// the header gets this ID, and other @RG lines are removed.
    #[arg(long)]
    group_by_file: bool,
    #[command(flatten)]
    io: Io,
    #[command(flatten)]
    resume: ResumeFlag,
}

/// The flag `--sort` of commands in which sorting is one step of several. Here, the default is the
/// order of the input.
#[derive(Args)]
#[command(next_help_heading = "Order")]
pub struct OutputOrder {
    /// Sort order, for example coordinate; none keeps the input order
    ///
    /// Values: coordinate, queryname (Picard), natural or name (samtools sort -n), lexicographic,
    /// template-coordinate, minhash, none, or tag:XX or tag:XX:ORDER, where ORDER sorts equal tags:
    /// coordinate (the default), natural or lexicographic.
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
        self.io.build_plan(command, steps)
    }
}
