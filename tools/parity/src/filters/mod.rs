//! Compares filters and edits with tools that also have them: samtools view, elPrep and Picard.

mod edits;

use std::fmt::Write as _;
use std::fs;

use anyhow::{Context, Result, ensure};
use edits::parse_sequences;
use readmill_peers::{Peers, Tool};

use crate::commands::SampleDir;
use crate::ledger::{FULL_RUN, Ledger};
use crate::outputs::{ProgramLines, compare_lines, sort_tags};
use crate::random::SeededRandom;
use crate::samples;

/// BED file with regions on the sequences of the current input. It is rewritten for each input.
const REGIONS: &str = "regions.bed";

/// Compares filters and edits with Picard and samtools, on a simulated sample with all kinds of
/// templates and on reads near the ends of sequences. A full run also compares with elPrep.
pub fn compare_filters(
    dir: &SampleDir<'_>,
    peers: &Peers,
    pairs: u64,
    full: bool,
    ledger: &mut Ledger,
) -> Result<()> {
    ledger.print_heading(
        "filters",
        "filters and edits, on simulated reads and on reads at the ends of sequences",
    );
    let sample = samples::simulated_samples(pairs).into_iter().find(|sample| sample.has_all_kinds);
    sample.context("a sample with all kinds of templates")?.write_input_bam(dir)?;
    fs::write(dir.path("edges.sam"), random_reads_near_ends(5_000))?;
    dir.run_samtools_1_24("view --no-PG -b -o edges.bam edges.sam")?;
    let elprep = if full { Some(peers.elprep()?) } else { None };
    if !full {
        ledger.record_skipped("filters: comparison with elPrep", FULL_RUN);
    }
    for input in ["in.bam", "edges.bam"] {
        write_regions(dir, input)?;
        let pair = FilterInput { dir, input };
        pair.compare_with_samtools(ledger);
        if let Some(elprep) = &elprep {
            pair.compare_with_elprep(elprep, ledger);
        }
        pair.compare_with_picard(ledger);
        pair.compare_renamed_contigs(ledger);
    }
    edits::compare_mates(dir, ledger);
    edits::compare_nm_md_uq(dir, pairs, ledger);
    Ok(())
}

fn write_regions(dir: &SampleDir<'_>, input: &str) -> Result<()> {
    let header =
        ProgramLines::start_samtools_1_24(dir, &format!("view -H --no-PG {input}"))?.read_text()?;
    let mut random = SeededRandom::new(7);
    let mut bed = String::from("track name=x\n");
    for (name, length) in parse_sequences(&header) {
        for _ in 0..40 {
            let start = random.below(length);
            let end = (start + random.pick(&[0, 1, 2, 30, 30, 500])).min(length);
            bed += &format!("{name}\t{start}\t{end}\n");
            if random.once_in(4) {
                bed += &format!("{name}\t{end}\t{}\n", (end + 5).min(length));
            }
        }
    }
    fs::write(dir.path(REGIONS), bed + "nowhere\t1\t2\n")?;
    Ok(())
}

struct FilterInput<'a> {
    dir: &'a SampleDir<'a>,
    input: &'a str,
}

