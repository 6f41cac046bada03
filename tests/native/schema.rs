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
