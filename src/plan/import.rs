//! Import of a bundle that was inspected: all of it in one transaction, or nothing. What is stored is cut into rows here,
//! however the bundle cuts it, in logs that belong to nobody else.

use std::rc::Rc;

use crate::codec::key::{Key, Range};
use crate::codec::row::{Content, Object, Reference, Row};
use crate::error::{Code, Error};
use crate::ids::{CheckpointId, LogId, ScopeId, SessionId, Stamp};
use crate::model::body::{Binary, Text};
use crate::model::checkpoint::{Checkpoint, Origin};
use crate::model::hash::Hash;
use crate::model::session::{Session, State, Tail, first_epoch};
use crate::model::sorted::{Map, Set};
use crate::model::span::{Coverage, Span, Spans};
use crate::plan::bundle::Bundle;
use crate::plan::census::{refs, whole_bytes, whole_text};
use crate::plan::{head, log, objects};
use crate::store::{Op, Plan, Planned, Request, View};

/// What to do when a session of the bundle exists already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnExisting {
    /// Import nothing.
    Error,
    /// Leave that session out.
    Skip,
    /// Give it a fresh id.
    Rename,
}

/// What was imported.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Imported {
    /// Id in the bundle, id in the store, checkpoints, messages.
    pub sessions: Vec<(SessionId, SessionId, usize, u32)>,
    /// Sessions left out, with the reason.
    pub skipped: Vec<(SessionId, String)>,
}

/// Plans an import.
///
/// # Errors
/// `Need`; `AlreadyExists`.
pub fn plan<T: Text>(
    view: &View<T>,
    scope: &ScopeId,
    bundle: &Bundle<T>,
    on: OnExisting,
    stamp: &Stamp,
) -> Planned<Plan<T, Imported>> {
    let here = Range::sessions(scope);
    view.want(bundle.sessions.iter().flat_map(|Session { id, .. }| {
        [Request::Row(Key::session(scope, id)), Request::Keys(Range::checkpoints(scope, id))]
    }))?;
    let mut imported = Imported { skipped: bundle.omitted.clone(), ..Imported::default() };
    let mut names: Map<&SessionId, SessionId> = Map::new();
    for session in &bundle.sessions {
        // One whose own record was lost has its checkpoints still.
        let exists = view.raw(Key::session(scope, &session.id))?.is_some()
            || !view.keys(Range::checkpoints(scope, &session.id))?.is_empty();
        match on {
            _ if !exists => _ = names.insert(&session.id, session.id.clone()),
            OnExisting::Rename => _ = names.insert(&session.id, stamp.session_for(&session.id)),
            OnExisting::Skip => imported.skipped.push((session.id.clone(), "a session of that id exists".to_owned())),
            OnExisting::Error => {
                let why = format!(
                    "there already is a session {:?}; import with onExisting \"skip\" or \"rename\". Nothing was imported",
                    session.id
                );
                return Err(Error::new(Code::AlreadyExists, why).into());
            }
        }
    }
    if names.is_empty() {
        return Ok(Plan::read(imported));
    }
    let arrival = Arrival { scope, names, stamp };
    let mut forks: Map<Origin, u32> = Map::new();
    for session in bundle.sessions.iter().filter(|session| arrival.names.contains_key(&session.id)) {
        if let Some(from) = &session.forked_from {
            *forks.slot(arrival.origin(from)) += 1;
        }
    }
    let mut writes: Vec<Op<T>> = Vec::new();
    // Bases that are here already count the forks that arrive.
    for (from, count) in forks.iter() {
        if !arrival.names.values().any(|id| *id == from.session_id)
            && let Some(mut base) = head::find_checkpoint::<T>(view, scope, &from.session_id, &from.checkpoint_id)?
        {
            base.forks = base.forks.saturating_add(*count);
            head::put(&base, &mut writes);
        }
    }
    // Forks that are here already count for bases that arrive.
    for read in view.rows(here, None)?.iter() {
        if let Ok(Row::Session(Session { forked_from: Some(from), .. })) = read.row().map(|row| &**row) {
            *forks.slot(from.clone()) += 1;
        }
    }
    arrival.books(bundle, &forks, &mut imported, &mut writes);
    arrival.contents(bundle, &mut writes);
    Ok(Plan { writes, answer: imported })
}

struct Arrival<'a> {
    scope: &'a ScopeId,
    /// The sessions that are imported, and the ids they get.
    names: Map<&'a SessionId, SessionId>,
    stamp: &'a Stamp,
}

