"""Images that the user sends are checked before anything is sent, and kept once."""

import os
from pathlib import Path

import pytest

from deskmate.app.image_files import MAX_IMAGES, keep_images, read_images
from deskmate.core.picture_formats import MAX_PICTURE_BYTES
from deskmate.core.policy.redaction import SHAPES
from deskmate.errors import BadInput
from deskmate.workspace.blobs import is_own_blob
from deskmate.workspace.local_workspace import LocalWorkspace
from tests.sample_images import png

pytestmark = pytest.mark.anyio


def written(folder: Path, name: str, data: bytes) -> Path:
    path = folder / name
    path.write_bytes(data)
    return path


async def test_the_bytes_decide_what_an_image_is(tmp_path: Path) -> None:
    (image,) = await read_images([written(tmp_path, "really-a-png.jpg", png(7, 5))])
    assert (image.name, image.media_type, image.pixels.width, image.pixels.height) == (
        "really-a-png.jpg",
        "image/png",
        7,
        5,
    )


async def test_what_no_model_takes_is_refused_with_its_path(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.png")
    bad = [
        tmp_path / "missing.png",
        tmp_path,
        tmp_path / "pipe.png",
        written(tmp_path, "text.png", b"hello"),
        written(tmp_path, "cut.png", png()[:18]),
        written(tmp_path, "wide.png", png(8001, 1)),
        written(tmp_path, "large.png", png() + bytes(MAX_PICTURE_BYTES)),
        Path("zero\0byte.png"),
    ]
    for path in bad:
        with pytest.raises(BadInput) as refused:
            await read_images([path])
        assert str(path) in str(refused.value)


async def test_an_image_of_exactly_the_most_bytes_is_taken(tmp_path: Path) -> None:
    whole = png()
    (image,) = await read_images([written(tmp_path, "a.png", whole + bytes(MAX_PICTURE_BYTES - len(whole)))])
    assert len(image.data) == MAX_PICTURE_BYTES


async def test_a_message_has_at_most_twenty_images(tmp_path: Path) -> None:
    path = written(tmp_path, "a.png", png())
    assert len(await read_images([path] * MAX_IMAGES)) == 20
    with pytest.raises(BadInput):
        await read_images([path] * (MAX_IMAGES + 1))


async def test_the_same_image_is_kept_once_as_a_blob_of_its_reader(tmp_path: Path) -> None:
    paths = [written(tmp_path, name, png()) for name in ("a.png", "b.png")]
    kept = await keep_images(tmp_path, "main", "lead", await read_images(paths)) or ()
    blobs = sorted((tmp_path / ".teams/main/blobs").iterdir())
    assert [image.blob for image in kept] == [str(blobs[0].relative_to(tmp_path))] * 2
    assert [image.label for image in kept] == ["[a.png, 4x3, 1 kB]", "[b.png, 4x3, 1 kB]"]
    assert (len(blobs), blobs[0].read_bytes()) == (1, png())
    assert is_own_blob(blobs[0].name, "lead")
    assert not is_own_blob(blobs[0].name, "lea")


async def test_no_name_of_a_blob_is_taken_for_a_secret(tmp_path: Path) -> None:
    paths = [written(tmp_path, f"{number}.png", png(1 + number, 1)) for number in range(MAX_IMAGES)]
    kept = await keep_images(tmp_path, "main", "lead", await read_images(paths)) or ()
    bodies = [image.model_dump() for image in kept]
    assert [SHAPES.value(body) for body in bodies] == bodies


@pytest.mark.parametrize("has_tree", [False, True])
async def test_a_teammate_reads_its_image_also_from_a_tree_of_its_own(tmp_path: Path, has_tree: bool) -> None:
    place, tree, link = tmp_path / "work", tmp_path / "tree", tmp_path / "link"
    place.mkdir()
    tree.mkdir()
    link.symlink_to(place)
    images = await read_images([written(tmp_path, "a.png", png())])
    kept = await keep_images(link, "main", "alice", images) or ()
    workspace = LocalWorkspace(tree if has_tree else place, "main", "alice", environ={}, records=place)
    assert await workspace.blob(kept[0].blob) == png()
