//! Who is still writing: a Web Lock is held while a session's newest checkpoint is provisional. The browser frees the lock of
//! a tab that dies, and by that its answer is known to be interrupted.

use std::cell::RefCell;

use js_sys::{Array, Function, Object, Promise, Reflect};
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::JsFuture;

use crate::ids::{ScopeId, SessionId};
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

/// The runs of this page, and a look at those of others.
pub struct Runs {
    prefix: String,
    shared: bool,
    /// For each session this page is writing, what frees its lock (nothing, where the browser has no locks).
    mine: RefCell<Map<SessionId, Option<Function>>>,
}

impl Runs {
    /// For one scope of one database. `shared`: whether other tabs use it too.
    pub fn new(name: &str, scope: &ScopeId, shared: bool) -> Self {
        Runs { prefix: format!("turnmark:{name}:{scope}:"), shared, mine: RefCell::default() }
    }

    /// Notes whether the newest checkpoint of a session is provisional now, by this page.
    pub fn note(&self, session: &SessionId, provisional: bool) {
        if !provisional {
            if let Some(Some(free)) = self.mine.borrow_mut().remove(session) {
                drop(free.call0(&JsValue::NULL));
            }
            return;
        }
        if self.mine.borrow().contains_key(session) {
            return;
        }
        let free = self.shared.then(|| self.hold(session)).flatten();
        self.mine.borrow_mut().insert(session.clone(), free);
    }

    /// Holds a lock until the function that this gives is called, or the page dies.
    fn hold(&self, session: &SessionId) -> Option<Function> {
        let locks = manager()?;
        let mut free = None;
        let until = Promise::new(&mut |resolve, _| free = Some(resolve));
        let options = Object::new();
        drop(Reflect::set(&options, &"mode".into(), &"shared".into()));
        let callback = Closure::once_into_js(move |_lock: JsValue| until);
        let granted = locks.request(&format!("{}{session}", self.prefix), &options, callback.unchecked_ref()).ok()?;
        // A refusal (a document being torn down) only means that nobody will see this run.
        wasm_bindgen_futures::spawn_local(async move { drop(JsFuture::from(granted).await) });
        free
    }

    /// Sessions that are being written, here or in another tab.
    pub async fn live(&self) -> Set<SessionId> {
        let mut live: Set<SessionId> = self.mine.borrow().keys().cloned().collect();
        if let Some(query) = manager().filter(|_| self.shared).and_then(|locks| locks.query().ok())
            && let Ok(answer) = JsFuture::from(query).await
        {
            let held = Reflect::get(&answer, &"held".into()).unwrap_or_default();
            for lock in held.dyn_ref::<Array>().cloned().unwrap_or_default().iter() {
                let name = Reflect::get(&lock, &"name".into()).ok().and_then(|name| name.as_string());
                let session = name.as_deref().and_then(|name| name.strip_prefix(&self.prefix));
                live.extend(session.and_then(|session| SessionId::parse(session).ok()));
            }
        }
        live
    }

    /// Frees every lock of this page.
    pub fn release_all(&self) {
        let mine = std::mem::take(&mut *self.mine.borrow_mut());
        for free in mine.into_values().flatten() {
            drop(free.call0(&JsValue::NULL));
        }
    }
}