impl Arrival<'_> {
    fn origin(&self, from: &Origin) -> Origin {
        let session_id = self.names.get(&from.session_id).unwrap_or(&from.session_id).clone();
        Origin { session_id, checkpoint_id: from.checkpoint_id.clone() }
    }

    /// Epochs of its own, in the order of the places: no writer has seen a session that arrives, not even one who
    /// has seen another of its id.
    fn epoch(&self, id: &SessionId, seq: u32) -> u64 {
        first_epoch(&self.stamp.log_of(id)).saturating_add(seq.into())
    }

    /// The same messages in logs of this database: one of the bundle's names may be another's here.
    fn state(&self, state: &State) -> State {
        let mut spans = Spans::default();
        for Span(log, from, to) in state.spans.iter() {
            spans.push(Span(self.stamp.log_for(log), *from, *to));
        }
        State { spans, ..state.clone() }
    }

    fn books<T: Text>(
        &self,
        bundle: &Bundle<T>,
        forks: &Map<Origin, u32>,
        imported: &mut Imported,
        writes: &mut Vec<Op<T>>,
    ) {
        let mut pending: Map<(&SessionId, u32), u32> = Map::new();
        for (of, seq, task, index, write) in &bundle.writes {
            let Some(id) = self.names.get(of) else { continue };
            *pending.slot((of, *seq)) += 1;
            writes.push(Op::Put(Key::write(self.scope, id, *seq, task, *index), Row::Write(write.clone())));
        }
        let mut owned: Map<&SessionId, Vec<u32>> = Map::new();
        for cp in &bundle.checkpoints {
            let Some(id) = self.names.get(&cp.session) else { continue };
            owned.slot(&cp.session).push(cp.seq);
            let as_origin =
                |checkpoint_id: &CheckpointId| Origin { session_id: id.clone(), checkpoint_id: checkpoint_id.clone() };
            let checkpoint: Checkpoint<T> = Checkpoint {
                scope: self.scope.clone(),
                session: id.clone(),
                forked_from: cp.forked_from.as_ref().map(|from| self.origin(from)),
                epoch: self.epoch(id, cp.seq),
                state: self.state(&cp.state),
                forks: forks.get(&as_origin(&cp.id)).copied().unwrap_or_default(),
                pending: pending.get(&(&cp.session, cp.seq)).copied().unwrap_or_default(),
                ..cp.clone()
            };
            head::put(&checkpoint, writes);
        }
        for session in &bundle.sessions {
            let Some(id) = self.names.get(&session.id) else { continue };
            let mine = owned.remove(&session.id).unwrap_or_default();
            imported.sessions.push((session.id.clone(), id.clone(), mine.len(), session.state.spans.count()));
            let session = Session {
                scope: self.scope.clone(),
                id: id.clone(),
                state: self.state(&session.state),
                forked_from: session.forked_from.as_ref().map(|from| self.origin(from)),
                conflict_of: session.conflict_of.as_ref().map(|of| self.names.get(of).unwrap_or(of).clone()),
                checkpoints: u32::try_from(mine.len()).unwrap_or(u32::MAX),
                oldest: mine.iter().copied().min().unwrap_or(session.next),
                settled: 0,
                debt: 0,
                epoch: self.epoch(id, session.next),
                // Two sessions must never append to one log, whatever a bundle says.
                log: self.stamp.log_of(id),
                log_next: 0,
                tail: Tail::default(),
                opened: 0,
                parent: session.parent.as_ref().map(|of| self.names.get(of).unwrap_or(of).clone()),
                ..session.clone().without_writer()
            };
            head::put_session(&session, writes);
        }
    }

    /// Writes the messages and objects that the imported sessions reach.
    fn contents<T: Text>(&self, bundle: &Bundle<T>, writes: &mut Vec<Op<T>>) {
        let mut all: Map<Hash, Vec<&Object<T>>> = Map::new();
        for (hash, _, object) in &bundle.objects {
            all.slot(*hash).push(object);
        }
        let mut reached = Coverage::default();
        let mut front: Vec<Hash> = Vec::new();
        let checkpoints = bundle.checkpoints.iter().map(|cp| (&cp.session, &cp.state));
        let sessions = bundle.sessions.iter().map(|session| (&session.id, &session.state));
        for (_, state) in checkpoints.chain(sessions).filter(|(id, _)| self.names.contains_key(id)) {
            reached.add(&state.spans);
            front.extend(state.roots.iter());
        }
        let mine = bundle.checkpoints.iter().filter(|cp| self.names.contains_key(&cp.session));
        front.extend(mine.filter_map(|cp| cp.prompt));
        front.extend(
            bundle
                .writes
                .iter()
                .filter(|(of, .., write)| self.names.contains_key(of) && write.text.is_none())
                .map(|(.., write)| write.hash),
        );
        let mut logs: Map<&LogId, Vec<(u32, log::Entry<T>)>> = Map::new();
        for (name, run) in &bundle.messages {
            for (entry, seq) in log::unpack(run).into_iter().zip(run.from..) {
                if !reached.touches(name, seq, seq + 1) {
                    continue;
                }
                for hash in entry.objects() {
                    writes.push(Op::Put(
                        Key::reference(&self.stamp.log_for(name), seq, hash),
                        Row::Reference(Reference {}),
                    ));
                    front.push(hash);
                }
                logs.slot(name).push((seq, entry));
            }
        }
        for (name, entries) in logs {
            let log = self.stamp.log_for(name);
            for (run, _) in log::pack(entries) {
                writes.push(Op::Put(Key::messages(&log, run.from), Row::Messages(run)));
            }
        }
        let mut seen = Set::new();
        while let Some(hash) = front.pop() {
            if let Some(pieces) = all.get(&hash).filter(|_| seen.insert(hash)) {
                front.extend(put_object(hash, pieces, writes));
            }
        }
    }
}

/// Writes an object as this library cuts it; gives what it refers to.
fn put_object<T: Text>(hash: Hash, pieces: &[&Object<T>], writes: &mut Vec<Op<T>>) -> Vec<Hash> {
    match pieces.first().map(|piece| &piece.content) {
        Some(Content::Node(node)) => {
            objects::put_node(hash, node.clone(), writes);
            node.hashes.clone()
        }
        Some(Content::Text(_)) => {
            let refs = refs::<T>(pieces);
            objects::put_text(hash, &T::from_utf8(&whole_text::<T>(pieces).unwrap_or_default()), &refs, writes);
            refs
        }
        Some(Content::Bytes(_)) => {
            let bytes = whole_bytes::<T>(pieces).unwrap_or_default();
            objects::put_binary(&Binary { hash, bytes: Rc::new(bytes) }, writes);
            Vec::new()
        }
        None => Vec::new(),
    }
}
