//! Keys and ranges. Keys are short arrays that read well in a browser's storage inspector.

use std::fmt;

use crate::ids::{CheckpointId, LogId, ScopeId, SessionId, TaskId, TurnId, WriterId};
use crate::model::hash::Hash;

/// First part of the keys of marks.
const MARK: &str = "open";
/// First part of the keys of what was put aside.
const QUARANTINE: &str = "quarantine";

/// One object store of the database.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Store {
    /// What is true of the whole database; `["open", writer]`: the mark of an open store; `["quarantine", store, ...key, at]`:
    /// a row that could not be read, as it was stored.
    Meta,
    /// `[scope, session]`: heads.
    Sessions,
    /// `[log, from]`: runs of message bodies.
    Messages,
    /// `[log, seq, hash]`: which message refers to which object; `[object, 0, hash]`: which object to which binary. What
    /// is reached is told by these keys alone, without reading a content.
    References,
    /// `[scope, session, seq]`: checkpoint headers.
    Checkpoints,
    /// `[hash, piece]`: tree nodes, large values and binaries, by content.
    Objects,
    /// `[scope, session, seq, task, index]`: pending writes.
    Writes,
    /// `[scope, session, n, piece]`: what was added to a message that is still being written.
    Streams,
}

impl Store {
    /// Every store.
    pub const ALL: &[Store] = &[
        Store::Meta,
        Store::Sessions,
        Store::Messages,
        Store::References,
        Store::Checkpoints,
        Store::Objects,
        Store::Writes,
        Store::Streams,
    ];

    /// Its name in the database.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Store::Meta => "meta",
            Store::Sessions => "sessions",
            Store::Messages => "messages",
            Store::References => "references",
            Store::Checkpoints => "checkpoints",
            Store::Objects => "objects",
            Store::Writes => "writes",
            Store::Streams => "streams",
        }
    }
}

/// One component of a key. Numbers sort before strings, as in IndexedDB.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Piece {
    /// A number.
    Number(i64),
    /// A string.
    Text(String),
}

impl From<u32> for Piece {
    fn from(n: u32) -> Self {
        Piece::Number(i64::from(n))
    }
}

impl From<i32> for Piece {
    fn from(n: i32) -> Self {
        Piece::Number(i64::from(n))
    }
}

impl From<&str> for Piece {
    fn from(text: &str) -> Self {
        Piece::Text(text.to_owned())
    }
}

