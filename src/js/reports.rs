//! Reports to JavaScript: differences, listings of sessions and operations, previews, status, verification, bundles.

use wasm_bindgen::JsValue;

use super::events::{Announcer, Healed};
use super::output::{Answer, Binaries, attached, id, origin, serialize};
use super::plain::{Plain, count, list, number, or_null};
use super::presence::Presence;
use super::storage::AnyStorage;
use crate::browser::JsText;
use crate::engine::{Done, Engine};
use crate::ids::{CheckpointId, RunId, ScopeId, SessionId};
use crate::model::checkpoint::Checkpoint;
use crate::model::session::{Run, Session};
use crate::plan::bundle::{Bundle, Imported};
use crate::plan::diff::{Diff, KeyChange, MessageChange};
use crate::plan::mirror::Share;
use crate::plan::objects::Value;
use crate::plan::repair::{Mend, Repaired};
use crate::plan::sessions::Opened;
use crate::plan::status::{Preview, Status, Unfinished};
use crate::plan::verify::{Fault, Report};
use crate::plan::witness::Missing;

fn side(value: Option<Value<JsText>>, binaries: &Binaries) -> Option<Plain> {
    value.map(|value| Plain::new().with("binaries", attached(&value.refs, binaries)).with("text", value.text))
}

/// What differs between two states.
pub fn diff(diff: Diff<JsText>) -> JsValue {
    let binaries = &diff.binaries;
    let message = |change: MessageChange<JsText>| {
        Plain::new()
            .with("change", change.how.word())
            .with("id", or_null(change.id))
            .with("fromIndex", or_null(change.from))
            .with("toIndex", or_null(change.to))
            .maybe("before", side(change.before, binaries))
            .maybe("after", side(change.after, binaries))
            .into()
    };
    let keyed = |name: &'static str, changes: Vec<KeyChange<JsText>>| {
        list(changes, |change: KeyChange<JsText>| {
            Plain::new()
                .with(name, change.key)
                .with("change", change.how.word())
                .maybe("before", side(change.before, binaries))
                .maybe("after", side(change.after, binaries))
                .into()
        })
    };
    Plain::new()
        .with("commonPrefix", diff.common_prefix)
        .with("messages", list(diff.messages, message))
        .with("channels", keyed("channel", diff.channels))
        .with("ui", keyed("key", diff.ui))
        .into()
}

/// A session's summary.
pub fn session(session: &Session, active: bool) -> JsValue {
    Plain::new()
        .with("id", session.id.as_str())
        .with("title", or_null(session.title.as_deref()))
        .with("createdAt", number(session.created))
        .with("updatedAt", number(session.updated))
        .with("messageCount", session.state.spans.count())
        .with("checkpointCount", session.checkpoints)
        .with("headCheckpointId", or_null(session.head.as_ref().map(|head| id(&head.id))))
        .with("forkedFrom", or_null(session.forked_from.as_ref().map(origin)))
        .with("conflictOf", or_null(session.conflict_of.as_ref().map(SessionId::as_str)))
        .with("provisional", session.head.as_ref().is_some_and(|head| head.provisional))
        .with("number", or_null(Some(session.number).filter(|number| *number > 0)))
        .with("boundaryId", or_null(session.boundary.as_ref().or(session.sealed.as_ref()).map(id)))
        .with("sealed", session.number > 0 && session.boundary.is_none())
        .with("boundaryCommitHash", or_null(session.commit.as_deref()))
        .with("parentSessionId", or_null(session.parent.as_ref().map(SessionId::as_str)))
        .with("remoteSessionId", or_null(session.remote.as_deref()))
        .with("run", or_null(session.run.as_ref().map(run)))
        .with("active", active && session.opened > 0)
        .into()
}

/// Summaries of sessions.
pub fn sessions(sessions: &[Session]) -> JsValue {
    let newest = sessions.iter().map(|session| session.opened).max().unwrap_or_default();
    list(sessions, |one| session(one, one.opened == newest))
}

