//! Messages between the tabs of one store.

use gloo::events::EventListener;
use wasm_bindgen::JsValue;
use web_sys::BroadcastChannel;

use super::bindings::{global, property};

/// A channel to every other tab that has the same store open. A store works without one, where the browser has none.
#[derive(Debug)]
pub struct Tabs {
    channel: Option<BroadcastChannel>,
    listener: Option<EventListener>,
}

impl Tabs {
    /// Joins the channel of a store. `on_message` gets what other tabs post, never what this one posts.
    #[must_use]
    pub fn join(name: &str, on_message: impl Fn(JsValue) + 'static) -> Self {
        let channel = global("BroadcastChannel").and_then(|_| BroadcastChannel::new(&format!("turnmark:{name}")).ok());
        let listener = channel.as_ref().map(|channel| {
            EventListener::new(channel, "message", move |event| {
                on_message(property(event, "data").unwrap_or(JsValue::UNDEFINED))
            })
        });
        Tabs { channel, listener }
    }

    /// Whether the browser has such channels.
    #[must_use]
    pub fn is_available(&self) -> bool {
        self.channel.is_some()
    }

    /// Posts a message; `false` when it could not be sent. A notice that is lost costs a reader some freshness, never
    /// the data, so this is no error.
    pub fn post(&self, message: &JsValue) -> bool {
        self.channel.as_ref().is_some_and(|channel| channel.post_message(message).is_ok())
    }

    /// Leaves the channel. Dropping does the same.
    pub fn close(&mut self) {
        self.listener = None;
        if let Some(channel) = self.channel.take() {
            channel.close();
        }
    }
}

impl Drop for Tabs {
    fn drop(&mut self) {
        self.close();
    }
}
