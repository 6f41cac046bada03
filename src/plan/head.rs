//! What every command does with heads and headers: read them, check who is first, write the next one.

use std::rc::Rc;

use crate::codec::key::{ById, Key, Range};
use crate::codec::row::Row;
use crate::error::{Code, Error};
use crate::ids::{CheckpointId, ScopeId, SessionId, Stamp};
use crate::model::body::Text;
use crate::model::checkpoint::{Action, Checkpoint, Kind, Operation, Origin, Source, Turn, Usage};
use crate::model::hash::Hash;
use crate::model::session::{Head, Session, State};
use crate::store::{Op, Pause, Planned, Read, View};

/// Reads a session row; `None` when there is none.
///
/// # Errors
/// `Need` until it is read; `RecordUnreadable`.
pub fn find<T: Text>(view: &View<T>, scope: &ScopeId, id: &SessionId) -> Planned<Option<Session>> {
    let key = Key::session(scope, id);
    match view.row(key.clone())?.as_deref() {
        None => Ok(None),
        Some(Row::Session(session)) => Ok(Some(session.clone())),
        Some(_) => Err(Error::unreadable(key, "it is not a session").into()),
    }
}

/// The same for whoever would make the session where there is none: one whose own record was lost still has its
/// checkpoints, and nothing may be written over them.
///
/// # Errors
/// As [`find`]; `RecordUnreadable` for such a session.
pub fn find_or_none<T: Text>(view: &View<T>, scope: &ScopeId, id: &SessionId) -> Planned<Option<Session>> {
    let found = find(view, scope, id)?;
    if found.is_none() && !view.keys(Range::checkpoints(scope, id))?.is_empty() {
        let why = "it is missing, and its checkpoints are there: nothing is written over them; use another session id";
        return Err(Error::unreadable(Key::session(scope, id), why).into());
    }
    Ok(found)
}

/// What was read, or nothing where it cannot be: for whoever can do without.
///
/// # Errors
/// Any but `RecordUnreadable`.
pub fn if_readable<A>(read: Planned<Option<A>>) -> Planned<Option<A>> {
    match read {
        Err(Pause::Fail(error)) if error.code == Code::RecordUnreadable => Ok(None),
        read => read,
    }
}

/// Reads a session row that must exist.
///
/// # Errors
/// As [`find`], and `UnknownSession`.
pub fn session<T: Text>(view: &View<T>, scope: &ScopeId, id: &SessionId) -> Planned<Session> {
    Ok(find(view, scope, id)?.ok_or_else(|| Error::unknown_session(id))?)
}

fn header<T: Text>(row: Option<Rc<Row<T>>>, name: impl std::fmt::Display) -> Planned<Option<Checkpoint<T>>> {
    match row.as_deref() {
        None => Ok(None),
        Some(Row::Checkpoint(checkpoint)) => Ok(Some(checkpoint.clone())),
        Some(_) => Err(Error::unreadable(name, "it is not a checkpoint").into()),
    }
}

/// Reads a checkpoint by its place; `None` when it was pruned or deleted.
///
/// # Errors
/// `Need` until it is read; `RecordUnreadable`.
pub fn at<T: Text>(view: &View<T>, session: &Session, seq: u32) -> Planned<Option<Checkpoint<T>>> {
    let key = Key::checkpoint(&session.scope, &session.id, seq);
    header(view.row(key.clone())?, key)
}

/// Reads a checkpoint by its id; `None` when there is none.
///
/// # Errors
/// `Need` until it is read; `RecordUnreadable`.
pub fn find_checkpoint<T: Text>(
    view: &View<T>,
    scope: &ScopeId,
    session: &SessionId,
    id: &CheckpointId,
) -> Planned<Option<Checkpoint<T>>> {
    let row = view.by_id(ById { scope: scope.clone(), session: session.clone(), id: id.clone() })?;
    header(row, id)
}

/// Reads a checkpoint that must exist.
///
/// # Errors
/// As [`find_checkpoint`], and `UnknownCheckpoint`.
pub fn checkpoint<T: Text>(
    view: &View<T>,
    scope: &ScopeId,
    session: &SessionId,
    id: &CheckpointId,
) -> Planned<Checkpoint<T>> {
    Ok(find_checkpoint(view, scope, session, id)?.ok_or_else(|| Error::unknown_checkpoint(session, id))?)
}

/// The newest checkpoint of a session before a place. One that cannot be read is not passed over: an older state must not
/// stand for it.
///
/// # Errors
/// `Need` until it is read; `RecordUnreadable`.
pub fn newest<T: Text>(view: &View<T>, session: &Session, before: u32) -> Planned<Option<Checkpoint<T>>> {
    let mut newest = None;
    walk(view, session, before, 1, |read| {
        newest = header(Some(read.row()?.clone()), "of a session's checkpoints")?;
        Ok(true)
    })?;
    Ok(newest)
}

/// The newest `count` checkpoints before a place, newest first, for whoever looks at many: one that cannot be read is
/// left out, and `verify` names it. Reads a little more than asked where some were pruned.
///
/// # Errors
/// `Need` until they are read.
pub fn window<T: Text>(view: &View<T>, session: &Session, before: u32, count: u32) -> Planned<Vec<Checkpoint<T>>> {
    let mut found = Vec::new();
    walk(view, session, before, count.max(1), |read| {
        if let Ok(Row::Checkpoint(checkpoint)) = read.row().map(|row| &**row) {
            found.push(checkpoint.clone());
        }
        Ok(found.len() >= count as usize)
    })?;
    Ok(found)
}

