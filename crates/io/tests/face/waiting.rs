//! Shapes of an interrupted build are kept in a folder beside the output.

use super::sample;
use risorius_flesh::ShapeStore;
use risorius_io::native::face::ShapeCache;

#[test]
fn shapes_come_back_and_damaged_ones_do_not() {
    let folder = tempfile::tempdir().unwrap();
    let cache = ShapeCache::beside(&folder.path().join("head.face"));
    assert_eq!(cache.folder(), folder.path().join("head.face.partial"));
    cache.remove_all().unwrap();
    let face = sample::face();
    let key = u128::MAX - 5;
    assert!(cache.get(key).is_none());
    for (i, shape) in face.flesh.volumes.iter().enumerate() {
        cache.save(key + i as u128, shape, &face.report.shapes[i]);
    }
    for (i, shape) in face.flesh.volumes.iter().enumerate() {
        let (found, report) = cache.load(key + i as u128).unwrap();
        assert_eq!((&found, &report), (shape, &face.report.shapes[i]));
    }
    let path = cache.folder().join(format!("{key:032x}.shape"));
    let good = std::fs::read(&path).unwrap();
    for at in 0..good.len() {
        let mut bad = good.clone();
        bad[at] ^= 1 << (at % 8);
        std::fs::write(&path, &bad).unwrap();
        // Only damage to the padding and formatting of the header may go undetected.
        let kept = cache
            .get(key)
            .is_none_or(|(shape, report)| shape == face.flesh.volumes[0] && report == face.report.shapes[0]);
        assert!(kept, "byte {at}");
        std::fs::write(&path, &good[..at]).unwrap();
        assert!(cache.get(key).is_none(), "cut at byte {at}");
    }
    // An entry stored under another key is rejected.
    std::fs::copy(cache.folder().join(format!("{:032x}.shape", key + 1)), &path).unwrap();
    assert!(cache.get(key).is_none());
    std::fs::write(cache.folder().join("notes.txt"), "mine").unwrap();
    cache.remove_all().unwrap();
    assert_eq!(std::fs::read_dir(cache.folder()).unwrap().count(), 1);
    std::fs::remove_file(cache.folder().join("notes.txt")).unwrap();
    cache.remove_all().unwrap();
    assert!(!cache.folder().exists());
}

#[test]
fn a_store_of_nothing_keeps_nothing() {
    let face = sample::face();
    ().save(1, &face.flesh.volumes[0], &face.report.shapes[0]);
    assert!(().load(1).is_none());
}
