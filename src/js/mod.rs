//! The exported face: one class, no rule in it. A method parses its arguments, calls the engine, converts the answer.
//!
//! Methods take `&self` for as long as they parse and give a promise over a clone of the engine: an `async fn` export
//! would stay borrowed until it settles, and a second call or `free()` meanwhile would throw.

mod error;
mod events;
mod health;
mod inner;
mod input;
mod output;
mod plain;
mod presence;
mod reports;
mod storage;
mod turns;

use std::future::{Future, ready};
use std::pin::Pin;
use std::rc::Rc;

use js_sys::Promise;
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::future_to_promise;

use crate::browser::{self};
use crate::codec::schema;
use crate::error::Result;
use crate::ids::{CheckpointId, SessionId, TaskId};
use crate::plan::bundle;
use crate::plan::change::Change;
use crate::plan::restore::Target;
use crate::plan::status::{Question, Unfinished};
use inner::Inner;
use input::Input;

/// Runs once when the module is loaded: a panic, which would be a fault of this library, is at least readable.
#[wasm_bindgen(start)]
pub fn start() {
    console_error_panic_hook::set_once();
}

/// An open store: one scope of one database.
#[wasm_bindgen(js_name = Engine)]
pub struct JsEngine(Rc<Inner>);

/// A command that runs. Boxed, so that one compiled copy of a promise serves them all.
type Running = Pin<Box<dyn Future<Output = Result<JsValue>>>>;

fn promise(running: Running) -> Promise {
    future_to_promise(async move { running.await.map_err(|error| error::to_js(&error)) })
}

/// Parses now, then runs over a clone of the engine; a fault in the arguments is a rejection too.
fn command<A, F>(inner: &Rc<Inner>, parsed: Result<A>, run: impl FnOnce(Rc<Inner>, A) -> F) -> Promise
where
    F: Future<Output = Result<JsValue>> + 'static,
{
    promise(match parsed {
        Ok(arguments) => Box::pin(run(inner.clone(), arguments)),
        Err(error) => Box::pin(ready(Err(error))),
    })
}

#[wasm_bindgen(js_class = Engine)]
impl JsEngine {
    /// Opens a store.
    pub fn open(options: JsValue) -> Promise {
        promise(Box::pin(async move { Ok(JsEngine(Inner::open(&Input::new(&options)).await?).into()) }))
    }

    /// Deletes a database whole.
    #[wasm_bindgen(js_name = deleteDatabase)]
    pub fn delete_database(name: String) -> Promise {
        promise(Box::pin(async move {
            browser::delete_database(&browser::OpenOptions::new(name)).await?;
            Ok(JsValue::UNDEFINED)
        }))
    }

    /// Saves a whole state.
    pub fn put(&self, session: &str, state: &JsValue, metadata: &JsValue, expect: Option<f64>) -> Promise {
        let parsed = (|| {
            let state = Input::new(state);
            let change = Change::Whole {
                listed: state.flag("listed"),
                messages: input::messages(&state.get("messages"))?,
                channels: input::channels(&state.get("channels"))?,
            };
            Ok((SessionId::parse(session)?, change, input::metadata(metadata)?, input::epoch(expect)))
        })();
        command(&self.0, parsed, |inner, (session, change, metadata, expect)| {
            inner.write(session, change, metadata, expect)
        })
    }

    /// Appends messages and channel changes.
    pub fn append(
        &self,
        session: &str,
        messages: &JsValue,
        channels: &JsValue,
        remove: Vec<String>,
        metadata: &JsValue,
        expect: Option<f64>,
    ) -> Promise {
        let parsed = (|| {
            let step = input::step(metadata)?;
            let change = Change::Append {
                keep: step.keep,
                messages: input::messages(messages)?,
                set: input::channels(channels)?,
                remove,
                ui: step.ui,
            };
            let session = SessionId::parse(session)?;
            Ok((session, step.run, step.ends, change, input::metadata(metadata)?, input::epoch(expect)))
        })();
        command(&self.0, parsed, |inner, (session, run, ends, change, metadata, expect)| async move {
            match run {
                Some(run) => inner.step(session, run, ends, change, metadata, expect).await,
                None => inner.write(session, change, metadata, expect).await,
            }
        })
    }

