//! Opens the extra outputs of a plan: the files for `--copy-to` and `--move-to`, of a split, and
//! FASTQ files.

use std::path::{Path, PathBuf};

use readmill_filters::expression::Expression;
use readmill_filters::route::{
    ByContigs, ByReadGroup, BySegment, Everything, ReadClass, Route, SingletonOutput,
};
use readmill_process::console::Console;
use readmill_process::same_file::ensure_output_is_not_input;
use readmill_record::{Error, Header, Ledger, RecordRef, Result};

use crate::formats::FastqFormat;
use crate::outputs::Sink;
use crate::outputs::extra_writer::{ExtraWriter, OpenExtra};
use crate::outputs::group_files::{fastq_files, keep_one_group, prefixed_file_name, split_files};
use crate::outputs::routing::Router;
use crate::plan::{
    Destination, ExtraFile, Fastq, FastqFiles, Format, Index, LoneEnds, MAX_SPLIT_FILES, Output, Plan,
    Split, SplitBy, SplitNames, SplitRest,
};

/// Opens the extra outputs for reads with `header`. Returns `None` if the plan has none.
pub fn open_extra_outputs<'a>(
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
            open_selected(main, selected, header, sorted, in_flight, ledger, console)
        }
        Destination::Split(split) => open_split(plan, split, header, in_flight, ledger, console),
        Destination::Fastq(wanted) => open_fastq_files(plan, wanted, header, in_flight, ledger, console),
        Destination::Nowhere => Ok(None),
    }
}

/// Opens the files for `--copy-to` and `--move-to`.
fn open_selected<'a>(
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
        create_sink(&chosen.to_output(main), header.clone(), sorted, ledger, console)
    });
    let router = Router::Each(Box::new(route));
    ExtraWriter::new(router, open, list.len(), list.len(), None, in_flight).map(Some)
}

/// Prepares the files of a split. Opens the file of each read group or contig group now, so that it
/// exists even if it is empty. Opens all other files when their first read arrives.
fn open_split<'a>(
    plan: &'a Plan,
    split: &'a Split,
    header: &'a Header,
    in_flight: usize,
    ledger: &'a Ledger,
    console: &'a Console,
) -> Result<Option<ExtraWriter<'a>>> {
    let named = move |name: &str| match &split.names {
        SplitNames::Prefix(prefix) => {
            prefixed_file_name(prefix, name, split.output.format.spec().extension)
        }
        SplitNames::Pattern(_) | SplitNames::Table(_) => PathBuf::from(name),
    };
    // The route, the number of files that are opened in any case, and their names. The last name is
    // for reads that do not belong to another file.
    let (route, opened, names): (Box<dyn Route>, usize, Vec<PathBuf>) = match split.by {
        SplitBy::Records(_) => (Box::new(Everything), 0, Vec::new()),
        SplitBy::ReadGroup => {
            let route = ByReadGroup::new(header);
            (Box::new(route.clone()), route.rest_output(), split_files(split, header, ledger)?)
        }
        SplitBy::Contigs(max_bases) => {
            let route = ByContigs::new(header, max_bases);
            let groups = (1..=route.group_count()).map(|n| format!("group{n:05}"));
            let names = groups.chain(["unmapped".to_string()]).map(|name| named(&name));
            let names = names.collect();
            (Box::new(route.clone()), route.group_count(), names)
        }
    };
    if opened >= MAX_SPLIT_FILES {
        return Err(Error::usage(format!("reads would be split into {opened} files"))
            .hint("use a larger number in contigs=BASES, or split by something else"));
    }
    let max_records = match split.by {
        SplitBy::Records(max_records) => Some(max_records),
        _ => None,
    };
    let (max_outputs, by_records) = (names.len().max(1), max_records.is_some());
    // As with `samtools split -u`, the file that the user gave for other reads exists even if it
    // has no reads.
    let names_rest = split.by == SplitBy::ReadGroup && matches!(split.rest, SplitRest::File(_));
    let at_first = opened + usize::from(names_rest);
    let sorted = plan.order() == readmill_sort::Order::Coordinate;
    let open: OpenExtra<'a> = Box::new(move |number| {
        if number >= MAX_SPLIT_FILES {
            return Err(Error::usage(format!(
                "reads would be split into more than {MAX_SPLIT_FILES} files"
            ))
            .hint("use a larger number in records=N"));
        }
        let path = match names.get(number) {
            Some(path) => path.clone(),
            None if by_records => named(&format!("part{:05}", number + 1)),
            None => return Err(no_rest_file_error()),
        };
        plan.inputs.iter().try_for_each(|input| ensure_output_is_not_input(input, &path))?;
        let output = split_output(split, path)?;
        let mut header = header.clone();
        if split.by == SplitBy::ReadGroup && !(names_rest && number == opened) {
            keep_one_group(&mut header, number)?;
        }
        create_sink(&output, header, sorted, ledger, console)
    });
    ExtraWriter::new(Router::Each(route), open, at_first, max_outputs, max_records, in_flight).map(Some)
}

fn no_rest_file_error() -> Error {
    Error::input(
        "some reads have no read group, or one that is not in the header, and no file is given for them",
    )
    .hint("give one with --split-rest FILE")
}

