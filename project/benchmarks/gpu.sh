#!/usr/bin/env bash
# All that is measured on a GPU, in about 15 minutes; `gpu.py --help` says the rest:
#
#   project/benchmarks/gpu.sh OUT.json --test TEST.jsonl --train FIVE_SHOTS.jsonl
#
# The machine has PyTorch, cupy and transformers. What it lacks beside them (spaCy,
# Thinc, pytest, hypothesis and what they need) is taken from WHEELS, a folder of wheels.
# Without a wheel of this package, spacy_entlm.egg-info has to lie beside spacy_entlm
# (`python setup.py egg_info`): it names the component to spaCy.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
python=${PYTHON:-python3}
paths=$root
if [ -n "${WHEELS:-}" ]; then
    site=$(mktemp -d)
    trap 'rm -rf "$site"' EXIT
    "$python" -m pip install -q --no-index --no-deps --target "$site" "$WHEELS"/*.whl
    paths=$root:$site
fi
PYTHONPATH=$paths${PYTHONPATH:+:$PYTHONPATH} "$python" "$root/project/benchmarks/gpu.py" "$@"
