//! The exported face of turns and conversations.

use js_sys::Promise;
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::future_to_promise;

use super::{JsEngine, command, error, input, output, reports};
use crate::error::Result;
use crate::ids::{CheckpointId, SessionId};
use crate::plan::bundle;
use crate::plan::change::Change;
use crate::plan::restore::Target;

#[wasm_bindgen(js_class = Engine)]
impl JsEngine {
    /// Begins a turn.
    pub fn begin(&self, session: &str, options: &JsValue, about: &JsValue, expect: Option<f64>) -> Promise {
        let parsed: Result<_> = (|| {
            let step = input::step(about)?;
            let (messages, set, remove) = (Vec::new(), Vec::new(), Vec::new());
            let change = Change::Append { keep: None, messages, set, remove, ui: step.ui };
            Ok((SessionId::parse(session)?, input::begin(options)?, change, input::metadata(about)?))
        })();
        let inner = self.0.clone();
        future_to_promise(async move {
            let (session, begin, change, metadata) = parsed.map_err(|error| error::to_js(&error))?;
            inner.begin(session, begin, change, metadata, input::epoch(expect)).await
        })
    }

    /// Saves what was added to a message that is still being written, and gives the next place.
    pub fn stream(&self, session: &str, run: &str, row: &JsValue) -> Promise {
        let parsed = (|| Ok((SessionId::parse(session)?, input::stream(run, row)?)))();
        command(&self.0, parsed, |inner, (session, (n, row))| async move {
            inner.engine.stream(&session, n, &row).await?;
            Ok(n.saturating_add(1).into())
        })
    }

    /// The `ui` part of a checkpoint.
    pub fn ui(&self, session: &str, checkpoint: &str) -> Promise {
        let parsed = (|| Ok((SessionId::parse(session)?, CheckpointId::parse(checkpoint)?)))();
        command(&self.0, parsed, |inner, (session, checkpoint)| async move {
            Ok(output::ui(inner.engine.ui(&session, &checkpoint).await?))
        })
    }

    /// Compares the sessions with what a witness knows of them: names and sequence numbers, alike in order.
    pub fn missing(&self, names: Vec<String>, numbers: Vec<u32>) -> Promise {
        // A witness is no more to be trusted than any file: what is no id was never one of ours.
        let known = names.iter().zip(numbers).filter_map(|(name, last)| Some((SessionId::parse(name).ok()?, last)));
        command(&self.0, Ok(known.collect::<Vec<_>>()), |inner, known| async move {
            Ok(reports::missing(&inner.engine.missing(&known).await?))
        })
    }

    /// What a mirror is given of a session, beyond a checkpoint that it has; `undefined` when there is nothing.
    pub fn share(&self, session: &str, seen: JsValue, most: u32) -> Promise {
        let parsed = (|| Ok((SessionId::parse(session)?, input::seen(seen)?)))();
        command(&self.0, parsed, move |inner, (session, after)| async move {
            reports::share(inner.engine.share(&session, after, most).await?.as_ref())
        })
    }

    /// Restores a session from what a mirror was given of it, oldest first; one of its id that is there stays as it is.
    #[wasm_bindgen(js_name = bringBack)]
    pub fn bring_back(&self, parts: Vec<JsValue>) -> Promise {
        let parsed = parts.into_iter().map(input::bundle).collect::<Result<Vec<_>>>();
        command(&self.0, parsed, |inner, parts| async move {
            let bundle = bundle::together(parts);
            Ok(reports::imported(&inner.engine.import(&bundle, bundle::OnExisting::Rename).await?))
        })
    }

    /// The prompt that a message came from; its fields are `null` where there is none.
    #[wasm_bindgen(js_name = findPrompt)]
    pub fn find_prompt(&self, session: &str, message: String) -> Promise {
        command(&self.0, SessionId::parse(session), |inner, session| async move {
            Ok(output::matched(inner.engine.find_prompt(&session, &message).await?.as_ref()))
        })
    }

    /// The same for whoever is about to restore to it: refused while a run is alive.
    pub fn aim(&self, session: &str, message: String, run: Option<String>) -> Promise {
        let parsed = (|| Ok((SessionId::parse(session)?, input::run(run.as_deref())?)))();
        command(&self.0, parsed, |inner, (session, run)| async move {
            let find = |_| inner.engine.aim(&session, &message, run.as_ref());
            Ok(output::matched(inner.when_idle(&session, None, find).await?.as_ref()))
        })
    }

    /// Restores to before a message of the user's.
    #[wasm_bindgen(js_name = restoreTo)]
    pub fn restore_to(
        &self,
        session: &str,
        message: String,
        run: Option<String>,
        expect: Option<f64>,
        commit: Option<String>,
    ) -> Promise {
        let parsed = (|| Ok((SessionId::parse(session)?, input::run(run.as_deref())?)))();
        command(&self.0, parsed, move |inner, (session, run)| {
            inner.restore(session, Target::Message(message), run, commit, input::epoch(expect))
        })
    }

    /// What was saved of the message a session is writing, or was writing when its page died; `null` when there is none.
    pub fn streaming(&self, session: &str) -> Promise {
        command(&self.0, SessionId::parse(session), |inner, session| async move {
            Ok(output::growing(inner.engine.streaming(&session).await?))
        })
    }

    /// The versions of the turn that a message opened.
    pub fn versions(&self, session: &str, message: String) -> Promise {
        command(&self.0, SessionId::parse(session), |inner, session| async move {
            Ok(output::versions(&inner.engine.versions(&session, &message).await?))
        })
    }

    /// Starts a conversation, and seals the one before it.
    #[wasm_bindgen(js_name = newSession)]
    pub fn new_session(&self, options: &JsValue) -> Promise {
        command(&self.0, input::new_session(options), |inner, asked| inner.new_session(asked))
    }

    /// Makes a conversation the active one.
    #[wasm_bindgen(js_name = openSession)]
    pub fn open_session(&self, session: &str, commit: Option<String>) -> Promise {
        command(&self.0, SessionId::parse(session), |inner, session| async move {
            let previous = inner.engine.open_session(&session, commit.as_deref()).await?;
            Ok(reports::left(previous.as_ref()))
        })
    }

    /// The active conversation.
    pub fn active(&self) -> Promise {
        command(&self.0, Ok(()), |inner, ()| async move {
            Ok(inner.engine.active_session().await?.map_or(JsValue::NULL, |active| active.as_str().into()))
        })
    }

    /// Sets or removes the id of the agent's own session.
    #[wasm_bindgen(js_name = setRemote)]
    pub fn set_remote(&self, session: &str, remote: Option<String>) -> Promise {
        command(&self.0, SessionId::parse(session), |inner, session| async move {
            inner.engine.set_remote(&session, remote.as_deref()).await?;
            Ok(JsValue::UNDEFINED)
        })
    }

    /// The runs that are alive.
    pub fn runs(&self) -> Promise {
        command(&self.0, Ok(()), |inner, ()| async move {
            let (status, live) = (inner.engine.status().await?, inner.presence.live().await);
            let alive = status.unfinished.iter().filter(|one| live.has(one.writer.as_ref()));
            Ok(reports::runs(alive, &inner.presence))
        })
    }

    /// Asks whoever writes a session to stop.
    #[wasm_bindgen(js_name = askAbort)]
    pub fn ask_abort(&self, session: &str) -> Promise {
        command(&self.0, SessionId::parse(session), |inner, session| async move {
            inner.announcer.ask_abort(&session);
            Ok(JsValue::UNDEFINED)
        })
    }
}
