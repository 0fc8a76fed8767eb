//! The subcommand `view`: CPU time of `view` in readmill and samtools, for random regions and for
//! whole files of each format.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use readmill_simulate::Rng;

use crate::contender::{Call, Contender, Program};
use crate::data_file::DataTable;
use crate::jobs;
use crate::options::{Options, Peer};
use crate::table;
use crate::work::BenchSetup;

#[derive(clap::Args)]
pub struct ViewBenchArgs {
    #[command(flatten)]
    options: Options,
    /// Random regions of 100 to 10,000 bases
    #[arg(long, value_name = "N", default_value_t = 1000)]
    regions: usize,
}

/// Formats: name in the table, file name, and samtools options for writing it.
const FILES: [(&str, &str, &str); 4] = [
    ("BAM, BAI", "bai.bam", "-b"),
    ("BAM, CSI", "csi.bam", "-b"),
    ("SAM in BGZF, BAI", "bai.sam.gz", "-h -O sam.gz"),
    ("CRAM, CRAI", "crai.cram", "-O cram,no_ref"),
];

const REGION_FLAGS: [&str; 4] = ["", "-M", "-c", "-b"];

const WHOLE_FILE_FLAGS: [&str; 6] =
    ["-c", "-c -F 4", "-h", "-u -F 0x904 -q 20", "-b -F 0x904 -q 20", "-c -e mapq>=20&&[NM]<3"];

struct ViewCase {
    name: String,
    flags: &'static str,
    file: PathBuf,
    regions: Vec<String>,
}

/// Prepares the files with samtools, measures each case, and prints the CPU time ratios.
pub fn bench_view(args: ViewBenchArgs) -> Result<()> {
    let ViewBenchArgs { options, regions } = args;
    let mut work = BenchSetup::prepare(options)?;
    let samtools = work.find_peer(Peer::Samtools).context("samtools is needed")?;
    let regions = random_regions(&work, regions)?;
    let sorted = jobs::sort_first(&work)?;
    work.data = sorted;
    println!("### View (CPU time)\n\n{}\n", work.describe_setup());
    println!("| | readmill CPU s | samtools CPU s | ratio (least–most) |\n|---|---|---|---|");
    let mut rows = Vec::new();
    for (kind, name, format) in FILES {
        let file = work.file(name);
        let make = Call::new(&samtools).add_words("view --no-PG").add_words(format).arg("-o").arg(&file);
        work.run_once(make.arg(&work.data))?;
        let index = if name.starts_with("csi") { "index -c" } else { "index" };
        work.run_once(Call::new(&samtools).add_words(index).arg(&file))?;
        let of_regions = REGION_FLAGS.iter().map(|flags| (flags, &regions[..]));
        for (flags, regions) in of_regions.chain(WHOLE_FILE_FLAGS.iter().map(|flags| (flags, &[][..]))) {
            let what =
                if regions.is_empty() { "all".into() } else { format!("{} regions", regions.len()) };
            let name = format!("{kind}: view {flags}, {what}");
            let case = ViewCase { name, flags, file: file.clone(), regions: regions.to_vec() };
            rows.push(measure_case(&work, &samtools, &case)?);
        }
    }
    let columns =
        ["case", "runs", "readmill_cpu_s", "samtools_cpu_s", "ratio", "ratio_min", "ratio_max"];
    work.save_table(&DataTable { file: "view", title: "View (CPU time)", columns: &columns, rows })
}

/// Measures one case, prints its row and returns the cells for the data file.
fn measure_case(work: &BenchSetup, samtools: &Program, case: &ViewCase) -> Result<Vec<String>> {
    let Options { runs, threads, .. } = work.options;
    let contender = |name: &str, program: &Program, threads: usize| {
        let output = work.file("view.out");
        let call =
            Call::new(program).add_words(&format!("view --no-PG -@ {threads}")).add_words(case.flags);
        let call = case.regions.iter().fold(call.arg(&case.file), Call::arg);
        Contender::new(name, runs, output.clone(), vec![vec![call.write_to(&output)]])
    };
    // samtools' `-@` counts additional threads.
    let both = [
        contender("readmill", &work.readmill, threads),
        contender("samtools", samtools, threads.saturating_sub(1)),
    ];
    let rows = table::measure_rounds(work, &both, |_, _: &Path| Ok(()))?;
    let cpu = |row: &table::TableRow| {
        let mut all: Vec<f64> = row.samples.iter().map(|sample| sample.cpu.as_secs_f64()).collect();
        all.sort_by(f64::total_cmp);
        table::median(&all)
    };
    let ratio = rows[0].ratio(&rows[1], |sample| sample.cpu.as_secs_f64());
    let seconds = [&rows[0], &rows[1]].map(|row| format!("{:.3}", cpu(row)));
    println!("| {} | {} | {} | {ratio} |", case.name, seconds[0], seconds[1]);
    let mut cells = vec![case.name.clone(), runs.to_string()];
    cells.extend(seconds);
    cells.extend(table::split_range(&ratio));
    Ok(cells)
}

/// Draws regions of 100 to 10,000 bases from a fixed seed, in proportion to the contig lengths.
fn random_regions(work: &BenchSetup, number: usize) -> Result<Vec<String>> {
    let header = work.read_header()?;
    let contigs = header.references();
    let mut random = Rng::new(7);
    let mut region = || {
        let all: u64 = contigs.iter().map(|contig| u64::from(contig.length)).sum();
        let mut at = random.below64(all.max(1));
        let contig = contigs.iter().find(|contig| {
            let is_in = at < u64::from(contig.length);
            at -= if is_in { 0 } else { u64::from(contig.length) };
            is_in
        });
        let length = random.pick(&[100, 1000, 1000, 10_000]);
        let contig = contig.context("the reads have no contigs")?;
        let name = String::from_utf8_lossy(&contig.name);
        Ok(format!("{name}:{}-{}", at + 1, (at + length).min(contig.length.into())))
    };
    (0..number).map(|_| region()).collect()
}
