//! How strong each shape of a rig is for given sliders, for programs that play morph targets: formulas for
//! engines, and a table of drivers for Blender. Both are JSON and say the same as
//! [`risorius_rig::coefficients`].
//!
//! A *control* is what animators or captures move; a *target* is a morph target of the file. Targets without
//! in-betweens have the strength of their control. In-betweens, and shapes that have some, follow a curve of
//! straight segments over their control, extended at both ends. Combinations are the product or the least of
//! their controls, each at least 0.

use risorius_rig::{CombinationRule, Rig, Role};
use serde_json::{Map, Value, json};

/// Longest expression that Blender keeps.
const LONGEST_EXPRESSION: usize = 255;

/// The strength of a shape.
enum Strength {
    /// That of a slider.
    Control(usize),
    /// A curve over a slider.
    Curve(usize, Vec<[f64; 2]>),
    /// Of several factors.
    Combined(CombinationRule, Vec<Factor>),
}

/// A slider of a combination; with a tent, it counts most at the middle of three values and not outside them.
struct Factor {
    slider: usize,
    tent: Option<[f64; 3]>,
}

/// Values of a slider where its motion bends, and the shapes there, ascending.
fn knots(rig: &Rig, slider: usize) -> Vec<(f64, usize)> {
    let of = |(i, role): (usize, &Role)| match role {
        Role::Inbetween { slider: s, at } if *s == slider => Some((f64::from(*at), i)),
        Role::Slider(s) if *s == slider => Some((1.0, i)),
        _ => None,
    };
    let roles = rig.shapes.iter().map(|s| &s.role).enumerate();
    let mut knots: Vec<(f64, usize)> = roles.filter_map(of).collect();
    knots.sort_by(|a, b| a.0.total_cmp(&b.0));
    knots
}

fn strength(rig: &Rig, shape: usize) -> Strength {
    let (slider, own) = match &rig.shapes[shape].role {
        Role::Slider(slider) => (*slider, 1.0),
        Role::Inbetween { slider, at } => (*slider, f64::from(*at)),
        Role::Combination { drivers, rule } => {
            let factor = |d: &risorius_rig::Driver| {
                let knots = knots(rig, d.slider);
                let tent = d.at.map(f64::from).map(|at| {
                    let below = knots.iter().rev().map(|k| k.0).find(|&v| v < at).unwrap_or(0.0);
                    let above = knots.iter().map(|k| k.0).find(|&v| v > at).unwrap_or(1.0);
                    [below, at, above]
                });
                Factor { slider: d.slider, tent }
            };
            return Strength::Combined(*rule, drivers.iter().map(factor).collect());
        }
    };
    let knots = knots(rig, slider);
    if knots.len() < 2 {
        return Strength::Control(slider);
    }
    // The neutral at 0 has no shape.
    let values = std::iter::once(0.0).chain(knots.iter().map(|k| k.0));
    Strength::Curve(slider, values.map(|v| [v, f64::from(u8::from(v == own))]).collect())
}

/// The formulas of all targets as JSON.
pub fn formulas(rig: &Rig) -> Vec<u8> {
    let name = |slider: usize| rig.sliders[slider].name.as_str();
    let factor = |f: &Factor| match f.tent {
        None => json!({ "control": name(f.slider) }),
        Some(tent) => json!({ "control": name(f.slider), "tent": tent }),
    };
    let target = |(i, shape): (usize, &risorius_rig::Shape)| {
        let strength = match strength(rig, i) {
            Strength::Control(slider) => json!({ "control": name(slider) }),
            Strength::Curve(slider, points) => json!({ "control": name(slider), "curve": points }),
            Strength::Combined(rule, factors) => {
                let factors: Vec<Value> = factors.iter().map(factor).collect();
                match rule {
                    CombinationRule::Multiply => json!({ "product": factors }),
                    CombinationRule::Lowest => json!({ "least": factors }),
                }
            }
        };
        json!({ "target": shape.name, "strength": strength })
    };
    let controls = rig.sliders.iter().map(|s| json!({ "control": s.name, "range": s.range }));
    let object = json!({
        "format": "risorius-formulas-1",
        "vertex": "neutral + sum over targets of strength * delta",
        "curve": "straight segments between [control, strength]; the first and the last go on beyond their ends",
        "product, least": "of the controls, each at least 0; with a tent [a, b, c]: 0 at a, 1 at b, 0 at c, \
                           straight between, 0 outside",
        "controls": controls.collect::<Vec<_>>(),
        "targets": rig.shapes.iter().enumerate().map(target).collect::<Vec<_>>(),
    });
    serde_json::to_vec_pretty(&object).unwrap_or_default()
}

