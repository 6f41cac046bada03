//! Message logs: runs of bodies that only grow, packed into rows of bounded size.
//!
//! A turn appends one small row. When a log has grown enough small rows they are merged in the transaction that
//! appends, so that reading a long chat reads a few dozen rows and not thousands. Spans never notice.

use std::rc::Rc;

use crate::codec::key::{Key, Range};
use crate::codec::row::{MAX_INLINE, MAX_RUN, MAX_TEXT, MERGE_ROWS, Messages, Row};
use crate::error::Error;
use crate::ids::{LogId, check_message_id};
use crate::model::body::{Body, Text, weight};
use crate::model::hash::Hash;
use crate::model::session::{Session, Tail};
use crate::model::sorted::Map;
use crate::model::span::{Coverage, Span, Spans};
use crate::plan::objects;
use crate::store::{Op, Planned, Request, View};

/// Bytes of a message's hash, sizes and marks in a row.
const BESIDE: usize = 56;
/// Bytes of a reference in a row.
const HASH_TEXT: usize = 68;
/// A message that refers to more binaries than this goes to the objects store whole.
pub const MAX_REFS: usize = 64;
/// Longest role that is kept beside a message, in characters. Only `user` and `assistant` are ever asked for.
pub const MAX_ROLE: usize = 64;

/// A message on its way in.
#[derive(Clone, Debug)]
pub struct Incoming<T> {
    /// Its own id.
    pub id: Option<T>,
    /// Its role.
    pub role: Option<T>,
    /// The message, whole.
    pub body: Body<T>,
}

/// A message as a log holds it.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry<T> {
    /// Content hash.
    pub hash: Hash,
    /// Bytes of the text.
    pub size: u32,
    /// Its own id.
    pub id: Option<T>,
    /// Its role.
    pub role: Option<T>,
    /// The text; `None` when it is an object of that hash.
    pub text: Option<T>,
    /// The binaries it refers to.
    pub refs: Vec<Hash>,
}

impl<T: Text> Entry<T> {
    /// The objects it refers to.
    pub fn objects(&self) -> impl Iterator<Item = Hash> {
        self.refs.iter().copied().chain(self.text.is_none().then_some(self.hash))
    }

    /// Bytes it takes in a row: its text where that is inline, and what stands beside it.
    fn row_bytes(&self) -> usize {
        let words = self.id.iter().chain(&self.role).map(|word| weight(&word.utf8())).sum::<usize>();
        let text = if self.text.is_some() { self.size as usize } else { 0 };
        text + words + self.refs.len() * HASH_TEXT + BESIDE
    }
}

/// The chained hash of ordered user and assistant ids.
#[must_use]
pub fn chain<T: Text>(history: Hash, role: Option<&T>, id: Option<&T>) -> Hash {
    match (role.map(Text::utf8).as_deref(), id) {
        (Some("user" | "assistant"), Some(id)) => Hash::of("history", &[&history.0, id.utf8().as_bytes()]),
        _ => history,
    }
}

/// Turns incoming messages into entries; long ones and binaries become objects.
///
/// # Errors
/// `InvalidId`; `Need` until it is known which binaries are stored already.
pub fn admit<T: Text>(view: &View<T>, incoming: &Incoming<T>, writes: &mut Vec<Op<T>>) -> Planned<Entry<T>> {
    if let Some(id) = &incoming.id {
        check_message_id(&id.utf8())?;
    }
    let body = &incoming.body;
    let long = body.size() as usize > MAX_INLINE || body.binaries.len() > MAX_REFS;
    if long {
        objects::put_value(view, body, writes)?;
    } else {
        objects::put_binaries(view, body, writes)?;
    }
    Ok(Entry {
        hash: body.hash(),
        size: body.size(),
        id: incoming.id.clone(),
        role: incoming.role.clone().filter(|role| role.utf8().chars().count() <= MAX_ROLE),
        text: (!long).then(|| body.text.clone()),
        // A long one's binaries are named by its object.
        refs: if long { Vec::new() } else { body.refs() },
    })
}

/// What the messages of a list add up to. Where the next list begins with the one before, as states of one session do, only
/// what is new is looked at.
#[derive(Default)]
pub struct Sum {
    spans: Spans,
    size: u64,
    history: Hash,
}

