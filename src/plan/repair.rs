//! Repair: what cannot be read is put aside as it is, and the books are written again from what can. One transaction over the
//! whole database, and only by request.

use crate::codec::key::{Key, Range, Store};
use crate::codec::row::{Meta, Reference, Row};
use crate::ids::{CheckpointId, ScopeId, SessionId, Stamp};
use crate::model::body::Text;
use crate::model::checkpoint::{Action, Checkpoint, Kind};
use crate::model::session::{Head, Session, State, first_epoch};
use crate::model::sorted::{Map, Set};
use crate::model::span::Coverage;
use crate::plan::census::{self, Census};
use crate::plan::head::{self, Header};
use crate::plan::log;
use crate::plan::verify::{Fault, Report, Wrong, judge};
use crate::store::{Op, Plan, Planned, View};

/// One thing that was done.
#[derive(Clone, Debug, PartialEq)]
pub struct Mend {
    /// What, in a word.
    pub action: &'static str,
    /// Store and key of the record.
    pub record: String,
    /// A sentence for people.
    pub message: String,
    /// Checkpoints that it concerns.
    pub affects: Vec<CheckpointId>,
}

/// What a repair did, or would do.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Repaired {
    /// What was done, in order.
    pub actions: Vec<Mend>,
    /// What stays lost: what `verify` finds afterwards.
    pub lost: Vec<Fault>,
    /// Sessions that were changed.
    pub sessions: Vec<(ScopeId, SessionId)>,
}

type Owner = (ScopeId, SessionId);

struct Work<'a, T> {
    stamp: &'a Stamp,
    writes: Vec<Op<T>>,
    done: Repaired,
    /// What the storage does not even give, so that it stays where it is.
    stuck: Vec<Key>,
}

/// Plans a repair of the whole database.
///
/// # Errors
/// `Need`.
pub fn plan<T: Text>(view: &View<T>, stamp: &Stamp) -> Planned<Plan<T, Repaired>> {
    let mut census = census::take(view, &mut Report::default())?;
    let mut work = Work { stamp, writes: Vec::new(), done: Repaired::default(), stuck: Vec::new() };
    let meta = view.keys(Range::all(Store::Meta))?.contains(&Key::meta());
    work.put_aside(&mut census, &view.keys(Range::all(Store::Objects))?);
    if !meta || work.writes.contains(&Op::Move(Key::meta(), Key::meta().aside(stamp.now))) {
        let row = Row::Meta(Meta { device: stamp.device.clone(), created: stamp.now });
        work.writes.push(Op::Put(Key::meta(), row));
        work.act("rebuild", &Key::meta(), "the row about the database itself was made anew", []);
    }
    let mut used: Map<Owner, u32> = Map::new();
    for store in [Store::Checkpoints, Store::Writes] {
        for key in view.keys(Range::all(store))?.iter() {
            if let (Some(owner), Some(seq)) = (owner(key), key.number(2)) {
                let next = used.slot(owner);
                *next = (*next).max(seq.saturating_add(1));
            }
        }
    }
    work.books(&mut census, &used);
    work.references(&mut census);
    let mut lost = Report::default();
    for key in &work.stuck {
        lost.add(Wrong::Unreadable, key, "the browser fails to read it", []);
    }
    judge(&census, &mut lost);
    lost.close();
    work.done.lost = lost.faults;
    Ok(Plan { writes: work.writes, answer: work.done })
}

fn owner(key: &Key) -> Option<Owner> {
    Some((ScopeId::parse(key.text(0)?).ok()?, SessionId::parse(key.text(1)?).ok()?))
}

