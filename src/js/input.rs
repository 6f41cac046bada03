//! Arguments from JavaScript. The loader has checked their types; what is still wrong is an error, never a panic.

use js_sys::{Array, JsString, Reflect, Uint8Array};
use serde::de::DeserializeOwned;
use wasm_bindgen::{JsCast, JsValue};

use super::inner::NewSession;
use crate::browser::{JsText, from_js, name};
use crate::codec::row::Stream;
use crate::error::{Code, Error, Result};
use crate::ids::{CheckpointId, RunId, ScopeId, SessionId};
use crate::model::body::{Binary, Body};
use crate::model::checkpoint::{Kind, Source};
use crate::model::part::Part;
use crate::plan::bundle::Bundle;
use crate::plan::diff::Place;
use crate::plan::inspect;
use crate::plan::log::Incoming;
use crate::plan::mirror::Seen;
use crate::plan::parts::Named;
use crate::plan::read::{Before, Filter, List};
use crate::plan::turn::Begin;
use crate::plan::write::Metadata;

/// An argument that is not what it should be.
pub fn invalid(what: &str, wanted: &str) -> Error {
    Error::new(Code::InvalidArgument, format!("{what} must be {wanted}"))
}

/// A plain object to read fields of.
pub struct Input<'a>(&'a JsValue);

impl<'a> Input<'a> {
    /// Over an object.
    pub fn new(object: &'a JsValue) -> Self {
        Input(object)
    }

    /// A field; `undefined` when it is absent.
    pub fn get(&self, key: &'static str) -> JsValue {
        Reflect::get(self.0, &name(key)).unwrap_or(JsValue::UNDEFINED)
    }

    /// A string field.
    pub fn text(&self, key: &'static str) -> Result<String> {
        self.get(key).as_string().ok_or_else(|| invalid(key, "a string"))
    }

    /// A string field that may be absent.
    fn text_or_none(&self, key: &'static str) -> Option<String> {
        self.get(key).as_string()
    }

    /// A boolean field; absent is false.
    pub fn flag(&self, key: &'static str) -> bool {
        self.get(key).is_truthy()
    }

    /// A whole number field.
    pub fn count(&self, key: &'static str) -> Result<u32> {
        whole(self.get(key).as_f64().unwrap_or(f64::NAN), key)
    }
}

/// A whole number from 0.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // checked just before
pub fn whole(number: f64, what: &str) -> Result<u32> {
    if number.fract() == 0.0 && (0.0..=f64::from(u32::MAX)).contains(&number) {
        Ok(number as u32)
    } else {
        Err(invalid(what, "a whole number from 0"))
    }
}

/// An epoch the caller has seen.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // below 2^53 by construction
pub fn epoch(expect: Option<f64>) -> Option<u64> {
    expect.map(|epoch| epoch as u64)
}

fn items(value: &JsValue) -> Array {
    value.dyn_ref::<Array>().cloned().unwrap_or_default()
}

fn text(value: JsValue) -> Option<JsText> {
    value.dyn_into::<JsString>().ok().map(JsText::from)
}

fn binaries(value: &JsValue) -> Vec<Binary> {
    let bytes = |item: JsValue| item.dyn_into::<Uint8Array>().ok().map(|bytes| Binary::new(bytes.to_vec()));
    items(value).iter().filter_map(bytes).collect()
}

/// The bodies of a pack.
pub fn bodies(pack: &JsValue) -> Result<Vec<Body<JsText>>> {
    let pack = Input::new(pack);
    let (texts, attached) = (items(&pack.get("texts")), pack.get("binaries"));
    let attached = (!attached.is_null_or_undefined()).then(|| items(&attached));
    (0..texts.length())
        .map(|at| {
            let text = text(texts.get(at)).ok_or_else(|| invalid("texts", "strings"))?;
            Ok(Body::new(text, attached.as_ref().map_or_else(Vec::new, |attached| binaries(&attached.get(at)))))
        })
        .collect()
}

