//! The state machine, the clocks and the modes.

use chrono::DateTime;
use proptest::prelude::*;

use super::*;

fn approval() -> Approval {
    let wall = DateTime::UNIX_EPOCH + TimeDelta::days(20_000);
    Approval {
        id: "01A".into(),
        task: "t".into(),
        step: 0,
        conversation: None,
        requester: Requester { principal: "token:phone".into(), channel: Channel::Http, device: None },
        utterance: String::new(),
        plan_json: String::new(),
        plan_hash: String::new(),
        policy_version: String::new(),
        device_hash: String::new(),
        tier: Tier::Ask,
        reasons: Vec::new(),
        taint: None,
        precondition: Vec::new(),
        match_code: "47".into(),
        created: Moment { wall, boot_id: "b".into(), since_boot: Duration::from_secs(1000) },
        expires_at: wall + TimeDelta::seconds(120),
        expires_since_boot: Duration::from_secs(1120),
        state: ApprovalState::Pending,
        wrong_hashes: 0,
        decided_by: None,
        decided_via: None,
        decided_at: None,
        outcome: None,
    }
}

/// A moment so many seconds after the question, by each clock.
fn at(wall_ms: i64, boot_ms: i64, boot_id: &str) -> Moment {
    let created = approval().created;
    Moment {
        wall: created.wall + TimeDelta::milliseconds(wall_ms),
        boot_id: boot_id.into(),
        since_boot: Duration::from_millis(u64::try_from(1_000_000 + boot_ms).unwrap()),
    }
}

#[test]
fn it_expires_by_whichever_clock_is_first() {
    for (moment, expired) in [
        (at(0, 0, "b"), false),
        (at(119_999, 119_999, "b"), false),
        (at(120_000, 119_000, "b"), true),
        (at(119_000, 120_000, "b"), true),
        (at(-5_000, 0, "b"), false),
        (at(-5_001, 0, "b"), true),
        (at(61_000, 1_000, "b"), false),
        (at(61_001, 1_000, "b"), true), // the wall clock jumped
        (at(10_000, 70_001, "b"), true),
        (at(-3_600_000, 10_000, "b"), true),
        // After a boot of the machine the time since boot says nothing.
        (at(100_000, -999_000, "after a boot"), false),
        (at(100_000, 900_000, "after a boot"), false),
        (at(120_000, -999_000, "after a boot"), true),
        (at(10_000, -990_000, "after a boot"), false),
        (at(120_000, -990_000, "after a boot"), true),
        (at(-5_001, -990_000, "after a boot"), true),
    ] {
        assert_eq!(approval().expired(&moment), expired, "{moment:?}");
    }
}

#[test]
fn what_was_approved_long_ago_is_not_dispatched() {
    let settings = ApprovalSettings::default();
    let created = approval().created;
    let approved = Approval { state: ApprovalState::Approved, decided_at: Some(created.wall), ..approval() };
    for (moment, late) in [
        (at(0, 0, "b"), false),
        (at(30_000, 30_000, "b"), false),
        (at(30_001, 30_001, "b"), true),
        (at(-5_000, 0, "b"), false),
        (at(-5_001, 0, "b"), true),
    ] {
        assert_eq!(approved.too_late_to_dispatch(&moment, &settings), late, "{moment:?}");
    }
    assert!(approval().too_late_to_dispatch(&at(0, 0, "b"), &settings), "never approved");
}

#[test]
fn seconds_left_are_whole_and_never_less_than_none() {
    for (wall_ms, left) in [(0, 120), (999, 119), (119_000, 1), (119_001, 0), (120_000, 0), (500_000, 0)] {
        assert_eq!(approval().seconds_left(&at(wall_ms, 0, "b")), left, "{wall_ms}");
    }
}

#[test]
fn a_permit_rests_on_an_executing_plan_that_somebody_approved() {
    use crate::policy::Permit;
    for state in ApprovalState::ALL {
        for by in [None, Some("token:anna".to_owned())] {
            let given = by.is_some() && state == ApprovalState::Executing;
            let approval = Approval { state, decided_by: by, plan_hash: "abc".into(), ..approval() };
            let permit = Permit::approved(&approval);
            assert_eq!(permit.is_some(), given, "{state:?}");
            if let Some(permit) = permit {
                assert_eq!(permit.approval(), Some("01A"));
                assert!(permit.covers("abc") && !permit.covers("abd"));
            }
        }
    }
}

