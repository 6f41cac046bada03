//! The parts of a session that a checkpoint captures.

use serde::{Deserialize, Serialize};

use super::hash::Hash;

/// What a restore can bring back, each on its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Part {
    /// The message list.
    Messages,
    /// Channels of application state.
    State,
    /// What surrounds the chat: targets, screenshots, the input.
    Ui,
}

impl Part {
    /// Every part, in the order they are reported.
    pub const ALL: &[Part] = &[Part::Messages, Part::State, Part::Ui];

    /// The word JavaScript uses.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Part::Messages => "messages",
            Part::State => "state",
            Part::Ui => "ui",
        }
    }

    /// Reads the word JavaScript uses.
    #[must_use]
    pub fn from_word(word: &str) -> Option<Part> {
        Part::ALL.iter().copied().find(|part| part.word() == word)
    }
}

/// The root of the content-addressed tree of each keyed part; `None` is the empty tree.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Roots {
    /// Channels of application state.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<Hash>,
    /// What surrounds the chat.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ui: Option<Hash>,
}

impl Roots {
    /// Whether every part is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.state.is_none() && self.ui.is_none()
    }

    /// Every root that is not empty: where collection starts.
    pub fn iter(&self) -> impl Iterator<Item = Hash> {
        self.state.into_iter().chain(self.ui)
    }
}
