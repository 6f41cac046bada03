//! Native tests. One binary; each file is a module.
#![cfg(not(target_arch = "wasm32"))]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod backend;
#[path = "../contract/mod.rs"]
mod contract;

mod aborts;
mod comparison;
mod golden;
mod histories;
mod hostile;
mod ids;
mod prompts;
mod random;
mod retention;
mod schema;
mod sim;
mod sorted;
mod spans;
mod tables;
mod texts;
mod tree;
