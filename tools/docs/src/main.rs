//! `./dev docs`: builds the documentation site, or runs the commands of its pages.

use std::path::{Path, PathBuf};
use std::process::Child;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use clap::Parser;
use readmill_check::{links, pages};
use readmill_docs::run::{PageOutcome, PageRunner, Selection};
use readmill_docs::{mdbook, site};
use readmill_peers::{build_readmill, target_directory, workspace};

/// Build the documentation site into target/site, or run the commands of its pages
#[derive(Parser)]
#[command(name = "./dev docs", bin_name = "./dev docs", max_term_width = 100)]
struct DocsArgs {
    /// Pages whose commands run, such as docs/start/tour.md [default: all]
    #[arg(value_name = "PAGE", requires = "run")]
    pages: Vec<PathBuf>,
    /// Serve the site on this machine, and build it again when a page changes
    #[arg(long, conflicts_with = "run")]
    serve: bool,
    /// Serve on this port
    #[arg(long, value_name = "N", default_value_t = 3000)]
    port: u16,
    /// Run the `sh` blocks of pages, in order, in one new directory per page
    #[arg(long)]
    run: bool,
    /// Run only blocks marked `ci`, and the hidden blocks of their pages
    #[arg(long, requires = "run")]
    quick: bool,
    /// Leave out blocks marked `network`
    #[arg(long, requires = "run")]
    offline: bool,
    /// Run this program instead of building the one of this checkout
    #[arg(long, value_name = "PROGRAM", requires = "run")]
    readmill: Option<PathBuf>,
    /// Keep the files of --run in this directory, which must not exist
    #[arg(long, value_name = "DIR", requires = "run")]
    keep: Option<PathBuf>,
}

fn main() -> Result<()> {
    let args = DocsArgs::parse();
    let root = workspace();
    if args.run {
        return run_pages(root, &args);
    }
    let findings = links::check_documents(root)?;
    findings.iter().for_each(|finding| println!("{finding}"));
    // While a page is being edited, a link may be broken for a moment.
    ensure!(findings.is_empty() || args.serve, "{} places break a rule", findings.len());
    let program = mdbook::find_or_install()?;
    let [staged, built] = ["site-source", "site"].map(|name| target_directory().join(name));
    std::fs::create_dir_all(&staged)?;
    site::stage_site(root, &staged)?;
    if args.serve {
        return serve_site(root, &staged, mdbook::start_server(&program, &staged, &built, args.port)?);
    }
    mdbook::build_site(&program, &staged, &built)?;
    println!("the site is in {}", built.join("index.html").display());
    Ok(())
}

/// Stages changed pages until the server ends.
fn serve_site(root: &Path, staged: &Path, mut server: Child) -> Result<()> {
    loop {
        if let Some(status) = server.try_wait()? {
            bail!("mdBook ended: {status}");
        }
        std::thread::sleep(Duration::from_millis(500));
        // An editor may just be replacing a file.
        if let Err(error) = site::stage_site(root, staged) {
            println!("{error:#}");
        }
    }
}

/// Runs pages. Fails if a command failed.
fn run_pages(root: &Path, args: &DocsArgs) -> Result<()> {
    let readmill = match &args.readmill {
        Some(given) => {
            given.canonicalize().with_context(|| format!("cannot find {}", given.display()))?
        }
        None => build_readmill()?,
    };
    let temporary = tempfile::Builder::new().prefix("readmill-docs").tempdir()?;
    let scratch = match &args.keep {
        Some(kept) => {
            std::fs::create_dir(kept).with_context(|| format!("cannot make {}", kept.display()))?;
            kept.canonicalize()?
        }
        None => temporary.path().canonicalize()?,
    };
    let selection = match (args.quick, args.offline) {
        (true, _) => Selection::Quick,
        (false, true) => Selection::Offline,
        (false, false) => Selection::All,
    };
    let runner = PageRunner::new(root, &scratch, &readmill, selection)?;
    let chosen = if args.pages.is_empty() { pages::list_documents(root)? } else { args.pages.clone() };
    let (mut ran, mut failed) = (0, 0);
    let began = Instant::now();
    for page in &chosen {
        match runner.run_page(page)? {
            Some(outcome) => {
                print_outcome(page, &outcome);
                ran += 1;
                failed += usize::from(outcome.failure.is_some());
            }
            None if args.pages.is_empty() => {}
            None => bail!("{} has no `sh` block that is selected", page.display()),
        }
    }
    ensure!(failed == 0, "{failed} of {ran} pages failed; --keep DIR keeps their files");
    ensure!(ran > 0, "no page has an `sh` block that is selected");
    println!("{ran} pages ran in {:.0} s", began.elapsed().as_secs_f64());
    Ok(())
}

fn print_outcome(page: &Path, outcome: &PageOutcome) {
    let page = page.display();
    let Some(failure) = &outcome.failure else {
        let left_out = match outcome.left_out {
            0 => String::new(),
            count => format!(", {count} left out"),
        };
        println!("ok    {page}: {} blocks{left_out}, {:.1} s", outcome.blocks, outcome.seconds);
        return;
    };
    println!("FAIL  {page}:{}: {}", failure.line, failure.reason);
    failure.command.lines().for_each(|line| println!("      {line}"));
    failure.output.lines().for_each(|line| println!("      | {line}"));
}
