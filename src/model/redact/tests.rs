use super::*;

fn redactor() -> Redactor {
    let settings = RedactSettings {
        words: vec!["Villa Sonnenschein".to_owned(), " ".to_owned()],
        patterns: vec![r"\bC-\d{6}\b".to_owned()],
        ..RedactSettings::default()
    };
    let secrets = ["canary-secret-5150", "1234"].map(|text| SecretString::from(text.to_owned()));
    Redactor::new(&settings, &secrets).expect("valid settings")
}

#[test]
fn private_text_is_taken_out() {
    let redactor = redactor();
    for (text, expected) in [
        ("the key is Canary-SECRET-5150!", "the key is [private]!"),
        ("at villa sonnenschein", "at [private]"),
        ("contract C-123456", "contract [private]"),
        ("key sk-proj-AbCdEfGhIjKlMnOpQrSt", "key [secret]"),
        ("Authorization: Bearer abcdef0123456789", "Authorization: Bearer [secret]"),
        ("eyJhbGciOiJIUzI1NiJ9.eyJpc3MiOiJob21lIn0.c2lnbmF0dXJl done", "[secret] done"),
        (r#"{"password":"hunter22","ssid":"x"}"#, r#"{"password":"[secret]","ssid":"x"}"#),
        ("wifi key = tulip9944", "wifi key = [secret]"),
        ("密码：abc12345", "密码：[secret]"),
        ("the passcode is 90210", "the passcode is [secret]"),
        ("mqtt://anna:geheim@broker/x", "mqtt://[secret]@broker/x"),
        ("-----BEGIN RSA PRIVATE KEY-----\nMIIE\nabc\n-----END RSA PRIVATE KEY----- tail", "[secret] tail"),
        ("parcel for 221B Baker Street, ring twice", "parcel for [address], ring twice"),
        ("12 North Elm St.", "[address]"),
        ("Paket: Hauptstraße 12a", "Paket: [address]"),
        ("Lange Gasse 3", "[address]"),
        ("livraison 12 rue de la Paix", "livraison [address]"),
        ("Via Roma 10", "[address]"),
        ("送到朝阳区人民路88号3单元502室", "[address]"),
        ("51.5074, -0.1278", "[coordinates]"),
        ("gps 48.20849 16.37208 ok", "gps [coordinates] ok"),
        (r#"{"latitude":48.2,"longitude":16.4}"#, r#"{"latitude":[coordinates],"longitude":[coordinates]}"#),
        ("51°30'26\"N", "[coordinates]"),
        ("我的纬度：31.2", "我的纬度：[coordinates]"),
        ("at 192.168.1.20:8123", "at [network address]"),
        ("net 10.0.0.0/8", "net [network address]"),
        ("fe80::1ff:fe23:4567:890a%eth0 up", "[network address] up"),
        ("at 2001:db8::1.", "at [network address]"),
        ("mac AA:bb:CC:00:11:22", "mac [network address]"),
        ("ieee 00-15-8d-00-01-a2-b3-c4", "ieee [network address]"),
    ] {
        assert_eq!(redactor.redact(text), expected, "{text}");
    }
}

#[test]
fn ordinary_house_text_stays_as_it_is() {
    let redactor = redactor();
    for text in [
        "light.kitchen_ceiling",
        "sensor.0x00158d0001a2b3c4_temperature",
        "turn on the kitchen light at 12:30:45",
        "2026-11-29T23:48:24Z",
        "xy_color [0.4573, 0.4100]",
        "temperature 21.500, humidity 48.250 at 19.0",
        "firmware 1.20.300.4000",
        "version 2.14.1",
        "3 lights in the living room",
        "the door code is on the fridge, pin it",
        "把客厅的灯打开到百分之40",
        "22 Grad im Wohnzimmer",
        "std::x :: y",
        "token",
        "power_1234",
        "",
    ] {
        assert_eq!(redactor.redact(text), text);
    }
}

#[test]
fn kinds_can_be_let_through_and_known_secrets_cannot() {
    let none = RedactSettings { kinds: vec![], ..RedactSettings::default() };
    let secrets = [SecretString::from("canary-secret-5150".to_owned())];
    let redactor = Redactor::new(&none, &secrets).expect("valid");
    assert_eq!(redactor.redact("192.168.1.20 canary-secret-5150"), "192.168.1.20 [private]");
    let bad = RedactSettings { patterns: vec!["ok".to_owned(), "(".to_owned()], ..RedactSettings::default() };
    let fault = Redactor::new(&bad, &[]).err().expect("refused");
    assert!(matches!(fault, RedactFault::Pattern { index: 1, .. }), "{fault}");
}

#[test]
fn codes_are_taken_out_where_they_stand_alone_and_in_json_too() {
    let secrets = ["4711", "hass-token-1"].map(|text| SecretString::from(text.to_owned()));
    let redactor = Redactor::new(&RedactSettings::default(), &secrets).expect("valid");
    for (text, clear) in [
        ("the code is 4711.", "the code is [private]."),
        ("代号4711在这里", "代号[private]在这里"),
        ("sensor.power_4711 shows 14711", "sensor.power_4711 shows 14711"),
    ] {
        assert_eq!(redactor.redact_known(text), clear);
    }
    let tool =
        serde_json::json!({"type": "string", "enum": ["off", "hass-token-1", "4711"], "minimum": 4711});
    let clear =
        serde_json::json!({"type": "string", "enum": ["off", "[private]", "[private]"], "minimum": 4711});
    assert_eq!(*redactor.redact_json(&tool), clear);
    let plain = serde_json::json!({"enum": ["off"]});
    assert!(matches!(redactor.redact_arguments(&plain), std::borrow::Cow::Borrowed(_)));
}

#[test]
fn a_code_that_is_a_number_leaves_no_json_and_breaks_none() {
    let secrets = ["471123".to_owned().into(), "secret-phrase".to_owned().into()];
    let redactor = Redactor::new(&RedactSettings { kinds: vec![], ..RedactSettings::default() }, &secrets)
        .expect("valid");
    let sent = serde_json::json!({"code": 471123, "list": [1, "a secret-phrase b"], "brightness": 40});
    let clear = serde_json::json!({"code": "[private]", "list": [1, "a [private] b"], "brightness": 40});
    assert_eq!(*redactor.redact_arguments(&sent), clear);
    let key = serde_json::json!({"secret-phrase": "a\"b", "n": {"471123": 1}});
    let clear = serde_json::json!({"[private]": "a\"b", "n": {"[private]": 1}});
    assert_eq!(*redactor.redact_arguments(&key), clear);
    let plain = serde_json::json!({"brightness": 40});
    assert!(matches!(redactor.redact_json(&plain), std::borrow::Cow::Borrowed(_)));
}
