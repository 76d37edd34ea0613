use super::*;
use crate::home::{Arg, ArgKind, ArgValue, Verb};

const HOME: &str = r#"
[[floor]]
id = "ground"
name = "Ground floor"
aliases = { zh = "一楼" }
level = 0

[[area]]
id = "kitchen"
name = "Kitchen"
aliases = { zh = ["厨房"] }
floor = "ground"

[[entity]]
id = "light.table"
name = "Table lamp"
aliases = { zh = ["餐桌灯", "桌灯"], any = "TL" }
area = "kitchen"
profile = "zigbee2mqtt.light"
with = { topic = "table", color_temp = true, min_kelvin = 2500 }

[[entity]]
id = "light.shelf"
name = "Shelf"
profile = "plain.light"
with = { topic = "home/shelf", color_temp = true }

[[entity]]
id = "light.both"
name = "Both lamps"
members = ["light.table", "light.shelf"]

[[scene]]
id = "dinner"
name = "Dinner"
steps = [
  { entities = ["light.both"], verb = "turn_on", args = { brightness_pct = 40 } },
]
"#;

fn parse(text: &str) -> Result<HomeFile, HomeFileError> {
    HomeFile::parse("home.toml", text, &Profiles::embedded().unwrap())
}

#[test]
fn a_home_is_read_with_names_groups_and_scenes() {
    let home = parse(HOME).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(home.places.floor_of("kitchen"), Some("ground"));
    let table = &home.entities[0].entity;
    assert_eq!(table.name_in("zh"), "餐桌灯");
    assert_eq!(table.all_names().collect::<Vec<_>>(), ["Table lamp", "TL", "餐桌灯", "桌灯"]);
    let group = &home.entities[2];
    assert!(group.codec.is_none() && group.entity.reports_state);
    let turn_on = group.entity.action(Verb::TurnOn).unwrap();
    assert_eq!(
        turn_on.arg(Arg::ColorTempKelvin).unwrap().kind,
        ArgKind::Number { min: 2500.0, max: 4000.0, step: 1.0 },
        "a group takes what all its members take"
    );
    assert_eq!(turn_on.arg(Arg::Transition), None, "the plain lamp has no transition");
    assert_eq!(home.scenes[0].steps[0].0.args[&Arg::BrightnessPct], ArgValue::Number(40.0));
    assert_eq!(home.house().leaves(&group.entity.id).len(), 2);
}

#[test]
fn every_fault_names_its_line() {
    for (from, to, says) in [
        ("level = 0", "level = 0\nheight = 3", "home.toml:7: unknown field `height`"),
        (
            "floor = \"ground\"",
            "floor = \"grond\"",
            "home.toml:12: no such floor \"grond\"; did you mean ground?",
        ),
        (
            "area = \"kitchen\"",
            "area = \"kitchn\"",
            "home.toml:18: no such area \"kitchn\"; did you mean kitchen?",
        ),
        (
            "\"plain.light\"",
            "\"plain.lamp\"",
            "home.toml:25: no such profile \"plain.lamp\"; did you mean plain.",
        ),
        (
            "light.shelf\"\nname",
            "light.table\"\nname",
            "home.toml:23: light.table is there twice, first in line 15",
        ),
        (
            "\"plain.light\"",
            "\"plain.switch\"",
            "home.toml:25: plain.switch is for switch; light.shelf is a light",
        ),
        (
            "\"home/shelf\"",
            "\"home/+\"",
            "home.toml:26: light.shelf: topic: got \"home/+\"; expected a part of a topic",
        ),
        (
            "topic = \"home/shelf\", ",
            "",
            "home.toml:25: light.shelf: the profile needs the parameter \"topic\"",
        ),
        ("min_kelvin = 2500", "min_kelvn = 2500", "home.toml:20: light.table: the profile has no parameter"),
        (
            "min_kelvin = 2500",
            "min_kelvin = 9000",
            "home.toml:19: light.table: color_temp_kelvin: the range 9000",
        ),
        (
            "\"light.both\"]",
            "\"light.bth\"]",
            "home.toml:37: no such entity \"light.bth\"; did you mean light.both?",
        ),
        (
            "verb = \"turn_on\"",
            "verb = \"turn_up\"",
            "home.toml:37: no such verb \"turn_up\"; did you mean turn_on?",
        ),
        (
            "verb = \"turn_on\"",
            "verb = \"lock\"",
            "home.toml:37: light.both has no lock; it has turn_on, turn_off",
        ),
        (
            "brightness_pct = 40",
            "brightness_pct = 400",
            "home.toml:37: light.both turn_on: brightness_pct 400 is outside",
        ),
        ("brightness_pct = 40", "speed = 4", "home.toml:37: light.both turn_on: unknown argument \"speed\""),
        (
            "members = [\"light.table\", ",
            "members = [\"light.both\", ",
            "home.toml:29: light.both is a member of itself",
        ),
        (
            "members = [\"light.table\", ",
            "members = [\"light.tabel\", ",
            "home.toml:31: no such entity \"light.tabel\"",
        ),
        ("name = \"Dinner\"", "name = \" \"", "home.toml:35: \"\" is no name"),
        ("zh = \"一楼\"", "chinese = \"一楼\"", "home.toml:5: \"chinese\" is no language"),
        ("[[floor]]", "[[floor]", "home.toml:2: "),
    ] {
        assert!(HOME.contains(from), "{from}");
        let error = parse(&HOME.replacen(from, to, 1)).err().unwrap_or_else(|| panic!("{to} was taken"));
        assert!(error.to_string().starts_with(says), "{to}:\n  {error}\n  {says}");
    }
}