/// Returns the settings for one file of a split.
///
/// # Errors
/// Fails if only this file is CRAM by its name, because the memory was divided for the format of
/// the other files.
fn split_output(split: &Split, path: PathBuf) -> Result<Output> {
    if !split.formats_by_name {
        return Ok(Output { path, ..split.output.clone() });
    }
    let (format, _) = Format::for_output_name(&path)?;
    if format.large_parts().is_some() && !format.has_name_of(&split.output.format) {
        // The memory was divided before this name was known.
        let name = format.spec().name;
        let what = format!(
            "{} would be {}, but other files may have another format",
            path.display(),
            name.to_ascii_uppercase()
        );
        return Err(Error::usage(what).hint(format!("use -O {name} for all files")));
    }
    Ok(Output { path, ..split.output.clone() }.in_format(format))
}

/// Completes the header for the format, and opens the output.
fn create_sink(
    output: &Output,
    mut header: Header,
    sorted: bool,
    ledger: &Ledger,
    console: &Console,
) -> Result<(Sink, Header)> {
    output.format.complete_header(&mut header, &output.bases, ledger)?;
    Ok((Sink::create(output, &header, sorted, ledger, console)?, header))
}

fn open_fastq_files<'a>(
    plan: &'a Plan,
    wanted: &'a Fastq,
    header: &'a Header,
    in_flight: usize,
    ledger: &'a Ledger,
    console: &'a Console,
) -> Result<Option<ExtraWriter<'a>>> {
    let by_segment = |places: [usize; 3], singles, groups| BySegment {
        outputs: places.map(Some),
        singles,
        exclude_flags: wanted.exclude,
        single_end: wanted.single_end,
        groups,
    };
    let singles = |place| match &wanted.singles {
        LoneEnds::Stay => SingletonOutput::Stay,
        LoneEnds::To(_) => SingletonOutput::To(place),
        LoneEnds::Dropped => SingletonOutput::Dropped,
        LoneEnds::Refused => SingletonOutput::Refused,
    };
    let (files, opened, by_segment) = match &wanted.files {
        FastqFiles::Ends(_) => {
            let (files, [other, first, last, single]) = wanted.known_files();
            let files: Vec<PathBuf> = files.into_iter().map(Path::to_path_buf).collect();
            let opened = files.len();
            (files, opened, by_segment([other, first, last], singles(single), None))
        }
        FastqFiles::PerReadGroup(pattern) => {
            let groups = ByReadGroup::new(header);
            let [mut files, lasts] = fastq_files(pattern, header)?;
            // Files for read 1 are opened now. A file for read 2 is opened when its first read
            // arrives.
            let (opened, last) = (groups.rest_output(), if pattern.has_end() { files.len() } else { 0 });
            files.extend(lasts.into_iter().filter(|_| pattern.has_end()));
            (files, opened, by_segment([0, 0, last], singles(0), Some(groups)))
        }
    };
    if files.len() > MAX_SPLIT_FILES {
        return Err(Error::usage(format!("reads would be split into {} files", files.len()))
            .hint("first use readmill split --by read-group, then run readmill fastq on each file"));
    }
    let max_outputs = files.len();
    let open: OpenExtra<'a> = Box::new(move |number| {
        let path = files[number].clone();
        plan.inputs.iter().try_for_each(|input| ensure_output_is_not_input(input, &path))?;
        let format = Format::new(FastqFormat::of_name(&path, wanted.style.clone()));
        let level = wanted.level.filter(|_| format.spec().is_bgzf());
        let output = Output { format, level, index: Index::No, ..Output::new(path) };
        Ok((Sink::create(&output, header, false, ledger, console)?, Header::default()))
    });
    ExtraWriter::new(Router::Templates(by_segment), open, opened, max_outputs, None, in_flight).map(Some)
}

/// Returns the plan without its sort if the header declares that the reads of each template are
/// adjacent. FASTQ can then be written while the input is read.
pub fn without_needless_sort(plan: &Plan, header: &Header) -> Plan {
    let mut plan = plan.clone();
    if let Destination::Fastq(fastq) = &plan.destination
        && (header.declares_name_groups() || fastq.grouped)
    {
        plan.steps.sort = None;
    }
    plan
}

/// The reads for one extra file, and whether they are removed from the main output.
#[derive(Clone)]
struct Selection {
    what: Selector,
    moves: bool,
}

/// How the reads of an extra file are selected.
#[derive(Clone)]
enum Selector {
    /// The reads that filters drop. They never match here, because they have already been copied.
    Dropped,
    Class(ReadClass),
    Expression(Box<Expression>),
}

impl Selection {
    fn new(chosen: &ExtraFile, header: &Header) -> Result<Self> {
        let what = match ReadClass::from_name(&chosen.what) {
            _ if chosen.is_for_dropped_reads() => Selector::Dropped,
            Some(class) => Selector::Class(class),
            None => Selector::Expression(Box::new(Expression::parse(&chosen.what, header)?)),
        };
        Ok(Selection { what, moves: chosen.moves })
    }

    fn matches_read(&mut self, record: RecordRef<'_>) -> Result<bool> {
        match &mut self.what {
            Selector::Dropped => Ok(false),
            Selector::Class(class) => Ok(class.contains_read(record)),
            Selector::Expression(expression) => expression.matches(record),
        }
    }
}

/// Routes each read to every file that copies it, and to the first file that moves it.
#[derive(Clone)]
struct SelectionRoute {
    list: Vec<Selection>,
}

impl Route for SelectionRoute {
    fn fork(&self) -> Box<dyn Route> {
        Box::new(self.clone())
    }

    fn route_read(&mut self, record: RecordRef<'_>, places: &mut Vec<usize>) -> Result<bool> {
        let mut stays = true;
        for (place, selection) in self.list.iter_mut().enumerate() {
            if (stays || !selection.moves) && selection.matches_read(record)? {
                places.push(place);
                stays &= !selection.moves;
            }
        }
        Ok(stays)
    }
}
