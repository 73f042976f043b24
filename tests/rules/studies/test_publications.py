"""Publications of image models: the tables are sound, and years follow from papers."""

from itertools import pairwise

from support.rules.model_results import make_result

from rules.studies import publications
from rules.studies.accuracy import read_shipped_table
from rules.studies.metrics.fronts import find_front, find_yearly_fronts
from rules.studies.publications import find_publication
from rules.studies.results import ModelResult


def test_year_is_that_of_the_later_paper() -> None:
    of_architecture = find_publication("resnet50", "tv_in1k", 224)
    of_training = find_publication("resnet50", "a1_in1k", 224)
    assert of_architecture is not None and of_training is not None
    assert (of_architecture.year, of_architecture.month) == (2015, 12)
    assert (of_training.year, of_training.url) == (2021, "https://arxiv.org/abs/2110.00476")
    # An early training does not make a late architecture older.
    late = find_publication("convnextv2_tiny", "ap_in1k", 224)
    assert late is not None and late.year == 2023


def test_models_without_a_paper_have_no_year() -> None:
    assert find_publication("hgnetv2_b4", "ssld_stage2_ft_in1k", 224) is None
    assert find_publication("resnet50", "tv2_in1k", 224) is None
    assert find_publication("unheard_of", None, 224) is None


def test_seeded_weights_count_as_those_whose_accuracy_they_have() -> None:
    best = read_shipped_table().find("vit_base_patch16_224", 224)
    assert best is not None
    assert find_publication(best.architecture, None, 224) == find_publication(
        best.architecture, best.tag, 224
    )


def test_every_beginning_can_match_and_most_models_have_a_year() -> None:
    prefixes = [prefix for prefix, _ in publications._read(publications._ARCHITECTURES)]
    hidden = {
        late for n, late in enumerate(prefixes) for early in prefixes[:n] if late.startswith(early)
    }
    assert hidden == set()
    models = read_shipped_table().models
    dated = [m for m in models if find_publication(m.architecture, m.tag, m.size)]
    assert len(dated) > 0.75 * len(models)
    # A family that the table of families has and this one lacks would be left out silently.
    unknown = {
        m.architecture for m in models if not any(m.architecture.startswith(p) for p in prefixes)
    }
    assert unknown == set(), sorted(unknown)


def test_front_of_a_year_is_that_of_all_models_until_then() -> None:
    models = [
        make_result("vgg16", 0.5, 70, tag="tv_in1k"),
        make_result("resnet50", 0.1, 75, tag="tv_in1k"),
        make_result("resnet50", 0.1, 80, tag="a1_in1k"),
        make_result("convnext_tiny", 0.2, 82, tag="fb_in1k"),
        make_result("hgnetv2_b4", 0.01, 90, tag="ssld_stage2_ft_in1k"),
    ]
    fronts = find_yearly_fronts(models)
    assert {year: len(front) for year, front in fronts.items()} == {
        2014: 1,
        2015: 1,
        2021: 1,
        2022: 2,
    }
    for year, front in fronts.items():
        known = [m for m in models[:4] if _get_year(m) <= year]
        assert front == find_front(known)
    # Fronts never get worse.
    best = [max(m.accuracy_pct["imagenet"] for m in front) for front in fronts.values()]
    assert all(a <= b for a, b in pairwise(best))


def _get_year(model: ModelResult) -> int:
    publication = find_publication(model.architecture, model.tag, model.size)
    assert publication is not None
    return publication.year
