"""When image models of timm were published: the later of the papers on the architecture and on the
training of its weights.

The name of a model tells both: its beginning the family of the architecture, its tag the training.
The number of a paper on arXiv tells year and month of its first version. timm publishes some models
without a paper, and these have no year.
"""

import re
from dataclasses import dataclass
from functools import cache

from rules.studies.accuracy import read_shipped_table

_ARCHITECTURES = """
test_ - gmixer - mobilenet_edgetpu - hgnet -
maxxvit - naflexvit - mobilenetv5 - iformer - csatv2 -
aimv2 2411.14402
bat_ -
beit3 2208.10442 beitv2 2208.06366 beit 2106.08254
botnet 2101.11605 eca_botnext 2101.11605 sebotnet 2101.11605 lamhalobotnet 2103.12731
caformer 2210.13452 convformer 2210.13452 poolformerv2 2210.13452 poolformer 2111.11418
cait 2103.17239
coatnet 2106.04803 coatnext 2106.04803 coat 2104.06399
convit 2103.10697 convmixer 2201.09792 convnextv2 2301.00808 convnext 2201.03545
crossvit 2103.14899
cs3 1911.11929 csp 1911.11929 dark 1804.02767 sedarknet 1804.02767
davit 2204.03645
deit3 2204.07118 deit 2012.12877
densenet 1608.06993 dla 1707.06484 dpn 1707.01629
dm_nfnet 2102.06171 eca_nfnet 2102.06171 nfnet 2102.06171 nf_ 2101.08692
eca_halonext 2103.12731 sehalonet 2103.12731 halo 2103.12731
eca_res 1910.03151 ecaresne 1910.03151 eca_vovnet 1911.06667
edgenext 2206.10589 efficientformerv2 2212.08059 efficientformer 2206.01191
efficientnetv2 2104.00298 tf_efficientnetv2 2104.00298 gc_efficientnetv2 2104.00298
efficientnet 1905.11946 tf_efficientnet 1905.11946
efficientvit_b 2205.14756 efficientvit_l 2205.14756 efficientvit_m 2305.07027
ese_vovnet 1911.06667 vovnet 1904.09730
eva02 2303.11331 eva 2211.07636
fasternet 2303.03667 fastvit 2303.14189
fbnetv3 2006.02049 fbnet 1812.03443
flexivit 2212.08013 focalnet 2203.11926
gcresne 1904.11492 gcvit 2206.09959 gernet 2006.14090
ghostnetv3 2404.11202 ghostnetv2 2211.12905 ghostnet 1911.11907
gmlp 2105.08050 hardcorenas 2102.11646 hiera 2306.00989 hrnet 1908.07919
inception_next 2303.16900 inception_resnet 1602.07261 inception_v4 1602.07261
inception_v3 1512.00567
lambda 2102.08602 lcnet 2109.15099
legacy_xception 1610.02357 xception 1610.02357
legacy_se 1709.01507 senet 1709.01507 seresne 1709.01507
levit 2104.01136
mambaout 2405.07992 maxvit 2204.01697 mixer 2105.01601 mixnet 1907.09595 tf_mixnet 1907.09595
mnasnet 1807.11626 semnasnet 1807.11626
mobilenetv4 2404.10518 mobilenetv3 1905.02244 tf_mobilenetv3 1905.02244 mobilenetv2 1801.04381
mobilenetv1 1704.04861 mobileone 2206.04040
mobilevitv2 2206.02680 mobilevit 2110.02178
mvitv2 2112.01526 nasnet 1707.07012 nest 2105.12723 nextvit 2207.05501
pit 2103.16302 pnasnet 1712.00559 pvt_v2 2106.13797
rdnet 2403.19588 regnetv 2103.06877 regnetz 2103.06877 regnet 2003.13678
repghostnet 2211.06088 repvgg 2101.03697 repvit 2307.09283
res2ne 1904.01169 resmlp 2105.03404 resnest 2004.08955
resnetaa 1904.11486 resnetblur 1904.11486 resnetrs 2103.07579
resnetv2 1603.05027 resnext 1611.05431 resnet 1512.03385
rexnet 2007.00992 selecsls 1907.00837 sequencer 2205.01972 shvit 2401.16456 skres 1903.06586
spnasnet 1904.02877 starnet 2403.19967 swiftformer 2303.15446
swinv2 2111.09883 swin 2103.14030
tinynet 2010.14819 tiny_vit 2207.10666 tnt 2103.00112 tresnet 2003.13630 twins 2104.13840
vgg 1409.1556 visformer 2104.12533 vitamin 2404.02132 vit_base_mci 2311.17049 vit_ 2010.11929
volo 2106.13112 wide_resnet 1605.07146 xcit 2106.09681
"""
"""Beginnings of the names of architectures, each with its paper, or `-` without one. The first that
matches counts."""

_TRAININGS = """
sw_ - sbb - bt_ - in12k - tv2 - ra4 - c2ns - ch_ -
a1_ 2110.00476 a1h 2110.00476 a2_ 2110.00476 a3_ 2110.00476 ah_ 2110.00476
b1k 2110.00476 b2k 2110.00476 c1_ 2110.00476 c2_ 2110.00476 c3_ 2110.00476
d_in 2110.00476 d1 2110.00476 h_in 2110.00476
aa_ 1805.09501 ap_ 1911.09665 ns_jft 1911.04252 ra_ 2110.00476 ra2 2110.00476 ra3 2110.00476
racm 2110.00476 ram_ 2110.00476 agc 2110.00476 a2h 2110.00476 naver 2403.13298
augreg 2106.10270 bit 1912.11370 bitm 1912.11370 goog_distilled 2106.05237
datacomp 2304.14108 dfn 2309.17425 dino 2104.14294 gluon 1812.01187
laion2b 2210.08402 openai 2103.00020 metaclip 2309.16671 siglip 2303.15343 webli 2303.15343
mae 2111.06377 miil 2104.10972 mclip 2311.17049 sam_in 2106.01548
seer 2202.08360 swag 2201.08371 swsl 1905.00546 ssl_ 1905.00546 ssld 2103.05959 usi 2204.03475
wsl 1805.00932
"""
"""Parts of the names of weights, each with the paper on the training, or `-` without one. Of
several papers, the latest counts."""


@dataclass(frozen=True, order=True)
class Publication:
    """A paper on arXiv."""

    year: int
    month: int
    """Of the first version."""
    number: str

    @property
    def url(self) -> str:
        return f"https://arxiv.org/abs/{self.number}"


@cache
def find_publication(architecture: str, tag: str | None, size: int) -> Publication | None:
    """The paper that a model with these weights came with; None without one. Weights from a seed
    (tag None) count as those of the shipped table whose accuracy they have."""
    paper = next(
        (number for prefix, number in _read(_ARCHITECTURES) if architecture.startswith(prefix)), "-"
    )
    if tag is None:
        model = read_shipped_table().find(architecture, size)
        tag = model.tag if model else ""
    # `_bit` and `_clip_` are parts of the names of architectures.
    name = f"_{architecture}_{tag}"
    papers = [paper, *(number for part, number in _read(_TRAININGS) if f"_{part}" in name)]
    return None if "-" in papers else max(map(_parse, papers))


@cache
def _read(table: str) -> tuple[tuple[str, str], ...]:
    words = table.split()
    return tuple(zip(words[::2], words[1::2], strict=True))


def _parse(number: str) -> Publication:
    digits = re.match(r"(\d\d)(\d\d)\.", number)
    assert digits
    return Publication(2000 + int(digits[1]), int(digits[2]), number)
