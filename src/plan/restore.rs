//! Restores: rollback, undo and redo. Each first writes a restore point, so that each can itself be undone.

use crate::error::{Code, Error};
use crate::ids::{CheckpointId, ScopeId, SessionId, Stamp};
use crate::model::body::Text;
use crate::model::checkpoint::{Action, Checkpoint, Kind, Operation};
use crate::model::part::Part;
use crate::model::retention::Retention;
use crate::model::session::{Session, State};
use crate::plan::head::{self, Header};
use crate::plan::prune;
use crate::store::{Op, Plan, Planned, View};

/// Which restore.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// To a checkpoint of the session (P-13).
    Rollback {
        /// The checkpoint.
        id: CheckpointId,
        /// What comes back; the rest stays.
        parts: Vec<Part>,
    },
    /// To the state before the newest operation that is not undone.
    Undo,
    /// To the state before the newest undo.
    Redo,
}

/// A restore of a session.
#[derive(Clone, Debug)]
pub struct Restore {
    /// The scope.
    pub scope: ScopeId,
    /// The session.
    pub session: SessionId,
    /// Which restore.
    pub target: Target,
    /// Epoch the caller has last seen, if it has seen one.
    pub expect: Option<u64>,
    /// When and by whom.
    pub stamp: Stamp,
    /// What is pruned afterwards.
    pub retention: Retention,
}

/// What a restore did.
#[derive(Clone, Debug)]
pub struct Restored<T> {
    /// The new newest checkpoint.
    pub checkpoint: Checkpoint<T>,
    /// The state before.
    pub restore_point: Checkpoint<T>,
    /// The checkpoint whose state is live again; `None` when an undo led back to before the first one.
    pub target: Option<CheckpointId>,
    /// What came back.
    pub parts: Vec<Part>,
}

/// Where a restore leads.
pub struct Destination {
    /// The state that becomes live.
    pub state: State,
    /// The checkpoint it is taken from.
    pub target: Option<CheckpointId>,
    parts: Vec<Part>,
    action: Action,
    undo: Option<u32>,
    redo: Option<u32>,
}

/// Finds what a restore would make live. Also what a preview shows.
///
/// # Errors
/// `Need`; `UnknownCheckpoint`, `NothingToUndo`, `NothingToRedo`.
pub fn destination<T: Text>(view: &View<T>, session: &Session, target: &Target) -> Planned<Destination> {
    match target {
        Target::Rollback { id, parts } => {
            let found = head::checkpoint(view, &session.scope, &session.id, id)?;
            let mut state = session.state.clone();
            for part in parts {
                match part {
                    Part::Messages => {
                        state = State { roots: state.roots, ..found.state.clone() };
                    }
                    Part::State => state.roots.state = found.state.roots.state,
                }
            }
            let parts = parts.clone();
            Ok(Destination {
                state,
                target: Some(found.id),
                parts,
                action: Action::Rollback,
                undo: session.undo,
                redo: None,
            })
        }
        Target::Undo => {
            let gone =
                |why| Error::new(Code::NothingToUndo, format!("session {:?} has nothing to undo{why}", session.id));
            let seq = session.undo.ok_or_else(|| gone(""))?;
            let pruned = || gone(": the checkpoints it would need have been pruned or deleted");
            let undone: Checkpoint<T> = head::at(view, session, seq)?.ok_or_else(pruned)?;
            let (state, target) = match undone.operation.before {
                None => (State::default(), None),
                Some(before) => {
                    let before: Checkpoint<T> = head::at(view, session, before)?.ok_or_else(pruned)?;
                    (before.state, Some(before.id))
                }
            };
            let undo = undone.operation.undo;
            Ok(Destination { state, target, parts: Part::ALL.to_vec(), action: Action::Undo, undo, redo: session.redo })
        }
        Target::Redo => {
            let gone =
                |why| Error::new(Code::NothingToRedo, format!("session {:?} has nothing to redo{why}", session.id));
            let seq = session.redo.ok_or_else(|| gone(""))?;
            let pruned = || gone(": the checkpoints it would need have been pruned or deleted");
            let undo: Checkpoint<T> = head::at(view, session, seq)?.ok_or_else(pruned)?;
            let before = undo.operation.before.ok_or_else(pruned)?;
            let before: Checkpoint<T> = head::at(view, session, before)?.ok_or_else(pruned)?;
            // What may be undone after the redo is what may be undone now: the redone operation comes on top of it.
            Ok(Destination {
                state: before.state,
                target: Some(before.id),
                parts: Part::ALL.to_vec(),
                action: Action::Redo,
                undo: session.undo,
                redo: undo.operation.redo,
            })
        }
    }
}

/// Plans a restore: restore point, new checkpoint, head and retention, all in one transaction.
///
/// # Errors
/// As [`destination`], and `UnknownSession`, `Conflict`.
pub fn plan<T: Text>(view: &View<T>, command: &Restore) -> Planned<Plan<T, Restored<T>>> {
    let Restore { scope, session, target, expect, stamp, retention } = command;
    let mut session = head::session(view, scope, session)?;
    head::check_seen(&session, *expect)?;
    let to = destination(view, &session, target)?;
    let mut writes: Vec<Op<T>> = Vec::new();

    let mut keep = Header::own(stamp.checkpoint(0), Kind::RestorePoint, Action::RestorePoint);
    keep.parent = session.head.as_ref().map(|head| head.id.clone());
    (keep.operation.undo, keep.operation.redo) = (session.undo, session.redo);
    let before = session.state.clone();
    let restore_point = head::advance(&mut session, before, keep, stamp, &mut writes);

    session.bump(&stamp.device);
    let mut header = Header::own(stamp.checkpoint(1), Kind::Manual, to.action);
    header.parent = to.target.clone().or_else(|| Some(restore_point.id.clone()));
    header.operation = Operation { action: to.action, before: Some(restore_point.seq), undo: to.undo, redo: to.redo };
    let checkpoint = head::advance(&mut session, to.state, header, stamp, &mut writes);
    (session.undo, session.redo) = checkpoint.links();
    if let Some(old) = session.restore_point.replace(restore_point.seq) {
        session.unsettle(old);
    }

    prune::automatic(view, &mut session, *retention, &mut writes)?;
    head::put_session(&session, &mut writes);
    Ok(Plan { writes, answer: Restored { checkpoint, restore_point, target: to.target, parts: to.parts } })
}
