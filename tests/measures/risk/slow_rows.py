"""Rows of a table as tuples, the slow and obvious way: what judges counting by codes."""


def rows(table, names, cuts=None):
    """Labels, missing codes and numbers (their group where there are cut points)."""
    return list(zip(*(_values(table[name], (cuts or {}).get(name)) for name in names), strict=True))


def _values(column, cuts):
    if column.is_coded:
        return [column.variable.labels[code] for code in column.data]
    return [
        column.variable.missing[state - 1] if state else _group(float(value), cuts)
        for value, state in zip(column.data, column.missing_state(), strict=True)
    ]


def _group(value, cuts):
    return value if cuts is None else sum(value >= cut for cut in cuts)
