//! Ids: which strings may be one, and fresh ones.

use std::collections::{BTreeSet, HashSet};

use turnmark::error::Code;
use turnmark::ids::{
    CheckpointId, DeviceId, LogId, MAX_ID, ScopeId, SessionId, Stamp, TaskId, WriterId, check_message_id,
};
use turnmark::model::hash::Hash;

fn stamp(now: u64, seed: u64, count: u16) -> Stamp {
    Stamp::new(
        now,
        DeviceId::parse("d").unwrap(),
        WriterId::parse("w").unwrap(),
        Hash::of("seed", &[&seed.to_le_bytes()]).0,
        count,
    )
}

/// R12: a table of what may be an id of each kind.
#[test]
fn every_kind_of_id_refuses_the_same_strings() {
    let long = "x".repeat(MAX_ID + 1);
    let wide = "\u{1F600}".repeat(MAX_ID / 2 + 1);
    let bad = ["", "__proto__", "constructor", "prototype", "\0", "a\nb", "\u{7f}", "\u{9f}", &long, &wide];
    let longest = "x".repeat(MAX_ID);
    let good = [
        "x",
        " ",
        "__proto__ ",
        "toString",
        "valueOf",
        "Constructor",
        "\u{200b}",
        "\u{202e}",
        "é",
        "\u{10FFFF}",
        &longest,
    ];
    let parsers: [fn(&str) -> Result<String, Code>; 7] = [
        |id| ScopeId::parse(id).map(|id| id.to_string()).map_err(|error| error.code),
        |id| SessionId::parse(id).map(|id| id.to_string()).map_err(|error| error.code),
        |id| CheckpointId::parse(id).map(|id| id.to_string()).map_err(|error| error.code),
        |id| LogId::parse(id).map(|id| id.to_string()).map_err(|error| error.code),
        |id| DeviceId::parse(id).map(|id| id.to_string()).map_err(|error| error.code),
        |id| TaskId::parse(id).map(|id| id.to_string()).map_err(|error| error.code),
        |id| check_message_id(id).map(|()| id.to_owned()).map_err(|error| error.code),
    ];
    for parse in parsers {
        for id in bad {
            assert_eq!(parse(id), Err(Code::InvalidId), "{id:?}");
        }
        for id in good {
            assert_eq!(parse(id).as_deref(), Ok(id));
        }
    }
}

/// R12: what was stored or imported is checked as well.
#[test]
fn a_stored_id_is_checked_when_it_is_read() {
    let read = |id: &str| serde_json::from_str::<SessionId>(&serde_json::to_string(id).unwrap());
    assert_eq!(read("a").unwrap(), SessionId::parse("a").unwrap());
    for id in ["", "__proto__", "a\0"] {
        assert!(read(id).is_err(), "{id:?}");
    }
    assert!(serde_json::from_str::<SessionId>("1").is_err());
}

/// firebase-js-sdk#3852 aside: within a millisecond and across milliseconds, ids sort as they were drawn.
#[test]
fn ids_of_one_writer_sort_as_they_were_drawn() {
    let mut drawn = Vec::new();
    for now in [1_700_000_000_000, 1_700_000_000_001, 1_800_000_000_000] {
        for count in 0..512 {
            let stamp = stamp(now, u64::from(count) + now, count);
            drawn.extend([stamp.checkpoint(0), stamp.checkpoint(1)]);
        }
    }
    assert!(drawn.is_sorted_by(|a, b| a < b));
}

#[test]
fn ids_are_unique_across_writers_of_one_millisecond() {
    let mut seen = HashSet::new();
    for seed in 0..2000 {
        let stamp = stamp(5, seed, 0);
        for id in [stamp.checkpoint(0).to_string(), stamp.checkpoint(1).to_string(), stamp.session(0).to_string()] {
            assert!(seen.insert(id));
        }
        for id in [stamp.log(0), stamp.log(1), stamp.log_for(&stamp.log(0)), stamp.log_of(&stamp.session(0))] {
            assert!(seen.insert(id.to_string()));
        }
        assert!(seen.insert(stamp.session_for(&stamp.session(0)).to_string()));
    }
}

/// P-19, requirements 6.2 ruling 10: `cp_` and a UUIDv7.
#[test]
fn a_checkpoint_id_is_cp_and_a_uuid_of_its_instant() {
    let id = stamp(0x018f_0000_0000, 1, 7).checkpoint(1).to_string();
    assert!(id.starts_with("cp_018f0000-0000-7"), "{id}");
    assert_eq!(id.len(), 3 + 36);
    assert!(matches!(&id[22..23], "8" | "9" | "a" | "b"), "{id}");
    assert!(id[3..].chars().all(|c| c == '-' || (c.is_ascii_hexdigit() && !c.is_uppercase())));
}

/// A planner may run several times: what it draws must be the same each time.
#[test]
fn one_stamp_gives_the_same_ids_again() {
    let draw = || {
        let stamp = stamp(1, 2, 3);
        let session = stamp.session(0);
        let ids = [
            stamp.checkpoint(0).to_string(),
            session.to_string(),
            stamp.log(0).to_string(),
            stamp.fresh_device().to_string(),
        ];
        (ids, stamp.log_for(&stamp.log(0)), stamp.session_for(&session), stamp.log_of(&session))
    };
    assert_eq!(draw(), draw());
    let all: BTreeSet<String> = draw().0.into();
    assert_eq!(all.len(), 4);
}
