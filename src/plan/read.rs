//! Reads: a state with everything in it, listings, the operation log.

use std::cmp::Reverse;
use std::rc::Rc;

use crate::codec::key::{Key, Range};
use crate::codec::row::Row;
use crate::error::Error;
use crate::ids::{CheckpointId, ScopeId, SessionId};
use crate::model::body::Text;
use crate::model::checkpoint::{Checkpoint, Origin};
use crate::model::hash::Hash;
use crate::model::session::{Run, Session, State};
use crate::model::sorted::Map;
use crate::model::tree;
use crate::plan::head;
use crate::plan::log::{self, Entry, Incoming};
use crate::plan::objects::{self, Value};
use crate::plan::pending::{self, Pending};
use crate::plan::stream;
use crate::store::{Pause, Plan, Planned, Request, View, both};

/// A state with everything in it.
#[derive(Clone, Debug)]
pub struct Contents<T> {
    /// The messages.
    pub messages: Vec<Value<T>>,
    /// The channels, by name.
    pub channels: Vec<(String, Value<T>)>,
    /// The `ui` part, by name.
    pub ui: Vec<(String, Value<T>)>,
    /// The binaries that messages, channels and pending writes refer to.
    pub binaries: Map<Hash, Rc<Vec<u8>>>,
}

/// A checkpoint with everything in it.
#[derive(Clone, Debug)]
pub struct Loaded<T> {
    /// The header.
    pub checkpoint: Checkpoint<T>,
    /// The session's epoch, when the newest was asked for: what a writer that goes on from here has seen.
    pub epoch: Option<u64>,
    /// What it holds.
    pub contents: Contents<T>,
    /// Its pending writes.
    pub pending: Vec<Pending<T>>,
    /// The prompt of the turn that began with it.
    pub prompt: Option<Value<T>>,
    /// The turn that is being answered, when the newest was asked for, and what was saved of the answer.
    pub run: Option<(Run, Option<Incoming<T>>)>,
}

/// The value of an entry; a long one is read from the objects.
fn entry_value<T: Text>(view: &View<T>, entry: Entry<T>) -> Planned<Value<T>> {
    match entry.text {
        Some(text) => Ok(Value { text, refs: entry.refs }),
        None => objects::value(view, entry.hash),
    }
}

/// The values of many entries.
///
/// # Errors
/// `Need`; `RecordUnreadable`.
pub fn values<T: Text>(view: &View<T>, entries: Vec<Entry<T>>) -> Planned<Vec<Value<T>>> {
    objects::want_whole(view, entries.iter().filter(|entry| entry.text.is_none()).map(|entry| entry.hash))?;
    entries.into_iter().map(|entry| entry_value(view, entry)).collect()
}

/// Reads the binaries that values refer to.
///
/// # Errors
/// `Need`; `RecordUnreadable`.
pub fn binaries<'a, T: Text>(
    view: &View<T>,
    values: impl Iterator<Item = &'a Value<T>>,
) -> Planned<Map<Hash, Rc<Vec<u8>>>> {
    let hashes: Vec<Hash> = values.flat_map(|value| value.refs.iter().copied()).collect();
    objects::want_whole(view, hashes.iter().copied())?;
    let mut out = Map::new();
    for hash in hashes {
        if !out.contains_key(&hash) {
            out.insert(hash, Rc::new(objects::bytes(view, hash)?));
        }
    }
    Ok(out)
}

fn messages<T: Text>(view: &View<T>, state: &State) -> Planned<Vec<Value<T>>> {
    values(view, log::entries(view, &state.spans)?)
}

fn named<T: Text>(view: &View<T>, root: Option<Hash>) -> Planned<Vec<(String, Value<T>)>> {
    let named = tree::entries(|hashes| objects::nodes(view, hashes), root)?;
    objects::want_whole(view, named.iter().map(|(_, hash)| *hash))?;
    named.into_iter().map(|(name, hash)| Ok((name, objects::value(view, hash)?))).collect()
}

/// Where a session's head was when it was last seen: a guess that lets what it leads to be read together with the head
/// itself. A wrong guess only reads in vain.
#[derive(Clone, Debug)]
pub struct Hint {
    /// The newest checkpoint.
    pub seq: u32,
    /// Its state.
    pub state: State,
}

impl Hint {
    fn want<T: Text>(&self, view: &View<T>, scope: &ScopeId, id: &SessionId) -> Planned<()> {
        let newest = view.want([Request::Row(Key::checkpoint(scope, id, self.seq))]);
        let parts = both(named(view, self.state.roots.state), named(view, self.state.roots.ui));
        match both(newest, both(messages(view, &self.state), parts)) {
            Err(Pause::Need(requests)) => Err(Pause::Need(requests)),
            // What is missing may have been collected; the head will say whether it matters.
            Ok(_) | Err(Pause::Fail(_)) => Ok(()),
        }
    }
}

