//! Pure data: what a history is made of. Nothing here knows a store, a browser or JavaScript.

pub mod body;
pub mod checkpoint;
pub mod hash;
pub mod part;
pub mod retention;
pub mod session;
pub mod sorted;
pub mod span;
pub mod tree;
