"""Images that the user sends: read and checked, then kept for the member that gets them."""

import os
import stat
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path

from anyio import to_thread

from deskmate.core.log.names import LEAD
from deskmate.core.picture_formats import MAX_PICTURE_BYTES, Pixels, picture_type, pixels_of
from deskmate.core.team.messages import SentImage
from deskmate.core.values import frozen
from deskmate.errors import BadInput
from deskmate.fs.safe_files import private_folder, replace_file
from deskmate.queries.stream_reader import telling
from deskmate.workspace.blobs import Blobs

MAX_IMAGES = 20
# Providers refuse pictures that are wider or higher.
MAX_PIXELS = 8000


@frozen
class ImageFile:
    """An image as it was when it was read. A model can take it."""

    name: str
    data: bytes
    media_type: str
    pixels: Pixels


async def read_images(paths: Sequence[str | Path]) -> tuple[ImageFile, ...]:
    """Return the images in these files. Raises BadInput, with the path, if one is missing or no model can take it."""
    if len(paths) > MAX_IMAGES:
        raise BadInput(
            f"This message has {len(paths)} images, and at most {MAX_IMAGES} are allowed",
            "Send the others with another message.",
        )
    return tuple([await to_thread.run_sync(_read, Path(path)) for path in paths])


def _read(path: Path) -> ImageFile:
    try:
        # Without waiting: nobody may ever write to a pipe.
        with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise BadInput(f"{path} is not a file", "Name an image file.")
            data = file.read(MAX_PICTURE_BYTES + 1)
            size = os.fstat(file.fileno()).st_size
    except FileNotFoundError as error:
        raise BadInput(f"There is no image {path}", "Check the path. Nothing was sent.") from error
    except (OSError, ValueError) as error:
        raise BadInput(f"The image {path} cannot be read: {getattr(error, 'strerror', None) or error}") from error
    media_type, pixels = picture_type(data), pixels_of(data)
    if media_type is None:
        raise BadInput(f"{path} is not a PNG, JPEG, GIF or WebP image", "Convert it to one of these formats.")
    if len(data) > MAX_PICTURE_BYTES:
        raise BadInput(
            f"The image {path} has {size:,} bytes, and models take at most {MAX_PICTURE_BYTES:,} (5 MB in base64)",
            "Make a smaller copy and send that.",
        )
    if pixels is None:
        raise BadInput(f"The image {path} is damaged: its width and height cannot be read")
    if max(pixels.width, pixels.height) > MAX_PIXELS:
        raise BadInput(
            f"The image {path} has {pixels.width}x{pixels.height} pixels, and models take at most {MAX_PIXELS} a side",
            "Make a smaller copy and send that.",
        )
    return ImageFile(path.name, data, media_type, pixels)


async def keep_images(
    workspace: Path, team: str, member: str, images: Sequence[ImageFile]
) -> tuple[SentImage, ...] | None:
    """Keep images as blobs of a member. Return what a message says of them, or None if there are none.

    `member`: on the roster. `team`: the one whose folder has its blobs. The same image is kept once.
    """
    kept = [await to_thread.run_sync(_keep, workspace, team, member, image) for image in images]
    return tuple(kept) or None


def _keep(workspace: Path, team: str, member: str, image: ImageFile) -> SentImage:
    # Blobs are named by numbers. Those of calls are far smaller than these.
    number = int.from_bytes(sha256(image.data).digest()) % 10**22
    suffix = image.media_type.removeprefix("image/")
    records = Path(os.path.realpath(workspace))
    blobs = Blobs(records, records, team, member)
    name = blobs.own(f"{member}-{number // 10**6:016}-{number % 10**6:06}.{suffix}")
    with telling(records), private_folder(records, *blobs.parts) as folder:
        replace_file(folder, name, image.data)
    return SentImage(
        media_type=image.media_type,
        # A teammate may have a tree of its own, from which only the absolute path leads to its blobs.
        blob=blobs.shown(name) if member == LEAD else str(blobs.folder / name),
        name=image.name,
        size=len(image.data),
        width=image.pixels.width,
        height=image.pixels.height,
    )
