//! Tests in a real browser. One binary; each file is a module.
#![cfg(target_arch = "wasm32")]
// Tests may fail loudly; the library may not. Clippy's own exceptions only know `#[test]`.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

wasm_bindgen_test::wasm_bindgen_test_configure!(run_in_browser);

mod backend;
#[path = "../contract/mod.rs"]
mod contract;

mod storage_abort;
mod storage_checksum;
mod storage_connection;
mod storage_delete;
mod storage_guess;
mod storage_open;
mod storage_read;
mod storage_tabs;
mod storage_values;
mod storage_write;
mod support;
