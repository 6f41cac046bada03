//! Lists that are kept in several places, compared: error codes, requirement ids, test files.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use turnmark::error::Code;

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn read(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Every file below a folder that people write, by its path.
fn files(folder: &Path, into: &mut Vec<PathBuf>) {
    let mut entries: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    entries.sort();
    for path in entries {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let foreign = name.starts_with('.')
            || matches!(name.as_str(), "node_modules" | "fixtures" | "dist" | "test-results" | "playwright-report");
        if path.is_dir() && !foreign {
            files(&path, into);
        } else if path.is_file() {
            into.push(path);
        }
    }
}

/// The words in quotes of a text.
fn quoted(text: &str) -> BTreeSet<String> {
    text.split('"').skip(1).step_by(2).map(str::to_owned).collect()
}

/// What stands between two marks.
fn between<'a>(text: &'a str, from: &str, to: &str) -> &'a str {
    let (_, rest) = text.split_once(from).unwrap_or_else(|| panic!("there is no {from:?}"));
    rest.split_once(to).unwrap_or_else(|| panic!("there is no {to:?} after {from:?}")).0
}

/// The first column of the table that has this head.
fn column(text: &str, head: &str) -> Option<BTreeSet<String>> {
    let rows = text.lines().skip_while(|line| !line.starts_with(head)).skip(2).take_while(|line| line.starts_with('|'));
    let cells: BTreeSet<String> =
        rows.filter_map(|row| Some(row.split('|').nth(1)?.trim().trim_matches('`').to_owned())).collect();
    (!cells.is_empty()).then_some(cells)
}

/// One closed list of codes: the enum, the declarations, the JavaScript and the README.
#[test]
fn every_list_of_error_codes_is_the_same() {
    let mut codes: BTreeSet<String> = Code::ALL.iter().map(|code| code.word()).collect();
    assert_eq!(codes.len(), Code::ALL.len());
    // Only JavaScript can fail to load the module.
    assert!(codes.insert("WasmFailed".to_owned()));
    assert_eq!(quoted(between(&read("pkg-template/index.d.ts"), "export type ErrorCode =", ";")), codes);
    assert_eq!(quoted(between(&read("pkg-template/errors.js"), "ERROR_CODES = Object.freeze([", "]")), codes);
    // Until there is a README with the table there is nothing to compare.
    if let Some(listed) =
        std::fs::read_to_string(root().join("README.md")).ok().and_then(|readme| column(&readme, "| code |"))
    {
        assert_eq!(listed, codes, "README.md");
    }
}

/// The order of the declarations, which is that of `Code::ALL`, has every variant: a match with no other arm would not
/// compile in this crate, so the source is read.
#[test]
fn every_error_code_is_in_the_list_of_all() {
    let source = read("src/error.rs");
    let variants = between(&source, "pub enum Code {", "\n}");
    let names: Vec<&str> = variants
        .lines()
        .map(str::trim)
        .filter(|line| !line.starts_with("//") && line.ends_with(','))
        .map(|line| line.trim_end_matches(','))
        .collect();
    assert_eq!(names, Code::ALL.iter().map(|code| code.word()).collect::<Vec<_>>());
}

/// Requirement ids in a text: `A-17`, `R13`.
fn ids(text: &str) -> BTreeSet<String> {
    let is_word = |c: char| c.is_alphanumeric() || c == '_' || c == '-';
    let words = text.split(|c: char| !is_word(c)).map(|word| word.split('_').next().unwrap_or_default());
    words.filter_map(id).collect()
}

fn id(word: &str) -> Option<String> {
    let letter = word.chars().next()?;
    let rest = &word[letter.len_utf8()..];
    let digits = rest.strip_prefix('-').unwrap_or(rest);
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    match letter {
        'A' | 'M' | 'W' | 'P' | 'E' if rest.starts_with('-') && digits.len() == 2 => Some(word.to_owned()),
        // Names of test functions are in small letters.
        'R' | 'r' if digits.len() <= 2 && matches!(digits.parse(), Ok(1..=13)) => Some(format!("R{digits}")),
        _ => None,
    }
}

#[test]
fn requirement_ids_are_found_in_comments_and_names() {
    let found = ids("/// P-02, R13 (A-17); fn r4_a_rollback() UTF-16 R2D2 cp_r5 P-2 M-081 X-01 R14 R-6 \"E-34\"");
    let expected = ["A-17", "E-34", "P-02", "R13", "R4", "R6"].map(str::to_owned);
    assert_eq!(found, expected.into());
}

/// Every requirement a test cites is explained in the table, and the table explains none that no test cites.
#[test]
fn the_table_of_requirements_is_that_of_the_ids_that_tests_cite() {
    let mut paths = Vec::new();
    files(&root().join("tests"), &mut paths);
    let template = std::fs::read_dir(root().join("pkg-template")).unwrap().map(|entry| entry.unwrap().path());
    paths.extend(
        template.filter(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("testing"))),
    );
    let source = |path: &PathBuf| {
        path.extension().is_some_and(|kind| matches!(kind.to_str(), Some("rs" | "js" | "mjs" | "ts" | "tsx" | "jsx")))
    };
    let here = root().join("tests/native/tables.rs");
    let mut cited = BTreeSet::new();
    for path in paths.iter().filter(|path| source(path) && **path != here) {
        cited.extend(ids(&std::fs::read_to_string(path).unwrap()));
    }
    let listed = column(&read("tests/REQUIREMENTS.md"), "| id |").expect("tests/REQUIREMENTS.md has a table");
    let missing: Vec<_> = cited.difference(&listed).collect();
    let unused: Vec<_> = listed.difference(&cited).collect();
    assert!(missing.is_empty(), "cited by a test and not in tests/REQUIREMENTS.md: {missing:?}");
    assert!(unused.is_empty(), "in tests/REQUIREMENTS.md and cited by no test: {unused:?}");
}

/// A module that nobody names would be left out in silence.
#[test]
fn no_test_file_is_forgotten() {
    for folder in ["tests/native", "tests/contract", "tests/browser"] {
        forgotten(&root().join(folder));
    }
}

fn forgotten(folder: &Path) {
    let main = ["main.rs", "mod.rs"].map(|name| folder.join(name)).into_iter().find(|path| path.is_file());
    let main = main.unwrap_or_else(|| panic!("{} has a main.rs or a mod.rs", folder.display()));
    let names = std::fs::read_to_string(&main).unwrap();
    for entry in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        let stem = entry.file_stem().unwrap().to_string_lossy().into_owned();
        let module = entry.is_dir() && entry.join("mod.rs").is_file();
        let file = entry.extension().is_some_and(|kind| kind == "rs") && entry != main;
        if module {
            forgotten(&entry);
        }
        let named = names
            .lines()
            .any(|line| line.trim_end_matches(';').split(' ').collect::<Vec<_>>().ends_with(&["mod", &stem]));
        assert!(named || !(module || file), "{} does not name {stem}", main.display());
    }
}
