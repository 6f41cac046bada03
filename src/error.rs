//! One closed list of error codes and the one error type that carries them.

use std::fmt;
use std::ops::Deref;

use crate::ids::{CheckpointId, SessionId};

/// What went wrong, as a stable word that callers may match on.
///
/// The list is closed and append-only: a word is never renamed and never changes its meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Code {
    /// An id is empty, too long, not well formed, or a name that could reach a prototype.
    InvalidId,
    /// An argument is of the wrong type or out of range.
    InvalidArgument,
    /// A value cannot be stored exactly; `path` says where in it.
    NotStorable,
    /// A value, name or file is over a limit.
    TooLarge,
    /// No session has that id.
    UnknownSession,
    /// No checkpoint of the session has that id.
    UnknownCheckpoint,
    /// The checkpoint named as parent does not exist.
    UnknownParent,
    /// The id for something new is taken.
    AlreadyExists,
    /// A write to a session that its writer has not read.
    NotLoaded,
    /// A state without messages would replace one that has some.
    EmptyOverNonEmpty,
    /// Another writer was first; `branch` says where the refused work was kept.
    Conflict,
    /// A checkpoint that must stay: pinned, sealed, committed or the base of a fork.
    Protected,
    /// There is nothing to undo.
    NothingToUndo,
    /// There is nothing to redo.
    NothingToRedo,
    /// A run is active on the session.
    ActiveRun,
    /// A file is not a bundle, or a damaged one.
    BadBundle,
    /// The browser offers no usable IndexedDB.
    Unavailable,
    /// Another tab keeps an older version open.
    Blocked,
    /// The browser did not answer in time.
    TimedOut,
    /// The database was written by a newer release; it is left untouched.
    SchemaTooNew,
    /// The database has not the shape its version says.
    SchemaMismatch,
    /// The disk or the quota is full.
    QuotaExceeded,
    /// The browser closed the connection.
    ConnectionLost,
    /// The transaction was aborted; nothing of it was written.
    Aborted,
    /// A stored record cannot be read or is not what was written.
    RecordUnreadable,
    /// The store was closed by its owner.
    Closed,
    /// A fault of this library.
    Internal,
}

impl Code {
    /// Every code, in the order of the declarations.
    pub const ALL: &[Code] = &[
        Code::InvalidId,
        Code::InvalidArgument,
        Code::NotStorable,
        Code::TooLarge,
        Code::UnknownSession,
        Code::UnknownCheckpoint,
        Code::UnknownParent,
        Code::AlreadyExists,
        Code::NotLoaded,
        Code::EmptyOverNonEmpty,
        Code::Conflict,
        Code::Protected,
        Code::NothingToUndo,
        Code::NothingToRedo,
        Code::ActiveRun,
        Code::BadBundle,
        Code::Unavailable,
        Code::Blocked,
        Code::TimedOut,
        Code::SchemaTooNew,
        Code::SchemaMismatch,
        Code::QuotaExceeded,
        Code::ConnectionLost,
        Code::Aborted,
        Code::RecordUnreadable,
        Code::Closed,
        Code::Internal,
    ];

    /// The word JavaScript sees as `error.code`.
    #[must_use]
    pub fn word(self) -> String {
        format!("{self:?}")
    }
}

/// A failure: what failed, on what, and what the caller can do.
///
/// Every fallible operation of this crate fails with this type, and before anything was written unless its code says
/// otherwise (`Conflict` keeps the refused work as a branch). One pointer wide: it is part of nearly every result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error(Box<Fault>);

/// What an [`Error`] says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The stable word.
    pub code: Code,
    /// A sentence for people.
    pub message: String,
    /// Where in a value the fault is, for `NotStorable` and `BadBundle`.
    pub path: Option<String>,
    /// Where the refused work was kept, for `Conflict`.
    pub branch: Option<Branch>,
    /// Name and text of the browser's own error, where one is behind it.
    pub cause: Option<String>,
}

impl Deref for Error {
    type Target = Fault;

    fn deref(&self) -> &Fault {
        &self.0
    }
}

/// Where the work of a writer that lost a race was kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Branch {
    /// The session that holds it.
    pub session: SessionId,
    /// Its checkpoint.
    pub checkpoint: CheckpointId,
}

/// The result of everything here that can fail.
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// An error with a code and a sentence.
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Error(Box::new(Fault { code, message: message.into(), path: None, branch: None, cause: None }))
    }

    /// The same error, naming the browser's own error behind it.
    #[must_use]
    pub fn caused_by(mut self, cause: impl Into<String>) -> Self {
        self.0.cause = Some(cause.into());
        self
    }

    /// The same error, naming where the refused work was kept.
    #[must_use]
    pub fn kept_in(mut self, branch: Branch) -> Self {
        self.0.branch = Some(branch);
        self
    }

    /// A stored record that cannot be used; `record` names its store and key.
    pub fn unreadable(record: impl fmt::Display, why: impl fmt::Display) -> Self {
        Error::new(
            Code::RecordUnreadable,
            format!("the stored record {record} cannot be used: {why}; run verify() to see what it affects"),
        )
    }

    /// No session of that id.
    #[must_use]
    pub fn unknown_session(id: &SessionId) -> Self {
        Error::new(Code::UnknownSession, format!("there is no session {id:?}; sessions() lists those that exist"))
    }

    /// No checkpoint of that id in that session.
    #[must_use]
    pub fn unknown_checkpoint(session: &SessionId, id: &CheckpointId) -> Self {
        Error::new(
            Code::UnknownCheckpoint,
            format!("session {session:?} has no checkpoint {id:?}; it may have been pruned or deleted"),
        )
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {}", self.code, self.message)
    }
}

impl std::error::Error for Error {}