/// Plans the reading of a checkpoint: the newest, or one by its id. `None` when there is none.
///
/// # Errors
/// `Need`; `RecordUnreadable`.
pub fn load<T: Text>(
    view: &View<T>,
    scope: &ScopeId,
    id: &SessionId,
    checkpoint: Option<&CheckpointId>,
    hint: Option<&Hint>,
) -> Planned<Plan<T, Option<Loaded<T>>>> {
    let mut run = None;
    let (found, state, epoch) = match checkpoint {
        Some(checkpoint) => {
            let (session, found) =
                both(head::find(view, scope, id), head::find_checkpoint(view, scope, id, checkpoint))?;
            let found = found.filter(|_| session.is_some());
            let state = found.as_ref().map(|found: &Checkpoint<T>| found.state.clone());
            (Ok(found), state, None)
        }
        None => {
            let (session, ()) =
                both(head::find(view, scope, id), hint.map_or(Ok(()), |hint| hint.want(view, scope, id)))?;
            let newest = session.as_ref().and_then(|session| Some((session, session.head.as_ref()?)));
            run = session.as_ref().and_then(|session| Some((session.clone(), session.run.clone()?)));
            let missing = |id: &CheckpointId| Error::unreadable(format!("checkpoint {id}"), "it is missing");
            match newest {
                // The head says all that its checkpoint's content hangs on, so both are read together.
                Some((session, newest)) => {
                    let found = head::at(view, session, newest.seq)
                        .and_then(|found| Ok(Some(found.ok_or_else(|| missing(&newest.id))?)));
                    (found, Some(session.state.clone()), Some(session.epoch))
                }
                None => (Ok(None), None, None),
            }
        }
    };
    let Some(state) = state else { return Ok(Plan::read(None)) };
    let parts = both(named(view, state.roots.state), named(view, state.roots.ui));
    let run = run.map(|(session, run)| stream::read(view, &session).map(|streamed| (run, streamed))).transpose();
    let ((found, run), (messages, (channels, ui))) = both(both(found, run), both(messages(view, &state), parts))?;
    let Some(found) = found else { return Ok(Plan::read(None)) };
    let prompt = found.prompt.map(|prompt| objects::value(view, prompt)).transpose();
    let (pending, prompt) = both(pending::read(view, &found), prompt)?;
    let referring = messages
        .iter()
        .chain(channels.iter().chain(&ui).map(|(_, value)| value))
        .chain(pending.iter().map(|write| &write.value))
        .chain(&prompt);
    let binaries = binaries(view, referring)?;
    Ok(Plan::read(Some(Loaded {
        checkpoint: found,
        epoch,
        contents: Contents { messages, channels, ui, binaries },
        pending,
        prompt,
        run,
    })))
}

/// Plans the reading of a checkpoint's `ui` part alone.
///
/// # Errors
/// `Need`; `UnknownCheckpoint`, `RecordUnreadable`.
pub fn ui<T: Text>(
    view: &View<T>,
    scope: &ScopeId,
    session: &SessionId,
    id: &CheckpointId,
) -> Planned<Plan<T, Contents<T>>> {
    let found: Checkpoint<T> = head::checkpoint(view, scope, session, id)?;
    let ui = named(view, found.state.roots.ui)?;
    let binaries = binaries(view, ui.iter().map(|(_, value)| value))?;
    Ok(Plan::read(Contents { messages: Vec::new(), channels: Vec::new(), ui, binaries }))
}

/// Plans the reading of a state's message ids.
///
/// # Errors
/// `Need`; `UnknownCheckpoint`, `RecordUnreadable`.
pub fn message_ids<T: Text>(
    view: &View<T>,
    scope: &ScopeId,
    session: &SessionId,
    id: &CheckpointId,
) -> Planned<Plan<T, Vec<T>>> {
    let found: Checkpoint<T> = head::checkpoint(view, scope, session, id)?;
    let entries = log::entries(view, &found.state.spans)?;
    Ok(Plan::read(entries.into_iter().filter_map(|entry| entry.id).collect()))
}

/// What a listing asks for.
#[derive(Clone, Debug)]
pub struct List<T> {
    /// The scope.
    pub scope: ScopeId,
    /// The session.
    pub session: SessionId,
    /// At most this many.
    pub limit: u32,
    /// Only those before this one.
    pub before: Option<Before>,
    /// Only those that match.
    pub filter: Filter<T>,
}

/// Where a listing begins.
#[derive(Clone, Debug)]
pub enum Before {
    /// Before a checkpoint.
    Id(CheckpointId),
    /// Before a place, which holds even when the checkpoint there is gone.
    Seq(u32),
}

/// What a listed checkpoint must equal. Empty matches everything.
#[derive(Clone, Debug)]
pub struct Filter<T> {
    /// The words of its fields: `kind`, `source`, `name`, `commitHash`, `parentCheckpointId`, `turnId` (empty: it has none).
    pub words: Vec<(String, String)>,
    /// Further metadata: key and encoded value.
    pub extra: Vec<(String, T)>,
    /// What wrote it.
    pub writes: Option<Vec<String>>,
    /// Where it was forked from.
    pub forked_from: Option<Origin>,
}

