//! A shell script that replaces readmill and kills the first task of one sample with SIGKILL.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};

use crate::cohort::PAIRED;

/// The script. readmill reads its last FASTQ file from a pipe that withholds the last record and
/// stays open. So it waits there, with its output begun, until it is killed. The capacity of the
/// pipe is unknown, so small batches keep memory within `-m`.
const SCRIPT: &str = r#"#!/bin/sh
real=REAL state=STATE sample=SAMPLE
case "${1-} $*" in "align "*"SM:$sample"*) ;; *) exec "$real" "$@" ;; esac
printf '%s\n' "$*" >>"$state/attempts"
mkdir "$state/killed" 2>/dev/null || exec "$real" "$@"
before='' output='' reads=''
for word; do
    [ "$before" != -o ] || output=$word
    case $word in *.fq) reads=$word ;; esac
    before=$word
done
mkfifo "$state/reads"
{ head -n -4 "$reads" && exec sleep 600; } >"$state/reads" 2>/dev/null &
feeder=$!
for word; do
    shift
    [ "$word" != "$reads" ] || word=$state/reads
    set -- "$@" "$word"
done
shift
"$real" align -K 200000 "$@" &
pid=$!
tries=0
until [ -e "$output.partial" ]; do
    tries=$((tries + 1))
    if [ $tries = 1500 ] || ! kill -0 $pid 2>/dev/null; then
        echo "readmill could not be killed while it wrote $output.partial" >&2
        kill -KILL $pid $feeder
        exit 99
    fi
    sleep 0.02
done
kill -KILL $pid $feeder
wait $pid
code=$?
echo $code >"$state/killed/code"
exit $code
"#;

/// The script, and the directory of its state files.
pub struct Killer {
    pub program: PathBuf,
    state: PathBuf,
}

impl Killer {
    pub fn new(readmill: &Path, directory: &Path) -> Result<Self> {
        let state = directory.join("killer");
        fs::create_dir(&state)?;
        let program = state.join("readmill");
        let quoted = |path: &Path| format!("'{}'", path.display());
        let text = SCRIPT
            .replace("REAL", &quoted(readmill))
            .replace("STATE", &quoted(&state))
            .replace("SAMPLE", PAIRED);
        fs::write(&program, text)?;
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755))?;
        Ok(Killer { program, state })
    }

    /// Returns the `-m` values of the killed task and of its second attempt.
    ///
    /// # Errors
    ///
    /// No task was killed, or the engine did not repeat the task exactly once.
    pub fn memory_of_attempts(&self) -> Result<[String; 2]> {
        let code = fs::read_to_string(self.state.join("killed/code")).context("nothing was killed")?;
        ensure!(code.trim() == "137", "the killed task ended with {}", code.trim());
        let attempts = fs::read_to_string(self.state.join("attempts"))?;
        let memory = |line: &str| -> Option<String> {
            let mut words = line.split(' ').skip_while(|word| *word != "-m").skip(1);
            words.next().map(str::to_owned)
        };
        let values: Option<Vec<String>> = attempts.lines().map(memory).collect();
        let values = values.with_context(|| format!("an attempt without -m: {attempts}"))?;
        let number = values.len();
        values.try_into().map_err(|_| anyhow::anyhow!("{number} attempts, not 2: {attempts}"))
    }
}
