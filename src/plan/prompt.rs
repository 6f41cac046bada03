//! From a message back to the prompt it came from.

use crate::codec::key::{Common, Where};
use crate::codec::row::Row;
use crate::error::{Code, Error};
use crate::ids::{ScopeId, SessionId};
use crate::model::body::Text;
use crate::model::checkpoint::Checkpoint;
use crate::model::hash::Hash;
use crate::model::session::State;
use crate::plan::head;
use crate::plan::log::{self, Entry};
use crate::store::{Planned, View};

/// Shows the checkpoints of a session that have something in common, newest first, until one is enough; then, where it is a
/// fork, those of its source, up to where it was forked. One that cannot be read is not passed over: an older one must not
/// stand for it.
///
/// # Errors
/// `Need` until they are read; `RecordUnreadable`.
pub fn having<T: Text>(
    view: &View<T>,
    scope: &ScopeId,
    owner: &SessionId,
    what: &Common,
    mut enough: impl FnMut(&Checkpoint<T>) -> Planned<bool>,
) -> Planned<()> {
    /// Forks of forks that are followed.
    const GENERATIONS: u32 = 16;
    let (mut id, mut end) = (owner.clone(), u32::MAX);
    for _ in 0..GENERATIONS {
        let those = Where { scope: scope.clone(), session: id.clone(), what: what.clone() };
        for read in view.having(those)?.iter().rev() {
            let Row::Checkpoint(found) = &**read.row()? else { continue };
            if found.seq < end && enough(found)? {
                return Ok(());
            }
        }
        let Some(from) = head::find(view, scope, &id)?.and_then(|session| session.forked_from) else { break };
        let Some(base) = head::find_checkpoint::<T>(view, scope, &from.session_id, &from.checkpoint_id)? else { break };
        (id, end) = (from.session_id, base.seq + 1);
    }
    Ok(())
}

/// The newest of them that passes.
fn newest_having<T: Text>(
    view: &View<T>,
    scope: &ScopeId,
    owner: &SessionId,
    what: &Common,
    passes: impl Fn(&Checkpoint<T>) -> bool,
) -> Planned<Option<Checkpoint<T>>> {
    let mut newest = None;
    having(view, scope, owner, what, |cp: &Checkpoint<T>| {
        newest = passes(cp).then(|| cp.clone());
        Ok(newest.is_some())
    })?;
    Ok(newest)
}

/// A message of a live list, and the prompt it came from.
#[derive(Clone, Debug)]
pub struct Place<T> {
    /// The state with only the messages before it.
    pub before: State,
    /// The message.
    pub entry: Entry<T>,
    /// The newest prompt that follows exactly those messages.
    pub prompt: Option<Checkpoint<T>>,
    /// The prompt that the message itself came from, where that is known: one that was asked in other words before, and came
    /// back by an undo, keeps its own.
    pub own: Option<Checkpoint<T>>,
}

fn has_id<T: Text>(entry: &Entry<T>, id: &str) -> bool {
    entry.id.as_ref().is_some_and(|own| *own.utf8() == *id)
}

/// Finds a message of a state and the prompt before it. A message that opened a turn is found by look-ups, at any length of
/// the chat; of any other the messages before it are read. Never by inclusion: only an equal history counts.
///
/// # Errors
/// `Need`; `InvalidArgument` when the state holds no such message.
pub fn place<T: Text>(
    view: &View<T>,
    scope: &ScopeId,
    owner: &SessionId,
    state: &State,
    id: &str,
) -> Planned<Place<T>> {
    let prompt = |history: Hash| {
        newest_having(view, scope, owner, &Common::Lookup(history), |cp: &Checkpoint<T>| cp.lookup == Some(history))
    };
    if let Some(found) = opened(view, scope, owner, state, id)? {
        let prompt = prompt(found.before.history)?;
        return Ok(Place { prompt, ..found });
    }
    let (mut size, mut history) = (0, Hash::default());
    let mut found = None;
    for (entry, at) in log::entries(view, &state.spans)?.into_iter().zip(0..) {
        if has_id(&entry, id) {
            found = Some((at, size, history, entry.clone()));
        }
        size += u64::from(entry.size);
        history = log::chain(history, entry.role.as_ref(), entry.id.as_ref());
    }
    let Some((at, size, history, entry)) = found else {
        return Err(Error::new(Code::InvalidArgument, format!("session {owner:?} holds no message {id:?} now")).into());
    };
    let before = State { spans: state.spans.slice(0, at), size, history, ..state.clone() };
    Ok(Place { before, entry, prompt: prompt(history)?, own: None })
}

/// The place of a message that opened a turn, if what was live when the turn began is still what comes before it.
fn opened<T: Text>(
    view: &View<T>,
    scope: &ScopeId,
    owner: &SessionId,
    state: &State,
    id: &str,
) -> Planned<Option<Place<T>>> {
    let mut found = None;
    having(view, scope, owner, &Common::Opens(id.to_owned()), |opener: &Checkpoint<T>| {
        let Some(turn) = opener.turn.as_ref().filter(|_| opener.opens.as_ref().is_some_and(|own| *own.utf8() == *id))
        else {
            return Ok(false);
        };
        let begins =
            |cp: &Checkpoint<T>| cp.lookup.is_some() && cp.turn.as_ref().is_some_and(|of| of.version == turn.version);
        let Some(begun) = newest_having(view, scope, owner, &Common::Turn(turn.id.clone()), begins)? else {
            return Ok(false);
        };
        // An id may have been used again: the message that is live now is the one in this very place.
        let at = begun.state.spans.count();
        let live = state.spans.slice(at, at + 1);
        let is_it = live.count() > 0
            && opener.state.spans.slice(at, at + 1) == live
            && state.spans.common_prefix(&begun.state.spans) == at;
        if !is_it {
            return Ok(false);
        }
        let Some(entry) = log::entries(view, &live)?.pop().filter(|entry| has_id(entry, id)) else { return Ok(false) };
        let State { size, history, .. } = begun.state;
        let before = State { spans: state.spans.slice(0, at), size, history, ..state.clone() };
        found = Some(Place { before, entry, prompt: None, own: Some(begun) });
        Ok(true)
    })?;
    Ok(found)
}

/// Refuses a message that is not the user's.
///
/// # Errors
/// `InvalidArgument`.
pub fn check_users<T: Text>(entry: &Entry<T>, id: &str) -> Result<(), Error> {
    if entry.role.as_ref().is_some_and(|role| role.utf8() == "user") {
        return Ok(());
    }
    Err(Error::new(Code::InvalidArgument, format!("message {id:?} is not a user's; name the message that was asked")))
}
