"""The models that can be compared: where their graph and inputs come from, which parameters are
weights, and the short names and suites of the command line. Standard library only.
"""
import dataclasses
import fnmatch
import json
import os
import pathlib
import re

import ideas

ROOT = pathlib.Path(__file__).resolve().parents[2]
BLOCKS = ROOT / "workloads" / "blocks"

# The six of the whole-model table: short name -> corpus file; ONNX and TensorFlow forms exist.
MODELS = {
    "bert_b1": "jax__bert_base_b1_s128", "bert_b8": "jax__bert_base_b8_s128",
    "resnet50_b1": "jax__resnet50_b1", "resnet50_b8": "jax__resnet50_b8",
    "dlrm_b128": "jax__dlrm_b128", "dlrm_b2048": "jax__dlrm_b2048",
}
QUICK = ("dlrm_b128", "resnet50_b1", "bert_b1")
# Need more memory or time than a comparison has; only their full names select them.
TOO_LARGE = ("model__llama3_8b_inference__*", "xla_tools__maxtext_train_step",
             "xla_tools__mobilenet_v2_train")
SUITES = {
    "quick": "a small and two middling models: minutes",
    "models": "the six whole models",
    "blocks": "the built-in workloads",
    "ideas": "the single ideas, lowered from JAX",
    "contractions": "our kernels against oneDNN's",
    "jax": "all JAX dumps of the corpus",
    "hlo": "all HLO files of the corpus that fit",
    "all": "all of these",
}


@dataclasses.dataclass
class Model:
    name: str
    hlo: pathlib.Path | None       # None: ideas, lowered from a function, and contractions
    stem: str                      # key of the deterministic inputs
    group: str                     # models, jax, hlo, blocks, ideas, contractions
    inputs: dict = dataclasses.field(default_factory=dict)   # overrides as workloads/INPUTS.md
    golden: pathlib.Path | None = None
    tolerance: float | None = None
    # bert, resnet50, dlrm: has ONNX and TensorFlow forms; small: contractions with their own bar
    family: str | None = None
    resident: list | None = None   # parameter numbers; None: those named p__*, weights of the dumps


def corpus_folder(option=None):
    """The corpus of real models: the option, else $FUSEMARK_CORPUS, else None."""
    for folder in (option, os.environ.get("FUSEMARK_CORPUS")):
        if folder and (pathlib.Path(folder) / "jax").is_dir():
            return pathlib.Path(folder)
    return None


def _scalar(text):
    text = text.strip()
    if text[:1] in "[{":
        quoted = re.sub(r":\s*([A-Za-z_]\w*)", r': "\1"', text)
        return json.loads(re.sub(r"([{,]\s*)(\w+):", r'\1"\2":', quoted))
    try:
        return float(text)
    except ValueError:
        return text.strip('"')


def read_description(text):
    """The subset of YAML that workloads/blocks uses: nested keys, one value or flow list a line."""
    root = {}
    stack = [(-1, root)]
    for line in text.splitlines():
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        indent = len(line) - len(line.lstrip())
        key, _, value = line.strip().partition(":")
        while stack[-1][0] >= indent:
            stack.pop()
        key = key.strip('"')
        if value.strip():
            tags = key == "tags"
            stack[-1][1][key] = value.strip() if tags else _scalar(value)
        else:
            child = stack[-1][1][key] = {}
            stack.append((indent, child))
    return root


def _blocks():
    for path in sorted(BLOCKS.glob("*.yaml")):
        said = read_description(path.read_text(encoding="utf-8"))
        yield Model(name=said["name"], hlo=BLOCKS / said["graph"], stem=said["name"],
                    group="blocks", inputs=said.get("inputs", {}), tolerance=said.get("tolerance"),
                    resident=said.get("resident"))


def _ideas():
    for idea in ideas.IDEAS:
        said = {str(i): spec for i, (_, _, spec) in enumerate(idea.inputs)}
        yield Model(name=idea.name, hlo=None, stem=idea.name, group="ideas",
                    inputs={"params": said})


def _corpus(corpus):
    overrides = json.loads((corpus / "inputs.json").read_text(encoding="utf-8"))
    short = {stem: name for name, stem in MODELS.items()}
    for folder in ("jax", "hlo"):
        for path in sorted((corpus / folder).glob("*.hlo")):
            stem = path.name.removesuffix(".hlo")
            golden = corpus / "golden" / (stem + ".json")
            name = short.get(stem, stem)
            yield Model(name=name, hlo=path, stem=stem, inputs=overrides.get(stem, {}),
                        group="models" if stem in short else folder,
                        golden=golden if golden.exists() else None,
                        family=name.rsplit("_b", 1)[0] if stem in short else None)


def all_models(corpus):
    """Every model there is, by name."""
    found = list(_corpus(corpus)) if corpus else []
    kernels = Model(name="contractions", hlo=None, stem="contractions", group="contractions")
    return {m.name: m for m in [*found, *_blocks(), *_ideas(), kernels]}


def _file(path, models):
    """A graph given by its path; one of the known ones keeps its inputs and golden."""
    known = next((m for m in models.values() if m.hlo and m.hlo.resolve() == path.resolve()), None)
    stem = path.name.removesuffix(".hlo")
    return known or Model(name=stem, hlo=path.resolve(), stem=stem, group="hlo")


def select(words, models):
    """The models that names, patterns, suites and paths stand for, in order, each once; raises
    KeyError with the word that names nothing."""
    chosen = {}
    for word in words:
        if word == "quick":
            names = [n for n in QUICK if n in models]
        elif word in SUITES:
            groups = {"all": {m.group for m in models.values()}, "jax": ("models", "jax")}
            names = [n for n, m in models.items() if m.group in groups.get(word, (word,))
                     and not any(fnmatch.fnmatch(n, p) for p in TOO_LARGE)]
        elif word in models:
            names = [word]
        elif word.endswith(".hlo") and pathlib.Path(word).is_file():
            chosen[word] = _file(pathlib.Path(word), models)
            continue
        else:
            names = [n for n in models if fnmatch.fnmatch(n, word)
                     and not any(fnmatch.fnmatch(n, p) for p in TOO_LARGE)]
        if not names:
            raise KeyError(word)
        chosen.update({n: models[n] for n in names})
    return list(chosen.values())
