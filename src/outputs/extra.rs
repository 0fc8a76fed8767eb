//! Makes the extra outputs that the plan asks for.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use readmill_filters::expression::Expression;
use readmill_filters::route::{ByContigs, ByReadGroup, BySegment, Class, Everything, Route};
use readmill_record::{Error, Header, Ledger, RecordRef, Result};

use crate::outputs::extra_writer::{ExtraWriter, OpenExtra};
use crate::outputs::routing::Router;
use crate::outputs::{Sink, complete_header};
use crate::plan::{
    Destination, ExtraFile, Fastq, Format, Index, MOST_SPLIT_FILES, Output, Plan, Split, SplitBy,
};
use crate::process::console::Console;

/// Opens the extra outputs for reads under this header.
pub fn open<'a>(
    plan: &'a Plan,
    header: &'a Header,
    in_flight: usize,
    ledger: &'a Ledger,
    console: &'a Console,
) -> Result<Option<ExtraWriter<'a>>> {
    let sorted = plan.order() == readmill_sort::Order::Coordinate;
    match &plan.destination {
        Destination::Main(_, selected) if selected.is_empty() => Ok(None),
        Destination::Main(main, selected) => {
            chosen(main, selected, header, sorted, in_flight, ledger, console)
        }
        Destination::Split(split) => split_up(plan, split, header, in_flight, ledger, console),
        Destination::Fastq(wanted) => fastq(wanted, header, in_flight, ledger, console),
        Destination::Nowhere => Ok(None),
    }
}

fn chosen<'a>(
    main: &'a Output,
    list: &'a [ExtraFile],
    header: &'a Header,
    sorted: bool,
    in_flight: usize,
    ledger: &'a Ledger,
    console: &'a Console,
) -> Result<Option<ExtraWriter<'a>>> {
    let selection = |chosen| Selection::new(chosen, header);
    let route = SelectionRoute { list: list.iter().map(selection).collect::<Result<_>>()? };
    let open: OpenExtra<'a> = Box::new(move |number| {
        let chosen = &list[number];
        create(&chosen.output(main), header.clone(), sorted, ledger, console)
    });
    let router = Router::Each(Box::new(route));
    ExtraWriter::new(router, open, list.len(), list.len(), None, in_flight).map(Some)
}

/// The part of the file name for reads without a read group.
const NO_GROUP: &str = "no-read-group";

fn split_up<'a>(
    plan: &'a Plan,
    split: &'a Split,
    header: &'a Header,
    in_flight: usize,
    ledger: &'a Ledger,
    console: &'a Console,
) -> Result<Option<ExtraWriter<'a>>> {
    let (route, names, rest): (Box<dyn Route>, Vec<String>, Option<&str>) = match split.by {
        SplitBy::Records(_) => (Box::new(Everything), Vec::new(), None),
        SplitBy::ReadGroup => {
            let names = group_names(header)?;
            (Box::new(ByReadGroup::new(header)), names, Some(NO_GROUP))
        }
        SplitBy::Contigs(most) => {
            let route = ByContigs::new(header, most);
            let names = (1..=route.groups()).map(|n| format!("group{n:05}")).collect();
            (Box::new(route), names, Some("unmapped"))
        }
    };
    if names.len() >= MOST_SPLIT_FILES {
        return Err(Error::usage(format!("reads would be split among {} files", names.len()))
            .hint("give contigs=BASES a larger number, or split by something else"));
    }
    let (opened, most) = (names.len(), (names.len() + usize::from(rest.is_some())).max(1));
    let most_records = match split.by {
        SplitBy::Records(most) => Some(most),
        _ => None,
    };
    let open: OpenExtra<'a> = Box::new(move |number| {
        let name = names.get(number).cloned().or(rest.map(str::to_string));
        let name = name.unwrap_or_else(|| format!("part{:05}", number + 1));
        if number >= MOST_SPLIT_FILES {
            return Err(Error::usage(format!(
                "reads would be split among more than {MOST_SPLIT_FILES} files"
            ))
            .hint("give records=N a larger number"));
        }
        let path = file_name(split, &name);
        plan.inputs.iter().try_for_each(|input| crate::outputs::report_files::spare(input, &path))?;
        let output = Output { path, ..split.output.clone() };
        let mut header = header.clone();
        if split.by == SplitBy::ReadGroup {
            keep_group(&mut header, number)?;
        }
        create(&output, header, false, ledger, console)
    });
    ExtraWriter::new(Router::Each(route), open, opened, most, most_records, in_flight).map(Some)
}

/// Opens an output, and completes its header.
fn create(
    output: &Output,
    mut header: Header,
    sorted: bool,
    ledger: &Ledger,
    console: &Console,
) -> Result<(Sink, Header)> {
    if output.format == Format::Cram {
        complete_header(&mut header, output, ledger)?;
    }
    Ok((Sink::create(output, &header, sorted, ledger, console)?, header))
}

