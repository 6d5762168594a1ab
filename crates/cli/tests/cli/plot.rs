//! `plot`: several reports in one figure, and refusals.

use crate::desk::Desk;
use serde_json::json;

fn report(mean: [f64; 3]) -> String {
    let frame = |m: f64| json!({ "mean_mm": m, "max_mm": 3.0 * m, "kinetic": 0.1 * m, "residual": null });
    json!({ "times_secs": [0.0, 0.5, 1.0], "frames": mean.map(frame) }).to_string()
}

fn desk() -> Desk {
    let desk = Desk::new();
    desk.write("naive.json", report([0.0, 0.5, 0.25]));
    desk.write("ours.json", report([0.0, 0.0, 0.125]));
    desk
}

#[test]
fn runs_share_a_figure() {
    let desk = desk();
    let reported = desk.json(&["plot", "naive.json", "ours.json", "-o", "figure.png"]);
    assert_eq!((&reported["width"], &reported["height"]), (&json!(1200), &json!(600)));
    assert_eq!(
        (&reported["runs"][0]["name"], &reported["runs"][1]["name"]),
        (&json!("naive"), &json!("ours"))
    );
    assert_eq!((&reported["runs"][0]["mean"], &reported["runs"][0]["max"]), (&json!(0.25), &json!(0.5)));
    assert_eq!(
        (&reported["runs"][0]["max_at_secs"], &reported["runs"][1]["frames"]),
        (&json!(0.5), &json!(3))
    );
    let figure = desk.read("figure.png");
    for more in [&["--value", "max"][..], &["--value", "kinetic"], &["--label", "a run,another"]] {
        let reported = desk.json(&[&["plot", "naive.json", "ours.json", "-o", "other.png"], more].concat());
        assert!(desk.read("other.png") != figure, "{more:?} changes nothing: {reported}");
    }
    let reported = desk.json(&["plot", "naive.json", "--value", "max", "-o", "other.png"]);
    assert_eq!((&reported["value"], &reported["runs"][0]["max"]), (&json!("max_mm"), &json!(1.5)));
}

#[test]
fn what_is_no_report_is_refused() {
    let desk = desk();
    desk.write("figure.png", "older");
    desk.fails_with(2, &["plot", "-o", "figure.png"], &["REPORT"]);
    desk.fails_with(2, &["plot", "ours.json", "-o", "figure.pdf"], &["figure.pdf", ".png"]);
    desk.fails_with(2, &["plot", "ours.json", "--value", "speed", "-o", "figure.png"], &["speed", "mean"]);
    desk.fails_with(
        2,
        &["plot", "ours.json", "--label", "a,b", "-o", "figure.png"],
        &["2 labels for 1 reports"],
    );
    desk.fails_with(1, &["plot", "ours.json", "missing.json", "-o", "figure.png"], &["missing.json"]);
    desk.fails_with(
        1,
        &["plot", "ours.json", "--value", "residual", "-o", "figure.png"],
        &["residual of frame 0"],
    );
    for (content, words) in [
        ("frames", &["not a report of `perform`", "JSON"][..]),
        ("[1, 2]", &["not a report", "--report"]),
        (r#"{"frames": 4}"#, &["not a report"]),
        (r#"{"frames": [], "times_secs": []}"#, &["no frames"]),
        (r#"{"frames": [{"mean_mm": 1}]}"#, &["no times_secs"]),
        (r#"{"frames": [{"mean_mm": 1}], "times_secs": [0, 1]}"#, &["2 times for 1 frames"]),
        (
            r#"{"frames": [{"mean_mm": "much"}], "times_secs": [0]}"#,
            &["mean_mm of frame 0 is \"much\", not a number"],
        ),
        (r#"{"frames": [{"mean_mm": 1}], "times_secs": ["now"]}"#, &["time 0 is \"now\", not a number"]),
        (r#"{"frames": [{}], "times_secs": [0]}"#, &["mean_mm of frame 0"]),
        (r#"{"frames": [{"mean_mm": 1}, {"mean_mm": 1}], "times_secs": [1, 1]}"#, &["time 1 is 1 s"]),
    ] {
        desk.write("bad.json", content);
        let call = ["plot", "ours.json", "bad.json", "-o", "figure.png"];
        desk.fails_with(1, &call, &[&["bad.json"], words].concat());
    }
}
