//! Orders that compare the molecules of reads.

use crate::faults::command_lines::{place_with_two, request_is_refused};

#[test]
fn an_order_by_molecules_that_are_not_known_yet_is_refused() {
    for (flags, way_out) in [
        ("--umi tag:RX --sort template-coordinate", "readmill sort --template-coordinate"),
        ("--umi tag:RX --sort tag:MI:natural", "readmill sort -t MI"),
        ("--umi tag:RX --molecule-tag XM --sort tag:XM", "readmill sort -t XM"),
        (
            "--barcode-tag RX --molecular-identifier-tag MI --sort template-coordinate",
            "readmill sort --template-coordinate",
        ),
    ] {
        for command in ["markdup IN -o OUT.bam", "prep IN -o OUT.bam --mark-duplicates"] {
            request_is_refused(
                &format!("{command} {flags}"),
                &["before their molecules are known", way_out],
            );
        }
    }
    // Other fields may be compared: this run reads its input, and finds no UMI.
    let folders = place_with_two();
    for flags in
        ["--umi tag:RX --sort tag:XX", "--umi tag:RX --molecule-tag XM --sort template-coordinate"]
    {
        let line = format!("markdup in/a.bam -o out/x.bam {flags}");
        folders.readmill(line.split(' ')).fails(2, &["none of the 10 templates has the field RX"]);
    }
}
