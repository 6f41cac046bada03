//! Conversations of a scope: the active one, the next one, and the boundary that each leaves behind.
//!
//! A boundary is open for as long as its session goes on: its id is known and its content is the live state, whatever that
//! is. Sealing writes it as a checkpoint that never changes again. A sealed session that is gone on with gets a boundary of
//! its own; the sealed one stays.

use crate::codec::key::Range;
use crate::codec::row::Row;
use crate::error::{Code, Error};
use crate::ids::{CheckpointId, RunId, ScopeId, SessionId, Stamp};
use crate::model::body::Text;
use crate::model::checkpoint::{Action, Checkpoint, Kind};
use crate::model::retention::Retention;
use crate::model::session::Session;
use crate::plan::delete::check_title;
use crate::plan::head::{self, Header};
use crate::plan::prune;
use crate::plan::turn::check_idle;
use crate::plan::write;
use crate::store::{Op, Plan, Planned, View};

/// What the id of an agent's own session begins with, as long as the agent has made none.
pub const RESERVED: &str = "reserved:";

/// A new conversation.
#[derive(Clone, Debug)]
pub struct NewSession {
    /// The scope.
    pub scope: ScopeId,
    /// Its id.
    pub id: SessionId,
    /// Its title.
    pub title: Option<String>,
    /// The host's reference of its own files, for the boundary that is sealed.
    pub commit: Option<String>,
    /// The session that is left; by default the active one.
    pub from: Option<SessionId>,
    /// The caller's own run in it.
    pub run: Option<RunId>,
    /// When and by whom.
    pub stamp: Stamp,
    /// Whether the prompt checkpoints of the sealed session go.
    pub retention: Retention,
}

/// What a new conversation did.
#[derive(Clone, Debug)]
pub struct Opened<T> {
    /// Its number among the conversations of the scope.
    pub number: u32,
    /// Its epoch.
    pub epoch: u64,
    /// The conversation that was active before it.
    pub previous: Option<SessionId>,
    /// The boundary that was sealed.
    pub sealed: Option<Checkpoint<T>>,
    /// Checkpoints that went with it.
    pub pruned: usize,
    /// The caller's own run in it, where it ended with this.
    pub ended: Option<RunId>,
}

/// Every readable session of a scope.
fn all<T: Text>(view: &View<T>, scope: &ScopeId) -> Planned<Vec<Session>> {
    let rows = view.rows(Range::sessions(scope), None)?;
    let session = |read: &crate::store::Read<T>| match read.row().map(|row| &**row) {
        Ok(Row::Session(session)) => Some(session.clone()),
        _ => None,
    };
    Ok(rows.iter().filter_map(session).collect())
}

fn newest(sessions: &[Session]) -> Option<&Session> {
    sessions.iter().filter(|session| session.opened > 0).max_by_key(|session| session.opened)
}

/// The active conversation of a scope; `None` before the first.
///
/// # Errors
/// `Need` until the sessions are read.
pub fn active<T: Text>(view: &View<T>, scope: &ScopeId) -> Planned<Plan<T, Option<SessionId>>> {
    Ok(Plan::read(newest(&all(view, scope)?).map(|session| session.id.clone())))
}

/// Plans a new conversation: the boundary of the active one is sealed, the new one is empty and active, in one transaction.
///
/// # Errors
/// `Need`; `AlreadyExists`, `ActiveRun`, `TooLarge`.
pub fn start<T: Text>(view: &View<T>, command: &NewSession) -> Planned<Plan<T, Opened<T>>> {
    let NewSession { scope, id, title, commit, from, run, stamp, retention } = command;
    check_title(title.as_deref())?;
    write::check_commit(commit.as_deref())?;
    let sessions = all(view, scope)?;
    if head::find_or_none(view, scope, id)?.is_some() {
        return Err(Error::new(Code::AlreadyExists, format!("there already is a session {id:?}")).into());
    }
    let mut writes = Vec::new();
    let mut number = sessions.iter().map(|session| session.number).max().unwrap_or_default();
    let previous = match from {
        Some(from) => Some(head::session(view, scope, from)?),
        None => newest(&sessions).cloned(),
    };
    let mut sealed = None;
    let mut ended = None;
    let mut pruned = 0;
    if let Some(mut previous) = previous.clone() {
        check_idle(&previous, run.as_ref())?;
        ended = previous.end_run().map(|run| run.id);
        if previous.number == 0 {
            number += 1;
            previous.number = number;
        }
        if previous.head.is_some() {
            if retention.sessions_only {
                pruned = drop_prompts(view, &mut previous, &mut writes)?;
            }
            sealed = Some(seal(&mut previous, commit.clone(), stamp, &mut writes));
        }
        writes.push(Op::DeleteRange(Range::streams(scope, &previous.id)));
        head::put_session(&previous, &mut writes);
    }
    let mut session = Session::new(scope.clone(), id.clone(), stamp.log(0), stamp.now);
    session.title.clone_from(title);
    session.number = number + 1;
    session.boundary = Some(stamp.checkpoint(5));
    session.parent = previous.as_ref().map(|previous| previous.id.clone());
    session.remote = Some(format!("{RESERVED}{id}"));
    session.opened = next_place(&sessions);
    head::put_session(&session, &mut writes);
    let previous = session.parent.clone();
    let (number, epoch) = (session.number, session.epoch);
    Ok(Plan { writes, answer: Opened { number, epoch, previous, sealed, pruned, ended } })
}

