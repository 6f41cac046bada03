//! A message that is still being written: saved by what is new in it, and put together again after a crash.

use crate::codec::key::{Key, Range};
use crate::codec::row::{MAX_TEXT, Row, Stream};
use crate::error::{Code, Error};
use crate::ids::{ScopeId, SessionId, check_message_id};
use crate::model::body::{Body, Text, cut};
use crate::model::session::{Session, State};
use crate::model::span::Spans;
use crate::plan::log::{self, Incoming};
use crate::plan::{change, head};
use crate::store::{Op, Plan, Planned, View};

/// Plans the `n`-th addition to a session's growing message; `n` of 0 starts it anew. One longer than a row is cut
/// into pieces.
///
/// # Errors
/// `Need`; `UnknownSession`, `InvalidId`; `Conflict` when the run is not the session's any more.
pub fn put<T: Text>(
    view: &View<T>,
    scope: &ScopeId,
    session: &SessionId,
    n: u32,
    row: &Stream<T>,
) -> Planned<Plan<T, ()>> {
    if let Some(id) = &row.id {
        check_message_id(&id.utf8())?;
    }
    let session = head::session(view, scope, session)?;
    if session.run.as_ref().is_none_or(|run| run.id != row.run) {
        let why =
            format!("run {} is not the one of session {:?} any more; nothing was saved of it", row.run, session.id);
        return Err(Error::new(Code::Conflict, why).into());
    }
    let mut writes = Vec::new();
    if n == 0 {
        writes.push(Op::DeleteRange(Range::streams(scope, &session.id)));
    }
    let text = row.text.utf8();
    let pieces = cut(&text, MAX_TEXT);
    let of = u32::try_from(pieces.len()).unwrap_or(u32::MAX);
    let mut inserted = 0;
    for (piece, at) in pieces.into_iter().zip(0..) {
        // A further piece goes where the one before it ended.
        let row = Stream { of, head: row.head + inserted, text: T::from_utf8(piece), ..row.clone() };
        inserted += u32::try_from(piece.encode_utf16().count()).unwrap_or(u32::MAX);
        writes.push(Op::Put(Key::stream(scope, &session.id, n, at), Row::Stream(row)));
    }
    Ok(Plan { writes, answer: () })
}

/// Puts a session's growing message together; `None` when none was saved.
///
/// # Errors
/// `Need` until its additions are read.
pub fn read<T: Text>(view: &View<T>, session: &Session) -> Planned<Option<Incoming<T>>> {
    let Some(run) = &session.run else { return Ok(None) };
    let range = Range::streams(&session.scope, &session.id);
    let (rows, keys) = (view.rows(range.clone(), None)?, view.keys(range)?);
    let (mut whole, mut pending) = (Vec::new(), Vec::new());
    let (mut n, mut length) = (0, 0);
    for (read, key) in rows.iter().zip(keys.iter()) {
        // What comes after a piece that is missing or damaged cannot be placed: what was before it counts.
        let Ok(Row::Stream(row)) = read.row().map(|row| &**row) else { break };
        let piece = u32::try_from(pending.len()).unwrap_or(u32::MAX);
        let is_next = (key.number(2), key.number(3)) == (Some(n), Some(piece));
        let kept = row.head as usize + row.tail as usize;
        if row.run != run.id || !is_next || kept > length {
            break;
        }
        length = kept + row.text.utf8().encode_utf16().count();
        pending.push(row);
        if pending.len() == row.of as usize {
            whole.push(std::mem::take(&mut pending));
            n += 1;
        }
    }
    // As a rule the first try succeeds: no addition ends within a character.
    while let Some(last) = whole.last().and_then(|addition| addition.last()) {
        let mut text: Vec<u16> = Vec::new();
        for row in whole.iter().flatten() {
            let end = text.len().saturating_sub(row.tail as usize);
            text.splice((row.head as usize).min(end)..end, row.text.utf8().encode_utf16());
        }
        if let Ok(text) = String::from_utf16(&text) {
            let body = Body::new(T::from_utf8(&text), Vec::new());
            return Ok(Some(Incoming { id: last.id.clone(), role: last.role.clone(), body }));
        }
        whole.pop();
    }
    Ok(None)
}

/// How many messages a turn may have before the one that was being written is taken for a new one.
const RECENT: u32 = 64;

/// A state with what was saved of a growing message as one of its messages. One that was written before is the same
/// message, further on: what follows it stays.
///
/// # Errors
/// `Need`; `RecordUnreadable`, `TooLarge`.
pub fn settle<T: Text>(
    view: &View<T>,
    session: &mut Session,
    mut state: State,
    message: &Incoming<T>,
    writes: &mut Vec<Op<T>>,
) -> Planned<State> {
    let recent = state.spans.count().saturating_sub(RECENT);
    // Where they cannot be read, it stands as a message of its own after them: a turn whose writer died must end.
    let read = log::entries(view, &state.spans.slice(recent, u32::MAX)).map(Some);
    let mut written = head::if_readable(read)?.unwrap_or_default();
    let mut following = Spans::default();
    let mut after = Vec::new();
    if let Some(index) = written.iter().position(|entry| entry.id.is_some() && entry.id == message.id) {
        let rest = written.split_off(index).split_off(1);
        let at = state.spans.count() - u32::try_from(rest.len()).unwrap_or(u32::MAX) - 1;
        if let Some(before) = head::if_readable(change::cut(view, &state, at, None).map(Some))? {
            (following, after) = (state.spans.slice(at + 1, u32::MAX), rest);
            state = before;
        }
    }
    let entry = log::admit(view, message, writes)?;
    for entry in std::iter::once(&entry).chain(&after) {
        state.history = log::chain(state.history, entry.role.as_ref(), entry.id.as_ref());
        state.size += u64::from(entry.size);
    }
    state.listed = true;
    state.spans.push(log::append(view, session, vec![entry], writes)?);
    state.spans.extend(&following);
    Ok(state)
}
