//! What an engine remembers between commands, to save reading it again. All of it is checked by the command that uses it.

use std::cell::RefCell;
use std::rc::Rc;

use crate::codec::key::Key;
use crate::codec::row::Row;
use crate::ids::SessionId;
use crate::model::body::Text;
use crate::model::checkpoint::Checkpoint;
use crate::model::session::Session;
use crate::plan::change::Known;
use crate::plan::read::Hint;
use crate::store::Guess;

/// Sessions whose messages are remembered, and how much text of them at most.
const SESSIONS: usize = 8;
const BYTES: u64 = 32 * 1024 * 1024;
/// Sessions whose head is remembered.
const HEADS: usize = 32;

/// The newest heads' messages, their rows, and where they are; newest last.
pub(super) struct Recall<T> {
    known: RefCell<Vec<(SessionId, Known<T>)>>,
    hints: RefCell<Vec<(SessionId, Hint)>>,
    rows: RefCell<Vec<(SessionId, Rc<Row<T>>)>>,
}

impl<T> Default for Recall<T> {
    fn default() -> Self {
        Recall { known: RefCell::default(), hints: RefCell::default(), rows: RefCell::default() }
    }
}

impl<T: Text> Recall<T> {
    /// Takes out a head's messages; whoever takes them keeps them again or not.
    pub(super) fn take(&self, session: &SessionId) -> Option<Known<T>> {
        let mut known = self.known.borrow_mut();
        let at = known.iter().position(|(id, _)| id == session)?;
        Some(known.remove(at).1)
    }

    /// Remembers a head's messages; forgets the oldest beyond the bounds.
    pub(super) fn keep(&self, session: &SessionId, messages: Option<Known<T>>) {
        let Some(messages) = messages else { return };
        let mut known = self.known.borrow_mut();
        known.retain(|(id, _)| id != session);
        known.push((session.clone(), messages));
        while known.len() > SESSIONS || known.iter().map(|(_, known)| known.bytes).sum::<u64>() > BYTES {
            known.remove(0);
        }
    }

    /// Where a session's head was.
    pub(super) fn hint(&self, session: &SessionId) -> Option<Hint> {
        self.hints.borrow().iter().find(|(id, _)| id == session).map(|(_, hint)| hint.clone())
    }

    /// Remembers where a session's head is.
    pub(super) fn saw(&self, newest: &Checkpoint<T>) {
        renew(&self.hints, &newest.session, Hint { seq: newest.seq, state: newest.state.clone() });
    }

    /// What a session's row was after this engine wrote it last.
    pub(super) fn guess(&self, session: &SessionId) -> Vec<Guess<T>> {
        let rows = self.rows.borrow();
        let row = rows.iter().find(|(id, _)| id == session).map(|(_, row)| row);
        match row.map(|row| (row, &**row)) {
            Some((row, Row::Session(head))) => vec![(Key::session(&head.scope, &head.id), row.clone())],
            _ => Vec::new(),
        }
    }

    /// Remembers a session's row as it was written.
    pub(super) fn wrote(&self, session: Session) {
        let id = session.id.clone();
        renew(&self.rows, &id, Rc::new(Row::Session(session)));
    }

    /// Forgets a session's row: it was written without being told here.
    pub(super) fn unsure(&self, session: &SessionId) {
        self.rows.borrow_mut().retain(|(id, _)| id != session);
    }

    /// Forgets a session.
    pub(super) fn forget(&self, session: &SessionId) {
        self.known.borrow_mut().retain(|(id, _)| id != session);
        self.hints.borrow_mut().retain(|(id, _)| id != session);
        self.unsure(session);
    }
}

/// Remembers something of a session; forgets the oldest beyond the bound.
fn renew<A>(list: &RefCell<Vec<(SessionId, A)>>, session: &SessionId, value: A) {
    let mut list = list.borrow_mut();
    list.retain(|(id, _)| id != session);
    list.push((session.clone(), value));
    if list.len() > HEADS {
        list.remove(0);
    }
}