/// Walks back over the checkpoints before a place, in steps that grow where few are left, until there is enough.
fn walk<T: Text>(
    view: &View<T>,
    session: &Session,
    before: u32,
    step: u32,
    mut enough: impl FnMut(&Read<T>) -> Planned<bool>,
) -> Planned<()> {
    let (mut high, mut step) = (before.min(session.next), step);
    while high > session.oldest {
        let low = high.saturating_sub(step).max(session.oldest);
        let rows = view.rows(Range::checkpoints_between(&session.scope, &session.id, low, high), None)?;
        for read in rows.iter().rev() {
            if enough(read)? {
                return Ok(());
            }
        }
        (high, step) = (low, step.saturating_mul(4));
    }
    Ok(())
}

/// Refuses a restore by someone who has not seen the newest head.
///
/// # Errors
/// `Conflict`.
pub fn check_seen(session: &Session, expect: Option<u64>) -> Result<(), Error> {
    if expect.is_some_and(|epoch| epoch != session.epoch) {
        return Err(Error::new(
            Code::Conflict,
            format!(
                "session {:?} was changed by another writer since it was last read here; read it again, then repeat",
                session.id
            ),
        ));
    }
    Ok(())
}

/// What a new checkpoint says, beside what the session itself knows.
#[derive(Clone, Debug)]
pub struct Header<T> {
    /// Its id.
    pub id: CheckpointId,
    /// The checkpoint it continues from.
    pub parent: Option<CheckpointId>,
    /// Its role.
    pub kind: Kind,
    /// Its trigger.
    pub source: Source,
    /// What wrote it.
    pub writes: Vec<String>,
    /// Where a fork comes from.
    pub forked_from: Option<Origin>,
    /// Further metadata.
    pub extra: Vec<(String, T)>,
    /// A name for people.
    pub name: Option<String>,
    /// Tokens used.
    pub usage: Option<Usage>,
    /// The turn it belongs to.
    pub turn: Option<Turn>,
    /// The host's reference of its own files.
    pub commit: Option<String>,
    /// The prompt of the turn that begins with it.
    pub prompt: Option<Hash>,
    /// The history by which it can be found.
    pub lookup: Option<Hash>,
    /// The message in it that opens its turn.
    pub opens: Option<T>,
    /// Whether its writer has not finished it.
    pub provisional: bool,
    /// Whether it is immutable for ever.
    pub sealed: bool,
    /// How it can be taken back.
    pub operation: Operation,
}

impl<T> Header<T> {
    /// A header of an operation of this library itself, triggered by hand.
    #[must_use]
    pub fn own(id: CheckpointId, kind: Kind, action: Action) -> Self {
        Header {
            id,
            parent: None,
            kind,
            source: Source::Manual,
            writes: vec![action.word().to_owned()],
            forked_from: None,
            extra: Vec::new(),
            name: None,
            usage: None,
            turn: None,
            commit: None,
            prompt: None,
            lookup: None,
            opens: None,
            provisional: false,
            sealed: false,
            operation: Operation { action, before: None, undo: None, redo: None },
        }
    }
}

/// Makes `state` the live state with a new checkpoint. The caller writes the session row when it is done with it.
pub fn advance<T: Text>(
    session: &mut Session,
    state: State,
    header: Header<T>,
    stamp: &Stamp,
    writes: &mut Vec<Op<T>>,
) -> Checkpoint<T> {
    session.epoch += 1;
    session.updated = stamp.now;
    session.state = state;
    let checkpoint = Checkpoint {
        scope: session.scope.clone(),
        session: session.id.clone(),
        seq: session.next,
        id: header.id,
        parent: header.parent,
        kind: header.kind,
        source: header.source,
        writes: header.writes,
        forked_from: header.forked_from,
        extra: header.extra,
        name: header.name,
        at: stamp.now,
        epoch: session.epoch,
        vector: session.vector.clone(),
        state: session.state.clone(),
        operation: header.operation,
        usage: header.usage,
        turn: header.turn,
        commit: header.commit,
        prompt: header.prompt,
        lookup: header.lookup,
        opens: header.opens,
        pinned: false,
        provisional: header.provisional,
        sealed: header.sealed,
        forks: 0,
        pending: 0,
    };
    session.head = Some(Head {
        seq: session.next,
        id: checkpoint.id.clone(),
        provisional: checkpoint.provisional,
        writer: checkpoint.provisional.then(|| stamp.writer.clone()),
    });
    session.next += 1;
    session.checkpoints += 1;
    put(&checkpoint, writes);
    checkpoint
}

/// Writes a header.
pub fn put<T: Text>(checkpoint: &Checkpoint<T>, writes: &mut Vec<Op<T>>) {
    let key = Key::checkpoint(&checkpoint.scope, &checkpoint.session, checkpoint.seq);
    writes.push(Op::Put(key, Row::Checkpoint(checkpoint.clone())));
}

/// Writes a session row.
pub fn put_session<T: Text>(session: &Session, writes: &mut Vec<Op<T>>) {
    writes.push(Op::Put(Key::session(&session.scope, &session.id), Row::Session(session.clone())));
}
