//! Deletion by request: a checkpoint, or a session with everything only it reaches.

use crate::codec::key::{Key, Range, Store};
use crate::error::{Code, Error};
use crate::ids::{CheckpointId, ScopeId, SessionId, Stamp};
use crate::model::body::Text;
use crate::model::checkpoint::Checkpoint;
use crate::model::retention::guard;
use crate::model::session::{Head, Session, State};
use crate::plan::head;
use crate::plan::prune;
use crate::plan::turn::check_idle;
use crate::store::{Op, Plan, Planned, View};

/// Plans the deletion of one checkpoint. Where it is the newest one, the one before it becomes the newest and its state
/// the live one; without one before it, the session is empty.
///
/// Answers the new epoch where the head moved.
///
/// # Errors
/// `Need`; `UnknownSession`, `UnknownCheckpoint`, `Protected`, and `ActiveRun` where the newest one is being written on.
pub fn checkpoint<T: Text>(
    view: &View<T>,
    scope: &ScopeId,
    session: &SessionId,
    id: &CheckpointId,
) -> Planned<Plan<T, Option<u64>>> {
    let mut session = head::session(view, scope, session)?;
    let doomed: Checkpoint<T> = head::checkpoint(view, scope, &session.id, id)?;
    if let Some(reason) = guard(&doomed) {
        return Err(Error::new(Code::Protected, format!("checkpoint {id:?} cannot be deleted: {reason}")).into());
    }
    let mut writes = vec![
        Op::Delete(Key::checkpoint(scope, &session.id, doomed.seq)),
        Op::DeleteRange(Range::writes(scope, &session.id, doomed.seq)),
    ];
    prune::forget(&mut session, &doomed);
    if session.undo == Some(doomed.seq) {
        session.undo = doomed.operation.undo;
    }
    if session.redo == Some(doomed.seq) {
        session.redo = doomed.operation.redo;
    }
    let moved = session.head.as_ref().is_some_and(|head| head.seq == doomed.seq);
    if moved {
        check_idle(&session, None)?;
        let before: Option<Checkpoint<T>> = head::newest(view, &session, doomed.seq)?;
        session.epoch += 1;
        session.debt = session.debt.saturating_add(1);
        // What could be undone and redone then can be now.
        (session.undo, session.redo) = before.as_ref().map_or((None, None), Checkpoint::links);
        session.head = before.as_ref().map(|before| Head {
            seq: before.seq,
            id: before.id.clone(),
            provisional: before.provisional,
            writer: None,
        });
        session.state = before.map_or_else(State::default, |before| before.state);
    }
    head::put_session(&session, &mut writes);
    Ok(Plan { writes, answer: moved.then_some(session.epoch) })
}

/// Plans the deletion of a session: its head, checkpoints and pending writes, and what was put aside of them. What only it reached is collected
/// afterwards; what forks share stays.
///
/// # Errors
/// `Need`; `UnknownSession`.
pub fn session<T: Text>(view: &View<T>, scope: &ScopeId, id: &SessionId) -> Planned<Plan<T, ()>> {
    let session: Session = head::session(view, scope, id)?;
    let mut writes = vec![
        Op::Delete(Key::session(scope, id)),
        Op::DeleteRange(Range::checkpoints(scope, id)),
        Op::DeleteRange(Range::session_writes(scope, id)),
        Op::DeleteRange(Range::streams(scope, id)),
        Op::DeleteRange(Range::aside(Store::Messages, &[session.log.as_str().into()])),
    ];
    for store in [Store::Sessions, Store::Checkpoints, Store::Writes, Store::Streams] {
        writes.push(Op::DeleteRange(Range::aside(store, &Key::session(scope, id).pieces)));
    }
    // The base it was forked from is free to go again.
    if let Some(from) = &session.forked_from
        && let Some(mut base) =
            head::if_readable(head::find_checkpoint::<T>(view, scope, &from.session_id, &from.checkpoint_id))?
    {
        base.forks = base.forks.saturating_sub(1);
        head::put(&base, &mut writes);
        unsettle(view, scope, &from.session_id, base.seq, &mut writes)?;
    }
    Ok(Plan { writes, answer: () })
}

/// Lets retention look at a checkpoint again that it had passed over.
fn unsettle<T: Text>(
    view: &View<T>,
    scope: &ScopeId,
    id: &SessionId,
    seq: u32,
    writes: &mut Vec<Op<T>>,
) -> Planned<()> {
    let found = head::if_readable(head::find(view, scope, id))?;
    if let Some(mut session) = found.filter(|session| session.settled > seq) {
        session.unsettle(seq);
        head::put_session(&session, writes);
    }
    Ok(())
}

/// Plans a change of a checkpoint's pin.
///
/// # Errors
/// `Need`; `UnknownSession`, `UnknownCheckpoint`.
pub fn pin<T: Text>(
    view: &View<T>,
    scope: &ScopeId,
    session: &SessionId,
    id: &CheckpointId,
    pinned: bool,
) -> Planned<Plan<T, Checkpoint<T>>> {
    let session = head::session(view, scope, session)?;
    let mut checkpoint: Checkpoint<T> = head::checkpoint(view, scope, &session.id, id)?;
    let mut writes = Vec::new();
    if checkpoint.pinned != pinned {
        checkpoint.pinned = pinned;
        head::put(&checkpoint, &mut writes);
        unsettle(view, scope, &session.id, checkpoint.seq, &mut writes)?;
    }
    Ok(Plan { writes, answer: checkpoint })
}

/// Longest session title, in characters.
pub const MAX_TITLE: usize = 500;

/// Refuses a title that is too long.
///
/// # Errors
/// `TooLarge`.
pub fn check_title(title: Option<&str>) -> Result<(), Error> {
    if title.is_some_and(|title| title.chars().count() > MAX_TITLE) {
        return Err(Error::new(Code::TooLarge, format!("a title may have at most {MAX_TITLE} characters")));
    }
    Ok(())
}

/// Plans a change of a session's title. A session that holds nothing yet is created by it.
///
/// # Errors
/// `Need`; `TooLarge`, `RecordUnreadable`.
pub fn title<T: Text>(
    view: &View<T>,
    scope: &ScopeId,
    id: &SessionId,
    title: Option<String>,
    stamp: &Stamp,
) -> Planned<Plan<T, ()>> {
    check_title(title.as_deref())?;
    let found = head::find_or_none(view, scope, id)?;
    let mut session = found.unwrap_or_else(|| Session::new(scope.clone(), id.clone(), stamp.log(0), stamp.now));
    session.title = title;
    session.updated = stamp.now;
    let mut writes = Vec::new();
    head::put_session(&session, &mut writes);
    Ok(Plan { writes, answer: () })
}
