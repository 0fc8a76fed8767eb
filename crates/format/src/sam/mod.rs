//! SAM text (SAM specification, section 1.4).
//!
//! [`LineParser`] converts a line to a BAM record; [`write_record`] does the reverse. Both give the same
//! bytes and text as htslib 1.16 (`sam_parse1`, `sam_format1`), with these differences:
//!
//! - Malformed text is refused where htslib guesses: an unknown RNAME or RNEXT does not become `*`,
//!   `XX:i:abc` does not become 0, MAPQ 300 does not become 255, and a field needs both of its colons.
//! - An unsigned array with negative elements becomes a signed one, as in later versions of htslib; 1.16
//!   reads 0.
//! - A missing QNAME is written as `*`.

mod decode;
mod encode;
mod fields;
pub mod long_cigar;

pub use decode::{LineParser, parse_fields};
pub use encode::{try_write_record, write_field, write_record};
pub use fields::parse_flag;

#[cfg(test)]
mod tests {
    use readmill_record::{Header, RecordRef};
    use readmill_simulate::Rng;

    use super::{LineParser, write_record};

    const HEADER: &str = "@SQ\tSN:c1\tLN:1000000\tAN:one,c2\n@SQ\tSN:c2\tLN:100000\n";

    fn header() -> Header {
        Header::parse(HEADER.as_bytes()).unwrap()
    }

    fn raw(line: &[u8]) -> Result<Vec<u8>, String> {
        let mut out = b"before".to_vec();
        let result = LineParser::new(&header()).parse(line, &mut out);
        assert!(out.starts_with(b"before") && (result.is_ok() || out.len() == 6));
        result.map_err(|error| error.to_string())?;
        Ok(out.split_off(6))
    }

    fn text(raw: &[u8]) -> Vec<u8> {
        RecordRef::check(raw, 2).unwrap();
        let mut out = Vec::new();
        write_record(&header(), RecordRef::new(raw), &mut out);
        assert_eq!(out.pop(), Some(b'\n'));
        out
    }

    /// Asserts that the line is parsed as by htslib 1.16, which then writes `expected`.
    fn t(line: &str, expected: &str) {
        let raw = raw(line.as_bytes()).unwrap_or_else(|error| panic!("{line}: {error}"));
        assert_eq!(String::from_utf8_lossy(&text(&raw)), expected, "{line}");
    }

    /// Asserts that the line is refused, with a message that contains `what`.
    fn bad(line: &str, what: &str) {
        let error = raw(line.as_bytes()).expect_err(line);
        assert!(error.contains(what), "{line}: {error}");
    }

    /// Returns a mapped record with these optional fields.
    fn with(fields: &str) -> String {
        format!("r\t0\tc1\t5\t9\t2M\t*\t0\t0\tAC\tII\t{fields}")
    }

    #[test]
    fn the_bytes_are_those_of_the_specification() {
        let line = b"r1\t99\tc2\t7\t30\t2S3M\t=\t37\t-39\tTTAGN\t!#+I~\tNM:i:1\tXA:A:z\tXF:f:0.5\r";
        let mut expected =
            vec![73, 0, 0, 0, 1, 0, 0, 0, 6, 0, 0, 0, 3, 30, 73, 18, 2, 0, 99, 0, 5, 0, 0, 0];
        expected.extend([1, 0, 0, 0, 36, 0, 0, 0, 0xd9, 0xff, 0xff, 0xff, b'r', b'1', 0]);
        expected.extend([0x24, 0, 0, 0, 0x30, 0, 0, 0, 0x88, 0x14, 0xf0, 0, 2, 10, 40, 93]);
        expected.extend(b"NMC\x01XAAzXFf\0\0\0\x3f");
        expected[0] = expected.len() as u8 - 4;
        assert_eq!(raw(line).unwrap(), expected);
    }

