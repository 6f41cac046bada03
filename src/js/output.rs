//! Answers to JavaScript, in the shapes of the declarations: checkpoints, and states with everything in them.

use std::rc::Rc;

use js_sys::{Array, Uint8Array};
use wasm_bindgen::{JsCast, JsValue};

use super::input::PLACE;
use super::plain::{Plain, list, number, or_null};
use crate::browser::{JsText, Record, to_js};
use crate::engine::Match;
use crate::error::{Code, Error, Result};
use crate::ids::{CheckpointId, RunId};
use crate::model::checkpoint::{Checkpoint, Origin, Turn};
use crate::model::hash::Hash;
use crate::model::part::Part;
use crate::model::session::Run;
use crate::model::sorted::Map;
use crate::plan::log::Incoming;
use crate::plan::objects::Value;
use crate::plan::pending::Pending;
use crate::plan::read::{Contents, Loaded, Page};
use crate::plan::restore::Restored;
use crate::plan::versions::Version;

pub(super) type Answer = Result<JsValue>;
pub(super) type Binaries = Map<Hash, Rc<Vec<u8>>>;

/// Converts what serde knows.
pub(super) fn serialize(value: &impl serde::Serialize) -> Answer {
    to_js(value).map_err(|error| Error::new(Code::Internal, format!("an answer cannot be converted: {error}")))
}

/// The stamp of a checkpoint that has been acknowledged.
pub struct Durability {
    /// The level.
    pub level: &'static str,
    /// What IndexedDB was asked for.
    pub mode: Option<&'static str>,
    /// Whether the browser promised not to evict the origin.
    pub persisted: Option<bool>,
    /// When it was acknowledged or read.
    pub at: u64,
}

impl Durability {
    fn view(&self) -> Plain {
        Plain::new()
            .with("level", self.level)
            .maybe("mode", self.mode)
            .maybe("persisted", self.persisted)
            .with("at", number(self.at))
    }
}

/// An id.
pub fn id(id: &CheckpointId) -> JsValue {
    id.as_str().into()
}

/// A checkpoint of another session.
pub fn origin(from: &Origin) -> Plain {
    Plain::new().with("sessionId", from.session_id.as_str()).with("checkpointId", id(&from.checkpoint_id))
}

fn words(words: &[String]) -> JsValue {
    list(words, |word| word.into())
}

fn metadata(cp: &Checkpoint<JsText>) -> Plain {
    let extra = |(key, text): &(String, JsText)| Array::of2(&key.into(), text.as_js()).into();
    Plain::new()
        .with("source", cp.source.word())
        .maybe("writes", (!cp.writes.is_empty()).then(|| words(&cp.writes)))
        .maybe("forkedFrom", cp.forked_from.as_ref().map(origin))
        .with("extra", list(&cp.extra, extra))
}

/// What an envelope and a line of a listing have in common.
fn header(cp: &Checkpoint<JsText>, durability: &Durability) -> Plain {
    Plain::new()
        .with("id", id(&cp.id))
        .with("sessionId", cp.session.as_str())
        .with("parentCheckpointId", or_null(cp.parent.as_ref().map(id)))
        .with("kind", cp.kind.word())
        .with("metadata", metadata(cp))
        .with("name", or_null(cp.name.as_deref()))
        .with("createdAt", number(cp.at))
        .with("pinned", cp.pinned)
        .with("provisional", cp.provisional)
        .with("sealed", cp.sealed)
        .with("messageCount", cp.state.spans.count())
        .with("_durability", durability.view())
}

/// A checkpoint's envelope.
pub fn checkpoint(cp: &Checkpoint<JsText>, durability: &Durability) -> Answer {
    Ok(header(cp, durability)
        .with("scopeId", cp.scope.as_str())
        .with("turn", or_null(cp.turn.as_ref().map(turn)))
        .with("vector", serialize(&cp.vector)?)
        .with("commitHash", or_null(cp.commit.as_deref()))
        .maybe("usage", cp.usage.as_ref().map(serialize).transpose()?)
        .into())
}

/// A checkpoint that was just written.
pub fn written(cp: &Checkpoint<JsText>, view: JsValue) -> Answer {
    Ok(Plain::new().with("checkpoint", view).with("epoch", number(cp.epoch)).into())
}

/// A turn.
pub fn turn(turn: &Turn) -> Plain {
    Plain::new().with("id", turn.id.as_str()).with("seq", turn.seq).with("version", turn.version.as_str())
}

/// A turn that was just begun.
pub fn begun(cp: &Checkpoint<JsText>, run: &RunId, written: JsValue) -> Answer {
    let begun: Record = written.unchecked_into();
    begun.put("turn", &or_null(cp.turn.as_ref().map(turn)));
    begun.put("runId", &run.as_str().into());
    begun.put("messageCount", &cp.state.spans.count().into());
    Ok(begun.into())
}

/// A prompt, and the turn it began.
fn prompt(value: Value<JsText>, of: Option<&Turn>) -> Plain {
    Plain::new().with("text", value.text).with("turnId", or_null(of.map(|turn| turn.id.as_str())))
}

