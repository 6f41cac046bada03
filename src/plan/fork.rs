//! Forks: a new session that starts at an older state. Shares every body, owns every row.

use crate::codec::key::{Key, Range};
use crate::codec::row::Row;
use crate::error::{Code, Error};
use crate::ids::{CheckpointId, ScopeId, SessionId, Stamp, TaskId};
use crate::model::body::Text;
use crate::model::checkpoint::{Action, Checkpoint, Kind, Origin, Source};
use crate::model::session::Session;
use crate::plan::head::{self, Header};
use crate::store::{Op, Plan, Planned, View};

/// A fork (P-15).
#[derive(Clone, Debug)]
pub struct Fork {
    /// The scope.
    pub scope: ScopeId,
    /// The session it comes from.
    pub source: SessionId,
    /// The checkpoint it starts at.
    pub checkpoint: CheckpointId,
    /// Its own id.
    pub target: SessionId,
    /// When and by whom.
    pub stamp: Stamp,
}

/// Plans a fork. The source keeps every row; only the header it starts at counts one fork more.
///
/// # Errors
/// `Need`; `UnknownCheckpoint`, `AlreadyExists`.
pub fn plan<T: Text>(view: &View<T>, command: &Fork) -> Planned<Plan<T, Checkpoint<T>>> {
    let Fork { scope, source, checkpoint, target, stamp } = command;
    let from = head::session(view, scope, source)?;
    let mut base: Checkpoint<T> = head::checkpoint(view, scope, source, checkpoint)?;
    if head::find_or_none(view, scope, target)?.is_some() {
        return Err(Error::new(
            Code::AlreadyExists,
            format!("there already is a session {target:?}; choose another id for the fork"),
        )
        .into());
    }
    let pending = view.rows(Range::writes(scope, source, base.seq), None)?;
    let keys = view.keys(Range::writes(scope, source, base.seq))?;
    let mut writes: Vec<Op<T>> = Vec::new();

    let mut session = Session::new(scope.clone(), target.clone(), stamp.log(0), stamp.now);
    let origin = Origin { session_id: source.clone(), checkpoint_id: base.id.clone() };
    session.forked_from = Some(origin.clone());
    session.title = from.title;
    session.vector = base.vector.clone();
    session.bump(&stamp.device);
    let mut header = Header::own(stamp.checkpoint(0), Kind::BranchPoint, Action::Fork);
    header.source = Source::Fork;
    header.parent = Some(base.id.clone());
    header.forked_from = Some(origin);
    header.turn.clone_from(&base.turn);
    let mut forked = head::advance(&mut session, base.state.clone(), header, stamp, &mut Vec::new());

    for (read, key) in pending.iter().zip(keys.iter()) {
        let (Some(task), Some(&crate::codec::key::Piece::Number(index))) = (key.text(3), key.pieces.get(4)) else {
            continue;
        };
        if let Row::Write(write) = &**read.row()? {
            let key = Key::write(scope, target, forked.seq, &TaskId::parse(task)?, i32::try_from(index).unwrap_or(0));
            writes.push(Op::Put(key, Row::Write(write.clone())));
            forked.pending += 1;
        }
    }
    base.forks += 1;
    head::put(&base, &mut writes);
    head::put(&forked, &mut writes);
    head::put_session(&session, &mut writes);
    Ok(Plan { writes, answer: forked })
}
