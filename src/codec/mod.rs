//! The schema: which stores there are, how keys are made, what a row holds, and how versions follow each other.

pub mod key;
pub mod row;
pub mod schema;
