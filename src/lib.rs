//! Turnmark: a chat history a browser application can trust.
//!
//! The crate is the engine behind the npm package of the same name. Every command is one transaction: reads, a pure
//! plan, writes. [`model`] and [`plan`] are pure, [`codec`] is the schema, [`store`] the port that [`engine`] runs over.
//! Two storages implement it: memory, natively and in the browser, and IndexedDB.
//!
//! # It is not
//!
//! * a database: it keeps chats, their states and what leads from one to the next;
//! * a sync service: other devices are a later release;
//! * thread-safe: a page is one thread, and so is an engine.

pub mod codec;
pub mod engine;
pub mod error;
pub mod ids;
pub mod model;
pub mod plan;
pub mod store;

#[cfg(target_arch = "wasm32")]
pub mod browser;
#[cfg(target_arch = "wasm32")]
mod js;