    /// Reads a checkpoint with everything in it; `undefined` when there is none.
    pub fn load(&self, session: &str, checkpoint: Option<String>) -> Promise {
        let parsed =
            (|| Ok((SessionId::parse(session)?, checkpoint.as_deref().map(CheckpointId::parse).transpose()?)))();
        command(&self.0, parsed, |inner, (session, checkpoint)| async move {
            match inner.engine.load(&session, checkpoint.as_ref()).await? {
                Some(loaded) => output::loaded(loaded, &inner.announcer.durability()),
                None => Ok(JsValue::UNDEFINED),
            }
        })
    }

    /// Reads the ids of a state's messages.
    #[wasm_bindgen(js_name = messageIds)]
    pub fn message_ids(&self, session: &str, checkpoint: &str) -> Promise {
        command(&self.0, input::place(session, checkpoint), |inner, place| async move {
            let ids = inner.engine.message_ids(&place.session, &place.checkpoint).await?;
            Ok(output::texts(ids))
        })
    }

    /// Reads one page of a session's checkpoints.
    pub fn list(&self, session: &str, options: &JsValue) -> Promise {
        let parsed = input::list(self.0.engine.scope(), session, options);
        command(&self.0, parsed, |inner, list| async move {
            let page = inner.engine.list(&list).await?;
            output::page(&page, &inner.announcer.durability())
        })
    }

    /// Rolls back to a checkpoint.
    pub fn rollback(
        &self,
        session: &str,
        checkpoint: &str,
        parts: Vec<String>,
        expect: Option<f64>,
        run: Option<String>,
    ) -> Promise {
        let parsed = (|| {
            let place = input::place(session, checkpoint)?;
            Ok((
                place.session,
                Target::Rollback { id: place.checkpoint, parts: input::parts(&parts)? },
                input::run(run.as_deref())?,
                input::epoch(expect),
            ))
        })();
        command(&self.0, parsed, |inner, (session, target, run, expect)| {
            inner.restore(session, target, run, None, expect)
        })
    }

    /// Undoes the newest operation.
    pub fn undo(&self, session: &str, expect: Option<f64>, run: Option<String>) -> Promise {
        let parsed = (|| Ok((SessionId::parse(session)?, input::run(run.as_deref())?, input::epoch(expect))))();
        command(&self.0, parsed, |inner, (session, run, expect)| {
            inner.restore(session, Target::Undo, run, None, expect)
        })
    }

    /// Redoes the newest undone operation.
    pub fn redo(&self, session: &str, expect: Option<f64>, run: Option<String>) -> Promise {
        let parsed = (|| Ok((SessionId::parse(session)?, input::run(run.as_deref())?, input::epoch(expect))))();
        command(&self.0, parsed, |inner, (session, run, expect)| {
            inner.restore(session, Target::Redo, run, None, expect)
        })
    }

    /// Starts a session at a checkpoint.
    pub fn fork(&self, source: &str, checkpoint: &str, target: &str) -> Promise {
        let parsed = (|| Ok((input::place(source, checkpoint)?, SessionId::parse(target)?)))();
        command(&self.0, parsed, |inner, (from, target)| async move {
            let forked = inner.engine.fork(from.session, from.checkpoint, target).await?;
            output::written(&forked, inner.announcer.view(&forked)?)
        })
    }

    /// Pins or unpins a checkpoint.
    pub fn pin(&self, session: &str, checkpoint: &str, pinned: bool) -> Promise {
        command(&self.0, input::place(session, checkpoint), move |inner, place| async move {
            inner.engine.pin(&place.session, &place.checkpoint, pinned).await?;
            Ok(JsValue::UNDEFINED)
        })
    }

