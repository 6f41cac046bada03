//! Who still lives: an open store holds a Web Lock of its own. The browser frees the lock of a tab that dies, and by that its
//! answer is known to be interrupted, and the store not to have been closed well. One lock serves all runs of a store, because
//! asking for one costs half as much as the transaction that a run begins with.

use std::cell::RefCell;

use js_sys::{Array, Function, Object, Promise, Reflect};
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::{JsFuture, spawn_local};

use crate::ids::WriterId;
use crate::model::sorted::Set;

#[wasm_bindgen]
extern "C" {
    type LockManager;

    #[wasm_bindgen(method, catch)]
    fn request(this: &LockManager, name: &str, options: &JsValue, callback: &Function) -> Result<Promise, JsValue>;

    #[wasm_bindgen(method, catch)]
    fn query(this: &LockManager) -> Result<Promise, JsValue>;
}

fn manager() -> Option<LockManager> {
    let navigator = Reflect::get(&js_sys::global(), &"navigator".into()).ok()?;
    let locks = Reflect::get(&navigator, &"locks".into()).ok()?;
    (!locks.is_null_or_undefined()).then(|| locks.unchecked_into())
}

fn prefix(name: &str) -> String {
    format!("turnmark-writer:{name}:")
}

/// A lock, until it is dropped. Where the browser has no locks it is nothing.
pub struct Lock(Option<Function>);

impl Drop for Lock {
    fn drop(&mut self) {
        if let Some(free) = self.0.take() {
            drop(free.call0(&JsValue::NULL));
        }
    }
}

/// Asks for a lock at once; the promise tells when it is held.
fn request(name: &str, mode: &str) -> Option<(Lock, Promise)> {
    let locks = manager()?;
    let (mut free, mut tell) = (None, None);
    let until = Promise::new(&mut |resolve, _| free = Some(resolve));
    let held = Promise::new(&mut |resolve, _| tell = Some(resolve));
    let options = Object::new();
    drop(Reflect::set(&options, &"mode".into(), &mode.into()));
    let callback = Closure::once_into_js(move |_lock: JsValue| {
        drop(tell.map(|tell| tell.call0(&JsValue::NULL)));
        until
    });
    // A refusal (a document being torn down) only means that nobody will see that it is held, and that nobody waits.
    let ended = locks.request(name, &options, callback.unchecked_ref()).ok()?;
    let held = Promise::race(&Array::of2(&held, &ended));
    let heard = JsFuture::from(held.clone());
    spawn_local(async move { drop(heard.await) });
    Some((Lock(free), held))
}

/// Whether the writers of a database still live: this open store, and those of other tabs.
pub struct Presence {
    name: String,
    me: WriterId,
    /// Held until this one leaves or the page dies, where other tabs use the database too.
    shown: RefCell<Option<Lock>>,
    shared: bool,
}

/// The writers that live.
pub struct Live(Set<String>);

impl Live {
    /// Whether it is one of them. One that is not known is not.
    pub fn has(&self, writer: Option<&WriterId>) -> bool {
        writer.is_some_and(|writer| self.0.contains(writer.as_str()))
    }
}

impl Presence {
    /// Of an open store, which shows from now on that it lives. `shared`: whether other tabs use its database too.
    pub fn new(name: &str, me: &WriterId, shared: bool) -> Self {
        let shown = shared.then(|| request(&format!("{}{me}", prefix(name)), "shared")).flatten();
        Presence { name: name.to_owned(), me: me.clone(), shown: RefCell::new(shown.map(|(lock, _)| lock)), shared }
    }

    /// Waits until no other tab does what this one is about to do.
    pub async fn alone(&self, what: &str) -> Lock {
        let Some((lock, held)) = request(&format!("turnmark-{what}:{}", self.name), "exclusive") else {
            return Lock(None);
        };
        drop(JsFuture::from(held).await);
        lock
    }

    /// Whether it is this one.
    pub fn is_me(&self, writer: Option<&WriterId>) -> bool {
        writer == Some(&self.me)
    }

    /// Which writers live now.
    pub async fn live(&self) -> Live {
        let prefix = prefix(&self.name);
        let mut live = Set::default();
        live.extend([self.me.to_string()]);
        if let Some(query) = manager().filter(|_| self.shared).and_then(|locks| locks.query().ok())
            && let Ok(answer) = JsFuture::from(query).await
        {
            // One that is asked for will be held in a moment.
            for state in ["held", "pending"] {
                let locks = Reflect::get(&answer, &state.into()).unwrap_or_default();
                for lock in locks.dyn_ref::<Array>().cloned().unwrap_or_default().iter() {
                    let name = Reflect::get(&lock, &"name".into()).ok().and_then(|name| name.as_string());
                    let writer = name.as_deref().and_then(|name| name.strip_prefix(&prefix));
                    live.extend(writer.map(ToOwned::to_owned));
                }
            }
        }
        Live(live)
    }

    /// Leaves: what is unfinished is interrupted now.
    pub fn leave(&self) {
        self.shown.take();
    }
}
