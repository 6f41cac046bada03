//! Who is still writing: an open store holds a Web Lock of its own from the first turn (or provisional checkpoint) that it
//! begins. The browser frees the lock of a tab that dies, and by that its answer is known to be interrupted. One lock serves
//! all runs of a store, because asking for one costs half as much as the transaction that a run begins with.

use std::cell::RefCell;

use js_sys::{Array, Function, Object, Promise, Reflect};
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::JsFuture;

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

/// Whether the writers of a database still live: this open store, and those of other tabs.
pub struct Presence {
    prefix: String,
    me: WriterId,
    shared: bool,
    /// What frees the lock of this one, once it is shown (nothing, where the browser has no locks).
    shown: RefCell<Option<Option<Function>>>,
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
    /// Of an open store. `shared`: whether other tabs use its database too.
    pub fn new(name: &str, me: &WriterId, shared: bool) -> Self {
        Presence { prefix: format!("turnmark-writer:{name}:"), me: me.clone(), shared, shown: RefCell::default() }
    }

    /// Shows that this one lives, until it leaves or the page dies. The browser is asked at once.
    pub fn show(&self) {
        if self.shown.borrow().is_none() {
            let free = self.shared.then(|| self.request()).flatten();
            self.shown.replace(Some(free));
        }
    }

    /// Asks for the lock, and gives the function that frees it.
    fn request(&self) -> Option<Function> {
        let locks = manager()?;
        let mut free = None;
        let until = Promise::new(&mut |resolve, _| free = Some(resolve));
        let options = Object::new();
        drop(Reflect::set(&options, &"mode".into(), &"shared".into()));
        let callback = Closure::once_into_js(move |_lock: JsValue| until);
        let ended = locks.request(&format!("{}{}", self.prefix, self.me), &options, callback.unchecked_ref()).ok()?;
        // A refusal (a document being torn down) only means that nobody will see that it is held.
        wasm_bindgen_futures::spawn_local(async move { drop(JsFuture::from(ended).await) });
        free
    }

    /// Whether it is this one.
    pub fn is_me(&self, writer: Option<&WriterId>) -> bool {
        writer == Some(&self.me)
    }

    /// Which writers live now.
    pub async fn live(&self) -> Live {
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
                    let writer = name.as_deref().and_then(|name| name.strip_prefix(&self.prefix));
                    live.extend(writer.map(ToOwned::to_owned));
                }
            }
        }
        Live(live)
    }

    /// Leaves: what is unfinished is interrupted now.
    pub fn leave(&self) {
        if let Some(Some(free)) = self.shown.take() {
            drop(free.call0(&JsValue::NULL));
        }
    }
}
