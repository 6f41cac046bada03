//! Everything a database holds, row by row, so that one bad row stays alone. What verification looks at.

use std::borrow::Borrow;
use std::rc::Rc;

use crate::codec::key::{Key, Range, Store};
use crate::codec::row::{Content, Messages, Object, Row, Write};
use crate::ids::LogId;
use crate::model::body::{Text, content_hash};
use crate::model::checkpoint::Checkpoint;
use crate::model::hash::Hash;
use crate::model::session::Session;
use crate::model::sorted::{Map, Set};
use crate::plan::verify::{Report, Wrong};
use crate::store::{Planned, Read, Request, View};

/// Everything that could be read.
pub struct Census<T> {
    /// Sessions.
    pub sessions: Vec<Session>,
    /// Checkpoints, by scope, session and place.
    pub checkpoints: Vec<Checkpoint<T>>,
    /// Runs of each log, in order.
    pub runs: Map<LogId, Vec<Messages<T>>>,
    /// Pieces of each object, in order.
    pub pieces: Map<Hash, Vec<Object<T>>>,
    /// Pending writes.
    pub writes: Vec<(Key, Write<T>)>,
    /// Keys of what was added to messages that grow.
    pub streams: Vec<Key>,
    /// Keys of the references.
    pub references: Vec<Key>,
    /// Objects that are damaged, and how.
    pub damaged: Map<Hash, (Wrong, &'static str)>,
    /// Rows that are not what they should be, and whether the storage gives their value.
    pub bad: Vec<(Key, bool)>,
    /// Sessions, checkpoints and pending writes as they were read.
    pub roots: Vec<Rc<Row<T>>>,
}

/// Reads every row; reports those that cannot be read, are not what their store holds or not what their key says, and
/// objects that are not what their hash says.
///
/// # Errors
/// `Need`.
pub fn take<T: Text>(view: &View<T>, report: &mut Report) -> Planned<Census<T>> {
    view.want(Store::ALL.iter().map(|store| Request::Keys(Range::all(*store))))?;
    let mut keys: Vec<Key> = Vec::new();
    for store in Store::ALL {
        keys.extend(view.keys(Range::all(*store))?.iter().cloned());
    }
    let references: Vec<Key> = keys.iter().filter(|key| key.store == Store::References).cloned().collect();
    // A reference says everything in its key.
    keys.retain(|key| key.store != Store::References);
    view.want(keys.iter().cloned().map(Request::Row))?;
    let mut census = Census {
        sessions: Vec::new(),
        checkpoints: Vec::new(),
        runs: Map::new(),
        pieces: Map::new(),
        writes: Vec::new(),
        streams: Vec::new(),
        references,
        damaged: Map::new(),
        bad: Vec::new(),
        roots: Vec::new(),
    };
    if !keys.contains(&Key::meta()) {
        report.add(Wrong::Missing, Key::meta(), "the row about the database itself is not there", []);
    }
    // What else is in the store of the database's own row are marks of open stores, and filler of a cure that was interrupted.
    for key in keys.into_iter().filter(|key| key.store != Store::Meta || *key == Key::meta()) {
        match view.raw(key.clone())? {
            Some(Read::Row(row)) => census.add(&key, &row, report),
            // Where the browser itself failed, it is named as the cause.
            Some(Read::Unreadable(error)) => {
                census.unreadable(&key, error.message.clone(), error.cause.is_none(), report);
            }
            None => {}
        }
    }
    census.weigh_objects(report);
    Ok(census)
}

impl<T: Text> Census<T> {
    fn add(&mut self, key: &Key, row: &Rc<Row<T>>, report: &mut Report) {
        let log = key.text(0).and_then(|log| LogId::parse(log).ok());
        let hash = key.text(0).and_then(Hash::from_hex);
        let named = match (&**row, key.store) {
            (Row::Meta(_), Store::Meta) | (Row::Write(_), Store::Writes) | (Row::Stream(_), Store::Streams) => true,
            (Row::Session(session), Store::Sessions) => *key == Key::session(&session.scope, &session.id),
            (Row::Checkpoint(cp), Store::Checkpoints) => *key == Key::checkpoint(&cp.scope, &cp.session, cp.seq),
            (Row::Messages(run), Store::Messages) if run.is_sound() => log.is_some() && key.number(1) == Some(run.from),
            (Row::Object(_), Store::Objects) => hash.is_some(),
            _ => return self.unreadable(key, "it is not what this store holds".to_owned(), true, report),
        };
        if !named {
            self.bad.push((key.clone(), true));
            report.add(Wrong::Inconsistent, key, "the record is not the one its key names", []);
            return;
        }
        match &**row {
            Row::Session(session) => self.sessions.push(session.clone()),
            Row::Checkpoint(cp) => self.checkpoints.push(cp.clone()),
            Row::Write(write) => self.writes.push((key.clone(), write.clone())),
            Row::Stream(_) => self.streams.push(key.clone()),
            Row::Messages(run) => log.into_iter().for_each(|log| self.runs.slot(log).push(run.clone())),
            Row::Object(object) => {
                let Some(hash) = hash else { return };
                let pieces = self.pieces.slot(hash);
                // Keys come in order, so pieces do.
                if key.number(1) != u32::try_from(pieces.len()).ok() {
                    self.damaged.insert(hash, (Wrong::Missing, "pieces of the object are missing"));
                }
                pieces.push(object.clone());
            }
            Row::Meta(_) | Row::Reference(_) => {}
        }
        if matches!(&**row, Row::Session(_) | Row::Checkpoint(_) | Row::Write(_)) {
            self.roots.push(row.clone());
        }
    }

