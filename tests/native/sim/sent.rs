//! Commands as they were given, and what came of them.

use turnmark::error::{Code, Error};
use turnmark::ids::CheckpointId;
use turnmark::plan::restore::Target;
use turnmark::store::Level;

use crate::contract::kit::{Msg, Shot};
use crate::histories::model::Whole;

/// What a write writes.
#[derive(Clone, Debug)]
pub(crate) enum Work {
    Whole(Whole),
    More { messages: Vec<Msg>, set: Vec<(String, String)>, remove: Vec<String> },
}

/// What it is within a turn.
#[derive(Clone, Debug)]
pub(crate) enum InTurn {
    No,
    Begin { run: String, again: Option<String> },
    Go(String),
    End(String),
}

#[derive(Clone, Debug)]
pub(crate) enum Sent {
    Write {
        work: Work,
        provisional: bool,
        turn: InTurn,
        expect: Option<u64>,
    },
    Restore {
        target: Target,
        expect: Option<u64>,
        run: Option<String>,
    },
    Fork {
        cp: CheckpointId,
        target: String,
    },
    Delete(CheckpointId),
    Prune(u32),
    Pin(CheckpointId, bool),
    DeleteSession,
    Title,
    Writes {
        task: String,
        values: Vec<(String, String)>,
    },
    Recover {
        drop: bool,
    },
    Stream {
        run: String,
        text: String,
        message: Msg,
    },
    NewSession {
        id: String,
        run: Option<String>,
    },
    /// It becomes the active one.
    Open,
    Look,
    /// The session's content goes into a numbered bundle, and out of it again.
    Export(usize),
    Import(usize),
    /// Collection, compaction, marks: changes nothing that can be read.
    Upkeep,
}

/// What a command answered.
#[derive(Clone, Debug)]
pub(crate) enum Ack {
    Done,
    Cp(CheckpointId),
    Count(usize),
    Recovered(Option<CheckpointId>),
    /// The live state, with the run and what was saved of its answer.
    Saw(Option<(Shot, Option<(String, Option<String>)>)>),
}

/// One command.
#[derive(Clone, Debug)]
pub(crate) struct Record {
    pub(crate) op: usize,
    pub(crate) scope: usize,
    pub(crate) session: String,
    pub(crate) sent: Sent,
    /// `None` where its page died first.
    pub(crate) ack: Option<Result<Ack, Error>>,
    /// How durable it was said to be.
    pub(crate) level: Level,
}

/// Whether it tells of a fault of the storage, and not of a rule.
pub(crate) fn is_fault(code: Code) -> bool {
    matches!(code, Code::Aborted | Code::QuotaExceeded | Code::TimedOut | Code::ConnectionLost | Code::NotStorable)
}
