use readmill_simulate::Rng;

use super::*;

/// A header with contigs `c0` and so on.
fn header(lengths: &[u32]) -> Header {
    let line = |(i, length): (usize, &u32)| format!("@SQ\tSN:c{i}\tLN:{length}\n");
    Header::parse(lengths.iter().enumerate().map(line).collect::<String>().as_bytes()).unwrap()
}

fn read(files: &[String], header: &Header) -> Result<Sites> {
    let dir = tempfile::tempdir().unwrap();
    let paths: Vec<PathBuf> = (0..files.len()).map(|i| dir.path().join(format!("{i}.bed"))).collect();
    paths.iter().zip(files).for_each(|(path, text)| std::fs::write(path, text).unwrap());
    let spill = Arc::new(Spill::new(&[dir.path().to_path_buf()]));
    Sites::read(&paths, header, &spill, &Ledger::unlimited())
}

type Triple = (u32, u32, u32);

/// One list of sites that share no base.
fn united(mut sites: Vec<Triple>) -> Vec<Triple> {
    sites.sort_unstable();
    let mut out: Vec<Triple> = Vec::new();
    for site in sites {
        match out.last_mut() {
            Some(last) if last.0 == site.0 && site.1 < last.2 => last.2 = last.2.max(site.2),
            _ => out.push(site),
        }
    }
    out
}

fn bed(sites: &[Triple]) -> String {
    sites.iter().map(|(contig, start, end)| format!("c{contig}\t{start}\t{end}\n")).collect()
}

/// Queries everything, forwards and in random order.
fn check(sites: &Sites, expected: &[Triple], lengths: &[u32], seed: u64) {
    let (mut cursor, mut random) = (sites.cursor(), Rng::new(seed));
    for turn in 0..20_000u32 {
        let contig = if turn < 10_000 { 0 } else { random.below(lengths.len() as u32 + 1) };
        let length = lengths.get(contig as usize).copied().unwrap_or(100);
        let start = if turn < 10_000 {
            (u64::from(length) * u64::from(turn) / 10_000) as u32
        } else {
            random.below(length)
        };
        let end = start + random.below(300);
        let mut found = Vec::new();
        cursor.overlapping(contig, start, end, |from, to| found.push((contig, from, to))).unwrap();
        let of_contig =
            expected.iter().skip(expected.partition_point(|site| (site.0, site.2) <= (contig, start)));
        let right: Vec<Triple> = of_contig
            .take_while(|site| site.0 == contig && site.1 < end && start < end)
            .copied()
            .collect();
        assert_eq!(found, right, "{contig}:{start}-{end}");
    }
}

#[test]
fn sites_are_found_whatever_the_order_and_number_of_files() {
    let lengths = [3_000_000, 50_000, 10, 900_000];
    let mut random = Rng::new(11);
    let mut file = |n: usize| -> Vec<Triple> {
        let mut site = || {
            let contig = random.below(4);
            let start = random.below(lengths[contig as usize]);
            let long = random.below(50) == 0;
            (contig, start, start + 1 + if long { random.below(2000) } else { random.below(3) })
        };
        (0..n).map(|_| site()).collect()
    };
    let (mut sorted, unsorted, few) = (file(30_000), file(5_000), file(3));
    sorted.sort_unstable();
    let mut by_other_contigs = file(9_000);
    by_other_contigs.sort_unstable_by_key(|site| (3 - site.0, site.1));
    for files in
        [vec![&sorted], vec![&unsorted], vec![&few, &sorted, &unsorted, &by_other_contigs, &sorted]]
    {
        let expected = united(files.iter().flat_map(|file| file.iter().copied()).collect());
        let texts: Vec<String> = files.iter().map(|file| bed(file)).collect();
        let sites = read(&texts, &header(&lengths)).unwrap();
        check(&sites, &expected, &lengths, 5);
        let counts: Vec<u64> = sites.files().iter().map(|file| file.sites).collect();
        assert_eq!(counts, files.iter().map(|file| file.len() as u64).collect::<Vec<_>>());
    }
}

#[test]
fn more_sites_than_are_sorted_at_once_are_one_list() {
    let n = 600_000u32;
    let place = |i: u32| i.wrapping_mul(2_654_435_761) % n; // every number below n, in pseudo-random order
    let lengths = [5 * n];
    let shuffled: Vec<Triple> = (0..n).map(|i| (0, 5 * place(i), 5 * place(i) + 2)).collect();
    let expected = united(shuffled.clone());
    check(&read(&[bed(&shuffled)], &header(&lengths)).unwrap(), &expected, &lengths, 3);
    let sites = read(&[bed(&expected), bed(&expected)], &header(&lengths)).unwrap();
    check(&sites, &expected, &lengths, 4);
    assert!(sites.memory() < 40_000, "{}", sites.memory());
}

#[test]
fn sites_side_by_side_stay_two_and_sites_that_share_a_base_are_one() {
    let text = "c0\t5\t6\nc0\t6\t7\nc0\t10\t20\nc0\t12\t14\nc0\t19\t25\nc0\t25\t26\nc0\t30\t30\n";
    let sites = read(&[text.into()], &header(&[100])).unwrap();
    let mut found = Vec::new();
    sites.cursor().overlapping(0, 0, 100, |start, end| found.push((start, end))).unwrap();
    assert_eq!(found, [(5, 6), (6, 7), (10, 25), (25, 26)]);
    assert_eq!(sites.files()[0].sites, 7);
}

#[test]
fn contigs_that_the_reads_lack_are_counted() {
    let sites =
        read(&["c0\t5\t6\nother\t5\t6\nc1\t1\t2\nother\t7\t9\n".into()], &header(&[10, 10])).unwrap();
    assert_eq!((sites.files()[0].sites, sites.files()[0].elsewhere), (2, 2));
    let error = |text: &str| read(&[text.into()], &header(&[10])).err().unwrap().to_string();
    assert!(error("chr1\t5\t6\n").contains("no contig in common"));
    assert!(
        error("c0\t5\t6\nc0\t11\t12\n").contains("line 2: base 12 lies beyond the end of contig c0")
    );
    assert!(read(&["".into()], &header(&[10])).unwrap().is_empty());
}

#[test]
fn handles_go_to_other_threads() {
    fn sent<T: Send>() {}
    fn shared<T: Sync>() {}
    sent::<Cursor>();
    sent::<crate::reference::Window>();
    shared::<Sites>();
    shared::<crate::reference::Reference>();
}

#[test]
fn the_index_is_charged_as_long_as_it_is_there() {
    let dir = tempfile::tempdir().unwrap();
    let spill = Arc::new(Spill::new(&[dir.path().to_path_buf()]));
    let path = dir.path().join("a.bed");
    // One site for each of many contigs: no block is shared.
    let lengths = vec![10; 20_000];
    std::fs::write(&path, (0..20_000).map(|i| format!("c{i}\t5\t6\n")).collect::<String>()).unwrap();
    let (header, paths) = (header(&lengths), [path]);
    let ledger = Ledger::of(20 << 20);
    let sites = Sites::read(&paths, &header, &spill, &ledger).unwrap();
    let other = sites.clone();
    assert_eq!(ledger.used(), sites.memory() as u64);
    drop(sites);
    assert_eq!(ledger.used(), other.memory() as u64);
    drop(other);
    assert_eq!(ledger.used(), 0);
    let error = Sites::read(&paths, &header, &spill, &Ledger::of(4 << 20)).err().unwrap();
    assert!(error.to_string().contains("known sites: needs"), "{error}");
}
