//! Projections in lanes against those of single matrices, for every width of registers.

use super::*;
use crate::fixtures::Random;

struct Evaluated<'a, T> {
    group: &'a Group<T>,
    f: &'a Matrices<T>,
    aim: &'a Aim<T>,
    from: Option<(&'a Matrices<T>, f64)>,
    out: &'a mut Outcome<T>,
}

impl<T: Number> Task<T> for Evaluated<'_, T> {
    #[inline(always)]
    fn run<P: Pack<T>>(self, token: P::Token) {
        self.group.evaluate::<P>(token, self.f, self.aim, self.from, self.out);
    }
}

/// Evaluates single gradients, each in all lanes, with one weight.
fn projected<T: Number>(f: DMat3, t: DMat3, j: f64, which: usize) -> (DMat3, f64, bool) {
    let mut weights = [0.0; 4];
    weights[which] = 1.0;
    let group = Group::<T>::prepare((0..LANES).map(|_| (DMat3::IDENTITY, weights)));
    let spread = |m: DMat3| m.to_cols_array().map(|v| [T::of(v); LANES]);
    let aim = Aim { target: spread(t), volume: [T::of(j); LANES] };
    let mut out = Outcome::zero();
    T::run(Arch::new(), Evaluated { group: &group, f: &spread(f), aim: &aim, from: None, out: &mut out });
    let open = group.settle(&spread(f), &aim, None, &mut out) > 0;
    let stress = DMat3::from_cols_array(&from_fn(|k| out.force[k][3].wide()));
    // With an identity as rest shape the forces are the stress.
    (f - stress, out.energy[3].wide(), open)
}

fn apart(a: DMat3, b: DMat3) -> f64 {
    (a - b).to_cols_array().iter().fold(0.0, |most, v| v.abs().max(most))
}

fn squares(m: DMat3) -> f64 {
    m.to_cols_array().iter().map(|v| v * v).sum()
}

fn agrees<T: Number>(tolerance: f64) {
    let mut random = Random(17);
    let (mut n, mut n_open) = (0, 0);
    for k in 0..4000 {
        let usual = random.rotation() * (DMat3::IDENTITY + random.matrix() * 0.3);
        let f = match k % 8 {
            0 => random.matrix() * 2.0,
            1 => -usual,
            2 => usual * DMat3::from_diagonal(DVec3::new(1.0, 1.0, 1e-5)),
            3 => random.rotation(),
            _ => usual,
        };
        let t = random.rotation() * (DMat3::IDENTITY + random.matrix() * 0.2);
        let j = 1.0 + 0.8 * random.number();
        let (turned, energy, _) = projected::<T>(f, t, j, 1);
        // Of nearly flat matrices the rotation is not unique; its distance is.
        let wanted = nearest::nearest_turn(f, t);
        let distance = squares(f - wanted);
        assert!((2.0 * energy - distance).abs() < tolerance * (1.0 + distance), "turn {k}: {f} {t}");
        let (filled, energy, open) = projected::<T>(f, t, j, 2);
        let wanted_volume = nearest::nearest_volume(f, j);
        let distance = squares(f - wanted_volume);
        assert!((2.0 * energy - distance).abs() < tolerance * (1.0 + distance), "volume {k}: {f} {j}");
        assert!((filled.determinant() / j - 1.0).abs() < 30.0 * tolerance, "volume {k}: {f} {j}");
        if k % 8 >= 3 {
            assert!(apart(turned, wanted) < 30.0 * tolerance, "turn {k}: {f}: {turned} {wanted}");
            assert!(apart(filled, wanted_volume) < 100.0 * tolerance, "volume {k}: {f} {j}");
            (n, n_open) = (n + 1, n_open + usize::from(open));
        }
    }
    assert!(10 * n_open < n, "{n_open} of {n} usual tets were computed one by one");
}

#[test]
fn lanes_agree_with_single_matrices() {
    agrees::<f64>(1e-9);
    agrees::<f32>(3e-5);
}

#[test]
fn targets_and_viscosity_are_differences() {
    let mut random = Random(2);
    let (f, t, before) = (random.matrix(), random.matrix(), random.matrix());
    let group = Group::<f64>::prepare((0..5).map(|_| (DMat3::IDENTITY, [2.0, 0.0, 0.0, 3.0])));
    let spread = |m: DMat3| m.to_cols_array().map(|v| [v; LANES]);
    let aim = Aim { target: spread(t), volume: [1.0; LANES] };
    let mut out = Outcome::zero();
    group.evaluate::<f64>((), &spread(f), &aim, Some((&spread(before), 0.5)), &mut out);
    let energy = squares(f - t) + 0.75 * squares(f - before);
    let stress = (f - t) * 2.0 + (f - before) * 1.5;
    assert!((out.energy[4] - energy).abs() < 1e-12 && out.energy[5] == 0.0);
    (0..9).for_each(|k| assert!((out.force[k][4] - stress.to_cols_array()[k]).abs() < 1e-12));
}

#[test]
fn every_width_of_registers_gives_the_same_bits() {
    let mut random = Random(23);
    let mut all = || DMat3::IDENTITY + random.matrix() * 0.4;
    let group = Group::<f32>::prepare((0..LANES).map(|_| (DMat3::IDENTITY, [1.0, 2.0, 3.0, 0.5])));
    let spread = |all: &mut dyn FnMut() -> DMat3| -> Matrices<f32> {
        let each: [[f64; 9]; LANES] = from_fn(|_| all().to_cols_array());
        from_fn(|k| from_fn(|l| each[l][k] as f32))
    };
    let (f, target, before) = (spread(&mut all), spread(&mut all), spread(&mut all));
    let aim = Aim { target, volume: from_fn(|l| 0.8 + 0.03 * l as f32) };
    let evaluated = |narrow: bool| {
        let mut out = Outcome::zero();
        let task = Evaluated { group: &group, f: &f, aim: &aim, from: Some((&before, 0.3)), out: &mut out };
        match narrow {
            true => InRegisters(task).with_simd(pulp::Scalar),
            false => f32::run(Arch::new(), task),
        }
        (out.energy, out.force, out.off)
    };
    assert_eq!(evaluated(true), evaluated(false));
}
