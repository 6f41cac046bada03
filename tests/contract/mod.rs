//! The contract of the engine over any storage: one list of tests, run natively on `MemoryStorage` and in browsers on
//! IndexedDB.
//!
//! A binary that runs it has a module `backend` with `Backend` (a [`turnmark::store::Storage`]), `fresh()` (a storage that
//! holds nothing), `again(&Backend)` (another connection to the same rows, as another tab has), `text(&Bundle)` and
//! `bundle(&str)` (a bundle as its platform makes one text of it, and back), `spoil(&Backend, &Key, u32)` (makes a row
//! unreadable), and says
//! `#[path = "../contract/mod.rs"] mod contract;`. Each test is written once, inside [`contract!`], and registers itself.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

/// Registers tests: each is given a [`kit::Kit`] over a fresh storage.
macro_rules! contract {
    ($($(#[doc = $doc:expr])* async fn $name:ident($kit:ident) $body:block)*) => {$(
        $(#[doc = $doc])*
        #[cfg(not(target_arch = "wasm32"))]
        #[test]
        fn $name() {
            pollster::block_on(async {
                let $kit = crate::contract::kit::Kit::fresh().await;
                $body
            });
        }

        $(#[doc = $doc])*
        #[cfg(target_arch = "wasm32")]
        #[wasm_bindgen_test::wasm_bindgen_test]
        async fn $name() {
            let $kit = crate::contract::kit::Kit::fresh().await;
            $body
        }
    )*};
}

pub(crate) mod chat;
pub(crate) mod kit;
pub(crate) mod rows;
pub(crate) mod tab;

mod beside;
mod bundles;
mod comparing;
mod conversations;
mod damage;
mod forking;
mod lookup;
mod marks;
pub(crate) mod mirroring;
mod pending;
mod racing;
mod reading;
mod removing;
mod repairing;
mod restoring;
mod running;
mod saving;
mod sizes;
mod streaming;
mod sweep;
mod turns;