/// Drivers for shape keys in Blender as JSON, and a note if some cannot be written.
///
/// Sliders with in-betweens become properties of the shape keys' data block, because the key of their full
/// shape follows a curve; all other sliders are moved by the value of their own key.
pub fn blender_drivers(rig: &Rig) -> (Vec<u8>, Option<String>) {
    let is_bent = |slider: usize| knots(rig, slider).len() > 1;
    let path = |slider: usize| {
        let name = rig.sliders[slider].name.replace('\\', "\\\\").replace('"', "\\\"");
        if is_bent(slider) { format!("[\"{name}\"]") } else { format!("key_blocks[\"{name}\"].value") }
    };
    let mut too_long = Vec::new();
    let mut drivers = Vec::new();
    for (i, shape) in rig.shapes.iter().enumerate() {
        let (expression, sliders) = match strength(rig, i) {
            Strength::Control(_) => continue,
            Strength::Curve(slider, points) => (curve_expression("a", &points), vec![slider]),
            Strength::Combined(rule, factors) => {
                let term = |(f, letter): (&Factor, char)| match f.tent {
                    None => format!("max({letter},0)"),
                    Some([a, b, c]) => {
                        format!("max(min(({letter}-{a})/{},({c}-{letter})/{}),0)", b - a, c - b)
                    }
                };
                let terms: Vec<String> = factors.iter().zip('a'..='z').map(term).collect();
                let expression = match rule {
                    CombinationRule::Multiply => terms.join("*"),
                    CombinationRule::Lowest => format!("min({})", terms.join(",")),
                };
                (expression, factors.iter().map(|f| f.slider).collect())
            }
        };
        if expression.len() > LONGEST_EXPRESSION || sliders.len() > 26 {
            too_long.push(shape.name.as_str());
            continue;
        }
        let variables: Map<String, Value> =
            sliders.iter().zip('a'..='z').map(|(&s, letter)| (letter.to_string(), path(s).into())).collect();
        drivers.push(json!({ "shape_key": shape.name, "expression": expression, "variables": variables }));
    }
    let properties = (0..rig.sliders.len()).filter(|&s| is_bent(s)).map(|s| {
        let slider = &rig.sliders[s];
        json!({ "property": slider.name, "min": slider.range[0], "max": slider.range[1] })
    });
    let object = json!({
        "format": "risorius-blender-drivers-1",
        "properties": properties.collect::<Vec<_>>(),
        "drivers": drivers,
    });
    let note = (!too_long.is_empty()).then(|| {
        format!(
            "Blender has no room for the drivers of {}: their expressions are too long",
            too_long.join(", ")
        )
    });
    (serde_json::to_vec_pretty(&object).unwrap_or_default(), note)
}

/// A curve as a Python expression.
fn curve_expression(letter: &str, points: &[[f64; 2]]) -> String {
    let segment = |w: &[[f64; 2]]| {
        let [[x0, y0], [x1, y1]] = [w[0], w[1]];
        match (y0, y1) {
            (0.0, 0.0) => "0".to_string(),
            (0.0, 1.0) => format!("({letter}-{x0})/{}", x1 - x0),
            _ => format!("({x1}-{letter})/{}", x1 - x0),
        }
    };
    let segments: Vec<String> = points.windows(2).map(segment).collect();
    let mut text = segments.last().cloned().unwrap_or_default();
    for (i, earlier) in segments.iter().enumerate().rev().skip(1) {
        text = format!("{earlier} if {letter}<{} else {text}", points[i + 1][0]);
    }
    text
}

#[cfg(test)]
#[path = "formulas_tests.rs"]
mod tests;
