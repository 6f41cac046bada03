//! Marks of open stores. Each open store has one in the database; one whose page is gone without having taken it away tells
//! that the browser may have been killed in the middle of a write.

use crate::codec::key::{Key, Range, Store};
use crate::codec::row::{Meta, Row};
use crate::ids::{DeviceId, WriterId};
use crate::model::body::Text;
use crate::store::{Access, Op, Plan, Planned, View};

/// What a change of marks needs.
pub const ACCESS: Access = Access::write(&[Store::Meta]);

/// The open stores that have a mark. A key that is no mark is passed over.
///
/// # Errors
/// `Need` until the keys are read.
pub fn all<T: Text>(view: &View<T>) -> Planned<Vec<WriterId>> {
    let keys = view.keys(Range::marks())?;
    Ok(keys.iter().filter_map(|key| WriterId::parse(key.text(1)?).ok()).collect())
}

/// Plans the mark of an open store, and the end of those of dead ones. It reads nothing, so that it is on its way at once.
pub fn leave<T: Text>(writer: &WriterId, device: &DeviceId, now: u64, dead: &[WriterId]) -> Plan<T, ()> {
    let mark = Row::Meta(Meta { device: device.clone(), created: now });
    let mut writes: Vec<Op<T>> = dead.iter().map(removal).collect();
    writes.push(Op::Put(Key::mark(writer), mark));
    Plan { writes, answer: () }
}

/// What takes a mark away.
pub fn removal<T: Text>(writer: &WriterId) -> Op<T> {
    Op::Delete(Key::mark(writer))
}
