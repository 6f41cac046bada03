//! What `web-sys` and `idb` do not bind: durability, Chromium's report of lost data, and globals that may be missing.

use std::cell::RefCell;

use js_sys::{Array, JsString, Object, Reflect};
use wasm_bindgen::prelude::*;
use web_sys::{IdbDatabase, IdbTransaction};

use super::Durability;
use crate::model::sorted::Map;

#[wasm_bindgen]
extern "C" {
    type DurableDatabase;

    #[wasm_bindgen(method, catch, js_name = transaction)]
    fn transaction(
        this: &DurableDatabase,
        stores: &Array,
        mode: &JsString,
        options: &Object,
    ) -> Result<IdbTransaction, JsValue>;

    /// A plain object of our own making, or one that was stored: reading its properties cannot throw.
    pub type Record;

    #[wasm_bindgen(method, structural, indexing_getter)]
    fn get(this: &Record, key: &JsString) -> JsValue;

    #[wasm_bindgen(method, structural, indexing_setter)]
    pub(super) fn set(this: &Record, key: &JsString, value: &JsValue);

    type DurableTransaction;

    #[wasm_bindgen(method, getter)]
    fn durability(this: &DurableTransaction) -> JsValue;

    #[wasm_bindgen(method, catch)]
    fn commit(this: &DurableTransaction) -> Result<(), JsValue>;
}

thread_local! {
    static NAMES: RefCell<Map<(usize, usize), JsString>> = const { RefCell::new(Map::new()) };
}

/// The name of a field. Making a JavaScript string is slow, and there are few names and many rows.
#[must_use]
pub fn name(field: &'static str) -> JsString {
    let place = (field.as_ptr().addr(), field.len());
    NAMES.with_borrow_mut(|names| names.slot_with(place, || field.into()).clone())
}

impl Default for Record {
    fn default() -> Self {
        Self::new()
    }
}

impl Record {
    /// An object without a field.
    #[must_use]
    pub fn new() -> Self {
        Object::new().unchecked_into()
    }

    /// A field; `undefined` when there is none.
    #[must_use]
    pub fn field(&self, field: &'static str) -> JsValue {
        self.get(&name(field))
    }

    /// Sets a field.
    pub fn put(&self, field: &'static str, value: &JsValue) {
        self.set(&name(field), value);
    }
}

/// Opens a transaction with a durability. Engines that know no third argument ignore it; see [`durability`].
pub(super) fn transaction(
    database: &IdbDatabase,
    stores: &Array,
    write: bool,
    durability: Durability,
) -> Result<IdbTransaction, JsValue> {
    let options = Object::new();
    Reflect::set(&options, &"durability".into(), &durability.word().into())?;
    let mode = JsString::from(if write { "readwrite" } else { "readonly" });
    database.unchecked_ref::<DurableDatabase>().transaction(stores, &mode, &options)
}

/// The durability a transaction says it has, where the engine knows the word at all.
pub(super) fn durability(transaction: &IdbTransaction) -> Option<String> {
    transaction.unchecked_ref::<DurableTransaction>().durability().as_string()
}

/// Commits a transaction now; `false` when it is over, or the browser cannot.
pub(super) fn commit(transaction: &IdbTransaction) -> bool {
    transaction.unchecked_ref::<DurableTransaction>().commit().is_ok()
}

/// A property of any value, absent when it is missing, `undefined`, or reading it throws.
pub(super) fn property(of: &JsValue, name: &str) -> Option<JsValue> {
    Reflect::get(of, &name.into()).ok().filter(|value| !value.is_undefined() && !value.is_null())
}

/// A global by its name, in a window as in a worker.
pub(super) fn global(name: &str) -> Option<JsValue> {
    property(&js_sys::global(), name)
}
