//! The ladder of schema versions.

use std::collections::BTreeSet;

use turnmark::codec::key::Store;
use turnmark::codec::schema::{Change, STEPS, STRIDE, is_too_new, missing, version};

#[test]
fn the_version_is_the_number_of_steps_in_hundreds() {
    assert_eq!(version() as usize, STEPS.len() * 100);
    assert_eq!(STRIDE, 100);
}

#[test]
fn a_database_gets_exactly_the_steps_it_lacks() {
    assert_eq!(missing(0), STEPS);
    for step in 1..=STEPS.len() {
        let at = u32::try_from(step).unwrap() * STRIDE;
        // A newer minor of an older version lacks the same steps.
        for minor in [0, 1, 99] {
            assert_eq!(missing(at + minor), &STEPS[step..]);
        }
    }
    assert!(missing(u32::MAX).is_empty());
}

/// What a released step makes may never be made otherwise.
#[test]
fn every_step_is_what_it_was_when_it_was_released() {
    let shown = |step: &&[Change]| -> Vec<String> {
        let say = |change: &Change| match change {
            Change::CreateStore(store) => store.name().to_owned(),
            Change::CreateIndex { store, name, fields, unique } => {
                format!("{}.{name} over {}{}", store.name(), fields.join("+"), if *unique { ", unique" } else { "" })
            }
        };
        step.iter().map(say).collect()
    };
    let first = [
        "meta",
        "sessions",
        "messages",
        "references",
        "checkpoints",
        "checkpoints.id over scope+session+id, unique",
        "objects",
        "writes",
    ];
    let second = [
        "streams",
        "checkpoints.lookup over scope+session+lookup",
        "checkpoints.turn over scope+session+turn.id",
        "checkpoints.opens over scope+session+opens",
    ];
    assert_eq!(STEPS.iter().map(shown).collect::<Vec<_>>(), [first.to_vec(), second.to_vec()]);
    assert_eq!(version(), 200);
}

#[test]
fn only_a_newer_hundred_is_too_new() {
    assert!(!is_too_new(0) && !is_too_new(version()) && !is_too_new(version() + 99));
    assert!(is_too_new(version() + 100) && is_too_new(u32::MAX));
}

#[test]
fn the_steps_make_every_store_once_and_indexes_of_stores_that_exist() {
    let mut made = BTreeSet::new();
    for change in STEPS.iter().copied().flatten() {
        match change {
            Change::CreateStore(store) => assert!(made.insert(*store), "{store:?} is made twice"),
            Change::CreateIndex { store, .. } => {
                assert!(made.contains(store), "an index of {store:?} before the store")
            }
        }
    }
    assert_eq!(made, Store::ALL.iter().copied().collect());
    let names: BTreeSet<&str> = Store::ALL.iter().map(|store| store.name()).collect();
    assert_eq!(names.len(), Store::ALL.len());
}
