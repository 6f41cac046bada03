//! Bundles: sessions with everything they reach, self-contained. Exporting cuts out what is not reached, and
//! carries no damage.

use std::rc::Rc;

use serde::{Deserialize, Serialize};

use crate::codec::key::{Key, Piece, Range};
use crate::codec::row::{Messages, Object, Row, Write};
use crate::error::{Code, Error};
use crate::ids::{LogId, ScopeId, SessionId, TaskId};
use crate::model::body::Text;
use crate::model::checkpoint::Checkpoint;
use crate::model::hash::Hash;
use crate::model::session::Session;
use crate::model::sorted::{Map, Set};
use crate::model::span::{Coverage, Spans};
use crate::plan::log::{self, Entry};
use crate::plan::{collect, head, inspect, objects};
use crate::store::{Pause, Plan, Planned, Request, View, both};

pub use crate::plan::import::{Imported, OnExisting, plan as import};

/// What the first line of a bundle says.
pub const FORMAT: &str = "turnmark-bundle";
/// Version of the format.
pub const VERSION: u32 = 1;

/// A bundle. Its texts are of the platform's kind, as in rows; whoever crosses the border makes one text of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, bound = "T: Text")]
pub struct Bundle<T> {
    /// [`FORMAT`].
    pub format: String,
    /// [`VERSION`].
    pub version: u32,
    /// Heads.
    pub sessions: Vec<Session>,
    /// Headers, by session and place.
    pub checkpoints: Vec<Checkpoint<T>>,
    /// Runs of messages, by log.
    pub messages: Vec<(LogId, Messages<T>)>,
    /// Objects, piece by piece.
    pub objects: Vec<(Hash, u32, Object<T>)>,
    /// Pending writes: session, place of the checkpoint, task, index, value.
    pub writes: Vec<(SessionId, u32, TaskId, i32, Write<T>)>,
    /// Sessions that could not be read whole, with the reason.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub omitted: Vec<(SessionId, String)>,
}

impl<T> Bundle<T> {
    fn empty() -> Self {
        Bundle {
            format: FORMAT.to_owned(),
            version: VERSION,
            sessions: Vec::new(),
            checkpoints: Vec::new(),
            messages: Vec::new(),
            objects: Vec::new(),
            writes: Vec::new(),
            omitted: Vec::new(),
        }
    }
}

/// Plans an export: of the given sessions, or of all of the scope. One that cannot be read whole is left out of the export
/// of a scope, and named in it; asked for by its id, it is an error.
///
/// # Errors
/// `Need`; `UnknownSession`, `RecordUnreadable`.
pub fn export<T: Text>(view: &View<T>, scope: &ScopeId, only: Option<&[SessionId]>) -> Planned<Plan<T, Bundle<T>>> {
    let mut bundle = Bundle::empty();
    let ids: Set<SessionId> = match only {
        Some(ids) => ids.iter().cloned().collect(),
        None => {
            let keys = view.keys(Range::sessions(scope))?;
            keys.iter().filter_map(|key| SessionId::parse(key.text(1)?).ok()).collect()
        }
    };
    view.want(ids.iter().map(|id| Request::Row(Key::session(scope, id))))?;
    let mut needs = Vec::new();
    let mut parts = Vec::new();
    let mut omit = |id: &SessionId, error: Error| {
        if only.is_some() || error.code != Code::RecordUnreadable {
            return Err(Pause::Fail(error));
        }
        bundle.omitted.push((id.clone(), error.message.clone()));
        Ok(())
    };
    for id in ids.iter() {
        match gather(view, scope, id) {
            Ok(part) => parts.push(part),
            Err(Pause::Need(requests)) => needs.extend(requests),
            Err(Pause::Fail(error)) => omit(id, error)?,
        }
    }
    // What all sessions need is read together.
    if !needs.is_empty() {
        return Err(Pause::Need(needs));
    }
    let mut sound = Vec::new();
    for part in parts {
        let id = part.session.id.clone();
        let single = part.bundle();
        match inspect::check(&single) {
            Ok(()) => sound.push(single),
            Err(error) => omit(&id, Error::unreadable(format!("session {id}"), error.message.clone()))?,
        }
    }
    join(&mut bundle, sound);
    Ok(Plan::read(bundle))
}

