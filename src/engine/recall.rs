//! What an engine remembers between commands, to save reading it again. All of it is checked by the command that uses it.

use std::cell::RefCell;

use crate::ids::SessionId;
use crate::model::body::Text;
use crate::model::checkpoint::Checkpoint;
use crate::plan::read::Hint;
use crate::plan::write::Known;

/// Sessions whose messages are remembered, and how much text of them at most.
const SESSIONS: usize = 8;
const BYTES: u64 = 32 * 1024 * 1024;
/// Sessions whose head's place is remembered.
const HINTS: usize = 32;

/// The newest heads' messages, and where heads are; newest last.
pub(super) struct Recall<T> {
    known: RefCell<Vec<(SessionId, Known<T>)>>,
    hints: RefCell<Vec<(SessionId, Hint)>>,
}

impl<T> Default for Recall<T> {
    fn default() -> Self {
        Recall { known: RefCell::default(), hints: RefCell::default() }
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
        let mut hints = self.hints.borrow_mut();
        hints.retain(|(id, _)| *id != newest.session);
        hints.push((newest.session.clone(), Hint { seq: newest.seq, state: newest.state.clone() }));
        if hints.len() > HINTS {
            hints.remove(0);
        }
    }

    /// Forgets a session.
    pub(super) fn forget(&self, session: &SessionId) {
        self.known.borrow_mut().retain(|(id, _)| id != session);
        self.hints.borrow_mut().retain(|(id, _)| id != session);
    }
}