/// The key of a row.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Key {
    /// The store.
    pub store: Store,
    /// The array.
    pub pieces: Vec<Piece>,
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} [", self.store.name())?;
        for (i, piece) in self.pieces.iter().enumerate() {
            if i > 0 {
                f.write_str(", ")?;
            }
            match piece {
                Piece::Number(n) => write!(f, "{n}")?,
                Piece::Text(text) => write!(f, "\"{text}\"")?,
            }
        }
        f.write_str("]")
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Key {
    fn new<const N: usize>(store: Store, pieces: [Piece; N]) -> Self {
        Key { store, pieces: pieces.into() }
    }

    /// The one row about the whole database.
    #[must_use]
    pub fn meta() -> Self {
        Key::new(Store::Meta, ["store".into()])
    }

    /// The mark of an open store.
    #[must_use]
    pub fn mark(writer: &WriterId) -> Self {
        Key::new(Store::Meta, [MARK.into(), writer.as_str().into()])
    }

    /// A session's head.
    #[must_use]
    pub fn session(scope: &ScopeId, session: &SessionId) -> Self {
        Key::new(Store::Sessions, [scope.as_str().into(), session.as_str().into()])
    }

    /// A run of messages.
    #[must_use]
    pub fn messages(log: &LogId, from: u32) -> Self {
        Key::new(Store::Messages, [log.as_str().into(), from.into()])
    }

    /// A reference from a message to an object.
    #[must_use]
    pub fn reference(log: &LogId, seq: u32, hash: Hash) -> Self {
        Key::new(Store::References, [log.as_str().into(), seq.into(), Piece::Text(hash.to_hex())])
    }

    /// A reference from an object to a binary.
    #[must_use]
    pub fn object_reference(owner: Hash, hash: Hash) -> Self {
        Key::new(Store::References, [Piece::Text(owner.to_hex()), 0_u32.into(), Piece::Text(hash.to_hex())])
    }

    /// A checkpoint header.
    #[must_use]
    pub fn checkpoint(scope: &ScopeId, session: &SessionId, seq: u32) -> Self {
        Key::new(Store::Checkpoints, [scope.as_str().into(), session.as_str().into(), seq.into()])
    }

    /// A piece of an object.
    #[must_use]
    pub fn object(hash: Hash, piece: u32) -> Self {
        Key::new(Store::Objects, [Piece::Text(hash.to_hex()), piece.into()])
    }

    /// An addition to a message that is still being written.
    #[must_use]
    pub fn stream(scope: &ScopeId, session: &SessionId, n: u32, piece: u32) -> Self {
        Key::new(Store::Streams, [scope.as_str().into(), session.as_str().into(), n.into(), piece.into()])
    }

    /// A pending write.
    #[must_use]
    pub fn write(scope: &ScopeId, session: &SessionId, seq: u32, task: &TaskId, index: i32) -> Self {
        Key::new(
            Store::Writes,
            [scope.as_str().into(), session.as_str().into(), seq.into(), task.as_str().into(), index.into()],
        )
    }

    /// Where a row that cannot be read is kept, once it is put aside at an instant.
    #[must_use]
    pub fn aside(&self, at: u64) -> Self {
        let mut pieces = Range::aside(self.store, &self.pieces).prefix;
        pieces.push(Piece::Number(i64::try_from(at).unwrap_or(i64::MAX)));
        Key { store: Store::Meta, pieces }
    }

    /// The text at a position of the array.
    #[must_use]
    pub fn text(&self, at: usize) -> Option<&str> {
        match self.pieces.get(at) {
            Some(Piece::Text(text)) => Some(text),
            _ => None,
        }
    }

    /// The number at a position of the array, where it fits a row position.
    #[must_use]
    pub fn number(&self, at: usize) -> Option<u32> {
        match self.pieces.get(at) {
            Some(Piece::Number(n)) => u32::try_from(*n).ok(),
            _ => None,
        }
    }
}

/// All keys of a store that begin with a prefix, optionally with the next component between two numbers.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Range {
    /// The store.
    pub store: Store,
    /// What the keys begin with.
    pub prefix: Vec<Piece>,
    /// Least value of the next component.
    pub from: Option<u32>,
    /// First value of the next component that is out.
    pub to: Option<u32>,
}

impl Range {
    /// Every key of a store.
    #[must_use]
    pub fn all(store: Store) -> Self {
        Range { store, prefix: Vec::new(), from: None, to: None }
    }

    /// The mark of every open store.
    #[must_use]
    pub fn marks() -> Self {
        Range { store: Store::Meta, prefix: vec![MARK.into()], from: None, to: None }
    }

    /// Everything that was put aside.
    #[must_use]
    pub fn quarantine() -> Self {
        Range { store: Store::Meta, prefix: vec![QUARANTINE.into()], from: None, to: None }
    }

    /// What was put aside of a store, with keys that begin so.
    #[must_use]
    pub fn aside(store: Store, keys: &[Piece]) -> Self {
        let mut prefix = vec![QUARANTINE.into(), store.name().into()];
        prefix.extend_from_slice(keys);
        Range { store: Store::Meta, prefix, from: None, to: None }
    }

    /// Every checkpoint of a scope.
    #[must_use]
    pub fn all_checkpoints(scope: &ScopeId) -> Self {
        Range { store: Store::Checkpoints, ..Range::sessions(scope) }
    }

