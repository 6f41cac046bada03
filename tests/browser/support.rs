//! What the browser tests share: fresh databases, sample rows, and faults.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use js_sys::{Array, Function, Promise};
use turnmark::browser::{ConnectionEvent, IndexedDbStorage, JsText, OpenOptions, now, sleep};
use turnmark::codec::key::{Key, Range, Store};
use turnmark::codec::row::{Content, Object, Row};
use turnmark::error::{Code, Result};
use turnmark::model::body::Text;
use turnmark::model::hash::Hash;
use turnmark::store::{Access, Op, Plan, Read, Storage};
use wasm_bindgen::prelude::*;
use web_sys::IdbDatabase;

#[wasm_bindgen(module = "/tests/browser/patch.js")]
extern "C" {
    pub(crate) fn mend();
    #[wasm_bindgen(js_name = throwAt)]
    pub(crate) fn throw_at(owner: &str, method: &str, n: u32, name: &str, message: &str, always: bool);
    #[wasm_bindgen(js_name = abortAt)]
    pub(crate) fn abort_at(method: &str, n: u32);
    #[wasm_bindgen(js_name = abortReason)]
    pub(crate) fn abort_reason(name: Option<&str>, message: &str);
    #[wasm_bindgen(js_name = failRequests)]
    pub(crate) fn fail_requests(method: &str, bad: &str);
    #[wasm_bindgen(js_name = reportDurability)]
    pub(crate) fn report_durability(word: Option<&str>);
    #[wasm_bindgen(js_name = replaceGlobal)]
    pub(crate) fn replace_global(name: &str, value: &JsValue);
    #[wasm_bindgen(js_name = throwingGlobal)]
    pub(crate) fn throwing_global(name: &str, error: &str);
    #[wasm_bindgen(js_name = neverSettles)]
    pub(crate) fn never_settles(method: &str);
    #[wasm_bindgen(js_name = failOpens)]
    pub(crate) fn fail_opens(n: u32, name: &str) -> Function;
    #[wasm_bindgen(js_name = reportDataLoss)]
    pub(crate) fn report_data_loss(words: &str);
    #[wasm_bindgen(js_name = watchConnections)]
    pub(crate) fn watch_connections() -> Array;
    #[wasm_bindgen(js_name = forceClose)]
    pub(crate) fn force_close(connection: &JsValue);
    pub(crate) fn swallow(owner: &str, event: &str);
    #[wasm_bindgen(js_name = rawOpen)]
    fn raw_open_js(name: &str, version: Option<u32>, stores: Option<Array>) -> Promise;
    #[wasm_bindgen(js_name = closeLater)]
    pub(crate) fn close_later(connection: &IdbDatabase, milliseconds: u32);
    #[wasm_bindgen(js_name = rawUpgrade)]
    fn raw_upgrade_js(name: &str, version: u32, source: &str) -> Promise;
    #[wasm_bindgen(js_name = rawPut)]
    fn raw_put_js(name: &str, store: &str, key: &JsValue, value: &JsValue) -> Promise;
    #[wasm_bindgen(js_name = rawGet)]
    fn raw_get_js(name: &str, store: &str, key: &JsValue) -> Promise;
    #[wasm_bindgen(js_name = rawCount)]
    fn raw_count_js(name: &str, store: &str) -> Promise;
    #[wasm_bindgen(js_name = rawVersion)]
    fn raw_version_js(name: &str) -> Promise;
    #[wasm_bindgen(js_name = showAgain)]
    pub(crate) fn show_again() -> bool;
    #[wasm_bindgen(js_name = watchUnhandled)]
    pub(crate) fn watch_unhandled() -> Array;
    pub(crate) fn clock() -> f64;
    pub(crate) fn hold(connection: &IdbDatabase, store: &str) -> Function;
    #[wasm_bindgen(js_name = rawReadTime)]
    fn raw_read_time_js(name: &str, store: &str) -> Promise;
    #[wasm_bindgen(js_name = rawWriteTime)]
    fn raw_write_time_js(name: &str, store: &str, key: &JsValue, value: &JsValue) -> Promise;
    #[wasm_bindgen(js_name = rawDelete)]
    fn raw_delete_js(name: &str) -> Promise;
    #[wasm_bindgen(js_name = abortUpgrades)]
    pub(crate) fn abort_upgrades(n: u32);
}

