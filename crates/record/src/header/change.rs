//! Changes a header: replaces lines, sets the sort order, adds a program.

use super::contigs::allocated_bytes;
use super::line::HEADERS_USER;
use super::{Header, HeaderLine};
use crate::error::Result;
use crate::ledger::Charge;

impl Header {
    /// Replaces all lines of `kind` with `new`, at the position of the first old line. Without old
    /// lines, `new` is inserted before the first line of a kind in `before`, or at the end.
    pub fn replace_lines(
        &mut self,
        kind: &[u8; 2],
        new: Vec<HeaderLine>,
        before: &[&[u8; 2]],
    ) -> Result<()> {
        let first_of = |kinds: &[&[u8; 2]]| {
            self.lines().iter().position(|line| kinds.iter().any(|k| line.kind() == *k))
        };
        let at = first_of(&[kind]).or_else(|| first_of(before)).unwrap_or(self.lines().len());
        self.change_lines(|lines| {
            let tail = lines.split_off(at);
            lines.extend(new);
            lines.extend(tail.into_iter().filter(|line| line.kind() != kind));
        });
        if kind == b"SQ" { self.build_contigs(&self.ledger()) } else { Ok(()) }
    }

    pub fn declares_coordinate_order(&self) -> bool {
        self.lines_of_kind(b"HD").any(|line| line.get(b"SO") == Some(b"coordinate"))
    }

    /// Returns whether @HD declares that the reads of a template are adjacent (`SO:queryname` or
    /// `GO:query`).
    pub fn declares_name_groups(&self) -> bool {
        self.lines_of_kind(b"HD")
            .any(|line| line.get(b"SO") == Some(b"queryname") || line.get(b"GO") == Some(b"query"))
    }

    /// Sets the order in @HD as `samtools sort` (1.16 and later) does: SO always, and GO and SS only if
    /// the new order has them (SAM specification, section 1.3). A missing @HD line is added.
    pub fn set_order(&mut self, so: &[u8], go: Option<&[u8]>, ss: Option<&[u8]>) {
        let lacks = self.lines_of_kind(b"HD").next().is_none();
        self.change_lines(|lines| {
            if lacks {
                lines.insert(0, HeaderLine::new("@HD\tVN:1.6"));
            }
            for line in lines.iter_mut().filter(|line| line.kind() == b"HD") {
                line.set_field(b"SO", so);
                for (tag, value) in [(b"GO", go), (b"SS", ss)] {
                    match value {
                        Some(value) => line.set_field(tag, value),
                        None => line.remove_field(tag),
                    }
                }
            }
        });
    }

    /// Appends @PG lines as samtools does: one to each chain of two or more programs or, if there is no
    /// such chain, one after the last program.
    ///
    /// # Errors
    /// Fails if there is too little memory for the lines.
    pub fn add_program(&mut self, name: &str, version: &str, command_line: &str) -> Result<()> {
        let (lines, charge) = self.make_program_lines(name, version, command_line)?;
        self.change_lines(|all| {
            all.reserve_exact(lines.len());
            all.extend(lines);
        });
        drop(charge);
        Ok(())
    }