    fn unreadable(&mut self, key: &Key, why: String, given: bool, report: &mut Report) {
        self.bad.push((key.clone(), given));
        report.add(Wrong::Unreadable, key, why, []);
        if let Some(hash) = key.text(0).and_then(Hash::from_hex).filter(|_| key.store == Store::Objects) {
            self.damaged.insert(hash, (Wrong::Unreadable, "a piece of the object cannot be read"));
        }
    }

    fn weigh_objects(&mut self, report: &mut Report) {
        let references: Set<&Key> = self.references.iter().collect();
        for (hash, pieces) in self.pieces.iter() {
            report.objects += 1;
            if self.damaged.contains_key(hash) {
                continue;
            }
            match object_hash::<T>(pieces) {
                Some(found) if found == *hash => {}
                Some(_) => _ = self.damaged.insert(*hash, (Wrong::HashMismatch, "the object is not what was written")),
                None => {
                    _ = self.damaged.insert(*hash, (Wrong::Missing, "pieces of the object are missing or mixed up"))
                }
            }
            for target in refs::<T>(pieces) {
                let key = Key::object_reference(*hash, target);
                if !references.contains(&key) {
                    report.add(
                        Wrong::Missing,
                        key,
                        "the reference is not there, so what it leads to could be collected",
                        [],
                    );
                }
            }
        }
        for (hash, (wrong, why)) in self.damaged.iter() {
            report.add(*wrong, Key::object(*hash, 0), *why, []);
        }
    }

    /// What is wrong with an object that something refers to; `None` when nothing is.
    pub fn fault(&self, hash: Hash) -> Option<(Wrong, &'static str)> {
        match self.damaged.get(&hash) {
            Some(damage) => Some(*damage),
            None if self.pieces.contains_key(&hash) => None,
            None => Some((Wrong::Missing, "it is referred to and not there")),
        }
    }

    /// The run that holds a message.
    pub fn run(&self, log: &LogId, at: u32) -> Option<&Messages<T>> {
        let runs = self.runs.get(log)?;
        let index = runs.partition_point(|run| run.from <= at).checked_sub(1)?;
        runs.get(index).filter(|run| at - run.from < run.len())
    }
}

/// What an object refers to.
pub fn refs<T>(pieces: &[impl Borrow<Object<T>>]) -> Vec<Hash> {
    pieces.iter().flat_map(|piece| piece.borrow().refs.iter().copied()).collect()
}

/// The hash of an object's content; `None` when pieces are missing or of different kinds.
pub fn object_hash<T: Text>(pieces: &[impl Borrow<Object<T>>]) -> Option<Hash> {
    let first = pieces.first()?.borrow();
    if pieces.iter().any(|piece| piece.borrow().of as usize != pieces.len()) {
        return None;
    }
    let refs = refs(pieces);
    match &first.content {
        Content::Node(node) => (pieces.len() == 1 && node.is_sound() && refs.is_empty()).then(|| node.hash()),
        Content::Text(_) => Some(content_hash(&whole_text(pieces)?, &Hash::pack(&refs))),
        Content::Bytes(_) => {
            let bytes = whole_bytes(pieces)?;
            refs.is_empty().then(|| Hash::of("bytes", &[&bytes]))
        }
    }
}

/// The text of a value; `None` when a piece is none.
pub fn whole_text<T: Text>(pieces: &[impl Borrow<Object<T>>]) -> Option<String> {
    let mut text = String::new();
    for piece in pieces {
        let Content::Text(part) = &piece.borrow().content else { return None };
        text.push_str(&part.utf8());
    }
    Some(text)
}

/// The bytes of a binary; `None` when a piece is none.
pub fn whole_bytes<T>(pieces: &[impl Borrow<Object<T>>]) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    for piece in pieces {
        let Content::Bytes(part) = &piece.borrow().content else { return None };
        bytes.extend_from_slice(part);
    }
    Some(bytes)
}
