//! The table under mutation: every row taken out, put into another tier, widened and narrowed, one change at a time.
//!
//! What a change does is found by looking at a universe of actions; a change that does nothing there is no mutant. Each
//! of the others must break a line of the table tests, which say what is right without looking at the table.

use std::collections::BTreeSet;

use super::*;

/// One action on one thing, as the rows look at it.
struct Point {
    entity: Entity,
    groups: Vec<Group>,
    action: Action,
    state: State,
}

const GROUPS: [(Group, &str); 9] = [
    (Group::Entry, "Gate"),
    (Group::Fire, "Kettle"),
    (Group::Heat, "Space heater"),
    (Group::Critical, "Fridge"),
    (Group::Flow, "Pump"),
    (Group::Irrigation, "Sprinkler"),
    (Group::Watch, "Camera"),
    (Group::Network, "Router"),
    (Group::Administration, "Factory reset"),
];

const CLASSES: [&str; 14] = [
    "",
    "garage",
    "gate",
    "door",
    "window",
    "blind",
    "curtain",
    "shade",
    "shutter",
    "awning",
    "damper",
    "gas",
    "water",
    "irrigation",
];

/// Nothing, every argument that a row looks at on both sides of its edge.
fn arguments(verb: Verb) -> Vec<serde_json::Value> {
    match verb {
        Verb::SetPosition => vec![json!({}), json!({"position": 0}), json!({"position": 1})],
        Verb::SetTiltPosition => vec![json!({}), json!({"tilt_position": 0}), json!({"tilt_position": 1})],
        Verb::Open => vec![json!({}), json!({"duration": 1800}), json!({"duration": 1801})],
        Verb::SetTemperature => [54.5, 55.0, 55.5, 56.5]
            .iter()
            .flat_map(|celsius| [json!({"temperature": celsius}), json!({"target_temp_high": celsius})])
            .collect(),
        _ => vec![json!({})],
    }
}

fn groups_of(entity: &Entity) -> Vec<Group> {
    GROUPS.iter().map(|(group, _)| *group).filter(|group| named(entity, *group)).collect()
}

fn points() -> Vec<Point> {
    let mut entities = Vec::new();
    for domain in Domain::ALL.iter().copied().chain([Domain::Other]) {
        let id = format!("{}.a", domain.word());
        let of = |class: &str, name: &str| entity(&id, class, name);
        entities.push(of("", "Thing"));
        // Of a thing that the table does not know, a row that looks at every domain must show.
        if matches!(domain, Domain::Cover | Domain::Valve | Domain::Sensor) {
            entities.extend(CLASSES.iter().map(|class| of(class, "Thing")));
        }
        entities.extend(GROUPS.iter().map(|(_, name)| of("", name)));
        entities.push(of("", "Sprinkler pump"));
        entities.push(Entity { category: Category::Config, ..of("", "Thing") });
        entities.push(Entity { category: Category::Diagnostic, ..of("", "Thing") });
        entities.push(Entity { source: "hass".into(), ..of("", "Thing") });
    }
    let mut points = Vec::new();
    // Every verb that a row names, and some that none does.
    let verbs: BTreeSet<Verb> = TABLE
        .iter()
        .flat_map(|row| row.verbs.iter().copied())
        .chain([Verb::TurnOn, Verb::TurnOff, Verb::Press, Verb::SetHvacMode, Verb::SetVolume])
        .collect();
    for entity in entities {
        let groups = groups_of(&entity);
        let states: &[&str] = if entity.domain() == Domain::AlarmControlPanel {
            &["", "disarmed", "armed_home", "armed_night", "armed_away", "triggered"]
        } else {
            &[""]
        };
        for verb in &verbs {
            for args in arguments(*verb) {
                points.extend(states.iter().map(|now| Point {
                    entity: entity.clone(),
                    groups: groups.clone(),
                    action: action(&entity, *verb, args.clone()),
                    state: state(now),
                }));
            }
        }
    }
    points
}

impl Row {
    /// As [`Row::matches`], with the words looked up once for each thing.
    fn meets(&self, point: &Point) -> bool {
        (self.domains.is_empty() || self.domains.contains(&point.entity.domain()))
            && (self.verbs.is_empty() || self.verbs.contains(&point.action.verb))
            && self.class.matches(point.entity.device_class.as_deref())
            && self.words.is_none_or(|group| point.groups.contains(&group))
            && self.when.matches(&point.action, &point.entity, &point.state)
    }
}