    /// Deletes a checkpoint; resolves to the session's new epoch where the head moved.
    #[wasm_bindgen(js_name = deleteCheckpoint)]
    pub fn delete_checkpoint(&self, session: &str, checkpoint: &str) -> Promise {
        command(&self.0, input::place(session, checkpoint), |inner, place| async move {
            let delete = |_| inner.engine.delete_checkpoint(&place.session, &place.checkpoint);
            let moved = inner.when_idle(&place.session, None, delete).await?;
            Ok(moved.map_or(JsValue::UNDEFINED, plain::number))
        })
    }

    /// Deletes all but the newest checkpoints; resolves to how many.
    pub fn prune(&self, session: &str, keep_last: f64) -> Promise {
        let parsed = (|| Ok((SessionId::parse(session)?, input::whole(keep_last, "keepLast")?)))();
        command(&self.0, parsed, |inner, (session, keep_last)| async move {
            Ok(inner.engine.prune(session, keep_last).await?.deleted.len().into())
        })
    }

    /// Attaches writes to the newest checkpoint.
    #[wasm_bindgen(js_name = putWrites)]
    pub fn put_writes(&self, session: &str, task: &str, channels: Vec<String>, pack: &JsValue) -> Promise {
        let parsed = (|| {
            Ok((
                SessionId::parse(session)?,
                TaskId::parse(task)?,
                channels.into_iter().zip(input::bodies(pack)?).collect::<Vec<_>>(),
            ))
        })();
        command(&self.0, parsed, |inner, (session, task, values)| async move {
            inner.engine.put_writes(&session, &task, &values).await?;
            Ok(JsValue::UNDEFINED)
        })
    }

    /// Compares two checkpoints.
    pub fn diff(&self, a: &JsValue, b: &JsValue, load: bool) -> Promise {
        let parsed = (|| Ok((input::reference(a)?, input::reference(b)?)))();
        command(&self.0, parsed, move |inner, (a, b)| async move {
            Ok(reports::diff(inner.engine.diff(&a, &b, load).await?))
        })
    }

    /// Reads the newest operations of a session.
    pub fn log(&self, session: &str, limit: f64) -> Promise {
        let parsed = SessionId::parse(session);
        let limit = input::whole(limit.min(f64::from(u32::MAX)), "limit");
        command(&self.0, parsed.and_then(|session| Ok((session, limit?))), |inner, (session, limit)| async move {
            let (operations, undo) = inner.engine.operations(&session, limit).await?;
            Ok(reports::operations(&operations, undo))
        })
    }

    /// What an operation would change.
    pub fn preview(&self, session: &str, request: &JsValue) -> Promise {
        let parsed = (|| {
            let request = Input::new(request);
            let operation = request.text("operation")?;
            let checkpoint = || CheckpointId::parse(&request.text("checkpointId")?);
            let question = match operation.as_str() {
                "rollback" => Question::Restore(Target::Rollback {
                    id: checkpoint()?,
                    parts: input::parts_or_all(&request.get("parts"))?,
                }),
                "undo" => Question::Restore(Target::Undo),
                "redo" => Question::Restore(Target::Redo),
                "prune" => Question::Prune(request.count("keepLast")?),
                "delete" => Question::Delete(checkpoint()?),
                _ => return Err(input::invalid("operation", "rollback, undo, redo, prune or delete")),
            };
            Ok((SessionId::parse(session)?, question, operation))
        })();
        command(&self.0, parsed, |inner, (session, question, operation)| async move {
            Ok(reports::preview(inner.engine.preview(&session, &question).await?, &operation))
        })
    }

    /// Lists the sessions of the scope.
    pub fn sessions(&self) -> Promise {
        command(&self.0, Ok(()), |inner, ()| async move { Ok(reports::sessions(&inner.engine.sessions().await?)) })
    }

