//! Reads gzip files of one or more members, optionally followed by NUL bytes (RFC 1952).

use std::io::{self, BufRead, ErrorKind, Read};

use flate2::bufread::GzDecoder;

/// A reader of the inflated bytes of all members. NUL bytes after the last member are skipped, as
/// in `gzip -d`: tapes and some copy programs fill their last block with them. Any other data after
/// the members is an error.
pub struct GzipMembers<R> {
    decoder: GzDecoder<TakeableInput<R>>,
    state: GzipState,
}

enum GzipState {
    Member,
    Between,
    End,
}

struct TakeableInput<R>(Option<R>);

impl<R: BufRead> Read for TakeableInput<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.0.as_mut().map_or(Ok(0), |input| input.read(into))
    }
}

impl<R: BufRead> BufRead for TakeableInput<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.0.as_mut().map_or(Ok(&[]), |input| input.fill_buf())
    }

    fn consume(&mut self, n: usize) {
        if let Some(input) = &mut self.0 {
            input.consume(n);
        }
    }
}

impl<R: BufRead> GzipMembers<R> {
    pub fn new(input: R) -> Self {
        GzipMembers { decoder: GzDecoder::new(TakeableInput(Some(input))), state: GzipState::Member }
    }

    /// Returns a reader of `input`, which starts after the end of a member. The FASTQ reader uses
    /// this after it has inflated the first members itself.
    pub fn after_member(input: R) -> Self {
        // `GzDecoder::new` reads the header of a member at once, and NUL bytes may come before it.
        let mut decoder = GzDecoder::new(TakeableInput(None));
        *decoder.get_mut() = TakeableInput(Some(input));
        GzipMembers { decoder, state: GzipState::Between }
    }

    fn next_member(&mut self) -> io::Result<bool> {
        let input = self.decoder.get_mut();
        if !skip_nuls(input)? {
            return Ok(false);
        }
        let next = TakeableInput(input.0.take());
        self.decoder.reset(next);
        Ok(true)
    }
}

/// Skips NUL bytes. Returns whether a member follows. NUL bytes must be followed by the end of the
/// input.
fn skip_nuls(input: &mut impl BufRead) -> io::Result<bool> {
    let mut any = false;
    loop {
        let bytes = input.fill_buf()?;
        let nuls = bytes.iter().take_while(|byte| **byte == 0).count();
        match bytes.get(nuls) {
            Some(0x1f) if !any && nuls == 0 => return Ok(true),
            Some(_) => {
                let what = "the bytes after the gzip data are not gzip";
                return Err(io::Error::new(ErrorKind::InvalidData, what));
            }
            None if nuls == 0 => return Ok(false),
            None => {}
        }
        any = true;
        input.consume(nuls);
    }
}

impl<R: BufRead> Read for GzipMembers<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.state {
                GzipState::Member => {
                    let n = self.decoder.read(into)?;
                    if n > 0 || into.is_empty() {
                        return Ok(n);
                    }
                    self.state = GzipState::Between;
                }
                GzipState::Between => {
                    self.state = if self.next_member()? { GzipState::Member } else { GzipState::End };
                }
                GzipState::End => return Ok(0),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn member(text: &[u8]) -> Vec<u8> {
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gzip.write_all(text).unwrap();
        gzip.finish().unwrap()
    }

    /// Reads everything through a buffer of `buffer` bytes.
    fn read(bytes: &[u8], buffer: usize) -> io::Result<Vec<u8>> {
        let mut text = Vec::new();
        let input = io::BufReader::with_capacity(buffer, bytes);
        GzipMembers::new(input).read_to_end(&mut text).map(|_| text)
    }

    #[test]
    fn members_are_read_to_the_last_and_nuls_behind_it_are_passed_over() {
        let two = [member(b"one\n"), member(b""), member(b"two\n")].concat();
        for buffer in [1, 7, 4096] {
            assert_eq!(read(&two, buffer).unwrap(), b"one\ntwo\n");
            assert_eq!(read(&[&two[..], &[0; 700]].concat(), buffer).unwrap(), b"one\ntwo\n");
            for behind in [&b"x"[..], b"\0\0x", &[&[0; 9][..], &member(b"three\n")].concat()] {
                assert!(read(&[&two[..], behind].concat(), buffer).is_err(), "{behind:?}");
            }
            assert!(read(&two[..two.len() - 1], buffer).is_err());
        }
        let behind = io::BufReader::new(&two[..]);
        let mut text = Vec::new();
        GzipMembers::after_member(behind).read_to_end(&mut text).unwrap();
        assert_eq!(text, b"one\ntwo\n");
    }
}
