//! Plain objects for JavaScript, field by field.

use js_sys::Array;
use wasm_bindgen::JsValue;

use crate::browser::Record;

/// A plain object in the making.
pub struct Plain(Record);

impl Plain {
    /// An object without a field.
    pub fn new() -> Self {
        Plain(Record::new())
    }

    /// The same object with a field more.
    pub fn with(self, field: &'static str, value: impl Into<JsValue>) -> Self {
        self.0.put(field, &value.into());
        self
    }

    /// The same object, with a field more if there is a value.
    pub fn maybe(self, field: &'static str, value: Option<impl Into<JsValue>>) -> Self {
        match value {
            Some(value) => self.with(field, value),
            None => self,
        }
    }

    /// The object as it is so far.
    pub fn so_far(&self) -> JsValue {
        (&self.0).into()
    }
}

impl From<Plain> for JsValue {
    fn from(plain: Plain) -> Self {
        plain.0.into()
    }
}

/// `null` for what is not there.
pub fn or_null(value: Option<impl Into<JsValue>>) -> JsValue {
    value.map_or(JsValue::NULL, Into::into)
}

/// An array.
pub fn list<A>(items: impl IntoIterator<Item = A>, view: impl Fn(A) -> JsValue) -> JsValue {
    let array = Array::new();
    for item in items {
        array.push(&view(item));
    }
    array.into()
}

/// An epoch or a time, which stay below 2^53.
#[allow(clippy::cast_precision_loss)]
pub fn number(n: u64) -> JsValue {
    (n as f64).into()
}

/// A count of rows.
pub fn count(n: usize) -> JsValue {
    number(n as u64)
}
