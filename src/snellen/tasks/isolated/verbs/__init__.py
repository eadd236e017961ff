"""What the command line can ask of isolated signs: files in, files out."""

from snellen.tasks.isolated.compare import read_card
from snellen.tasks.isolated.onnx_file import export_model as export
from snellen.tasks.isolated.run import RunSettings
from snellen.tasks.isolated.verbs.cards import compare, score, verify, verify_card
from snellen.tasks.isolated.verbs.models import predict, train
from snellen.tasks.isolated.verbs.runs import contents, judged, open_study, run_all
from snellen.tasks.isolated.verbs.source import Source
from snellen.tasks.isolated.verbs.splits import audit, split

__all__ = [
    "RunSettings",
    "Source",
    "audit",
    "compare",
    "contents",
    "export",
    "judged",
    "open_study",
    "predict",
    "read_card",
    "run_all",
    "score",
    "split",
    "train",
    "verify",
    "verify_card",
]
