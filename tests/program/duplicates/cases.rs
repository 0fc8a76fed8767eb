//! Parses the cases of `cases.txt`, which explains their syntax.

use std::collections::BTreeSet;

/// A case.
#[derive(Debug, Default)]
pub struct DuplicatesCase {
    pub name: String,
    /// The input.
    pub sam: String,
    pub template: Marks,
    pub coordinate: Marks,
}

/// Records that are to be flagged: QNAME, FLAG without 0x400, RNAME, POS.
pub type Marks = BTreeSet<[String; 4]>;

/// All cases.
pub fn all() -> Vec<DuplicatesCase> {
    let mut cases: Vec<DuplicatesCase> = Vec::new();
    let mut heading = "";
    for line in include_str!("cases.txt").lines() {
        if let Some(name) = line.strip_prefix("case: ") {
            cases.push(DuplicatesCase { name: name.to_string(), ..DuplicatesCase::default() });
            heading = "";
        } else if let Some(case) = cases.last_mut() {
            if line.contains('\t') {
                case.take(heading, line);
            } else {
                heading = line;
            }
        }
    }
    cases
}

impl DuplicatesCase {
    fn take(&mut self, heading: &str, line: &str) {
        let marks = match heading {
            "sam:" => {
                self.sam += line;
                self.sam += "\n";
                return;
            }
            "template-duplicates:" => &mut self.template,
            "coordinate-duplicates:" => &mut self.coordinate,
            // results of Picard after another sort than samtools' are not compared
            "template-duplicates-after-sortsam:" | "coordinate-duplicates-after-sortsam:" => return,
            other => panic!("{}: unknown heading {other:?}", self.name),
        };
        let mut columns = line.split('\t').map(str::to_string);
        let mark = std::array::from_fn(|_| columns.next().expect("four columns"));
        assert!(columns.next().is_none() && marks.insert(mark), "{}: {line:?}", self.name);
    }
}
