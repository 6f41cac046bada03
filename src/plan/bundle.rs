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
use crate::plan::{census, collect, head, inspect, objects};
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
    /// Sessions that could not be read whole, with the reason. What can be read of one is here all the same.
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

/// Plans an export: of the given sessions, or of all of the scope. Of one that cannot be read whole, the export of a scope
/// has what can be read, and names it; asked for by its id, it is an error.
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
        match gather(view, scope, id, only.is_some()) {
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
        let (id, left) = (part.session.id.clone(), part.left);
        let single = part.bundle();
        match inspect::check(&single) {
            Ok(()) => {
                if left > 0 {
                    let why = format!("{left} of its checkpoints and pending writes cannot be read; the rest is here");
                    omit(&id, Error::unreadable(format!("session {id}"), why))?;
                }
                sound.push(single);
            }
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
    /// How many checkpoints and pending writes cannot be read, and are not in it.
    pub left: usize,
}

/// Reads a session with everything it reaches; of one that is damaged, what can be read, unless all is asked for.
fn gather<T: Text>(view: &View<T>, scope: &ScopeId, id: &SessionId, is_strict: bool) -> Planned<Part<T>> {
    // Which one is active belongs to the scope.
    let mut session = Session { opened: 0, ..head::session(view, scope, id)?.without_writer() };
    let (headers, pending) = (Range::checkpoints(scope, id), Range::session_writes(scope, id));
    let all = |range: &Range| Request::Rows { range: range.clone(), limit: None };
    view.want([all(&headers), all(&pending), Request::Keys(pending.clone())])?;
    let (headers, keys) = (view.rows(headers, None)?, view.keys(pending.clone())?);
    let pending = view.rows(pending, None)?;
    let mut rows: Vec<Rc<Row<T>>> = headers.iter().filter_map(|read| read.row().ok().cloned()).collect();
    let mut writes: Vec<(&Key, Rc<Row<T>>)> =
        pending.iter().zip(keys.iter()).filter_map(|(read, key)| Some((key, read.row().ok()?.clone()))).collect();
    let roots = |session: &Session, rows: &[Rc<Row<T>>], writes: &[(&Key, Rc<Row<T>>)]| -> Vec<Rc<Row<T>>> {
        let session = Rc::new(Row::Session(session.clone()));
        rows.iter().cloned().chain(writes.iter().map(|(_, row)| row.clone())).chain([session]).collect()
    };
    let newest = |rows: &[Rc<Row<T>>]| match rows.last().map(|row| &**row) {
        Some(Row::Checkpoint(newest)) => Some(newest.clone()),
        _ => None,
    };
    let is_current = |session: &Session, rows: &[Rc<Row<T>>]| match newest(rows) {
        Some(newest) => session.agrees(&newest),
        None => session.head.is_none(),
    };
    let owned = |rows: &[Rc<Row<T>>], key: &Key| {
        rows.iter().any(|row| matches!(&**row, Row::Checkpoint(cp) if key.number(2) == Some(cp.seq)))
    };
    let is_whole = rows.len() + writes.len() == headers.len() + pending.len()
        && is_current(&session, &rows)
        && writes.iter().all(|(key, _)| owned(&rows, key));
    let contents = content(view, &roots(&session, &rows, &writes)).and_then(|found| {
        let why = "some of its records cannot be read";
        if is_whole { Ok(found) } else { Err(Error::unreadable(format!("session {id}"), why).into()) }
    });
    let (mut contents, mut left) = (contents, 0);
    if matches!(&contents, Err(Pause::Fail(error)) if error.code == Code::RecordUnreadable && !is_strict) {
        let mut needs = Vec::new();
        rows.retain(|row| is_readable(view, row, &mut needs));
        writes.retain(|(key, row)| owned(&rows, key) && is_readable(view, row, &mut needs));
        if !needs.is_empty() {
            return Err(Pause::Need(needs));
        }
        // Where nothing is left, the first reason tells why.
        if let Some(newest) = newest(&rows) {
            left = headers.len() + pending.len() - rows.len() - writes.len();
            if !session.agrees(&newest) {
                session.back_to(&newest, 0);
                left = left.max(1);
            }
            session.state = newest.state;
            contents = content(view, &roots(&session, &rows, &writes));
        }
    }
    let (entries, objects) = contents?;
    let checkpoints = rows.iter().filter_map(|row| match &**row {
        Row::Checkpoint(cp) => Some(cp.clone()),
        _ => None,
    });
    let writes = writes.iter().map(|(key, row)| as_pending(key, row)).collect::<Planned<Vec<_>>>()?;
    let checkpoints = checkpoints.collect();
    Ok(Part { session, checkpoints, writes, entries, objects, left })
}

fn as_pending<T: Text>(key: &Key, row: &Row<T>) -> Planned<Pending<T>> {
    let (Row::Write(write), Some(seq), Some(task), Some(Piece::Number(index))) =
        (row, key.number(2), key.text(3), key.pieces.get(4))
    else {
        return Err(Error::unreadable(key, "it is not a pending write").into());
    };
    let index = i32::try_from(*index).map_err(|_| Error::unreadable(key, "its place is out of range"))?;
    Ok((seq, TaskId::parse(task)?, index, write.clone()))
}

/// The pending writes of a session.
///
/// # Errors
/// `Need`; `RecordUnreadable`.
pub fn pending_writes<T: Text>(view: &View<T>, scope: &ScopeId, id: &SessionId) -> Planned<Vec<Pending<T>>> {
    let range = Range::session_writes(scope, id);
    let (rows, keys) = both(view.rows(range.clone(), None), view.keys(range))?;
    rows.iter().zip(keys.iter()).map(|(read, key)| as_pending(key, read.row()?)).collect()
}

/// Whether all that a row reaches can be read.
fn is_readable<T: Text>(view: &View<T>, row: &Rc<Row<T>>, needs: &mut Vec<Request>) -> bool {
    match content(view, std::slice::from_ref(row)) {
        Err(Pause::Need(requests)) => needs.extend(requests),
        Err(Pause::Fail(_)) => return false,
        Ok(_) => {}
    }
    true
}

type Contents<T> = (Vec<(LogId, u32, Entry<T>)>, Vec<(Hash, Vec<Object<T>>)>);

/// The messages and objects that a session, headers and pending writes reach.
fn content<T: Text>(view: &View<T>, rows: &[Rc<Row<T>>]) -> Planned<Contents<T>> {
    let mut reached = Coverage::default();
    for row in rows {
        match &**row {
            Row::Session(session) => reached.add(&session.state.spans),
            Row::Checkpoint(cp) => reached.add(&cp.state.spans),
            Row::Write(_) => {}
            _ => return Err(Error::unreadable("of a session", "it is neither a checkpoint nor a pending write").into()),
        }
    }
    // What messages and values refer to they say themselves: a reference that was lost is not missed.
    let mut hashes = collect::mark(view, &collect::Roots { rows, references: &[] })?.objects;
    let entries = placed(view, &reached.beyond(&Coverage::default()))?;
    hashes.extend(entries.iter().flat_map(|(.., entry)| entry.objects()));
    Ok((entries, wholes(view, &hashes)?))
}

/// The messages of a list, each with its place.
///
/// # Errors
/// `Need`; `RecordUnreadable`.
pub fn placed<T: Text>(view: &View<T>, spans: &Spans) -> Planned<Vec<(LogId, u32, Entry<T>)>> {
    let places = spans.places().map(|(log, seq)| (log.clone(), seq));
    Ok(places.zip(log::entries(view, spans)?).map(|((log, seq), entry)| (log, seq, entry)).collect())
}

/// Objects and the binaries that they refer to, with all their pieces.
///
/// # Errors
/// `Need`; `RecordUnreadable`.
pub fn wholes<T: Text>(view: &View<T>, hashes: &Set<Hash>) -> Planned<Vec<(Hash, Vec<Object<T>>)>> {
    let read = |hashes: &Set<Hash>| -> Planned<Vec<(Hash, Vec<Object<T>>)>> {
        objects::want_whole(view, hashes.iter().copied())?;
        hashes.iter().map(|hash| Ok((*hash, objects::whole(view, *hash)?))).collect()
    };
    let mut objects = read(hashes)?;
    let mut binaries: Set<Hash> = objects.iter().flat_map(|(_, pieces)| census::refs::<T>(pieces)).collect();
    hashes.iter().for_each(|hash| _ = binaries.remove(hash));
    objects.extend(read(&binaries)?);
    Ok(objects)
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
