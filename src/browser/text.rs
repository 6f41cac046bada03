//! Texts as JavaScript strings: they pass from a row to the page and back without being copied into this module's memory.

use std::borrow::Cow;

use js_sys::JsString;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use wasm_bindgen::JsValue;

use crate::model::body::Text;

/// A JavaScript string. Equal to another when `===` says so, which compares without copying.
///
/// It serializes as itself, and only through `serde_wasm_bindgen`; any other serializer would see a meaningless number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JsText(JsString);

impl JsText {
    /// The string itself.
    #[must_use]
    pub fn as_js(&self) -> &JsString {
        &self.0
    }
}

impl From<JsString> for JsText {
    fn from(text: JsString) -> Self {
        JsText(text)
    }
}

impl From<JsText> for JsValue {
    fn from(text: JsText) -> Self {
        text.0.into()
    }
}

impl Serialize for JsText {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serde_wasm_bindgen::preserve::serialize(&self.0, serializer)
    }
}

impl<'de> Deserialize<'de> for JsText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        serde_wasm_bindgen::preserve::deserialize(deserializer).map(JsText)
    }
}

impl Text for JsText {
    fn utf8(&self) -> Cow<'_, str> {
        Cow::Owned(String::from(&self.0))
    }

    fn from_utf8(text: &str) -> Self {
        JsText(JsString::from(text))
    }
}
