"""The first convolution of ResNet-50 on blocks of 2 x 2 pixels.

cuDNN's fast kernels for NHWC need a multiple of 8 input channels, and an image has 3. A 7 x 7
convolution of stride 2 equals a 4 x 4 convolution of stride 1 if the four pixels of a block become
channels: 12, with zeros 16. The parameters are those of the original layer, and the result differs
by rounding alone. MLPerf Training allows this for ResNet-50.
"""

from torch import Tensor, nn
from torch.nn import functional

CHANNELS = 16


def gather_blocks(pixels: Tensor, channels: int) -> Tensor:
    """Return `pixels`, of shape (n, c, height, width) with even sides, as (n, channels, height / 2,
    width / 2): each block of 2 x 2 pixels becomes 4 c channels, and zeros fill up the others."""
    n, c, height, width = pixels.shape
    # Channels last in memory, as the convolution reads them.
    rows = pixels.permute(0, 2, 3, 1).reshape(n, height // 2, 2, width // 2, 2, c)
    blocks = rows.transpose(2, 3).reshape(n, height // 2, width // 2, 4 * c)
    return functional.pad(blocks, (0, channels - 4 * c)).permute(0, 3, 1, 2)


class SpaceToDepthStem(nn.Module):
    """A convolution with the weight of `stem`, which is 7 x 7 with stride 2, padding 3 and no bias,
    computed on blocks of 2 x 2 pixels."""

    def __init__(self, stem: nn.Conv2d) -> None:
        super().__init__()
        self.weight = stem.weight

    def forward(self, images: Tensor) -> Tensor:
        """Map images of shape (n, 3, height, width) with even sides to (n, outputs, height / 2,
        width / 2)."""
        # One more row and column of zeros in front makes the kernel 8 x 8. The images then begin
        # one pixel later: 4 zeros before and 2 after them.
        weight = gather_blocks(functional.pad(self.weight, (1, 0, 1, 0)), CHANNELS)
        blocks = gather_blocks(functional.pad(images, (4, 2, 4, 2)), CHANNELS)
        return functional.conv2d(blocks, weight.to(blocks.dtype))