#[test]
fn b47_two_entities_on_one_command_topic_are_refused() {
    let both = HOME.to_owned()
        + "[[entity]]\nid = \"switch.shelf\"\nname = \"Shelf\"\nprofile = \"plain.switch\"\nwith = { topic = \"home/shelf\" }\n";
    let error = parse(&both).err().unwrap().to_string();
    assert_eq!(
        error,
        "home.toml:40: switch.shelf and light.shelf both take commands on \"home/shelf/set\"; \
         an action on one would move the other"
    );
}

#[test]
fn overrides_correct_what_is_discovered() {
    let text = HOME.to_owned()
        + r#"
[[override]]
entity = "switch.*"
device = "0x00158d*"
area = "kitchen"
aliases = { zh = "水壶" }
device_class = "outlet"
tier = "G2"
reason = "a kettle hangs on it"

[[override]]
device = "noisy"
hide = true
"#;
    let home = parse(&text).unwrap_or_else(|error| panic!("{error}"));
    let mut entity = home.entities[1].entity.clone();
    entity.id = "switch.plug".parse().unwrap();
    entity.area = None;
    entity.device = Some(crate::home::Device {
        id: "0x00158d0001".into(),
        name: Some("noisy".into()),
        manufacturer: None,
        model: None,
    });
    let applied = home.overrides.apply(&mut entity);
    assert!(applied.hide);
    let note = applied.tier.unwrap();
    assert_eq!((note.tier, note.may_lower), (crate::policy::Tier::Ask, false), "a pattern only raises");
    assert_eq!((entity.area.as_deref(), entity.name_in("zh")), (Some("kitchen"), "水壶"));

    let mut other = home.entities[0].entity.clone();
    assert_eq!(home.overrides.apply(&mut other), Applied::default());
    for (from, says) in [
        ("reason = \"a kettle hangs on it\"", "home.toml:46: a tier needs a reason = …"),
        (
            "entity = \"switch.*\"\ndevice = \"0x00158d*\"\n",
            "home.toml:40: an override needs entity = … or device",
        ),
    ] {
        let error = parse(&text.replace(from, "")).err().unwrap().to_string();
        assert!(error.starts_with(says), "{error}");
    }
}

