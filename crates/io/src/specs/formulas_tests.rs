//! Formulas and drivers, evaluated as engines would, say what the evaluator of rigs does.

use super::*;
use risorius_rig::coefficients::Activation;
use risorius_rig::synthetic::{Random, random_rig};
use risorius_rig::{Deltas, Driver, Shape};

/// Sliders s0 to s3 with in-betweens and combinations of every kind.
fn rig() -> Rig {
    let mut rig = random_rig(30, 4, 0.5, 2);
    let driver = |slider, at| Driver { slider, at };
    let combination = |drivers: Vec<Driver>, rule| Role::Combination { drivers, rule };
    let roles = [
        Role::Inbetween { slider: 0, at: 0.5 },
        Role::Inbetween { slider: 1, at: 0.75 },
        Role::Inbetween { slider: 1, at: 0.25 },
        combination(vec![driver(0, None), driver(2, None)], CombinationRule::Multiply),
        combination(vec![driver(1, None), driver(2, None), driver(3, None)], CombinationRule::Lowest),
        combination(vec![driver(1, Some(0.25)), driver(3, None)], CombinationRule::Multiply),
        combination(vec![driver(1, Some(0.75)), driver(0, Some(0.5))], CombinationRule::Lowest),
    ];
    for (i, role) in roles.into_iter().enumerate() {
        rig.shapes.push(Shape { name: format!("more{i}"), role, deltas: Deltas::default() });
    }
    rig
}

/// The formulas as another program reads them.
fn evaluate(formulas: &Value, rig: &Rig, w: &[f64]) -> Vec<f64> {
    let control = |v: &Value| w[rig.slider_index(v["control"].as_str().unwrap()).unwrap()];
    let numbers =
        |v: &Value| -> Vec<f64> { v.as_array().unwrap().iter().map(|x| x.as_f64().unwrap()).collect() };
    let factor = |v: &Value| match &v["tent"] {
        Value::Null => control(v).max(0.0),
        tent => {
            let (x, [a, b, c]) = (control(v), <[f64; 3]>::try_from(numbers(tent)).unwrap());
            if x <= b { ((x - a) / (b - a)).max(0.0) } else { ((c - x) / (c - b)).max(0.0) }
        }
    };
    let strength = |target: &Value| {
        let s = &target["strength"];
        if let Some(factors) = s["product"].as_array() {
            return factors.iter().map(factor).product();
        }
        if let Some(factors) = s["least"].as_array() {
            return factors.iter().map(factor).fold(f64::INFINITY, f64::min);
        }
        let x = control(s);
        let Some(points) = s["curve"].as_array() else { return x };
        let points: Vec<Vec<f64>> = points.iter().map(numbers).collect();
        let end = (1..points.len() - 1).find(|&i| x < points[i][0]).unwrap_or(points.len() - 1);
        let ([a, b], [c, d]) = ([points[end - 1][0], points[end - 1][1]], [points[end][0], points[end][1]]);
        b + (d - b) * (x - a) / (c - a)
    };
    formulas["targets"].as_array().unwrap().iter().map(strength).collect()
}

#[test]
fn formulas_say_what_the_evaluator_does() {
    let rig = rig();
    let found: Value = serde_json::from_slice(&formulas(&rig)).unwrap();
    let activation = Activation::prepare(&rig);
    let mut random = Random(3);
    for _ in 0..200 {
        let w: Vec<f64> = (0..4).map(|_| f64::from(0.5 + 0.8 * random.signed())).collect();
        for (i, (a, b)) in activation.coefficients(&w).iter().zip(evaluate(&found, &rig, &w)).enumerate() {
            assert!((a - b).abs() < 1e-12, "{} at {w:?}: {a} {b}", rig.shapes[i].name);
        }
    }
    let names: Vec<&str> =
        found["targets"].as_array().unwrap().iter().map(|t| t["target"].as_str().unwrap()).collect();
    assert!(names.iter().eq(rig.shapes.iter().map(|s| &s.name).collect::<Vec<_>>().iter()));
}

