//! Pending writes: values for channels that belong to a checkpoint but not yet to a state.

use crate::codec::key::{Key, Piece, Range};
use crate::codec::row::{MAX_INLINE, Row, Write};
use crate::error::{Code, Error};
use crate::ids::{ScopeId, SessionId, TaskId};
use crate::model::body::{Body, Text};
use crate::model::checkpoint::Checkpoint;
use crate::model::sorted::Map;
use crate::plan::head;
use crate::plan::objects;
use crate::plan::parts::{self, Named};
use crate::store::{Op, Plan, Planned, View};

/// Channels whose newest write counts, each at a place of its own before the ordinary ones.
const SPECIAL: &[(&str, i32)] = &[("__error__", -1), ("__scheduled__", -2), ("__interrupt__", -3), ("__resume__", -4)];

/// The place of a write among those of its task.
fn place(channel: &str, at: usize) -> i32 {
    SPECIAL
        .iter()
        .find(|(name, _)| *name == channel)
        .map_or_else(|| i32::try_from(at).unwrap_or(i32::MAX), |(_, place)| *place)
}

/// Plans writes to the newest checkpoint of a session. Ordinary ones are write-once by task and place, so that a task
/// that is run again adds nothing; special channels overwrite.
///
/// # Errors
/// `Need`; `UnknownCheckpoint` when the session has no checkpoint yet, `TooLarge`.
pub fn put<T: Text>(
    view: &View<T>,
    scope: &ScopeId,
    session: &SessionId,
    task: &TaskId,
    values: &[Named<T>],
) -> Planned<Plan<T, ()>> {
    values.iter().try_for_each(|(channel, _)| parts::check_name(channel))?;
    let session = head::session(view, scope, session)?;
    let none = || {
        Error::new(
            Code::UnknownCheckpoint,
            format!("session {:?} has no checkpoint to attach writes to; put a state first", session.id),
        )
    };
    let head = session.head.as_ref().ok_or_else(none)?;
    let mut checkpoint: Checkpoint<T> = head::at(view, &session, head.seq)?.ok_or_else(none)?;
    let mut writes = Vec::new();
    let mut rows: Map<Key, &Body<T>> = Map::new();
    let mut order: Vec<(Key, &str, bool)> = Vec::new();
    for (at, (channel, body)) in values.iter().enumerate() {
        let index = place(channel, at);
        let key = Key::write(scope, &session.id, checkpoint.seq, task, index);
        if rows.insert(key.clone(), body).is_none() {
            order.push((key, channel, index < 0));
        }
    }
    view.want(order.iter().map(|(key, ..)| crate::store::Request::Row(key.clone())))?;
    objects::want_binaries(view, rows.values().copied())?;
    for (key, channel, overwrite) in order {
        let exists = view.row(key.clone())?.is_some();
        let Some(body) = rows.get(&key).filter(|_| overwrite || !exists) else { continue };
        let long = body.size() as usize > MAX_INLINE || !body.binaries.is_empty();
        if long {
            objects::put_value(view, body, &mut writes)?;
        }
        let text = (!long).then(|| body.text.clone());
        writes.push(Op::Put(key, Row::Write(Write { channel: channel.to_owned(), hash: body.hash(), text })));
        checkpoint.pending += u32::from(!exists);
    }
    if !writes.is_empty() {
        head::put(&checkpoint, &mut writes);
    }
    Ok(Plan { writes, answer: () })
}

/// A pending write as it is given back.
#[derive(Clone, Debug, PartialEq)]
pub struct Pending<T> {
    /// The task.
    pub task: String,
    /// Its place among the task's writes.
    pub index: i64,
    /// The channel.
    pub channel: String,
    /// The value.
    pub value: objects::Value<T>,
}

/// The pending writes of a checkpoint, ordered by task (by code point: keys sort by UTF-16 unit) and place.
///
/// # Errors
/// `Need`; `RecordUnreadable`.
pub fn read<T: Text>(view: &View<T>, checkpoint: &Checkpoint<T>) -> Planned<Vec<Pending<T>>> {
    if checkpoint.pending == 0 {
        return Ok(Vec::new());
    }
    let range = Range::writes(&checkpoint.scope, &checkpoint.session, checkpoint.seq);
    let (rows, keys) = (view.rows(range.clone(), None)?, view.keys(range)?);
    let long = rows.iter().filter_map(|read| match read.row().map(|row| &**row) {
        Ok(Row::Write(write)) if write.text.is_none() => Some(write.hash),
        _ => None,
    });
    objects::want_whole(view, long)?;
    let mut out = Map::new();
    for (read, key) in rows.iter().zip(keys.iter()) {
        let (Row::Write(write), Some(task), Some(Piece::Number(index))) =
            (&**read.row()?, key.text(3), key.pieces.get(4))
        else {
            return Err(Error::unreadable(key, "it is not a pending write").into());
        };
        let value = match &write.text {
            Some(text) => objects::Value { text: text.clone(), refs: Vec::new() },
            None => objects::value(view, write.hash)?,
        };
        let (task, index, channel) = (task.to_owned(), *index, write.channel.clone());
        out.insert((task.clone(), index), Pending { task, index, channel, value });
    }
    Ok(out.into_values().collect())
}
