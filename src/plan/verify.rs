//! Verification: every record is read and checked against its hash and against what refers to it. One bad record never
//! hides the others.

use std::rc::Rc;

use crate::codec::key::{Key, Range, Store};
use crate::codec::row::{Content, Object};
use crate::ids::{CheckpointId, LogId, ScopeId, SessionId};
use crate::model::body::{Text, content_hash};
use crate::model::checkpoint::Checkpoint;
use crate::model::hash::Hash;
use crate::model::session::{Session, State};
use crate::model::sorted::{Map, Set};
use crate::model::span::{Coverage, Spans};
use crate::plan::census::{self, Census};
use crate::plan::collect::{self, Reference};
use crate::plan::log::{self, Sum};
use crate::store::{Plan, Planned, View};

/// What is wrong with a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Wrong {
    /// Its content is not what its hash says.
    HashMismatch,
    /// Something refers to it and it is not there.
    Missing,
    /// It is there and cannot be read.
    Unreadable,
    /// It refers to something that is not there.
    Dangling,
    /// Two records disagree.
    Inconsistent,
    /// Nothing reaches it. Harmless: the next collection removes it.
    Unreachable,
}

impl Wrong {
    /// The word JavaScript uses.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Wrong::HashMismatch => "hash-mismatch",
            Wrong::Missing => "missing",
            Wrong::Unreadable => "unreadable",
            Wrong::Dangling => "dangling",
            Wrong::Inconsistent => "inconsistent",
            Wrong::Unreachable => "unreachable",
        }
    }
}

/// One fault.
#[derive(Clone, Debug, PartialEq)]
pub struct Fault {
    /// What is wrong.
    pub wrong: Wrong,
    /// Store and key of the record.
    pub record: String,
    /// A sentence for people.
    pub message: String,
    /// Checkpoints that reach the record.
    pub affects: Vec<CheckpointId>,
}

/// What was checked and what was found.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Report {
    /// Sessions checked.
    pub sessions: usize,
    /// Checkpoints checked.
    pub checkpoints: usize,
    /// Messages checked.
    pub messages: usize,
    /// Objects checked.
    pub objects: usize,
    /// Pending writes checked.
    pub pending_writes: usize,
    /// Records that were put aside because they could not be read.
    pub quarantined: usize,
    /// What was found, by record.
    pub faults: Vec<Fault>,
    found: Map<(String, Wrong), Fault>,
}

impl Report {
    /// Whether nothing is wrong but what the next collection removes.
    #[must_use]
    pub fn is_ok(&self) -> bool {
        self.faults.iter().all(|fault| fault.wrong == Wrong::Unreachable)
    }

    /// Notes a fault. The same one found twice is one, with all it affects.
    pub fn add(
        &mut self,
        wrong: Wrong,
        record: impl ToString,
        message: impl Into<String>,
        affects: impl IntoIterator<Item = CheckpointId>,
    ) {
        self.note(wrong, record.to_string(), message.into(), affects.into_iter().collect());
    }

    // One compiled copy for every kind of record.
    fn note(&mut self, wrong: Wrong, record: String, message: String, affects: Vec<CheckpointId>) {
        let fault =
            self.found.slot_with((record.clone(), wrong), || Fault { wrong, record, message, affects: Vec::new() });
        for id in affects {
            if !fault.affects.contains(&id) {
                fault.affects.push(id);
            }
        }
    }

    /// Lists what was found.
    pub fn close(&mut self) {
        self.faults = std::mem::take(&mut self.found).into_values().collect();
    }