impl<T> Default for Filter<T> {
    fn default() -> Self {
        Filter { words: Vec::new(), extra: Vec::new(), writes: None, forked_from: None }
    }
}

impl<T: Text> Filter<T> {
    fn matches(&self, checkpoint: &Checkpoint<T>) -> bool {
        let word = |(key, value): &(String, String)| match key.as_str() {
            "kind" => checkpoint.kind.word() == value,
            "source" => checkpoint.source.word() == value,
            "name" => checkpoint.name.as_deref().unwrap_or_default() == value.as_str(),
            "commitHash" => checkpoint.commit.as_deref().unwrap_or_default() == value.as_str(),
            "parentCheckpointId" => checkpoint.parent.as_ref().map_or("", CheckpointId::as_str) == value.as_str(),
            "turnId" => checkpoint.turn.as_ref().map_or("", |turn| turn.id.as_str()) == value.as_str(),
            _ => false,
        };
        self.words.iter().all(word)
            && self.extra.iter().all(|wanted| checkpoint.extra.contains(wanted))
            && self.writes.as_ref().is_none_or(|writes| *writes == checkpoint.writes)
            && self.forked_from.as_ref().is_none_or(|from| checkpoint.forked_from.as_ref() == Some(from))
    }
}

/// One page of a listing.
#[derive(Clone, Debug)]
pub struct Page<T> {
    /// The checkpoints, newest first.
    pub items: Vec<Checkpoint<T>>,
    /// Where the next page begins; `None` at the end.
    pub next: Option<u32>,
    /// The newest checkpoint of the session.
    pub head: Option<u32>,
}

/// Most checkpoints read at a time.
const MAX_STEP: u32 = 1000;

/// Plans one page of a listing, newest first. A session that does not exist has none.
///
/// # Errors
/// `Need`; `UnknownCheckpoint` when `before` names none.
pub fn list<T: Text>(view: &View<T>, command: &List<T>) -> Planned<Plan<T, Page<T>>> {
    let List { scope, session, limit, before, filter } = command;
    let Some(session) = head::find(view, scope, session)? else {
        return Ok(Plan::read(Page { items: Vec::new(), next: None, head: None }));
    };
    let mut at = match before {
        None => session.next,
        Some(Before::Seq(seq)) => *seq,
        Some(Before::Id(id)) => head::checkpoint::<T>(view, scope, &session.id, id)?.seq,
    };
    let mut items = Vec::new();
    let mut next = None;
    // A filter may pass over many: each step reads more than the one before.
    let mut want = (*limit).clamp(1, MAX_STEP);
    while items.len() < *limit as usize {
        let window = head::window(view, &session, at, want)?;
        let Some(last) = window.last() else {
            next = None;
            break;
        };
        at = last.seq;
        want = want.saturating_mul(2).min(MAX_STEP);
        next = Some(at).filter(|at| *at > session.oldest);
        for checkpoint in window {
            if items.len() < *limit as usize && filter.matches(&checkpoint) {
                next = Some(checkpoint.seq);
                items.push(checkpoint);
            }
        }
    }
    let next = next.filter(|at| *at > session.oldest);
    Ok(Plan::read(Page { items, next, head: session.head.map(|head| head.seq) }))
}

/// Plans the listing of a scope's sessions, newest first. An unreadable one is left out; `verify` names it.
///
/// # Errors
/// `Need`.
pub fn sessions<T: Text>(view: &View<T>, scope: &ScopeId) -> Planned<Plan<T, Vec<Session>>> {
    let rows = view.rows(Range::sessions(scope), None)?;
    let mut sessions = Map::new();
    for read in rows.iter() {
        if let Ok(Row::Session(session)) = read.row().map(|row| &**row) {
            sessions.insert(Reverse((session.updated, session.id.clone())), session.clone());
        }
    }
    Ok(Plan::read(sessions.into_values().collect()))
}

/// Plans the reading of one session's head.
///
/// # Errors
/// `Need`; `RecordUnreadable`.
pub fn session<T: Text>(view: &View<T>, scope: &ScopeId, id: &SessionId) -> Planned<Plan<T, Option<Session>>> {
    Ok(Plan::read(head::find(view, scope, id)?))
}

/// Plans the reading of a session's newest operations, newest first, with which of them `undo` would undo next.
///
/// # Errors
/// `Need`; `UnknownSession`.
pub fn operations<T: Text>(
    view: &View<T>,
    scope: &ScopeId,
    id: &SessionId,
    limit: u32,
) -> Planned<Plan<T, (Vec<Checkpoint<T>>, Option<u32>)>> {
    let session = head::session(view, scope, id)?;
    let newest = if limit == 0 { Vec::new() } else { head::window(view, &session, session.next, limit)? };
    Ok(Plan::read((newest, session.undo)))
}
