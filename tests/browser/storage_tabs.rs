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
    a.post(&JsValue::from_str("changed"));
    a.post(&JsValue::from_str("and again"));
    until(async || heard_b.borrow().len() == 2).await;
    assert_eq!(*heard_b.borrow(), [JsValue::from_str("changed"), JsValue::from_str("and again")]);
    assert!(heard_a.borrow().is_empty(), "not the one that posted it");
    assert!(heard_other.borrow().is_empty());
    drop(b);
    a.post(&JsValue::NULL);
    sleep(50).await;
    assert_eq!(heard_b.borrow().len(), 2, "one that has left hears nothing");
}

#[wasm_bindgen_test]
async fn what_was_posted_before_leaving_is_heard() {
    let name = fresh("tabs-left");
    let (mut a, _) = join(&name);
    let (_b, heard) = join(&name);
    a.post(&JsValue::from_str("last words"));
    a.close();
    a.close();
    assert!(!a.is_available());
    a.post(&JsValue::NULL);
    until(async || !heard.borrow().is_empty()).await;
    sleep(50).await;
    assert_eq!(*heard.borrow(), [JsValue::from_str("last words")]);
}

#[wasm_bindgen_test]
async fn a_message_that_cannot_be_sent_is_no_failure() {
    let name = fresh("tabs-lost");
    let (a, _) = join(&name);
    let (_b, heard) = join(&name);
    a.post(&js_sys::Function::new_no_args(""));
    sleep(50).await;
    assert!(heard.borrow().is_empty(), "it cannot be cloned");
    a.post(&JsValue::from_str("the next one"));
    until(async || !heard.borrow().is_empty()).await;
    assert_eq!(*heard.borrow(), [JsValue::from_str("the next one")]);
}

#[wasm_bindgen_test]
async fn a_store_works_where_there_are_no_channels() {
    let name = fresh("tabs-missing");
    for value in [JsValue::UNDEFINED, js_sys::Function::new_no_args("throw new Error('refused')").into()] {
        replace_global("BroadcastChannel", &value);
        let (tabs, _) = join(&name);
        assert!(!tabs.is_available());
        tabs.post(&JsValue::NULL);
        mend();
    }
}
