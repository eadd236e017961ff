"""The demo corpus stays what it is: its clips, who is recorded when, and which take leaks."""

import numpy as np

from snellen.tasks.isolated.synthetic import Settings, make_corpus, write_folder


def test_the_clip_table_of_the_demo_is_the_golden_one(golden, tmp_path):
    demo = make_corpus(Settings(), np.random.default_rng(0))

    write_folder(demo.corpus, demo.keypoints, tmp_path)

    golden("synthetic/clips.csv", (tmp_path / "clips.csv").read_bytes())
