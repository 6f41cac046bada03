//! The backend of the contract: rows in IndexedDB.

use std::cell::Cell;

use js_sys::Array;
use turnmark::browser::{IndexedDbStorage, JsText, OpenOptions, from_js, now, to_js};
use turnmark::codec::key::Key;
use turnmark::error::Result;
use turnmark::plan::bundle::Bundle;
use turnmark::plan::inspect;
use turnmark::store::{Access, Guess, Level, Step, Storage};
use wasm_bindgen::prelude::*;

#[wasm_bindgen(module = "/tests/browser/bundle.js")]
extern "C" {
    fn write(bundle: &JsValue) -> String;

    #[wasm_bindgen(catch)]
    fn read(text: &str) -> std::result::Result<JsValue, JsValue>;
}

use super::storage_checksum::{damages, raw_key};
use super::support::{raw_get, raw_put};

thread_local! {
    static MADE: Cell<u32> = const { Cell::new(0) };
}

/// What the contract runs on: a database of its own for every test.
pub(crate) struct Backend {
    storage: IndexedDbStorage,
    name: String,
}

impl Storage for Backend {
    type Text = JsText;

    async fn transact(&self, access: Access, guess: &[Guess<JsText>], step: &mut Step<'_, JsText>) -> Result<()> {
        self.storage.transact(access, guess, step).await
    }

    fn level(&self) -> Level {
        self.storage.level()
    }
}

async fn open(name: String) -> Backend {
    Backend { storage: IndexedDbStorage::open(OpenOptions::new(name.clone())).await.unwrap(), name }
}

/// A storage that holds nothing.
pub(crate) async fn fresh() -> Backend {
    MADE.set(MADE.get() + 1);
    open(format!("contract-{}-{}", now(), MADE.get())).await
}

/// The same rows, as another tab sees them.
pub(crate) async fn again(backend: &Backend) -> Backend {
    open(backend.name.clone()).await
}

/// Makes a row unreadable: one thing in it is not what was written.
pub(crate) async fn spoil(backend: &Backend, key: &Key, way: u32) {
    let at = raw_key(key);
    let value = raw_get(&backend.name, key.store, &at).await;
    let damages = damages(&value);
    let damage: Array = damages.get(way % damages.length()).unchecked_into();
    raw_put(&backend.name, key.store, &at, &damage.get(1)).await;
}

/// A bundle as the text it travels as.
pub(crate) fn text(bundle: &Bundle<JsText>) -> String {
    write(&to_js(bundle).unwrap())
}

/// The bundle in a text.
pub(crate) fn bundle(text: &str) -> Result<Bundle<JsText>> {
    let object = read(text).map_err(|error| inspect::bad(format!("{error:?}")))?;
    from_js(object).map_err(|error| inspect::bad(error.to_string()))
}
