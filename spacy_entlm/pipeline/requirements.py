"""What a packaged pipeline asks for."""

from spacy.language import Language
from spacy.util import split_requirement

DISTRIBUTION = "spacy-entlm"
# Formats stay the same within 1.x, while the pin that `spacy package` would choose
# excludes the next minor version.
REQUIREMENT = f"{DISTRIBUTION}>=1.0.0,<2"


def add_requirement(nlp: Language) -> None:
    """Note in a pipeline's meta data that its package needs this distribution."""
    requirements = nlp.meta.setdefault("requirements", [])
    if not any(split_requirement(req)[0] == DISTRIBUTION for req in requirements):
        requirements.append(REQUIREMENT)
