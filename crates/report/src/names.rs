//! The names of samples on the page.

use std::collections::BTreeMap;
use std::path::{Component, Path};

use crate::run::RunPart;

/// Returns the name of a run on the page: the name that the user gave with `--sample`, the sample of
/// the read groups if all have the same one, or the name in reports.
pub fn sample_name<'a>(run: &RunPart<'a>) -> &'a str {
    let names = ["sample_names/given", "sample_names/read_groups", "sample"];
    names.into_iter().map(|path| run.text(path)).find(|name| !name.is_empty()).unwrap_or("")
}

/// Gives different names to runs that have the same name.
///
/// `paths` are the absolute paths of the run files, in the order of `names`. Each of the runs with
/// the same name gets the shortest part of its path that no other one has, in parentheses. Returns a
/// warning for each name that several runs have.
pub fn name_runs(names: &mut [String], paths: &[&Path]) -> Vec<String> {
    let mut by_name: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for (number, name) in names.iter().enumerate() {
        by_name.entry(name.clone()).or_default().push(number);
    }
    let mut warnings = Vec::new();
    for (name, numbers) in by_name.iter().filter(|(_, numbers)| numbers.len() > 1) {
        let own: Vec<&Path> = numbers.iter().filter_map(|number| paths.get(*number).copied()).collect();
        let parts = find_distinct_parts(&own);
        let distinct: Vec<String> = parts.iter().map(|part| format!("{name} ({part})")).collect();
        for (number, new) in numbers.iter().zip(&distinct) {
            if let Some(name) = names.get_mut(*number) {
                name.clone_from(new);
            }
        }
        let shown = match &distinct[..] {
            [one, two] => format!("{one} and {two}"),
            [one, two, ..] => format!("{one}, {two} and so on"),
            _ => continue,
        };
        warnings.push(format!(
            "{} runs have the sample name {name}; the report calls them {shown}",
            numbers.len()
        ));
    }
    warnings
}

/// Returns for each path the shortest part that distinguishes it from the others: one component,
/// the last one that differs between all paths, or else the end of the path from some component on.
fn find_distinct_parts(paths: &[&Path]) -> Vec<String> {
    let components: Vec<Vec<String>> = paths.iter().map(|path| list_components(path)).collect();
    let longest = components.iter().map(Vec::len).max().unwrap_or(0);
    let part_at = |end: usize, length: usize| -> Option<Vec<String>> {
        let part = |list: &Vec<String>| {
            let end = list.len().checked_sub(end)?;
            let part = list.get(end.saturating_sub(length)..end)?;
            (!part.is_empty()).then(|| part.join("/"))
        };
        let parts: Vec<String> = components.iter().map(part).collect::<Option<_>>()?;
        let mut sorted: Vec<&String> = parts.iter().collect();
        sorted.sort();
        sorted.dedup();
        (sorted.len() == parts.len()).then_some(parts)
    };
    let single = (0..longest).find_map(|end| part_at(end, 1));
    let found = single.or_else(|| (2..=longest).find_map(|length| part_at(0, length)));
    // Equal paths are refused before.
    found.unwrap_or_else(|| (1..=paths.len()).map(|number| number.to_string()).collect())
}

/// Returns the components of a path, the file name without the endings of run files.
fn list_components(path: &Path) -> Vec<String> {
    let mut list: Vec<String> = Vec::new();
    for component in path.components() {
        if let Component::Normal(name) = component {
            list.push(name.to_string_lossy().into_owned());
        }
    }
    if let Some(name) = list.last_mut() {
        for ending in [".json", ".run"] {
            if let Some(stem) = name.strip_suffix(ending).filter(|stem| !stem.is_empty()) {
                *name = stem.to_string();
            }
        }
    }
    list
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn parts(paths: &[&str]) -> Vec<String> {
        find_distinct_parts(&paths.iter().map(Path::new).collect::<Vec<_>>())
    }

    #[test]
    fn the_shortest_part_of_the_path_tells_runs_apart() {
        assert_eq!(parts(&["/d/S1/run.json", "/d/S2/run.json"]), ["S1", "S2"]);
        assert_eq!(parts(&["/d/a.run.json", "/d/b.run.json"]), ["a", "b"]);
        assert_eq!(parts(&["/x/S1/q/run.json", "/y/S2/q/run.json"]), ["S1", "S2"]);
        assert_eq!(parts(&["/a/b/r.json", "/a/c/r.json", "/d/b/r.json"]), ["a/b/r", "a/c/r", "d/b/r"]);
        assert_eq!(parts(&["/r.json", "/a/r.json"]), ["r", "a/r"]);
    }

    #[test]
    fn the_sample_of_the_read_groups_names_a_run_unless_the_user_did() {
        let name = |value: Value| sample_name(&RunPart::new(&value)).to_string();
        assert_eq!(name(json!({"sample": "aligned"})), "aligned");
        let names = json!({"given": null, "read_groups": "NA1"});
        assert_eq!(name(json!({"sample": "aligned", "sample_names": names})), "NA1");
        let names = json!({"given": "mine", "read_groups": "NA1"});
        assert_eq!(name(json!({"sample": "mine", "sample_names": names})), "mine");
    }

    #[test]
    fn only_runs_with_the_same_name_are_renamed() {
        let mut names = ["a", "b", "a", "a"].map(String::from);
        let paths = ["/1/r.json", "/2/r.json", "/3/r.json", "/4/r.json"].map(Path::new);
        let warnings = name_runs(&mut names, &paths);
        assert_eq!(names, ["a (1)", "b", "a (3)", "a (4)"]);
        assert_eq!(
            warnings,
            ["3 runs have the sample name a; the report calls them a (1), a (3) and so on"]
        );
        assert!(name_runs(&mut ["c".into()], &[Path::new("/r")]).is_empty());
    }
}
