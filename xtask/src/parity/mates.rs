//! Inputs for every order, made from a sample, with fields that some orders need and simulated reads lack, in the
//! order of the sample and shuffled.
//!
//! Reads get MC, most of them MI and CB. Some alignments get a secondary one with the same place, and
//! some templates the name of an earlier one.

use std::collections::HashMap;
use std::io::Write;
use std::process::Stdio;

use anyhow::{Context, Result, ensure};

use super::commands::SampleDir;
use super::lines::Printed;
use super::random::SeededRandom;

/// The reads of `orders.bam` in three files.
pub const PARTS: [&str; 3] = ["part-1.bam", "part-2.bam", "part-3.bam"];

/// Makes `orders.bam`, its parts, and `shuffled.bam` from `in.bam`. Returns the number of records.
pub fn make(dir: &SampleDir<'_>) -> Result<usize> {
    let (header, records) = read(dir)?;
    let mut records = equipped(records);
    write(dir, "orders.bam", &header, &records)?;
    let (first, second) = (records.len() / 5, records.len() / 2);
    let parts = [&records[..first], &records[first..second], &records[second..]];
    for (name, part) in PARTS.iter().zip(parts) {
        write(dir, name, &header, part)?;
    }
    SeededRandom::new(records.len() as u64).shuffle(&mut records);
    write(dir, "shuffled.bam", &header, &records)?;
    Ok(records.len())
}

fn read(dir: &SampleDir<'_>) -> Result<(String, Vec<String>)> {
    let mut printed = Printed::newest(dir, "view -h --no-PG in.bam")?;
    let (mut header, mut records, mut line) = (String::new(), Vec::new(), Vec::new());
    while printed.line(&mut line)? {
        let text = String::from_utf8_lossy(&line).into_owned();
        if text.starts_with('@') {
            header += &text;
            header.push('\n');
        } else {
            records.push(text);
        }
    }
    Ok((header, records))
}

fn flags(record: &str) -> u32 {
    record.split('\t').nth(1).and_then(|flags| flags.parse().ok()).unwrap_or(0)
}

fn column(record: &str, n: usize) -> &str {
    record.split('\t').nth(n).unwrap_or_default()
}

/// Adds the fields, the secondary alignments, and the repeated names.
fn equipped(records: Vec<String>) -> Vec<String> {
    let mut cigars: HashMap<String, [String; 2]> = HashMap::new();
    for record in &records {
        let flags = flags(record);
        if flags & 0x1 != 0 && flags & 0x904 == 0 {
            let cigars = cigars.entry(column(record, 0).to_owned()).or_default();
            cigars[usize::from(flags & 0x80 != 0)] = column(record, 5).to_owned();
        }
    }
    let mut random = SeededRandom::new(records.len() as u64);
    let (mut name, mut other_name, mut earlier) = (String::new(), None, String::from("first"));
    let (mut fields, mut equipped) = (String::new(), Vec::new());
    for mut record in records {
        if column(&record, 0) != name {
            name = column(&record, 0).to_owned();
            other_name = random.once_in(500).then(|| earlier.clone());
            if random.once_in(100) {
                earlier.clone_from(&name);
            }
            fields = molecule_and_cell(&mut random);
        }
        let flags = flags(&record);
        if let Some(cigars) = cigars.get(&name).filter(|_| flags & 0x9 == 0x1) {
            let mate = &cigars[usize::from(flags & 0x80 == 0)];
            record += &format!("\tMC:Z:{}", if mate.is_empty() { "*" } else { mate });
        }
        record += &fields;
        if let Some(other) = &other_name {
            record.replace_range(..name.len(), other);
        }
        let secondary = (flags & 0x904 == 0 && random.once_in(100)).then(|| secondary(&record));
        equipped.push(record);
        equipped.extend(secondary);
    }
    equipped
}

fn molecule_and_cell(random: &mut SeededRandom) -> String {
    let mut fields = String::new();
    if !random.once_in(4) {
        fields += &format!("\tMI:Z:{}{}", random.below(30), random.pick(&["", "/A", "/B"]));
    }
    if random.once_in(2) {
        fields += &format!("\tCB:Z:{:b}-1", 8 + random.below(32));
    }
    fields
}

fn secondary(record: &str) -> String {
    let mut columns: Vec<&str> = record.split('\t').collect();
    let flags = (flags(record) | 0x100).to_string();
    (columns[1], columns[9], columns[10]) = (&flags, "*", "*");
    columns.join("\t")
}

fn write(dir: &SampleDir<'_>, name: &str, header: &str, records: &[String]) -> Result<()> {
    let mut samtools = dir.newest_command(&format!("view --no-PG -1 -o {name} -"));
    let mut samtools = samtools.stdin(Stdio::piped()).spawn().context("samtools does not start")?;
    let pipe = samtools.stdin.take().context("samtools has no input")?;
    let mut pipe = std::io::BufWriter::with_capacity(1 << 18, pipe);
    pipe.write_all(header.as_bytes())?;
    for record in records {
        pipe.write_all(record.as_bytes())?;
        pipe.write_all(b"\n")?;
    }
    pipe.flush()?;
    drop(pipe);
    ensure!(samtools.wait()?.success(), "samtools does not take the reads of {name}");
    Ok(())
}
