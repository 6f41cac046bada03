//! Restores: rollback, undo and redo. Each first writes a restore point, so that each can itself be undone.

use crate::codec::key::Range;
use crate::error::{Code, Error};
use crate::ids::{CheckpointId, RunId, ScopeId, SessionId, Stamp};
use crate::model::body::Text;
use crate::model::checkpoint::{Action, Checkpoint, Kind, Operation, Turn};
use crate::model::hash::Hash;
use crate::model::part::Part;
use crate::model::retention::Retention;
use crate::model::session::{Session, State};
use crate::plan::head::{self, Header};
use crate::plan::log;
use crate::plan::objects::{self, Value};
use crate::plan::prompt::{Place, check_users, place};
use crate::plan::prune;
use crate::plan::turn::check_idle;
use crate::plan::versions;
use crate::plan::write::check_commit;
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
    /// To before a message of the user's, exactly as it was when that was asked.
    Message(String),
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
    /// The host's reference of its own files now, for the restore point.
    pub commit: Option<String>,
    /// The caller's own run in the session.
    pub run: Option<RunId>,
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
    /// For a restore to a message: ids of the messages that were live and are not any more.
    pub removed: Vec<T>,
    /// For a restore to a message: what was asked, and in which turn.
    pub prompt: Option<(Value<T>, Option<Turn>)>,
    /// The caller's own run, where it ended with this.
    pub ended: Option<RunId>,
}

/// Where a restore leads.
pub struct Destination<T> {
    /// The state that becomes live.
    pub state: State,
    /// The checkpoint it is taken from.
    pub target: Option<CheckpointId>,
    /// The host's reference of its own files then.
    pub commit: Option<String>,
    source: Option<Checkpoint<T>>,
    removed: Vec<T>,
    prompt: Option<(Hash, Option<Turn>)>,
    parts: Vec<Part>,
    action: Action,
    undo: Option<u32>,
    redo: Option<u32>,
}

/// Finds what a restore would make live. Also what a preview shows.
///
/// # Errors
/// `Need`; `UnknownCheckpoint`, `NothingToUndo`, `NothingToRedo`.
pub fn destination<T: Text>(view: &View<T>, session: &Session, target: &Target) -> Planned<Destination<T>> {
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
                    Part::Ui => state.roots.ui = found.state.roots.ui,
                }
            }
            let parts = parts.clone();
            Ok(Destination {
                state,
                target: Some(found.id.clone()),
                commit: found.commit.clone(),
                source: Some(found),
                removed: Vec::new(),
                prompt: None,
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
            Ok(Destination {
                state,
                target,
                commit: None,
                source: None,
                removed: Vec::new(),
                prompt: None,
                parts: Part::ALL.to_vec(),
                action: Action::Undo,
                undo,
                redo: session.redo,
            })
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
                commit: None,
                source: None,
                removed: Vec::new(),
                prompt: None,
                parts: Part::ALL.to_vec(),
                action: Action::Redo,
                undo: session.undo,
                redo: undo.operation.redo,
            })
        }
        Target::Message(id) => {
            let Place { before, entry, prompt, own } = place(view, &session.scope, &session.id, &session.state, id)?;
            check_users(&entry, id)?;
            let gone = session.state.spans.slice(before.spans.count(), u32::MAX);
            let removed = log::entries(view, &gone)?.into_iter().filter_map(|entry| entry.id).collect();
            // Without a match only the chat goes back; the caller is told.
            let mut state = before;
            let mut parts = vec![Part::Messages];
            if let Some(prompt) = &prompt {
                state.roots = prompt.state.roots.clone();
                state.turns = prompt.state.turns;
                parts = Part::ALL.to_vec();
            }
            let asked = own.as_ref().or(prompt.as_ref()).and_then(|cp| Some((cp.prompt?, cp.turn.clone())));
            let (target, commit) = prompt.map(|prompt| (prompt.id, prompt.commit)).unzip();
            Ok(Destination {
                state,
                target,
                commit: commit.flatten(),
                source: None,
                removed,
                prompt: asked,
                parts,
                action: Action::Rollback,
                undo: session.undo,
                redo: None,
            })
        }
    }
}

/// Plans a restore: restore point, new checkpoint, head and retention, all in one transaction.
///
/// # Errors
/// As [`destination`], and `UnknownSession`, `Conflict`.
pub fn plan<T: Text>(view: &View<T>, command: &Restore) -> Planned<Plan<T, Restored<T>>> {
    let Restore { scope, session, target, commit, expect, run, stamp, retention } = command;
    check_commit(commit.as_deref())?;
    let mut session = head::session(view, scope, session)?;
    check_idle(&session, run.as_ref())?;
    head::check_seen(&session, *expect)?;
    let to = destination(view, &session, target)?;
    let prompt = match &to.prompt {
        Some((hash, turn)) => Some((objects::value(view, *hash)?, turn.clone())),
        None => None,
    };
    let mut writes: Vec<Op<T>> = Vec::new();

    let mut keep = Header::own(stamp.checkpoint(0), Kind::RestorePoint, Action::RestorePoint);
    // Of the versions of a turn, this is the newest of the one that is left.
    if let Some(of) = &to.source {
        let left = versions::shown(view, scope, &session.id, &session.state, of)?;
        keep.turn = of.turn.clone().zip(left).map(|(turn, version)| Turn { version, ..turn });
    }
    keep.parent = session.head.as_ref().map(|head| head.id.clone());
    keep.commit.clone_from(commit);
    (keep.operation.undo, keep.operation.redo) = (session.undo, session.redo);
    let before = session.state.clone();
    let restore_point = head::advance(&mut session, before, keep, stamp, &mut writes);

    session.bump(&stamp.device);
    let mut header = Header::own(stamp.checkpoint(1), Kind::Manual, to.action);
    header.turn = to.source.and_then(|source| source.turn);
    header.commit.clone_from(&to.commit);
    if to.commit.is_some() {
        session.commit.clone_from(&to.commit);
    }
    let ended = session.end_run().map(|run| run.id);
    if ended.is_some() {
        writes.push(Op::DeleteRange(Range::streams(scope, &session.id)));
    }
    header.parent = to.target.clone().or_else(|| Some(restore_point.id.clone()));
    header.operation = Operation { action: to.action, before: Some(restore_point.seq), undo: to.undo, redo: to.redo };
    let checkpoint = head::advance(&mut session, to.state, header, stamp, &mut writes);
    (session.undo, session.redo) = checkpoint.links();
    if let Some(old) = session.restore_point.replace(restore_point.seq) {
        session.unsettle(old);
    }

    prune::automatic(view, &mut session, *retention, &mut writes)?;
    head::put_session(&session, &mut writes);
    let (target, parts, removed) = (to.target, to.parts, to.removed);
    Ok(Plan { writes, answer: Restored { checkpoint, restore_point, target, parts, removed, prompt, ended } })
}
