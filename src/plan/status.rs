//! What a store holds, and what a restore or a deletion would change.

use crate::codec::key::{Key, Range, Store};
use crate::codec::row::Row;
use crate::error::{Code, Error};
use crate::ids::{CheckpointId, ScopeId, SessionId, WriterId};
use crate::model::body::Text;
use crate::model::checkpoint::Checkpoint;
use crate::model::retention::{guard, protection};
use crate::model::session::Run;
use crate::model::sorted::Set;
use crate::plan::diff::{self, Diff};
use crate::plan::head;
use crate::plan::restore::{self, Target};
use crate::store::{Plan, Planned, Request, View};

/// A session that somebody writes, or whose writer died.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unfinished {
    /// The session.
    pub session: SessionId,
    /// Its newest checkpoint.
    pub newest: CheckpointId,
    /// Since when, in epoch milliseconds.
    pub since: u64,
    /// The run, where it is a turn that is answered.
    pub run: Option<Run>,
    /// The open store that would finish it; `None` when it is not known any more.
    pub writer: Option<WriterId>,
}

/// Counts of a scope (sessions, checkpoints, interrupted) and of the whole database (rows).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Status {
    /// Sessions of the scope.
    pub sessions: usize,
    /// Checkpoints of the scope.
    pub checkpoints: usize,
    /// Rows of messages, of every scope.
    pub message_rows: usize,
    /// Rows of objects, of every scope.
    pub object_rows: usize,
    /// Pending writes, of every scope.
    pub pending_writes: usize,
    /// Sessions of the scope whose record cannot be read, or is lost: store and key.
    pub unreadable: Vec<String>,
    /// Records that were put aside because they could not be read, of every scope.
    pub quarantined: usize,
    /// Sessions whose newest checkpoint is provisional, or that have a run: with the newest checkpoint and since when.
    pub unfinished: Vec<Unfinished>,
}

/// Plans the counting.
///
/// # Errors
/// `Need`.
pub fn status<T: Text>(view: &View<T>, scope: &ScopeId) -> Planned<Plan<T, Status>> {
    let keys = |store| Request::Keys(Range::all(store));
    let sessions = Range::sessions(scope);
    view.want([
        Request::Rows { range: sessions.clone(), limit: None },
        keys(Store::Messages),
        keys(Store::Objects),
        keys(Store::Writes),
        Request::Keys(sessions.clone()),
        Request::Keys(Range::all_checkpoints(scope)),
        Request::Keys(Range::quarantine()),
    ])?;
    let count = |store| view.keys(Range::all(store)).map(|keys| keys.len());
    let mut status = Status {
        message_rows: count(Store::Messages)?,
        object_rows: count(Store::Objects)?,
        pending_writes: count(Store::Writes)?,
        quarantined: view.keys(Range::quarantine())?.len(),
        ..Status::default()
    };
    let keys = view.keys(sessions.clone())?;
    let known: Set<&Key> = keys.iter().collect();
    let mut lost: Set<String> = Set::new();
    for key in view.keys(Range::all_checkpoints(scope))?.iter() {
        let of = Key { store: Store::Sessions, pieces: key.pieces.iter().take(2).cloned().collect() };
        if !known.contains(&of) {
            lost.insert(of.to_string());
        }
    }
    for (read, key) in view.rows(sessions, None)?.iter().zip(keys.iter()) {
        let Ok(Row::Session(session)) = read.row().map(|row| &**row) else {
            lost.insert(key.to_string());
            continue;
        };
        status.sessions += 1;
        status.checkpoints += session.checkpoints as usize;
        if let Some(head) = session.head.as_ref().filter(|head| head.provisional || session.run.is_some()) {
            let run = session.run.clone();
            let (since, writer) = match &run {
                Some(run) => (run.since, run.writer.clone()),
                None => (session.updated, head.writer.clone()),
            };
            let (session, newest) = (session.id.clone(), head.id.clone());
            status.unfinished.push(Unfinished { session, newest, since, run, writer });
        }
    }
    status.unreadable = lost.iter().cloned().collect();
    Ok(Plan::read(status))
}

/// A question: what would this change?
#[derive(Clone, Debug)]
pub enum Question {
    /// A restore.
    Restore(Target),
    /// Pruning.
    Prune(u32),
    /// Deleting a checkpoint.
    Delete(CheckpointId),
}

/// The answer.
#[derive(Clone, Debug)]
pub struct Preview<T> {
    /// The checkpoint whose state would become live.
    pub target: Option<CheckpointId>,
    /// What would change in the live state.
    pub diff: Option<Diff<T>>,
    /// Checkpoints that would be deleted.
    pub deletes: Vec<CheckpointId>,
    /// Old checkpoints that would stay, with the reason.
    pub keeps: Vec<(CheckpointId, String)>,
}

/// Plans a preview: the same rules as the operation, writing nothing.
///
/// # Errors
/// `Need`, and whatever the operation itself would fail with.
pub fn preview<T: Text>(
    view: &View<T>,
    scope: &ScopeId,
    id: &SessionId,
    question: &Question,
) -> Planned<Plan<T, Preview<T>>> {
    let session = head::session(view, scope, id)?;
    let mut preview = Preview { target: None, diff: None, deletes: Vec::new(), keeps: Vec::new() };
    match question {
        Question::Restore(target) => {
            let to = restore::destination(view, &session, target)?;
            preview.diff = Some(diff::states(view, &session.state, &to.state, true)?);
            preview.target = to.target;
        }
        Question::Prune(keep_last) => {
            let keep = session.next;
            let mut all: Vec<Checkpoint<T>> = head::window(view, &session, keep, session.checkpoints)?;
            all.drain(..all.len().min(*keep_last as usize));
            for checkpoint in all.into_iter().rev() {
                match protection(&session, &checkpoint) {
                    None => preview.deletes.push(checkpoint.id),
                    Some(reason) => preview.keeps.push((checkpoint.id, reason.to_owned())),
                }
            }
        }
        Question::Delete(checkpoint) => {
            let doomed: Checkpoint<T> = head::checkpoint(view, scope, id, checkpoint)?;
            if let Some(reason) = guard(&doomed) {
                return Err(Error::new(
                    Code::Protected,
                    format!("checkpoint {checkpoint:?} cannot be deleted: {reason}"),
                )
                .into());
            }
            if session.head.as_ref().is_some_and(|head| head.seq == doomed.seq) {
                let before: Option<Checkpoint<T>> = head::newest(view, &session, doomed.seq)?;
                let state = before.as_ref().map_or_else(Default::default, |before| before.state.clone());
                preview.diff = Some(diff::states(view, &session.state, &state, true)?);
                preview.target = before.map(|before| before.id);
            }
            preview.deletes.push(doomed.id);
        }
    }
    Ok(Plan::read(preview))
}
