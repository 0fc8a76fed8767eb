//! Random expressions and records, reproducible by seed. Only expressions are made that samtools
//! evaluates without errors and without reusing values of an earlier operand (see the differences
//! listed in the module `expression`).

use readmill_simulate::Rng;

pub struct ExpressionGenerator(Rng);

impl ExpressionGenerator {
    pub fn new(seed: u64) -> Self {
        ExpressionGenerator(Rng::new(seed))
    }

    pub fn below(&mut self, n: usize) -> usize {
        self.0.index(n)
    }

    pub fn of<'a>(&mut self, choices: &[&'a str]) -> &'a str {
        choices[self.below(choices.len())]
    }

    fn coin(&mut self, one_in: usize) -> bool {
        self.below(one_in) == 0
    }

    /// Returns the SAM line of a record named `name`. Every record has the text field `ZA`; `XV` is
    /// a number in some records and text in others.
    pub fn record(&mut self, name: &str) -> String {
        let cigar = self.of(&[
            "*",
            "10M",
            "2S8M",
            "8M2S",
            "1H2S6M2S3H",
            "5H10M",
            "3M1I4M2D2M",
            "4M100N6M",
            "10S",
            "5=1X4=",
            "2S3H",
        ]);
        let bases: u32 = readmill_bases(cigar);
        let length = if cigar == "*" { self.below(12) as u32 } else { bases };
        let seq: String = (0..length).map(|_| self.of(&["A", "C", "G", "T", "N", "R"])).collect();
        let qual: String = match self.below(3) {
            0 => "*".to_string(),
            _ => (0..length).map(|_| self.of(&["#", "5", "?", "I", "]"])).collect(),
        };
        let (seq, qual) =
            if seq.is_empty() || self.coin(9) { ("*".into(), "*".into()) } else { (seq, qual) };
        let (chromosome, mate) = (self.of(&["*", "c1", "c2", "c10"]), self.of(&["*", "=", "c1", "c2"]));
        let mut line = format!(
            "{name}\t{}\t{chromosome}\t{}\t{}\t{cigar}\t{mate}\t{}\t{}\t{seq}\t{qual}\tZA:Z:{}",
            self.below(4096),
            if chromosome == "*" { 0 } else { self.below(500) },
            self.of(&["0", "1", "20", "37", "60", "255"]),
            if mate == "*" { 0 } else { self.below(500) },
            self.below(600) as i64 - 300,
            self.of(&["", "ab", "abc", "b", "x y", "a.b", "AAC"]),
        );
        for field in [
            "NM:i:0",
            "NM:i:1",
            "NM:i:7",
            "XI:i:-3",
            "XI:i:70000",
            "XF:f:0.25",
            "XF:f:-2",
            "XC:A:q",
            "XH:H:1F",
            "XV:i:3",
            "XV:Z:three",
            "RG:Z:g1",
            "RG:Z:g2",
            "RG:Z:none",
        ] {
            if self.coin(3) && !line.contains(&field[..5].replace(":A", ":").as_str()[..3]) {
                line.push('\t');
                line.push_str(field);
            }
        }
        line
    }

    pub fn condition(&mut self, depth: usize) -> String {
        loop {
            let text = self.truth(depth);
            let has = |parts: &[&str]| parts.iter().any(|part| text.contains(part));
            // samtools uses its patterns in the order of first use. If a field before a pattern is
            // absent in some records, it searches for the pattern in the wrong text.
            let patterns = text.matches("=~").count() + text.matches("!~").count();
            let moves_patterns = patterns > 1 && has(&["] =~", "] !~"]);
            // samtools replaces an absent field by the text that an earlier operand has measured.
            let leaves_text =
                has(&["length(", "min(", "max(", "avg("]) && has(&["[NM]", "[XI]", "[XF]", "[ZZ]"]);
            if !moves_patterns && !leaves_text {
                return text;
            }
        }
    }

    fn truth(&mut self, depth: usize) -> String {
        if depth == 0 {
            return self.comparison();
        }
        match self.below(8) {
            0 => format!("!({})", self.truth(depth - 1)),
            1 => format!("!{}", self.leaf()),
            2 => format!("({})", self.truth(depth - 1)),
            3 => self.leaf(),
            4 => format!("exists({})", self.leaf()),
            5 => format!("{} {} {}", self.truth(depth - 1), self.of(&["&&", "||"]), self.comparison()),
            6 => format!("{} {} {}", self.comparison(), self.of(&["&&", "||"]), self.truth(depth - 1)),
            _ => self.comparison(),
        }
    }

    fn leaf(&mut self) -> String {
        match self.below(4) {
            0 => self.field().to_string(),
            1 => self.number_variable().to_string(),
            2 => self.text_variable().to_string(),
            _ => format!("({})", self.arithmetic(1)),
        }
    }

    fn field(&mut self) -> &'static str {
        self.of(&["[NM]", "[XI]", "[XF]", "[XC]", "[XH]", "[XV]", "[RG]", "[ZA]", "[ZZ]"])
    }

    fn number_variable(&mut self) -> &'static str {
        self.of(&[
            "endpos",
            "flag",
            "flag.paired",
            "flag.proper_pair",
            "flag.unmap",
            "flag.munmap",
            "flag.reverse",
            "flag.mreverse",
            "flag.read1",
            "flag.read2",
            "flag.secondary",
            "flag.qcfail",
            "flag.dup",
            "flag.supplementary",
            "hclen",
            "mapq",
            "mpos",
            "mrefid",
            "ncigar",
            "pnext",
            "pos",
            "qlen",
            "refid",
            "rlen",
            "sclen",
            "tlen",
            "length(seq)",
            "length(cigar)",
            "max(qual)",
            "min(seq)",
            "avg(qual)",
            "length([ZA])",
        ])
    }

    fn text_variable(&mut self) -> &'static str {
        self.of(&["cigar", "library", "mrname", "qname", "rname", "rnext", "seq", "[ZA]"])
    }

    fn literal(&mut self) -> String {
        match self.below(6) {
            0 => format!("0x{:x}", self.below(4096)),
            1 => format!("{}.{}", self.below(100), self.below(100)),
            2 => format!("{}e{}", self.below(9), self.below(3)),
            3 => format!("-{}", self.below(300)),
            _ => self.below(300).to_string(),
        }
    }

    /// Returns an operand that is a number if it is defined.
    fn operand(&mut self, depth: usize) -> String {
        match self.below(if depth == 0 { 4 } else { 7 }) {
            0 | 1 => self.number_variable().to_string(),
            2 => self.of(&["[NM]", "[XI]", "[XF]", "[ZZ]"]).to_string(),
            3 => self.literal(),
            4 => format!("({})", self.arithmetic(depth - 1)),
            5 => {
                let function = self.of(&["sqrt", "log", "exp"]);
                format!("{function}({})", self.arithmetic(depth - 1))
            }
            _ => format!("{}{}", self.of(&["-", "+", "~"]), self.number_variable()),
        }
    }

    fn arithmetic(&mut self, depth: usize) -> String {
        let mut text = self.operand(depth);
        for _ in 0..self.below(4) {
            let operator = self.of(&["+", "-", "*", "/", "&", "|", "^", "%"]);
            if operator == "%" {
                // samtools replaces undefined values by the smallest integer.
                let variable = self.of(&["pos", "flag", "tlen", "endpos", "mapq"]);
                text = format!("({text}) + {variable} % {}", 1 + self.below(40));
            } else {
                let space = self.of(&["", " "]);
                text = format!("{text}{space}{operator}{space}{}", self.operand(depth));
            }
        }
        text
    }

    fn comparison(&mut self) -> String {
        let order = self.of(&["==", "!=", "<", "<=", ">", ">="]);
        match self.below(8) {
            0 => format!(
                "{} {order} \"{}\"",
                self.text_variable(),
                self.of(&["c1", "10M", "ab", "*", "r17", "AC", "", "lib"])
            ),
            1 => format!("{} {order} {}", self.text_variable(), self.text_variable()),
            2 => {
                let (text, sign) = (self.text_variable(), self.of(&["=~", "!~"]));
                format!("{text} {sign} \"{}\"", self.of(&PATTERNS))
            }
            3 => {
                let (field, sign) = (self.of(&["[RG]", "[XC]", "[XH]", "[ZZ]"]), self.of(&["=~", "!~"]));
                format!("{field} {sign} \"{}\"", self.of(&PATTERNS))
            }
            4 => format!("{} {order} {}", self.field(), self.literal()),
            5 => format!(
                "default({}, {}) {order} {}",
                self.of(&["[NM]", "[XI]", "[ZZ]"]),
                self.literal(),
                self.literal()
            ),
            _ => format!("{} {order} {}", self.arithmetic(2), self.arithmetic(1)),
        }
    }
}

const PATTERNS: [&str; 16] = [
    "^r[0-9]*[02468]$",
    "M",
    "^[0-9]+M$",
    "(A|C)(G|T)",
    "N{2,}",
    "a.b",
    "a\\.b",
    "[[:upper:]]",
    "^$",
    "^c1$",
    "[^MSH0-9*]",
    "g[12]",
    "^(.{3})+$",
    "1+?",
    "\\\\w S?",
    "[]x]",
];

/// Returns the number of read bases that a CIGAR covers.
fn readmill_bases(cigar: &str) -> u32 {
    let (mut bases, mut length) = (0, 0);
    for letter in cigar.chars() {
        match letter.to_digit(10) {
            Some(digit) => length = length * 10 + digit,
            None => {
                bases += if "MIS=X".contains(letter) { length } else { 0 };
                length = 0;
            }
        }
    }
    bases
}
