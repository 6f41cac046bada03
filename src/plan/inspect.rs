//! The inspection of a bundle: everything in it is checked before anything of it is used.

use crate::codec::row::{Content, MAX_INLINE, MAX_RUN, MAX_TEXT, Messages, Object};
use crate::error::{Code, Error, Result};
use crate::ids::{DeviceId, LogId, SessionId, check_message_id};
use crate::model::body::{Text, content_hash, weight};
use crate::model::checkpoint::Checkpoint;
use crate::model::hash::Hash;
use crate::model::session::{Session, State, Vector};
use crate::model::sorted::{Map, Set};
use crate::model::span::{Coverage, Span, Spans};
use crate::plan::bundle::{Bundle, FORMAT, VERSION};
use crate::plan::census::{object_hash, refs, whole_text};
use crate::plan::delete::MAX_TITLE;
use crate::plan::log::{self, MAX_REFS, MAX_ROLE, Sum};
use crate::plan::parts::MAX_NAME;
use crate::plan::sessions::MAX_REMOTE;
use crate::plan::write::check_commit;

/// A bundle that cannot be used.
pub fn bad(why: impl Into<String>) -> Error {
    Error::new(
        Code::BadBundle,
        format!("this is not a bundle that can be imported: {}. Nothing was imported", why.into()),
    )
}

fn ensure(holds: bool, why: impl FnOnce() -> String) -> Result<()> {
    if holds { Ok(()) } else { Err(bad(why())) }
}

/// Places are counted on from, in 32 bits.
const PLACES: u32 = 1 << 30;
/// Numbers that JavaScript can count on from.
const NUMBERS: u64 = 1 << 52;

/// Checks everything in a bundle: that its contents are what their hashes say, that everything referred to is there, that
/// its books agree, and that nothing is larger than this library would have written it.
///
/// # Errors
/// `BadBundle`.
pub fn check<T: Text>(bundle: &Bundle<T>) -> Result<()> {
    ensure(bundle.format == FORMAT, || format!("its format is \"{}\"", bundle.format))?;
    ensure(bundle.version == VERSION, || {
        format!("its version is {} and this release reads {VERSION}", bundle.version)
    })?;
    check_texts(bundle)?;
    let objects = Objects::of(bundle)?;
    objects.check_trees()?;
    let runs = Runs::of(bundle, &objects)?;
    check_books(bundle)?;
    let mut sum = Sum::default();
    for cp in &bundle.checkpoints {
        check_state(&cp.state, &objects, &runs, &mut sum)?;
        ensure(cp.prompt.is_none_or(|prompt| objects.is_value(prompt)), || "a prompt is not in it".to_owned())?;
    }
    for session in &bundle.sessions {
        check_state(&session.state, &objects, &runs, &mut sum)?;
    }
    check_writes(bundle, &objects)
}

/// The objects of a bundle, whole.
pub struct Objects<'a, T>(Map<Hash, Vec<&'a Object<T>>>);

impl<'a, T: Text> Objects<'a, T> {
    /// Puts pieces together and checks each object against its hash.
    fn of(bundle: &'a Bundle<T>) -> Result<Self> {
        let mut all: Map<Hash, Vec<&Object<T>>> = Map::new();
        for (hash, piece, object) in &bundle.objects {
            let pieces = all.slot(*hash);
            ensure(*piece as usize == pieces.len(), || format!("object {hash:?} is out of order"))?;
            let fits = match &object.content {
                Content::Text(text) => weight(&text.utf8()) <= MAX_TEXT,
                Content::Bytes(bytes) => bytes.len() <= MAX_TEXT,
                Content::Node(node) => node.is_sound(),
            };
            ensure(fits, || format!("a piece of object {hash:?} is too large or not sound"))?;
            pieces.push(object);
        }
        for (hash, pieces) in all.iter() {
            ensure(object_hash::<T>(pieces) == Some(*hash), || format!("object {hash:?} is not what its hash says"))?;
        }
        let objects = Objects(all);
        for pieces in objects.0.values() {
            for binary in refs::<T>(pieces) {
                ensure(objects.is_binary(binary), || {
                    format!("an object refers to binary {binary:?}, which is not in it")
                })?;
            }
        }
        Ok(objects)
    }