fn run(run: &Run) -> Plain {
    Plain::new().with("runId", run.id.as_str()).with("turnId", run.turn.id.as_str()).with("since", number(run.since))
}

/// The runs among what is unfinished.
pub fn runs<'a>(unfinished: impl IntoIterator<Item = &'a Unfinished>, presence: &Presence) -> JsValue {
    let rows = unfinished.into_iter().filter_map(|one| Some((one, one.run.as_ref()?)));
    list(rows, |(Unfinished { session, writer, .. }, of)| {
        run(of).with("sessionId", session.as_str()).with("mine", presence.is_me(writer.as_ref())).into()
    })
}

/// What a switch of conversations left.
pub fn left(previous: Option<&SessionId>) -> JsValue {
    Plain::new().with("previous", or_null(previous.map(SessionId::as_str))).into()
}

/// What a new conversation did.
pub fn opened(of: &SessionId, opened: &Opened<JsText>) -> JsValue {
    let sealed =
        |cp: &Checkpoint<JsText>| Plain::new().with("sessionId", cp.session.as_str()).with("checkpointId", id(&cp.id));
    Plain::new()
        .with("sessionId", of.as_str())
        .with("number", opened.number)
        .with("previous", or_null(opened.previous.as_ref().map(SessionId::as_str)))
        .with("sealed", or_null(opened.sealed.as_ref().map(sealed)))
        .with("pruned", count(opened.pruned))
        .with("epoch", number(opened.epoch))
        .into()
}

/// The operation log.
pub fn operations(operations: &[Checkpoint<JsText>], undo: Option<u32>) -> JsValue {
    list(operations, |cp| {
        Plain::new()
            .with("seq", cp.seq)
            .with("type", cp.operation.action.word())
            .with("checkpointId", id(&cp.id))
            .with("createdAt", number(cp.at))
            .with("source", cp.source.word())
            .with("summary", cp.sentence())
            .with("undoable", undo == Some(cp.seq))
            .into()
    })
}

/// What an operation would change.
pub fn preview(preview: Preview<JsText>, operation: &str) -> JsValue {
    let keep =
        |(kept, reason): &(CheckpointId, String)| Plain::new().with("id", id(kept)).with("reason", reason).into();
    Plain::new()
        .with("operation", operation)
        .with("targetCheckpointId", or_null(preview.target.as_ref().map(id)))
        .with("deletes", list(&preview.deletes, id))
        .with("keeps", list(&preview.keeps, keep))
        .with("diff", or_null(preview.diff.map(diff)))
        .into()
}

/// What the store holds and how it stands.
pub fn status(
    status: &Status,
    runs: JsValue,
    engine: &Engine<AnyStorage>,
    announcer: &Announcer,
    schema: u32,
) -> JsValue {
    let counts = Plain::new()
        .with("sessions", count(status.sessions))
        .with("checkpoints", count(status.checkpoints))
        .with("messageRows", count(status.message_rows))
        .with("objects", count(status.object_rows))
        .with("pendingWrites", count(status.pending_writes))
        .with("quarantined", count(status.quarantined));
    let interrupted = |Unfinished { session, newest, since, run, .. }: &Unfinished| {
        Plain::new()
            .with("sessionId", session.as_str())
            .with("checkpointId", id(newest))
            .with("since", number(*since))
            .with("runId", or_null(run.as_ref().map(|run| run.id.as_str())))
            .into()
    };
    let storage = engine.storage();
    Plain::new()
        .with("backend", if storage.is_shared() { "indexeddb" } else { "memory" })
        .with("durability", storage.mode().unwrap_or("none"))
        .with("level", announcer.durability().level)
        .with("schemaVersion", schema)
        .with("counts", counts)
        .with("interrupted", list(&status.unfinished, interrupted))
        .with("runs", runs)
        .with("unreadable", list(&status.unreadable, |record: &String| record.into()))
        .with("dataLost", storage.data_lost().is_some())
        .with("suspect", or_null(storage.suspicion().map(|(reason, _)| reason)))
        .with("healed", or_null(announcer.last_healing().map(healed)))
        .with("connection", announcer.connection_state())
        .with("deviceId", engine.device().as_str())
        .into()
}

