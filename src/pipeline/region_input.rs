//! Finds the index of an input, and turns requested regions into positions in its header.

use std::fs::{File, Metadata};
use std::io::Read;
use std::path::{Path, PathBuf};

use readmill_cram as cram;
use readmill_filters::Overlap;
use readmill_format::region::{ContigPart, Region};
use readmill_format::text;
use readmill_input::regions::RequestedRegions;
use readmill_process::atomic_file::with_suffix;
use readmill_process::console::Console;
use readmill_record::{Error, Header, Ledger, Result, make_room};

use crate::plan::{RegionRequest, pipe_without_index_error};

const REGIONS: &str = "regions";

/// Returns the requested regions: those on the command line and those of a BED file. Merges them if
/// each read is to be returned once; otherwise they are read one after the other.
///
/// # Errors
/// Fails if the contig of a region is not in the header, or if the BED file cannot be read.
pub fn resolve_regions(
    request: &RegionRequest,
    header: &Header,
    ledger: &Ledger,
    console: &Console,
) -> Result<RequestedRegions> {
    let (mut list, mut charge) = (Vec::new(), ledger.empty_charge(REGIONS));
    make_room(&mut list, request.texts.len(), &mut charge)?;
    for text in &request.texts {
        list.push(Region::parse(text, header).map_err(Error::usage)?);
    }
    if let Some(path) = &request.file {
        let overlap = Overlap::open(path, header, ledger)?;
        overlap.unknown_contigs_warning(path).iter().for_each(|warning| console.write_warning(warning));
        make_room(&mut list, overlap.regions().len(), &mut charge)?;
        list.extend(overlap.regions().iter().map(|&(contig, start, end)| {
            let (start, end) = (i64::from(start), i64::from(end));
            // For an interval without bases, reads on both sides overlap it.
            let around = i64::from(start == end);
            Region::Part(ContigPart { contig, start: (start - around).max(0), end: end + around })
        }));
    }
    if request.in_any_order {
        list.sort_unstable(); // so that each block of the file is inflated once
    }
    match request.each_once {
        true => Ok(RequestedRegions::from_union(list, charge)),
        false => RequestedRegions::in_turn(list, charge),
    }
}

/// Returns the path of a file's index: `given`, or the first that exists of FILE.csi and FILE.bai,
/// or FILE.crai for CRAM. An index that is older than the file is used only if there is no newer
/// one, and with a warning.
///
/// # Errors
/// Fails if the file is a pipe or plain SAM, or has no index.
pub fn find_index(path: &Path, given: Option<&Path>, console: &Console) -> Result<PathBuf> {
    let shown = path.display();
    let meta = std::fs::metadata(path).ok().filter(|meta| meta.is_file() && path.as_os_str() != "-");
    let Some(meta) = meta else {
        return Err(pipe_without_index_error());
    };
    let endings = match detect_file_kind(path)? {
        RegionFileKind::Bgzf => [".csi", ".bai"].as_slice(),
        RegionFileKind::Cram => &[".crai"],
        RegionFileKind::Other => {
            let what =
                format!("regions need an index, but {shown} is plain SAM, which cannot have an index");
            return Err(Error::usage(what).hint(format!(
                "convert the file to BAM (readmill sort {shown} -o OUT.bam), or select reads with -L BED"
            )));
        }
    };
    if let Some(index) = given {
        std::fs::metadata(index)
            .map_err(|e| Error::io(format!("{} cannot be read", index.display()), &e))?;
        warn_if_outdated(path, &meta, index, console);
        return Ok(index.to_path_buf());
    }
    let names = endings.iter().flat_map(|ending| {
        [with_suffix(path, ending), path.with_extension(ending.trim_start_matches('.'))]
    });
    let found: Vec<PathBuf> = names.filter(|name| name.is_file()).collect();
    let fresh = found.iter().find(|index| !is_older(index, &meta));
    match fresh.or(found.first()) {
        Some(index) => {
            warn_if_outdated(path, &meta, index, console);
            Ok(index.clone())
        }
        None => {
            let name = with_suffix(path, endings[endings.len() - 1]);
            let what = format!("{shown} has no index ({} does not exist)", name.display());
            Err(Error::missing_file(what).hint(format!(
                "create the index with readmill index {shown}; if the file is not sorted, sort it first with readmill sort {shown} -o OUT.bam"
            )))
        }
    }
}

fn is_older(index: &Path, file: &Metadata) -> bool {
    let modified = std::fs::metadata(index).and_then(|meta| meta.modified());
    modified.is_ok_and(|index| file.modified().is_ok_and(|file| index < file))
}

fn warn_if_outdated(path: &Path, file: &Metadata, index: &Path, console: &Console) {
    if is_older(index, file) {
        let (path, index) = (path.display(), index.display());
        console.write_warning(&format!(
            "{index} is older than {path}; to rebuild the index, run readmill index {path}"
        ));
    }
}

enum RegionFileKind {
    Bgzf,
    Cram,
    Other,
}

fn detect_file_kind(path: &Path) -> Result<RegionFileKind> {
    let failed = |e: std::io::Error| Error::io(format!("{} cannot be read", path.display()), &e);
    let mut start = Vec::new();
    File::open(path).map_err(failed)?.take(18).read_to_end(&mut start).map_err(failed)?;
    Ok(match () {
        () if text::is_bgzf(&start) => RegionFileKind::Bgzf,
        () if start.starts_with(cram::MAGIC) => RegionFileKind::Cram,
        () => RegionFileKind::Other,
    })
}