impl Sum {
    /// Bytes and chained history of a list, given the run that holds a message.
    ///
    /// # Errors
    /// The place of the first message that is in no run.
    pub fn over<'a, T: Text>(
        &mut self,
        spans: &Spans,
        run: impl Fn(&LogId, u32) -> Option<&'a Messages<T>>,
    ) -> Result<(u64, Hash), (LogId, u32)> {
        let mut sum = std::mem::take(self);
        if spans.common_prefix(&sum.spans) < sum.spans.count() {
            sum = Sum::default();
        }
        for span in spans.slice(sum.spans.count(), u32::MAX).iter() {
            let mut at = span.1;
            while at < span.2 {
                let run = run(&span.0, at).ok_or_else(|| (span.0.clone(), at))?;
                let words = run.sizes.iter().zip(run.roles.iter().zip(&run.ids));
                for (size, (role, id)) in words.skip((at - run.from) as usize).take((span.2 - at) as usize) {
                    sum.size += u64::from(*size);
                    sum.history = chain(sum.history, role.as_ref(), id.as_ref());
                    at += 1;
                }
            }
        }
        sum.spans = spans.clone();
        *self = sum;
        Ok((self.size, self.history))
    }
}

/// Packs entries, each with its place in the log, greedily into rows; a gap begins a new row. Gives each row's bytes too.
pub fn pack<T: Text>(entries: impl IntoIterator<Item = (u32, Entry<T>)>) -> Vec<(Messages<T>, usize)> {
    let mut rows: Vec<(Messages<T>, usize)> = Vec::new();
    for (seq, entry) in entries {
        let bytes = entry.row_bytes();
        let fits = rows.last().is_some_and(|(row, total)| {
            row.from + row.len() == seq && total + bytes <= MAX_TEXT && row.len() < MAX_RUN
        });
        if !fits {
            rows.push((Messages::empty(seq), 0));
        }
        if let Some((row, total)) = rows.last_mut() {
            if !entry.refs.is_empty() {
                row.refs.push((row.len(), entry.refs));
            }
            row.hashes.push(entry.hash);
            row.sizes.push(entry.size);
            row.ids.push(entry.id);
            row.roles.push(entry.role);
            row.texts.push(entry.text);
            *total += bytes;
        }
    }
    rows
}

/// The entries of a row, in order.
#[must_use]
pub fn unpack<T: Text>(row: &Messages<T>) -> Vec<Entry<T>> {
    let lists = row.hashes.iter().zip(&row.sizes).zip(&row.ids).zip(&row.roles).zip(&row.texts);
    lists
        .zip(0..)
        .map(|(((((hash, size), id), role), text), index)| Entry {
            hash: *hash,
            size: *size,
            id: id.clone(),
            role: role.clone(),
            text: text.clone(),
            refs: row.refs_at(index).to_vec(),
        })
        .collect()
}

/// Appends entries to the session's own log and gives the span they took.
///
/// # Errors
/// `Need` until the rows that will be merged are read.
pub fn append<T: Text>(
    view: &View<T>,
    session: &mut Session,
    entries: Vec<Entry<T>>,
    writes: &mut Vec<Op<T>>,
) -> Planned<Span> {
    let (start, count) = (session.log_next, u32::try_from(entries.len()).unwrap_or(u32::MAX));
    let span = Span(session.log.clone(), start, start.saturating_add(count));
    if entries.is_empty() {
        return Ok(span);
    }
    for (entry, seq) in entries.iter().zip(start..) {
        for hash in entry.objects() {
            writes.push(Op::Put(
                Key::reference(&session.log, seq, hash),
                Row::Reference(crate::codec::row::Reference {}),
            ));
        }
    }
    let bytes: usize = entries.iter().map(Entry::row_bytes).sum();
    let tail = session.tail.clone();
    let grown = tail.bytes as usize + bytes > MAX_TEXT || start - tail.from + count > MAX_RUN;
    let merge = tail.rows > 0 && (tail.rows >= MERGE_ROWS || grown);
    let mut all: Vec<(u32, Entry<T>)> = Vec::new();
    if merge {
        // Some of the small rows may have been collected, and one that cannot be read is left alone: what is left keeps its
        // place.
        for read in view.rows(Range::messages(&session.log, tail.from, start), None)?.iter() {
            let Ok(row) = read.row().and_then(messages) else { continue };
            writes.push(Op::Delete(Key::messages(&session.log, row.from)));
            all.extend((row.from..).zip(unpack(row)));
        }
    }
    all.extend((start..).zip(entries));
    let rows = pack(all);
    let alone = rows.len() == 1 && !merge && tail.rows > 0;
    if let Some((last, bytes)) = rows.last() {
        let bytes = u32::try_from(*bytes).unwrap_or(u32::MAX);
        session.tail = if alone {
            Tail { from: tail.from, rows: tail.rows + 1, bytes: tail.bytes + bytes }
        } else if (bytes as usize) < MAX_TEXT / 2 && last.len() < MAX_RUN / 2 {
            Tail { from: last.from, rows: 1, bytes }
        } else {
            Tail { from: span.2, rows: 0, bytes: 0 }
        };
    }
    for (row, _) in rows {
        writes.push(Op::Put(Key::messages(&session.log, row.from), Row::Messages(row)));
    }
    session.log_next = span.2;
    Ok(span)
}

