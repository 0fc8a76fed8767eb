//! Measures filters: the five steps without them and with all cheap ones, which check and rewrite every read
//! and drop none, so that all else is the same work.

use anyhow::Result;

use super::chains;
use super::contender::Contender;
use super::table;
use super::work::Work;

/// Filters in addition to those of the five steps. Each checks every read.
const CHEAP: &str = "--min-mapq 0 --exclude-flags 0x8000 --include mapq>=0 --overlap all.bed \
--in-read-groups all.groups --rename-contigs same.names --clean-sam --remove-optional-fields XX,YY";

/// Measures in turns and prints the table.
pub fn run(work: &Work) -> Result<()> {
    chains::write_headers(work)?;
    write_files(work)?;
    let mut contenders = vec![chains::prep(work), filtered(work, "all cheap filters", CHEAP)];
    for flag in ["--clean-sam", "--rename-contigs same.names", "--remove-optional-fields XX,YY"] {
        contenders.push(filtered(work, flag, flag));
    }
    table::measure("Filters in five steps", work, &contenders)
}

/// The five steps with these filters, whose files are in the work directory.
fn filtered(work: &Work, name: &str, flags: &str) -> Contender {
    let mut contender = chains::prep(work);
    let call = &mut contender.stages[0][0];
    for word in flags.split(' ') {
        let file = work.file(word);
        *call = if file.is_file() { call.clone().arg(file) } else { call.clone().arg(word) };
    }
    contender.name = format!("with {name}");
    contender
}

/// Files that keep everything: whole sequences, all read groups, names as they are.
fn write_files(work: &Work) -> Result<()> {
    let header = work.header()?;
    let (mut bed, mut names, mut groups) = (String::new(), String::new(), String::new());
    for it in header.references() {
        let name = String::from_utf8_lossy(&it.name);
        bed += &format!("{name}\t0\t{}\n", it.length);
        names += &format!("{name}\t{name}\n");
    }
    for id in header.lines_of(b"RG").filter_map(|line| line.get(b"ID")) {
        groups += &format!("{}\n", String::from_utf8_lossy(id));
    }
    std::fs::write(work.file("all.bed"), bed)?;
    std::fs::write(work.file("same.names"), names)?;
    Ok(std::fs::write(work.file("all.groups"), groups)?)
}
