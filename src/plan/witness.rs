//! Comparison with a witness: what somebody outside of the database knows to have been in it.

use crate::codec::key::Key;
use crate::codec::row::Row;
use crate::ids::{ScopeId, SessionId};
use crate::model::body::Text;
use crate::store::{Plan, Planned, Read, Request, View};

/// A session that holds less than it did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Missing {
    /// The session.
    pub session: SessionId,
    /// Sequence number of the newest checkpoint that is known to have been there.
    pub last: u32,
    /// Sequence number of the newest one now; `None` when the session is not there.
    pub found: Option<u32>,
}

/// Plans the comparison of sessions, each with the sequence number of a checkpoint that it had. Numbers are given once, so that
/// pruning and deleting checkpoints makes no difference.
///
/// # Errors
/// `Need` until the sessions are read.
pub fn missing<T: Text>(view: &View<T>, scope: &ScopeId, known: &[(SessionId, u32)]) -> Planned<Plan<T, Vec<Missing>>> {
    let key = |session: &SessionId| Key::session(scope, session);
    view.want(known.iter().map(|(session, _)| Request::Row(key(session))))?;
    let mut missing = Vec::new();
    for (session, last) in known {
        let found = match view.raw(key(session))? {
            None => None,
            Some(Read::Row(row)) => match &*row {
                Row::Session(session) if session.next <= *last => session.next.checked_sub(1),
                _ => continue,
            },
            // It is there; verify() tells of it.
            Some(Read::Unreadable(_)) => continue,
        };
        missing.push(Missing { session: session.clone(), last: *last, found });
    }
    Ok(Plan::read(missing))
}
