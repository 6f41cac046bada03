//! Checkpoint headers: immutable records that point at the parts of a session at one instant.

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use super::hash::Hash;
use super::session::{self, State, Vector};
use super::sorted::Map;
use crate::ids::{CheckpointId, ScopeId, SessionId, TurnId};

macro_rules! words {
    ($(#[$doc:meta])* $name:ident { $($(#[$vdoc:meta])* $variant:ident = $word:literal,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum $name { $($(#[$vdoc])* $variant,)* }

        impl $name {
            /// Every value.
            pub const ALL: &[$name] = &[$($name::$variant,)*];

            /// The word JavaScript uses.
            #[must_use]
            pub fn word(self) -> &'static str {
                match self { $($name::$variant => $word,)* }
            }

            /// Reads the word JavaScript uses.
            #[must_use]
            pub fn from_word(word: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|value| value.word() == word)
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.word())
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let word = String::deserialize(deserializer)?;
                Self::from_word(&word).ok_or_else(|| de::Error::unknown_variant(&word, &[]))
            }
        }
    };
}

words! {
    /// The role of a checkpoint (requirements 6.4).
    Kind {
        /// Before the user's message exists.
        PromptBefore = "prompt-before",
        /// After the user's message was processed.
        PromptAfter = "prompt-after",
        /// After a turn.
        TurnAfter = "turn-after",
        /// Before a tool changes something.
        MutationBefore = "mutation-before",
        /// A whole session, sealed by the next one.
        SessionBoundary = "session-boundary",
        /// The state before a restore.
        RestorePoint = "restore-point",
        /// The first checkpoint of a fork.
        BranchPoint = "branch-point",
        /// Linked to a commit.
        Committed = "committed",
        /// Asked for.
        Manual = "manual",
    }
}

words! {
    /// What triggered a checkpoint (P-09, and `fork` from P-15).
    Source {
        /// A message.
        Message = "message",
        /// A tool ran.
        ToolExecution = "tool_execution",
        /// A job ended.
        JobComplete = "job_complete",
        /// A subagent ended.
        Subagent = "subagent",
        /// A sync.
        Sync = "sync",
        /// A person or program asked for it.
        Manual = "manual",
        /// A fork.
        Fork = "fork",
    }
}

words! {
    /// The operation that wrote a checkpoint; together they are the operation log.
    Action {
        /// A whole state was put.
        Put = "put",
        /// Messages were appended.
        Append = "append",
        /// The state before a restore was kept.
        RestorePoint = "restore-point",
        /// An older state was made live.
        Rollback = "rollback",
        /// A session was started from a checkpoint.
        Fork = "fork",
        /// An operation was undone.
        Undo = "undo",
        /// An undone operation was done again.
        Redo = "redo",
        /// An interrupted checkpoint was finalized or dropped.
        Recover = "recover",
        /// A turn was begun.
        Begin = "begin",
        /// A session was sealed by the next one.
        Seal = "seal",
    }
}

/// A checkpoint of a session, as another session refers to it (P-15).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Origin {
    /// The session.
    pub session_id: SessionId,
    /// The checkpoint.
    pub checkpoint_id: CheckpointId,
}

/// Tokens used: cumulative for the session and since the checkpoint before.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
pub struct Usage {
    /// Since the session began.
    #[serde(default)]
    pub total: Map<String, f64>,
    /// Since the checkpoint before.
    #[serde(default)]
    pub delta: Map<String, f64>,
}

/// The turn a checkpoint belongs to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Turn {
    /// The turn: the same for every version of it.
    pub id: TurnId,
    /// Its slot, from 1.
    pub seq: u32,
    /// Which of its versions.
    pub version: TurnId,
}

/// How an operation can be taken back. `before` and the links make undo and redo two linked lists inside the headers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Operation {
    /// What was done.
    pub action: Action,
    /// Checkpoint with the state before it; none when there was nothing before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<u32>,
    /// What `undo` undoes after this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub undo: Option<u32>,
    /// What `redo` redoes after this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub redo: Option<u32>,
}

