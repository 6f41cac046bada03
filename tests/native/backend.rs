//! The backend of the contract: rows in memory.

use turnmark::codec::key::Key;
use turnmark::error::Result;
use turnmark::plan::bundle::Bundle;
use turnmark::plan::inspect;
use turnmark::store::memory::MemoryStorage;

/// What the contract runs on.
pub(crate) type Backend = MemoryStorage<String>;

/// A storage that holds nothing.
pub(crate) async fn fresh() -> Backend {
    MemoryStorage::default()
}

/// The same rows, as another tab sees them.
pub(crate) async fn again(backend: &Backend) -> Backend {
    backend.clone()
}

/// Makes a row unreadable.
pub(crate) async fn spoil(backend: &Backend, key: &Key, _way: u32) {
    backend.spoil(key);
}

/// A bundle as the text it travels as.
pub(crate) fn text(bundle: &Bundle<String>) -> String {
    serde_json::to_string(bundle).unwrap()
}

/// The bundle in a text.
pub(crate) fn bundle(text: &str) -> Result<Bundle<String>> {
    serde_json::from_str(text).map_err(|error| inspect::bad(error.to_string()))
}
