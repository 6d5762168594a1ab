//! Fits of correctives: known formulas are found again, missing samples are left out, threads change nothing.

use super::*;
use crate::bake::plan::PER_PAIR;
use crate::bake::rig::{baked_rig, without_inbetweens};
use risorius_base::progress::no_progress;
use risorius_rig::synthetic::{Random, random_rig};
use risorius_rig::{Evaluator, Rig};

const N: usize = 40;

/// A random field over all vertices.
fn random(seed: u64, size: f32) -> Vec<[f64; 3]> {
    let mut random = Random(seed);
    (0..N).map(|_| std::array::from_fn(|_| f64::from(size * random.signed()))).collect()
}

/// What a made simulator adds to a rig: a formula of the kind that is fitted.
struct Truth {
    plan: BakePlan,
    neutral: Vec<[f64; 3]>,
    linear: Vec<Vec<[f64; 3]>>,
    halves: Vec<Vec<[f64; 3]>>,
    pairs: Vec<Vec<[f64; 3]>>,
}

impl Truth {
    fn new(keep: Keep) -> Self {
        let plan = BakePlan { sliders: vec![0, 1, 2, 4], pairs: vec![[0, 1], [0, 2], [1, 2], [2, 3]] };
        let free = |is: bool, seed: u64| if is { random(seed, 1.0) } else { vec![[0.0; 3]; N] };
        let n = plan.sliders.len() as u64;
        Self {
            neutral: free(keep == Keep::Nothing, 1),
            linear: (0..n).map(|s| free(keep != Keep::Shapes, 10 + s)).collect(),
            halves: (0..n).map(|s| free(keep == Keep::Shapes, 20 + s)).collect(),
            pairs: (0..4).map(|p| random(30 + p, 1.0)).collect(),
            plan,
        }
    }

    /// The difference from the rig at some values of the plan's sliders.
    fn at(&self, w: &[f32]) -> Vec<[f64; 3]> {
        let mut sum = self.neutral.clone();
        let mut add = |field: &[[f64; 3]], factor: f64| {
            for (x, f) in sum.iter_mut().zip(field) {
                (0..3).for_each(|k| x[k] += factor * f[k]);
            }
        };
        for (s, &w) in w.iter().enumerate() {
            add(&self.linear[s], w.into());
            // Only in-betweens are corrected by tents; at 0 and 1 a tent is 0.
            add(&self.halves[s], tent(w));
        }
        for (pair, v) in self.plan.pairs.iter().zip(&self.pairs) {
            let [a, b] = pair.map(|s| f64::from(w[s as usize]));
            add(v, a * b);
        }
        sum
    }

    fn samples(&self) -> Vec<Deltas> {
        let one = |number: usize| {
            let mut w = vec![0.0; self.plan.sliders.len()];
            self.plan.values(number).iter().for_each(|&(s, value)| w[s] = value);
            let offsets = self.at(&w).into_iter().map(|o| o.map(|x| x as f32)).collect();
            Deltas { vertices: (0..N as u32).collect(), offsets }
        };
        (0..self.plan.n_samples()).map(one).collect()
    }
}

fn fitted(plan: &BakePlan, fields: &[Deltas], options: &FitOptions) -> Fitted {
    let field = |i: usize| Field::from(&fields[i]);
    let samples = Samples { plan, n_vertices: N, field: &field, usable: &|_| true };
    fit(&samples, options, &no_progress).unwrap()
}

fn options(keep: Keep) -> FitOptions {
    let halves = if keep == Keep::Shapes { vec![0, 1, 2, 3] } else { Vec::new() };
    FitOptions { keep, halves, visible: 0.0, budget: Budget::All }
}

fn distance(deltas: &Deltas, truth: &[[f64; 3]]) -> f64 {
    let mut dense = vec![[0.0; 3]; N];
    for (&v, o) in deltas.vertices.iter().zip(&deltas.offsets) {
        dense[v as usize] = o.map(f64::from);
    }
    let both = dense.iter().zip(truth);
    both.map(|(a, b)| length(std::array::from_fn(|k| a[k] - b[k]))).fold(0.0, f64::max)
}

