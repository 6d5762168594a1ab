"""Plays point caches and a GLB take in Blender and measures how far they are from the frames of an NPZ.

Arguments: the rig, the NPZ, the MDD files and the PC2 files of its meshes (separated by commas, in the order of
the rig's meshes), and the GLB take. Prints `result` and a JSON object with the largest distances, as parts of the
size of the head.
"""

import json
import sys

import bpy
import numpy as np

FRAMES = [0, 7, 13, 20]


def opened(path):
    """The meshes of a glTF, in the order of the file, with their nodes at rest."""
    bpy.ops.wm.read_factory_settings(use_empty=True)
    bpy.context.scene.render.fps = 30
    bpy.ops.import_scene.gltf(filepath=path)
    return sorted((o for o in bpy.data.objects if o.type == "MESH"), key=lambda o: o.name)


def world_vertices(objects):
    """World positions of all vertices as Blender draws them."""
    graph = bpy.context.evaluated_depsgraph_get()
    found = []
    for o in objects:
        evaluated = o.evaluated_get(graph)
        co = np.empty(3 * len(evaluated.data.vertices), np.float32)
        evaluated.data.vertices.foreach_get("co", co)
        matrix = np.array(evaluated.matrix_world, np.float64)
        found.append(co.reshape(-1, 3) @ matrix[:3, :3].T + matrix[:3, 3])
    return found


def order(objects, counts, rest):
    """Objects in the order of the rig's meshes: those with as many vertices, nearest to the rest."""
    here, left = world_vertices(objects), list(range(len(objects)))
    ordered = []
    for count, wanted in zip(counts, rest):
        same = [i for i in left if len(here[i]) == count]
        best = min(same, key=lambda i: np.abs(here[i] - wanted).max())
        ordered.append(objects[best])
        left.remove(best)
    return ordered


def distance(objects, expected):
    return max(np.abs(a - b).max() for a, b in zip(world_vertices(objects), expected))


def main(rig, npz, mdd, pc2, glb):
    take = np.load(npz)["positions"].astype(np.float64)
    # Blender is Z up: its importer turns (x, y, z) of glTF into (x, -z, y).
    take = np.stack([take[..., 0], -take[..., 2], take[..., 1]], axis=-1)
    size = np.ptp(take[0], axis=0).max()
    result = {"moved": np.abs(take[FRAMES[1]] - take[0]).max() / size}
    for kind, files in (("mdd", mdd.split(",")), ("pc2", pc2.split(","))):
        header = {"mdd": (">i4", 4), "pc2": ("<i4", 16)}[kind]
        counts = [int(np.fromfile(f, header[0], 1, offset=header[1])[0]) for f in files]
        ends = np.cumsum(counts)
        parts = lambda frame: np.split(take[frame], ends[:-1])
        objects = opened(rig)
        for o in bpy.data.objects:
            o.animation_data_clear()
        objects = order(objects, counts, parts(0))
        for o, file in zip(objects, files):
            o.shape_key_clear() if o.data.shape_keys else None
            cache = o.modifiers.new("cache", "MESH_CACHE")
            cache.cache_format, cache.filepath = kind.upper(), file
            # From the axes of glTF, which the files have, to those of the imported mesh.
            cache.forward_axis, cache.up_axis = "POS_Z", "NEG_Y"
        worst = 0.0
        for frame in FRAMES:
            bpy.context.scene.frame_set(frame)
            worst = max(worst, distance(objects, parts(frame)))
        result[kind] = worst / size
    objects = opened(glb)
    bpy.context.scene.frame_set(0)
    # A GLB may have more vertices where corners differ; they follow those of the file.
    with open(glb, "rb") as file:
        data = file.read()
    nodes = json.loads(data[20 : 20 + int.from_bytes(data[12:16], "little")])["nodes"]
    by_name = {o.name: o for o in objects}
    objects = [by_name[node["name"]] for node in nodes if "mesh" in node]
    worst = 0.0
    for frame in FRAMES:
        bpy.context.scene.frame_set(frame)
        here = [a[:n] for a, n in zip(world_vertices(objects), counts)]
        worst = max(worst, max(np.abs(a - b).max() for a, b in zip(here, parts(frame))))
    result["glb"] = worst / size
    print("result", json.dumps({k: float(v) for k, v in result.items()}))


main(*sys.argv[1:])