impl FilterInput<'_> {
    fn compare_with_samtools(&self, ledger: &mut Ledger) {
        for (ours, theirs) in [
            ("-q 20", "-q 20"),
            ("-e mapq>=20&&!flag.unmap&&[NM]<5", "-e mapq>=20&&!flag.unmap&&[NM]<5"),
            ("--exclude sclen>0||rname=~\"2$\"", "-e !(sclen>0||rname=~\"2$\")"),
            ("--min-mapq 255", "-q 255"),
            ("-f 1 -F UNMAP,SECONDARY", "-f 1 -F UNMAP,SECONDARY"),
            ("--rf 0x90 -G 33", "--rf 0x90 -G 33"),
            ("--subsample 0.3 --subsample-seed 7", "--subsample 0.3 --subsample-seed 7"),
            (
                "-r a --subsample 0.5 --subsample-seed 3 -q 1",
                "-r a --subsample 0.5 --subsample-seed 3 -q 1",
            ),
            ("-L regions.bed", "-L regions.bed"),
            ("--drop-unmapped -q 1 -L regions.bed", "-F 4 -q 1 -L regions.bed"),
            ("--remove-optional-fields NM,RG,XZ", "-x NM -x RG -x XZ"),
            ("--keep-optional-fields NM,RG", "--keep-tag NM,RG"),
        ] {
            let what = format!("{}: filter {ours} as samtools view {theirs}", self.input);
            ledger.check(&what, || {
                self.run_filter(ours)?;
                let printed = ProgramLines::start_samtools_1_24(
                    self.dir,
                    &format!("view {theirs} {}", self.input),
                )?;
                self.compare_records(printed, |_| true)
            });
        }
    }

    fn compare_with_elprep(&self, elprep: &Tool, ledger: &mut Ledger) {
        let group = "ID:g LB:l SM:s PL:ILLUMINA PU:u";
        for words in [
            &["--filter-unmapped-reads"][..],
            &["--filter-unmapped-reads-strict"],
            &["--filter-mapping-quality", "20"],
            &["--filter-non-exact-mapping-reads"],
            &["--filter-non-exact-mapping-reads-strict"],
            &["--filter-non-overlapping-reads", REGIONS],
            &["--remove-optional-fields", "NM, XZ"],
            &["--remove-optional-fields", "all"],
            &["--keep-optional-fields", "RG,X0"],
            &["--keep-optional-fields", "none"],
            &["--replace-read-group", group],
            &[
                "--filter-unmapped-reads",
                "--filter-mapping-quality",
                "10",
                "--filter-non-exact-mapping-reads",
                "--filter-non-overlapping-reads",
                REGIONS,
                "--replace-read-group",
                group,
                "--remove-optional-fields",
                "NM",
            ],
        ] {
            let what = format!("{}: elPrep's {}", self.input, words.join(" "));
            ledger.check(&what, || {
                let mut ours = self.dir.readmill_command(&format!("filter {} -o ours.bam", self.input));
                ours.args(words);
                self.dir.run_to_end(ours)?;
                let mut theirs = elprep.command();
                theirs.current_dir(self.dir.directory()).args(["filter", self.input, "theirs.sam"]);
                theirs.args(words);
                self.dir.run_to_end(theirs)?;
                self.compare_unordered("view theirs.sam")
            });
        }
    }

    fn compare_with_picard(&self, ledger: &mut Ledger) {
        let header =
            ProgramLines::start_samtools_1_24(self.dir, &format!("view -H --no-PG {}", self.input));
        let reversed = header.and_then(ProgramLines::read_text).map(|header| {
            let mut lines: Vec<&str> = header.lines().filter(|line| line.starts_with("@SQ\t")).collect();
            lines.reverse();
            format!("@HD\tVN:1.6\n{}\n", lines.join("\n"))
        });
        let group = "RGID=g RGLB=l RGPL=ILLUMINA RGSM=s RGPU=u";
        for (ours, theirs) in [
            ("--clean-sam", "CleanSam".to_owned()),
            (
                "--read-group @RG\\tID:g\\tLB:l\\tPL:ILLUMINA\\tSM:s\\tPU:u",
                format!("AddOrReplaceReadGroups {group}"),
            ),
            (
                "--sequence-dictionary reversed.dict",
                "ReorderSam SEQUENCE_DICTIONARY=reversed.dict".to_owned(),
            ),
        ] {
            let what = format!("{}: filter {ours} as Picard's {theirs}", self.input);
            ledger.check(&what, || {
                let reversed = reversed.as_ref().map_err(|error| anyhow::anyhow!("{error}"))?;
                fs::write(self.dir.path("reversed.dict"), reversed)?;
                self.run_filter(ours)?;
                let codes =
                    self.dir.run_picard_calls(&[format!("{theirs} I={} O=theirs.bam", self.input)])?;
                ensure!(codes == [0], "Picard ends with {codes:?}");
                self.compare_records(
                    ProgramLines::start_samtools_1_24(self.dir, "view theirs.bam")?,
                    sort_tags,
                )
            });
        }
    }

    /// Compares `--rename-contigs` with samtools reheader, which does not change SA. This function
    /// replaces the names in SA.
    fn compare_renamed_contigs(&self, ledger: &mut Ledger) {
        let what =
            format!("{}: filter --rename-contigs as samtools reheader, and SA by hand", self.input);
        ledger.check(&what, || {
            let header =
                ProgramLines::start_samtools_1_24(self.dir, &format!("view -H --no-PG {}", self.input))?
                    .read_text()?;
            let names: Vec<String> =
                parse_sequences(&header).into_iter().map(|(name, _)| name.to_owned()).collect();
            let table: String = names.iter().map(|name| format!("{name}\tnew-{name}\n")).collect();
            fs::write(self.dir.path("names.tsv"), table)?;
            self.run_filter("--rename-contigs names.tsv")?;
            let header = header.replace("\tSN:", "\tSN:new-");
            fs::write(self.dir.path("new.header"), header)?;
            let renamed =
                self.dir.samtools_1_24_command(&format!("reheader -P new.header {}", self.input));
            fs::write(self.dir.path("theirs.bam"), ProgramLines::start(renamed)?.read_bytes()?)?;
            let theirs = ProgramLines::start_samtools_1_24(self.dir, "view theirs.bam")?.read_text()?;
            let ours = ProgramLines::start_samtools_1_24(self.dir, "view ours.bam")?.read_text()?;
            let expected: Vec<String> =
                theirs.lines().map(|line| rename_contigs_in_sa(line, &names)).collect();
            let differs = ours.lines().zip(&expected).find(|(ours, theirs)| ours != theirs);
            ensure!(differs.is_none() && ours.lines().count() == expected.len(), "{differs:?}");
            Ok(format!("{} records", expected.len()))
        });
    }

    fn run_filter(&self, flags: &str) -> Result<()> {
        self.dir.run_readmill(&format!("filter {} -o ours.bam {flags}", self.input)).map(drop)
    }

    /// Compares sorted lines, because elPrep keeps the record order only for sorted files.
    fn compare_unordered(&self, theirs: &str) -> Result<String> {
        let lines = |words: &str| -> Result<Vec<Vec<u8>>> {
            let bytes = ProgramLines::start_samtools_1_24(self.dir, words)?.read_bytes()?;
            let mut lines: Vec<Vec<u8>> =
                bytes.split(|&byte| byte == b'\n').map(<[u8]>::to_vec).collect();
            lines.retain_mut(sort_tags);
            lines.sort_unstable();
            Ok(lines)
        };
        let (ours, theirs) = (lines("view ours.bam")?, lines(theirs)?);
        let differs = ours.iter().zip(&theirs).find(|(ours, theirs)| ours != theirs);
        let shown =
            differs.map(|(ours, theirs)| [ours, theirs].map(|line| String::from_utf8_lossy(line)));
        ensure!(
            shown.is_none() && ours.len() == theirs.len(),
            "{} and {} records: {shown:?}",
            ours.len(),
            theirs.len()
        );
        Ok(format!("{} records", ours.len() - 1))
    }

    fn compare_records(
        &self,
        theirs: ProgramLines,
        normal: crate::outputs::LineFilter,
    ) -> Result<String> {
        let records = compare_lines(
            ProgramLines::start_samtools_1_24(self.dir, "view ours.bam")?,
            theirs,
            normal,
        )?;
        Ok(format!("{records} records"))
    }
}