#[test]
fn a_formula_of_the_kind_is_found_to_rounding() {
    for keep in [Keep::Shapes, Keep::Neutral, Keep::Nothing] {
        let truth = Truth::new(keep);
        let found = fitted(&truth.plan, &truth.samples(), &options(keep));
        let zero = vec![[0.0; 3]; N];
        assert!(distance(&found.neutral, &truth.neutral) < 1e-6, "{keep:?}");
        for (s, u) in truth.linear.iter().enumerate() {
            let got = found.linear.get(s).cloned().unwrap_or_default();
            assert!(distance(&got, if found.linear.is_empty() { &zero } else { u }) < 1e-6, "{keep:?} u {s}");
        }
        for (s, q) in &found.halves {
            assert!(distance(q, &truth.halves[*s]) < 1e-6, "{keep:?} q {s}");
        }
        assert_eq!(found.halves.len(), if keep == Keep::Shapes { 4 } else { 0 });
        assert_eq!(found.pairs.len(), 4);
        for (p, v) in &found.pairs {
            assert!(distance(v, &truth.pairs[*p]) < 2e-6, "{keep:?} v {p}");
        }
        assert!(found.errors.after[1] < 3e-6 && found.errors.before[1] > 0.5, "{:?}", found.errors);
        assert!(found.errors.before[0] > 0.1 && found.errors.vertices == N);
    }
}

/// The same least squares problem with all columns and rows written out.
#[test]
fn the_reduced_system_is_the_whole_least_squares_problem() {
    let truth = Truth::new(Keep::Shapes);
    let mut fields = truth.samples();
    for (i, field) in fields.iter_mut().enumerate() {
        let noise = random(1000 + i as u64, 0.3);
        let all = field.offsets.iter_mut().zip(noise);
        all.for_each(|(o, n)| (0..3).for_each(|k| o[k] += n[k] as f32));
    }
    let plan = &truth.plan;
    for keep in [Keep::Neutral, Keep::Nothing] {
        let found = fitted(plan, &fields, &options(keep));
        let column = |w: &[f64]| -> Vec<f64> {
            let mut column: Vec<f64> = if keep == Keep::Nothing { vec![1.0] } else { Vec::new() };
            column.extend(w);
            column.extend(plan.pairs.iter().map(|p| w[p[0] as usize] * w[p[1] as usize]));
            column
        };
        let mut rows: Vec<(Vec<f64>, f64, usize)> = Vec::new();
        for number in 0..plan.n_samples() {
            let mut w = vec![0.0; 4];
            plan.values(number).iter().for_each(|&(s, value)| w[s] = value.into());
            let count = match plan.sample(number) {
                Sample::Neutral => plan.pairs.len(),
                Sample::Single { slider, .. } => {
                    plan.pairs.iter().flatten().filter(|&&s| s as usize == slider).count()
                }
                Sample::Pair { .. } => 1,
            };
            rows.push((column(&w), count as f64, number));
        }
        let n = rows[0].0.len();
        let normal = risorius_linalg::Matrix::symmetric(n, |i, j| {
            rows.iter().map(|(c, count, _)| count * c[i] * c[j]).sum()
        });
        let factor = risorius_linalg::Cholesky::factor(normal).unwrap();
        let solve = |v: usize, k: usize| {
            let mut b = vec![0.0; n];
            for (c, count, number) in &rows {
                let d = f64::from(fields[*number].offsets[v][k]);
                (0..n).for_each(|i| b[i] += count * c[i] * d);
            }
            factor.solve_in_place(&mut b);
            b
        };
        let shift = usize::from(keep == Keep::Nothing);
        for v in 0..N {
            for k in 0..3 {
                let whole = solve(v, k);
                let near = |a: f32, b: f64| assert!((f64::from(a) - b).abs() < 1e-5, "{keep:?} {a} {b}");
                if shift == 1 {
                    near(found.neutral.offsets[v][k], whole[0]);
                }
                (0..4).for_each(|s| near(found.linear[s].offsets[v][k], whole[shift + s]));
                (0..4).for_each(|p| near(found.pairs[p].1.offsets[v][k], whole[shift + 4 + p]));
            }
        }
    }
}