impl<T: Text> Work<'_, T> {
    fn act(
        &mut self,
        action: &'static str,
        record: &Key,
        message: impl Into<String>,
        affects: impl IntoIterator<Item = CheckpointId>,
    ) {
        let (message, affects) = (message.into(), affects.into_iter().collect());
        self.done.actions.push(Mend { action, record: record.to_string(), message, affects });
    }

    fn quarantine(&mut self, key: &Key, why: &str) {
        self.writes.push(Op::Move(key.clone(), key.aside(self.stamp.now)));
        self.act("quarantine", key, why, []);
    }

    /// Moves what cannot be used to where nothing reads it. Of an object that is damaged every piece goes, so that whoever
    /// stores the same content again stores it whole.
    fn put_aside(&mut self, census: &mut Census<T>, objects: &[Key]) {
        let mut given: Set<Key> = Set::new();
        for (key, is_given) in std::mem::take(&mut census.bad) {
            if !is_given {
                self.stuck.push(key);
            } else if key.store == Store::Objects {
                given.insert(key);
            } else {
                self.quarantine(&key, "it cannot be read; what is stored is kept in quarantine");
            }
        }
        let is_damaged = |key: &&Key| {
            let hash = crate::plan::objects::hash_of(key);
            given.contains(*key) || hash.is_some_and(|hash| census.damaged.contains_key(&hash))
        };
        let damaged: Vec<Key> =
            objects.iter().filter(is_damaged).filter(|key| !self.stuck.contains(key)).cloned().collect();
        for key in damaged {
            self.quarantine(&key, "a piece of an object that is damaged; it is kept in quarantine");
        }
        for (hash, _) in std::mem::take(&mut census.damaged).iter() {
            census.pieces.remove(hash);
        }
    }

    /// Sets sessions, headers and pending writes right against each other.
    fn books(&mut self, census: &mut Census<T>, used: &Map<Owner, u32>) {
        let mut owned: Map<Owner, Vec<Checkpoint<T>>> = Map::new();
        for cp in std::mem::take(&mut census.checkpoints) {
            owned.slot((cp.scope.clone(), cp.session.clone())).push(cp);
        }
        let mut sessions: Map<Owner, Option<Session>> = Map::new();
        for session in std::mem::take(&mut census.sessions) {
            sessions.insert((session.scope.clone(), session.id.clone()), Some(session));
        }
        for owner in owned.keys() {
            sessions.slot(owner.clone());
        }
        let mut before: Map<Key, Checkpoint<T>> = Map::new();
        for cp in owned.values().flatten() {
            before.insert(Key::checkpoint(&cp.scope, &cp.session, cp.seq), cp.clone());
        }
        let mut forks: Map<(Owner, CheckpointId), u32> = Map::new();
        for (owner, session) in sessions.iter() {
            // A session that is there and cannot be moved is not made anew in its place.
            let key = Key::session(&owner.0, &owner.1);
            if session.is_none() && self.stuck.contains(&key) {
                census.checkpoints.extend(owned.remove(owner).unwrap_or_default());
                continue;
            }
            let mine = owned.slot(owner.clone());
            let next = used.get(owner).copied().unwrap_or_default();
            let settled = self.settle(owner, session.as_ref(), mine, next);
            if let Some(from) = &settled.forked_from {
                *forks.slot(((owner.0.clone(), from.session_id.clone()), from.checkpoint_id.clone())) += 1;
            }
            if session.as_ref() != Some(&settled) {
                head::put_session(&settled, &mut self.writes);
                self.done.sessions.push(owner.clone());
            }
            census.sessions.push(settled);
        }
        census.checkpoints.extend(owned.into_values().flatten());
        let pending = self.pending(census);
        for cp in &mut census.checkpoints {
            let key = Key::checkpoint(&cp.scope, &cp.session, cp.seq);
            let count =
                forks.get(&((cp.scope.clone(), cp.session.clone()), cp.id.clone())).copied().unwrap_or_default();
            let counts = (count, pending.get(&key).copied().unwrap_or_default());
            if (cp.forks, cp.pending) != counts && self.stuck.is_empty() {
                (cp.forks, cp.pending) = counts;
                self.act(
                    "correct",
                    &key,
                    "its counts of forks and pending writes are those there are",
                    [cp.id.clone()],
                );
            }
            if before.get(&key) != Some(cp) {
                head::put(cp, &mut self.writes);
            }
        }
    }

    /// A session as its checkpoints have it. Where its row is lost, it goes on from the newest of them; where only the header of
    /// its newest is, that is written again, for the row knows the live state.
    fn settle(&mut self, owner: &Owner, found: Option<&Session>, mine: &mut Vec<Checkpoint<T>>, next: u32) -> Session {
        let key = Key::session(&owner.0, &owner.1);
        let log = self.stamp.log_of(&owner.1);
        let jump = 1 + (first_epoch(&log) >> 28);
        let mut session =
            found.cloned().unwrap_or_else(|| Session::new(owner.0.clone(), owner.1.clone(), log, self.stamp.now));
        let mut is_damaged = found.is_none();
        let place = |head: &Head| Key::checkpoint(&owner.0, &owner.1, head.seq);
        let is_lost = |head: &Head| mine.last().is_none_or(|last| last.seq < head.seq);
        if let Some(head) = session.head.clone().filter(is_lost) {
            if self.stuck.contains(&place(&head)) {
                return session;
            }
            let header = again(&session, &head, mine, self.stamp);
            let why = "the header of the session's newest checkpoint was lost; it is written again with the live state";
            self.act("rebuild", &place(&head), why, [head.id]);
            mine.push(header);
            is_damaged = true;
        } else if let Some(newest) = mine.last()
            && !session.agrees(newest)
        {
            session.back_to(newest, jump);
            let (action, why) = match found {
                None => ("rebuild", "the session's record was lost; it goes on from its newest checkpoint"),
                Some(_) => ("correct", "the session's live state is that of its newest checkpoint"),
            };
            self.act(action, &key, why, [newest.id.clone()]);
        }
        if let (None, Some(first), Some(last)) = (found, mine.first(), mine.last()) {
            (session.created, session.updated) = (first.at, last.at);
            session.forked_from.clone_from(&first.forked_from);
            session.prompts = u32::try_from(mine.iter().filter(|cp| cp.lookup.is_some()).count()).unwrap_or(u32::MAX);
        }
        let mut count = u32::try_from(mine.len()).unwrap_or(u32::MAX);
        if !self.stuck.is_empty() {
            count = count.max(session.checkpoints);
        }
        let oldest = mine.first().map_or(session.oldest, |first| first.seq.min(session.oldest));
        let books = (count, oldest, session.next.max(next));
        if (session.checkpoints, session.oldest, session.next) != books {
            (session.checkpoints, session.oldest, session.next) = books;
            if found.is_some() {
                self.act("correct", &key, "its count and its range of checkpoints are those there are", []);
            }
            is_damaged = true;
        }
        if is_damaged {
            // Retention looks at all of them again.
            session.settled = 0;
            self.bridge(mine);
        }
        session
    }

    /// Leads checkpoints whose parent is gone to the nearest ancestor that is there.
    fn bridge(&mut self, mine: &mut [Checkpoint<T>]) {
        let ids: Set<CheckpointId> = mine.iter().map(|cp| cp.id.clone()).collect();
        for at in 0..mine.len() {
            let (older, rest) = mine.split_at_mut(at);
            let Some(cp) = rest.first_mut() else { continue };
            // The parent of a fork is in another session.
            let is_gone = |parent: &CheckpointId| !ids.contains(parent) && cp.forked_from.is_none();
            if cp.parent.as_ref().is_some_and(is_gone) {
                cp.parent = ancestor(older, &cp.state);
                let key = Key::checkpoint(&cp.scope, &cp.session, cp.seq);
                self.act(
                    "bridge",
                    &key,
                    "its parent is gone; it continues from the nearest one that is there",
                    [cp.id.clone()],
                );
            }
        }
    }

    /// Counts the pending writes of each header, and puts those aside that have none.
    fn pending(&mut self, census: &mut Census<T>) -> Map<Key, u32> {
        let headers: Set<Key> =
            census.checkpoints.iter().map(|cp| Key::checkpoint(&cp.scope, &cp.session, cp.seq)).collect();
        let mut counts: Map<Key, u32> = Map::new();
        for (key, write) in std::mem::take(&mut census.writes) {
            let of = Key { store: Store::Checkpoints, pieces: key.pieces.iter().take(3).cloned().collect() };
            if headers.contains(&of) {
                *counts.slot(of) += 1;
                census.writes.push((key, write));
            } else if self.stuck.contains(&of) {
                census.writes.push((key, write));
            } else {
                self.quarantine(&key, "the checkpoint of this pending write is gone; it is kept in quarantine");
            }
        }
        counts
    }

    /// Writes references again that messages and objects say they have.
    fn references(&mut self, census: &mut Census<T>) {
        let known: Set<Key> = census.references.iter().cloned().collect();
        let mut live = Coverage::default();
        census.checkpoints.iter().for_each(|cp| live.add(&cp.state.spans));
        census.sessions.iter().for_each(|session| live.add(&session.state.spans));
        let mut all: Vec<Key> = Vec::new();
        for (hash, pieces) in census.pieces.iter() {
            all.extend(census::refs::<T>(pieces).into_iter().map(|to| Key::object_reference(*hash, to)));
        }
        for (log, runs) in census.runs.iter() {
            for run in runs {
                for (entry, at) in log::unpack(run).into_iter().zip(run.from..) {
                    if live.touches(log, at, at + 1) {
                        all.extend(entry.objects().map(|to| Key::reference(log, at, to)));
                    }
                }
            }
        }
        for key in all.into_iter().filter(|key| !known.contains(key)) {
            self.act("reference", &key, "the reference was lost; it is written again", []);
            self.writes.push(Op::Put(key.clone(), Row::Reference(Reference {})));
            census.references.push(key);
        }
    }
}