/// A connection of another tab, which never gives way.
pub(crate) async fn raw_open(name: &str, version: Option<u32>, stores: &[&str]) -> IdbDatabase {
    let stores = stores.iter().map(|store| JsValue::from_str(store)).collect();
    wait(raw_open_js(name, version, Some(stores))).await.unchecked_into()
}

pub(crate) async fn raw_upgrade(name: &str, version: u32, source: &str) {
    wait(raw_upgrade_js(name, version, source)).await;
}

pub(crate) async fn raw_put(name: &str, store: Store, key: &JsValue, value: &JsValue) {
    wait(raw_put_js(name, store.name(), key, value)).await;
}

pub(crate) async fn raw_get(name: &str, store: Store, key: &JsValue) -> JsValue {
    wait(raw_get_js(name, store.name(), key)).await
}

pub(crate) async fn raw_count(name: &str, store: &str) -> i32 {
    #[allow(clippy::cast_possible_truncation)]
    let count = wait(raw_count_js(name, store)).await.as_f64().unwrap() as i32;
    count
}

pub(crate) async fn raw_version(name: &str) -> u32 {
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    let version = wait(raw_version_js(name)).await.as_f64().unwrap() as u32;
    version
}

pub(crate) async fn delete_in_another_tab(name: &str) {
    wait(raw_delete_js(name)).await;
}

/// Milliseconds in which the bare platform reads every value of a store.
pub(crate) async fn raw_read_time(name: &str, store: Store) -> f64 {
    wait(raw_read_time_js(name, store.name())).await.as_f64().unwrap()
}

/// Milliseconds in which the bare platform commits one read and three puts.
pub(crate) async fn raw_write_time(name: &str, store: Store, key: &JsValue, value: &JsValue) -> f64 {
    wait(raw_write_time_js(name, store.name(), key, value)).await.as_f64().unwrap()
}

async fn wait(promise: Promise) -> JsValue {
    wasm_bindgen_futures::JsFuture::from(promise).await.expect("a raw request failed")
}

thread_local! {
    static COUNT: Cell<u32> = const { Cell::new(0) };
}

/// A database name that no other test has, in a browser without faults.
pub(crate) fn fresh(test: &str) -> String {
    mend();
    COUNT.set(COUNT.get() + 1);
    format!("test-{test}-{}-{}", now(), COUNT.get())
}

/// The connection events that were heard.
pub(crate) type Heard = Rc<RefCell<Vec<ConnectionEvent>>>;

/// Options that write down every connection event.
pub(crate) fn options(name: &str) -> (OpenOptions, Heard) {
    let heard = Heard::default();
    let notes = heard.clone();
    let on_event = Rc::new(move |event| notes.borrow_mut().push(event));
    (OpenOptions { on_event: Some(on_event), timeout_ms: 2_000, ..OpenOptions::new(name) }, heard)
}

pub(crate) async fn open(name: &str) -> IndexedDbStorage {
    IndexedDbStorage::open(options(name).0).await.unwrap()
}

pub(crate) const ALL: Access = Access::write(Store::ALL);

pub(crate) fn hash(n: u8) -> Hash {
    Hash([n; 32])
}

/// The `n`-th sample record.
pub(crate) fn key(n: u8) -> Key {
    Key::object(hash(n), 0)
}

pub(crate) fn row(text: &str) -> Row<JsText> {
    Row::Object(Object { of: 1, refs: vec![hash(1)], content: Content::Text(JsText::from_utf8(text)) })
}

