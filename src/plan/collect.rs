//! Collection of what nothing reaches: mark and sweep in one transaction, so that no write can race it.

use crate::codec::key::{Key, Range, Store};
use crate::codec::row::{Content, MAX_INLINE, Object, Row};
use crate::error::Error;
use crate::ids::LogId;
use crate::model::body::{Text, weight};
use crate::model::hash::Hash;
use crate::model::session::Session;
use crate::model::sorted::Set;
use crate::model::span::Coverage;
use crate::plan::{census, head, objects};
use crate::store::{Op, Pause, Plan, Planned, Read, Request, View};

/// Everything that a set of heads, headers and pending writes reaches.
#[derive(Debug, Default)]
pub struct Reach {
    /// Messages.
    pub messages: Coverage,
    /// Objects.
    pub objects: Set<Hash>,
    /// Those of the objects that may refer to further ones.
    pub values: Set<Hash>,
}

/// What starts a mark: rows, and which references to follow.
pub struct Roots<'a, T> {
    /// Sessions, checkpoints and pending writes.
    pub rows: &'a [std::rc::Rc<Row<T>>],
    /// Keys of the references store.
    pub references: &'a [Key],
}

/// What a key of the references store says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reference {
    /// A message refers to an object.
    Message(LogId, u32, Hash),
    /// An object refers to a binary.
    Object(Hash, Hash),
}

impl Reference {
    /// Reads a key; `None` for one that this library never writes.
    #[must_use]
    pub fn of(key: &Key) -> Option<Self> {
        let (owner, hash) = (key.text(0)?, Hash::from_hex(key.text(2)?)?);
        match Hash::from_hex(owner) {
            Some(owner) => Some(Reference::Object(owner, hash)),
            None => Some(Reference::Message(LogId::parse(owner).ok()?, key.number(1)?, hash)),
        }
    }

    /// Whether what refers is reached.
    #[must_use]
    pub fn is_reached(&self, reach: &Reach) -> bool {
        match self {
            Reference::Message(log, seq, _) => reach.messages.touches(log, *seq, seq.saturating_add(1)),
            Reference::Object(owner, _) => reach.objects.contains(owner),
        }
    }
}

/// Marks everything reachable, without reading any content but the nodes of trees. Fails rather than guesses where one
/// cannot be read.
///
/// # Errors
/// `Need`; `RecordUnreadable`.
pub fn mark<T: Text>(view: &View<T>, roots: &Roots<'_, T>) -> Planned<Reach> {
    let mut reach = Reach::default();
    let mut trees: Set<Hash> = Set::new();
    for row in roots.rows {
        match &**row {
            Row::Session(session) => {
                reach.messages.add(&session.state.spans);
                trees.extend(session.state.roots.iter());
            }
            Row::Checkpoint(checkpoint) => {
                reach.messages.add(&checkpoint.state.spans);
                trees.extend(checkpoint.state.roots.iter());
                reach.values.extend(checkpoint.prompt);
            }
            Row::Write(write) if write.text.is_none() => {
                reach.values.insert(write.hash);
            }
            _ => {}
        }
    }
    let references: Vec<Reference> = roots.references.iter().filter_map(Reference::of).collect();
    for reference in &references {
        if let Reference::Message(.., hash) = reference
            && reference.is_reached(&reach)
        {
            reach.values.insert(*hash);
        }
    }
    // Level by level, so that the nodes of one level are read together.
    let mut front: Vec<Hash> = trees.iter().copied().collect();
    let mut seen = trees;
    while !front.is_empty() {
        let mut below = Vec::new();
        for node in objects::nodes(view, &front)? {
            for (_, child) in node.entries() {
                if node.level == 0 {
                    reach.values.insert(child);
                } else if seen.insert(child) {
                    below.push(child);
                }
            }
        }
        front = below;
    }
    reach.objects.extend(seen.iter().copied());
    reach.objects.extend(reach.values.iter().copied());
    for reference in references {
        if let Reference::Object(owner, hash) = reference
            && reach.values.contains(&owner)
        {
            reach.objects.insert(hash);
        }
    }
    Ok(reach)
}

/// The rows of the message store with the places they may hold, by their keys alone: a row ends where the next begins.
#[must_use]
pub fn extents(keys: &[Key]) -> Vec<(LogId, u32, u32)> {
    let limit = |from: u32| from.saturating_add(crate::codec::row::MAX_RUN);
    let mut out: Vec<(LogId, u32, u32)> = Vec::with_capacity(keys.len());
    for key in keys {
        let (Some(log), Some(from)) = (key.text(0).and_then(|log| LogId::parse(log).ok()), key.number(1)) else {
            continue;
        };
        if let Some((last, _, to)) = out.last_mut()
            && *last == log
        {
            *to = (*to).min(from);
        }
        out.push((log, from, limit(from)));
    }
    out
}

/// What a collection removed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Collected {
    /// Rows of messages.
    pub message_rows: usize,
    /// Objects.
    pub objects: usize,
}

/// Whether a message or a value may be what refers to an object: it is a binary, or a text that is too long for a row of
/// messages. Nodes and short values are reached by trees alone. What cannot be read may be anything.
fn may_be_referred_to<T: Text>(first: Option<&Read<T>>) -> bool {
    match first.map(|read| read.row().map(|row| &**row)) {
        Some(Ok(Row::Object(Object { content: Content::Node(_), .. }))) => false,
        Some(Ok(Row::Object(Object { content: Content::Text(text), of, refs }))) => {
            *of > 1 || !refs.is_empty() || weight(&text.utf8()) > MAX_INLINE
        }
        _ => true,
    }
}