#[test]
fn much_power_is_asked_about_before_it_is_turned_on() {
    use crate::home::Verb;
    use crate::policy::Tier;
    let entity = |home: &HomeFile, id: &str| {
        let mut entity = home.entities[0].entity.clone();
        entity.id = id.parse().unwrap();
        entity
    };
    let home_with = |rows: &str| parse(&(HOME.to_owned() + "[[override]]\nentity = \"*.big\"\n" + rows));
    for (rows, id, wanted) in [
        ("power_w = 2500", "switch.big", Some((Tier::Ask, true))),
        ("power_w = 2000.5", "button.big", Some((Tier::Ask, true))),
        ("power_w = 2000", "switch.big", None),
        ("power_w = 2500", "light.big", None),
        ("power_w = 2500", "switch.small", None),
        ("power_w = 2500\ntier = \"G3\"\nreason = \"never\"", "switch.big", Some((Tier::Never, false))),
    ] {
        let home = home_with(rows).unwrap_or_else(|error| panic!("{error}"));
        let note = home.overrides.apply(&mut entity(&home, id)).tier;
        assert_eq!(note.as_ref().map(|note| (note.tier, note.spares_off)), wanted, "{rows} {id}");
        assert_ne!(home.overrides.version(), "", "{rows}");
    }
    let home = home_with("power_w = 2500").unwrap();
    let mut socket = entity(&home, "switch.big");
    let rule = home.overrides.apply(&mut socket).tier.unwrap().rule(&socket);
    assert!(rule.verbs.contains(&Verb::TurnOn) && !rule.verbs.contains(&Verb::TurnOff));
    assert!(rule.reason.is_none() && rule.name.contains("2500 W"), "it only raises: {rule:?}");
    for watts in ["0", "-5", "nan", "1e9"] {
        let error = home_with(&format!("power_w = {watts}")).err().unwrap().to_string();
        assert!(error.contains("watts from 1 to 100000"), "{error}");
    }
}

#[test]
fn a_scene_may_name_an_announced_entity_that_an_override_names() {
    let step = "[[scene]]\nid = \"tea\"\nname = \"Tea\"\nsteps = [{ entity = \"light.pantry\", verb = \"turn_on\", \
                args = { brightness_pct = 40, effect = \"candle\", rgb_color = [255, 0, 0] } }]\n";
    let named = "[[override]]\nentity = \"light.pantry\"\narea = \"kitchen\"\n";
    let home = parse(&format!("{HOME}{step}{named}")).unwrap_or_else(|error| panic!("{error}"));
    let action = &home.scenes[1].steps[0].0;
    assert_eq!(action.args[&Arg::BrightnessPct], ArgValue::Number(40.0));
    assert_eq!(action.args[&Arg::Effect], ArgValue::Text("candle".into()));
    assert_eq!(action.args[&Arg::RgbColor], ArgValue::Rgb([255, 0, 0]));
    for (text, says) in [
        (step.to_owned(), "an entity that announces itself is named by an [[override]] with its id"),
        (format!("{step}{}", named.replace("light.pantry", "light.*")), "no such entity \"light.pantry\""),
        (
            format!("{step}{named}").replace("effect", "effekt"),
            "no such argument \"effekt\"; did you mean effect?",
        ),
        (format!("{step}{named}").replace("[255, 0, 0]", "{ r = 1 }"), "rgb_color is {\"r\":1}; expected"),
    ] {
        let error = parse(&format!("{HOME}{text}")).err().unwrap().to_string();
        assert!(error.contains(says), "{error}");
    }
}

#[test]
fn what_announces_itself_is_corrected_by_what_the_file_says() {
    let home = HomeFile::demo(&Profiles::embedded().unwrap()).unwrap();
    let kept = home.entities.len();
    let lamp = home.entities[0].entity.clone();
    let home = home.leaving_to_announcements(&std::collections::BTreeSet::from([lamp.id.clone()]));
    assert_eq!(home.entities.len(), kept - 1);
    let mut announced = Entity { name: "0x00158d".into(), aliases: Vec::new(), area: None, ..lamp.clone() };
    assert!(!home.overrides.apply(&mut announced).hide);
    assert_eq!(
        (&announced.name, &announced.aliases, &announced.area),
        (&lamp.name, &lamp.aliases, &lamp.area)
    );
}

#[test]
fn the_demo_home_is_right() {
    let home = HomeFile::demo(&Profiles::embedded().unwrap()).unwrap_or_else(|error| panic!("{error}"));
    assert!(home.entities.len() >= 28);
    assert!(home.scenes.iter().any(|scene| scene.id == "sleep"));
    for known in &home.entities {
        assert!(known.entity.area.is_some(), "{} has an area", known.entity.id);
        assert_ne!(known.entity.name_in("zh"), known.entity.name, "{} has a Chinese name", known.entity.id);
    }
}

#[test]
fn the_example_home_is_right() {
    let text = include_str!("../../../config/home.example.toml");
    let home = parse(text).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!((home.entities.len(), home.scenes.len()), (6, 2));
}