/// The row of a checkpoint. Written once; afterwards only its pin, its provisional mark and its numbers of forks and of
/// pending writes change.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(bound = "T: super::body::Text")]
pub struct Checkpoint<T> {
    /// The scope.
    pub scope: ScopeId,
    /// The session.
    pub session: SessionId,
    /// Creation order within the session.
    pub seq: u32,
    /// Its id.
    pub id: CheckpointId,
    /// The checkpoint this state continues from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<CheckpointId>,
    /// Its role.
    pub kind: Kind,
    /// Its trigger.
    pub source: Source,
    /// What wrote it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub writes: Vec<String>,
    /// Where a fork comes from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forked_from: Option<Origin>,
    /// The caller's further metadata: key and encoded value.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub extra: Vec<(String, T)>,
    /// A name for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Epoch milliseconds by the writer's clock.
    pub at: u64,
    /// The session's epoch after this checkpoint.
    pub epoch: u64,
    /// Version vector at this instant.
    pub vector: Vector,
    /// The state.
    pub state: State,
    /// How it can be taken back.
    pub operation: Operation,
    /// Tokens used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// The turn it belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<Turn>,
    /// The host's reference of its own files at this instant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// The prompt of the turn that began here: a value among the objects.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt: Option<Hash>,
    /// The history that a prompt follows, for the exact look-up of A-17; set where it may be found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lookup: Option<Hash>,
    /// Id of the message that opens its turn, where it is in here for the first time: leads from a message to its prompt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub opens: Option<T>,
    /// Never pruned.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub pinned: bool,
    /// Its writer has not finished it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub provisional: bool,
    /// Immutable for ever.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub sealed: bool,
    /// How many sessions were forked from it.
    #[serde(default, skip_serializing_if = "session::is_zero")]
    pub forks: u32,
    /// How many pending writes it has.
    #[serde(default, skip_serializing_if = "session::is_zero")]
    pub pending: u32,
}

impl<T> Checkpoint<T> {
    /// What `undo` and `redo` lead to while this is the newest checkpoint.
    #[must_use]
    pub fn links(&self) -> (Option<u32>, Option<u32>) {
        let Operation { action, undo, redo, .. } = self.operation;
        match action {
            Action::Undo => (undo, Some(self.seq)),
            Action::Redo => (Some(self.seq), redo),
            Action::RestorePoint | Action::Seal => (undo, redo),
            // One that began on another state than was live can be taken back alone.
            Action::Begin if self.operation.before.is_none() => (undo, None),
            Action::Fork => (None, None),
            Action::Put | Action::Append | Action::Rollback | Action::Recover | Action::Begin => (Some(self.seq), None),
        }
    }
}

impl<T> Checkpoint<T> {
    /// What was done, as a sentence for the operation log.
    #[must_use]
    pub fn sentence(&self) -> String {
        let count = self.state.spans.count();
        let now = format!("{count} message{}", if count == 1 { "" } else { "s" });
        let parent = self.parent.as_ref().map_or("the beginning".to_owned(), ToString::to_string);
        match self.operation.action {
            Action::Put | Action::Append => format!("saved after {}; {now}", self.source.word()),
            Action::RestorePoint => format!("kept the state before a restore; {now}"),
            Action::Rollback => format!("rolled back to {parent}; {now}"),
            Action::Fork => {
                let from = self.forked_from.as_ref().map_or("elsewhere".to_owned(), |from| from.session_id.to_string());
                format!("forked from session {from} at {parent}; {now}")
            }
            Action::Undo => format!("undid the operation before; back at {parent}; {now}"),
            Action::Redo => format!("did again what was undone; at {parent}; {now}"),
            Action::Recover => format!("recovered an interrupted answer; on {parent}; {now}"),
            Action::Begin => format!("began a turn; {now}"),
            Action::Seal => format!("sealed the session; {now}"),
        }
    }
}