/// Messages on their way in.
pub fn messages(pack: &JsValue) -> Result<Vec<Incoming<JsText>>> {
    let input = Input::new(pack);
    let (ids, roles) = (items(&input.get("ids")), items(&input.get("roles")));
    let incoming = |(body, at)| Incoming { id: text(ids.get(at)), role: text(roles.get(at)), body };
    Ok(bodies(pack)?.into_iter().zip(0..).map(incoming).collect())
}

/// Named values on their way in.
pub fn channels(pack: &JsValue) -> Result<Vec<Named<JsText>>> {
    let keys = items(&Input::new(pack).get("keys"));
    let named = |(body, at)| Ok((keys.get(at).as_string().ok_or_else(|| invalid("keys", "strings"))?, body));
    bodies(pack)?.into_iter().zip(0..).map(named).collect()
}

fn from_value<A: DeserializeOwned>(value: JsValue, what: &str) -> Result<Option<A>> {
    if value.is_null_or_undefined() {
        return Ok(None);
    }
    from_js(value).map(Some).map_err(|error| invalid(what, &format!("as declared ({error})")))
}

fn strings(value: &JsValue) -> Vec<String> {
    items(value).iter().filter_map(|item| item.as_string()).collect()
}

fn pairs(value: &JsValue) -> Vec<(String, JsText)> {
    let pair = |item: JsValue| {
        let pair = items(&item);
        Some((pair.get(0).as_string()?, text(pair.get(1))?))
    };
    items(value).iter().filter_map(pair).collect()
}

fn word<A>(value: Option<String>, what: &str, read: impl Fn(&str) -> Option<A>) -> Result<Option<A>> {
    value.map(|word| read(&word).ok_or_else(|| invalid(what, "one of the declared words"))).transpose()
}

/// What a writer says about a checkpoint.
pub fn metadata(value: &JsValue) -> Result<Metadata<JsText>> {
    let input = Input::new(value);
    let source = word(Some(input.text("source")?), "source", Source::from_word)?.unwrap_or(Source::Manual);
    Ok(Metadata {
        kind: word(input.text_or_none("kind"), "kind", Kind::from_word)?,
        writes: strings(&input.get("writes")),
        name: input.text_or_none("name"),
        parent: input.text_or_none("parentCheckpointId").map(|id| CheckpointId::parse(&id)).transpose()?,
        forked_from: from_value(input.get("forkedFrom"), "forkedFrom")?,
        usage: from_value(input.get("usage"), "usage")?,
        commit: input.text_or_none("commitHash"),
        provisional: input.flag("provisional"),
        allow_empty: input.flag("allowEmpty"),
        extra: pairs(&input.get("extra")),
        ..Metadata::of(source)
    })
}

/// A session and one of its checkpoints.
pub fn place(session: &str, checkpoint: &str) -> Result<Place> {
    Ok(Place { session: SessionId::parse(session)?, checkpoint: CheckpointId::parse(checkpoint)? })
}

/// The same as an object.
pub fn reference(value: &JsValue) -> Result<Place> {
    let input = Input::new(value);
    place(&input.text("sessionId")?, &input.text("checkpointId")?)
}

/// Parts by their words.
pub fn parts(words: &[String]) -> Result<Vec<Part>> {
    words.iter().map(|word| Part::from_word(word).ok_or_else(|| invalid("parts", "a list of declared parts"))).collect()
}

/// Parts by their words, or all of them.
pub fn parts_or_all(value: &JsValue) -> Result<Vec<Part>> {
    if value.is_null_or_undefined() { Ok(Part::ALL.to_vec()) } else { parts(&strings(value)) }
}

/// A bundle, whatever else is in the object. What it says is checked by the engine.
pub fn bundle(value: JsValue) -> Result<Bundle<JsText>> {
    from_js(value).map_err(|error| inspect::bad(error.to_string()))
}

/// What a mirror has, if anything.
pub fn seen(value: JsValue) -> Result<Option<Seen>> {
    from_js(value).map_err(|_| invalid("seen", "what a mirror has"))
}