/// Adds what messages and values that are reached say they refer to themselves: a reference that was lost must not cost
/// what it leads to. `false` where one of them cannot be read, so that it is not known.
fn recheck<T: Text>(view: &View<T>, reach: &mut Reach) -> Planned<bool> {
    let mut rows = extents(&view.keys(Range::all(Store::Messages))?);
    rows.retain(|(log, from, to)| reach.messages.touches(log, *from, *to));
    view.want(rows.iter().map(|(log, from, _)| Request::Row(Key::messages(log, *from))))?;
    let mut binaries: Set<Hash> = Set::new();
    for (log, from, _) in rows {
        let row = view.raw(Key::messages(&log, from))?;
        let Some(Ok(Row::Messages(run))) = row.as_ref().map(|read| read.row().map(|row| &**row)) else {
            return Ok(false);
        };
        let is_live = |at: &u32| reach.messages.touches(&log, from.saturating_add(*at), from.saturating_add(at + 1));
        let long = run.hashes.iter().zip(&run.texts).zip(0..).filter(|((_, text), at)| text.is_none() && is_live(at));
        reach.values.extend(long.map(|((hash, _), _)| *hash));
        binaries.extend(run.refs.iter().filter(|(at, _)| is_live(at)).flat_map(|(_, refs)| refs.iter().copied()));
    }
    // Only values refer further, and only to binaries.
    let values: Vec<Hash> = reach.values.iter().filter(|hash| !binaries.contains(hash)).copied().collect();
    objects::want_whole(view, values.iter().copied())?;
    for hash in &values {
        match objects::whole(view, *hash) {
            Ok(pieces) => binaries.extend(census::refs::<T>(&pieces)),
            Err(Pause::Fail(_)) => return Ok(false),
            Err(need) => return Err(need),
        }
    }
    reach.objects.extend(values);
    reach.objects.extend(binaries.iter().copied());
    Ok(true)
}

/// Plans a collection over the whole database. Where a head, header or node cannot be read nothing is collected: what it
/// reaches is not known.
///
/// # Errors
/// `Need`; `RecordUnreadable`.
pub fn plan<T: Text>(view: &View<T>) -> Planned<Plan<T, Collected>> {
    let all = |store| Request::Rows { range: Range::all(store), limit: None };
    let keys = |store| Request::Keys(Range::all(store));
    view.want([
        all(Store::Sessions),
        all(Store::Checkpoints),
        all(Store::Writes),
        keys(Store::Messages),
        keys(Store::References),
        keys(Store::Objects),
    ])?;
    let mut rows = Vec::new();
    let mut indebted: Vec<Session> = Vec::new();
    for store in [Store::Sessions, Store::Checkpoints, Store::Writes] {
        for read in view.rows(Range::all(store), None)?.iter() {
            let row = read.row()?;
            match (&**row, store) {
                (Row::Session(session), Store::Sessions) => {
                    if session.debt > 0 {
                        indebted.push(Session { debt: 0, ..session.clone() });
                    }
                }
                (Row::Checkpoint(_), Store::Checkpoints) | (Row::Write(_), Store::Writes) => {}
                _ => {
                    return Err(
                        Error::unreadable(format!("of the store {}", store.name()), "it is something else").into()
                    );
                }
            }
            rows.push(row.clone());
        }
    }
    let references = view.keys(Range::all(Store::References))?;
    let mut reach = mark(view, &Roots { rows: &rows, references: &references })?;
    let stored: Set<Hash> = view.keys(Range::all(Store::Objects))?.iter().filter_map(objects::hash_of).collect();
    // Read again only where something is about to go that a reference may have led to.
    let mut dead: Vec<Hash> = stored.iter().filter(|hash| !reach.objects.contains(hash)).copied().collect();
    objects::want(view, dead.iter().copied())?;
    let mut doubtful = Set::new();
    for hash in &dead {
        if may_be_referred_to(view.raw(Key::object(*hash, 0))?.as_ref()) {
            doubtful.insert(*hash);
        }
    }
    if !doubtful.is_empty() {
        let is_known = recheck(view, &mut reach)?;
        dead.retain(|hash| !reach.objects.contains(hash) && (is_known || !doubtful.contains(hash)));
    }

    let mut writes: Vec<Op<T>> = Vec::new();
    let mut collected = Collected::default();
    for (log, from, to) in extents(&view.keys(Range::all(Store::Messages))?) {
        if !reach.messages.touches(&log, from, to) {
            writes.push(Op::Delete(Key::messages(&log, from)));
            collected.message_rows += 1;
        }
    }
    for key in references.iter() {
        if !Reference::of(key).is_some_and(|reference| reference.is_reached(&reach)) {
            writes.push(Op::Delete(key.clone()));
        }
    }
    collected.objects = dead.len();
    writes.extend(dead.into_iter().map(|hash| Op::DeleteRange(Range::object(hash))));
    for session in indebted {
        head::put_session(&session, &mut writes);
    }
    Ok(Plan { writes, answer: collected })
}