/// A pending write: place of its checkpoint, task, index, value.
pub type Pending<T> = (u32, TaskId, i32, Write<T>);

/// One session with what it reaches.
pub struct Part<T> {
    /// Its head.
    pub session: Session,
    /// Its headers.
    pub checkpoints: Vec<Checkpoint<T>>,
    /// Its pending writes.
    pub writes: Vec<Pending<T>>,
    /// Messages, each with its place.
    pub entries: Vec<(LogId, u32, Entry<T>)>,
    /// Objects with all their pieces.
    pub objects: Vec<(Hash, Vec<Object<T>>)>,
}

fn gather<T: Text>(view: &View<T>, scope: &ScopeId, id: &SessionId) -> Planned<Part<T>> {
    // Which one is active belongs to the scope.
    let session = Session { opened: 0, ..head::session(view, scope, id)?.without_writer() };
    let (headers, pending) = (Range::checkpoints(scope, id), Range::session_writes(scope, id));
    let all = |range: &Range| Request::Rows { range: range.clone(), limit: None };
    view.want([all(&headers), all(&pending), Request::Keys(pending)])?;
    let mut rows: Vec<Rc<Row<T>>> = vec![Rc::new(Row::Session(session.clone()))];
    let mut reached = Coverage::default();
    reached.add(&session.state.spans);
    let mut checkpoints = Vec::new();
    for read in view.rows(headers, None)?.iter() {
        let row = read.row()?;
        let Row::Checkpoint(cp) = &**row else {
            return Err(Error::unreadable(format!("session {id}"), "a checkpoint is none").into());
        };
        reached.add(&cp.state.spans);
        checkpoints.push(cp.clone());
        rows.push(row.clone());
    }
    let writes = pending_writes(view, scope, id)?;
    rows.extend(writes.iter().map(|(.., write)| Rc::new(Row::Write(write.clone()))));
    let hashes = reach(view, &rows, &reached)?;
    let entries = placed(view, &reached.beyond(&Coverage::default()))?;
    let objects = wholes(view, &hashes)?;
    Ok(Part { session, checkpoints, writes, entries, objects })
}

/// The pending writes of a session.
///
/// # Errors
/// `Need`; `RecordUnreadable`.
pub fn pending_writes<T: Text>(view: &View<T>, scope: &ScopeId, id: &SessionId) -> Planned<Vec<Pending<T>>> {
    let pending = Range::session_writes(scope, id);
    let (rows, keys) = both(view.rows(pending.clone(), None), view.keys(pending))?;
    let mut writes = Vec::new();
    for (read, key) in rows.iter().zip(keys.iter()) {
        let (Row::Write(write), Some(seq), Some(task), Some(Piece::Number(index))) =
            (&**read.row()?, key.number(2), key.text(3), key.pieces.get(4))
        else {
            return Err(Error::unreadable(key, "it is not a pending write").into());
        };
        let index = i32::try_from(*index).map_err(|_| Error::unreadable(key, "its place is out of range"))?;
        writes.push((seq, TaskId::parse(task)?, index, write.clone()));
    }
    Ok(writes)
}

/// The messages of a list, each with its place.
///
/// # Errors
/// `Need`; `RecordUnreadable`.
pub fn placed<T: Text>(view: &View<T>, spans: &Spans) -> Planned<Vec<(LogId, u32, Entry<T>)>> {
    let places = spans.places().map(|(log, seq)| (log.clone(), seq));
    Ok(places.zip(log::entries(view, spans)?).map(|((log, seq), entry)| (log, seq, entry)).collect())
}