/// Sessions that hold less than they did.
pub fn missing(missing: &[Missing]) -> JsValue {
    list(missing, |Missing { session, last, found }| {
        Plain::new().with("sessionId", session.as_str()).with("lastSeq", *last).with("foundSeq", or_null(*found)).into()
    })
}

fn healed(healed: Healed) -> Plain {
    let Healed { reason, at, milliseconds } = healed;
    Plain::new().with("reason", reason).with("at", number(at)).with("milliseconds", milliseconds)
}

/// The findings of a verification.
pub fn report(report: &Report) -> JsValue {
    let checked = Plain::new()
        .with("sessions", count(report.sessions))
        .with("checkpoints", count(report.checkpoints))
        .with("messages", count(report.messages))
        .with("objects", count(report.objects))
        .with("pendingWrites", count(report.pending_writes));
    Plain::new()
        .with("ok", report.is_ok())
        .with("checked", checked)
        .with("quarantined", count(report.quarantined))
        .with("faults", faults(&report.faults))
        .into()
}

fn faults(faults: &[Fault]) -> JsValue {
    list(faults, |fault: &Fault| finding("fault", fault.wrong.word(), &fault.record, &fault.message, &fault.affects))
}

fn finding(kind: &'static str, word: &str, record: &str, message: &str, affects: &[CheckpointId]) -> JsValue {
    Plain::new()
        .with(kind, word)
        .with("record", record)
        .with("message", message)
        .with("affects", list(affects, id))
        .into()
}

/// What a repair did.
pub fn repaired(repaired: &Repaired, dry_run: bool) -> JsValue {
    let action = |done: &Mend| finding("action", done.action, &done.record, &done.message, &done.affects);
    Plain::new()
        .with("dryRun", dry_run)
        .with("actions", list(&repaired.actions, action))
        .with("lost", faults(&repaired.lost))
        .with("sessions", list(&repaired.sessions, |(_, id): &(ScopeId, SessionId)| id.as_str().into()))
        .into()
}

/// What a recovery did.
pub fn recovered(done: &[(SessionId, Done)], dropped: bool) -> JsValue {
    let action = if dropped { "dropped" } else { "finalized" };
    list(done, |(session, done): &(SessionId, Done)| {
        Plain::new()
            .with("sessionId", session.as_str())
            .with("checkpointId", id(&done.checkpoint))
            .with("action", action)
            .with("runId", or_null(done.run.as_ref().map(RunId::as_str)))
            .with("from", number(done.from))
            .with("epoch", number(done.epoch))
            .into()
    })
}

/// A bundle.
pub fn bundle(bundle: &Bundle<JsText>) -> Answer {
    serialize(bundle)
}

/// What a mirror is given.
pub fn share(share: Option<&Share<JsText>>) -> Answer {
    let Some(Share { bundle, whole }) = share else { return Ok(JsValue::UNDEFINED) };
    Ok(Plain::new().with("whole", *whole).with("bundle", serialize(bundle)?).into())
}

/// What was imported.
pub fn imported(imported: &Imported) -> JsValue {
    let session = |(id, name, checkpoints, messages): &(SessionId, SessionId, usize, u32)| {
        Plain::new()
            .with("id", id.as_str())
            .with("importedAs", name.as_str())
            .with("checkpoints", count(*checkpoints))
            .with("messages", *messages)
            .into()
    };
    let skipped =
        |(id, reason): &(SessionId, String)| Plain::new().with("id", id.as_str()).with("reason", reason).into();
    Plain::new()
        .with("sessions", list(&imported.sessions, session))
        .with("skipped", list(&imported.skipped, skipped))
        .into()
}