fn next_place(sessions: &[Session]) -> u32 {
    sessions.iter().map(|session| session.opened).max().unwrap_or_default().saturating_add(1)
}

/// Writes a session's boundary for good.
fn seal<T: Text>(
    session: &mut Session,
    commit: Option<String>,
    stamp: &Stamp,
    writes: &mut Vec<Op<T>>,
) -> Checkpoint<T> {
    let id: CheckpointId = session.boundary.take().unwrap_or_else(|| stamp.checkpoint(6));
    let mut header = Header::own(id, Kind::SessionBoundary, Action::Seal);
    header.parent = session.head.as_ref().map(|head| head.id.clone());
    header.name = Some(session.title.clone().unwrap_or_else(|| format!("Session {}", session.number)));
    header.commit = commit.or_else(|| session.commit.clone());
    session.commit.clone_from(&header.commit);
    session.sealed = Some(header.id.clone());
    header.sealed = true;
    (header.operation.undo, header.operation.redo) = (session.undo, session.redo);
    session.bump(&stamp.device);
    let state = session.state.clone();
    head::advance(session, state, header, stamp, writes)
}

/// Removes what is no boundary from a session's history; what is protected stays.
fn drop_prompts<T: Text>(view: &View<T>, session: &mut Session, writes: &mut Vec<Op<T>>) -> Planned<usize> {
    let rows = view.rows(Range::checkpoints(&session.scope, &session.id), None)?;
    let prompts = |cp: &Checkpoint<T>| cp.kind != Kind::SessionBoundary;
    // The newest goes too: the boundary that is sealed now holds the same state.
    let head = session.head.take();
    let pruned = prune::those(session, rows.iter(), prompts, writes);
    session.head = head;
    Ok(pruned.deleted.len())
}

/// Plans the switch to a conversation. `commit` is the host's reference of its files as they were left, for the open
/// boundary of the one that is left.
///
/// # Errors
/// `Need`; `UnknownSession`, `TooLarge`.
pub fn open<T: Text>(
    view: &View<T>,
    scope: &ScopeId,
    id: &SessionId,
    commit: Option<&str>,
) -> Planned<Plan<T, Option<SessionId>>> {
    write::check_commit(commit)?;
    let sessions = all(view, scope)?;
    let mut session = head::session(view, scope, id)?;
    let previous = newest(&sessions).map(|session| session.id.clone());
    if previous.as_ref() == Some(id) {
        return Ok(Plan::read(previous));
    }
    session.opened = next_place(&sessions);
    let mut writes = Vec::new();
    head::put_session(&session, &mut writes);
    if let (Some(left), Some(commit)) = (newest(&sessions), commit) {
        head::put_session(&Session { commit: Some(commit.to_owned()), ..left.clone() }, &mut writes);
    }
    Ok(Plan { writes, answer: previous })
}

/// Longest id of an agent's own session, in characters.
pub const MAX_REMOTE: usize = 500;

/// Plans a change of the agent's own session id.
///
/// # Errors
/// `Need`; `UnknownSession`, `TooLarge`.
pub fn remote<T: Text>(view: &View<T>, scope: &ScopeId, id: &SessionId, remote: Option<&str>) -> Planned<Plan<T, ()>> {
    if remote.is_some_and(|remote| remote.chars().count() > MAX_REMOTE || remote.chars().any(char::is_control)) {
        let why = format!("an agent's session id may have at most {MAX_REMOTE} characters, and none that control");
        return Err(Error::new(Code::TooLarge, why).into());
    }
    let mut session = head::session(view, scope, id)?;
    session.remote = remote.map(ToOwned::to_owned);
    let mut writes = Vec::new();
    head::put_session(&session, &mut writes);
    Ok(Plan { writes, answer: () })
}