fn rename_contigs_in_sa(line: &str, names: &[String]) -> String {
    let field = |field: &str| match field.strip_prefix("SA:Z:") {
        None => field.to_owned(),
        Some(list) => {
            let entries = list.split_inclusive(';').map(|entry| {
                let known = names.iter().any(|name| entry.starts_with(&format!("{name},")));
                if known { format!("new-{entry}") } else { entry.to_owned() }
            });
            format!("SA:Z:{}", entries.collect::<String>())
        }
    };
    line.split('\t').map(field).collect::<Vec<_>>().join("\t")
}

const SEQUENCES: [(&str, u64); 3] = [("c1", 1_000), ("c2", 300), ("c3", 2_000)];

/// Returns a SAM file of `reads` alignments near the ends of short sequences, with the tags that
/// filters use.
///
/// All alignments have a defined result in Picard's CleanSam: few deletions in the part beyond the
/// end, and a start on the sequence (row 62 of docs/parity.md).
fn random_reads_near_ends(reads: u64) -> String {
    let mut text = String::from("@HD\tVN:1.6\tSO:unsorted\n");
    for (name, length) in SEQUENCES {
        let _ = writeln!(text, "@SQ\tSN:{name}\tLN:{length}");
    }
    text += "@RG\tID:a\tSM:s\tLB:l\n@RG\tID:b\tSM:s\tLB:m\n";
    let mut random = SeededRandom::new(11);
    for number in 0..reads {
        text += &random_read_near_end(&mut random, number);
    }
    text
}

