//! A session: one live head over immutable checkpoints.

use serde::{Deserialize, Serialize};

use super::checkpoint::Origin;
use super::hash::Hash;
use super::part::Roots;
use super::sorted::Map;
use super::span::Spans;
use crate::ids::{CheckpointId, DeviceId, LogId, ScopeId, SessionId};

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
    /// Roots of the keyed parts.
    #[serde(default, skip_serializing_if = "Roots::is_empty")]
    pub roots: Roots,
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