/// Marks a place in a listing, as opposed to an id; no id holds a control character.
pub const PLACE: char = '\u{1}';

/// What a listing asks for.
pub fn list(scope: &ScopeId, session: &str, options: &JsValue) -> Result<List<JsText>> {
    let input = Input::new(options);
    let before = match input.text_or_none("before") {
        None => None,
        Some(before) => Some(match before.strip_prefix(PLACE) {
            Some(seq) => Before::Seq(seq.parse().map_err(|_| invalid("before", "a checkpoint id"))?),
            None => Before::Id(CheckpointId::parse(&before)?),
        }),
    };
    let filter = input.get("filter");
    let filter = Input::new(&filter);
    let word = |key: &'static str| {
        let value = filter.get(key);
        let value = if value.is_null() { Some(String::new()) } else { value.as_string() };
        value.map(|value| (key.to_owned(), value))
    };
    let writes = filter.get("writes");
    let filter = Filter {
        words: ["kind", "source", "name", "commitHash", "parentCheckpointId", "turnId"]
            .into_iter()
            .filter_map(word)
            .collect(),
        extra: pairs(&filter.get("extra")),
        writes: (!writes.is_null_or_undefined()).then(|| strings(&writes)),
        forked_from: from_value(filter.get("forkedFrom"), "forkedFrom")?,
    };
    Ok(List { scope: scope.clone(), session: SessionId::parse(session)?, limit: input.count("limit")?, before, filter })
}

/// What a step of a turn says of it, beside what every writer says.
pub struct Step {
    /// The run, where it is one.
    pub run: Option<RunId>,
    /// Whether it ends the turn.
    pub ends: bool,
    /// How many messages of the live list stay.
    pub keep: Option<u32>,
    /// The whole `ui` part, where it changes.
    pub ui: Option<Vec<Named<JsText>>>,
}

/// A run's id, where there is one.
pub fn run(id: Option<&str>) -> Result<Option<RunId>> {
    id.map(RunId::parse).transpose()
}

/// The step in what a writer says.
pub fn step(about: &JsValue) -> Result<Step> {
    let input = Input::new(about);
    let (keep, ui) = (input.get("keep"), input.get("ui"));
    Ok(Step {
        run: run(input.text_or_none("runId").as_deref())?,
        ends: input.flag("end"),
        keep: keep.as_f64().map(|keep| whole(keep, "keep")).transpose()?,
        ui: (!ui.is_null_or_undefined()).then(|| channels(&ui)).transpose()?,
    })
}

/// How a turn begins.
pub fn begin(options: &JsValue) -> Result<Begin<JsText>> {
    let input = Input::new(options);
    let prompt = input.get("prompt");
    let prompt = if prompt.is_null_or_undefined() { None } else { bodies(&prompt)?.pop() };
    let run = RunId::parse(&input.text("runId")?)?;
    Ok(Begin { run, prompt, regenerate: input.text_or_none("regenerate"), aside: false })
}

/// An addition to a message that is still being written: its place, and what it is.
pub fn stream(run: &str, row: &JsValue) -> Result<(u32, Stream<JsText>)> {
    let input = Input::new(row);
    let added = Stream {
        run: RunId::parse(run)?,
        id: text(input.get("id")),
        role: text(input.get("role")),
        of: 1,
        head: input.count("head")?,
        tail: input.count("tail")?,
        text: text(input.get("text")).ok_or_else(|| invalid("text", "a string"))?,
    };
    Ok((input.count("n")?, added))
}

/// What a new conversation is asked for with.
pub fn new_session(options: &JsValue) -> Result<NewSession> {
    let input = Input::new(options);
    let about = input.get("about");
    Ok(NewSession {
        id: SessionId::parse(&input.text("id")?)?,
        title: input.text_or_none("title"),
        from: input.text_or_none("from").map(|from| SessionId::parse(&from)).transpose()?,
        commit: Input::new(&about).text_or_none("commitHash"),
        run: run(input.text_or_none("runId").as_deref())?,
    })
}