    #[test]
    fn columns_are_read_as_htslib_reads_them() {
        t(
            "r\t0x10\tc1\t5\t9\t4M\tc1\t8\t5\tAu.n\tI~I\u{7f}",
            "r\t16\tc1\t5\t9\t4M\t=\t8\t5\tANNN\tI~I\u{7f}",
        );
        t("r\t010\tone\t5\t255\t1M1B\tc2\t+8\t+5\t=\t*", "r\t8\tc1\t5\t255\t1M1B\tc2\t8\t5\t=\t*");
        t("r\t0\t*\t5\t9\t2M\t=\t7\t0\tAC\tII", "r\t4\t*\t5\t9\t2M\t*\t7\t0\tAC\tII");
        t("r\t0\tc1\t0\t9\t2M\tc2\t0\t0\tAC\tII", "r\t4\t*\t0\t9\t2M\t*\t0\t0\tAC\tII");
        t("r\t0\tc1\t1\t9\t*\t*\t0\t0\t*\t*", "r\t4\tc1\t1\t9\t*\t*\t0\t0\t*\t*");
        t("r\t0\tc1\t1\t9\t9M\t*\t0\t0\t*\t\t", "r\t0\tc1\t1\t9\t9M\t*\t0\t0\t*\t*");
        t("\t4\t*\t0\t0\t*\t*\t0\t0\t0123acgt\t*", "*\t4\t*\t0\t0\t*\t*\t0\t0\tACGTACGT\t*");
        t(
            "r\t4\tc2\t2147483647\t0\t*\t*\t2147483647\t-2147483648\tA\t*",
            "r\t4\tc2\t2147483647\t0\t*\t*\t2147483647\t-2147483648\tA\t*",
        );
    }

    #[test]
    fn bad_columns_are_named() {
        bad("r\t0\tc1\t5\t9\t2M\t*\t0\t0\tAC", "10 of the 11 columns");
        bad("", "1 of the 11 columns");
        bad(
            "r\t0\tnew\t5\t9\t2M\t*\t0\t0\tAC\tII",
            "read r: the reference sequence \"new\" is not in the header",
        );
        bad("r\t0\tc1\t5\t9\t2M\tnew\t0\t0\tAC\tII", "\"new\" is not in the header");
        bad("r\t70000\tc1\t5\t9\t2M\t*\t0\t0\tAC\tII", "FLAG is \"70000\"");
        bad("r\t0\tc1\t2147483648\t9\t2M\t*\t0\t0\tAC\tII", "POS");
        bad("r\t0\tc1\t5\t256\t2M\t*\t0\t0\tAC\tII", "MAPQ");
        bad("r\t0\tc1\t5\t9\t2M\t*\t-1\t0\tAC\tII", "PNEXT");
        bad("r\t0\tc1\t5\t9\t2M\t*\t0\t2147483648\tAC\tII", "TLEN");
        for cigar in ["2", "M", "2M*", "", "268435456M", "2Q", "+2M", "2M3"] {
            bad(&format!("r\t0\tc1\t5\t9\t{cigar}\t*\t0\t0\tAC\tII"), "CIGAR is");
        }
        bad("r\t0\tc1\t5\t9\t3M\t*\t0\t0\tAC\tII", "CIGAR covers 3 bases of the read, but SEQ has 2");
        bad("r\t0\tc1\t5\t9\t2M\t*\t0\t0\tAC\tI", "SEQ has 2 bases, but QUAL has 1");
        bad("r\t0\tc1\t5\t9\t2M\t*\t0\t0\tAC\tI ", "not a quality");
        bad("r\t0\tc1\t5\t9\t2M\t*\t0\t0\tAC\tI\0", "NUL");
        bad(&format!("{}\t4\t*\t0\t0\t*\t*\t0\t0\t*\t*", "q".repeat(255)), "QNAME has 255 bytes");
        t(
            &format!("{}\t4\t*\t0\t0\t*\t*\t0\t0\t*\t*", "q".repeat(254)),
            &format!("{}\t4\t*\t0\t0\t*\t*\t0\t0\t*\t*", "q".repeat(254)),
        );
    }

    #[test]
    fn integers_take_the_smallest_type() {
        for (value, stored) in [
            ("0", &b"C\0"[..]),
            ("-0", b"c\0"),
            ("255", b"C\xff"),
            ("256", b"S\0\x01"),
            ("65536", b"I\0\0\x01\0"),
            ("-128", b"c\x80"),
            ("-129", b"s\x7f\xff"),
            ("-32769", b"i\xff\x7f\xff\xff"),
            ("4294967295", b"I\xff\xff\xff\xff"),
            ("-2147483648", b"i\0\0\0\x80"),
            ("+5", b"C\x05"),
        ] {
            let record = raw(with(&format!("XX:i:{value}")).as_bytes()).unwrap();
            assert_eq!(RecordRef::new(&record).field_bytes(), [b"XX", stored].concat(), "{value}");
        }
        for value in ["", "-", "4294967296", "-2147483649", "1.5", "1 ", "abc"] {
            bad(&with(&format!("XX:i:{value}")), "i needs a whole number");
        }
    }