    /// Every session of a scope.
    #[must_use]
    pub fn sessions(scope: &ScopeId) -> Self {
        Range { store: Store::Sessions, prefix: vec![scope.as_str().into()], from: None, to: None }
    }

    /// Every message row of a log.
    #[must_use]
    pub fn log(log: &LogId) -> Self {
        Range { store: Store::Messages, prefix: vec![log.as_str().into()], from: None, to: None }
    }

    /// Message rows of a log that begin in `from .. to`.
    #[must_use]
    pub fn messages(log: &LogId, from: u32, to: u32) -> Self {
        Range { from: Some(from), to: Some(to), ..Range::log(log) }
    }

    /// References of messages `from .. to` of a log.
    #[must_use]
    pub fn references(log: &LogId, from: u32, to: u32) -> Self {
        Range { store: Store::References, prefix: vec![log.as_str().into()], from: Some(from), to: Some(to) }
    }

    /// References of an object.
    #[must_use]
    pub fn object_references(owner: Hash) -> Self {
        Range { store: Store::References, prefix: vec![Piece::Text(owner.to_hex())], from: None, to: None }
    }

    /// Every checkpoint of a session.
    #[must_use]
    pub fn checkpoints(scope: &ScopeId, session: &SessionId) -> Self {
        Range {
            store: Store::Checkpoints,
            prefix: vec![scope.as_str().into(), session.as_str().into()],
            from: None,
            to: None,
        }
    }

    /// Checkpoints `from .. to` of a session.
    #[must_use]
    pub fn checkpoints_between(scope: &ScopeId, session: &SessionId, from: u32, to: u32) -> Self {
        Range { from: Some(from), to: Some(to), ..Range::checkpoints(scope, session) }
    }

    /// Every piece of an object.
    #[must_use]
    pub fn object(hash: Hash) -> Self {
        Range { store: Store::Objects, prefix: vec![Piece::Text(hash.to_hex())], from: None, to: None }
    }

    /// What was added to the message a session is still writing.
    #[must_use]
    pub fn streams(scope: &ScopeId, session: &SessionId) -> Self {
        Range {
            store: Store::Streams,
            prefix: vec![scope.as_str().into(), session.as_str().into()],
            from: None,
            to: None,
        }
    }

    /// Pending writes of a session.
    #[must_use]
    pub fn session_writes(scope: &ScopeId, session: &SessionId) -> Self {
        Range {
            store: Store::Writes,
            prefix: vec![scope.as_str().into(), session.as_str().into()],
            from: None,
            to: None,
        }
    }

    /// Pending writes of a checkpoint.
    #[must_use]
    pub fn writes(scope: &ScopeId, session: &SessionId, seq: u32) -> Self {
        Range {
            store: Store::Writes,
            prefix: vec![scope.as_str().into(), session.as_str().into(), seq.into()],
            from: None,
            to: None,
        }
    }

    /// Whether a key is in the range.
    #[must_use]
    pub fn contains(&self, key: &Key) -> bool {
        if key.store != self.store || !key.pieces.starts_with(&self.prefix) {
            return false;
        }
        if self.from.is_none() && self.to.is_none() {
            return true;
        }
        key.number(self.prefix.len())
            .is_some_and(|next| self.from.is_none_or(|from| next >= from) && self.to.is_none_or(|to| next < to))
    }
}

/// A look-up of the checkpoints of a session through an index that may hold many of one value.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Where {
    /// The scope.
    pub scope: ScopeId,
    /// The session.
    pub session: SessionId,
    /// What they have in common.
    pub what: Common,
}

/// What checkpoints have in common.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Common {
    /// Prompts that follow the same history.
    Lookup(Hash),
    /// Checkpoints of one turn.
    Turn(TurnId),
    /// Checkpoints in which a message opens its turn.
    Opens(String),
}

/// A look-up of a checkpoint by its id, through the index.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ById {
    /// The scope.
    pub scope: ScopeId,
    /// The session.
    pub session: SessionId,
    /// The id.
    pub id: CheckpointId,
}
