//! Qualities that were recalibrated before: a warning, never an error.

use super::{AGAINST, folders, header, reads, run};
use crate::faults::program::TestFolders;

/// The messages where `in/x.sam` is recalibrated in these ways, which is done all the same.
#[track_caller]
fn warned(folders: &TestFolders, flags: &str) -> Vec<String> {
    let warnings = |args: String| {
        let ended = run(folders, &args);
        ended.succeeds();
        let lines = ended.stderr.lines().filter(|line| line.contains("warning: "));
        lines.map(str::to_string).collect::<Vec<_>>()
    };
    let said = [
        format!("bqsr apply in/x.sam --bqsr-table in/table -o out/x.bam {flags}"),
        format!("bqsr table in/x.sam {AGAINST} -o out/t {flags}"),
        format!("prep in/x.sam --sort coordinate --bqsr {AGAINST} -o out/x.bam {flags}"),
    ]
    .map(warnings);
    assert!(said.iter().all(|lines| *lines == said[0]), "{said:?}");
    said.into_iter().next().unwrap()
}

#[test]
fn recalibrating_twice_is_told_once_with_the_way_out() {
    let folders = folders();
    assert_eq!(warned(&folders, ""), [""; 0]);
    let program = "@PG\tID:GATK ApplyBQSR\tVN:4.6.2.0\tCL:ApplyBQSR --output x.bam\tPN:GATK ApplyBQSR\n";
    let with_oq = reads().replace("RG:Z:g1\n", &format!("RG:Z:g1\tOQ:Z:{}\n", "5:?DI".repeat(4)));
    let start = "readmill: warning: in/x.sam: base qualities were recalibrated before";
    for (text, words) in [
        (header() + program + &reads(), &["@PG line \"GATK ApplyBQSR\"", "no OQ", "from before"][..]),
        (header() + program + &with_oq, &["@PG line \"GATK ApplyBQSR\"", "--use-original-qualities"]),
        (header() + &with_oq, &["reads have OQ", "--use-original-qualities"]),
    ] {
        folders.input("x.sam", text);
        let said = warned(&folders, "");
        assert!(said.len() == 1 && said[0].starts_with(start), "{said:?}");
        words.iter().for_each(|word| assert!(said[0].contains(word), "{word}: {said:?}"));
        assert_eq!(warned(&folders, "--use-original-qualities"), [""; 0]);
    }
    // What was written here says so itself.
    folders.input("x.sam", header() + &reads());
    run(&folders, "bqsr apply in/x.sam --bqsr-table in/table -O sam -o in/again.sam").succeeds();
    std::fs::rename(folders.out("../in/again.sam"), folders.out("../in/x.sam")).unwrap();
    assert!(warned(&folders, "")[0].contains("@PG line \"readmill\""));
}
