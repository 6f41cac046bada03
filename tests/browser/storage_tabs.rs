//! Messages between tabs.

use std::cell::RefCell;
use std::rc::Rc;

use turnmark::browser::{Tabs, sleep};
use wasm_bindgen::JsValue;
use wasm_bindgen_test::wasm_bindgen_test;

use super::support::*;

fn join(name: &str) -> (Tabs, Rc<RefCell<Vec<JsValue>>>) {
    let heard = Rc::new(RefCell::new(Vec::new()));
    let notes = heard.clone();
    (Tabs::join(name, move |message| notes.borrow_mut().push(message)), heard)
}

#[wasm_bindgen_test]
async fn a_message_reaches_the_other_tabs_of_the_same_store() {
    let name = fresh("tabs");
    let (a, heard_a) = join(&name);
    let (b, heard_b) = join(&name);
    let (_other, heard_other) = join(&format!("{name}-other"));
    assert!(a.is_available());
    assert!(a.post(&JsValue::from_str("changed")));
    until(async || !heard_b.borrow().is_empty()).await;
    assert_eq!(*heard_b.borrow(), [JsValue::from_str("changed")]);
    assert!(heard_a.borrow().is_empty(), "not the one that posted it");
    assert!(heard_other.borrow().is_empty());
    drop(b);
    assert!(a.post(&JsValue::NULL));
    sleep(50).await;
    assert_eq!(heard_b.borrow().len(), 1);
}

#[wasm_bindgen_test]
async fn a_message_that_cannot_be_sent_is_no_failure() {
    let name = fresh("tabs-closed");
    let (mut a, _) = join(&name);
    assert!(!a.post(&js_sys::Function::new_no_args("")), "it cannot be cloned");
    a.close();
    a.close();
    assert!(!a.post(&JsValue::NULL));
    assert!(!a.is_available());
}

#[wasm_bindgen_test]
async fn a_store_works_where_there_are_no_channels() {
    let name = fresh("tabs-missing");
    for value in [JsValue::UNDEFINED, js_sys::Function::new_no_args("throw new Error('refused')").into()] {
        replace_global("BroadcastChannel", &value);
        let (tabs, _) = join(&name);
        assert!(!tabs.is_available());
        assert!(!tabs.post(&JsValue::NULL));
        mend();
    }
}