    fn add_object(&mut self, hash: Hash, (wrong, why): (Wrong, &'static str), affects: &[CheckpointId]) {
        self.add(wrong, Key::object(hash, 0), why, affects.iter().cloned());
    }
}

/// Plans a verification of the whole database.
///
/// # Errors
/// `Need`.
pub fn plan<T: Text>(view: &View<T>) -> Planned<Plan<T, Report>> {
    let mut report = Report::default();
    let census = census::take(view, &mut report)?;
    report.sessions = census.sessions.len();
    report.checkpoints = census.checkpoints.len();
    report.pending_writes = census.writes.len();
    report.quarantined = view.keys(Range::quarantine())?.len();
    judge(&census, &mut report);
    // What is unreachable can only be said when everything that reaches something was read and whole.
    if report.found.is_empty() {
        unreachable(view, &census, &mut report)?;
    }
    report.close();
    Ok(Plan::read(report))
}

/// Checks what was read against everything else that was.
pub fn judge<T: Text>(census: &Census<T>, report: &mut Report) {
    check_books(census, report);
    let live = check_states(census, report);
    check_messages(census, &live, report);
    check_writes(census, report);
}

type Owner<'a> = (&'a ScopeId, &'a SessionId);

/// Checks sessions against their checkpoints, and forks against their bases.
fn check_books<T: Text>(census: &Census<T>, report: &mut Report) {
    let mut owned: Map<Owner<'_>, Vec<&Checkpoint<T>>> = Map::new();
    for cp in &census.checkpoints {
        owned.slot((&cp.scope, &cp.session)).push(cp);
    }
    let mut forks: Map<(&ScopeId, &SessionId, &CheckpointId), u32> = Map::new();
    for session in &census.sessions {
        if let Some(from) = &session.forked_from {
            *forks.slot((&session.scope, &from.session_id, &from.checkpoint_id)) += 1;
        }
        let mine = owned.remove(&(&session.scope, &session.id)).unwrap_or_default();
        check_session(session, &mine, report);
    }
    for cp in owned.into_values().flatten() {
        report.add(
            Wrong::Dangling,
            Key::checkpoint(&cp.scope, &cp.session, cp.seq),
            "its session is not there",
            [cp.id.clone()],
        );
    }
    for cp in &census.checkpoints {
        let count = forks.get(&(&cp.scope, &cp.session, &cp.id)).copied().unwrap_or_default();
        // It may count too many, for the same reason as below; then it is protected longer than it need be.
        if count > cp.forks {
            let message = format!("it counts {} forks and has {count}", cp.forks);
            report.add(Wrong::Inconsistent, Key::checkpoint(&cp.scope, &cp.session, cp.seq), message, [cp.id.clone()]);
        }
    }
}

fn check_session<T: Text>(session: &Session, mine: &[&Checkpoint<T>], report: &mut Report) {
    let key = Key::session(&session.scope, &session.id);
    let mut wrong = |message: String| report.add(Wrong::Inconsistent, &key, message, []);
    // It may count too many: on a full disk checkpoints can go, but no row can be written to say so.
    if mine.len() > session.checkpoints as usize {
        wrong(format!("the session counts {} checkpoints and has {}", session.checkpoints, mine.len()));
    }
    if mine.iter().any(|cp| cp.seq >= session.next || cp.seq < session.oldest) {
        wrong("a checkpoint lies outside the session's range".to_owned());
    }
    let ids: Set<&CheckpointId> = mine.iter().map(|cp| &cp.id).collect();
    if ids.len() != mine.len() {
        wrong("two checkpoints have the same id".to_owned());
    }
    let newest = mine.iter().max_by_key(|cp| cp.seq);
    match (&session.head, newest) {
        (None, None) => {}
        (None, Some(_)) => wrong("it has checkpoints and no newest one".to_owned()),
        (Some(head), newest) => match newest.filter(|cp| cp.seq == head.seq && cp.id == head.id) {
            None => report.add(
                Wrong::Dangling,
                &key,
                format!("its newest checkpoint {} is not there", head.id),
                [head.id.clone()],
            ),
            Some(cp) => {
                let (a, b) = (&session.state, &cp.state);
                // The same content; compaction may have given it other places.
                let same = (a.listed, a.size, a.history, &a.roots, a.spans.count())
                    == (b.listed, b.size, b.history, &b.roots, b.spans.count());
                if !same || cp.provisional != head.provisional {
                    wrong("its live state is not that of its newest checkpoint".to_owned());
                }
            }
        },
    }
}

/// Checks that everything of every state is there and adds up. Gives what they reach.
fn check_states<T: Text>(census: &Census<T>, report: &mut Report) -> Coverage {
    let mut live = Coverage::default();
    let mut trees: Trees = Map::new();
    let mut sum = Sum::default();
    for cp in &census.checkpoints {
        let key = Key::checkpoint(&cp.scope, &cp.session, cp.seq);
        check_state(census, &cp.state, &key, std::slice::from_ref(&cp.id), (&mut trees, &mut sum), report);
        for (hash, damage) in cp.prompt.iter().flat_map(|prompt| value(census, *prompt)) {
            report.add_object(hash, damage, std::slice::from_ref(&cp.id));
        }
        live.add(&cp.state.spans);
    }
    for session in &census.sessions {
        let affects: Vec<CheckpointId> = session.head.iter().map(|head| head.id.clone()).collect();
        let key = Key::session(&session.scope, &session.id);
        check_state(census, &session.state, &key, &affects, (&mut trees, &mut sum), report);
        live.add(&session.state.spans);
    }
    live
}

fn check_state<T: Text>(
    census: &Census<T>,
    state: &State,
    key: &Key,
    affects: &[CheckpointId],
    (trees, sum): (&mut Trees, &mut Sum),
    report: &mut Report,
) {
    match sum.over(&state.spans, |log, at| census.run(log, at)) {
        Err((log, at)) => {
            report.add(
                Wrong::Missing,
                Key::messages(&log, at),
                format!("{key} refers to this message"),
                affects.iter().cloned(),
            );
        }
        Ok((size, history)) if (size, history) != (state.size, state.history) => {
            report.add(
                Wrong::Inconsistent,
                key,
                "its size or its history is not that of its messages",
                affects.iter().cloned(),
            );
        }
        Ok(_) => {}
    }
    for root in state.roots.iter() {
        for (hash, damage) in below(census, root, None, trees).iter() {
            report.add_object(*hash, *damage, affects);
        }
    }
}

type Damages = Rc<Vec<(Hash, (Wrong, &'static str))>>;
type Trees = Map<Hash, Damages>;

/// What is damaged below a node of a tree. Each node is looked at once. Levels go down by one, so the depth is bounded.
fn below<T: Text>(census: &Census<T>, hash: Hash, level: Option<u8>, known: &mut Trees) -> Damages {
    if let Some(found) = known.get(&hash) {
        return found.clone();
    }
    let mut damages = Vec::new();
    match (census.fault(hash), census.pieces.get(&hash).and_then(|pieces| pieces.first())) {
        (Some(damage), _) => damages.push((hash, damage)),
        (None, Some(Object { content: Content::Node(node), .. })) if level.is_none_or(|level| level == node.level) => {
            for (_, child) in node.entries() {
                match node.level.checked_sub(1) {
                    Some(level) => damages.extend(below(census, child, Some(level), known).iter().copied()),
                    None => damages.extend(value(census, child)),
                }
            }
        }
        _ => damages.push((hash, (Wrong::Inconsistent, "it is not the tree node that is referred to"))),
    }
    let damages = Rc::new(damages);
    known.insert(hash, damages.clone());
    damages
}

/// What is damaged of a value.
fn value<T: Text>(census: &Census<T>, hash: Hash) -> Vec<(Hash, (Wrong, &'static str))> {
    let refs = census.pieces.get(&hash).map(|pieces| census::refs::<T>(pieces)).unwrap_or_default();
    std::iter::once(hash).chain(refs).filter_map(|hash| Some((hash, census.fault(hash)?))).collect()
}

/// Checks every message that something reaches.
fn check_messages<T: Text>(census: &Census<T>, live: &Coverage, report: &mut Report) {
    let references: Set<&Key> = census.references.iter().collect();
    let blame = |log: &LogId, at: u32| -> Vec<CheckpointId> {
        let reaches = |spans: &Spans| spans.iter().any(|span| span.0 == *log && (span.1..span.2).contains(&at));
        census.checkpoints.iter().filter(|cp| reaches(&cp.state.spans)).map(|cp| cp.id.clone()).collect()
    };
    for (log, runs) in census.runs.iter() {
        for run in runs {
            for (entry, at) in log::unpack(run).into_iter().zip(run.from..) {
                if !live.touches(log, at, at + 1) {
                    continue;
                }
                report.messages += 1;
                if let Some(text) = &entry.text
                    && content_hash(&text.utf8(), &Hash::pack(&entry.refs)) != entry.hash
                {
                    let record = format!("message {at} in {}", Key::messages(log, run.from));
                    report.add(Wrong::HashMismatch, record, "the message is not what was written", blame(log, at));
                }
                for hash in entry.objects() {
                    let key = Key::reference(log, at, hash);
                    if !references.contains(&key) {
                        report.add(
                            Wrong::Missing,
                            key,
                            "the reference is not there, so what it leads to could be collected",
                            blame(log, at),
                        );
                    }
                    for (hash, damage) in value(census, hash) {
                        report.add_object(hash, damage, &blame(log, at));
                    }
                }
            }
        }
        let overlap = runs.windows(2).find_map(|pair| match pair {
            [a, b] if b.from - a.from < a.len() => Some(b.from),
            _ => None,
        });
        if let Some(from) = overlap {
            report.add(Wrong::Inconsistent, Key::messages(log, from), "it overlaps the record before it", []);
        }
    }
}

/// Checks pending writes, and that each checkpoint has as many as it counts.
fn check_writes<T: Text>(census: &Census<T>, report: &mut Report) {
    let mut counts: Map<Key, u32> = Map::new();
    let headers: Map<Key, &Checkpoint<T>> =
        census.checkpoints.iter().map(|cp| (Key::checkpoint(&cp.scope, &cp.session, cp.seq), cp)).collect();
    for (key, write) in &census.writes {
        let owner = Key { store: Store::Checkpoints, pieces: key.pieces.iter().take(3).cloned().collect() };
        let affects: Vec<CheckpointId> = headers.get(&owner).iter().map(|cp| cp.id.clone()).collect();
        if affects.is_empty() {
            report.add(Wrong::Dangling, key, "its checkpoint is not there", []);
        }
        *counts.slot(owner) += 1;
        match &write.text {
            Some(text) if content_hash(&text.utf8(), &[]) != write.hash => {
                report.add(Wrong::HashMismatch, key, "the pending write is not what was written", affects);
            }
            Some(_) => {}
            None => value(census, write.hash)
                .into_iter()
                .for_each(|(hash, damage)| report.add_object(hash, damage, &affects)),
        }
    }
    for (key, cp) in headers {
        let count = counts.get(&key).copied().unwrap_or_default();
        if count != cp.pending {
            let message = format!("it counts {} pending writes and has {count}", cp.pending);
            report.add(Wrong::Inconsistent, key, message, [cp.id.clone()]);
        }
    }
}

fn unreachable<T: Text>(view: &View<T>, census: &Census<T>, report: &mut Report) -> Planned<()> {
    let reach = collect::mark(view, &collect::Roots { rows: &census.roots, references: &census.references })?;
    for (log, runs) in census.runs.iter() {
        for run in runs.iter().filter(|run| !reach.messages.touches(log, run.from, run.from + run.len())) {
            report.add(Wrong::Unreachable, Key::messages(log, run.from), "no checkpoint reaches these messages", []);
        }
    }
    for hash in census.pieces.keys().filter(|hash| !reach.objects.contains(hash)) {
        report.add(Wrong::Unreachable, Key::object(*hash, 0), "no checkpoint reaches this object", []);
    }
    for key in
        census.references.iter().filter(|key| !Reference::of(key).is_some_and(|reference| reference.is_reached(&reach)))
    {
        report.add(Wrong::Unreachable, key, "no checkpoint reaches what refers here", []);
    }
    for key in census.streams.iter().filter(|key| !grows(census, key)) {
        report.add(Wrong::Unreachable, key, "the message it was added to is not being written any more", []);
    }
    Ok(())
}

/// Whether the session of an addition to a growing message still has a run.
fn grows<T: Text>(census: &Census<T>, key: &Key) -> bool {
    let of =
        |session: &&Session| key.text(0) == Some(session.scope.as_str()) && key.text(1) == Some(session.id.as_str());
    census.sessions.iter().find(of).is_some_and(|session| session.run.is_some())
}