/// Objects with all their pieces.
///
/// # Errors
/// `Need`; `RecordUnreadable`.
pub fn wholes<T: Text>(view: &View<T>, hashes: &Set<Hash>) -> Planned<Vec<(Hash, Vec<Object<T>>)>> {
    objects::want_whole(view, hashes.iter().copied())?;
    hashes.iter().map(|hash| Ok((*hash, objects::whole(view, *hash)?))).collect()
}

/// The objects that rows reach, asking for the references of the logs and values concerned only.
fn reach<T: Text>(view: &View<T>, rows: &[Rc<Row<T>>], reached: &Coverage) -> Planned<Set<Hash>> {
    let read = |ranges: Vec<Range>, into: &mut Vec<Key>| -> Planned<()> {
        view.want(ranges.iter().cloned().map(Request::Keys))?;
        for range in ranges {
            into.extend(view.keys(range)?.iter().cloned());
        }
        Ok(())
    };
    let mut references = Vec::new();
    read(reached.logs().map(|log| Range::references(log, 0, u32::MAX)).collect(), &mut references)?;
    let first = collect::mark(view, &collect::Roots { rows, references: &references })?;
    read(first.values.iter().copied().map(Range::object_references).collect(), &mut references)?;
    Ok(collect::mark(view, &collect::Roots { rows, references: &references })?.objects)
}

impl<T: Text> Part<T> {
    /// A bundle of this session alone.
    pub fn bundle(self) -> Bundle<T> {
        let mut bundle = Bundle::empty();
        for (seq, task, index, write) in self.writes {
            bundle.writes.push((self.session.id.clone(), seq, task, index, write));
        }
        bundle.checkpoints = self.checkpoints;
        bundle.messages = runs(self.entries);
        for (hash, pieces) in self.objects {
            bundle.objects.extend(pieces.into_iter().zip(0..).map(|(piece, at)| (hash, at, piece)));
        }
        bundle.sessions.push(self.session);
        bundle
    }
}

/// Packs the messages of many logs, so that those nobody reaches do not travel in a row they share.
fn runs<T: Text>(entries: Vec<(LogId, u32, Entry<T>)>) -> Vec<(LogId, Messages<T>)> {
    let mut logs: Map<LogId, Map<u32, Entry<T>>> = Map::new();
    for (log, seq, entry) in entries {
        logs.slot(log).insert(seq, entry);
    }
    let pack = |(log, entries): (LogId, Map<u32, Entry<T>>)| {
        log::pack(entries).into_iter().map(move |(run, _)| (log.clone(), run)).collect::<Vec<_>>()
    };
    logs.into_iter().flat_map(pack).collect()
}

/// Puts together what a mirror was given of one session, oldest first: the newest books, and all the content.
#[must_use]
pub fn together<T: Text>(parts: Vec<Bundle<T>>) -> Bundle<T> {
    let last = parts.len().saturating_sub(1);
    let mut bundle = Bundle::empty();
    let only_content = |(at, part): (usize, Bundle<T>)| match at {
        _ if at == last => part,
        _ => Bundle { messages: part.messages, objects: part.objects, ..Bundle::empty() },
    };
    join(&mut bundle, parts.into_iter().enumerate().map(only_content).collect());
    bundle
}

/// Puts single sessions together. What they share is in it once.
fn join<T: Text>(bundle: &mut Bundle<T>, parts: Vec<Bundle<T>>) {
    let mut objects = Map::new();
    let mut entries = Vec::new();
    for part in parts {
        bundle.sessions.extend(part.sessions);
        bundle.checkpoints.extend(part.checkpoints);
        bundle.writes.extend(part.writes);
        objects.extend(part.objects.into_iter().map(|(hash, piece, object)| ((hash, piece), object)));
        for (log, run) in part.messages {
            entries.extend(log::unpack(&run).into_iter().zip(run.from..).map(|(entry, seq)| (log.clone(), seq, entry)));
        }
    }
    bundle.messages = runs(entries);
    bundle.objects = objects.into_iter().map(|((hash, piece), object)| (hash, piece, object)).collect();
}