    /// The pieces of an object.
    pub fn get(&self, hash: Hash) -> Option<&[&'a Object<T>]> {
        self.0.get(&hash).map(Vec::as_slice)
    }

    fn content(&self, hash: Hash) -> Option<&'a Content<T>> {
        self.0.get(&hash)?.first().map(|piece| &piece.content)
    }

    fn is_binary(&self, hash: Hash) -> bool {
        matches!(self.content(hash), Some(Content::Bytes(_)))
    }

    fn is_value(&self, hash: Hash) -> bool {
        matches!(self.content(hash), Some(Content::Text(_)))
    }

    fn is_node(&self, hash: Hash) -> bool {
        matches!(self.content(hash), Some(Content::Node(_)))
    }

    /// Checks that trees are sorted and lead where they should: a branch to nodes one level below by their first keys, a
    /// leaf to values. So no two entries of a tree lead to one node, and no tree is larger than the bundle.
    fn check_trees(&self) -> Result<()> {
        let mut levels: Map<u8, Vec<(Hash, &crate::model::tree::Node)>> = Map::new();
        for (hash, pieces) in self.0.iter() {
            if let Some(Content::Node(node)) = pieces.first().map(|piece| &piece.content) {
                levels.slot(node.level).push((*hash, node));
            }
        }
        let mut last: Map<Hash, &String> = Map::new();
        for (hash, node) in levels.into_values().flatten() {
            let mut before: Option<&String> = None;
            for (key, child) in node.entries() {
                ensure(key.len() <= MAX_NAME, || "the name of a channel is too long".to_owned())?;
                let end = if node.level == 0 {
                    self.is_value(child).then_some(key)
                } else {
                    match self.content(child) {
                        Some(Content::Node(below))
                            if below.level + 1 == node.level && below.keys.first() == Some(key) =>
                        {
                            last.get(&child).copied()
                        }
                        _ => None,
                    }
                };
                let sorted = before.is_none_or(|before| before < key);
                let Some(end) = end.filter(|_| sorted) else {
                    return Err(bad("a tree leads to something else than it should"));
                };
                before = Some(end);
            }
            if let Some(end) = before {
                last.insert(hash, end);
            }
        }
        Ok(())
    }
}

/// The runs of a bundle, by log.
struct Runs<'a, T> {
    logs: Map<&'a LogId, Vec<&'a Messages<T>>>,
    present: Coverage,
}

impl<'a, T: Text> Runs<'a, T> {
    fn of(bundle: &'a Bundle<T>, objects: &Objects<'_, T>) -> Result<Self> {
        let mut runs = Runs { logs: Map::new(), present: Coverage::default() };
        for (log, run) in &bundle.messages {
            let list = runs.logs.slot(log);
            let sound = run.is_sound() && run.len() <= MAX_RUN && run.from < PLACES;
            let after = list.last().is_none_or(|last| last.from + last.len() <= run.from);
            ensure(sound && after, || format!("the messages of log {log} are out of order"))?;
            for (entry, seq) in log::unpack(run).into_iter().zip(run.from..) {
                check_message(&entry, objects).map_err(|why| bad(format!("message {seq} of log {log} {why}")))?;
            }
            list.push(run);
            let mut spans = Spans::default();
            spans.push(Span(log.clone(), run.from, run.from + run.len()));
            runs.present.add(&spans);
        }
        Ok(runs)
    }

    fn at(&self, log: &LogId, seq: u32) -> Option<&'a Messages<T>> {
        let runs = self.logs.get(log)?;
        let index = runs.partition_point(|run| run.from <= seq).checked_sub(1)?;
        runs.get(index).copied().filter(|run| seq - run.from < run.len())
    }
}

