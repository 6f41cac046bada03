//! Ids as distinct types, their validation, and where fresh ones come from.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, de};

use crate::error::{Code, Error, Result};

/// Longest id accepted, in UTF-16 units: an id is part of every key, and a key must stay small.
pub const MAX_ID: usize = 256;

/// Refuses what may not be an id: the empty string, control characters, over-long strings and the names through
/// which a plain JavaScript object reaches its prototype (R12).
fn validate(kind: &str, id: &str) -> Result<()> {
    let refuse = |why: &str| Err(Error::new(Code::InvalidId, format!("a {kind} id cannot be used: {why}")));
    if id.is_empty() {
        return refuse("it is empty");
    }
    if id.encode_utf16().count() > MAX_ID {
        return Err(Error::new(Code::InvalidId, format!("a {kind} id may have at most {MAX_ID} UTF-16 units")));
    }
    if id.chars().any(char::is_control) {
        return refuse("it holds a control character");
    }
    if matches!(id, "__proto__" | "constructor" | "prototype") {
        return refuse("it is the name of a prototype property");
    }
    Ok(())
}

/// Refuses message ids that are no ids. Messages keep their ids as they are; these never become keys.
///
/// # Errors
/// `InvalidId`.
pub fn check_message_id(id: &str) -> Result<()> {
    validate("message", id)
}

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident, $kind:literal;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
        #[serde(transparent)]
        pub struct $name(String);

        impl $name {
            /// Checks a string that came from outside.
            ///
            /// # Errors
            /// `InvalidId` when it is empty, too long, holds control characters or is a prototype name.
            pub fn parse(id: &str) -> Result<Self> {
                validate($kind, id)?;
                Ok(Self(id.to_owned()))
            }

            /// The id as text.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        // A stored or imported id is trusted no more than any other.
        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let id = String::deserialize(deserializer)?;
                validate($kind, &id).map_err(|error| de::Error::custom(&error.message))?;
                Ok(Self(id))
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "\"{}\"", self.0)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    )*};
}

ids! {
    /// What histories belong to: a project, a user, a workspace.
    ScopeId, "scope";
    /// One conversation line. The saver contract calls it `threadId` (P-02).
    SessionId, "session";
    /// One checkpoint: `cp_` and a UUIDv7 when it is ours, kept as it is when it came from elsewhere.
    CheckpointId, "checkpoint";
    /// One append-only log of message bodies.
    LogId, "log";
    /// One browser profile, shared by its tabs; a component of version vectors.
    DeviceId, "device";
    /// The task that made a pending write.
    TaskId, "task";
    /// One turn: a user message and all that follows from it. Kept by every version of the turn.
    TurnId, "turn";
    /// One run of a writer that answers a turn.
    RunId, "run";
    /// One open store in one page: what it has not finished is interrupted once it is gone.
    WriterId, "writer";
}

/// The instant and the randomness of one command.
///
/// A planner may run several times before its transaction ends (each time with more rows read), so everything that
/// is not a function of stored rows is drawn once, here, before the transaction opens.
#[derive(Clone, Debug)]
pub struct Stamp {
    /// The writer's clock, in epoch milliseconds. Never used for order.
    pub now: u64,
    /// The writer's device.
    pub device: DeviceId,
    /// The writer.
    pub writer: WriterId,
    seed: [u8; 32],
    count: u16,
}

impl Stamp {
    /// A stamp from a clock reading, 32 random bytes, and how many stamps this writer has drawn in the same millisecond
    /// before (which keeps the ids of up to 512 commands of one millisecond in order).
    #[must_use]
    pub fn new(now: u64, device: DeviceId, writer: WriterId, seed: [u8; 32], count: u16) -> Self {
        Stamp { now, device, writer, seed, count }
    }

    /// Randomness for one purpose; the same each time within one command.
    fn draw<const N: usize>(&self, purpose: &str, whom: &[u8]) -> [u8; N] {
        let mut hasher = blake3::Hasher::new();
        hasher.update(&self.seed).update(purpose.as_bytes()).update(whom);
        hasher.finalize().as_bytes().first_chunk().copied().unwrap_or([0; N])
    }

    fn uuid(&self, salt: u8) -> uuid::Uuid {
        let mut random: [u8; 10] = self.draw("", &[salt]);
        // The first twelve random bits of a UUIDv7 may be a counter (RFC 9562, 6.2, method 1).
        let ordered = (self.count << 3) | u16::from(salt & 7);
        let [high, low] = ordered.to_be_bytes();
        random[0] = high;
        random[1] = low;
        uuid::Builder::from_unix_timestamp_millis(self.now, &random).into_uuid()
    }

    /// A fresh checkpoint id; `salt` tells the ids of one command apart.
    #[must_use]
    pub fn checkpoint(&self, salt: u8) -> CheckpointId {
        CheckpointId(format!("cp_{}", self.uuid(salt)))
    }

    /// A fresh turn id, or the id of a fresh version of a turn.
    #[must_use]
    pub fn turn(&self, salt: u8) -> TurnId {
        TurnId(format!("tn_{}", self.uuid(salt | 0x40)))
    }

    /// A fresh session id.
    #[must_use]
    pub fn session(&self, salt: u8) -> SessionId {
        SessionId(self.uuid(salt | 0x80).to_string())
    }

    /// A fresh log id: short, because every span names its log.
    #[must_use]
    pub fn log(&self, salt: u8) -> LogId {
        LogId(format!("l{}", hex::encode(self.draw::<9>("log", &[salt]))))
    }

    /// A fresh log id to stand for one that came from elsewhere; the same each time within one command.
    #[must_use]
    pub fn log_for(&self, foreign: &LogId) -> LogId {
        LogId(format!("l{}", hex::encode(self.draw::<9>("import", foreign.as_str().as_bytes()))))
    }

    /// A fresh log id for a session that arrives; the same each time within one command.
    #[must_use]
    pub fn log_of(&self, session: &SessionId) -> LogId {
        LogId(format!("l{}", hex::encode(self.draw::<9>("log of", session.as_str().as_bytes()))))
    }

    /// A fresh session id to stand for one that is taken; the same each time within one command.
    #[must_use]
    pub fn session_for(&self, taken: &SessionId) -> SessionId {
        let random = self.draw("session", taken.as_str().as_bytes());
        SessionId(uuid::Builder::from_unix_timestamp_millis(self.now, &random).into_uuid().to_string())
    }

    /// A fresh device id.
    #[must_use]
    pub fn fresh_device(&self) -> DeviceId {
        DeviceId(format!("d{}", self.uuid(7).simple()))
    }

    /// A fresh writer id.
    #[must_use]
    pub fn fresh_writer(&self) -> WriterId {
        WriterId(self.uuid(6).simple().to_string())
    }
}