fn fastq<'a>(
    wanted: &'a Fastq,
    header: &'a Header,
    in_flight: usize,
    ledger: &'a Ledger,
    console: &'a Console,
) -> Result<Option<ExtraWriter<'a>>> {
    let (files, [other, first, last, singles]) = wanted.places();
    let by_segment = BySegment {
        places: [other, first, last].map(Some),
        singles: wanted.singles.is_some().then_some(singles),
        exclude: wanted.exclude,
        single_end: wanted.single_end,
    };
    let opened = files.len();
    let open: OpenExtra<'a> = Box::new(move |number| {
        let path = files[number];
        let name = path.as_os_str().as_encoded_bytes();
        let compressed = [&b".gz"[..], b".bgz", b".bgzf"].iter().any(|end| name.ends_with(end));
        let format = if compressed { Format::FastqGz } else { Format::Fastq };
        let (level, fastq) = (wanted.level.filter(|_| compressed), wanted.style.clone());
        let output = Output { format, level, fastq, index: Index::No, ..Output::new(path) };
        Ok((Sink::create(&output, header, false, ledger, console)?, Header::default()))
    });
    ExtraWriter::new(Router::Templates(by_segment), open, opened, opened, None, in_flight).map(Some)
}

/// Returns the plan without a sort that this header makes needless: reads whose templates stand together need no
/// sorting to become FASTQ.
pub fn without_needless_sort(plan: &Plan, header: &Header) -> Plan {
    let mut plan = plan.clone();
    if let Destination::Fastq(fastq) = &plan.destination
        && (header.claims_name_groups() || fastq.grouped)
    {
        plan.steps.sort = None;
    }
    plan
}

/// Reduces a header to one read group.
fn keep_group(header: &mut Header, number: usize) -> Result<()> {
    let own = header.lines_of(b"RG").filter(|line| line.get(b"ID").is_some()).nth(number).cloned();
    header.replace(b"RG", own.into_iter().collect(), &[b"PG", b"CO"])
}

/// Returns file names for the read groups, whatever their IDs are.
fn group_names(header: &Header) -> Result<Vec<String>> {
    let rest = (NO_GROUP.to_string(), "none".to_string());
    let (mut names, mut owners) = (Vec::new(), HashMap::from([rest]));
    for id in header.lines_of(b"RG").filter_map(|line| line.get(b"ID")) {
        let id = String::from_utf8_lossy(id).into_owned();
        let fits = |c: char| c.is_ascii_alphanumeric() || "._-+".contains(c);
        let name: String = id.chars().map(|c| if fits(c) { c } else { '_' }).collect();
        if let Some(other) = owners.insert(name.clone(), id.clone()) {
            return Err(Error::input(format!(
                "the read groups {other:?} and {id:?} would share the file name {name:?}"
            ))
            .hint("rename one of them in the header"));
        }
        names.push(name);
    }
    Ok(names)
}

fn file_name(split: &Split, name: &str) -> PathBuf {
    let mut path = split.prefix.as_os_str().to_os_string();
    if !split.prefix.as_os_str().is_empty() && !ends_with_separator(&split.prefix) {
        path.push(".");
    }
    path.push(name);
    path.push(split.output.format.extension());
    path.into()
}

fn ends_with_separator(path: &Path) -> bool {
    path.as_os_str().as_encoded_bytes().ends_with(b"/")
}

/// The reads that go to one file, and whether they leave the main output.
#[derive(Clone)]
struct Selection {
    what: Selector,
    moves: bool,
}

/// Reads of a named class, reads that match an expression, or none, where it is filters that select them.
#[derive(Clone)]
enum Selector {
    Dropped,
    Class(Class),
    Expression(Box<Expression>),
}

impl Selection {
    fn new(chosen: &ExtraFile, header: &Header) -> Result<Self> {
        let what = match Class::named(&chosen.what) {
            _ if chosen.is_of_dropped() => Selector::Dropped,
            Some(class) => Selector::Class(class),
            None => Selector::Expression(Box::new(Expression::parse(&chosen.what, header)?)),
        };
        Ok(Selection { what, moves: chosen.moves })
    }

    fn holds(&mut self, record: RecordRef<'_>) -> Result<bool> {
        match &mut self.what {
            Selector::Dropped => Ok(false),
            Selector::Class(class) => Ok(class.holds(record)),
            Selector::Expression(expression) => expression.matches(record),
        }
    }
}

/// Routes each read to every file that selects it; a read that moves goes to the first such file only.
#[derive(Clone)]
struct SelectionRoute {
    list: Vec<Selection>,
}

impl Route for SelectionRoute {
    fn fork(&self) -> Box<dyn Route> {
        Box::new(self.clone())
    }

    fn route(&mut self, record: RecordRef<'_>, places: &mut Vec<usize>) -> Result<bool> {
        let mut stays = true;
        for (place, selection) in self.list.iter_mut().enumerate() {
            if (stays || !selection.moves) && selection.holds(record)? {
                places.push(place);
                stays &= !selection.moves;
            }
        }
        Ok(stays)
    }
}