    #[test]
    fn fields_of_every_type_survive() {
        let same = "X1:A:!\tX1:i:-7\tX2:Z:a b:c\tX3:Z:\tX4:H:1AE3\tX5:H:\tX6:B:c,-128,127\tX6:B:C,0,255\t\
                    X6:B:s,-32768,32767\tX6:B:S,65535\tX6:B:i,-2147483648\tX6:B:I,4294967295\tX6:B:c\tX6:B:f\t\
                    X6:B:f,-nan,-inf,-1e-05,0,-0\tX7:d:1e+300\tX7:d:0.1\tX8:f:-0";
        t(&with(same), &with(same));
        t(&with("XX:I:5\tXX:a:x\t"), &with("XX:i:5\tXX:A:x"));
        for (array, written) in
            [("c,200", "C,200"), ("c,255", "S,255"), ("C,-1,3", "c,-1,3"), ("S,70000", "I,70000")]
        {
            t(&with(&format!("XX:B:{array}")), &with(&format!("XX:B:{written}")));
        }
        for field in [
            "XX",
            "XX:Z",
            "X:Z:abc",
            "XX;Z;abc",
            "XX:A:",
            "XX:A:ab",
            "XX:H:1",
            "XX:f:x",
            "XX:d:",
            "XX:q:1",
            "XX:B:",
            "XX:B:x,1",
            "XX:B:c1",
            "XX:B:c,",
            "XX:B:c,1,,2",
            "XX:B:c,-1,4294967295",
            "XX:B:I,4294967296",
            "XX:B:f,",
            "XX:B:A,1",
            "\tXX:i:1",
        ] {
            bad(&with(field), "the optional field");
        }
    }

    #[test]
    fn floats_are_written_as_percent_g_does() {
        for (value, written) in [
            ("0.00001", "1e-05"),
            ("0.333333333", "0.333333"),
            ("3.14", "3.14"),
            ("INF", "inf"),
            ("nan(", ""),
            ("100", "100"),
            ("0.0001", "0.0001"),
            ("123456789", "1.23457e+08"),
            ("999999.5", "1e+06"),
            ("1000005", "1e+06"),
            ("999999", "999999"),
            ("10000.25", "10000.2"),
            ("10000.75", "10000.8"),
            ("1e-45", "1.4013e-45"),
            ("3.4028235e38", "3.40282e+38"),
            (" 2", "2"),
        ] {
            match written {
                "" => bad(&with(&format!("XX:f:{value}")), "f needs a number"),
                _ => t(&with(&format!("XX:f:{value}")), &with(&format!("XX:f:{written}"))),
            }
        }
        // In arrays, htslib 1.16 rounds halves up.
        t(&with("XX:B:f,10000.25,1234.625,100000.5"), &with("XX:B:f,10000.3,1234.63,100001"));
    }

    #[test]
    fn long_cigars_go_to_a_field_and_come_back() {
        let long = |n: usize| format!("r\t0\tc1\t5\t9\t{}\t*\t0\t0\t*\t*\tXX:i:1", "1M2D".repeat(n));
        t(&long(32768), &long(32768));
        let record = raw(long(32768).as_bytes()).unwrap();
        let record = RecordRef::new(&record);
        let stored: Vec<_> = record.stored_cigar().ops().collect();
        assert_eq!((stored, record.cigar().ops().len()), (vec![(4, 0), (3, 32768 * 3)], 65536));
        assert!(record.field_bytes().starts_with(b"XXC\x01CGBI\0\0\x01\0\x10\0\0\0"));
        // A placeholder in text is resolved: its field is dropped, and the bin is computed from the true CIGAR.
        let hidden =
            |cg: &str| format!("r\t0\tc1\t16384\t9\t2S9N\t*\t0\t0\tAC\t*\tXX:i:1\t{cg}\tYY:i:2");
        let shown = "r\t0\tc1\t16384\t9\t1M1I\t*\t0\t0\tAC\t*\tXX:i:1\tYY:i:2";
        t(&hidden("CG:B:I,16,17"), shown);
        t(&hidden("CG:B:i,16,17"), shown);
        assert_eq!(raw(hidden("CG:B:I,16,17").as_bytes()), raw(shown.as_bytes()));
        for other in ["CG:B:I,16", "CG:B:s,16,17", "CG:Z:1M1I"] {
            t(&hidden(other), &hidden(other));
        }
        bad(&hidden("CG:B:I,32,17"), "CIGAR covers 3 bases");
        bad(&hidden("CG:B:I,16,17,10"), "does not exist");
        bad(&hidden("CG:B:I,36,1\tCG:B:I,25,1"), "two CG fields contain a CIGAR");
        bad(
            &format!("r\t0\tc1\t5\t9\t{}\t*\t0\t0\t*\t*", "268435455D".repeat(65536)),
            "spans 2^28 bases",
        );
    }

