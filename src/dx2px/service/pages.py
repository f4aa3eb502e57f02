"""The page's files, read into memory once: no other file can be requested."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

from fastapi import FastAPI, Request
from starlette.responses import Response

from dx2px.service.problems import refuse

INDEX = "index.html"
LOOKS = Path(__file__).parents[1] / "looks.css"  # colours and type, shared with the worklist
TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".ico": "image/x-icon",
    ".woff2": "font/woff2",
    ".webmanifest": "application/manifest+json",
}


@dataclass(frozen=True)
class PageFile:
    """A file of the page, with the tag by which a browser knows that its copy is current."""

    content: bytes
    media_type: str
    etag: str


def read_page(folder: Path) -> dict[str, PageFile]:
    """The files of a folder that browsers may request, by their path in it."""
    paths = sorted(path for path in folder.rglob("*") if path.is_file() and path.suffix in TYPES)
    return {path.relative_to(folder).as_posix(): _file(path) for path in paths}


def add_page(app: FastAPI, folder: Path) -> None:
    """Register `/` and `/page/…`."""
    files = {LOOKS.name: _file(LOOKS), **read_page(folder)}

    async def index(request: Request) -> Response:
        return _send(files.get(INDEX), request)

    async def file(request: Request, name: str) -> Response:
        return _send(files.get(name), request)

    methods = ["GET", "HEAD"]
    app.add_api_route("/", index, methods=methods, include_in_schema=False, response_model=None)
    app.add_api_route(
        "/page/{name:path}", file, methods=methods, include_in_schema=False, response_model=None
    )


def _file(path: Path) -> PageFile:
    content = path.read_bytes()
    return PageFile(content, TYPES[path.suffix], f'"{hashlib.sha256(content).hexdigest()[:32]}"')


def _send(file: PageFile | None, request: Request) -> Response:
    if file is None:
        raise refuse(404, "not-found", "There is no such file.")
    headers = {"etag": file.etag, "cache-control": "no-cache"}
    asked = [mark.strip().removeprefix("W/") for mark in request.headers.get("if-none-match", "").split(",")]
    if file.etag in asked:
        return Response(status_code=304, headers=headers)
    return Response(file.content, headers=headers, media_type=file.media_type)