fn check_message<T: Text>(entry: &log::Entry<T>, objects: &Objects<'_, T>) -> std::result::Result<(), &'static str> {
    let named = entry.id.as_ref().is_none_or(|id| check_message_id(&id.utf8()).is_ok());
    let cast = entry.role.as_ref().is_none_or(|role| role.utf8().chars().count() <= MAX_ROLE);
    if !named || !cast {
        return Err("has an id or a role that cannot be one");
    }
    match &entry.text {
        Some(text) => {
            let text = text.utf8();
            if content_hash(&text, &Hash::pack(&entry.refs)) != entry.hash {
                return Err("is not what its hash says");
            }
            let bounded = weight(&text) <= MAX_INLINE && entry.refs.len() <= MAX_REFS;
            if !bounded || weight(&text) != entry.size as usize {
                return Err("has another size than it should");
            }
            if !entry.refs.iter().all(|hash| objects.is_binary(*hash)) {
                return Err("refers to a binary that is not in it");
            }
        }
        None => {
            let text = objects.get(entry.hash).and_then(whole_text::<T>).ok_or("is not in it")?;
            if weight(&text) != entry.size as usize || !entry.refs.is_empty() {
                return Err("has another size than it should");
            }
        }
    }
    Ok(())
}

fn check_state<T: Text>(state: &State, objects: &Objects<'_, T>, runs: &Runs<'_, T>, sum: &mut Sum) -> Result<()> {
    let count: u64 = state.spans.iter().map(|span| u64::from(span.len())).sum();
    let present = count < u64::from(PLACES) && runs.present.holds(&state.spans);
    ensure(present, || "a checkpoint refers to messages that are not in it".to_owned())?;
    let found = sum.over(&state.spans, |log, seq| runs.at(log, seq));
    ensure(found == Ok((state.size, state.history)), || "a checkpoint does not add up".to_owned())?;
    ensure(state.roots.iter().all(|root| objects.is_node(root)), || {
        "a checkpoint refers to a tree that is not in it".to_owned()
    })
}

/// Checks sessions and headers against each other.
fn check_books<T: Text>(bundle: &Bundle<T>) -> Result<()> {
    let mut owned: Map<&SessionId, Vec<&Checkpoint<T>>> = Map::new();
    for cp in &bundle.checkpoints {
        owned.slot(&cp.session).push(cp);
    }
    for session in &bundle.sessions {
        let id = &session.id;
        let Some(mine) = owned.remove(id).or_else(|| session.head.is_none().then(Vec::new)) else {
            return Err(bad(format!("the newest checkpoint of session {id:?} is not in it")));
        };
        check_session(session, &mine).map_err(|why| bad(format!("session {id:?} {why}")))?;
        // A second session of that id finds none.
        owned.insert(id, Vec::new());
    }
    let ids: Set<&SessionId> = bundle.sessions.iter().map(|session| &session.id).collect();
    ensure(ids.len() == bundle.sessions.len(), || "a session is in it twice".to_owned())?;
    ensure(owned.values().all(Vec::is_empty), || "a checkpoint belongs to no session in it".to_owned())
}

fn check_session<T: Text>(session: &Session, mine: &[&Checkpoint<T>]) -> std::result::Result<(), String> {
    let vector = |vector: &Vector| vector.values().all(|n| *n < NUMBERS);
    let below = |place: Option<u32>, end: u32| place.is_none_or(|place| place < end);
    let numbers = [session.epoch, session.created, session.updated];
    let bounded = session.next < PLACES
        && numbers.iter().all(|n| *n < NUMBERS)
        && session.title.as_ref().is_none_or(|title| title.chars().count() <= MAX_TITLE)
        && session.remote.as_ref().is_none_or(|remote| remote.chars().count() <= MAX_REMOTE)
        && session.number.max(session.prompts).max(session.state.turns) < PLACES
        && check_commit(session.commit.as_deref()).is_ok()
        && vector(&session.vector)
        && bulk(&session.state, &session.vector) < MAX_TEXT
        && below(session.undo.max(session.redo).max(session.restore_point), session.next);
    if !bounded {
        return Err("has a number or a text that is out of bounds".to_owned());
    }
    let mut ids = Set::new();
    let mut before: Option<&Checkpoint<T>> = None;
    for cp in mine {
        let later = before.is_none_or(|before| before.seq < cp.seq && before.epoch < cp.epoch);
        let links = &cp.operation;
        let bounded = cp.seq < session.next
            && cp.epoch <= session.epoch
            && cp.at < NUMBERS
            && cp.state.turns.max(cp.turn.as_ref().map_or(0, |turn| turn.seq)) < PLACES
            && vector(&cp.vector)
            && header_bulk(cp) < MAX_TEXT
            && below(links.before.max(links.undo).max(links.redo), cp.seq);
        if !later || !bounded || !ids.insert(&cp.id) {
            return Err(format!("has a checkpoint {} that is out of order or out of bounds", cp.id));
        }
        before = Some(cp);
    }
    let live = before.map(|cp| (cp.seq, &cp.id, cp.provisional));
    if live != session.head.as_ref().map(|head| (head.seq, &head.id, head.provisional)) {
        return Err("has another newest checkpoint than it says".to_owned());
    }
    let content = |state: &State| (state.listed, state.size, state.history, state.roots.clone());
    if before.map_or_else(|| content(&State::default()), |cp| content(&cp.state)) != content(&session.state) {
        return Err("has another live state than its newest checkpoint".to_owned());
    }
    Ok(())
}

/// Bytes in a row of what its other checks set no bound to: spans and vectors.
fn bulk(state: &State, vector: &Vector) -> usize {
    let names = state.spans.iter().map(|span| span.0.as_str()).chain(vector.keys().map(DeviceId::as_str));
    names.map(|name| weight(name) + 16).sum()
}

/// The same of a header, its texts included.
fn header_bulk<T: Text>(cp: &Checkpoint<T>) -> usize {
    let counters = cp.usage.iter().flat_map(|usage| usage.total.keys().chain(usage.delta.keys()));
    let words =
        cp.writes.iter().chain(&cp.name).chain(&cp.commit).chain(counters).map(|word| weight(word) + 16).sum::<usize>();
    let extra = cp.extra.iter().map(|(key, text)| weight(key) + weight(&text.utf8()) + 16).sum::<usize>();
    let opens = cp.opens.as_ref().map_or(0, |id| weight(&id.utf8()));
    bulk(&cp.state, &cp.vector) + words + extra + opens
}

/// Refuses texts that hold half a character: what is hashed and stored must be what was said.
fn check_texts<T: Text>(bundle: &Bundle<T>) -> Result<()> {
    let runs = bundle.messages.iter().flat_map(|(_, run)| run.ids.iter().chain(&run.roles).chain(&run.texts).flatten());
    let objects = bundle.objects.iter().filter_map(|(.., object)| match &object.content {
        Content::Text(text) => Some(text),
        _ => None,
    });
    let extra = bundle.checkpoints.iter().flat_map(|cp| cp.extra.iter().map(|(_, text)| text).chain(&cp.opens));
    let writes = bundle.writes.iter().filter_map(|(.., write)| write.text.as_ref());
    let whole = runs.chain(objects).chain(extra).chain(writes).all(Text::is_well_formed);
    ensure(whole, || "a text in it is not well formed".to_owned())
}

fn check_writes<T: Text>(bundle: &Bundle<T>, objects: &Objects<'_, T>) -> Result<()> {
    let places: Set<(&SessionId, u32)> = bundle.checkpoints.iter().map(|cp| (&cp.session, cp.seq)).collect();
    let mut seen = Set::new();
    for (session, seq, task, index, write) in &bundle.writes {
        let whole = match &write.text {
            Some(text) => {
                let text = text.utf8();
                content_hash(&text, &[]) == write.hash && weight(&text) <= MAX_INLINE
            }
            None => objects.is_value(write.hash),
        };
        let owned = places.contains(&(session, *seq)) && seen.insert((session, seq, task, index));
        ensure(whole && owned && write.channel.len() <= MAX_NAME, || {
            format!("a pending write of session {session:?} is damaged")
        })?;
    }
    Ok(())
}