/// A random alignment: its CIGAR, and the number of read bases and reference bases that it
/// consumes.
struct RandomAlignment {
    cigar: String,
    query_bases: u64,
    span_bases: u64,
}

impl RandomAlignment {
    fn random(random: &mut SeededRandom) -> Self {
        let mut it = RandomAlignment { cigar: String::new(), query_bases: 0, span_bases: 0 };
        if random.once_in(8) {
            it.push_operator(1 + random.below(5), 'S');
        }
        it.push_operator(20 + random.below(20), random.pick(&['M', 'M', 'M', '=']));
        for _ in 0..random.below(4) {
            it.push_operator(1 + random.below(3), random.pick(&['I', 'D']));
            it.push_operator(1 + random.below(12), random.pick(&['M', 'M', 'X']));
        }
        if random.once_in(6) {
            it.push_operator(1 + random.below(5), 'S');
        } else if random.once_in(6) {
            it.push_operator(1 + random.below(5), 'H');
        }
        it
    }

    fn push_operator(&mut self, length: u64, operator: char) {
        let _ = write!(self.cigar, "{length}{operator}");
        self.query_bases += if "MIS=X".contains(operator) { length } else { 0 };
        self.span_bases += if "MD=X".contains(operator) { length } else { 0 };
    }

    /// Returns a position (1-based) at which the alignment ends near the end of the sequence, or a
    /// random one.
    fn random_position(&self, random: &mut SeededRandom, length: u64) -> u64 {
        if random.once_in(3) {
            return 1 + random.below(length - self.span_bases);
        }
        length + 8 - self.span_bases - random.below(30)
    }
}

fn random_read_near_end(random: &mut SeededRandom, number: u64) -> String {
    let (own, mate) = (RandomAlignment::random(random), RandomAlignment::random(random));
    let ((name, length), (next, next_length)) = (random.pick(&SEQUENCES), random.pick(&SEQUENCES));
    let mut flags = random.pick(&[0, 16, 99, 147, 97, 145, 73, 133, 4, 1024, 256, 2048]);
    let placed = flags != 4 || random.once_in(2);
    flags |= if random.once_in(10) { 512 } else { 0 };
    let place = if placed { (name, own.random_position(random, length)) } else { ("*", 0) };
    let paired = flags & 1 != 0;
    let next_place = if paired { (next, mate.random_position(random, next_length)) } else { ("*", 0) };
    let cigar = if flags & 4 == 0 { &own.cigar[..] } else { "*" };
    let next = if next_place.0 == place.0 && placed { "=" } else { next_place.0 };
    let mapq = random.pick(&[0, 1, 9, 10, 19, 20, 37, 60, 254]);
    let (bases, qualities): (String, String) = (0..own.query_bases)
        .map(|_| (random.pick(&['A', 'C', 'G', 'T', 'N']), random.pick(&['#', '5', 'I'])))
        .unzip();
    let mut line = format!(
        "e{number}\t{flags}\t{}\t{}\t{mapq}\t{cigar}\t{next}\t{}\t0",
        place.0, place.1, next_place.1
    );
    let _ = write!(line, "\t{bases}\t{qualities}");
    if paired && flags & 8 == 0 {
        let _ = write!(line, "\tMC:Z:{}", mate.cigar);
    }
    line + &random_tags(random) + "\n"
}

fn random_tags(random: &mut SeededRandom) -> String {
    let mut fields = format!("\tRG:Z:{}", random.pick(&["a", "b"]));
    if random.once_in(2) {
        let exact = random.once_in(2);
        for (tag, value) in [("X0", 1), ("X1", 0), ("XM", 0), ("XO", 0), ("XG", 0)] {
            let other = !exact && random.once_in(3);
            let _ =
                write!(fields, "\t{tag}:i:{}", if other { random.pick(&[-1, 2, 300]) } else { value });
        }
    }
    if random.once_in(3) {
        fields += "\tSA:Z:c1,5,+,4M,0,0;c3,9,-,2S2M,60,1;";
    }
    let _ = write!(fields, "\tNM:i:{}\tXZ:Z:text", random.below(9));
    fields
}
