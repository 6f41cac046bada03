//! The versions of the database, as an ordered list of steps. The list's length is the version.
//!
//! Steps are append-only: a step that has been released is never edited. All steps a database lacks run in the one
//! upgrade transaction, so an interrupted upgrade leaves the old version whole.

use std::fmt;

use super::key::Store;

/// One change of the database's shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// Creates a store whose keys are given with each row.
    CreateStore(Store),
    /// Creates an index over fields of a store's rows.
    CreateIndex {
        /// The store.
        store: Store,
        /// Name of the index.
        name: &'static str,
        /// The fields, which together are the index key.
        fields: &'static [&'static str],
        /// Whether two rows may not share an index key.
        unique: bool,
    },
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Change::CreateStore(store) => write!(f, "the store \"{}\"", store.name()),
            Change::CreateIndex { store, name, .. } => write!(f, "the index \"{name}\" of \"{}\"", store.name()),
        }
    }
}

/// The index that finds a checkpoint by its id.
pub const CHECKPOINT_BY_ID: &str = "id";

/// The index that finds prompts by the history they follow. Only prompts are in it.
pub const CHECKPOINT_BY_LOOKUP: &str = "lookup";

/// The index that finds the checkpoints of a turn.
pub const CHECKPOINT_BY_TURN: &str = "turn";

/// The index that leads from the message that opens a turn to the turn.
pub const CHECKPOINT_BY_OPENS: &str = "opens";

/// What each version changes, oldest first.
pub const STEPS: &[&[Change]] = &[
    &[
        Change::CreateStore(Store::Meta),
        Change::CreateStore(Store::Sessions),
        Change::CreateStore(Store::Messages),
        Change::CreateStore(Store::References),
        Change::CreateStore(Store::Checkpoints),
        Change::CreateIndex {
            store: Store::Checkpoints,
            name: CHECKPOINT_BY_ID,
            fields: &["scope", "session", "id"],
            unique: true,
        },
        Change::CreateStore(Store::Objects),
        Change::CreateStore(Store::Writes),
    ],
    &[
        Change::CreateStore(Store::Streams),
        Change::CreateIndex {
            store: Store::Checkpoints,
            name: CHECKPOINT_BY_LOOKUP,
            fields: &["scope", "session", "lookup"],
            unique: false,
        },
        Change::CreateIndex {
            store: Store::Checkpoints,
            name: CHECKPOINT_BY_TURN,
            fields: &["scope", "session", "turn.id"],
            unique: false,
        },
        Change::CreateIndex {
            store: Store::Checkpoints,
            name: CHECKPOINT_BY_OPENS,
            fields: &["scope", "session", "opens"],
            unique: false,
        },
    ],
];

/// A version number reserves room for minors that an older release may still read: the first step is version 100.
pub const STRIDE: u32 = 100;

/// The version this release writes.
#[must_use]
pub fn version() -> u32 {
    u32::try_from(STEPS.len()).unwrap_or(u32::MAX).saturating_mul(STRIDE)
}

/// The steps that a database of `old` version lacks (0: it is new).
#[must_use]
pub fn missing(old: u32) -> &'static [&'static [Change]] {
    STEPS.get((old / STRIDE) as usize..).unwrap_or(&[])
}

/// Whether a database of that version is too new for this release.
#[must_use]
pub fn is_too_new(found: u32) -> bool {
    found / STRIDE > version() / STRIDE
}
