//! The in-memory twin of the browser storage: the same commands, the same rows, no browser.

use std::cell::RefCell;
use std::rc::Rc;

use super::{Access, Answer, Guess, Level, Op, Pause, Read, Request, Step, Storage, View};
use crate::codec::key::{Common, Key, Range, Store};
use crate::codec::row::Row;
use crate::error::{Code, Error, Result};
use crate::model::body::Text;
use crate::model::sorted::{Map, Set};

/// Rows in a sorted map. Clones share it, as two tabs share a database.
#[derive(Clone, Debug)]
pub struct MemoryStorage<T> {
    rows: Rc<RefCell<Map<Key, Rc<Row<T>>>>>,
    broken: Rc<RefCell<Set<Key>>>,
    fault: Rc<RefCell<Option<Error>>>,
}

impl<T: Text> Default for MemoryStorage<T> {
    fn default() -> Self {
        MemoryStorage { rows: Rc::default(), broken: Rc::default(), fault: Rc::default() }
    }
}

impl<T: Text> MemoryStorage<T> {
    /// Makes the next command that writes abort with this error, after its plan and before any of its writes.
    pub fn abort_next(&self, error: Error) {
        *self.fault.borrow_mut() = Some(error);
    }

    /// Every row, in key order: what verification tests compare.
    #[must_use]
    pub fn dump(&self) -> Vec<(Key, Rc<Row<T>>)> {
        self.rows.borrow().iter().map(|(key, row)| (key.clone(), row.clone())).collect()
    }

    /// Replaces a row behind the engine's back, or removes it: damage for tests.
    pub fn tamper(&self, key: &Key, row: Option<Row<T>>) {
        match row {
            Some(row) => self.rows.borrow_mut().insert(key.clone(), Rc::new(row)),
            None => self.rows.borrow_mut().remove(key),
        };
    }

    /// Makes a row unreadable, as one is in a browser whose checksum does not hold: damage for tests.
    pub fn spoil(&self, key: &Key) {
        self.broken.borrow_mut().insert(key.clone());
    }

    fn read(&self, (key, row): (Key, Rc<Row<T>>)) -> Read<T> {
        if self.broken.borrow().contains(&key) {
            return Read::Unreadable(Error::unreadable(key, "it is not what was written"));
        }
        Read::Row(row)
    }

    fn in_range(&self, range: &Range) -> Vec<(Key, Rc<Row<T>>)> {
        let start = Key { store: range.store, pieces: range.prefix.clone() };
        self.rows
            .borrow()
            .from(&start)
            .take_while(|(key, _)| key.store == range.store && key.pieces.starts_with(&range.prefix))
            .filter(|(key, _)| range.contains(key))
            .map(|(key, row)| (key.clone(), row.clone()))
            .collect()
    }

    fn answer(&self, access: Access, request: &Request) -> Result<Answer<T>> {
        let store = match request {
            Request::Row(key) => key.store,
            Request::Rows { range, .. } | Request::Keys(range) => range.store,
            Request::ById(_) | Request::Where(_) => Store::Checkpoints,
        };
        check(access, store)?;
        Ok(match request {
            Request::Row(key) => {
                let found = self.rows.borrow().get(key).cloned();
                Answer::Row(found.map(|row| self.read((key.clone(), row))))
            }
            Request::Rows { range, limit } => {
                let rows = self.in_range(range).into_iter().map(|row| self.read(row));
                Answer::Rows(Rc::new(rows.take(limit.map_or(usize::MAX, |n| n as usize)).collect()))
            }
            Request::Keys(range) => {
                Answer::Keys(Rc::new(self.in_range(range).into_iter().map(|(key, _)| key).collect()))
            }
            Request::Where(those) => {
                let rows = self.in_range(&Range::checkpoints(&those.scope, &those.session));
                let rows = rows.into_iter().filter(|(_, row)| match (&**row, &those.what) {
                    (Row::Checkpoint(cp), Common::Lookup(history)) => cp.lookup == Some(*history),
                    (Row::Checkpoint(cp), Common::Opens(id)) => cp.opens.as_ref().is_some_and(|of| *of.utf8() == **id),
                    (Row::Checkpoint(cp), Common::Turn(turn)) => cp.turn.as_ref().is_some_and(|of| of.id == *turn),
                    _ => false,
                });
                Answer::Rows(Rc::new(rows.map(|row| self.read(row)).collect()))
            }
            Request::ById(by_id) => {
                let range = Range::checkpoints(&by_id.scope, &by_id.session);
                let found = self
                    .in_range(&range)
                    .into_iter()
                    .find(|(_, row)| matches!(&**row, Row::Checkpoint(cp) if cp.id == by_id.id));
                Answer::Row(found.map(|row| self.read(row)))
            }
        })
    }
}

/// A command that touches a store it did not name would fail in a browser; it fails here too.
fn check(access: Access, store: Store) -> Result<()> {
    if access.stores.contains(&store) {
        return Ok(());
    }
    Err(Error::new(Code::Internal, format!("a command touched the store \"{}\" without naming it", store.name())))
}

impl<T: Text> Storage for MemoryStorage<T> {
    type Text = T;

    async fn transact(&self, access: Access, _guess: &[Guess<T>], step: &mut Step<'_, T>) -> Result<()> {
        let view = View::default();
        let writes = loop {
            match step(&view) {
                Ok(writes) => break writes,
                Err(Pause::Fail(error)) => return Err(error),
                Err(Pause::Need(requests)) => {
                    for request in requests {
                        let answer = self.answer(access, &request)?;
                        view.learn(request, answer);
                    }
                }
            }
        };
        if writes.is_empty() {
            return Ok(());
        }
        if !access.write {
            return Err(Error::new(Code::Internal, "a reading command planned a write"));
        }
        for op in &writes {
            check(
                access,
                match op {
                    Op::Put(key, _) | Op::Delete(key) => key.store,
                    Op::DeleteRange(range) => range.store,
                    Op::Move(from, _) => from.store,
                },
            )?;
        }
        if let Some(error) = self.fault.borrow_mut().take() {
            return Err(error);
        }
        for op in writes {
            match op {
                Op::Put(key, row) => {
                    self.broken.borrow_mut().remove(&key);
                    self.rows.borrow_mut().insert(key, Rc::new(row));
                }
                Op::Delete(key) => {
                    self.broken.borrow_mut().remove(&key);
                    self.rows.borrow_mut().remove(&key);
                }
                Op::Move(from, to) => {
                    let moved = self.rows.borrow_mut().remove(&from);
                    if let Some(row) = moved {
                        self.rows.borrow_mut().insert(to.clone(), row);
                    }
                    if self.broken.borrow_mut().remove(&from) {
                        self.broken.borrow_mut().insert(to);
                    }
                }
                Op::DeleteRange(range) => {
                    let keys = self.in_range(&range);
                    let mut rows = self.rows.borrow_mut();
                    for (key, _) in keys {
                        rows.remove(&key);
                    }
                }
            }
        }
        Ok(())
    }

    fn level(&self) -> Level {
        Level::Memory
    }
}
