//! Retention: which old checkpoints go, automatically after a write or by request.

use std::rc::Rc;

use crate::codec::key::{Key, Range};
use crate::codec::row::Row;
use crate::error::Result;
use crate::ids::{CheckpointId, ScopeId, SessionId};
use crate::model::body::Text;
use crate::model::checkpoint::Checkpoint;
use crate::model::retention::{Retention, protection};
use crate::model::session::Session;
use crate::plan::head;
use crate::store::{Op, Plan, Planned, Read, View};

/// What pruning removes, and what it keeps although it is old.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Pruned {
    /// Removed, oldest first.
    pub deleted: Vec<CheckpointId>,
    /// Kept, with the reason.
    pub kept: Vec<(CheckpointId, &'static str)>,
}

/// Prunes what exceeds the retention after a write. New checkpoints of this command are not read, and need not be:
/// the newest are never pruned.
///
/// # Errors
/// `Need` until the oldest checkpoints are read.
pub fn automatic<T: Text>(
    view: &View<T>,
    session: &mut Session,
    retention: Retention,
    writes: &mut Vec<Op<T>>,
) -> Planned<Pruned> {
    if retention.excess(session.checkpoints) == 0 {
        return Ok(Pruned::default());
    }
    session.checkpoints = count(view, session, writes)?;
    let excess = retention.excess(session.checkpoints) as usize;
    if excess == 0 {
        return Ok(Pruned::default());
    }
    // Those before `start` are all protected; whatever changes that moves it back.
    let start = session.settled.max(session.oldest);
    let mut limit = u32::try_from(excess).unwrap_or(u32::MAX).saturating_add(8);
    loop {
        let range = Range::checkpoints_between(&session.scope, &session.id, start, session.next);
        let rows = view.rows(range, Some(limit))?;
        let mut found = Candidates::of(rows.iter().map(Read::row));
        // A checkpoint this very command replaces is not there to be pruned again.
        let taken = |seq| Op::Delete(Key::checkpoint(&session.scope, &session.id, seq));
        found.list.retain(|candidate| !writes.contains(&taken(candidate.seq)));
        let removable = found.list.iter().filter(|candidate| protection(session, candidate).is_none()).count();
        if removable >= excess || rows.len() < limit as usize {
            let pruned = remove(session, &found, start, excess, writes);
            if found.whole {
                let free = found
                    .list
                    .iter()
                    .filter(|candidate| protection(session, candidate).is_none())
                    .nth(pruned.deleted.len());
                let end = || found.list.last().map_or(start, |last| last.seq + 1);
                session.settled = free.map_or_else(end, |free| free.seq);
            }
            return Ok(pruned);
        }
        limit = limit.saturating_mul(4);
    }
}

/// How many checkpoints there are once the writes are done. The session's own count may be too high: on a full disk
/// checkpoints can be deleted, but no row can be written to say so.
fn count<T: Text>(view: &View<T>, session: &Session, writes: &[Op<T>]) -> Planned<u32> {
    let range = Range::checkpoints(&session.scope, &session.id);
    let keys = view.keys(range.clone())?;
    let made =
        writes.iter().filter(|op| matches!(op, Op::Put(key, _) if range.contains(key) && !keys.contains(key))).count();
    let gone = writes.iter().filter(|op| matches!(op, Op::Delete(key) if keys.contains(key))).count();
    Ok(u32::try_from((keys.len() + made).saturating_sub(gone)).unwrap_or(u32::MAX))
}

/// Old checkpoints, oldest first.
struct Candidates<T> {
    list: Vec<Checkpoint<T>>,
    /// Whether every row could be read. One that cannot is left alone: it is not ours to judge.
    whole: bool,
}

impl<T: Text> Candidates<T> {
    fn of<'a>(rows: impl Iterator<Item = Result<&'a Rc<Row<T>>>>) -> Self {
        let mut found = Candidates { list: Vec::new(), whole: true };
        for row in rows {
            match row.map(|row| &**row) {
                Ok(Row::Checkpoint(checkpoint)) => found.list.push(checkpoint.clone()),
                _ => found.whole = false,
            }
        }
        found
    }
}

/// Removes the oldest `count` removable ones of those found, which are all that exist from `start` on, up to the newest of
/// them.
fn remove<T: Text>(
    session: &mut Session,
    found: &Candidates<T>,
    start: u32,
    count: usize,
    writes: &mut Vec<Op<T>>,
) -> Pruned {
    let mut pruned = Pruned::default();
    let mut oldest = None;
    let mut end = start;
    for candidate in &found.list {
        match protection(session, candidate) {
            None if pruned.deleted.len() < count => {
                writes.push(Op::Delete(Key::checkpoint(&session.scope, &session.id, candidate.seq)));
                forget(session, candidate);
                pruned.deleted.push(candidate.id.clone());
                end = candidate.seq + 1;
            }
            reason => {
                oldest = oldest.or(Some(candidate.seq));
                if let Some(reason) = reason.filter(|_| pruned.deleted.len() < count) {
                    pruned.kept.push((candidate.id.clone(), reason));
                }
            }
        }
    }
    if found.whole && start <= session.oldest {
        session.oldest = oldest.unwrap_or(end);
    }
    pruned
}

/// Takes a removed checkpoint out of a session's books.
pub fn forget<T>(session: &mut Session, removed: &Checkpoint<T>) {
    session.checkpoints = session.checkpoints.saturating_sub(1);
    let reaches_more = removed.state.roots != session.state.roots || !session.state.spans.covers(&removed.state.spans);
    session.debt = session.debt.saturating_add(u32::from(reaches_more));
}

/// Removes every checkpoint of a session that is of a kind and not protected. `rows` are all it has.
pub fn those<'a, T: Text>(
    session: &mut Session,
    rows: impl Iterator<Item = &'a Read<T>>,
    of_kind: impl Fn(&Checkpoint<T>) -> bool,
    writes: &mut Vec<Op<T>>,
) -> Pruned {
    let mut found = Candidates::of(rows.map(Read::row));
    found.list.retain(of_kind);
    // Those of other kinds are not looked at, so it is not known where the oldest begins.
    found.whole = false;
    let (start, count) = (session.oldest, found.list.len());
    remove(session, &found, start, count, writes)
}

/// A request to keep only the newest checkpoints of a session (P-03).
#[derive(Clone, Debug)]
pub struct Prune {
    /// The scope.
    pub scope: ScopeId,
    /// The session.
    pub session: SessionId,
    /// How many to keep; the newest always stays.
    pub keep_last: u32,
}

/// Plans a prune by request. A session that does not exist has nothing to prune.
///
/// # Errors
/// `Need`.
pub fn plan<T: Text>(view: &View<T>, command: &Prune) -> Planned<Plan<T, Pruned>> {
    let Some(mut session) = head::find(view, &command.scope, &command.session)? else {
        return Ok(Plan::read(Pruned::default()));
    };
    let mut writes = Vec::new();
    let rows = view.rows(Range::checkpoints(&session.scope, &session.id), None)?;
    let mut found = Candidates::of(rows.iter().map(Read::row));
    found.list.truncate(found.list.len().saturating_sub(command.keep_last as usize));
    let (start, count) = (session.oldest, found.list.len());
    let pruned = remove(&mut session, &found, start, count, &mut writes);
    if !writes.is_empty() {
        head::put_session(&session, &mut writes);
    }
    Ok(Plan { writes, answer: pruned })
}