/// The run in a row.
///
/// # Errors
/// `RecordUnreadable` when it is something else or its lists are not parallel.
pub fn messages<T: Text>(row: &Rc<Row<T>>) -> Result<&Messages<T>, Error> {
    match &**row {
        Row::Messages(run) if run.is_sound() => Ok(run),
        _ => Err(Error::unreadable("of a message log", "it is not a run of messages")),
    }
}

/// A stretch of a row: messages `from .. to` of it, by index.
#[derive(Clone, Debug)]
pub struct Stretch<T> {
    row: Rc<Row<T>>,
    from: u32,
    to: u32,
}

impl<T: Text> Stretch<T> {
    /// Its entries.
    ///
    /// # Errors
    /// `RecordUnreadable` when the row is not a run of messages.
    pub fn entries(&self) -> Result<Vec<Entry<T>>, Error> {
        let run = messages(&self.row)?;
        if self.from == 0 && self.to == run.len() {
            return Ok(unpack(run));
        }
        Ok(unpack(run).into_iter().skip(self.from as usize).take((self.to - self.from) as usize).collect())
    }
}

/// Most places of a log in one request.
const STRIDE: u32 = 128;
/// How far apart two spans of a log may be to be read together.
const NEAR: u32 = 64;

/// Reads the rows that hold a list of messages.
///
/// # Errors
/// `Need` until they are read; `RecordUnreadable` when a message is missing or cannot be read.
pub fn stretches<T: Text>(view: &View<T>, spans: &Spans) -> Planned<Vec<Stretch<T>>> {
    let mut reached = Coverage::default();
    reached.add(spans);
    // Which ranges to read, log by log. A row is keyed by its first message, so a range that begins inside a row is
    // widened to where that row begins.
    let mut wanted: Vec<(LogId, u32, u32)> = Vec::new();
    for log in reached.logs() {
        for (from, to) in reached.ranges(log) {
            match wanted.last_mut() {
                Some((last, _, end)) if last == log && from <= end.saturating_add(NEAR) => *end = to,
                _ => wanted.push((log.clone(), from, to)),
            }
        }
    }
    let before = |log: &LogId, from: u32| Range::messages(log, from.saturating_sub(MAX_RUN - 1), from + 1);
    view.want(wanted.iter().filter(|(_, from, _)| *from > 0).map(|(log, from, _)| Request::Keys(before(log, *from))))?;
    let mut ranges = Vec::new();
    for (log, from, to) in &wanted {
        let first = if *from == 0 {
            0
        } else {
            view.keys(before(log, *from))?.iter().filter_map(|key| key.number(1)).max().unwrap_or(*from)
        };
        // Several ranges at once are answered sooner than one that holds them all.
        let mut at = first;
        while at < *to {
            let end = at.saturating_add(STRIDE).min(*to);
            ranges.push((log, Range::messages(log, at, end)));
            at = end;
        }
    }
    view.want(ranges.iter().map(|(_, range)| Request::Rows { range: range.clone(), limit: None }))?;
    let mut rows: Map<(&LogId, u32), Rc<Row<T>>> = Map::new();
    let mut fault = None;
    for (log, range) in ranges {
        for read in view.rows(range, None)?.iter() {
            match read.row().and_then(|row| messages(row).map(|run| (row, run.from))) {
                Ok((row, from)) => {
                    rows.insert((log, from), row.clone());
                }
                // Reported below, where a message turns out to be missing for it.
                Err(error) => fault = Some(error),
            }
        }
    }
    let mut out = Vec::new();
    for span in spans.iter() {
        let mut at = span.1;
        while at < span.2 {
            let found = rows.up_to(&(&span.0, at)).filter(|((log, _), _)| *log == &span.0);
            let stretch = found.and_then(|((_, from), row)| {
                let end = from + messages(row).ok()?.len();
                (at < end).then(|| Stretch { row: row.clone(), from: at - from, to: end.min(span.2) - from })
            });
            let Some(stretch) = stretch else {
                let missing = Error::unreadable(Key::messages(&span.0, at), "the message is missing");
                return Err(fault.unwrap_or(missing).into());
            };
            at += stretch.to - stretch.from;
            out.push(stretch);
        }
    }
    Ok(out)
}

/// Reads a list of messages.
///
/// # Errors
/// `Need` until they are read; `RecordUnreadable` when one is missing or cannot be read.
pub fn entries<T: Text>(view: &View<T>, spans: &Spans) -> Planned<Vec<Entry<T>>> {
    let mut out = Vec::new();
    for stretch in stretches(view, spans)? {
        out.extend(stretch.entries()?);
    }
    Ok(out)
}