#[test]
fn only_what_has_ended_has_a_verdict() {
    use ApprovalState::*;
    for (state, verdict) in [
        (Pending, None),
        (Denied, Some(Verdict::Denied)),
        (Expired, Some(Verdict::Expired)),
        (Cancelled, Some(Verdict::Cancelled)),
        (Invalidated, Some(Verdict::Invalidated)),
        (Approved, Some(Verdict::Approved)),
        (Executing, Some(Verdict::Approved)),
    ] {
        assert_eq!(state.verdict(), verdict, "{state:?}");
    }
}

#[test]
fn words_of_states_are_read_back() {
    for state in ApprovalState::ALL {
        assert_eq!(ApprovalState::from_word(state.word()), Some(state));
        assert_eq!(serde_json::to_value(state).unwrap(), state.word());
    }
    assert_eq!(ApprovalState::from_word("pending"), None);
}

#[test]
fn every_edge_is_where_it_is_meant() {
    use ApprovalState as S;
    let expected = [
        (S::Pending, Edge::Approve, S::Approved),
        (S::Pending, Edge::Deny, S::Denied),
        (S::Pending, Edge::Expire, S::Expired),
        (S::Pending, Edge::Cancel, S::Cancelled),
        (S::Pending, Edge::Invalidate, S::Invalidated),
        (S::Approved, Edge::Expire, S::Expired),
        (S::Approved, Edge::Cancel, S::Cancelled),
        (S::Approved, Edge::Invalidate, S::Invalidated),
        (S::Approved, Edge::Dispatch, S::Executing),
        (S::Executing, Edge::Crash, S::Uncertain),
        (S::Executing, Edge::Confirm, S::DoneConfirmed),
        (S::Executing, Edge::GiveUp, S::DoneUnconfirmed),
        (S::Executing, Edge::Fail, S::Failed),
        (S::Uncertain, Edge::Confirm, S::DoneConfirmed),
        (S::Uncertain, Edge::GiveUp, S::DoneUnconfirmed),
        (S::Uncertain, Edge::Fail, S::Failed),
    ];
    for from in S::ALL {
        for edge in Edge::ALL {
            let listed = expected.iter().find(|(state, by, _)| *state == from && *by == edge);
            assert_eq!(from.after(edge), listed.map(|(_, _, to)| *to), "{from:?} {edge:?}");
        }
    }
}

proptest! {
    /// Whatever happens to an approval: it is dispatched at most once and only after an approval, and what has ended
    /// stays ended.
    #[test]
    fn any_history_dispatches_once_and_only_what_was_approved(edges in prop::collection::vec(0..Edge::ALL.len(), 0..60)) {
        let mut state = ApprovalState::Pending;
        let (mut approved, mut dispatched, mut crashed) = (0, 0, 0);
        for edge in edges.into_iter().map(|at| Edge::ALL[at]) {
            let Some(next) = state.after(edge) else { continue };
            let ended_without_sending = matches!(
                state,
                ApprovalState::Denied | ApprovalState::Expired | ApprovalState::Cancelled | ApprovalState::Invalidated
            );
            prop_assert!(!ended_without_sending, "{state:?} {edge:?}");
            match edge {
                Edge::Approve => approved += 1,
                Edge::Dispatch => {
                    prop_assert_eq!(approved, 1);
                    prop_assert_eq!(crashed, 0);
                    dispatched += 1;
                }
                Edge::Crash => crashed += 1,
                Edge::Confirm | Edge::GiveUp | Edge::Fail => prop_assert_eq!(dispatched, 1),
                Edge::Deny | Edge::Expire | Edge::Cancel | Edge::Invalidate => prop_assert_eq!(dispatched, 0),
            }
            state = next;
        }
        prop_assert!(dispatched <= 1);
    }
}
