//! Who is still writing: a Web Lock is held while a turn is answered, or while a session's newest checkpoint is provisional. The
//! browser frees the lock of a tab that dies, and by that its answer is known to be interrupted.

use std::cell::RefCell;

use js_sys::{Array, Function, Object, Promise, Reflect};
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::JsFuture;

use crate::ids::ScopeId;
use crate::model::sorted::{Map, Set};

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

/// What this page holds of one kind, and a look at what others hold.
pub struct Locks {
    prefix: String,
    shared: bool,
    /// For each one, what frees it (nothing, where the browser has no locks).
    mine: RefCell<Map<String, Option<Function>>>,
}

impl Locks {
    /// Of a kind, for one scope of one database. `shared`: whether other tabs use it too.
    pub fn new(kind: &str, name: &str, scope: &ScopeId, shared: bool) -> Self {
        Locks { prefix: format!("turnmark-{kind}:{name}:{scope}:"), shared, mine: RefCell::default() }
    }

    /// Holds one until it is freed, or the page dies. The browser is asked at once, before anything that is asked after it.
    pub fn hold(&self, what: &str) {
        if self.is_mine(what) {
            return;
        }
        let free = self.shared.then(|| self.request(what)).flatten();
        self.mine.borrow_mut().insert(what.to_owned(), free);
    }

    /// Asks for a lock, and gives the function that frees it.
    fn request(&self, what: &str) -> Option<Function> {
        let locks = manager()?;
        let mut free = None;
        let until = Promise::new(&mut |resolve, _| free = Some(resolve));
        let options = Object::new();
        drop(Reflect::set(&options, &"mode".into(), &"shared".into()));
        let callback = Closure::once_into_js(move |_lock: JsValue| until);
        let ended = locks.request(&format!("{}{what}", self.prefix), &options, callback.unchecked_ref()).ok()?;
        // A refusal (a document being torn down) only means that nobody will see that it is held.
        wasm_bindgen_futures::spawn_local(async move { drop(JsFuture::from(ended).await) });
        free
    }

    /// Frees one, if this page holds it.
    pub fn free(&self, what: &str) {
        if let Some(Some(free)) = self.mine.borrow_mut().remove(what) {
            drop(free.call0(&JsValue::NULL));
        }
    }

    /// Whether this page holds one.
    pub fn is_mine(&self, what: &str) -> bool {
        self.mine.borrow().contains_key(what)
    }

    /// What is held, here or in another tab.
    pub async fn live(&self) -> Set<String> {
        let mut live: Set<String> = self.mine.borrow().keys().cloned().collect();
        if let Some(query) = manager().filter(|_| self.shared).and_then(|locks| locks.query().ok())
            && let Ok(answer) = JsFuture::from(query).await
        {
            // One that is asked for will be held in a moment.
            for state in ["held", "pending"] {
                let locks = Reflect::get(&answer, &state.into()).unwrap_or_default();
                for lock in locks.dyn_ref::<Array>().cloned().unwrap_or_default().iter() {
                    let name = Reflect::get(&lock, &"name".into()).ok().and_then(|name| name.as_string());
                    let what = name.as_deref().and_then(|name| name.strip_prefix(&self.prefix));
                    live.extend(what.map(ToOwned::to_owned));
                }
            }
        }
        live
    }

    /// Frees every one of this page.
    pub fn free_all(&self) {
        let mine = std::mem::take(&mut *self.mine.borrow_mut());
        for free in mine.into_values().flatten() {
            drop(free.call0(&JsValue::NULL));
        }
    }
}
