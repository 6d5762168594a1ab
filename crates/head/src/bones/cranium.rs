//! Sculpt of the skull without the jaw: brain case, base, orbits, nose, cheek bones, upper jaw.
//!
//! Coordinates are millimeters on the character's left, in the head frame (origin midway between the
//! condyles). They were derived from the skin's key points minus the tissue depths ([`crate::depths`]) and,
//! between those, from the proportions of anatomy atlases. The brain case, the base and the sinuses are
//! filled.

use super::implicit::{Form, Plate, Sculpt, ellipsoid, ribbon, tube};

/// The cranium.
pub(crate) fn sculpt() -> Sculpt {
    let mut s = Sculpt::default();
    brain_case(&mut s);
    base(&mut s);
    upper_jaw(&mut s);
    temples(&mut s);
    orbits(&mut s);
    cheeks(&mut s);
    nose(&mut s);
    joint(&mut s);
    s
}

fn brain_case(s: &mut Sculpt) {
    s.add(0.0, ellipsoid([0.0, 52.0, -21.0], [70.5, 77.5, 70.5]));
    s.add(30.0, ellipsoid([0.0, 60.0, 22.0], [59.5, 62.0, 66.0]));
    // Upper corners of the parietal bones.
    s.add(15.0, ellipsoid([27.0, 86.0, -14.0], [34.5, 34.5, 43.0]));
    // Underside, above the neck.
    s.cut(12.0, ellipsoid([0.0, -64.0, -8.0], [160.0, 44.0, 130.0]));
    s.cut(10.0, ellipsoid([60.0, -42.0, -2.0], [40.0, 38.0, 42.0]));
}

fn base(s: &mut Sculpt) {
    s.add(12.0, ellipsoid([0.0, 6.0, 20.0], [30.0, 22.0, 40.0]));
    // Temporal bone around the ear canal, down to the mastoid.
    s.add(12.0, ellipsoid([42.0, 14.0, -16.0], [21.0, 19.0, 25.0]));
    s.add(8.0, tube(&[[49.0, 3.0, -25.0, 12.0], [51.5, -14.0, -22.5, 8.0], [51.0, -20.0, -20.5, 6.0]]));
    // Occipital condyles.
    s.add(6.0, tube(&[[12.0, -17.0, -12.0, 5.0], [18.0, -17.0, -24.0, 5.0]]));
    // Wings of the sphenoid beside the palate.
    s.add(5.0, tube(&[[17.0, -4.0, 32.0, 6.0], [17.0, -20.0, 33.0, 3.0], [19.0, -30.0, 30.0, 2.4]]));
}

fn upper_jaw(s: &mut Sculpt) {
    // Body of the maxilla.
    s.add(10.0, ellipsoid([15.0, -12.0, 56.0], [17.0, 25.0, 24.0]));
    s.add(6.0, tube(&[[0.0, -30.0, 74.0, 9.0], [13.0, -30.5, 67.0, 9.0], [22.0, -30.0, 50.0, 8.5]]));
    // Alveolar ridge.
    s.add(
        5.0,
        tube(&[
            [0.0, -33.5, 84.6, 4.2],
            [8.5, -33.5, 82.2, 4.2],
            [16.5, -33.8, 75.5, 4.2],
            [22.3, -34.5, 65.5, 4.3],
            [26.0, -35.0, 55.0, 4.4],
            [27.6, -35.0, 45.0, 4.4],
            [26.2, -33.0, 39.0, 4.2],
        ]),
    );
    // Canine eminence.
    s.add(5.0, tube(&[[17.5, -34.0, 76.5, 4.0], [15.0, -16.0, 75.5, 3.5]]));
    // Palate and the space for the tongue.
    s.cut(5.0, ellipsoid([0.0, -47.0, 50.0], [21.0, 15.0, 31.0]));
}

fn temples(s: &mut Sculpt) {
    // Temporal fossa: behind the orbit's outer rim, inside the arch.
    s.cut(14.0, ellipsoid([79.0, 16.0, 34.0], [28.0, 38.0, 28.0]));
    s.cut(6.0, tube(&[[54.0, 16.0, 34.0, 10.0], [50.0, -6.0, 33.0, 11.0], [48.0, -24.0, 32.0, 13.0]]));
}

fn orbits(s: &mut Sculpt) {
    // Brow and rim; the socket is cut from them in `cheeks`.
    s.add(
        8.0,
        tube(&[
            [6.0, 45.5, 81.5, 6.0],
            [18.0, 46.5, 78.5, 4.9],
            [32.0, 45.5, 74.0, 5.2],
            [43.5, 41.0, 64.5, 4.8],
        ]),
    );
    s.add(
        6.0,
        tube(&[
            [43.5, 41.0, 64.0, 5.0],
            [48.3, 33.0, 56.0, 4.2],
            [49.0, 18.0, 54.5, 4.0],
            [46.0, 5.0, 58.5, 5.5],
        ]),
    );
    s.add(
        6.0,
        tube(&[
            [45.0, 3.0, 59.5, 5.5],
            [34.0, 1.0, 67.0, 5.0],
            [22.0, 3.5, 70.5, 4.5],
            [12.0, 14.0, 71.5, 3.8],
        ]),
    );
}

