//! The versions of a turn: answers that were given one after the other, each as its newest checkpoint holds it.

use crate::codec::key::Common;
use crate::ids::{ScopeId, SessionId, TurnId};
use crate::model::body::Text;
use crate::model::checkpoint::{Checkpoint, Turn};
use crate::model::session::State;
use crate::plan::prompt::{Place, having, place};
use crate::plan::{head, log};
use crate::store::{Planned, View};

/// Every checkpoint of a turn, oldest first: those of the sources of a fork too, up to where it was forked.
fn of_turn<T: Text>(view: &View<T>, scope: &ScopeId, owner: &SessionId, turn: &Turn) -> Planned<Vec<Checkpoint<T>>> {
    let mut found: Vec<Checkpoint<T>> = Vec::new();
    having(view, scope, owner, &Common::Turn(turn.id.clone()), |cp: &Checkpoint<T>| {
        if cp.turn.as_ref().is_some_and(|of| of.id == turn.id) {
            found.push(cp.clone());
        }
        Ok(false)
    })?;
    found.reverse();
    Ok(found)
}

/// Those of them that the session itself has: what it can go back to.
fn own<T: Text>(view: &View<T>, scope: &ScopeId, owner: &SessionId, turn: &Turn) -> Planned<Vec<Checkpoint<T>>> {
    let all = of_turn(view, scope, owner, turn)?;
    Ok(all.into_iter().filter(|cp: &Checkpoint<T>| cp.session == *owner).collect())
}

/// Whether two states hold the same message at a position: it has the same place, or, after a compaction, the same content.
fn agree<T: Text>(view: &View<T>, a: &State, b: &State, at: u32) -> Planned<bool> {
    let (a, b) = (a.spans.slice(at, at + 1), b.spans.slice(at, at + 1));
    if a.count() == 0 || b.count() == 0 {
        return Ok(false);
    }
    let hash = |spans| Ok::<_, crate::store::Pause>(log::entries(view, spans)?.pop().map(|entry| entry.hash));
    Ok(a == b || hash(&a)? == hash(&b)?)
}

/// The turn that a message of a state belongs to: the one it opened, or one of whose checkpoints holds it. A turn that only
/// followed the same history is another.
///
/// # Errors
/// `Need` until the turn's checkpoints are read.
pub fn turn_of<T: Text>(
    view: &View<T>,
    scope: &ScopeId,
    owner: &SessionId,
    state: &State,
    found: &Place<T>,
) -> Planned<Option<Turn>> {
    if let Some(own) = &found.own {
        return Ok(own.turn.clone());
    }
    let Some(turn) = found.prompt.as_ref().and_then(|prompt| prompt.turn.clone()) else { return Ok(None) };
    for cp in of_turn::<T>(view, scope, owner, &turn)?.iter().rev() {
        if agree(view, state, &cp.state, found.before.spans.count())? {
            return Ok(Some(turn));
        }
    }
    Ok(None)
}

/// One version of a turn.
#[derive(Clone, Debug)]
pub struct Version<T> {
    /// The newest checkpoint that holds it.
    pub checkpoint: Checkpoint<T>,
    /// Whether it is the one in the live list.
    pub live: bool,
}

/// The versions among a turn's checkpoints, oldest first, given where the answer begins. One of which nothing was answered is
/// none.
fn group<T: Text>(view: &View<T>, checkpoints: Vec<Checkpoint<T>>, live: &State, at: u32) -> Planned<Vec<Version<T>>> {
    let mut newest: Vec<Checkpoint<T>> = Vec::new();
    for cp in checkpoints.into_iter().filter(|cp| cp.state.spans.count() > at) {
        let version = |cp: &Checkpoint<T>| cp.turn.as_ref().map(|turn| turn.version.clone());
        match newest.iter_mut().find(|known| version(known) == version(&cp)) {
            Some(known) => *known = cp,
            None => newest.push(cp),
        }
    }
    let answer = |state: &State| state.spans.slice(at, at + 1);
    let mut shown = newest.iter().rposition(|cp| answer(&cp.state) == answer(live));
    if shown.is_none() && answer(live).count() > 0 {
        for (index, cp) in newest.iter().enumerate() {
            if agree(view, live, &cp.state, at)? {
                shown = Some(index);
            }
        }
    }
    let version = |(index, checkpoint)| Version { checkpoint, live: shown == Some(index) };
    Ok(newest.into_iter().enumerate().map(version).collect())
}

/// Which version of the turn of a checkpoint a state holds; `None` when it holds none of them.
///
/// # Errors
/// `Need` until the turn's checkpoints are read.
pub fn shown<T: Text>(
    view: &View<T>,
    scope: &ScopeId,
    owner: &SessionId,
    state: &State,
    of: &Checkpoint<T>,
) -> Planned<Option<TurnId>> {
    let Some(turn) = &of.turn else { return Ok(None) };
    let checkpoints = of_turn::<T>(view, scope, owner, turn)?;
    let begun = checkpoints.iter().find(|cp| cp.lookup.is_some()).map(|cp| cp.state.spans.count() + 1);
    // Without the prompt, the answers begin where the two states part.
    let at = begun.unwrap_or_else(|| state.spans.common_prefix(&of.state.spans));
    let versions = group(view, own::<T>(view, scope, owner, turn)?, state, at)?;
    Ok(versions.into_iter().find(|version| version.live).and_then(|live| live.checkpoint.turn).map(|turn| turn.version))
}

/// Which version of a turn a state holds, given where its answer begins.
///
/// # Errors
/// `Need` until the turn's checkpoints are read.
pub fn live<T: Text>(
    view: &View<T>,
    scope: &ScopeId,
    owner: &SessionId,
    state: &State,
    turn: &Turn,
    at: u32,
) -> Planned<Option<TurnId>> {
    let versions = group(view, own::<T>(view, scope, owner, turn)?, state, at)?;
    Ok(versions.into_iter().find(|version| version.live).and_then(|live| live.checkpoint.turn).map(|turn| turn.version))
}

/// The versions of the turn that a user's message opened, oldest first: of a fork, those it was made with and those made in it.
///
/// # Errors
/// `Need`; `UnknownSession`, `InvalidArgument` when the live list holds no such message.
pub fn list<T: Text>(view: &View<T>, scope: &ScopeId, session: &SessionId, id: &str) -> Planned<Vec<Version<T>>> {
    let session = head::session(view, scope, session)?;
    let found: Place<T> = place(view, scope, &session.id, &session.state, id)?;
    let Some(turn) = turn_of(view, scope, &session.id, &session.state, &found)? else { return Ok(Vec::new()) };
    let at = found.before.spans.count() + 1;
    group(view, own(view, scope, &session.id, &turn)?, &session.state, at)
}