/// `list` without each of its items, one at a time.
fn without<T: Copy>(list: &'static [T]) -> Vec<&'static [T]> {
    let left = |at: usize| {
        let rest: Vec<T> =
            list.iter().enumerate().filter(|(other, _)| *other != at).map(|(_, item)| *item).collect();
        &*Vec::leak(rest)
    };
    (0..list.len()).map(left).collect()
}

/// Every row that differs from `row` in one thing, with what was done to it.
fn mutants_of(row: Row) -> Vec<(String, Option<Row>)> {
    let mut all = vec![("taken out".to_owned(), None)];
    let mut put = |what: String, row: Row| all.push((what, Some(row)));
    for tier in [Tier::Read, Tier::Act, Tier::Ask, Tier::Never].into_iter().filter(|tier| *tier != row.tier) {
        put(format!("in {}", tier.word()), Row { tier, ..row });
    }
    // A list without its only item is empty, and an empty list is everything.
    for domains in without(row.domains) {
        put(format!("for {domains:?}"), Row { domains, ..row });
    }
    for verbs in without(row.verbs) {
        put(format!("verbs {verbs:?}"), Row { verbs, ..row });
    }
    if row.domains.len() > 1 {
        put("for every domain".to_owned(), Row { domains: &[], ..row });
    }
    if row.verbs.len() > 1 {
        put("for every verb".to_owned(), Row { verbs: &[], ..row });
    }
    put("for every class".to_owned(), Row { class: Class::Any, ..row });
    put("whatever its name".to_owned(), Row { words: None, ..row });
    put("always".to_owned(), Row { when: When::Always, ..row });
    match row.class {
        Class::Any => {}
        Class::In(list) => {
            put("of no such class".to_owned(), Row { class: Class::NotIn(list), ..row });
            for list in without(list) {
                put(format!("of class {list:?}"), Row { class: Class::In(list), ..row });
            }
        }
        Class::NotIn(list) => {
            put("of such a class".to_owned(), Row { class: Class::In(list), ..row });
            for list in without(list) {
                put(format!("not of class {list:?}"), Row { class: Class::NotIn(list), ..row });
            }
        }
    }
    let whens: &[When] = match row.when {
        When::Opens => &[When::Closes],
        When::Closes => &[When::Opens],
        When::OpensFor(_) => &[When::Opens, When::OpensFor(1799.0), When::OpensFor(1801.0), When::Closes],
        When::Hotter(_) => &[When::Hotter(54.0), When::Hotter(56.0)],
        When::NotOff => &[When::NotWatering],
        When::NotWatering => &[When::NotOff],
        When::Always | When::GuardsLess | When::Settings | When::Foreign => &[],
    };
    for when in whens {
        put(format!("{when:?}"), Row { when: *when, ..row });
    }
    if row.words.is_some() {
        for (group, _) in GROUPS.iter().filter(|(group, _)| Some(*group) != row.words) {
            put(format!("named {group:?}"), Row { words: Some(*group), ..row });
        }
    }
    all
}

/// What the table says of a point, with one of its rows in another form.
fn found(point: &Point, matching: &[usize], at: usize, mutant: Option<&Row>) -> (Tier, Vec<&'static str>) {
    let others = matching.iter().filter(|row| **row != at).map(|row| &TABLE[*row]);
    let mutant = mutant.filter(|row| row.meets(point));
    let rows: Vec<&Row> = others.chain(mutant).collect();
    let tier = rows.iter().map(|row| row.tier).max().unwrap_or(Tier::Ask);
    (tier, rows.iter().filter(|row| row.tier == tier).map(|row| row.name).collect())
}

fn matching(points: &[Point]) -> Vec<Vec<usize>> {
    let rows = |point: &Point| (0..TABLE.len()).filter(|at| TABLE[*at].meets(point)).collect();
    points.iter().map(rows).collect()
}

#[test]
fn no_change_of_the_table_goes_unnoticed() {
    let universe = points();
    let universe_rows = matching(&universe);
    let (lines, expected): (Vec<Point>, Vec<(Tier, &str)>) = cases()
        .into_iter()
        .map(|Case { entity, action, state, tier, by }| {
            (Point { groups: groups_of(&entity), entity, action, state }, (tier, by))
        })
        .unzip();
    let line_rows = matching(&lines);
    let (mut mutants, mut survivors) = (0, Vec::new());
    for (at, row) in TABLE.iter().enumerate() {
        for (what, mutant) in mutants_of(*row) {
            let differs = universe.iter().zip(&universe_rows).any(|(point, rows)| {
                let touched = rows.contains(&at) || mutant.as_ref().is_some_and(|mutant| mutant.meets(point));
                touched && {
                    let now = found(point, rows, at, mutant.as_ref());
                    let before = found(point, rows, at, Some(row));
                    // Taken out, a row that asks changes the reason alone: what is unknown is asked about as well.
                    now.0 != before.0 || (mutant.is_none() && now.1 != before.1)
                }
            });
            if !differs {
                continue;
            }
            mutants += 1;
            let noticed = lines.iter().zip(&line_rows).zip(&expected).any(|((point, rows), (tier, by))| {
                let (now, names) = found(point, rows, at, mutant.as_ref());
                now != *tier || !(if by.is_empty() { names.is_empty() } else { names.contains(by) })
            });
            if !noticed {
                survivors.push(format!("{}: {what}", row.name));
            }
        }
    }
    println!(
        "{} points, {mutants} mutants of {} rows, {} survive",
        universe.len(),
        TABLE.len(),
        survivors.len()
    );
    assert!(mutants > 400, "the changes do nothing: {mutants}");
    assert!(survivors.is_empty(), "no line notices:\n{}", survivors.join("\n"));
}