fn cheeks(s: &mut Sculpt) {
    // Outer walls of the orbits: the great wings of the sphenoid.
    s.add(
        5.0,
        ribbon(&[
            [47.5, 21.0, 55.5, 17.0, 3.2, 0.0],
            [41.0, 21.0, 46.0, 16.0, 3.8, 0.0],
            [32.0, 21.0, 37.0, 14.0, 6.0, 0.0],
        ]),
    );
    s.add(5.0, ellipsoid([37.0, 2.0, 51.0], [10.0, 8.0, 10.0]));
    s.add(7.0, ellipsoid([43.0, -3.0, 56.5], [9.5, 10.5, 7.0]));
    s.add(7.0, ellipsoid([36.5, -9.0, 57.5], [10.5, 9.5, 7.0]));
    s.add(6.0, tube(&[[42.0, -9.0, 58.0, 6.0], [34.0, -20.0, 54.0, 5.5], [28.0, -29.0, 51.0, 5.0]]));
    // Under the cheek bone.
    s.cut(8.0, ellipsoid([38.0, -25.0, 77.0], [14.0, 15.0, 15.0]));
    // Zygomatic arch, ending above the ear canal.
    s.add(
        5.0,
        ribbon(&[
            [46.5, -2.0, 55.5, 6.5, 4.5, 0.0],
            [54.5, 2.0, 49.0, 5.0, 3.0, 0.0],
            [59.3, 4.5, 40.5, 4.2, 2.6, 0.0],
            [60.8, 6.3, 28.0, 3.8, 2.4, 0.0],
            [60.0, 7.5, 13.0, 3.8, 2.8, 0.0],
            [57.5, 10.0, -2.0, 4.0, 4.0, 0.0],
            [58.0, 11.0, -14.0, 3.5, 4.0, 0.0],
        ]),
    );
    // The socket: a wide opening that narrows backward and inward.
    s.cut(3.5, ellipsoid([32.0, 23.5, 70.0], [18.3, 15.8, 20.0]));
    s.cut(3.5, ellipsoid([34.0, 23.5, 88.0], [19.0, 16.0, 24.0]));
    s.cut(6.0, tube(&[[31.5, 24.0, 64.0, 16.0], [24.0, 24.0, 44.0, 11.0], [17.0, 24.0, 30.0, 5.0]]));
    // Inner upper corner, where the skin dips in beside the nose.
    s.cut(5.0, ellipsoid([24.0, 30.0, 84.0], [9.5, 8.5, 14.0]));
    // Ear canal.
    s.cut(2.0, tube(&[[54.0, 2.0, -13.5, 2.2], [70.0, 2.0, -13.5, 3.4]]));
}

fn nose(s: &mut Sculpt) {
    // Frontal processes of the maxillae, from the brow down beside the nasal opening.
    s.add(
        5.0,
        tube(&[
            [6.5, 36.0, 74.5, 4.0],
            [7.2, 21.0, 74.2, 4.1],
            [12.0, 4.0, 76.5, 4.6],
            [15.0, -14.0, 76.0, 4.0],
        ]),
    );
    s.add(8.0, tube(&[[0.0, 40.0, 77.0, 6.5], [0.0, 29.0, 77.0, 5.5], [0.0, 15.0, 95.0, 4.3]]));
    s.add(6.0, tube(&[[4.0, 30.0, 75.0, 3.8], [4.8, 13.5, 86.5, 3.8], [9.5, 4.0, 80.5, 4.2]]));
    s.add(5.0, ellipsoid([8.5, 11.0, 79.0], [4.0, 6.0, 5.0]));
    // Nasal opening, pear-shaped, and the passage behind it.
    s.cut(2.5, ellipsoid([5.0, -9.0, 86.0], [7.5, 8.2, 24.0]));
    s.cut(2.5, tube(&[[0.0, -5.0, 90.0, 9.5], [0.0, 5.5, 90.0, 5.0], [0.0, 4.0, 106.0, 6.0]]));
    s.cut(3.0, tube(&[[3.5, -6.0, 80.0, 7.0], [3.5, -4.0, 52.0, 6.0]]));
    // Lower rim, nasal spine and septum.
    s.add(3.0, tube(&[[0.0, -20.5, 85.0, 2.6], [9.0, -18.5, 81.5, 2.6], [15.0, -12.0, 78.0, 3.0]]));
    s.add(2.0, tube(&[[0.0, -22.0, 80.0, 4.5], [0.0, -19.5, 88.5, 1.5]]));
    let septum = vec![[44.0, -22.0], [70.0, -22.0], [76.0, -14.0], [72.0, 0.0], [78.0, 16.0], [44.0, 16.0]];
    s.add(2.0, Form::Slab(Plate { outline: septum, middle: [0.0; 3], half_width: 1.4 }));
}

fn joint(s: &mut Sculpt) {
    // Behind the neck of the jaw.
    s.cut(2.0, tube(&[[49.0, -3.0, -2.5, 6.5], [48.0, -16.0, -1.0, 7.5]]));
    // Swept path of the condyle, with clearance.
    for i in 0..=4 {
        let slide = f64::from(i) * 3.0;
        s.cut(1.5, ellipsoid([50.0, -0.5 * slide, 0.866 * slide - 0.4], [11.6, 6.5, 7.0]));
    }
}