pub(crate) fn text(row: &Row<JsText>) -> String {
    match row {
        Row::Object(Object { content: Content::Text(text), .. }) => text.utf8().into_owned(),
        other => panic!("not a text: {other:?}"),
    }
}

pub(crate) fn puts(count: u8) -> Vec<Op<JsText>> {
    (0..count).map(|n| Op::Put(key(n), row(&format!("record {n}")))).collect()
}

pub(crate) async fn write(storage: &IndexedDbStorage, writes: Vec<Op<JsText>>) -> Result<()> {
    storage.run(ALL, |_| Ok(Plan { writes: writes.clone(), answer: () })).await
}

pub(crate) async fn read(storage: &IndexedDbStorage, key: &Key) -> Result<Option<Rc<Row<JsText>>>> {
    storage.run(Access::read(Store::ALL), |view| Ok(Plan::read(view.row(key.clone())?))).await
}

pub(crate) async fn rows(
    storage: &IndexedDbStorage,
    range: &Range,
    limit: Option<u32>,
) -> Result<Rc<Vec<Read<JsText>>>> {
    storage.run(Access::read(Store::ALL), |view| Ok(Plan::read(view.rows(range.clone(), limit)?))).await
}

pub(crate) async fn keys(storage: &IndexedDbStorage, range: &Range) -> Result<Rc<Vec<Key>>> {
    storage.run(Access::read(Store::ALL), |view| Ok(Plan::read(view.keys(range.clone())?))).await
}

/// How many sample records there are.
pub(crate) async fn count(storage: &IndexedDbStorage) -> usize {
    keys(storage, &Range::all(Store::Objects)).await.unwrap().len()
}

pub(crate) fn code<T: std::fmt::Debug>(result: Result<T>) -> Code {
    result.expect_err("it should have failed").code
}

/// Waits until something has come about; five seconds at most, after which the test's own assertion tells what has not.
pub(crate) async fn until(mut what: impl AsyncFnMut() -> bool) {
    for _ in 0..500 {
        if what().await {
            return;
        }
        sleep(10).await;
    }
}

/// Waits for both; they run at the same time.
pub(crate) async fn both<A, B>(a: impl Future<Output = A>, b: impl Future<Output = B>) -> (A, B) {
    let mut a = Box::pin(a);
    let mut b = Box::pin(b);
    let (mut left, mut right) = (None, None);
    std::future::poll_fn(move |context| {
        use std::task::Poll;
        if left.is_none()
            && let Poll::Ready(value) = a.as_mut().poll(context)
        {
            left = Some(value);
        }
        if right.is_none()
            && let Poll::Ready(value) = b.as_mut().poll(context)
        {
            right = Some(value);
        }
        if left.is_some() && right.is_some() {
            return Poll::Ready((left.take().unwrap(), right.take().unwrap()));
        }
        Poll::Pending
    })
    .await
}

/// Waits for the first, unless the second is ready before; then the first is dropped where it stands.
pub(crate) async fn either<A>(a: impl Future<Output = A>, b: impl Future<Output = ()>) -> Option<A> {
    use std::task::Poll;
    let (mut a, mut b) = (Box::pin(a), Box::pin(b));
    std::future::poll_fn(move |context| match (a.as_mut().poll(context), b.as_mut().poll(context)) {
        (Poll::Ready(value), _) => Poll::Ready(Some(value)),
        (Poll::Pending, Poll::Ready(())) => Poll::Ready(None),
        (Poll::Pending, Poll::Pending) => Poll::Pending,
    })
    .await
}

/// Polls once and gives the future back if it is not ready.
pub(crate) async fn poll_once<F: Future + Unpin>(future: &mut F) -> Option<F::Output> {
    std::future::poll_fn(|context| {
        std::task::Poll::Ready(match std::pin::Pin::new(&mut *future).poll(context) {
            std::task::Poll::Ready(value) => Some(value),
            std::task::Poll::Pending => None,
        })
    })
    .await
}
