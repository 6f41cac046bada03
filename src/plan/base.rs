//! What a write is made on: whether its writer is first, and what it was working on where it is not.

use crate::error::{Code, Error};
use crate::ids::{CheckpointId, SessionId};
use crate::model::body::Text;
use crate::model::checkpoint::{Checkpoint, Origin};
use crate::model::session::{Session, State};
use crate::plan::change::Change;
use crate::plan::head;
use crate::plan::turn::{Step, active};
use crate::plan::write::Write;
use crate::store::{Planned, View};

/// What the new state is made on.
pub struct Base {
    /// The session that gets the checkpoint.
    pub session: Session,
    /// The state that an append continues and a put is compared with.
    pub state: State,
    /// Parent of the new checkpoint.
    pub parent: Option<CheckpointId>,
    /// The session whose writer was first, when this is a branch.
    pub conflict_of: Option<SessionId>,
}

/// Whether the writer has seen the newest head, and if not, what it was working on.
enum Standing<T> {
    First,
    /// The writer is behind; the checkpoint it continued from, where that still exists.
    Behind(Option<Checkpoint<T>>),
}

fn standing<T: Text>(view: &View<T>, command: &Write<T>, session: &Session) -> Planned<Standing<T>> {
    let Some(Step::Begin(begin)) = &command.step else { return order(view, command, session) };
    let Some(run) = session.run.as_ref().filter(|run| run.id != begin.run) else {
        return order(view, command, session);
    };
    if !begin.aside {
        return Err(active(session, run).into());
    }
    // Who is up to date and has another writer beside him branches off what is live.
    match (order(view, command, session)?, &session.head) {
        (Standing::First, Some(head)) => Ok(Standing::Behind(head::at(view, session, head.seq)?)),
        (Standing::First, None) => Ok(Standing::Behind(None)),
        (behind, _) => Ok(behind),
    }
}

fn order<T: Text>(view: &View<T>, command: &Write<T>, session: &Session) -> Planned<Standing<T>> {
    // Who saw that there was no session is first in one of which there is only a title, and works on nothing otherwise.
    if command.expect == Some(0) && command.metadata.parent.is_none() {
        return Ok(if session.is_blank() { Standing::First } else { Standing::Behind(None) });
    }
    let head = session.head.as_ref().map(|head| &head.id);
    if let Some(parent) = &command.metadata.parent {
        if Some(parent) == head {
            return Ok(Standing::First);
        }
        let found = head::find_checkpoint(view, &session.scope, &session.id, parent);
        // Whoever has seen the session is only behind where that one cannot be read.
        let found = if command.expect.is_some() { head::if_readable(found)? } else { found? };
        return match (found, command.expect) {
            (Some(found), _) => Ok(Standing::Behind(Some(found))),
            // A parent that has been replaced or pruned meanwhile: whoever has seen the session is only behind.
            (None, Some(epoch)) if epoch != session.epoch => Ok(Standing::Behind(seen_at(view, session, epoch)?)),
            (None, _) => Err(Error::new(
                Code::UnknownParent,
                format!("session {:?} has no checkpoint {parent:?} to continue from; nothing was written", session.id),
            )
            .into()),
        };
    }
    match command.expect {
        Some(epoch) if epoch == session.epoch => Ok(Standing::First),
        Some(epoch) => Ok(Standing::Behind(seen_at(view, session, epoch)?)),
        // A writer that has seen nothing is first on an empty session; else its content decides, below.
        None => Ok(Standing::First),
    }
}

