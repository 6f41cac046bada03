//! Commands with a guess at what they will read: one round trip when it is right, and as if it had not been made when it is
//! wrong.

use std::cell::Cell;
use std::rc::Rc;

use turnmark::codec::key::Store;
use turnmark::codec::row::Row;
use turnmark::error::{Code, Error};
use turnmark::store::{Access, Guess, Op, Plan, Storage, View};
use wasm_bindgen_test::wasm_bindgen_test;

use super::support::*;
use turnmark::browser::{IndexedDbStorage, JsText};

const OBJECTS: Access = Access::write(&[Store::Objects]);

/// Reads record 0 and writes what it says into record 1; counts how often it planned.
async fn copy(storage: &IndexedDbStorage, believed: &str, planned: &Cell<u32>) -> Result<String, Error> {
    let guess: Vec<Guess<JsText>> = vec![(key(0), Rc::new(row(believed)))];
    let planner = |view: &View<JsText>| {
        planned.set(planned.get() + 1);
        let found = view.row(key(0))?.ok_or_else(|| Error::new(Code::Internal, "record 0 is missing"))?;
        let found = text(&found);
        let copied: Row<JsText> = row(&format!("copy of {found}"));
        Ok(Plan { writes: vec![Op::Put(key(1), copied)], answer: found })
    };
    storage.run_guessing(OBJECTS, &guess, planner).await
}

async fn stored(storage: &IndexedDbStorage, n: u8) -> Option<String> {
    read(storage, &key(n)).await.unwrap().map(|found| text(&found))
}

#[wasm_bindgen_test]
async fn a_right_guess_is_planned_once_and_committed() {
    let storage = open(&fresh("guess")).await;
    write(&storage, vec![Op::Put(key(0), row("a"))]).await.unwrap();
    let planned = Cell::new(0);
    assert_eq!(copy(&storage, "a", &planned).await.unwrap(), "a");
    assert_eq!(planned.get(), 1);
    assert_eq!(stored(&storage, 1).await.unwrap(), "copy of a");
}

#[wasm_bindgen_test]
async fn nothing_planned_on_a_wrong_guess_is_written() {
    let storage = open(&fresh("guess")).await;
    write(&storage, vec![Op::Put(key(0), row("what is true"))]).await.unwrap();
    let planned = Cell::new(0);
    assert_eq!(copy(&storage, "what was true", &planned).await.unwrap(), "what is true");
    assert!(planned.get() > 1, "it was planned again on what was read");
    assert_eq!(stored(&storage, 1).await.unwrap(), "copy of what is true");
}

#[wasm_bindgen_test]
async fn a_guess_at_a_row_that_is_gone_is_a_wrong_guess() {
    let storage = open(&fresh("guess")).await;
    write(&storage, puts(0)).await.unwrap();
    let planned = Cell::new(0);
    assert_eq!(copy(&storage, "a", &planned).await.unwrap_err().code, Code::Internal);
    assert!(stored(&storage, 1).await.is_none());
}

#[wasm_bindgen_test]
async fn two_writers_that_guess_never_lose_an_update() {
    // R9; platform fact: a read and a write that depends on it must share one transaction.
    let name = fresh("guess");
    let (one, other) = (open(&name).await, open(&name).await);
    write(&one, vec![Op::Put(key(0), row("0"))]).await.unwrap();
    let count = |storage: IndexedDbStorage| async move {
        let mut believed = "0".to_owned();
        for _ in 0..50 {
            let guess: Vec<Guess<JsText>> = vec![(key(0), Rc::new(row(&believed)))];
            let planner = |view: &View<JsText>| {
                let found = view.row(key(0))?.ok_or_else(|| Error::new(Code::Internal, "record 0 is missing"))?;
                let found = text(&found);
                let next = (found.parse::<u32>().unwrap() + 1).to_string();
                Ok(Plan { writes: vec![Op::Put(key(0), row(&next))], answer: next })
            };
            believed = storage.run_guessing(OBJECTS, &guess, planner).await.unwrap();
        }
    };
    both(count(one.clone()), count(other)).await;
    assert_eq!(stored(&one, 0).await.unwrap(), "100");
}

#[wasm_bindgen_test]
async fn a_guessed_write_that_is_aborted_is_an_error_and_leaves_nothing() {
    // dexie/Dexie.js#840: every pending command settles when its transaction aborts.
    let storage = open(&fresh("guess")).await;
    write(&storage, vec![Op::Put(key(0), row("a"))]).await.unwrap();
    for n in 1..=2 {
        abort_at("put", n);
        let planned = Cell::new(0);
        let done = copy(&storage, "a", &planned).await;
        mend();
        // Aborted on the short way, the command goes the long way, where nothing aborts any more.
        assert!(done.is_ok() || stored(&storage, 1).await.is_none(), "{done:?}");
    }
}
