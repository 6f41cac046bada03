//! A session: one live head over immutable checkpoints.

use serde::{Deserialize, Serialize};

use super::checkpoint::{Origin, Turn};
use super::hash::Hash;
use super::part::Roots;
use super::sorted::Map;
use super::span::Spans;
use crate::ids::{CheckpointId, DeviceId, LogId, RunId, ScopeId, SessionId, WriterId};

/// What a session holds at one instant. Small at any length of the chat.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct State {
    /// Whether the state has a message list at all (a saver may store states that have none).
    pub listed: bool,
    /// The messages.
    pub spans: Spans,
    /// Bytes of the messages.
    pub size: u64,
    /// Chained hash of the ordered ids of user and assistant messages.
    pub history: Hash,
    /// Slot of its newest turn; 0 where no turn was begun.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub turns: u32,
    /// Roots of the keyed parts.
    #[serde(default, skip_serializing_if = "Roots::is_empty")]
    pub roots: Roots,
}

// Serde calls this with a reference.
#[allow(clippy::trivially_copy_pass_by_ref)]
pub(crate) fn is_zero(n: &u32) -> bool {
    *n == 0
}

/// A turn that is being answered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Run {
    /// The run.
    pub id: RunId,
    /// The open store that answers it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub writer: Option<WriterId>,
    /// The turn it answers.
    pub turn: Turn,
    /// Epoch milliseconds.
    pub since: u64,
    /// Checkpoint with the state before the turn: what undo goes back to, however many steps the turn takes.
    pub before: u32,
    /// What `undo` would undo before the turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub undo: Option<u32>,
}

/// How many operations each device has made: device id to counter.
pub type Vector = Map<DeviceId, u64>;

/// The last rows of a log, which are still small and will be merged.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Tail {
    /// First message in a small row.
    pub from: u32,
    /// How many small rows there are.
    pub rows: u32,
    /// Bytes in them.
    pub bytes: u32,
}

/// The row of a session. The only mutable row of a turn; its `epoch` is what a writer compares and sets.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Session {
    /// The scope it belongs to.
    pub scope: ScopeId,
    /// Its id.
    pub id: SessionId,
    /// A title for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Epoch milliseconds.
    pub created: u64,
    /// Epoch milliseconds of the last change.
    pub updated: u64,
    /// Grows by one with every change of the head. Begins at a random number, so that a session deleted and made again
    /// repeats none, whatever the clock says.
    pub epoch: u64,
    /// The live state.
    pub state: State,
    /// The log this session appends to. Other sessions may hold spans of it.
    pub log: LogId,
    /// Next free place in that log.
    pub log_next: u32,
    /// The small rows at the end of that log.
    pub tail: Tail,
    /// Sequence number of the next checkpoint.
    pub next: u32,
    /// Sequence number of the oldest checkpoint that may still exist.
    pub oldest: u32,
    /// Every checkpoint before this place is protected: where retention begins to look.
    #[serde(default)]
    pub settled: u32,
    /// How many checkpoints exist.
    pub checkpoints: u32,
    /// The newest checkpoint.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub head: Option<Head>,
    /// Version vector after the last operation.
    pub vector: Vector,
    /// Checkpoint whose operation `undo` would undo.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub undo: Option<u32>,
    /// Checkpoint whose undo `redo` would redo.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub redo: Option<u32>,
    /// The restore point that undo or redo of the newest restore needs; never pruned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub restore_point: Option<u32>,
    /// Where it was forked from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forked_from: Option<Origin>,
    /// Set when it holds the work of a writer that lost a race on that session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conflict_of: Option<SessionId>,
    /// Checkpoints removed since the last collection that may have left unreachable records.
    #[serde(default)]
    pub debt: u32,
    /// The turn that is being answered, or whose writer died.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<Run>,
    /// How many prompts there were: what the next one is numbered after.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub prompts: u32,
    /// `Session N`; 0 for a session that is no conversation of the scope's history.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub number: u32,
    /// Id of its boundary while that is open: the live state is what it holds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub boundary: Option<CheckpointId>,
    /// Id of its newest boundary that is sealed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sealed: Option<CheckpointId>,
    /// The host's reference of its own files, as it gave it last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// The conversation that was active before this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<SessionId>,
    /// Id of the agent's own session; `reserved:` and an id before the agent made one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remote: Option<String>,
    /// The active conversation of a scope is the one with the greatest number here.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub opened: u32,
}

/// The newest checkpoint of a session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Head {
    /// Its sequence number.
    pub seq: u32,
    /// Its id.
    pub id: CheckpointId,
    /// Whether its writer has not finished it.
    #[serde(default)]
    pub provisional: bool,
    /// The open store that would finish it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub writer: Option<WriterId>,
}

impl Session {
    /// A session that holds nothing yet.
    #[must_use]
    pub fn new(scope: ScopeId, id: SessionId, log: LogId, now: u64) -> Self {
        Session {
            scope,
            id,
            title: None,
            created: now,
            updated: now,
            epoch: first_epoch(&log),
            state: State::default(),
            log,
            log_next: 0,
            tail: Tail::default(),
            next: 0,
            oldest: 0,
            settled: 0,
            checkpoints: 0,
            head: None,
            vector: Vector::new(),
            undo: None,
            redo: None,
            restore_point: None,
            forked_from: None,
            conflict_of: None,
            debt: 0,
            run: None,
            prompts: 0,
            number: 0,
            boundary: None,
            sealed: None,
            commit: None,
            parent: None,
            remote: None,
            opened: 0,
        }
    }

    /// Counts one operation of a device.
    pub fn bump(&mut self, device: &DeviceId) {
        *self.vector.slot(device.clone()) += 1;
    }

    /// A checkpoint may be prunable again.
    pub fn unsettle(&mut self, seq: u32) {
        self.settled = self.settled.min(seq);
    }

    /// Ends its run, and gives it. What the turn's undo needed may be pruned again.
    pub fn end_run(&mut self) -> Option<Run> {
        let run = self.run.take()?;
        self.unsettle(run.before);
        Some(run)
    }

    /// The same session where no store is open that would finish what is unfinished in it.
    #[must_use]
    pub fn without_writer(mut self) -> Self {
        self.run = None;
        if let Some(head) = &mut self.head {
            head.writer = None;
        }
        self
    }

    /// Whether it holds no checkpoint and no content.
    #[must_use]
    pub fn is_blank(&self) -> bool {
        self.head.is_none() && self.state == State::default()
    }
}

/// Where the epochs of a session begin: as random as the id of its log, and small enough for JavaScript to count on from.
#[must_use]
pub fn first_epoch(log: &LogId) -> u64 {
    let Hash([a, b, c, d, e, f, ..]) = Hash::of("epoch", &[log.as_str().as_bytes()]);
    u64::from_be_bytes([0, 0, a, b, c, d, e, f])
}
