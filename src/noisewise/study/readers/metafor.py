"""metafor: effects with their sampling variances (``escalc``: yi, vi), as measurements of known variance."""

from noisewise.study.readers.named_columns import NamedColumns
from noisewise.study.readers.reader import Reader
from noisewise.study.readers.readout import Readout, ReadRow
from noisewise.study.readers.result_file import ResultFile
from noisewise.study.readers.shared import listed

CUSTOM = {
    "option": ("option", "treatment", "treat", "drug", "intervention", "slab", "name"),
    "yi": ("yi",),
    "vi": ("vi",),
    "blocks": ("block",),
}


def read(
    file: ResultFile,
    *,
    unit: str | None = None,
    option: str | None = None,
    yi: str | None = None,
    vi: str | None = None,
    blocks: str | None = None,
) -> Readout:
    """Every row's effect with its variance.

    Args:
        file: What ``write.csv(escalc(...))`` wrote.
        unit: The unit of the effects, if they have one.
        option: The column that says what was tried, where it is not called so.
        yi: The column with the effects.
        vi: The column with their sampling variances.
        blocks: The column with the study or site whose rows share an offset, if there is one.
    """
    table = NamedColumns(file, CUSTOM, {"option": option, "yi": yi, "vi": vi, "blocks": blocks})
    table.need("option", "yi", "vi")
    names, effects, variances = table.texts("option"), table.numbers("yi"), table.numbers("vi")
    sites = table.texts("blocks") if "blocks" in table.columns else None
    rows, without = [], []
    for row, name in enumerate(names):
        where, effect, variance = table.place(row), effects[row], variances[row]
        if effect is None and variance is None:
            without.append(where)
            continue
        if effect is None or variance is None:
            missing = "yi" if effect is None else "vi"
            raise file.refuse(f"{where} ({name}): {missing} is missing, and the other is there.")
        if not variance > 0.0:
            raise file.refuse(f"{where} ({name}): vi must be a variance above 0; got {variance:g}.")
        fields = {"option": name, "value": effect, "var": variance}
        rows.append(ReadRow(where, fields | ({} if sites is None else {"block": sites[row]})))
    notes = [f"Rows without an effect are left out: {listed(without)}."] if without else []
    return Readout(rows, unit=unit, notes=notes)


def looks_like(file: ResultFile) -> bool:
    """Whether a table has the columns of escalc."""
    return {"yi", "vi"} <= set(NamedColumns(file.beginning(), CUSTOM, {}).columns)


READER = Reader("metafor", "metafor's escalc as CSV (yi, vi)", read, looks_like)