    fn make_program_lines(
        &self,
        name: &str,
        version: &str,
        command_line: &str,
    ) -> Result<(Vec<HeaderLine>, Charge)> {
        let n = self.lines_of_kind(b"PG").count();
        let lists = (3 * n * size_of::<&[u8]>()) as u64;
        let mut charge = self.ledger().charge(HEADERS_USER, lists)?;
        let sorted = |tag| {
            let mut values = Vec::with_capacity(n);
            values.extend(self.lines_of_kind(b"PG").filter_map(|line| line.get(tag)));
            values.sort_unstable();
            values
        };
        let (taken, named_as_previous) = (sorted(b"ID"), sorted(b"PP"));
        let ends = || {
            let with_id = self.lines_of_kind(b"PG").filter_map(|line| Some((line, line.get(b"ID")?)));
            with_id.filter(|(_, id)| named_as_previous.binary_search(id).is_err())
        };
        let mut previous: Vec<Option<&[u8]>> = Vec::with_capacity(n.max(1));
        previous.extend(ends().filter(|(line, _)| line.get(b"PP").is_some()).map(|(_, id)| Some(id)));
        if previous.is_empty() {
            previous.push(ends().last().map(|(_, id)| id));
        }

        let printable = |c: char| if c.is_control() { '?' } else { c };
        let command_line: String = command_line.chars().map(printable).collect();
        let fields = 2 * name.len() + version.len() + command_line.len() + 64;
        let each = |id: &Option<&[u8]>| allocated_bytes(fields + id.map_or(0, <[u8]>::len));
        let lists = (self.lines().len() + 2 * previous.len()) * size_of::<HeaderLine>();
        charge.grow(previous.iter().map(each).sum::<u64>() + lists as u64)?;
        let ids = std::iter::once(name.to_string()).chain((1..).map(|i| format!("{name}.{i}")));
        let free_ids = ids.filter(|id| taken.binary_search(&id.as_bytes()).is_err());
        let line = |(id, before): (String, &Option<&[u8]>)| {
            let pp = before.map_or_else(Vec::new, |before| [b"\tPP:", before].concat());
            let head = format!("@PG\tID:{id}\tPN:{name}");
            let tail = format!("\tVN:{version}\tCL:{command_line}");
            HeaderLine::new([head.as_bytes(), &pp, tail.as_bytes()].concat())
        };
        Ok((free_ids.zip(&previous).map(line).collect(), charge))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(text: &str) -> Header {
        Header::parse(text.as_bytes()).unwrap()
    }

    fn text(header: &Header) -> String {
        String::from_utf8(header.to_text()).unwrap()
    }

    #[test]
    fn the_order_is_set_as_samtools_sets_it() {
        let mut h = header("@HD\tVN:1.4\tSO:unsorted\tGO:query\tSS:x\n@CO\tc\n");
        h.set_order(b"coordinate", None, None);
        assert_eq!(text(&h), "@HD\tVN:1.4\tSO:coordinate\n@CO\tc\n");
        let mut h = header("@CO\tc\n");
        h.set_order(b"coordinate", None, None);
        assert_eq!(text(&h), "@HD\tVN:1.6\tSO:coordinate\n@CO\tc\n");
    }

    #[test]
    fn a_second_first_line_stays_and_says_the_same_order() {
        let mut h = header("@HD\tVN:1.6\tSO:unsorted\n@SQ\tSN:c\tLN:9\n@HD\tVN:1.5\tSO:queryname\n");
        h.set_order(b"coordinate", None, None);
        let expected = "@HD\tVN:1.6\tSO:coordinate\n@SQ\tSN:c\tLN:9\n@HD\tVN:1.5\tSO:coordinate\n";
        assert_eq!(text(&h), expected);
    }

    #[test]
    fn programs_are_chained() {
        let cases = [
            ("", "@PG\tID:p\tPN:p\tVN:1\tCL:x\n"),
            ("@PG\tID:a\n@PG\tID:b\n", "@PG\tID:p\tPN:p\tPP:b\tVN:1\tCL:x\n"),
            ("@PG\tID:a\n@PG\tID:p\tPP:a\n", "@PG\tID:p.1\tPN:p\tPP:p\tVN:1\tCL:x\n"),
            (
                "@PG\tID:a\n@PG\tID:b\tPP:a\n@PG\tID:c\n@PG\tID:d\tPP:c\n@PG\tID:lone\n",
                "@PG\tID:p\tPN:p\tPP:b\tVN:1\tCL:x\n@PG\tID:p.1\tPN:p\tPP:d\tVN:1\tCL:x\n",
            ),
        ];
        for (before, added) in cases {
            let mut h = header(before);
            h.add_program("p", "1", "x").unwrap();
            assert_eq!(text(&h), format!("{before}{added}"));
        }
    }

    #[test]
    fn lines_are_replaced_in_place() {
        let mut h = header("@HD\tVN:1\n@RG\tID:a\n@CO\tx\n@RG\tID:b\n@PG\tID:p\n");
        h.replace_lines(b"RG", vec![HeaderLine::new("@RG\tID:n")], &[b"PG", b"CO"]).unwrap();
        assert_eq!(text(&h), "@HD\tVN:1\n@RG\tID:n\n@CO\tx\n@PG\tID:p\n");
        let mut h = header("@HD\tVN:1\n@CO\tx\n@PG\tID:p\n");
        h.replace_lines(b"RG", vec![HeaderLine::new("@RG\tID:n")], &[b"PG", b"CO"]).unwrap();
        assert_eq!(text(&h), "@HD\tVN:1\n@RG\tID:n\n@CO\tx\n@PG\tID:p\n");
    }
}
