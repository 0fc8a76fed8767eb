//! `readmill sort`: the sort alone, with the flags of samtools sort.

use clap::Args;
use readmill::Plan;
use readmill::plan::Steps;
use readmill_record::{Result, tag::Tag};
use readmill_sort::Order;
use readmill_sort::key::Within;

use super::common::Io;

/// Flags of the sort alone.
#[derive(Args)]
#[command(
    after_help = "Without a flag the order is by coordinate. Each order is exactly that of samtools 1.24, \
queryname that of Picard 3.4; reads that are equal in it keep the order of the input."
)]
pub struct SortArgs {
    #[command(flatten)]
    io: Io,
    /// By name, numbers in it by their value (natural)
    #[arg(short = 'n', long)]
    natural: bool,
    /// By name, byte by byte (lexicographic)
    #[arg(short = 'N', long, conflicts_with = "natural")]
    lexicographic: bool,
    /// By an optional field; reads that are equal in it by coordinate, or by name with -n or -N
    #[arg(short = 't', long, value_name = "TAG", value_parser = parse_tag)]
    tag: Option<Tag>,
    /// By both ends of the template, for tools that group reads by UMI; needs MC fields
    #[arg(long, conflicts_with_all = ["natural", "lexicographic", "tag"])]
    template_coordinate: bool,
    /// By position, and reads without one by their smallest k-mer, which may be reverse complemented for it
    #[arg(short = 'M', long, conflicts_with_all = ["natural", "lexicographic", "tag", "template_coordinate"])]
    minhash: bool,
    /// Order by its name: coordinate, queryname, natural, lexicographic, template-coordinate, minhash, tag:XX
    #[arg(long, value_name = "ORDER", value_parser = Order::parse, conflicts_with_all = ["natural", "lexicographic", "tag", "template_coordinate", "minhash"])]
    sort: Option<Order>,
}

/// The order of the output, where sorting is one step of several.
#[derive(Args)]
pub struct OutputOrder {
    /// Order of the output: coordinate, queryname (Picard's), natural, lexicographic, template-coordinate, minhash, tag:XX (tag:XX:natural …), or none for that of the input
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

    pub fn plan(&self, command: &'static str) -> Result<Plan> {
        let order = Some(self.order()).filter(|&order| order != Order::Input);
        let steps = Steps { sort: order, ..Steps::default() };
        self.io.plan(command, steps)
    }
}
