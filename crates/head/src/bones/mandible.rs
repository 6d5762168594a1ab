//! Sculpt of the lower jaw: body, chin, alveolar ridge, ramus with its two processes.
//!
//! Coordinates as in [`super::cranium`]. The center of the condyle is exactly that of the joint.

use super::implicit::{Form, Plate, Sculpt, ellipsoid, ribbon, tube};

/// The mandible.
pub(crate) fn sculpt() -> Sculpt {
    let mut s = Sculpt::default();
    s.add(
        0.0,
        ribbon(&[
            [0.0, -70.5, 76.0, 12.5, 5.2, 0.0],
            [10.0, -70.0, 74.0, 12.2, 5.2, 0.0],
            [19.5, -69.3, 65.5, 12.3, 5.2, -0.1],
            [27.5, -66.5, 52.0, 11.5, 5.2, -0.2],
            [35.0, -61.5, 37.0, 11.5, 5.0, -0.2],
            [42.0, -54.0, 22.0, 10.5, 3.6, 0.0],
        ]),
    );
    s.add(9.0, ramus());
    s.add(
        7.0,
        tube(&[
            [49.5, -1.0, -0.5, 4.0],
            [49.0, -8.0, -1.0, 3.6],
            [47.0, -22.0, 2.0, 3.6],
            [43.4, -46.0, 7.0, 3.2],
            [41.9, -56.0, 13.0, 2.6],
        ]),
    );
    // The oblique line, from the front of the ramus down to the body.
    s.add(
        6.0,
        tube(&[
            [44.0, -4.0, 32.0, 2.4],
            [42.5, -28.0, 32.5, 2.8],
            [40.5, -46.0, 36.0, 3.4],
            [35.5, -60.0, 43.0, 3.2],
        ]),
    );
    s.add(3.0, ellipsoid([50.0, 0.0, 0.0], [9.3, 4.6, 4.6]));
    chin(&mut s);
    ridge(&mut s);
    s
}

fn ramus() -> Form {
    let outline = vec![
        [-3.0, -6.0],
        [-1.5, -20.0],
        [3.0, -40.0],
        [7.5, -54.0],
        [14.0, -60.0],
        [24.0, -64.0],
        [34.0, -67.0],
        [41.0, -60.0],
        [40.0, -50.0],
        [36.0, -38.0],
        [34.5, -22.0],
        [35.5, -8.0],
        [34.0, 1.0],
        [31.0, 4.0],
        [27.5, 1.0],
        [22.5, -8.0],
        [16.0, -12.5],
        [8.0, -10.5],
        [2.0, -5.0],
    ];
    Form::Slab(Plate { outline, middle: [49.3, 0.1, -0.16], half_width: 2.8 })
}

fn chin(s: &mut Sculpt) {
    s.add(8.0, ellipsoid([0.0, -76.5, 76.5], [10.0, 7.0, 6.5]));
    s.add(9.0, ellipsoid([8.0, -77.5, 74.0], [10.0, 4.5, 6.0]));
}

fn ridge(s: &mut Sculpt) {
    s.add(
        5.0,
        tube(&[
            [0.0, -60.5, 78.2, 4.2],
            [9.0, -60.5, 76.2, 4.2],
            [16.0, -60.5, 70.5, 4.4],
            [21.2, -60.0, 61.0, 4.2],
            [25.2, -59.0, 50.0, 4.2],
            [28.4, -57.5, 40.0, 4.2],
            [36.0, -53.0, 34.0, 4.0],
        ]),
    );
}