/// The newest of a list of checkpoints that a state goes on from.
fn ancestor<T>(older: &[Checkpoint<T>], state: &State) -> Option<CheckpointId> {
    let goes_on = |cp: &&Checkpoint<T>| cp.state.spans.common_prefix(&state.spans) == cp.state.spans.count();
    older.iter().rev().find(goes_on).map(|cp| cp.id.clone())
}

/// The header of a session's newest checkpoint, written again from the session's own row.
fn again<T: Text>(session: &Session, head: &Head, older: &[Checkpoint<T>], stamp: &Stamp) -> Checkpoint<T> {
    let before = older.last();
    let mut header = Header::own(head.id.clone(), Kind::Manual, Action::Put);
    header.writes = vec!["repair".to_owned()];
    header.parent = ancestor(older, &session.state);
    header.provisional = head.provisional;
    header.turn = session.run.as_ref().map(|run| run.turn.clone());
    header.sealed = session.sealed.as_ref() == Some(&head.id);
    if header.sealed {
        header.kind = Kind::SessionBoundary;
    }
    header.operation.before = before.map(|before| before.seq);
    header.operation.undo = before.and_then(|before| before.links().0);
    // In the place, and with the epoch, that the session says it has.
    let mut row = Session { next: head.seq, epoch: session.epoch.saturating_sub(1), ..session.clone() };
    let made = head::advance(&mut row, session.state.clone(), header, stamp, &mut Vec::new());
    Checkpoint { at: session.updated, ..made }
}

impl Session {
    /// Whether a checkpoint holds its live state, and is the newest it knows.
    #[must_use]
    pub fn agrees<T>(&self, newest: &Checkpoint<T>) -> bool {
        let content =
            |state: &State| (state.listed, state.size, state.history, state.roots.clone(), state.spans.count());
        let head = self.head.as_ref().map(|head| (head.seq, &head.id, head.provisional));
        head == Some((newest.seq, &newest.id, newest.provisional)) && content(&self.state) == content(&newest.state)
    }

    /// Makes a checkpoint the newest and its state the live one. The epoch goes on by so much: nobody has seen this.
    pub fn back_to<T>(&mut self, newest: &Checkpoint<T>, jump: u64) {
        self.head =
            Some(Head { seq: newest.seq, id: newest.id.clone(), provisional: newest.provisional, writer: None });
        self.state = newest.state.clone();
        self.epoch = self.epoch.max(newest.epoch).saturating_add(jump);
        (self.undo, self.redo) = newest.links();
        for (device, count) in newest.vector.iter() {
            let mine = self.vector.slot(device.clone());
            *mine = (*mine).max(*count);
        }
    }
}