#[test]
fn what_sliders_do_alone_is_none_of_their_pairs() {
    // Each slider alone does something that no tent can express; nothing happens between them.
    let plan = BakePlan { sliders: vec![0, 1, 2], pairs: vec![[0, 1], [0, 2], [1, 2]] };
    let own: Vec<Vec<[f64; 3]>> = (0..3).map(|s| random(s, 1.0)).collect();
    let field = |number: usize| {
        let mut offsets = vec![[0.0f32; 3]; N];
        for (s, value) in plan.values(number) {
            let strength = value.powi(3);
            offsets
                .iter_mut()
                .zip(&own[s])
                .for_each(|(o, x)| (0..3).for_each(|k| o[k] += strength * x[k] as f32));
        }
        Deltas { vertices: (0..N as u32).collect(), offsets }
    };
    let fields: Vec<Deltas> = (0..plan.n_samples()).map(field).collect();
    let options = FitOptions { visible: 1e-4, ..options(Keep::Shapes) };
    let found = fitted(&plan, &fields, &FitOptions { halves: vec![0, 1, 2], ..options });
    assert!(found.pairs.is_empty() && found.halves.len() == 3, "{:?}", found.pairs.len());
    assert_eq!(found.invisible, 3);
    // The paper's fit gives every pair some of it.
    let joint = fitted(&plan, &fields, &self::options(Keep::Nothing));
    assert!(joint.pairs.iter().all(|(_, v)| v.max_length() > 0.01));
}

#[test]
fn correctives_that_are_left_out_are_left_out_of_the_fit() {
    let truth = Truth::new(Keep::Neutral);
    let options = FitOptions { budget: Budget::Shapes(2), ..options(Keep::Neutral) };
    let found = fitted(&truth.plan, &truth.samples(), &options);
    assert_eq!((found.pairs.len(), found.over_budget), (2, 2));
    let all = fitted(&truth.plan, &truth.samples(), &self::options(Keep::Neutral));
    let without = |fitted: &Fitted| {
        let kept: Vec<(usize, Deltas)> =
            fitted.pairs.iter().filter(|(p, _)| found.pairs.iter().any(|(q, _)| p == q)).cloned().collect();
        kept
    };
    // Shapes of sliders take over a part of what the pairs did.
    let cut = Fitted { pairs: without(&all), ..all.clone() };
    let fields = truth.samples();
    let field = |i: usize| Field::from(&fields[i]);
    let samples = Samples { plan: &truth.plan, n_vertices: N, field: &field, usable: &|_| true };
    let (refitted, cut) = (errors(&samples, &found), errors(&samples, &cut));
    assert!(refitted.after[0] < cut.after[0], "{:?} {:?}", refitted.after, cut.after);
}

#[test]
fn threads_do_not_change_a_bit() {
    let truth = Truth::new(Keep::Nothing);
    let fields = truth.samples();
    for keep in [Keep::Shapes, Keep::Nothing] {
        let [one, three] = [1, 3].map(|n| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(n).build().unwrap();
            pool.install(|| fitted(&truth.plan, &fields, &options(keep)))
        });
        assert_eq!(one, three);
    }
}