/// What a restore did.
pub fn restored(restored: &Restored<JsText>, view: JsValue) -> Answer {
    Ok(Plain::new()
        .with("checkpoint", view)
        .with("epoch", number(restored.checkpoint.epoch))
        .with("restorePointId", id(&restored.restore_point.id))
        .with("targetCheckpointId", or_null(restored.target.as_ref().map(id)))
        .with("parts", list(&restored.parts, |part: &Part| part.word().into()))
        .with("removed", texts(restored.removed.iter().cloned()))
        .with("commitHash", or_null(restored.checkpoint.commit.as_deref()))
        .with("prompt", or_null(restored.prompt.clone().map(|(value, of)| prompt(value, of.as_ref()))))
        .into())
}

/// Texts as an array.
pub fn texts(texts: impl IntoIterator<Item = JsText>) -> JsValue {
    list(texts, JsValue::from)
}

pub(super) fn attached(refs: &[Hash], binaries: &Binaries) -> JsValue {
    if refs.is_empty() {
        return JsValue::UNDEFINED;
    }
    list(refs, |hash| binaries.get(hash).map_or(JsValue::UNDEFINED, |bytes| Uint8Array::from(bytes.as_slice()).into()))
}

fn pack(values: Vec<Value<JsText>>, binaries: &Binaries) -> Plain {
    let referring = values.iter().any(|value| !value.refs.is_empty());
    let lists = referring.then(|| list(&values, |value| attached(&value.refs, binaries)));
    Plain::new().with("binaries", or_null(lists)).with("texts", texts(values.into_iter().map(|value| value.text)))
}

fn keyed(named: Vec<(String, Value<JsText>)>, binaries: &Binaries) -> Plain {
    let (keys, values): (Vec<String>, Vec<Value<JsText>>) = named.into_iter().unzip();
    pack(values, binaries).with("keys", words(&keys))
}

/// The `ui` part of a checkpoint.
pub fn ui(contents: Contents<JsText>) -> JsValue {
    keyed(contents.ui, &contents.binaries).into()
}

/// A message that is still being written, or whose writer died.
fn streaming((run, message): (Run, Option<Incoming<JsText>>)) -> Option<Plain> {
    let message = message?;
    Some(
        Plain::new()
            .with("text", message.body.text)
            .with("runId", run.id.as_str())
            .with("turnId", run.turn.id.as_str())
            .with("since", number(run.since)),
    )
}

/// The prompt a message came from.
pub fn matched(found: Option<&Match>) -> JsValue {
    Plain::new()
        .with("matchedCheckpointId", or_null(found.map(|found| id(&found.checkpoint))))
        .with("commitHash", or_null(found.and_then(|found| found.commit.as_deref())))
        .into()
}

/// A message that is still being written, or `null`.
pub fn growing(run: Option<(Run, Option<Incoming<JsText>>)>) -> JsValue {
    or_null(run.and_then(streaming))
}

/// The versions of a turn.
pub fn versions(versions: &[Version<JsText>]) -> JsValue {
    list(versions, |version: &Version<JsText>| {
        let cp = &version.checkpoint;
        Plain::new()
            .with("version", or_null(cp.turn.as_ref().map(|turn| turn.version.as_str())))
            .with("checkpointId", id(&cp.id))
            .with("createdAt", number(cp.at))
            .with("messageCount", cp.state.spans.count())
            .with("live", version.live)
            .into()
    })
}

/// A checkpoint with everything in it.
pub fn loaded(loaded: Loaded<JsText>, durability: &Durability) -> Answer {
    let Loaded { checkpoint: cp, epoch, contents, pending, prompt: asked, run } = loaded;
    let write = |write: Pending<JsText>| {
        let bytes = attached(&write.value.refs, &contents.binaries);
        Array::of4(&write.task.into(), &write.channel.into(), &write.value.text.into(), &bytes).into()
    };
    Ok(Plain::new()
        .with("checkpoint", checkpoint(&cp, durability)?)
        .with("epoch", or_null(epoch.map(number)))
        .with("listed", cp.state.listed)
        .with("messages", pack(contents.messages, &contents.binaries))
        .with("channels", keyed(contents.channels, &contents.binaries))
        .with("ui", keyed(contents.ui, &contents.binaries))
        .with("prompt", or_null(asked.map(|value| prompt(value, cp.turn.as_ref()))))
        .with("streaming", or_null(run.and_then(streaming)))
        .with("writes", list(pending, write))
        .into())
}

/// One page of a listing.
pub fn page(page: &Page<JsText>, durability: &Durability) -> Answer {
    let line = |cp: &Checkpoint<JsText>| {
        header(cp, durability)
            .with("seq", cp.seq)
            .with("source", cp.source.word())
            .with("writes", words(&cp.writes))
            .with("forkedFrom", or_null(cp.forked_from.as_ref().map(origin)))
            .with("size", number(cp.state.size))
            .with("head", page.head == Some(cp.seq))
            .into()
    };
    let next = page.next.map(|seq| format!("{PLACE}{seq}"));
    Ok(Plain::new().with("items", list(&page.items, line)).with("next", or_null(next)).into())
}