/// The checkpoint that was the newest when the session had an epoch. Where that one is gone, the nearest newer one: it
/// holds, as a rule, what the writer saw and more, so that nothing its work stands on is missing.
fn seen_at<T: Text>(view: &View<T>, session: &Session, epoch: u64) -> Planned<Option<Checkpoint<T>>> {
    let mut newer: Option<Checkpoint<T>> = None;
    let mut before = session.next;
    loop {
        let page = head::window(view, session, before, 64)?;
        if page.is_empty() {
            return Ok(newer);
        }
        for checkpoint in page {
            before = checkpoint.seq;
            if checkpoint.epoch <= epoch {
                // Whatever was written between the two is gone, and one of them may be what the writer saw.
                let gap = newer.as_ref().is_some_and(|newer| newer.seq > checkpoint.seq + 1);
                let exact = checkpoint.epoch == epoch || !gap;
                return Ok(if exact { Some(checkpoint) } else { newer });
            }
            newer = Some(checkpoint);
        }
    }
}

/// The refusal of a writer that has read nothing.
#[must_use]
pub fn not_loaded(session: &Session) -> Error {
    Error::new(
        Code::NotLoaded,
        format!(
            "session {:?} already holds a state ({} messages) that this writer has not read; read it first (get, state or messages), \
             or name the checkpoint you continue from as parentCheckpointId. Nothing was written",
            session.id,
            session.state.spans.count()
        ),
    )
}

/// Finds what a write is made on: the live state, or, for a writer that was not first, a branch of its own.
///
/// # Errors
/// `Need`; `NotLoaded`, `UnknownParent`, `RecordUnreadable`.
pub fn base<T: Text>(view: &View<T>, command: &Write<T>) -> Planned<Base> {
    let Write { scope, session: id, stamp, metadata, .. } = command;
    let fresh = |id: &SessionId| Session::new(scope.clone(), id.clone(), stamp.log(0), stamp.now);
    let branch = |of: &SessionId, state: State, from: Option<CheckpointId>| {
        let mut session = fresh(&stamp.session(0));
        session.conflict_of = Some(of.clone());
        session.forked_from = from.clone().map(|checkpoint_id| Origin { session_id: of.clone(), checkpoint_id });
        Base { session, state, parent: from, conflict_of: Some(of.clone()) }
    };
    // Whoever has seen the session keeps the work, whatever has become of its row.
    let found = head::find(view, scope, id);
    let found = if command.expect.is_some_and(|epoch| epoch > 0) { head::if_readable(found)? } else { found? };
    let Some(session) = found else {
        if let Some(parent) = &metadata.parent {
            let why = format!("session {id:?} does not exist, so it has no checkpoint {parent:?}; nothing was written");
            return Err(Error::new(Code::UnknownParent, why).into());
        }
        // The writer saw a session that has been deleted meanwhile: its work is kept, the deleted session stays deleted.
        if command.expect.is_some_and(|epoch| epoch > 0) {
            return Ok(branch(id, State::default(), None));
        }
        head::find_or_none(view, scope, id)?;
        return Ok(Base { session: fresh(id), state: State::default(), parent: None, conflict_of: None });
    };
    match standing(view, command, &session)? {
        Standing::First => {
            if command.expect.is_none()
                && metadata.parent.is_none()
                && !session.is_blank()
                && matches!(command.change, Change::Append { .. })
            {
                return Err(not_loaded(&session).into());
            }
            let parent = session.head.as_ref().map(|head| head.id.clone());
            Ok(Base { state: session.state.clone(), session, parent, conflict_of: None })
        }
        Standing::Behind(found) => {
            // A whole state shares messages with the newest head; an append continues what its writer saw.
            let state = match (&command.change, &found) {
                (Change::Whole { .. }, _) => session.state.clone(),
                (Change::Append { .. }, Some(found)) => found.state.clone(),
                (Change::Append { .. }, None) => State::default(),
            };
            Ok(branch(&session.id, state, found.map(|found| found.id)))
        }
    }
}

/// Whether a state can only come from somebody who knows the live one: it holds every message of that, or, where that has
/// none, the same channels.
#[must_use]
pub fn goes_on(old: &State, new: &State) -> bool {
    let count = old.spans.count();
    if count > 0 {
        old.spans.common_prefix(&new.spans) == count
    } else {
        old.roots.is_empty() || old.roots == new.roots
    }
}