    #[test]
    fn bins_follow_the_alignment() {
        for (pos, cigar, bin) in [
            ("0", "*", 4680),
            ("1", "1M", 4681),
            ("16384", "2M", 585),
            ("16384", "*", 4681),
            ("16385", "1M", 4682),
            ("536870913", "1M", 37449),
            ("2147483647", "1M", 4680),
            ("5", "1M67000000N", 1),
            ("5", "1M268000000N", 0),
            ("5", "9H", 4681),
        ] {
            let record = raw(format!("r\t0\tc1\t{pos}\t9\t{cigar}\t*\t0\t0\t*\t*").as_bytes()).unwrap();
            assert_eq!(RecordRef::new(&record).bin(), bin, "{pos} {cigar}");
        }
    }

    fn mutate(random: &mut Rng, line: &mut Vec<u8>) {
        for _ in 0..random.index(4) {
            let at = random.index(line.len());
            let byte = match random.index(3) {
                0 => random.index(256) as u8,
                1 => b"\t\t:,-+.0123459MSI*=ifZHBAcCsSd"[random.index(30)],
                _ => line[random.index(line.len())],
            };
            match random.index(3) {
                0 => line[at] = byte,
                1 => line.insert(at, byte),
                _ if line.len() > 1 => drop(line.remove(at)),
                _ => {}
            }
        }
    }

    /// Returns whether the text defines the record fully: floats have more digits than their text,
    /// `-0` is stored as signed, a missing name is written as `*`, and a final `\r` counts as part
    /// of the line end.
    fn exact(record: RecordRef<'_>) -> bool {
        !record.qname().is_empty()
            && record.fields().all(|field| match field.kind {
                b'f' | b'd' => false,
                b'c' => field.value != b"\0",
                b'B' => field.value[0] != b'f',
                _ => !field.value.ends_with(b"\r"),
            })
    }

    #[test]
    fn no_line_panics_and_what_is_read_can_be_written_and_read_again() {
        let lines = [
            with("XX:i:300\tXY:B:s,-4,5\tXZ:f:1.5\tRG:Z:g1\tXH:H:1AE3\tXA:A:c\tXB:B:f,1,2.5e3"),
            "r\t99\tc2\t70\t30\t2S3M1D\tc1\t37\t-39\tTTAGN\t!#+I~".to_string(),
            "r\t0\tc1\t16384\t9\t2S9N\t*\t0\t0\tAC\t*\tXX:i:1\tCG:B:I,16,17\tXD:d:-2.25e-7".to_string(),
        ];
        let (header, mut random, mut read) = (header(), Rng::new(0x2545_f491_4f6c_dd1d), 0);
        let mut parser = LineParser::new(&header);
        let (mut out, mut again) = (Vec::new(), Vec::new());
        for i in 0..200_000 {
            let mut line = lines[i % lines.len()].clone().into_bytes();
            mutate(&mut random, &mut line);
            out.clear();
            if parser.parse(&line, &mut out).is_err() {
                assert!(out.is_empty());
                continue;
            }
            read += 1;
            let once = text(&out);
            again.clear();
            parser.parse(&once, &mut again).unwrap();
            assert!(out == again || !exact(RecordRef::new(&out)), "{}", line.escape_ascii());
            assert_eq!(once, text(&again), "{}", line.escape_ascii());
        }
        assert!(read > 50_000, "{read} lines were valid");
    }
}
