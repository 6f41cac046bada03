//! Compaction: a list of many spans is written again as one run, so that headers stay small however often the middle of
//! a chat was edited. Changes no content and makes no checkpoint; older headers keep their own spans.

use crate::ids::{ScopeId, SessionId};
use crate::model::body::Text;
use crate::model::span::Spans;
use crate::plan::head;
use crate::plan::log;
use crate::plan::write::MAX_SPANS;
use crate::store::{Plan, Planned, View};

/// Plans the compaction of a session's live list, if it is due.
///
/// # Errors
/// `Need`; `RecordUnreadable`.
pub fn plan<T: Text>(view: &View<T>, scope: &ScopeId, id: &SessionId) -> Planned<Plan<T, ()>> {
    let Some(mut session) = head::find(view, scope, id)? else { return Ok(Plan::read(())) };
    if session.state.spans.parts() <= MAX_SPANS {
        return Ok(Plan::read(()));
    }
    let entries = log::entries(view, &session.state.spans)?;
    let mut writes = Vec::new();
    let span = log::append(view, &mut session, entries, &mut writes)?;
    session.state.spans = Spans::default();
    session.state.spans.push(span);
    head::put_session(&session, &mut writes);
    Ok(Plan { writes, answer: () })
}
