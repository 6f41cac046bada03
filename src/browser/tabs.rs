//! Messages between the tabs of one store.

use std::cell::RefCell;
use std::rc::Rc;

use gloo::events::EventListener;
use js_sys::Array;
use wasm_bindgen::JsValue;
use wasm_bindgen_futures::spawn_local;
use web_sys::BroadcastChannel;

use super::bindings::{global, property};

/// A channel, and what is to be posted next.
#[derive(Debug)]
struct Channel {
    raw: BroadcastChannel,
    outgoing: RefCell<Option<Array>>,
}

impl Channel {
    /// A notice that is lost costs a reader some freshness, never the data, so a failure is no error.
    fn flush(&self) {
        if let Some(messages) = self.outgoing.take() {
            drop(self.raw.post_message(&messages));
        }
    }
}

/// A channel to every other tab that has the same store open. A store works without one, where the browser has none.
#[derive(Debug)]
pub struct Tabs {
    channel: Option<Rc<Channel>>,
    listener: Option<EventListener>,
}

impl Tabs {
    /// Joins the channel of a store. `on_message` gets what other tabs post, never what this one posts.
    #[must_use]
    pub fn join(name: &str, on_message: impl Fn(JsValue) + 'static) -> Self {
        let channel = global("BroadcastChannel").and_then(|_| BroadcastChannel::new(&format!("turnmark:{name}")).ok());
        let listener = channel.as_ref().map(|channel| {
            EventListener::new(channel, "message", move |event| {
                let messages = property(event, "data").unwrap_or(JsValue::UNDEFINED);
                Array::from(&messages).iter().for_each(&on_message);
            })
        });
        let channel = channel.map(|raw| Rc::new(Channel { raw, outgoing: RefCell::default() }));
        Tabs { channel, listener }
    }

    /// Whether the browser has such channels.
    #[must_use]
    pub fn is_available(&self) -> bool {
        self.channel.is_some()
    }

    /// Posts a message soon. What one commit causes goes out as one post.
    pub fn post(&self, message: &JsValue) {
        let Some(channel) = &self.channel else { return };
        let mut outgoing = channel.outgoing.borrow_mut();
        let messages = outgoing.get_or_insert_with(|| {
            let channel = channel.clone();
            spawn_local(async move { channel.flush() });
            Array::new()
        });
        messages.push(message);
    }

    /// Leaves the channel. Dropping does the same.
    pub fn close(&mut self) {
        self.listener = None;
        if let Some(channel) = self.channel.take() {
            channel.flush();
            channel.raw.close();
        }
    }
}

impl Drop for Tabs {
    fn drop(&mut self) {
        self.close();
    }
}
