//! The undamaged inputs: a tiny sample in every format that a command reads.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use flate2::Compression;
use flate2::write::GzEncoder;
use readmill_bytes::inputs::{self, Scale};
use readmill_format::bgzf::{Codec, Deflater, EOF_BLOCK};

const FORMS: [&str; 19] = [
    "index sorted.bam",
    "index sorted.cram",
    "prep sorted.bam -o csi.bam --no-PG",
    "index -c csi.bam",
    "prep sorted.bam -O cram,version=3.1,profile=small --reference reference.fa -o small.cram",
    "prep sorted.bam -O cram,version=3.1,profile=archive,no-ref -o archive.cram",
    "prep umi.bam -O cram,version=3.1,profile=fast,no-ref -o fast.cram",
    "prep oq.bam -O cram,version=3.0,no-ref -l 0 -o stored.cram",
    "prep reads.bam -O cram,version=3.1,no-ref -l 9 -o names.cram",
    "index known.vcf.gz",
    "index regions.bed.gz",
    "dict -o reference.dict reference.fa",
    "index plain.fa.gz",
    "index alt.fa",
    "fingerprint count sorted.bam --sites known.vcf -o one.fingerprint",
    "fingerprint count sorted2.bam --sites known.vcf -o two.fingerprint",
    "prep reads.bam -o made.bam --sort coordinate --mark-duplicates --qc made --qc-metrics all --reference reference.fa \
     --coverage made --fastqc made.fastqc --flagstat made.flagstat --stats made.stats --json made.json --sample made",
    "prep mates.bam -O sam -o mates.sam --no-PG",
    "view -h -e ncigar>0 -o long.sam mates.bam",
];

pub struct Seeds {
    pub files: BTreeMap<String, Vec<u8>>,
}

impl Seeds {
    /// Creates all inputs in a directory. The fuzzed program creates most of them; an error
    /// includes its messages.
    pub fn make_inputs(directory: &Path, program: &Path) -> Result<Self> {
        inputs::make_inputs(directory, program, &Scale::TINY, false)?;
        write_texts(directory)?;
        for line in FORMS {
            let mut command = Command::new(program);
            command.current_dir(directory).env_remove("TMPDIR").args(line.split_whitespace());
            // The number of threads is fixed: with all threads of a large machine, some commands
            // need more than the default memory.
            command.env("READMILL_THREADS", "2");
            let done = command.stdin(Stdio::null()).output().context("the program does not start")?;
            let said = String::from_utf8_lossy(&done.stderr).into_owned();
            ensure!(done.status.success(), "an input cannot be made: readmill {line}\n{said}");
        }
        let mut files = BTreeMap::new();
        for entry in fs::read_dir(directory)? {
            let path = entry?.path();
            let name = path.file_name().context("no name")?.to_string_lossy().into_owned();
            if path.is_file() {
                files.insert(name, fs::read(path)?);
            }
        }
        Ok(Self { files })
    }

    /// Returns an input and the files that belong to it, such as indexes: those whose names
    /// continue with a dot.
    pub fn files_of<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        let is_beside = move |other: &&String| {
            let rest = other.strip_prefix(name);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        };
        self.files.keys().filter(is_beside).map(String::as_str)
    }
}

/// Writes the inputs derived from text files: compressed copies, BCF, intervals, names and others.
fn write_texts(directory: &Path) -> Result<()> {
    let read = |name: &str| fs::read_to_string(directory.join(name));
    let write = |name: &str, bytes: &[u8]| fs::write(directory.join(name), bytes);
    for name in ["r1.fastq", "r2.fastq"] {
        write(&format!("{name}.gz"), &compress_gzip(read(name)?.as_bytes())?)?;
        write(&format!("{name}.bgz"), &compress_bgzf(read(name)?.as_bytes()))?;
    }
    write("known.vcf.gz", &compress_bgzf(read("known.vcf")?.as_bytes()))?;
    write("regions.bed.gz", &compress_bgzf(read("regions.bed")?.as_bytes()))?;
    let reference = read("reference.fa")?;
    write("plain.fa.gz", &compress_bgzf(reference.as_bytes()))?;
    write("alt.fa", reference.as_bytes())?;
    write("alt.fa.alt", b"@SQ\tSN:chr4\tLN:1800\nchr4\t0\tchr1\t1\t60\t1800M\t*\t0\t0\t*\t*\n")?;
    write("known.bcf", &compress_bgzf(&vcf_to_bcf(&read("known.vcf")?)))?;
    let sam = read("reads.sam")?;
    let header: Vec<&str> = sam.lines().take_while(|line| line.starts_with("@")).collect();
    let dictionary: Vec<&str> = header.iter().filter(|line| line.starts_with("@SQ")).copied().collect();
    let list = format!("{}\nchr1\t11\t3000\t+\ta\nchr2\t51\t90\t-\tb\n", dictionary.join("\n"));
    write("regions.interval_list", list.as_bytes())?;
    write("header.sam", format!("{}\n", header.join("\n")).as_bytes())?;
    let names = sam.lines().skip(header.len()).filter_map(|line| line.split('\t').next());
    write("names.txt", names.map(|name| format!("{name}\n")).collect::<String>().as_bytes())?;
    write("values.txt", b"LIB1\n0\n1\n2\n")?;
    write("limits.json", br#"{"mean_coverage": {"look_below": 25, "bad_below": 15}, "duplicates": {"look_above": 0.3}, "oxidation": null}"#)?;
    write("arguments.txt", b"-O out.bam\n--SORT_ORDER coordinate\n")?;
    Ok(())
}

fn compress_gzip(text: &[u8]) -> Result<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(text)?;
    Ok(encoder.finish()?)
}

fn compress_bgzf(text: &[u8]) -> Vec<u8> {
    let mut file = Vec::new();
    text.chunks(2000)
        .for_each(|block| Deflater::new(Codec::Libdeflate, 6).deflate_block(block, &mut file));
    file.extend_from_slice(&EOF_BLOCK);
    file
}

/// Converts a VCF without samples to uncompressed BCF. Records have contig, position, length and
/// first allele.
fn vcf_to_bcf(vcf: &str) -> Vec<u8> {
    let header: Vec<&str> = vcf.lines().filter(|line| line.starts_with('#')).collect();
    let contigs = header.iter().filter_map(|line| line.strip_prefix("##contig=<ID=")?.split(',').next());
    let contigs: Vec<&str> = contigs.collect();
    let text = format!("{}\n\0", header.join("\n"));
    let mut file = b"BCF\x02\x02".to_vec();
    file.extend_from_slice(&(text.len() as u32).to_le_bytes());
    file.extend_from_slice(text.as_bytes());
    for line in vcf.lines().filter(|line| !line.starts_with('#')) {
        let cells: Vec<&str> = line.split('\t').collect();
        let [contig, position, _, bases, ..] = cells[..] else { continue };
        let contig = contigs.iter().position(|known| *known == contig).unwrap_or(0) as u32;
        let place = position.parse::<u32>().unwrap_or(1) - 1;
        let allele =
            [&[(bases.len().min(14) as u8) << 4 | 7], &bases.as_bytes()[..bases.len().min(14)]].concat();
        let shared = [&[0x07][..], &allele, &[0x00]].concat();
        for number in
            [24 + shared.len() as u32, 0, contig, place, bases.len() as u32, 0x7f80_0001, 1 << 16, 0]
        {
            file.extend_from_slice(&number.to_le_bytes());
        }
        file.extend_from_slice(&shared);
    }
    file
}
