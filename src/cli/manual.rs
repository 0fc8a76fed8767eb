//! `readmill completions` and `readmill man`: files that packages install, made from the flags of
//! the commands.

use std::path::{Path, PathBuf};

use clap::{Args, Command, Subcommand};
use clap_complete::Shell;
use clap_mangen::Man;
use readmill_files::FileOutput;
use readmill_process::streams;
use readmill_record::{Error, Result};

#[derive(Subcommand)]
pub enum ManualCommand {
    /// Print the completions of a shell: bash, zsh, fish, elvish or powershell
    Completions(CompletionArgs),
    /// Write a man page for each command
    Man(ManArgs),
}

#[derive(Args)]
#[command(
    after_help = "The shell completes commands, flags and their values after it has read this script. \
bash and fish read it at the first use of a command from ~/.local/share/bash-completion/completions/readmill \
and ~/.config/fish/completions/readmill.fish; zsh reads _readmill in a directory of $fpath."
)]
pub struct CompletionArgs {
    #[arg(value_name = "SHELL", value_enum)]
    shell: Shell,
}

#[derive(Args)]
#[command(
    after_help = "The pages are named readmill.1, readmill-sort.1 and so on. man -M finds them if DIR is named man1: readmill man share/man/man1, then man -M share/man readmill-sort."
)]
pub struct ManArgs {
    /// Directory of the pages. It is created if it is missing
    #[arg(value_name = "DIR")]
    directory: PathBuf,
}

impl ManualCommand {
    /// Prints the completions or writes the pages of `root`, the command `readmill`.
    ///
    /// # Errors
    /// Standard output or the directory cannot be written.
    pub fn run(&self, mut root: Command) -> Result<()> {
        match self {
            ManualCommand::Completions(args) => {
                let mut script = Vec::new();
                clap_complete::generate(args.shell, &mut root, "readmill", &mut script);
                let mut script = String::from_utf8_lossy(&script).into_owned();
                if args.shell == Shell::Fish {
                    // `-?` of `view`: to fish, an unquoted question mark is a pattern of file names.
                    script = script.replace(" -s ? ", " -s '?' ");
                }
                streams::write_stdout(&script)
            }
            ManualCommand::Man(args) => {
                root.build();
                std::fs::create_dir_all(&args.directory)
                    .map_err(|error| Error::io(args.directory.display().to_string(), &error))?;
                let mut pages = Vec::new();
                render_pages(&root, &args.directory, &mut pages)?;
                FileOutput::finish_all(pages)
            }
        }
    }
}

/// Renders the page of a command, and of each command below it.
fn render_pages(command: &Command, directory: &Path, pages: &mut Vec<FileOutput>) -> Result<()> {
    let page = Man::new(command.clone()).manual("readmill");
    let path = directory.join(page.get_filename());
    let mut text = Vec::new();
    page.render(&mut text).map_err(|error| Error::io(path.display().to_string(), &error))?;
    let mut file = FileOutput::open(Some(&path), &[])?;
    file.write_buffered(&text)?;
    pages.push(file);
    let inner = command.get_subcommands().filter(|it| !it.is_hide_set() && it.get_name() != "help");
    inner.into_iter().try_for_each(|it| render_pages(it, directory, pages))
}