    /// One session's head; `undefined` when there is none.
    pub fn summary(&self, session: &str) -> Promise {
        command(&self.0, SessionId::parse(session), |inner, session| async move {
            let found = inner.engine.session(&session).await?;
            let active = inner.engine.active_session().await?;
            Ok(found.map_or(JsValue::UNDEFINED, |found| reports::session(&found, active.as_ref() == Some(&session))))
        })
    }

    /// Sets or removes a session's title.
    #[wasm_bindgen(js_name = setTitle)]
    pub fn set_title(&self, session: &str, title: Option<String>) -> Promise {
        command(&self.0, SessionId::parse(session), |inner, session| async move {
            inner.engine.set_title(&session, title).await?;
            Ok(JsValue::UNDEFINED)
        })
    }

    /// Deletes a session.
    #[wasm_bindgen(js_name = deleteSession)]
    pub fn delete_session(&self, session: &str) -> Promise {
        command(&self.0, SessionId::parse(session), |inner, session| async move {
            inner.engine.delete_session(&session).await?;
            Ok(JsValue::UNDEFINED)
        })
    }

    /// What the store holds and how it stands.
    pub fn status(&self) -> Promise {
        command(&self.0, Ok(()), |inner, ()| async move {
            let mut status = inner.engine.status().await?;
            let live = inner.presence.live().await;
            let is_alive = |one: &Unfinished| live.has(one.writer.as_ref());
            let alive = reports::runs(status.unfinished.iter().filter(|one| is_alive(one)), &inner.presence);
            status.unfinished.retain(|one| !is_alive(one));
            Ok(reports::status(&status, alive, &inner.engine, &inner.announcer, schema::version()))
        })
    }

    /// Checks every record.
    pub fn verify(&self) -> Promise {
        command(&self.0, Ok(()), |inner, ()| async move { Ok(reports::report(&inner.engine.verify().await?)) })
    }

    /// Puts aside what cannot be read and sets the books right, or tells what that would do.
    pub fn repair(&self, dry_run: bool) -> Promise {
        command(&self.0, Ok(()), move |inner, ()| async move {
            Ok(reports::repaired(&inner.engine.repair(dry_run).await?, dry_run))
        })
    }

    /// Finalizes or drops interrupted sessions' newest checkpoints.
    pub fn recover(&self, drop: bool, session: Option<String>) -> Promise {
        let only = session.map(|session| SessionId::parse(&session)).transpose();
        command(&self.0, only, move |inner, only| async move {
            Ok(reports::recovered(&inner.recover(drop, only).await?, drop))
        })
    }

    /// Exports sessions, or all of the scope, as a bundle: an object, of which the package makes a text.
    pub fn export(&self, sessions: Option<Vec<String>>) -> Promise {
        let parsed =
            sessions.map(|ids| ids.iter().map(|id| SessionId::parse(id)).collect::<Result<Vec<_>>>()).transpose();
        command(&self.0, parsed, |inner, sessions| async move {
            reports::bundle(&inner.engine.export(sessions.as_deref()).await?)
        })
    }

    /// Imports a bundle.
    pub fn import(&self, bundle: JsValue, on_existing: &str) -> Promise {
        let on = match on_existing {
            "skip" => bundle::OnExisting::Skip,
            "rename" => bundle::OnExisting::Rename,
            _ => bundle::OnExisting::Error,
        };
        command(&self.0, input::bundle(bundle), move |inner, bundle| async move {
            Ok(reports::imported(&inner.engine.import(&bundle, on).await?))
        })
    }

    /// Notes what the browser answered when asked to keep this origin.
    #[wasm_bindgen(js_name = notePersisted)]
    pub fn note_persisted(&self, persisted: bool) {
        self.0.announcer.note_persisted(persisted);
    }

    /// Closes the store; transactions under way end first.
    pub fn close(&self) -> Promise {
        command(&self.0, Ok(()), |inner, ()| async move {
            inner.leave().await;
            inner.announcer.close();
            inner.engine.storage().close().await;
            Ok(JsValue::UNDEFINED)
        })
    }
}