/// The baked rig, evaluated like any other, gives the formula at weights that were not sampled.
#[test]
fn the_rig_plays_the_formula() {
    let rig = random_rig(N, 5, 0.6, 4);
    for keep in [Keep::Shapes, Keep::Neutral, Keep::Nothing] {
        let truth = Truth::new(keep);
        assert_eq!(without_inbetweens(&rig, &truth.plan), [0, 1, 2, 3]);
        let found = fitted(&truth.plan, &truth.samples(), &options(keep));
        let (baked, shapes) = baked_rig(&rig, &truth.plan, &found);
        assert_eq!(shapes.len(), if keep == Keep::Shapes { 8 } else { 4 });
        let (before, after) = (Evaluator::prepare(&rig), Evaluator::prepare(&baked));
        let mut random = Random(9);
        for _ in 0..20 {
            let w: Vec<f32> = (0..5).map(|_| random.unit()).collect();
            let own: Vec<f32> = truth.plan.sliders.iter().map(|&s| w[s as usize]).collect();
            let wanted = truth.at(&own);
            for ((p, q), d) in before.positions(&w).iter().zip(after.positions(&w)).zip(&wanted) {
                let error = length(std::array::from_fn(|k| f64::from(q[k] - p[k]) - d[k]));
                assert!(error < 1e-5, "{keep:?}: {error}");
            }
        }
        if keep == Keep::Shapes {
            // The artist's own poses, to the bit.
            for slider in 0..5 {
                let mut w = vec![0.0; 5];
                w[slider] = 1.0;
                assert_eq!(before.positions(&w), after.positions(&w), "slider {slider}");
            }
        }
    }
}

fn with_own_correctives() -> Rig {
    use risorius_rig::{CombinationRule, Driver, Role, Shape};
    let mut rig = random_rig(N, 5, 0.6, 4);
    let extra = random_rig(N, 3, 0.6, 8);
    let drivers = |a, b| vec![Driver { slider: a, at: None }, Driver { slider: b, at: None }];
    let roles = [
        Role::Inbetween { slider: 0, at: 0.25 },
        Role::Combination { drivers: drivers(0, 1), rule: CombinationRule::Multiply },
        Role::Combination { drivers: drivers(2, 4), rule: CombinationRule::Lowest },
    ];
    let name = |a: usize, b: usize| format!("{}__{}", rig.sliders[a].name, rig.sliders[b].name);
    let names = ["own".into(), name(0, 1), name(2, 4)];
    for ((shape, role), name) in extra.shapes.into_iter().zip(roles).zip(names) {
        rig.shapes.push(Shape { name, role, ..shape });
    }
    rig
}

/// In-betweens and combinations of the artist are neither lost nor doubled, and keep their names.
#[test]
fn correctives_of_the_artist_stay() {
    let rig = with_own_correctives();
    for keep in [Keep::Shapes, Keep::Nothing] {
        let truth = Truth::new(keep);
        let halves = if keep == Keep::Shapes { without_inbetweens(&rig, &truth.plan) } else { Vec::new() };
        let truth = match keep {
            // The slider with an in-between of its own gets no other.
            Keep::Shapes => {
                let mut truth = truth;
                truth.halves[0] = vec![[0.0; 3]; N];
                truth
            }
            _ => truth,
        };
        let found = fitted(&truth.plan, &truth.samples(), &FitOptions { halves, ..options(keep) });
        let (baked, shapes) = baked_rig(&rig, &truth.plan, &found);
        let names: Vec<&str> = shapes.iter().map(|s| baked.shapes[s.shape].name.as_str()).collect();
        assert!(names.iter().any(|n| n.ends_with("_baked")), "{names:?}");
        let mut all: Vec<&str> = baked.shapes.iter().map(|s| s.name.as_str()).collect();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), baked.shapes.len());
        let (before, after) = (Evaluator::prepare(&rig), Evaluator::prepare(&baked));
        let mut random = Random(5);
        for _ in 0..20 {
            let w: Vec<f32> = (0..5).map(|_| random.unit()).collect();
            let own: Vec<f32> = truth.plan.sliders.iter().map(|&s| w[s as usize]).collect();
            let wanted = truth.at(&own);
            for ((p, q), d) in before.positions(&w).iter().zip(after.positions(&w)).zip(&wanted) {
                let error = length(std::array::from_fn(|k| f64::from(q[k] - p[k]) - d[k]));
                assert!(error < 1e-5, "{keep:?}: {error}");
            }
        }
    }
    assert_eq!(PER_PAIR, 16);
}