#[test]
fn drivers_are_expressions_over_keys_and_properties() {
    let mut rig = rig();
    let (bytes, note) = blender_drivers(&rig);
    assert_eq!(note, None);
    let table: Value = serde_json::from_slice(&bytes).unwrap();
    let of = |key: &str| {
        let drivers = table["drivers"].as_array().unwrap();
        drivers.iter().find(|d| d["shape_key"] == key).cloned().unwrap_or_default()
    };
    let (first, second) = (rig.sliders[0].name.clone(), rig.sliders[2].name.clone());
    assert_eq!(of(&rig.shapes[0].name)["expression"], "0 if a<0.5 else (a-0.5)/0.5");
    assert_eq!(of("more0")["expression"], "(a-0)/0.5 if a<0.5 else (1-a)/0.5");
    assert_eq!(of("more3")["expression"], "max(a,0)*max(b,0)");
    assert_eq!(of("more3")["variables"]["a"], format!("[\"{first}\"]"));
    assert_eq!(of("more3")["variables"]["b"], format!("key_blocks[\"{second}\"].value"));
    assert_eq!(of("more5")["expression"], "max(min((a-0)/0.25,(0.75-a)/0.5),0)*max(b,0)");
    assert_eq!(of(&second), Value::Null, "plain sliders are moved by hand");
    assert_eq!(table["properties"].as_array().unwrap().len(), 2);
    // A combination that Blender has no room for.
    let drivers = (0..4).cycle().take(40).map(|slider| Driver { slider, at: None }).collect();
    let role = Role::Combination { drivers, rule: CombinationRule::Multiply };
    rig.shapes.push(Shape { name: "crowd".into(), role, deltas: Deltas::default() });
    assert!(blender_drivers(&rig).1.unwrap().contains("crowd"));
}

/// What Blender makes of an expression: names, numbers, `min`, `max`, `+ - * /`, and `a if b<c else d`.
struct Expression<'a> {
    tokens: std::iter::Peekable<std::vec::IntoIter<String>>,
    variables: &'a dyn Fn(&str) -> f64,
}

impl<'a> Expression<'a> {
    fn value(text: &str, variables: &'a dyn Fn(&str) -> f64) -> f64 {
        let mut tokens: Vec<String> = Vec::new();
        let (mut number_or_name, mut open) = (String::new(), false);
        for c in text.chars().chain([' ']) {
            if c.is_ascii_alphanumeric() || c == '.' {
                number_or_name.push(c);
                open = true;
                continue;
            }
            if std::mem::take(&mut open) {
                tokens.push(std::mem::take(&mut number_or_name));
            }
            if c != ' ' {
                tokens.push(c.to_string());
            }
        }
        let mut expression = Self { tokens: tokens.into_iter().peekable(), variables };
        let value = expression.choice();
        assert_eq!(expression.tokens.next(), None, "{text}");
        value
    }

    fn eat(&mut self, token: &str) -> bool {
        self.tokens.next_if(|t| t == token).is_some()
    }

    fn choice(&mut self) -> f64 {
        let value = self.sum();
        if !self.eat("if") {
            return value;
        }
        let low = self.sum();
        assert!(self.eat("<"));
        let is_lower = low < self.sum();
        assert!(self.eat("else"));
        let other = self.choice();
        if is_lower { value } else { other }
    }

    fn sum(&mut self) -> f64 {
        let mut value = self.product();
        loop {
            match () {
                () if self.eat("+") => value += self.product(),
                () if self.eat("-") => value -= self.product(),
                () => return value,
            }
        }
    }

    fn product(&mut self) -> f64 {
        let mut value = self.term();
        loop {
            match () {
                () if self.eat("*") => value *= self.term(),
                () if self.eat("/") => value /= self.term(),
                () => return value,
            }
        }
    }

    fn term(&mut self) -> f64 {
        let token = self.tokens.next().unwrap();
        match token.as_str() {
            "-" => -self.term(),
            "(" => {
                let value = self.choice();
                assert!(self.eat(")"));
                value
            }
            "min" | "max" => {
                assert!(self.eat("("));
                let mut value = self.choice();
                while self.eat(",") {
                    let other = self.choice();
                    value = if token == "min" { value.min(other) } else { value.max(other) };
                }
                assert!(self.eat(")"));
                value
            }
            text => text.parse().unwrap_or_else(|_| (self.variables)(text)),
        }
    }
}

#[test]
fn drivers_say_what_the_evaluator_does() {
    let rig = rig();
    let table: Value = serde_json::from_slice(&blender_drivers(&rig).0).unwrap();
    let activation = Activation::prepare(&rig);
    let mut random = Random(4);
    for _ in 0..200 {
        let w: Vec<f64> = (0..4).map(|_| f64::from(0.5 + 0.8 * random.signed())).collect();
        let expected = activation.coefficients(&w);
        let slider = |path: &str| {
            let of = |s: &risorius_rig::Slider| path.contains(&format!("[\"{}\"]", s.name));
            w[rig.sliders.iter().position(of).unwrap()]
        };
        for (shape, &strength) in rig.shapes.iter().zip(&expected) {
            let drivers = table["drivers"].as_array().unwrap();
            let found = match drivers.iter().find(|d| d["shape_key"] == shape.name.as_str()) {
                Some(d) => {
                    let variable = |name: &str| slider(d["variables"][name].as_str().unwrap());
                    Expression::value(d["expression"].as_str().unwrap(), &variable)
                }
                None => slider(&format!("[\"{}\"]", shape.name)),
            };
            assert!((found - strength).abs() < 1e-12, "{} at {w:?}: {found} {strength}", shape.name);
        }
    }
}
