//! The rules, one file for each kind of command: pure functions from what was read to what will be written.

pub mod base;
pub mod bundle;
pub mod census;
pub mod collect;
pub mod compact;
pub mod delete;
pub mod diff;
pub mod fork;
pub mod head;
pub mod import;
pub mod inspect;
pub mod log;
pub mod merge;
pub mod objects;
pub mod parts;
pub mod pending;
pub mod prune;
pub mod read;
pub mod recover;
pub mod restore;
pub mod status;
pub mod verify;
pub mod write;