/// Samples that were not simulated, whatever is in their place, are no part of the fit.
#[test]
fn samples_that_are_missing_are_left_out() {
    for keep in [Keep::Shapes, Keep::Neutral, Keep::Nothing] {
        let truth = Truth::new(keep);
        let plan = &truth.plan;
        let missing = [plan.single(1, 2), plan.first_of_pair(0) + 5, plan.first_of_pair(3) + 6];
        let mut fields = truth.samples();
        missing.iter().for_each(|&n| fields[n].offsets.fill([1e6; 3]));
        let field = |i: usize| Field::from(&fields[i]);
        let usable = |n: usize| !missing.contains(&n);
        let samples = Samples { plan, n_vertices: N, field: &field, usable: &usable };
        let found = fit(&samples, &options(keep), &no_progress).unwrap();
        assert_eq!((found.pairs.len(), found.unsampled), (4, 0));
        for (p, v) in &found.pairs {
            assert!(distance(v, &truth.pairs[*p]) < 2e-6, "{keep:?} v {p}");
        }
        assert!(found.errors.after[1] < 3e-6, "{keep:?}: {:?}", found.errors);
        // A pair without most of its samples gets no corrective, and spoils no other.
        let pair = plan.first_of_pair(2)..plan.first_of_pair(2) + PER_PAIR;
        let usable = |n: usize| !missing.contains(&n) && !pair.contains(&n);
        let found = fit(&Samples { usable: &usable, ..samples }, &options(keep), &no_progress).unwrap();
        assert_eq!(found.unsampled, 1);
        let pairs: Vec<usize> = found.pairs.iter().map(|p| p.0).collect();
        assert_eq!(pairs, [0, 1, 3]);
        assert!(found.errors.after[1] < 3e-6, "{keep:?}: {:?}", found.errors);
    }
}

/// A slider whose way is curved gets three in-betweens, which meet its samples; with a budget, one.
#[test]
fn curved_ways_get_three_in_betweens() {
    let rig = random_rig(N, 5, 0.6, 4);
    let plan = BakePlan { sliders: vec![0, 2], pairs: vec![[0, 1]] };
    let own = random(7, 1.0);
    let curve = |w: f64| 4.0 * w * (1.0 - w) * (1.0 + w);
    let field = |number: usize| {
        let strength: f64 = plan.values(number).iter().filter(|v| v.0 == 0).map(|v| curve(v.1.into())).sum();
        let offsets = own.iter().map(|o| o.map(|x| (strength * x) as f32)).collect();
        Deltas { vertices: (0..N as u32).collect(), offsets }
    };
    let fields: Vec<Deltas> = (0..plan.n_samples()).map(field).collect();
    let options = FitOptions { halves: vec![0, 1], visible: 1e-3, ..options(Keep::Shapes) };
    let found = fitted(&plan, &fields, &options);
    assert_eq!((found.halves.len(), found.quarters.len(), found.pairs.len()), (1, 1, 0));
    assert!(found.errors.after[1] < 1e-3, "{:?}", found.errors);
    let (baked, shapes) = baked_rig(&rig, &plan, &found);
    let names: Vec<&str> = shapes.iter().map(|s| baked.shapes[s.shape].name.as_str()).collect();
    let base = &rig.sliders[0].name;
    assert_eq!(names, [50, 25, 75].map(|p| format!("{base}_{p}")));
    let (before, after) = (Evaluator::prepare(&rig), Evaluator::prepare(&baked));
    for i in 0..=16 {
        let w = f64::from(i) / 16.0;
        let below = (4.0 * w).floor().min(3.0) / 4.0;
        let wanted = curve(below) + (curve(below + 0.25) - curve(below)) * (w - below) / 0.25;
        let weights = [w as f32, 0.0, 0.0, 0.0, 0.0];
        for ((p, q), o) in before.positions(&weights).iter().zip(after.positions(&weights)).zip(&own) {
            let error = length(std::array::from_fn(|k| f64::from(q[k] - p[k]) - wanted * o[k]));
            assert!(error < 2e-3, "{w}: {error}");
        }
    }
    let one = fitted(&plan, &fields, &FitOptions { budget: Budget::Shapes(3), ..options });
    assert_eq!((one.halves.len(), one.quarters.len()), (1, 0));
    assert!(one.errors.after[1] > found.errors.after[1]);
}
